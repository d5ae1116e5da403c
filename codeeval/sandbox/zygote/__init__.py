"""The process that forks a throw-away child for each program."""
