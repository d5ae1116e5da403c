"""How rows come in and go out: JSON lines, and rows with completions."""

__all__: list[str] = []
