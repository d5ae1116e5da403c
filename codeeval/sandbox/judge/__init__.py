"""The process that holds tests, deadlines and the verdict."""
