"""Bytes that ops need on one device without times, written plainly; shares no code with the library."""

from __future__ import annotations


def plain_need(problem, ops):
    """Bytes that these ops need on one device, as the memory model has it, without times."""
    g = problem.graph
    inputs = lambda v: sum(g.tensor_bytes[t] for t in set(g.edge_tensor[g.consumer == v].tolist()))  # noqa: E731
    outputs = lambda v: sum(b for u, b in zip(g.tensor_producer, g.tensor_bytes, strict=True) if u == v)  # noqa: E731
    if not ops or problem.memory == "none":
        return 0.0
    if problem.memory == "edges":
        return sum(inputs(v) for v in ops)
    if problem.memory == "reserved":
        return sum(g.memory[v] for v in ops)
    return sum(g.persistent[v] for v in ops) + max(g.temporary[v] + outputs(v) for v in ops)
