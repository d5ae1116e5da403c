"""Rows: how problems (`problems`) and completions (`samples`) come in, from files and from memory, and JSON lines."""

__all__: list[str] = []
