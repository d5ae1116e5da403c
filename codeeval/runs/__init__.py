"""One run: what it is (its manifest), what it has done (its records on disk), and what judges its samples."""

__all__: list[str] = []
