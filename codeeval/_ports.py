"""What all ports share: duck typing, and one adapter that makes a typed object of whatever has a port's methods.

A port (`Sampler`, `Executor`, `Metric`, `Suite`, `Callback`) is an abstract base class. What is required of it is
abstract or named in its module; everything else has a default. Code that takes such an object from a user adapts it
once and reads typed attributes from then on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

__all__ = ["adapted", "derives_from", "has_all", "missing"]

Port = TypeVar("Port")


def derives_from(port: type, value: object) -> bool:
    """Return whether an object's class was derived from a port, and so has all of its defaults."""
    return port in type(value).__mro__


def has_all(cls: type, names: Sequence[str]) -> bool:
    """Return whether a class has all these attributes, for the `__subclasshook__` of a port."""
    return all(any(name in base.__dict__ for base in cls.__mro__) for name in names)


def missing(port: type, value: object, methods: Sequence[str], attributes: Sequence[str] = ()) -> list[str]:
    """Return which of these methods and attributes an object does not have, whose class is not derived from the port.

    A class has none: where an object is wanted, its attributes are those of an object that was never made.
    """
    if derives_from(port, value):
        return []
    if isinstance(value, type):
        return [*methods, *attributes]
    absent = [name for name in methods if not callable(getattr(value, name, None))]
    return absent + [name for name in attributes if not hasattr(value, name)]


def adapted(port: Callable[..., Port], value: object) -> Port:
    """Return an object of the port's class that does what `value` does, and by default what the port does.

    What `value` has under a public name of the port is read from it each time. `value` must have all that is abstract.
    """
    base = cast(type, port)  # as a type, it would have to be a concrete one
    if derives_from(base, value):
        return cast(Port, value)
    found = tuple(name for name in _public_names(base) if hasattr(value, name))
    adapter: Any = _adapter(base, found, type(value).__name__)
    return cast(Port, adapter(value))


@functools.lru_cache
def _public_names(port: type) -> tuple[str, ...]:
    own = {name for base in port.__mro__ if base is not object for name in base.__dict__}
    return tuple(sorted(name for name in own if name == "__call__" or not name.startswith("_")))


@functools.lru_cache
def _adapter(port: type, names: tuple[str, ...], name: str) -> type:
    """Make the port's subclass that hands these names on; `name` is its own, which defaults may show."""
    handed_on = {one: property(functools.partial(_handed_on, one)) for one in names}
    own = {"__init__": _keep, "__repr__": _repr, "__reduce__": _reduce, "port": port}
    return type(name, (port,), own | handed_on)


def _handed_on(name: str, adapter: Any) -> Any:
    return getattr(adapter._given, name)


def _keep(adapter: Any, value: object) -> None:
    adapter._given = value


def _repr(adapter: Any) -> str:
    return repr(adapter._given)


def _reduce(adapter: Any) -> tuple[Any, ...]:
    return adapted, (adapter.port, adapter._given)
