"""Draw the random costs of Mayer 2017 on any topology."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import expect, formerly
from placelab.base.seeds import generator
from placelab.problem.graph import OpGraph


@formerly("seed")
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
