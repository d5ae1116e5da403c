"""Rows: how problems and completions come in from files and from memory, and JSON lines."""
