"""The hierarchy of a graph's op names: scopes in scopes, and ops in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from placelab.app.widgets.gantt_wire import depths
from placelab.base.index_arrays import frozen, members
from placelab.problem.graph import OpGraph

WIDE = 200  # children that a scope may have; those of a wider one are divided by depth
ROOT = ""  # path of the scope of everything
PART = "\0"  # between the path of a wide scope and the label of a part of it


@dataclass(frozen=True, eq=False)
class Scopes:
    """A tree whose leaves are the ops of a graph.

    Nodes ``0 … n_ops - 1`` are the ops; scopes follow, each after the scope it is in; the first is the scope of everything.

    Attributes
    ----------
    n_ops
        Number of ops.
    parent : ndarray of int32, shape (n_nodes,)
        Scope of each node; -1 for the scope of everything.
    path
        Full name of each scope; of a part of a wide scope, that scope's.
    label
        What distinguishes each node from others of its scope: the rest of its name.
    """

    n_ops: int
    parent: np.ndarray
    path: tuple[str, ...]
    label: tuple[str, ...]

    @property
    def root(self) -> int:
        """The scope of everything."""
        return self.n_ops

    @property
    def n_nodes(self) -> int:
        """Number of ops and scopes."""
        return len(self.parent)

    @cached_property
    def _children(self) -> list[np.ndarray]:
        return members(self.parent, self.n_nodes)

    def children(self, scope: int) -> np.ndarray:
        """Ops and scopes directly in a scope, by number."""
        return self._children[scope]

    @cached_property
    def size(self) -> np.ndarray:
        """Number of ops in each node, shape (n_nodes,), int64; 1 for an op."""
        return self.total(np.ones(self.n_ops, np.int64))

    def total(self, of_ops: np.ndarray) -> np.ndarray:
        """Sum a column of the ops over each node, shape (n_nodes,)."""
        total = np.zeros(self.n_nodes, of_ops.dtype)
        total[: self.n_ops] = of_ops
        np.add.at(total, self.parent[: self.n_ops], of_ops)
        for scope in range(self.n_nodes - 1, self.n_ops, -1):
            total[self.parent[scope]] += total[scope]
        return total

    def ancestors(self, node: int) -> list[int]:
        """The scopes that a node is in, from the innermost to the scope of everything."""
        found: list[int] = []
        while (node := int(self.parent[node])) >= 0:
            found.append(node)
        return found

    def ops(self, node: int) -> np.ndarray:
        """Numbers of the ops in a node, ascending."""
        if node < self.n_ops:
            return np.array([node])
        inside = np.zeros(self.n_nodes, bool)
        inside[node] = True
        for scope in range(node + 1, self.n_nodes):  # each after the scope it is in
            inside[scope] = inside[self.parent[scope]]
        return np.flatnonzero(inside[self.parent[: self.n_ops]])


def scopes_of(graph: OpGraph) -> Scopes:
    """Read the scopes in a graph's op names.

    Parameters
    ----------
    graph
        Names split at ``/``; at ``.`` where no name has a ``/`` and at least half of them have a ``.``.

    Notes
    -----
    An op whose own name is a scope's is in that scope. A scope whose only content is another scope is merged with it, and one
    that holds a single op is left out. The content of a scope wider than `WIDE` is divided into parts of neighbouring depth
    (the number of ops on the longest path to an op), those into smaller ones if need be: no cycle is made, and no picture
    is ever wider. O(ops · levels).

    Examples
    --------
    >>> g = OpGraph.from_arrays(["in", "a/b/x", "a/b/y", "a/b"], [1] * 4, [(0, 1), (1, 2), (2, 3)])
    >>> tree = scopes_of(g)
    >>> tree.path[1:], tree.label[:4], tree.size.tolist()
    (('a/b',), ('in', 'x', 'y', 'b'), [1, 1, 1, 1, 4, 3])
    """
    names = graph.names.tolist()
    separator = separator_of(names)
    names = [name.strip(separator) or name for name in names] if separator else names
    parent, paths = _folders(names, separator)
    _merge_chains(parent, len(names))
    children = _divide(parent, paths, graph)
    return _numbered(names, paths, children, separator)


def separator_of(names: list[str]) -> str:
    """What divides a graph's op names into scopes; "" where nothing does."""
    if any("/" in name for name in names):
        return "/"
    return "." if 2 * sum("." in name for name in names) >= len(names) else ""


