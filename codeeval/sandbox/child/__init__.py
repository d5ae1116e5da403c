"""The candidate's process: it is told what to run, and what it says is evidence, not a verdict."""
