"""Memory that ops need on one device without times, written plainly; shares no code with the library."""

from __future__ import annotations


def always_together(problem, u, v):
    """Whether two ops share a device in every placement: by a group, or because only one device is allowed for both."""
    alone = {*problem.feasible(u)} | {*problem.feasible(v)}
    return len(alone) == 1 or v in problem.members(u)


def plain_need(problem, ops, together=always_together):
    """Bytes that these ops need on one device, as the memory model has it, without times."""
    g = problem.graph
    edges = list(zip(g.producer.tolist(), g.edge_tensor.tolist(), g.consumer.tolist(), strict=True))

    def inputs(v):
        makers = {u for u, _, w in edges if w == v}
        if len(makers) == 1 and {w for u, _, w in edges if u in makers} == {v} and together(problem, *makers, v):
            return 0.0
        return sum(g.tensor_bytes[t] for t in {t for _, t, w in edges if w == v})

    outputs = lambda v: sum(b for u, b in zip(g.tensor_producer, g.tensor_bytes, strict=True) if u == v)  # noqa: E731
    if not ops or problem.memory == "none":
        return 0.0
    if problem.memory == "edges":
        return sum(inputs(v) for v in ops)
    if problem.memory == "reserved":
        return sum(g.memory[v] for v in ops)
    return sum(g.persistent[v] for v in ops) + max(g.temporary[v] + outputs(v) for v in ops)
