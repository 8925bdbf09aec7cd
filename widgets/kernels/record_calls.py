"""Calls of kernels, with arguments before and after, from runs in plain Python.

They are samples of the types that the translation needs, and what the translated kernels must give.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import placelab as pl
from placelab.kernels import jit

PARTITIONERS = ("single", "heft", "cpop", "etf", "m-etf", "tf-greedy", "peft", "min-min")
SCHEDULERS = ("fifo", "pct", "msr", "planned")
TRANSFERS = ("parallel", "sequential", "channel", "fair")
LEFT_OUT = ("rank_falling",)  # kernels that are not translated: pages sort by sorted.ts


class Call(NamedTuple):
    """One call of a kernel."""

    kernel: jit.kernel
    before: tuple
    after: tuple
    result: Any

    @property
    def types(self) -> tuple:
        """Classes of the blocks among the arguments; None for all else."""
        return tuple(type(each) if hasattr(each, "_fields") else None for each in self.before)


@contextmanager
def recording() -> Iterator[list[Call]]:
    """Keep all calls of kernels that are made meanwhile."""
    calls: list[Call] = []
    run = jit.kernel.__call__

    def call(self: jit.kernel, *arguments: Any) -> Any:
        if self.__name__ in LEFT_OUT:
            return run(self, *arguments)
        before = _copied(arguments, {})
        result = run(self, *arguments)
        calls.append(Call(self, before, _copied(arguments, {}), result))
        return result

    jit.kernel.__call__ = call
    try:
        yield calls
    finally:
        jit.kernel.__call__ = run


def run_all(problems: Iterable[pl.Problem], schedulers: Iterable[str] = SCHEDULERS) -> None:
    """Place each problem with each partitioner, and run each placement under each scheduler."""
    for problem in problems:
        for partitioner in PARTITIONERS:
            try:
                placement = pl.place(problem, partitioner, fallback=False)
            except pl.InfeasibleError:
                continue
            for scheduler in schedulers:
                if scheduler != "planned" or placement.planned is not None:
                    pl.simulate(problem, placement, scheduler)


def samples() -> list[Call]:
    """Calls of every kernel that a page needs, from runs of a few small problems."""
    graph = pl.generators.layered(12, seed=1)
    small = pl.Problem(graph, pl.clusters.pcie_box(3))
    with recording() as calls:
        run_all(small.replace(transfers=transfers) for transfers in TRANSFERS)
    return calls


def written(calls: Iterable[Call]) -> str:
    """The calls as JSON, which ``replay.mjs`` reads."""
    return json.dumps([_one(call) for call in calls])


def _one(call: Call) -> dict[str, Any]:
    known: dict[int, int] = {}
    arrays: list[dict[str, str]] = []

    def encoded(before: Any, after: Any) -> Any:
        if isinstance(before, np.ndarray):
            if id(before) not in known:  # an array that two blocks share is one
                known[id(before)] = len(arrays)
                arrays.append({"type": _typed(before), "before": _bytes(before), "after": _bytes(after)})
            return {"array": known[id(before)]}
        if hasattr(before, "_fields"):
            fields = zip(before._fields, before, after, strict=True)
            return {"block": {name: encoded(old, new) for name, old, new in fields}}
        return {"value": _plain(before)}

    given = [encoded(old, new) for old, new in zip(call.before, call.after, strict=True)]
    return {"kernel": call.kernel.__name__, "arguments": given, "arrays": arrays, "result": _plain(call.result)}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, float) and not np.isfinite(value) else value


def _typed(array: np.ndarray) -> str:
    return {"i": "f8" if array.dtype.itemsize == 8 else "i4", "f": "f8", "u": "u1", "b": "u1"}[array.dtype.kind]


def _bytes(array: np.ndarray) -> str:
    kinds = {"f8": np.float64, "i4": np.int32, "u1": np.uint8}
    return base64.b64encode(array.astype(kinds[_typed(array)]).tobytes()).decode()


def _copied(value: Any, known: dict[int, np.ndarray]) -> Any:
    """A copy of arguments in which arrays that were one are one."""
    if isinstance(value, np.ndarray):
        return known.setdefault(id(value), value.copy())
    if hasattr(value, "_fields"):
        return value._make(_copied(each, known) for each in value)
    if isinstance(value, tuple):
        return tuple(_copied(each, known) for each in value)
    return value


def types_of(calls: Iterable[Call]) -> tuple[list[jit.kernel], Callable[[jit.kernel], tuple]]:
    """The kernels that were called, and a function that returns the types of their arguments."""
    first: dict[jit.kernel, tuple] = {}
    for call in calls:
        first.setdefault(call.kernel, call.types)
    return list(first), first.__getitem__
