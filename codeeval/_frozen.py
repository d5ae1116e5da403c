"""FrozenMapping: a mapping that nobody can change and that, unlike `types.MappingProxyType`, pickles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

__all__ = ["FrozenMapping"]

Key = TypeVar("Key")
Value = TypeVar("Value", covariant=True)


class FrozenMapping(Mapping[Key, Value]):
    """A read-only copy of a mapping: it looks like a dict, equals one, and `|` gives one."""

    __slots__ = ("_items",)
    _items: dict[Key, Value]

    def __init__(self, items: Mapping[Key, Value] | None = None) -> None:
        object.__setattr__(self, "_items", {} if items is None else dict(items))

    def __getitem__(self, key: Key) -> Value:
        return self._items[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __or__(self, other: Mapping[Any, Any]) -> dict[Any, Any]:
        return {**self._items, **other} if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Mapping[Any, Any]) -> dict[Any, Any]:
        return {**other, **self._items} if isinstance(other, Mapping) else NotImplemented

    def __repr__(self) -> str:
        return repr(self._items)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a FrozenMapping can't be changed, but {name!r} was set")

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMapping, (self._items,)
