"""What is found out before a model is asked: which problems can be judged here, which modules are missing."""

__all__: list[str] = []
