"""The best split of a decoder's layers over devices, by the costs of its blocks, and of a batch over workers."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, UnsupportedError, count, expect
from placelab.base.units import si
from placelab.models import Transformer, read
from placelab.plans.block_times import Pass
from placelab.plans.borders import MOST_STATES, OBJECTIVES, Chain, Costs, Free, Given, Route, Search
from placelab.plans.layer_split import Facts, LayerSplit, Wanted, facts_of, in_flight, with_facts
from placelab.problem.cluster import Cluster

PHASES = ("decode", "prefill", "train")
ORDERS = ("given", "free")
TOKENS = 1_000_000_000
SMALL = 1000  # blocks whose table of ranges is held in memory
MOST = 10**15


def split_layers(
    model: Transformer | str,
    cluster: Cluster,
    *,
    objective: Literal["stage", "memory", "sum"] = "stage",
    phase: Literal["decode", "prefill", "train"] = "decode",
    batch: int = 1,
    sequence: int = 4096,
    context: int = 0,
    microbatches: int = 1,
    order: Literal["given", "free"] = "given",
    empty: bool = False,
    fixed: Mapping[int, int] | None = None,
    headroom: float = 0.0,
) -> LayerSplit:
    r"""Split a decoder's layers over devices, a run of consecutive layers on each: the best split, exactly.

    Parameters
    ----------
    model
        Of :func:`placelab.models.read`, or what that reads: a bundled name, the path of a ``config.json``, a dict.
    cluster
        The devices. Types of :func:`placelab.costs.specs` have their own rooflines, others that of an RTX 2080 Ti at their speed.
    objective
        ``"stage"``: least seconds of the slowest device, for throughput. ``"memory"``: least share of the fullest device's
        memory. ``"sum"``: least seconds of all devices, for the latency of a token.
    phase
        ``"decode"``: the next token of each sequence; ``"prefill"``: all tokens of new ones; ``"train"``: forward and backward.
    batch, sequence, context
        Sequences of a micro-batch, their new tokens (decode: one), and those in the cache before.
    microbatches
        Micro-batches of a step: stage j of p keeps the activations of min(m, p − j) (``1f1b``). In decode and prefill, caches
        that are held.
    order
        ``"given"``: devices in the order of the cluster; ``"free"``: the best order, too.
    empty
        Whether devices may stay idle; otherwise each gets one block at least: the embedding, a layer, or the head.
    fixed
        Border → number of layers before it; border 0 is between the first two devices.
    headroom
        Share of each memory to leave free, for what is not counted: fragments, the framework's own.

    Returns
    -------
    LayerSplit
        Layers, seconds and bytes per device; the problem and its schedule.

    Raises
    ------
    InfeasibleError
        The model does not fit; says what it needs and what there is.
    UnsupportedError
        An option that does not exist; too many states for a free order, or links that differ between equal types.
    FormatError
        Numbers out of range, fewer blocks than devices.

    Notes
    -----
    Seconds of a range are those of its ops (:func:`placelab.costs.estimate`, without the start of an op) and of its border, where
    the hidden states leave, in training the gradients come back, too. Bytes: training with Adam, weights in the model's type,
    gradients in float32, flash attention; else weights, cache, and the inputs and outputs of the widest op. Tied weights count on
    both ends. Ties, within a relative 1e-12, go to the lexicographically least numbers of layers. Rooflines are peaks: trust
    comparisons more than seconds. O(layers² · devices), a free order O(layers² · states).

    Examples
    --------
    >>> import placelab as pl
    >>> types = ["rtx4090", "rtx3090", "t4"]
    >>> known = [pl.costs.specs()[name] for name in types]
    >>> gpus = pl.Cluster([s.speed for s in known], memory=[s.memory for s in known], types=types, bandwidth=25e9)
    >>> pl.split_layers("llama-3-8b", gpus, context=8192).counts
    (16, 14, 2)
    """
    model = model if isinstance(model, Transformer) else read(model)
    expect(cluster, Cluster, "split_layers(model, cluster)")
    wanted = _wanted(objective, phase, batch, sequence, context, microbatches, order, empty, headroom)
    facts = facts_of(model, cluster, wanted)
    n = facts.memory.n_blocks
    k = cluster.n_devices
    if k > n and not empty:
        raise FormatError(f"{model.name} has {n} blocks, fewer than the {k} devices; give fewer devices, or empty=True")
    places = _fixed(fixed, model.layers, k)
    types = _types(cluster, facts.links) if order == "free" else list(range(k))
    first = [types.index(c) for c in range(max(types) + 1)]
    route = _free(types, n, wanted.empty) if order == "free" else Given(k, wanted.empty)
    capacity = cluster.memory[first]
    if objective == "memory" and np.isinf(capacity).all():
        raise UnsupportedError("objective 'memory' needs devices with a memory; the cluster's are unlimited")
    limit = capacity * (1 - wanted.headroom)
    costs = Costs(
        facts.seconds[first], _between(facts.links, types), capacity, limit, _ranges(facts, wanted), phase == "train"
    )
    chain = Search(costs, route, objective, places).best()
    if chain is None:
        raise _infeasible(model, cluster, wanted, facts, bool(places))
    return with_facts(_answer(model, cluster, wanted, chain, route, types), facts)


def _free(types: list[int], blocks: int, empty: bool) -> Free:
    numbers = tuple(types.count(c) for c in range(max(types) + 1))
    route = Free(numbers, empty)
    if route.states(blocks) > MOST_STATES:
        raise UnsupportedError(
            f"a free order of {len(types)} devices of {len(numbers)} types has more than {MOST_STATES:,} states; "
            "use order='given'"
        )
    return route


def _answer(
    model: Transformer, cluster: Cluster, wanted: Wanted, chain: Chain, route: Route, types: list[int]
) -> LayerSplit:
    nodes = chain.nodes
    borders = chain.borders
    n = borders[-1]
    if isinstance(route, Given):  # idle devices stand where they are
        ends = dict(zip(nodes, borders, strict=False))
        starts = []
        upcoming = n
        for d in reversed(range(route.n_devices)):
            upcoming = ends.get(d, upcoming)
            starts.append(upcoming)
        return LayerSplit(model, cluster, tuple(range(route.n_devices)), (*reversed(starts), n), wanted)
    left = {c: [d for d, of in enumerate(types) if of == c] for c in set(types)}
    used = [left[route.type(node)].pop(0) for node in nodes]
    idle = sorted(d for devices in left.values() for d in devices)
    return LayerSplit(model, cluster, (*used, *idle), (*borders, *(n for _ in idle)), wanted)


# -------------------------------------------------------------------- questions


def _wanted(
    objective: Any,
    phase: Any,
    batch: Any,
    sequence: Any,
    context: Any,
    microbatches: Any,
    order: Any,
    empty: Any,
    headroom: Any,
) -> Wanted:
    for label, value, known in (
        ("objective", objective, OBJECTIVES),
        ("phase", phase, PHASES),
        ("order", order, ORDERS),
        ("empty", empty, (False, True)),
    ):
        if isinstance(value, bool) != isinstance(known[0], bool) or value not in known:
            raise UnsupportedError(f"{label} is {value!r:.60}; expected one of {', '.join(map(str, known))}")
    expect(headroom, (int, float), "headroom")
    if not 0 <= headroom < 1:
        raise FormatError(f"headroom is {headroom!r:.60}; expected a share of the memory, from 0 to below 1")
    sizes = (
        count(batch, "batch", 1, TOKENS),
        count(sequence, "sequence", 1, TOKENS),
        count(context, "context", 0, TOKENS),
    )
    run = Pass(phase, *sizes)
    return Wanted(objective, run, count(microbatches, "microbatches", 1, TOKENS), order, bool(empty), float(headroom))


def _fixed(fixed: Any, layers: int, devices: int) -> dict[int, tuple[int, ...]]:
    """Border → where it may be, in blocks; with no layer before it, the embedding may be behind it, too."""
    if fixed is None:
        return {}
    expect(fixed, Mapping, "fixed")
    found = {}
    for border, before in fixed.items():
        border = count(border, "a border in fixed", 0, devices - 2)
        before = count(before, f"layers before border {border}", 0, layers)
        found[border] = (before + 1, *([0] if before == 0 else []), *([layers + 2] if before == layers else []))
    return found


def _types(cluster: Cluster, links: np.ndarray) -> list[int]:
    """A number per device; equal ones have equal types, speeds, memories and links to each other type."""
    alike: dict[tuple, int] = {}
    columns = zip(cluster.types, cluster.speed.tolist(), cluster.memory.tolist(), strict=True)
    types = [alike.setdefault(key, len(alike)) for key in columns]
    for a in range(len(alike)):
        for b in range(len(alike)):
            here = links[np.ix_([c == a for c in types], [c == b for c in types])]
            between = here[~np.eye(len(here), dtype=bool)] if a == b else here
            if np.ptp(between) if between.size else 0.0:
                names = [cluster.types[types.index(c)] for c in (a, b)]
                raise UnsupportedError(
                    f"links from {names[0]!r} to {names[1]!r} differ, so these devices are not alike; use order='given'"
                )
    return types


def _between(links: np.ndarray, types: list[int]) -> np.ndarray:
    """Seconds of a border between two types; of one type, between two different devices of it."""
    k = max(types) + 1
    found = np.zeros((k, k))
    for a, b in np.ndindex(len(types), len(types)):
        if a != b:
            found[types[a], types[b]] = links[a, b]
    return found


def _ranges(facts: Facts, wanted: Wanted) -> Any:
    """Bytes of ranges; of a small model, without activations and those of one micro-batch are kept."""
    memory = facts.memory
    if memory.n_blocks > SMALL:
        return lambda first, stage, stages: memory.of_ranges(first, in_flight(wanted, stage, stages))
    everything = slice(0, memory.n_blocks + 1)
    lasting = memory.of_ranges(everything, 0.0)
    summed = np.concatenate([[0.0], np.cumsum(memory.activations)])

    def ranges(first: slice, stage: int, stages: int) -> np.ndarray:
        return lasting[first] + in_flight(wanted, stage, stages) * (summed[None, :] - summed[first, None])

    return ranges


def _infeasible(model: Transformer, cluster: Cluster, wanted: Wanted, facts: Facts, fixed: bool) -> InfeasibleError:
    """What the model needs, what there is, and where the devices in their order are full."""
    limit = cluster.memory * (1 - wanted.headroom)
    memory = facts.memory
    n = facts.memory.n_blocks
    k = cluster.n_devices
    at = 0
    ends = []
    for d in range(k):
        row = memory.of_ranges(slice(at, at + 1), in_flight(wanted, d, k))[0]
        fitting = np.flatnonzero(row[at:] <= limit[d])
        at += int(fitting[-1]) if len(fitting) else 0
        ends.append(at)
    need_bytes = sum(memory.by_category(0, n, 1.0).values())
    rooms = {name: float(room) for name, room in zip(cluster.names, limit, strict=True)}
    shown = ", ".join(f"{name} {si(room, 'B')}" for name, room in list(rooms.items())[:8]) + (" …" if k > 8 else "")
    where = "all blocks" if at == n else f"{at} of {n} blocks"
    said = "with these borders fixed, " if fixed else ""
    return InfeasibleError(
        f"{model.name} does not fit: {said}it needs {si(need_bytes, 'B')} and there are {si(float(limit.sum()), 'B')} "
        f"({shown}); filled in order, the devices hold {where}, {cluster.names[0]!r} the first {ends[0]}",
        devices={name: f"holds up to block {end}" for name, end in zip(cluster.names, ends, strict=True)},
    )


def share_batch(seconds: Sequence[float], total: int) -> tuple[int, ...]:
    r"""Share micro-batches between workers so that the slowest one ends first.

    .. math:: \min_{\sum c_w = n} \max_w c_w \tau_w

    Parameters
    ----------
    seconds
        Of a micro-batch on each worker, :math:`\tau_w`.
    total
        Micro-batches n.

    Returns
    -------
    tuple of int
        Micro-batches of each worker: the `samples` of :func:`placelab.transforms.model_replica`.

    Raises
    ------
    FormatError
        No workers, seconds that are not above 0, a total that is no such number.

    Notes
    -----
    Each further micro-batch goes to the worker that would end first with it, ties to the lower number; what all workers can do
    by the time that fractions would take is given at once. O(workers log workers).

    Examples
    --------
    >>> share_batch([1, 2, 3], 11)
    (6, 3, 2)
    """
    n = count(total, "total", 0, MOST)
    try:
        taken = np.asarray(seconds, dtype=np.float64)
    except (TypeError, ValueError):
        taken = np.array(np.nan)
    if taken.ndim != 1 or not len(taken) or not (np.isfinite(taken) & (taken > 0)).all():
        raise FormatError(f"seconds is {seconds!r:.60}; expected a number above 0 for each worker")
    ratio = taken / taken.min()
    shares = np.floor(n / (1 / ratio).sum() / ratio * (1 - 1e-9)).astype(np.int64)
    ends = [((share + 1) * tau, w) for w, (share, tau) in enumerate(zip(shares.tolist(), taken.tolist(), strict=True))]
    heapq.heapify(ends)
    for _ in range(n - int(shares.sum())):
        _, w = ends[0]
        shares[w] += 1
        heapq.heapreplace(ends, (float((shares[w] + 1) * taken[w]), w))
    return tuple(shares.tolist())
