"""Shard the state of a training step over ranks: ZeRO's three stages, FSDP's gathers ahead, HSDP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.rank_ops import UPDATE, RankOps, check_ops, forward_names
from placelab.problem.graph import OpGraph

LAYER = re.compile(r"(?:^|\.)(?:layers|h)\.(\d{1,9})(?:\.|$)")


def sharded(
    graph: OpGraph,
    n: int,
    stage: Literal[1, 2, 3] = 3,
    *,
    units: Literal["layer"] | Sequence[str] = "layer",
    limit: int = 2,
    keep_last: bool = True,
    streams: int = 1,
    bucket_bytes: float = np.inf,
    gradient: float = 1.0,
    hybrid: int | None = None,
    accumulate: int = 1,
    sync: Literal["each", "last"] = "each",
    algorithm: Literal["ring", "halving"] = "ring",
) -> OpGraph:
    r"""The graph of a training step on n ranks that divide optimizer state, gradients and weights among them.

    Stage 3 runs through the units forward and back, and gathers the weights of a unit before each of its passes: on the stream,
    before a step all gathers up to that step's, and further ones while fewer than `limit` units are gathered and not freed.
    Gather j waits for the end of the step that frees unit j - limit. After the backward pass of a unit its gradients are
    reduce-scattered. Stage 2 scatters gradients unit by unit, stage 1 bucket by bucket; each updates 1/n and gathers the
    weights after that. A rank sends :math:`2 (n - 1) / n \cdot M` bytes at stages 1 and 2, at stage 3
    :math:`3 (n - 1) / n \cdot M`, less what `keep_last` saves.

    Parameters
    ----------
    graph
        A step of :meth:`placelab.models.Transformer.graph`, or any whose backward ops are called ``op.backward`` and
        ``op.weight_gradient``, updates ``op.update``. Persistent bytes of forward ops are the weights.
    n
        Ranks, devices ``worker:w`` with ``worker:w/stream``: :func:`placelab.clusters.data_parallel`.
    stage
        Of ZeRO.
    units
        ``"layer"``: each ``….layers.i`` or ``….h.i``, and the rest; or a glob of op names for each unit. The rest, embedding and
        head, is gathered once per micro-batch at the start, and kept.
    limit
        Units gathered at a time: 1 has no overlap, 2 is PyTorch's.
    keep_last
        Whether the last unit is kept from its forward to its backward pass.
    streams
        2: gathers do not wait for scatters.
    bucket_bytes
        Least bytes of a bucket of stage 1, whole units.
    gradient
        Bytes of gradients over those of weights, 2 for float32 and bfloat16.
    hybrid
        Shard within groups of so many ranks, and all-reduce gradients across them (HSDP).
    accumulate
        Micro-batches.
    sync
        ``"each"``: scatter the gradients of each micro-batch; ``"last"``: of the last one, in which they are summed.
    algorithm
        Of the collectives.

    Returns
    -------
    OpGraph
        ``w{w}/mb{i}/op`` on ``worker:w`` in program order, updates in the last micro-batch; on streams ``mb{i}/gather/F{u}/…@w``,
        ``mb{i}/scatter/B{u}/…``, ``…/across/…``, ``gather/B{u}/…``. A rank holds 1/n of the weights of stage 3.

    Raises
    ------
    UnsupportedError
        A stage that does not exist; a graph without a backward pass or units.
    FormatError
        A number out of range; groups that do not divide the ranks.

    Notes
    -----
    What is gathered is not in the memory of the graph; :func:`placelab.plan` counts it. O(n² · collectives).

    References
    ----------
    Rajbhandari et al. (2020), ZeRO; Zhao et al. (2023), PyTorch FSDP.

    Examples
    --------
    >>> import placelab as pl
    >>> step = pl.models.read("gpt2").graph("train", sequence=8)
    >>> made = sharded(step, 2)
    >>> int(made.persistent.sum()) == int(step.persistent.sum())
    True
    """
    expect(graph, OpGraph, "sharded")
    if stage not in (1, 2, 3) or isinstance(stage, bool):
        raise UnsupportedError(f"stage is {stage!r:.60}; expected 1, 2 or 3")
    if sync not in ("each", "last"):
        raise UnsupportedError(f"sync is {sync!r:.60}; expected 'each' or 'last'")
    ranks = count(n, "n", most=MAX_OPS)
    group = ranks if hybrid is None else count(hybrid, "hybrid", most=MAX_OPS)
    if ranks % group:
        raise FormatError(f"groups of {group} do not divide {ranks} ranks")
    expect(gradient, (int, float, np.number), "gradient")
    expect(bucket_bytes, (int, float, np.number), "bucket_bytes")
    if not (0 <= gradient < np.inf and bucket_bytes >= 0):
        raise FormatError(f"gradient is {gradient!r:.60}, bucket_bytes {bucket_bytes!r:.60}; expected 0 or more")
    how = _How(
        stage, count(limit, "limit", most=MAX_OPS), bool(keep_last), count(streams, "streams", 1, 2), float(bucket_bytes),
        float(gradient), group, count(accumulate, "accumulate", most=MAX_OPS), sync,
    )  # fmt: skip
    return _ShardedStep(graph, ranks, how, units, algorithm).graph()


class _How(NamedTuple):
    """The choices of :func:`sharded`."""

    stage: int
    limit: int
    keep_last: bool
    streams: int
    bucket_bytes: float
    gradient: float
    group: int
    accumulate: int
    sync: str


@dataclass
class _Pass:
    """A unit's forward or backward pass in one micro-batch: its first and last op in program order."""

    label: str
    unit: int
    first: int
    last: int


