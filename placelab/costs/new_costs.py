"""Give a graph other costs: scaled, perturbed, drawn at random, or in the units of real machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.index_arrays import LARGEST
from placelab.base.seeds import generator
from placelab.problem.cluster import LEAST
from placelab.problem.coverage import provenance
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem, on_graph
from placelab.schedule.catalogue import Limits, checked

Either = TypeVar("Either", OpGraph, Problem)
SPEED = 1e13  # operations/s of the preset `uniform`, on which a unit takes `unit` seconds
BANDWIDTH = 12e9  # bytes/s of its links


def scale(graph: OpGraph, *, compute: float = 1.0, transfer: float = 1.0) -> OpGraph:
    """Multiply all operations and seconds by `compute`, and all tensor bytes by `transfer`.

    Parameters
    ----------
    graph
        Any graph.
    compute, transfer
        Factors, finite and not negative; 1 leaves the costs as they are.

    Returns
    -------
    OpGraph
        Persistent and temporary bytes stay; ``memory`` changes by what the op's outputs gain or lose, and is clipped at 0.
        ``metadata["costs"]["scaled"]`` records the product of all factors so far.

    Raises
    ------
    FormatError
        An invalid factor; costs that overflow a float.

    Examples
    --------
    >>> g = OpGraph.from_arrays(["a", "b"], [1.0, 2.0], [(0, 1)], edge_bytes=[8.0])
    >>> h = scale(g, compute=10, transfer=0.5)
    >>> h.compute.tolist(), h.tensor_bytes.tolist(), h.metadata["costs"]["scaled"]
    ([10.0, 20.0], [4.0], {'compute': 10.0, 'transfer': 0.5})
    """
    expect(graph, OpGraph, "costs.scale")
    factors = {"compute": _factor(compute, "compute"), "transfer": _factor(transfer, "transfer")}
    costs = provenance(graph)
    before = costs.get("scaled", {})
    costs["scaled"] = {label: before.get(label, 1.0) * factor for label, factor in factors.items()}
    work, move = factors.values()
    with np.errstate(over="ignore"):
        return graph.replace(
            compute=graph.compute * work,
            time=None if graph.time is None else graph.time * work,
            tensor_bytes=graph.tensor_bytes * move,
            memory=np.maximum(graph.memory + (move - 1) * graph.outputs, 0.0),
            metadata={**graph.metadata, "costs": costs},
        )


def _factor(value: Any, label: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LARGEST:
        raise FormatError(f"factor of {label} is {value!r:.80}; expected a finite number, 0 or more")
    return float(value)


@checked
def perturb(
    graph: Either,
    *,
    factor: Annotated[float, Limits(0, 1)] = 0.2,
    seed: int = 0,
    distribution: Literal["uniform", "extremes"] = "uniform",
) -> Either:
    """Multiply every op's cost and every tensor's bytes by a random factor.

    Parameters
    ----------
    graph
        An OpGraph or a Problem.
    factor
        f, 0 to 1: costs are multiplied by factors between 1 - f and 1 + f.
    seed
        Seed of the factors; the same seed draws the same ones.
    distribution
        ``"uniform"``: factors from U(1 - f, 1 + f). ``"extremes"``: 1 - f or 1 + f, each half of the time.

    Returns
    -------
    OpGraph or Problem
        Of the same class as `graph`. One factor per op, for its compute and all its measured times, in topological order;
        then one per tensor for its bytes. Persistent, temporary and reserved bytes stay; groups, constraints and pins too.
        To run a placement of the perturbed problem with the true costs:
        ``Placement(problem, placement.device, placement.planned)``.

    References
    ----------
    Baechi (2020) §5.5, Fig. 8: errors of up to 20 % hardly change step times.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.generators.fork_join(3)
    >>> wrong = perturb(graph, factor=0.5, seed=1, distribution="extremes")
    >>> sorted({round(float(x), 3) for x in wrong.compute / graph.compute})
    [0.5, 1.5]
    """
    if isinstance(graph, Problem):
        return on_graph(graph, _perturbed(graph.graph, factor, seed, distribution))
    expect(graph, (OpGraph, Problem), "perturb")
    return _perturbed(graph, factor, seed, distribution)


def _perturbed(graph: OpGraph, factor: float, seed: int, distribution: str) -> OpGraph:
    drawn = 2 * generator(seed).random(graph.n_ops + graph.n_tensors) - 1
    off = 1 + factor * (drawn if distribution == "uniform" else np.where(drawn < 0, -1.0, 1.0))
    op = off[: graph.n_ops]
    tensor = off[graph.n_ops :]
    return graph.replace(
        compute=graph.compute * op,
        tensor_bytes=graph.tensor_bytes * tensor,
        time=None if graph.time is None else graph.time * op[:, None],
    )


def mayer(graph: OpGraph, *, seed: int = 0) -> OpGraph:
    """Redraw operations and tensor bytes uniformly from 1 to 100, the costs of Mayer 2017 §5.1.

    Parameters
    ----------
    graph
        Any graph; its ops, edges, kinds, groups and device constraints stay.
    seed
        Same seed, same costs.

    Returns
    -------
    OpGraph
        Compute in operations, tensors in bytes, for clusters whose speeds and rates are per time unit of 1 s, such as
        ``clusters.mayer50``. Time table, persistent and temporary bytes, and reference speed are removed.

    Notes
    -----
    Draws are whole numbers, 1 and 100 included, as in the files of the published simulator: first one per op, in topological
    order, then one per tensor, so that all its consumers see one size. Control tensors keep their 0 bytes (the published
    simulator has one tensor per op and charges it on control edges too). O(n_ops + n_tensors).

    References
    ----------
    Mayer, Mayer, Laich (2017) §5.1.

    Examples
    --------
    >>> from placelab import generators
    >>> g = mayer(generators.fork_join(3), seed=0)
    >>> bool((g.compute >= 1).all() and (g.compute <= 100).all())
    True
    """
    expect(graph, OpGraph, "costs.mayer")
    rng = generator(seed)
    compute = rng.integers(1, 100, graph.n_ops, endpoint=True).astype(float)
    drawn = rng.integers(1, 100, graph.n_tensors, endpoint=True)
    tensor_bytes = np.where(graph.tensor_control, 0.0, drawn)
    kept = {key: value for key, value in graph.metadata.items() if key != "reference_speed"}
    return graph.replace(
        compute=compute,
        time=None,
        time_types=(),
        persistent=np.zeros(graph.n_ops),
        temporary=np.zeros(graph.n_ops),
        memory=np.bincount(graph.tensor_producer, tensor_bytes, minlength=graph.n_ops),
        tensor_bytes=tensor_bytes,
        metadata={**kept, "costs": f"mayer, seed {seed}"},
    )


@checked
def in_seconds(graph: OpGraph, *, unit: Annotated[float, Limits(0, above=True)] = 1e-3) -> OpGraph:
    """Turn plain numbers into seconds, operations and bytes, for clusters in SI units.

    Parameters
    ----------
    graph
        A graph whose costs are plain numbers, as those of papers and of ``.stg`` files; any other is returned as it is.
    unit
        Seconds that a unit of compute takes on a device of 10¹³ operations/s, and a unit of data on a link of 12 GB/s, without
        latency: the preset ``uniform``.

    Returns
    -------
    OpGraph
        All operations times 10¹³ · `unit`, all bytes times 12 · 10⁹ · `unit`, and all measured times times `unit`. Ratios of
        computation to communication stay.

    Examples
    --------
    >>> from placelab import datasets
    >>> graph = in_seconds(datasets.load("topcuoglu"))
    >>> round(float(graph.time[0, 0]), 6), float(graph.edge_bytes[0])
    (0.014, 216000000.0)
    """
    expect(graph, OpGraph, "costs.in_seconds")
    if not counts_plainly(graph):
        return graph
    work = SPEED * unit
    size = BANDWIDTH * unit
    said = provenance(graph).get("compute", "units")
    return graph.replace(
        compute=graph.compute * work,
        time=None if graph.time is None else graph.time * unit,
        time_speed=graph.time_speed * SPEED,
        persistent=graph.persistent * size,
        temporary=graph.temporary * size,
        memory=graph.memory * size,
        tensor_bytes=graph.tensor_bytes * size,
        metadata={**graph.metadata, "reference_speed": SPEED, "costs": {"compute": f"{unit:g} s per unit ({said})"}},
    )


def counts_plainly(graph: OpGraph) -> bool:
    """Whether the costs of a graph are plain numbers.

    They are where its metadata say so, or hold a cluster in plain numbers. Where they say nothing, and no times were measured, it
    is the size that tells: no op has a million operations, no tensor a million bytes.
    """
    costs = graph.metadata.get("costs")
    own = graph.metadata.get("cluster")
    if costs is not None:
        said = str(costs.get("compute", "") if isinstance(costs, Mapping) else costs)
        return said == "units" or said.startswith("mayer")
    if isinstance(own, Mapping):
        speed = own.get("speed")
        return isinstance(speed, list) and all(isinstance(s, (int, float)) and s < LEAST for s in speed)
    silent = graph.time is None and "reference_speed" not in graph.metadata
    return silent and graph.compute.max(initial=0) < LEAST and graph.tensor_bytes.max(initial=0) < LEAST
