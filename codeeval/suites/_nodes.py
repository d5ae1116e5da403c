"""Walks over syntax trees, in a fraction of the time of `ast.walk`: tests are looked through before they are judged."""

from __future__ import annotations

import ast
from collections.abc import Mapping

__all__ = ["children_of", "nodes_of"]


def children_of(node: ast.AST) -> list[ast.AST]:
    """Return the expressions, statements and the like right below a node, without contexts and operators."""
    children: list[ast.AST] = []
    for name in _FIELDS[type(node)]:
        child = getattr(node, name, None)
        if child.__class__ is list:
            children += [one for one in child if isinstance(one, ast.AST)]
        elif isinstance(child, ast.AST):
            children.append(child)
    return children


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """Return a node and all below it, in the order of `ast.walk`."""
    nodes = [node]
    for one in nodes:  # grows
        nodes += children_of(one)
    return nodes


_LEAVES = frozenset("ctx op ops id attr arg kind type_comment level is_async conversion simple".split())
#: Kind of node → its fields that may hold nodes with something below them, or names.
_FIELDS: Mapping[type[ast.AST], tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _LEAVES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
