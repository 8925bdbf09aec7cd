"""Generate the families of graphs that scheduling papers test on, of any size up to millions of ops, from a seed.

Unless a docstring says otherwise, an op has one output, a tensor that all its consumers share, as in a model graph.
Costs follow Topcuoglu 2002 §5.1; all generators take them as the same keywords, see :class:`Costs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict, Unpack

import numpy as np

from placelab.base.errors import FormatError, count, expect
from placelab.base.files import MAX_OPS
from placelab.base.seeds import generator
from placelab.graphs.training_steps import pipeline_training
from placelab.graphs.transforms.collective_hops import collective
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import Limits, checked

__all__ = [
    "Costs",
    "collective",
    "costs",
    "fft",
    "fork",
    "fork_join",
    "gaussian_elimination",
    "in_tree",
    "independent",
    "join",
    "layered",
    "out_tree",
    "par",
    "pipeline",
    "pipeline_training",
    "random_dag",
    "seq",
    "series_parallel",
    "stencil",
    "structures",
]

MOST_EDGES = 100_000_000  # some gigabytes while they are drawn; more than files may have
SPEED = 1e13  # operations/s and bytes/s of the preset `uniform`, to which ratios below refer
BANDWIDTH = 12e9


class Costs(TypedDict, total=False):
    """Costs of ops and transfers: keywords of every generator that takes ``**costs``.

    Attributes
    ----------
    compute : float
        Mean operations of an op, default 1e9: 100 µs on the preset ``uniform``. Drawn from U(0, 2 · compute).
    ccr : float
        Communication to computation ratio, default 1: mean transfer over mean execution time on the preset ``uniform``
        (10¹³ operations/s, 12 GB/s), latency left out. Bytes are drawn from U(0, 2 · mean).
    heterogeneity : float
        Range β of an op's time over `devices`, 0 to 2, default 0: U(1 - β/2, 1 + β/2) times its mean (Topcuoglu's β).
    devices : sequence of str
        Device names or types that get a time of their own; default none.
    """

    compute: float
    ccr: float
    heterogeneity: float
    devices: Sequence[str]


@checked
def layered(
    n_ops: int = 1000,
    *,
    shape: Annotated[float, Limits(0, above=True)] = 1.0,
    degree: Annotated[float, Limits(1, 1e6)] = 2.0,
    seed: int = 0,
    **costs: Unpack[Costs],
) -> OpGraph:
    """A random graph in layers.

    Parameters
    ----------
    n_ops
        Number of ops.
    shape
        About √n / shape layers of √n · shape ops: large is wide and parallel, small long and thin (Topcuoglu's alpha).
    degree
        Mean number of inputs of an op, at least 1. One comes from the layer before, so that the longest path has an op per
        layer; the others from any earlier layer. An op that is drawn twice counts as one input.
    seed
        Same seed, same graph.
    **costs
        See :class:`Costs`.

    Notes
    -----
    O(n_ops · degree). Departs from Topcuoglu 2002 §5.1.1, which draws the out-degree.
    """
    n = count(n_ops, "n_ops", most=MAX_OPS)
    _check_edges(n, degree)
    rng = generator(seed)
    height = min(n, max(1, round(n**0.5 / shape)))
    cuts = 1 + np.sort(rng.choice(n - 1, height - 1, replace=False)) if height > 1 else np.array([], dtype=np.int64)
    start = np.concatenate([[0], cuts, [n]]).astype(np.int64)
    layer = np.repeat(np.arange(height), np.diff(start))
    inner = np.arange(start[1], n)
    near = rng.integers(start[layer[inner] - 1], start[layer[inner]])
    far_of = np.repeat(inner, rng.poisson(degree - 1, len(inner)))
    far = rng.integers(0, start[layer[far_of]])
    pairs = np.unique(np.concatenate([near * n + inner, far * n + far_of]))
    edges = np.stack([pairs // n, pairs % n], axis=1)
    return _graph(f"layered {n}", _ops(n), edges, rng, **costs)


def fork_join(width: int = 8, stages: int = 1, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """`stages` stages: one op, whose tensor `width` branches read, and a join of all branches, which starts the next stage.

    ``stages * (width + 1) + 1`` ops, ``2 * stages * width`` edges.
    """
    w = count(width, "width", most=MAX_OPS)
    s = count(stages, "stages", most=MAX_OPS)
    _check_ops(s * (w + 1) + 1, width=w, stages=s)
    fork = np.repeat(np.arange(s) * (w + 1), w)
    branch = fork + 1 + np.tile(np.arange(w), s)
    names = [f"stage{i}/{'fork' if j == 0 else f'branch{j - 1}'}" for i in range(s) for j in range(w + 1)] + ["join"]
    edges = np.stack([np.concatenate([fork, branch]), np.concatenate([branch, fork + w + 1])], axis=1)
    return _graph(f"fork-join {w} x {s}", names, edges, generator(seed), **costs)


def stencil(width: int = 8, steps: int = 8, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """A one-dimensional three-point stencil: cell i of a step needs cells i - 1, i, i + 1 of the step before.

    ``width * steps`` ops, ``(steps - 1) * (3 * width - 2)`` edges.
    """
    w = count(width, "width", most=MAX_OPS)
    s = count(steps, "steps", most=MAX_OPS)
    _check_ops(w * s, width=w, steps=s)
    cell = np.arange(w * (s - 1))
    reader = cell[:, None] + w + np.array([-1, 0, 1])
    inside = reader // w == (cell // w + 1)[:, None]
    edges = np.stack([np.repeat(cell, 3).reshape(-1, 3)[inside], reader[inside]], axis=1)
    names = [f"step{t}/cell{i}" for t in range(s) for i in range(w)]
    return _graph(f"stencil {w} x {s}", names, edges, generator(seed), **costs)


def independent(n_ops: int = 8, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """`n_ops` ops without edges: scheduling them is bin packing."""
    n = count(n_ops, "n_ops", most=MAX_OPS)
    return _graph(f"independent {n}", _ops(n), np.empty((0, 2), dtype=np.int64), generator(seed), **costs)


def fork(n_ops: int = 8, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """One op, whose tensor the other ``n_ops - 1`` ops read. ``n_ops - 1`` edges."""
    n = count(n_ops, "n_ops", most=MAX_OPS)
    leaf = np.arange(1, n)
    return _graph(f"fork {n}", _ops(n), np.stack([leaf * 0, leaf], axis=1), generator(seed), **costs)


def join(n_ops: int = 8, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """``n_ops - 1`` ops, whose tensors the last op reads. ``n_ops - 1`` edges."""
    n = count(n_ops, "n_ops", most=MAX_OPS)
    leaf = np.arange(n - 1)
    return _graph(f"join {n}", _ops(n), np.stack([leaf, leaf * 0 + n - 1], axis=1), generator(seed), **costs)


def out_tree(n_ops: int = 15, degree: int = 2, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """A complete tree from its root to the leaves: `degree` ops read each op's tensor. ``n_ops - 1`` edges.

    Levels fill from the left; the last level may be incomplete, and the last parent may have fewer children.
    """
    n, edges = _tree(n_ops, degree)
    return _graph(f"out-tree {n}", _ops(n), edges, generator(seed), **costs)


def in_tree(n_ops: int = 15, degree: int = 2, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """A reduction: :func:`out_tree` with all edges reversed and ops numbered from the leaves to the root."""
    n, edges = _tree(n_ops, degree)
    return _graph(f"in-tree {n}", _ops(n), n - 1 - edges[:, ::-1], generator(seed), **costs)


def _tree(n_ops: int, degree: int) -> tuple[int, np.ndarray]:
    n = count(n_ops, "n_ops", most=MAX_OPS)
    b = count(degree, "degree", most=MAX_OPS)
    child = np.arange(1, n)
    return n, np.stack([(child - 1) // b, child], axis=1)


def pipeline(stages: int = 4, items: int = 8, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """Items pass through stages in turn: stage i of item j needs stage i - 1 of item j and stage i of item j - 1.

    ``stages * items`` ops, ``2 * stages * items - stages - items`` edges.
    """
    s = count(stages, "stages", most=MAX_OPS)
    n = count(items, "items", most=MAX_OPS)
    _check_ops(s * n, stages=s, items=n)
    number = np.arange(s * n).reshape(n, s)
    along = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    across = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    names = [f"item{j}/stage{i}" for j in range(n) for i in range(s)]
    return _graph(f"pipeline {s} x {n}", names, np.concatenate([along, across]), generator(seed), **costs)


def series_parallel(n_ops: int = 16, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """A random series-parallel graph with one source and one sink.

    Starts from one edge and adds ops one by one to a random edge: into it (in series) or beside it, from its tail to its head
    (in parallel), with equal probability. Between ``n_ops - 1`` and ``2 * n_ops - 3`` edges (n_ops > 1). O(n_ops).
    """
    n = count(n_ops, "n_ops", most=MAX_OPS)
    rng = generator(seed)
    edges = [(0, 1)] if n > 1 else []
    for v in range(2, n):
        i = int(rng.integers(len(edges)))
        tail, head = edges[i]
        if rng.random() < 0.5:
            edges[i] = (tail, v)
            edges.append((v, head))
        else:
            edges += [(tail, v), (v, head)]
    return _graph(f"series-parallel {n}", _ops(n), np.array(edges, dtype=np.int64).reshape(-1, 2), rng, **costs)


@checked
def random_dag(
    n_ops: int = 16, *, degree: Annotated[float, Limits(0)] = 2.0, seed: int = 0, **costs: Unpack[Costs]
) -> OpGraph:
    """Join any two ops, from the lower number to the higher, with equal probability: `degree` inputs per op on average.

    `degree` is clipped to ``(n_ops - 1) / 2``, at which every pair is joined. O(n_ops · degree).
    """
    n = count(n_ops, "n_ops", most=MAX_OPS)
    _check_edges(n, min(degree, (n - 1) / 2))
    rng = generator(seed)
    pairs = n * (n - 1) // 2
    drawn = np.array([], dtype=np.int64)
    if pairs:
        drawn = np.sort(rng.choice(pairs, rng.binomial(pairs, min(1.0, degree * n / pairs)), replace=False))
    later = np.floor((1 + np.sqrt(1 + 8 * drawn.astype(np.float64))) / 2).astype(np.int64)
    edges = np.stack([drawn.astype(np.int64) - later * (later - 1) // 2, later], axis=1)
    return _graph(f"random {n}", _ops(n), edges, rng, **costs)


def structures(n_ops: int = 10, *, seed: int = 0, **costs: Unpack[Costs]) -> dict[str, OpGraph]:
    """One graph of `n_ops` ops for each structure of the Auckland task graphs, a benchmark for optimal schedulers.

    Returns
    -------
    dict of str to OpGraph
        ``independent``, ``fork``, ``join``, ``fork-join``, ``out-tree``, ``in-tree``, ``pipeline``, ``stencil``,
        ``series-parallel``, ``random``. The sides of pipeline and stencil are the two most equal
        factors of `n_ops`.

    Notes
    -----
    The published collection has 10, 21 or 30 tasks and a weight per edge; here an op's consumers share one tensor.

    References
    ----------
    Sinnen (2014), Reducing the solution space of optimal task scheduling.

    Examples
    --------
    >>> {graph.n_ops for graph in structures(10, ccr=2.0).values()}
    {10}
    """
    n = count(n_ops, "n_ops", 3, MAX_OPS)
    side = max(w for w in range(1, int(n**0.5) + 1) if n % w == 0)
    return {
        "independent": independent(n, seed=seed, **costs),
        "fork": fork(n, seed=seed, **costs),
        "join": join(n, seed=seed, **costs),
        "fork-join": fork_join(n - 2, seed=seed, **costs),
        "out-tree": out_tree(n, seed=seed, **costs),
        "in-tree": in_tree(n, seed=seed, **costs),
        "pipeline": pipeline(n // side, side, seed=seed, **costs),
        "stencil": stencil(n // side, side, seed=seed, **costs),
        "series-parallel": series_parallel(n, seed=seed, **costs),
        "random": random_dag(n, seed=seed, **costs),
    }


def gaussian_elimination(m: int = 8, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """Gaussian elimination of an m-by-m matrix by columns (Topcuoglu 2002 §5.2.1, Cosnard et al. 1988).

    The updates of columns k + 1 … m read step k's pivot; the next step's task on a column reads its update.
    ``(m² + m - 2) / 2`` ops, ``m² - m - 1`` edges.
    """
    m = count(m, "m", 2, MAX_OPS)
    _check_ops((m * m + m - 2) // 2, m=m)
    k, j = np.triu_indices(m)  # row k: pivot (k, k), then the update of each later column j
    k = k[:-1]
    j = j[:-1]
    number = np.zeros((m, m), dtype=np.int64)
    number[k, j] = np.arange(len(k))
    update = j > k
    deeper = (j > k) & (k < m - 2)
    edges = np.concatenate(
        [
            np.stack([number[k, k], number[k, j]], axis=1)[update],
            np.stack([number[k, j], number[np.minimum(k + 1, m - 1), j]], axis=1)[deeper],
        ]
    )
    tasks = zip(k.tolist(), j.tolist(), strict=True)
    names = [f"step{a + 1}/{'pivot' if a == b else f'column{b + 1}'}" for a, b in tasks]
    return _graph(f"gaussian elimination {m}", names, edges, generator(seed), **costs)


def fft(points: int = 16, *, seed: int = 0, **costs: Unpack[Costs]) -> OpGraph:
    """A fast Fourier transform of `points`, a power of two (Topcuoglu 2002 §5.2.2).

    A binary tree of recursive calls, ``2 points - 1`` ops that send each child its half, then log₂ `points` levels of
    butterflies, `points` ops each, whose one tensor two ops of the next level read. As in the paper, all ops of a level
    have the same cost and all tensors between two levels the same size, so that all paths are equally long.
    ``2 points - 1 + points log₂ points`` ops, ``2 (points - 1) + 2 points log₂ points`` edges.
    """
    n = count(points, "points", most=MAX_OPS)
    if n & (n - 1):
        raise FormatError(f"points is {n}; expected a power of two")
    depth = n.bit_length() - 1
    _check_ops(2 * n - 1 + n * depth, points=n)
    call = np.arange(n - 1)
    calls = np.stack([np.repeat(call, 2), np.arange(1, 2 * n - 1)], axis=1)
    here = np.arange(n - 1, n - 1 + n * depth)  # the leaves of the tree, then every level of butterflies but the last
    stage = (here - (n - 1)) // n
    straight = np.stack([here, here + n], axis=1)
    crossed = np.stack([here, n - 1 + (stage + 1) * n + ((here - (n - 1)) % n ^ (1 << stage))], axis=1)
    names = [f"call{v}" for v in range(2 * n - 1)] + [f"butterfly{s}/{i}" for s in range(depth) for i in range(n)]
    widths = [1 << s for s in range(depth + 1)] + [n] * depth
    level = np.repeat(np.arange(len(widths)), widths)
    output = np.concatenate([np.arange(2 * (n - 1)) % 2, np.zeros(2 * len(here), dtype=np.int64)])
    edges = np.concatenate([calls, straight, crossed])
    return _graph(f"fft {n}", names, edges, generator(seed), output=output, level=level, **costs)


@checked
def par(n: int = 32, *, compute: Annotated[float, Limits(0)] = 1.0, size: Annotated[float, Limits(0)] = 1.0) -> OpGraph:
    """Hashemi's Par-n: n concurrent layers, each of which needs one parameter from a server. All orders of the reads are optimal.

    Parameters
    ----------
    n
        Layers.
    compute, size
        Operations of a layer, bytes of a parameter. Reads take no time.

    Returns
    -------
    OpGraph
        ``2 * n`` ops, ``n`` edges: reads (kind ``read``, for devices of type ``ps``), layers (``layer``, for ``gpu``).

    References
    ----------
    Hashemi, Jyothi, Campbell (2018) §3.
    """
    n = count(n, "n", most=MAX_OPS // 2)
    return _parameter_server(f"par {n}", n, np.empty((0, 2), dtype=np.int64), compute, size)


@checked
def seq(n: int = 32, *, compute: Annotated[float, Limits(0)] = 1.0, size: Annotated[float, Limits(0)] = 1.0) -> OpGraph:
    """Hashemi's Seq-n: :func:`par` with each layer also needing the one before. One order of the n! is optimal.

    ``2 * n`` ops, ``2 * n - 1`` edges. Tensors between layers have `size` bytes and stay on the worker.
    """
    n = count(n, "n", most=MAX_OPS // 2)
    layer = np.arange(n, 2 * n)
    return _parameter_server(f"seq {n}", n, np.stack([layer[:-1], layer[1:]], axis=1), compute, size)


def _parameter_server(name: str, n: int, chain: np.ndarray, compute: float, size: float) -> OpGraph:
    """`n` reads on a server, each for one layer on a worker, and `chain`, the edges among layers."""
    read = np.arange(n)
    return OpGraph.from_arrays(
        [f"read{i + 1}" for i in range(n)] + [f"layer{i + 1}" for i in range(n)],
        np.repeat([0.0, compute], n),
        np.concatenate([np.stack([read, read + n], axis=1), chain]),
        edge_bytes=size,
        kind=["read"] * n + ["layer"] * n,
        devices={v: ("ps",) if v < n else ("gpu",) for v in range(2 * n)},
        metadata={"name": name},
    )


def _check_ops(n: int, **counts: int) -> None:
    """Refuse counts whose graph has more ops than are made, before it takes memory."""
    if n > MAX_OPS:
        given = " and ".join(f"{what} of {value:,}" for what, value in counts.items())
        make = "make" if len(counts) > 1 else "makes"
        raise FormatError(f"{given} {make} {n:,} ops; at most {MAX_OPS:,} are made, so give less")


def _check_edges(n: int, degree: float) -> None:
    """Refuse a degree with which a graph of n ops has more edges than are made, before it takes memory."""
    if n * degree > MOST_EDGES:
        raise FormatError(
            f"n_ops {n:,} and degree {degree:g} make {n * degree:,.0f} edges; at most {MOST_EDGES:,} are made, so give less"
        )


def _graph(
    name: str,
    names: list[str],
    edges: np.ndarray,
    rng: np.random.Generator,
    *,
    output: np.ndarray | None = None,
    level: np.ndarray | None = None,
    **given: Unpack[Costs],
) -> OpGraph:
    """The graph with costs drawn per op, or per `level` of ops; one tensor per op unless `output` numbers them."""
    n = len(names)
    by = costs(**given)
    compute = by["compute"]
    heterogeneity = by["heterogeneity"]
    draw = rng.random((2, n))[:, np.arange(n) if level is None else level]
    operations = 2 * compute * draw[0]
    size = 2 * by["ccr"] * compute * BANDWIDTH / SPEED * draw[1]
    spread = {device: 1 + heterogeneity * (rng.random(n) - 0.5) for device in by["devices"]}
    return OpGraph.from_arrays(
        names,
        operations,
        edges,
        edge_bytes=size[edges[:, 0]],
        edge_output=np.zeros(len(edges), dtype=np.int64) if output is None else output,
        time={device: operations / SPEED * factor for device, factor in spread.items()} or None,
        metadata={"name": name},
    )


@checked
def costs(
    *,
    compute: Annotated[float, Limits(0)] = 1e9,
    ccr: Annotated[float, Limits(0)] = 1.0,
    heterogeneity: Annotated[float, Limits(0, 2)] = 0.0,
    devices: Sequence[str] = (),
) -> Costs:
    """The costs, checked, the missing ones by default."""
    expect(devices, (list, tuple), "the devices of a generator")
    return Costs(compute=compute, ccr=ccr, heterogeneity=heterogeneity, devices=devices)


def _ops(n: int) -> list[str]:
    return [f"op{v}" for v in range(n)]