class _ShardedStep:
    """The ops of a sharded step in the making."""

    def __init__(self, graph: OpGraph, n: int, how: _How, units: Any, algorithm: str) -> None:
        self.model = graph
        self.how = how
        self.n = n
        self.ops = RankOps(graph, n, algorithm)
        named = forward_names(graph)
        self.suffix = [suffix for _, suffix in named]
        self.unit, self.n_units = _units([name for name, _ in named], units)
        forward = np.array([not suffix for suffix in self.suffix])
        held = forward & (graph.persistent > 0)
        # The rest first.
        self.size = np.bincount(self.unit[held] + 1, graph.persistent[held], minlength=self.n_units + 1)
        self.passes = self._passes()
        every = np.arange(n)
        self.groups = [every[g : g + how.group] for g in range(0, n, how.group)]
        self.across = [every[i :: how.group] for i in range(how.group)]

    def _passes(self) -> list[_Pass]:
        found = []
        for label in "FB":
            own = [bool(s) == (label == "B") and s != UPDATE for s in self.suffix]
            for u in range(self.n_units):
                ops = [v for v in np.flatnonzero(self.unit == u).tolist() if own[v]]
                if not ops:
                    raise UnsupportedError(
                        f"unit {u} has no {'backward' if label == 'B' else 'forward'} ops; sharding needs a training step"
                    )
                found.append(_Pass(f"{label}{u}", u, ops[0], ops[-1]))
        return sorted(found, key=lambda each: each.first)

    def graph(self) -> OpGraph:
        """The graph of all micro-batches."""
        updates = [v for v, suffix in enumerate(self.suffix) if suffix == UPDATE]
        order = [v for v in range(self.model.n_ops) if self.suffix[v] != UPDATE]
        check_ops(self.n, self.n * (self.how.accumulate * len(order) + len(updates)))
        for i in range(self.how.accumulate):
            last = i == self.how.accumulate - 1
            number = self.ops.copy([*order, *updates] if last else order, f"mb{i}/")
            scattered = self._micro_batch(i, number, last or self.how.sync == "each")
            if last:
                self._updates(number, updates, scattered)
        share = np.ones(self.model.n_ops)
        held = np.ones(self.model.n_ops)
        share[updates] = 1 / self.how.group
        held[:] = 1 / self.how.group if self.how.stage == 3 else 1.0
        kept = {k: v for k, v in self.model.metadata.items() if k not in ("forward", "parameters", "cluster")}
        title = f"{self.model.title}, sharded over {self.n} ranks, stage {self.how.stage}"
        return self.ops.graph(share, held, 1.0, {**kept, "name": title})

    def _micro_batch(self, i: int, number: np.ndarray, scatters: bool) -> dict[int, list[np.ndarray]]:
        """Add the collectives of a micro-batch; of each unit what its update waits for."""
        needed = self._needed() if self.how.stage == 3 else []
        freed: list[int] = []  # last ops of the passes that have freed a unit
        made: dict[int, list[np.ndarray]] = {}
        waiting: list[_Pass] = []  # of the bucket that is not full
        gathered = 0
        load = 0.0
        if self.how.stage == 3 and self.size[0]:
            self.ops.then(self._collective(f"mb{i}/gather/rest", "all-gather", self.size[0], []), number[0])
        for k, each in enumerate(self.passes):
            while gathered < len(needed) and (needed[gathered] <= k or gathered - len(freed) < self.how.limit):
                before = [number[freed[gathered - self.how.limit]]] if gathered >= self.how.limit else []
                of = self.passes[needed[gathered]]
                last = self._collective(f"mb{i}/gather/{of.label}", "all-gather", self.size[of.unit + 1], before)
                self.ops.then(last, number[of.first])
                gathered += 1
            if not (self.how.keep_last and self._is_last_forward(each)):
                freed.append(each.last)
            if each.label[0] == "B" and scatters:
                load = load + self.size[each.unit + 1]
                waiting = [*waiting, each]
                if self.how.stage > 1 or load >= self.how.bucket_bytes or each is self.passes[-1]:
                    made |= self._scattered(f"mb{i}/scatter/{each.label}", load, waiting, number)
                    load = 0.0
                    waiting = []
        if scatters and self.size[0]:
            ends = [v for v in range(self.model.n_ops) if self.unit[v] < 0 and self.suffix[v] not in ("", UPDATE)]
            made[-1] = self._summed(
                f"mb{i}/scatter/rest", self.size[0], number[ends[-1] if ends else self.passes[-1].last]
            )
        return made

    def _needed(self) -> list[int]:
        """Passes that need a gather."""
        backward = [k for k, each in enumerate(self.passes) if each.label[0] == "B"]
        return [k for k in range(len(self.passes)) if not (self.how.keep_last and k == backward[0])]

    def _is_last_forward(self, each: _Pass) -> bool:
        return each.label == [p.label for p in self.passes if p.label[0] == "F"][-1]

    def _scattered(
        self, label: str, size: float, passes: list[_Pass], number: np.ndarray
    ) -> dict[int, list[np.ndarray]]:
        last = self._summed(label, size, number[passes[-1].last])
        return {each.unit: last for each in passes}

    def _summed(self, label: str, size: float, after: np.ndarray) -> list[np.ndarray]:
        """Reduce-scatter within groups, and sum across them."""
        size *= self.how.gradient
        queue = "scatter" if self.how.streams == 2 else ""
        last = self._collective(label, "reduce-scatter", size, [after], queue)
        if self.how.group == self.n:
            return last
        share = size / self.how.group
        return self.ops.collective(f"{label}/across", "all-reduce", share, [], queue=queue, groups=self.across)

    def _collective(self, label: str, kind: str, size: float, after: list[np.ndarray], queue: str = "") -> Any:
        return self.ops.collective(label, kind, float(size), after, queue=queue, groups=self.groups)

    def _updates(self, number: np.ndarray, updates: list[int], scattered: dict[int, list[np.ndarray]]) -> None:
        """Updates wait for their gradients; weights of stages 1 and 2 are gathered once those of a bucket are updated."""
        for v in updates:
            if (unit := int(self.unit[v])) in scattered:
                self.ops.then(scattered[unit], number[v])
        if self.how.stage == 3:
            return
        buckets: dict[int, list[int]] = {}
        for unit, last in scattered.items():
            buckets.setdefault(id(last), []).append(unit)
        for units in buckets.values():
            own = [number[v] for v in updates if self.unit[v] in units]
            size = sum(self.size[u + 1] for u in units)
            name = "rest" if units == [-1] else f"B{units[-1]}"
            self._collective(f"gather/{name}", "all-gather", size, own)


def _units(names: list[str], units: Any) -> tuple[np.ndarray, int]:
    """The unit of each op, -1 for the rest, and their number."""
    if isinstance(units, str):
        if units != "layer":
            raise UnsupportedError(f"units is {units!r:.60}; expected 'layer', or a glob for each unit")
        found = [int(match[1]) if (match := LAYER.search(name)) else -1 for name in names]
        known = sorted({u for u in found if u >= 0})
        number = {u: k for k, u in enumerate(known)}
        unit = np.array([number.get(u, -1) for u in found])
        n = len(known)
    else:
        expect(units, (list, tuple), "units")
        for pattern in units:
            expect(pattern, str, "a unit")
        unit = np.array([next((k for k, p in enumerate(units) if fnmatchcase(name, p)), -1) for name in names])
        n = len(units)
    if not n:
        raise UnsupportedError("the graph has no units: no op is called '….layers.0' or '….h.0'; give globs")
    return unit, n
