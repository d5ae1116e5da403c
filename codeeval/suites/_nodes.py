"""Walks over syntax trees, in a fraction of the time of `ast.walk`: tests are looked through before they are judged."""

from __future__ import annotations

import ast

__all__ = ["children_of", "nodes_of"]


def children_of(node: ast.AST) -> list[ast.AST]:
    """Return the expressions, statements and the like right below a node.

    This is `ast.iter_child_nodes` in a fraction of its time, without what is below nothing: contexts and operators.
    """
    children: list[ast.AST] = []
    for name in node._fields:
        if name in _LEAVES:
            continue
        child = getattr(node, name, None)
        if child.__class__ is list:
            children += [one for one in child if isinstance(one, ast.AST)]
        elif isinstance(child, ast.AST):
            children.append(child)
    return children


_LEAVES = frozenset({"ctx", "op", "ops"})


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """Return a node and all below it, in the order of `ast.walk`, which takes twice as long."""
    nodes = [node]
    for one in nodes:  # grows
        nodes += children_of(one)
    return nodes
