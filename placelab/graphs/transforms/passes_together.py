"""Forward and backward passes that a device runs together: one op in a pipeline's order, and the seconds of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from placelab.base.errors import CycleError, FormatError, UnsupportedError, expect
from placelab.base.interrupts import is_installed
from placelab.planning.pipeline_orders import interleaved_plans, looped, replay, round_of, sequence, work_of
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY, Pipeline, required
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import find, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place
from placelab.strategies.scheduling.dualpipe import STEPS

Step = tuple[int, ...]
Part = tuple[str, float]
WHERE = ("compute", "stream")
PROVABLE = 20  # parts


def together(
    problem: Problem,
    scheduler: str,
    *,
    seconds: Any = None,
    factor: float = 1.0,
    pairs: Literal["order", "1f1b"] = "order",
) -> Placement:
    """Make one op of each forward and backward pass that a pipeline's order runs together: F&B, as communication of one hides
    behind computation of the other.

    Parameters
    ----------
    problem
        A training step of stages and micro-batches, every op tied to the device of its stage.
    scheduler
        A scheduler of pipelines that plans an order. ``dualpipe`` and ``dualpipe-v`` say what runs together; in orders of others
        it is a forward pass with the backward pass of another micro-batch right after it.
    seconds
        Of F&B: a number, or one per stage of its forward pass. None: `factor` times the seconds of both.
    factor
        1 or less where they share the device well.
    pairs
        ``"order"``: of the order as it is. ``"1f1b"``: of ``interleaved`` with one more forward pass before the first backward
        one, as Megatron does for experts; else each pair would wait for its neighbour's.

    Returns
    -------
    Placement
        Of a problem in which pairs, and both gradients where the order has them side by side, are one op: it has the inputs of
        both, its outputs are there at its end. ``planned`` has the order.

    Raises
    ------
    FormatError
        Seconds that are no numbers, or negative.
    UnsupportedError
        A scheduler that does not plan the order of a pipeline; pairs that wait for each other in a circle.

    Notes
    -----
    O(ops + edges). With ``factor=1`` and links that do not queue nothing gets shorter, as outputs leave later.

    Examples
    --------
    >>> import placelab as pl
    >>> step = pl.generators.pipeline_training(1.0, 1.0, 1.0, microbatches=10, stages=4, layout="dual")
    >>> pl.simulate(step, pl.place(step, "hash"), "dualpipe").makespan
    31.0
    >>> merged = together(step, "dualpipe", factor=0.8)
    >>> round(pl.simulate(merged.problem, merged).makespan, 3)
    28.4
    """
    expect(problem, Problem, "together")
    pipeline = required(problem.graph, "together")
    if pipeline.merged:
        raise UnsupportedError(
            f"passes of {problem.graph.title} run together already; give together the pipeline before"
        )
    if pairs not in ("order", "1f1b"):
        raise UnsupportedError(f"pairs is {pairs!r:.60}; expected 'order' or '1f1b'")
    if not (problem.may_run.sum(axis=1) == 1).all():
        raise UnsupportedError("together needs a pipeline with every op tied to the device of its stage")
    placement = Placement(problem, problem.may_run.argmax(axis=1).astype(np.int32))
    steps = _steps(problem, pipeline, placement, scheduler, pairs)
    merged = _Merged(problem, pipeline, placement.device, steps)
    graph = merged.graph(_seconds(seconds, "seconds", pipeline.stages), _factor(factor), scheduler)
    found = problem.replace(graph=graph)
    number = [graph.index(name) for name in merged.names]
    device = np.empty(graph.n_ops, np.int32)
    device[number] = placement.device[[step[0] for step in steps]]
    order = np.array(number, np.int32)
    if min(replay(work_of(found, device), order.tolist())) < 0:
        raise _circle(scheduler)
    return Placement(found, device, order, partitioner="together")


def _circle(scheduler: str) -> UnsupportedError:
    return UnsupportedError(f"passes of {scheduler!r} that would run together wait for each other in a circle")


def _seconds(value: Any, label: str, stages: int) -> np.ndarray | None:
    """A number per stage, or None."""
    if value is None:
        return None
    try:
        given = np.asarray(value, dtype=np.float64)
        if isinstance(value, str | bool) or not (np.isfinite(given) & (given >= 0)).all():
            raise ValueError
        return np.broadcast_to(given, stages)
    except (TypeError, ValueError):
        raise FormatError(
            f"{label} is {value!r:.60}; expected a finite number of 0 or more, or {stages}, one per stage"
        ) from None


def _factor(value: Any) -> float:
    given = _seconds(value, "factor", 1)
    if given is None:
        raise FormatError("factor is None; expected a finite number of 0 or more")
    return float(given[0])


def _steps(problem: Problem, pipeline: Pipeline, placement: Placement, scheduler: str, pairs: str) -> list[Step]:
    """What runs together, in an order of the whole problem."""
    rule: Any = find(schedulers(), scheduler, "scheduler")
    if getattr(rule, "needs", "") != "pipeline":
        raise UnsupportedError(f"{scheduler!r} is no scheduler of pipelines; dualpipe, interleaved and others are")
    if rule.name in STEPS:
        given = [step for rank in STEPS[rule.name](problem, placement) for step in rank]
        known = {v for step in given for v in step}
        first = [(v,) for v in np.flatnonzero(pipeline.phase == "P").tolist()]
        return [*first, *given, *((v,) for v in range(problem.graph.n_ops) if v not in known and (v,) not in first)]
    if pairs == "1f1b":
        if rule.name != "interleaved":
            raise UnsupportedError(f"pairs='1f1b' are those of 'interleaved', not of {rule.name!r}")
        replicas = looped(problem, placement, rule.name)
        size = round_of(replicas[0].p, replicas[0].m)
        order = np.concatenate([sequence(each, interleaved_plans(each, size, more=1)) for each in replicas])
    else:
        order = rule(problem, placement).op
    device = placement.device[order]
    apart = [order[device == d].tolist() for d in dict.fromkeys(device.tolist())]
    return [step for ops in apart for step in _side_by_side(pipeline, ops)]


def _side_by_side(pipeline: Pipeline, ops: Sequence[int]) -> Iterator[Step]:
    """Steps of a device: a forward pass and the whole backward pass of another micro-batch right after it, both gradients."""
    phase = pipeline.phase
    at = 0
    of = [(int(pipeline.microbatch[v]), int(pipeline.stage[v]), int(pipeline.replica[v])) for v in ops]

    def backward(k: int) -> int:
        """How many ops from the k-th on are a whole backward pass."""
        if k >= len(ops) or phase[ops[k]] == "BW":
            return int(k < len(ops))
        both = phase[ops[k]] == "B" and k + 1 < len(ops) and phase[ops[k + 1]] == "W" and of[k] == of[k + 1]
        return 2 * both

    while at < len(ops):
        n = 0
        if phase[ops[at]] == "F" and (n := backward(at + 1)) and of[at][::2] != of[at + 1][::2]:
            n += 1
        else:
            n = max(backward(at), 1)
        yield tuple(ops[at : at + n])
        at += n


class _Merged:
    """The graph with an op per step."""

    def __init__(self, problem: Problem, pipeline: Pipeline, device: np.ndarray, steps: list[Step]) -> None:
        self.problem = problem
        self.pipeline = pipeline
        self.steps = steps
        self.device = device
        self.names = [self._name(step) for step in steps]
        self.of = np.empty(problem.graph.n_ops, int)
        for k, step in enumerate(steps):
            self.of[list(step)] = k

    def _name(self, step: Step) -> str:
        names = self.problem.graph.names[list(step)].tolist()
        if len(names) > 1 and self.pipeline.phase[step[-1]] == "W":
            names[-2:] = [f"BW{names[-2][1:]}" if names[-2].startswith("B") else names[-2]]
        return "&".join(names)

    def _phase(self, step: Step) -> str:
        first = str(self.pipeline.phase[step[0]])
        if len(step) == 1:
            return first
        return "FB" if first == "F" else "BW"

    def graph(self, seconds: np.ndarray | None, factor: float, scheduler: str) -> OpGraph:
        """With so many seconds of F&B per stage, or `factor` times those of both."""
        graph = self.problem.graph
        columns = self.pipeline
        n = len(self.steps)
        taken = np.bincount(self.of, self.problem.exec_times(self.device), minlength=n)
        phase = np.array([self._phase(step) for step in self.steps], object)
        first = np.array([step[0] for step in self.steps])
        both = phase == "FB"
        taken[both] = factor * taken[both] if seconds is None else seconds[columns.stage[first[both]]]
        u = self.of[graph.producer]
        v = self.of[graph.consumer]
        _, once = np.unique(np.stack([u, v, graph.edge_tensor]), axis=1, return_index=True)
        kept = once[u[once] != v[once]]
        home = self.of[graph.tensor_producer]
        read = np.isin(np.arange(graph.n_tensors), graph.edge_tensor)
        left = np.isin(np.arange(graph.n_tensors), graph.edge_tensor[kept])
        inside = read & ~left
        temporary = np.bincount(self.of, graph.temporary, minlength=n)
        temporary += np.bincount(home[inside], graph.tensor_bytes[inside], minlength=n)
        clusters = self.problem.cluster
        where = self.device[first]
        last = np.array([step[1] if p == "FB" else step[0] for step, p in zip(self.steps, phase, strict=True)])
        pairs = zip(
            columns.microbatch[last].tolist(), columns.stage[last].tolist(), columns.replica[last].tolist(), strict=True
        )
        stored = {
            "microbatch": columns.microbatch[first],
            "stage": columns.stage[first],
            "phase": phase,
            "replica": columns.replica[first],
            "backward": [[*entry] if p == "FB" else None for entry, p in zip(pairs, phase, strict=True)],
        }
        try:
            made = OpGraph.from_arrays(
                self.names,
                taken * clusters.speed[where],
                np.stack([u[kept], v[kept]], axis=1),
                edge_bytes=graph.edge_bytes[kept],
                edge_output=graph.edge_tensor[kept],
                edge_control=graph.tensor_control[graph.edge_tensor[kept]],
                outputs=[(int(home[t]), int(t), float(graph.tensor_bytes[t])) for t in np.flatnonzero(~read)],
                persistent=np.bincount(self.of, graph.persistent, minlength=n),
                temporary=temporary,
                kind=phase.tolist(),
                devices={k: (clusters.names[d],) for k, d in enumerate(where.tolist())},
                metadata={"name": f"{graph.title}, passes together"},
            )
        except CycleError:
            raise _circle(scheduler) from None
        numbers = self._numbers(made)
        columns_of = {label: [_plain(values[k]) for k in numbers] for label, values in stored.items()}
        return made.replace(metadata=made.metadata | {KEY: columns_of})

    def _numbers(self, made: OpGraph) -> list[int]:
        """Step of each op of the graph."""
        step_of = {name: k for k, name in enumerate(self.names)}
        return [step_of[name] for name in made.names.tolist()]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


class Overlap(NamedTuple):
    """Seconds of a forward pass, a backward pass, and both together; whether no order takes less."""

    forward: float
    backward: float
    both: float
    proven: bool


def overlap_seconds(forward: Sequence[Part], backward: Sequence[Part], *, prove: bool = True) -> Overlap:
    """Run the parts of a chunk's forward pass beside those of another micro-batch's backward pass.

    Parameters
    ----------
    forward, backward
        Parts in their order, each ``("compute", seconds)`` or ``("stream", seconds)``: attention, dispatch to experts, experts,
        combination, for example, and in the backward pass the other way round. A device computes one part at a time, and its
        stream communicates one at a time.
    prove
        Find the optimum of up to 20 parts by ``cp-sat``, where OR-tools is there; else ``pct`` orders them.

    Returns
    -------
    Overlap
        ``both`` is F&B, the `seconds` of :func:`placelab.transforms.together`.

    Raises
    ------
    FormatError
        Seconds that are no numbers of 0 or more.
    UnsupportedError
        A part elsewhere than on ``compute`` or ``stream``.

    References
    ----------
    DeepSeek-AI (2024), DeepSeek-V3 §3.2.1.

    Examples
    --------
    >>> layer = [("compute", 1), ("stream", 1), ("compute", 1), ("stream", 1)]
    >>> back = [("stream", 1), ("compute", 2), ("stream", 1), ("compute", 2)]
    >>> overlap_seconds(layer, back)
    Overlap(forward=4.0, backward=6.0, both=6.0, proven=True)
    """
    chains = [_checked(parts, label) for parts, label in ((forward, "forward"), (backward, "backward"))]
    alone = [sum(seconds for _, seconds in chain) for chain in chains]
    if not all(alone):
        return Overlap(alone[0], alone[1], sum(alone), True)
    problem = _two_chains(chains)
    names = problem.graph.names
    busiest = max(sum(s for chain in chains for d, s in chain if d == device) for device in WHERE)
    least = max(busiest, *alone)
    both = _in_order(problem).makespan
    proven = both <= least * (1 + 1e-9)
    if not proven and prove and len(names) <= PROVABLE and is_installed("ortools"):
        placement = place(problem, "cp-sat")
        both = min(both, simulate(problem, placement, "planned").makespan)
        proven = "proven optimal" in placement.notes
    return Overlap(alone[0], alone[1], both, proven)


def together_order(forward: Sequence[Part], backward: Sequence[Part]) -> list[int]:
    """Which pass each next part is of, 0 for the forward one, where both run together as ``pct`` orders them.

    >>> layer = [("compute", 1), ("stream", 1), ("compute", 1), ("stream", 1)]
    >>> together_order(layer, [("stream", 1), ("compute", 2), ("stream", 1), ("compute", 2)])
    [0, 1, 0, 1, 0, 1, 0, 1]
    """
    chains = [_checked(parts, label) for parts, label in ((forward, "forward"), (backward, "backward"))]
    problem = _two_chains(chains)
    schedule = _in_order(problem)
    waiting = [[str(problem.graph.names[v]) for v in schedule.order(d)][::-1] for d in range(len(WHERE))]
    at = [0, 0]
    found = list[int]()
    while any(waiting):
        for names in waiting:
            while names and int(names[-1][1:]) == at[c := "FB".index(names[-1][0])]:
                names.pop()
                found.append(c)
                at[c] += 1
    return found


def _two_chains(chains: Sequence[Sequence[Part]]) -> Problem:
    """The parts of two passes on a device and its stream."""
    names = [f"{label}{k}" for label, chain in zip("FB", chains, strict=True) for k in range(len(chain))]
    each = [part for chain in chains for part in chain]
    edges = [(v, v + 1) for v in range(len(each) - 1) if v != len(chains[0]) - 1]
    ties = {device: (device,) for device in WHERE}
    graph = OpGraph.from_arrays(
        names,
        [seconds for _, seconds in each],
        np.array(edges, int).reshape(-1, 2),
        edge_control=[True] * len(edges),
        devices={v: ties[device] for v, (device, _) in enumerate(each)},
    )
    return Problem(graph, Cluster([1.0, 1.0], bandwidth=np.inf, names=list(WHERE)))


def _in_order(problem: Problem) -> Schedule:
    return simulate(problem, place(problem, "hash"), "pct")


def _checked(parts: Sequence[Part], label: str) -> list[tuple[str, float]]:
    found = []
    for part in parts:
        try:
            device, seconds = part
            taken = float(seconds)
        except (TypeError, ValueError):
            raise FormatError(f"{label} has {part!r:.60}; expected pairs like ('compute', 0.5)") from None
        if device not in WHERE:
            raise UnsupportedError(f"{label} has a part on {device!r:.60}; expected 'compute' or 'stream'")
        if not 0 <= taken < np.inf:
            raise FormatError(f"{label} has a part of {seconds!r:.60} s; expected a finite number of 0 or more")
        found.append((device, taken))
    return found
