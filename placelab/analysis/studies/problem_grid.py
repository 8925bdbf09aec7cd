"""Named problems with the columns that describe them: all combinations of graphs, devices and parameters, or given ones."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import Any

import numpy as np

from placelab.analysis.comparing import COLUMNS, several
from placelab.analysis.studies.over_values import OF_DEVICES, OF_LINKS, Parameter
from placelab.base.errors import FormatError, PlacelabError, expect
from placelab.base.fields import read_from
from placelab.problem import clusters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS

PARAMETERS = (*OF_LINKS, *OF_DEVICES)
RULES = {
    **{label: label for label in ("transfers", "duplex", "transfer_ops")},
    "memory_model": "memory",  # without `model`, those of the cluster
    "latency_rule": "latency",
}
CHOICES: dict[str, Collection[str]] = {
    "transfers": TRANSFER_MODELS,
    "memory_model": MEMORY_MODELS,
    "latency_rule": LATENCIES,
}
Named = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Problems(Mapping[str, Problem]):
    """Problems by name, and what describes each.

    Attributes
    ----------
    problems : dict of Problem
        By name.
    columns : dict of dict
        For each name the values of its describing columns: numbers, texts, True or False.
    """

    problems: dict[str, Problem]
    columns: dict[str, dict[str, Any]]

    def __getitem__(self, name: str) -> Problem:
        return self.problems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)

    def __repr__(self) -> str:
        return f"Problems({len(self)}: {', '.join(self)[:60]} …)" if self else "Problems(0)"


def grid(graph: Any, devices: Any, **axes: Any) -> Problems:
    """All combinations of graphs, clusters and parameters, as named problems for :func:`placelab.study`.

    Parameters
    ----------
    graph
        A graph, a list of graphs, or a mapping name → graph.
    devices
        Numbers of equal devices, names of presets (``placelab.clusters.PRESETS``) or clusters; one, a list, or a mapping from
        names.
    axes
        One value or a list for each of ``bandwidth`` [bytes/s], ``latency`` [s], ``speed`` [operations/s], ``memory`` [bytes]:
        devices or links that differ keep their ratios, and the largest gets the value, as in :func:`placelab.sensitivity`; a
        mapping names the values. And of ``transfers``, ``duplex``, ``transfer_ops``, ``memory_model``, ``latency_rule``, as
        :class:`placelab.Problem` takes them (the last two as ``memory`` and ``latency``).

    Returns
    -------
    Problems
        A mapping from names such as ``"fft, devices=2, bandwidth=1e+09"`` to problems, in the order of the lists, the
        last one changing fastest; its ``columns`` has ``graph``, ``devices`` and the axes of each.

    Raises
    ------
    FormatError
        No such axis; an empty list; a value that no problem can have.

    Examples
    --------
    >>> import placelab as pl
    >>> problems = grid(pl.generators.fork_join(3), [2, 4], bandwidth=[1e9, 1e10])
    >>> len(problems), list(problems.columns.values())[1]
    (4, {'graph': 'fork-join 3 x 1', 'devices': 2, 'bandwidth': 10000000000.0})
    """
    known = (*PARAMETERS, *RULES)
    if unknown := sorted(set(axes) - set(known)):
        raise FormatError(f"grid has no axis {unknown[0]!r}; there are graph, devices, {', '.join(known)}")
    every: dict[str, Named] = dict(graph=_graphs(graph), devices=_values("devices", devices))
    every |= {axis: _values(axis, values) for axis, values in axes.items()}
    shown = [axis for axis, values in every.items() if len(values) > 1 and axis != "graph"]
    problems = {}
    columns = {}
    for labels in product(*every.values()):
        described = dict(zip(every, labels, strict=True))
        name = ", ".join([str(described["graph"]), *(f"{axis}={_text(described[axis])}" for axis in shown)])
        problems[name] = _problem(name, {axis: every[axis][label] for axis, label in described.items()})
        columns[name] = described
    return Problems(problems, columns)


def named_problems(given: Any) -> Problems:
    """Problems as :func:`placelab.study` takes them, with columns: those of a grid, or the sizes of each problem."""
    if isinstance(given, Problems):
        return given
    if isinstance(given, Problem):
        given = [given]
    expect(given, Iterable, "study, for its problems,")
    pairs = list(given.items()) if isinstance(given, Mapping) else [_pair(item) for item in given]
    titles = _distinct([name for name, _ in pairs])
    problems = dict(zip(titles, (problem for _, problem in pairs), strict=True))
    for name, problem in problems.items():
        expect(problem, Problem, f"study, for {name!r},")
    sizes = {name: dict(ops=p.graph.n_ops, devices=p.cluster.n_devices) for name, p in problems.items()}
    return Problems(problems, sizes)


def _pair(item: Any) -> tuple[str, Any]:
    """A name with its problem, or a problem with the title of its graph."""
    if isinstance(item, tuple) and len(item) == 2:
        return item
    expect(item, Problem, "study, for each of its problems,")
    return item.graph.title, item


def _distinct(names: list[Any]) -> list[str]:
    """The names, those that occur again with a number."""
    seen: dict[str, int] = {}
    found = []
    for name in map(str, names):
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found


def _graphs(given: Any) -> dict[str, OpGraph]:
    if isinstance(given, Mapping):
        graphs = {str(name): graph for name, graph in given.items()}
    else:
        listed = [given] if isinstance(given, OpGraph) else list(several(given))
        for graph in listed:
            expect(graph, OpGraph, "grid, for each graph,")
        graphs = dict(zip(_distinct([graph.title for graph in listed]), listed, strict=True))
    if not graphs:
        raise FormatError("grid has no graph; give it at least one")
    for graph in graphs.values():
        expect(graph, OpGraph, "grid, for each graph,")
    return graphs


def _values(axis: str, given: Any) -> Named:
    """Label → value; the label of a number, text or flag is itself, that of a cluster its size."""
    if axis in COLUMNS:
        raise FormatError(f"{axis!r} is a column of results; no axis can have its name")
    listed = list(given.values() if isinstance(given, Mapping) else several(given))
    if not listed:
        raise FormatError(f"grid has no value of {axis}; give it at least one, or leave it out")
    plain = [value.item() if isinstance(value, np.generic) else value for value in listed]
    values = [_value(axis, value) for value in plain]
    if isinstance(given, Mapping):
        return dict(zip(given, values, strict=True))
    labels = [f"{value.n_devices} devices" if isinstance(value, Cluster) else value for value in plain]
    if any(isinstance(label, str) for label in labels):
        labels = _distinct(labels)
    return dict(zip(labels, values, strict=True))


def _value(axis: str, given: Any) -> Any:
    """The value, a cluster for devices; FormatError for what no parameter or rule of that name can be."""
    if axis == "devices":
        with read_from(axis):
            return _cluster(given)
    if axis in CHOICES:
        good = isinstance(given, str) and given in CHOICES[axis]
        wanted = f"one of {', '.join(CHOICES[axis])}"
    elif axis == "duplex":
        good = isinstance(given, bool)
        wanted = "True or False"
    else:
        good = _is_number(given)
        wanted = "a number"
    if not good:
        raise FormatError(f"{axis} is {given!r:.60}; expected {wanted}")
    return given


def _is_number(value: Any) -> bool:
    real = isinstance(value, (int, float)) and not isinstance(value, bool)
    return real and (abs(value) == inf or abs(value) <= sys.float_info.max)


def _text(label: Any) -> str:
    return f"{label:g}" if isinstance(label, float) else str(label)


def _problem(name: str, values: Named) -> Problem:
    try:
        cluster = values["devices"]
        for over in PARAMETERS:
            if over in values:
                cluster = _put(cluster, over, values[over])
        rules = {RULES[axis]: value for axis, value in values.items() if axis in RULES}
        return Problem(values["graph"], cluster, **rules)
    except PlacelabError as error:
        raise type(error)(f"problem {name!r}: {error}") from None


def _cluster(given: Any) -> Cluster:
    if isinstance(given, Cluster):
        return given
    return clusters.preset(given) if isinstance(given, str) else Cluster.uniform(given)


def _put(cluster: Cluster, over: str, value: float) -> Cluster:
    k = cluster.n_devices
    where = np.ones(k, bool) if over in OF_DEVICES else ~np.eye(k, dtype=bool)
    return Parameter(over, where).put_in(cluster, value) if where.any() else cluster