def _folders(names: list[str], separator: str) -> tuple[list[int], list[str]]:
    """Scope of each node, ops first, and the paths of the scopes, each after the one it is in."""
    n = len(names)
    paths = [ROOT]
    above = [-1]
    number = {ROOT: n}

    def folder(path: str) -> int:
        missing = []
        while path not in number:
            missing.append(path)
            path = path.rpartition(separator)[0]
        scope = number[path]
        for path in reversed(missing):
            above.append(scope)
            paths.append(path)
            scope = number[path] = n + len(paths) - 1
        return scope

    found = [folder(name.rpartition(separator)[0]) if separator else n for name in names]
    found = [number[name] if name in number and name else scope for name, scope in zip(names, found, strict=True)]
    return found + above, paths


def _merge_chains(parent: list[int], n_ops: int) -> None:
    """Take out every scope with one child, its parent adopting the child; the scope of everything stays."""
    count = [0] * len(parent)
    for above in parent:
        if above >= 0:
            count[above] += 1
    alone = [v > n_ops and count[v] == 1 for v in range(len(parent))]
    for v, above in enumerate(parent):
        while above >= 0 and alone[above]:
            above = parent[above]
        if not alone[v]:
            parent[v] = above
    for v in range(n_ops, len(parent)):
        if alone[v]:
            parent[v] = -2


def _divide(parent: list[int], paths: list[str], graph: OpGraph) -> dict[int, list[int]]:
    """Children of each scope, in parts where there are too many; parts become scopes with paths of their own."""
    children: dict[int, list[int]] = {}
    for v, above in enumerate(parent):
        if above >= 0:
            children.setdefault(above, []).append(v)
    wide = [scope for scope in children if len(children[scope]) > WIDE]
    if not wide:
        return children
    n = graph.n_ops
    depth = depths(graph)
    mean = _mean_depths(parent, depth)
    count = len(parent)
    for scope in wide:
        found = sorted(children[scope], key=lambda v: (mean[v], v))
        span = {v: (mean[v], mean[v]) for v in found}
        levels = next(k for k in range(2, 99) if WIDE**k >= len(found))
        size = ceil(len(found) ** (1 / levels))
        while len(found) > WIDE:
            parts = [found[i : i + size] for i in range(0, len(found), size)]
            found = list(range(count, count + len(parts)))
            for part, inside in zip(found, parts, strict=True):
                span[part] = span[inside[0]][0], span[inside[-1]][1]
                children[part] = inside
                paths.append(f"{paths[scope - n]}{PART}{_span(*span[part])}")
            count += len(parts)
        children[scope] = found
    return children


def _span(first: float, last: float) -> str:
    low = round(first)
    high = round(last)
    return f"depth {low}" if low == high else f"depth {low}–{high}"


def _mean_depths(parent: list[int], depth: np.ndarray) -> list[float]:
    """Mean depth of the ops in each node."""
    n = len(depth)
    total = [*depth.tolist(), *[0.0] * (len(parent) - n)]
    count = [1] * n + [0] * (len(parent) - n)
    for v in [*range(n), *range(len(parent) - 1, n, -1)]:
        if parent[v] >= 0:
            total[parent[v]] += total[v]
            count[parent[v]] += count[v]
    return [t / max(c, 1) for t, c in zip(total, count, strict=True)]


def _numbered(names: list[str], paths: list[str], children: dict[int, list[int]], separator: str) -> Scopes:
    """The tree, its scopes numbered from the outermost to the innermost."""
    n = len(names)
    order = [n]
    above = [-1]
    parent = np.zeros(n, np.int32)
    for i, scope in enumerate(order):  # which grows meanwhile
        for child in children.get(scope, ()):
            if child < n:
                parent[child] = n + i
            else:
                order.append(child)
                above.append(n + i)
    full = [paths[scope - n].partition(PART) for scope in order]
    path = tuple(own for own, _, _ in full)
    inside = [path[scope - n] for scope in [*parent.tolist(), *above[1:]]]
    labels = [_label(name, base, separator) for name, base in zip([*names, *path[1:]], inside, strict=True)]
    for i, (_, _, part) in enumerate(full[1:]):
        labels[n + i] = part.rpartition(PART)[2] or labels[n + i]
    labels.insert(n, "")
    return Scopes(n, frozen(np.concatenate([parent, np.array(above, np.int32)])), path, tuple(labels))


def _label(name: str, base: str, separator: str) -> str:
    """The rest of a name inside the scope `base`."""
    if base and name.startswith(base + separator):
        return name[len(base) + 1 :]
    return name.rpartition(separator)[2] if base and name == base else name
