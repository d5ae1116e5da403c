"""Environments: interpreters with the libraries that a benchmark's tests need, in the versions that they need.

    executor = ce.LocalExecutor(python=ce.environments.get("bigcodebench"))

An environment is built once from a lock, which pins every package, and kept in the user's cache directory.
"""

from codeeval.environments.building import Environment, build, check, described, get, remove
from codeeval.environments.locks import Lock, locks, names
from codeeval.environments.resolving import resolve

__all__ = ["Environment", "Lock", "build", "check", "described", "get", "locks", "names", "remove", "resolve"]
