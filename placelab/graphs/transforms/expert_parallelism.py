"""Spread the experts of a transformer over ranks, with the exchanges of tokens between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.rank_ops import UPDATE, WEIGHTS, RankOps, forward_names
from placelab.problem.graph import OpGraph

EXPERTS = re.compile(r"^(.*?)(?:^|\.)experts\.")


def expert_parallel(graph: OpGraph, e: int, *, capacity: float | None = None, overlap: bool = False) -> OpGraph:
    """The graph of e ranks that hold E/e experts of each layer: tokens go to their experts and back by all-to-alls.

    Per layer of experts there is one all-to-all before them, of the bytes that a rank sends to experts, and one after them; in
    the backward pass the same the other way round. Attention and routers are on every rank, for its own tokens.

    Parameters
    ----------
    graph
        Of :meth:`placelab.models.Transformer.graph`, or any whose experts are called ``….experts.…`` and backward ops
        ``op.backward`` and ``op.weight_gradient``.
    e
        Ranks, devices ``worker:w`` with ``worker:w/stream``: :func:`placelab.clusters.data_parallel`.
    capacity
        Tokens that an expert takes over those of even routing: exchanges and experts have so many times the bytes and operations,
        padding included. None: as many as there are.
    overlap
        Two micro-batches, each as large as the graph's: the second one's forward pass runs together with the first one's
        backward pass, a part of one between two parts of the other, so that either computes while tokens of the other are
        exchanged. Updates run once, at the end.

    Returns
    -------
    OpGraph
        ``w{w}/op`` on ``worker:w``, in program order; on streams ``dispatch/{module}/…@w`` and ``combine/{module}/…``, with
        ``.backward`` after the module in the backward pass. With `overlap` ``w{w}/mb{i}/op`` and ``mb{i}/dispatch/…``.

    Raises
    ------
    UnsupportedError
        A graph without experts; e does not divide them; overlap without a backward pass.
    FormatError
        A number out of range.

    Notes
    -----
    Routing is even. Gradients are not summed: those of experts would be over the ranks that have the same ones, all others over
    all. Parts end at exchanges: with `overlap`, on a device and on its stream, the k-th part of the backward pass is before
    the k-th of the forward pass, which for a layer takes the least possible time where its exchanges are as long as each other.
    O(e² · layers + e · edges).

    References
    ----------
    Lepikhin et al. (2021), GShard; DeepSeek-AI (2024), DeepSeek-V3 §3.2.1, for overlap.

    Examples
    --------
    >>> import placelab as pl
    >>> layer = pl.OpGraph.from_arrays(["route", "experts.up", "combine"], [0, 4, 0], [(0, 1), (1, 2)], edge_bytes=[8, 8])
    >>> made = expert_parallel(layer, 2)
    >>> int((made.kind == "exchange").sum())
    4
    """
    expect(graph, OpGraph, "expert_parallel")
    ranks = count(e, "e", most=MAX_OPS)
    factor = 1.0 if capacity is None else capacity
    expect(factor, (int, float, np.number), "capacity")
    if not 0 < factor < np.inf:
        raise FormatError(f"capacity is {capacity!r:.60}; expected a number above 0, or None")
    experts = graph.metadata.get("model", {}).get("experts")
    if experts and experts % ranks:
        raise UnsupportedError(f"e is {ranks}, which does not divide {experts} experts")
    exchanges = sorted(_exchanges(graph), key=lambda found: max(found.after))
    ops = RankOps(graph, ranks)
    if overlap:
        _overlapped(ops, exchanges, factor)
    else:
        number = ops.copy(range(graph.n_ops))
        for each in exchanges:
            _exchange(ops, each, factor, number)
    inside = np.array([EXPERTS.search(name) is not None for name, _ in forward_names(graph)])
    padded = np.where(inside, factor, 1.0)
    kept = {key: value for key, value in graph.metadata.items() if key not in ("forward", "parameters", "cluster")}
    title = f"{graph.title}, {ranks} ranks of experts"
    tensors = padded[graph.tensor_producer]
    weights = np.array([suffix == WEIGHTS for _, suffix in forward_names(graph)])
    tensors = np.where(weights[graph.tensor_producer] & inside[graph.tensor_producer], 1 / ranks, tensors)
    return ops.graph(padded, np.where(inside, 1 / ranks, 1.0), tensors, {**kept, "name": title})


def _exchange(ops: RankOps, each: _Exchange, factor: float, number: np.ndarray, prefix: str = "") -> list[np.ndarray]:
    """Add an exchange of a copy that has its producers, and let its readers wait if they are there; else what they wait for."""
    last = ops.collective(prefix + each.label, "all-to-all", each.size * factor, list(number[each.after]))
    if number[min(each.readers), 0] >= 0:
        ops.then(last, number[min(each.readers)])
    return last


class _Part(NamedTuple):
    """Ops of a pass up to an exchange, and the exchange after them; None at the end of the pass."""

    ops: list[int]
    exchange: _Exchange | None


def _parts(ops: Sequence[int], exchanges: Sequence[_Exchange]) -> list[_Part]:
    """The parts of a pass, which runs its `ops` in this order."""
    found = list[_Part]()
    own = set(ops)
    left = list(ops)
    for each in exchanges:
        if own.issuperset(each.after):
            n = sum(v < min(each.readers) for v in left)
            found.append(_Part(left[:n], each))
            left = left[n:]
    return [*found, _Part(left, None)]


def _overlapped(ops: RankOps, exchanges: Sequence[_Exchange], factor: float) -> None:
    """Add two micro-batches: a forward pass, a backward pass together with the other forward pass, the other backward pass."""
    suffixes = [suffix for _, suffix in forward_names(ops.model)]
    passes = [[v for v, s in enumerate(suffixes) if s != UPDATE and bool(s) == back] for back in (False, True)]
    if not passes[1]:
        raise UnsupportedError(
            f"{ops.model.title} has no backward pass to overlap with; give the graph of a training step"
        )
    forward, backward = (_parts(own, exchanges) for own in passes)
    numbers = [ops.copy(()), ops.copy(())]
    # What the next part of a micro-batch waits for.
    arrives: list[tuple[_Exchange, list[np.ndarray]] | None] = [
        None,
        None,
    ]

    def add(i: int, part: _Part | None) -> None:
        if part is None:
            return
        ops.copy(part.ops, f"mb{i}/", numbers[i])
        if arrived := arrives[i]:
            ops.then(arrived[1], numbers[i][min(arrived[0].readers)])
        arrives[i] = part.exchange and (part.exchange, _exchange(ops, part.exchange, factor, numbers[i], f"mb{i}/"))

    for each in forward:
        add(0, each)
    for back, ahead in zip_longest(backward, forward):
        add(0, back)
        add(1, ahead)
    for each in backward:
        add(1, each)
    ops.copy([v for v, suffix in enumerate(suffixes) if suffix == UPDATE], "mb1/", numbers[1])


class _Exchange(NamedTuple):
    """`size` bytes that each rank sends once the ops `after` are over, before the ops `readers`."""

    label: str
    size: float
    after: list[int]
    readers: list[int]


def _exchanges(graph: OpGraph) -> list[_Exchange]:
    """Exchanges at the edges that lead into experts or out of them; tensors kept for the backward pass have been exchanged."""
    named = forward_names(graph)
    match = [EXPERTS.search(name) for name, _ in named]
    if not any(match):
        raise UnsupportedError(f"{graph.title} has no experts: no op is called '….experts.…'")
    found: dict[str, tuple[list[float], set[int], set[int]]] = {}
    for u, v, size in zip(graph.producer.tolist(), graph.consumer.tolist(), graph.edge_bytes.tolist(), strict=True):
        inside = match[u] or match[v]
        passes = [bool(named[x][1]) for x in (u, v)]
        if inside is None or bool(match[u]) == bool(match[v]) or passes[0] != passes[1] or named[v][1] == UPDATE:
            continue
        forward = (match[v] is not None) != passes[0]
        label = f"{'dispatch' if forward else 'combine'}/{inside[1] or 'experts'}{'.backward' * passes[0]}"
        sizes, after, readers = found.setdefault(label, ([], set(), set()))
        sizes.append(size)
        after.add(u)
        readers.add(v)
    return [_Exchange(label, max(sizes), sorted(a), sorted(r)) for label, (sizes, a, r) in found.items()]
