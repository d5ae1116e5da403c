"""What several test files share: programs, layers and toolchains that a test needs, waiting, estimates, attacks.

Fixtures are in tests/conftest.py.
"""
