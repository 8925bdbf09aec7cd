"""Measure the costs of ops, transfers and step starts on this machine, before anything is placed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import placelab as pl
from placelab.base.errors import FormatError
from placelab.costs import Profile, fit_link, measured
from placelab.formats.tensorflow import run_metadata
from placelab.formats.tensorflow.devices import tensorflow_names
from reality.agreement import quiet
from reality.machines import SPEED, Machine
from reality.networks import Step, placed, problem
from reality.runs import computed, observe, session, timed

HOPS = 16
REPEATS = 20
SIZES = (4, 1 << 12, 1 << 16, 1 << 20, 1 << 22)  # bytes


@dataclass(frozen=True)
class Line:
    """Seconds of a transfer: a constant, and a bandwidth."""

    seconds: float
    bandwidth: float

    def __call__(self, size: Any) -> Any:
        return self.seconds + np.asarray(size) / self.bandwidth


@dataclass(frozen=True)
class Costs:
    """Measured costs, from which placements and predictions are made.

    Attributes
    ----------
    seconds : dict
        Op → seconds it computes, in traced steps on one device with one thread.
    overhead : float
        Seconds the executor spends on each op besides computing it.
    call : float
        Seconds to start and end a step in which each device has next to nothing to do.
    link, work : Line
        Time of a transfer to another device; its processor time, on both sides together.
    step : float
        Seconds of a step on one device with one thread: elapsed, or processor time if other programs made it longer.
    outputs : dict
        (op, output) → bytes.
    """

    seconds: Mapping[str, float]
    overhead: float
    call: float
    link: Line
    work: Line
    step: float
    outputs: Mapping[tuple[str, int], float] = field(default_factory=dict)

    def graph(self, graph: pl.OpGraph) -> pl.OpGraph:
        """The graph with these costs: each op takes its computing time plus the executor's overhead."""
        taken = {str(name): self.seconds.get(str(name), 0.0) + self.overhead for name in graph.names}
        return measured(graph, Profile(taken, dict(self.outputs)), reference_speed=SPEED)


def costs(machine: Machine, step: Step, rounds: int) -> Costs:
    """Measure the step on the first device alone, and transfers alone."""
    call = _call(machine, step)
    free = problem(step, step.graph, machine.cluster())
    with session(machine, placed(step, pl.place(free, "single")), threads=1) as opened:
        traces = observe({"": opened}, step, rounds, traced_every=1)[""].traces
        whole = min(_spent(machine, opened, step.fetches, step.feed, rounds))
    ops = {str(name) for name in step.graph.names}
    seconds = {op: value for op, value in _each([computed(trace) for trace in traces]).items() if op in ops}
    spent = sum(seconds.values())
    over = overhead(whole, call, spent, len(ops))
    sizes = run_metadata.loads(traces[0].SerializeToString(), "the first traced step").outputs
    return Costs(seconds, over, call, *transfers(machine), whole, sizes)


def overhead(step: float, call: float, computing: float, ops: int) -> float:
    """Seconds that an op adds to a step besides computing; at least 0, since tracing slows small ops."""
    return max((step - call - computing) / ops, 0.0)


def transfers(machine: Machine) -> tuple[Line, Line]:
    """Elapsed and processor seconds of a transfer, as lines over its size."""
    elapsed, busy = zip(*(_hop(machine, size) for size in SIZES), strict=True)
    return line(SIZES, elapsed), line(SIZES, busy)


def line(sizes: Sequence[float], seconds: Sequence[float]) -> Line:
    """Line fitted by placelab; without a bandwidth if larger tensors take no longer, as when only a reference is sent."""
    known = np.maximum(seconds, 1e-7)
    try:
        fitted = fit_link(sizes, known)
        return Line(fitted.latency, fitted.bandwidth)
    except FormatError:
        return Line(float(np.median(known)), float("inf"))


def _hop(machine: Machine, size: int) -> tuple[float, float]:
    """Elapsed and processor seconds that a hop to another device adds to a chain of ops that pass a tensor on."""
    here, there = (_chain(machine, size, away) for away in (0, 1))
    return tuple((b - a) / HOPS for a, b in zip(here, there, strict=True))


def _chain(machine: Machine, size: int, away: int) -> tuple[float, float]:
    from tensorflow_profiling import tf

    names = tensorflow_names(machine.cluster())
    with tf.Graph().as_default() as graph:
        with tf.device(names[0]):
            tensor = tf.fill([size // 4], 1.0)
        for i in range(HOPS):
            with tf.device(names[away * (i % 2)]):
                tensor = tf.identity(tensor)
    with session(machine, graph.as_graph_def()) as opened:
        return _spent(machine, opened, [tensor.op.name])


def _spent(
    machine: Machine, opened: Any, fetches: Any, feed: Any = None, repeats: int = REPEATS
) -> tuple[float, float]:
    """Elapsed and processor seconds of a run; for one thread they are equal unless other programs use its core."""
    for _ in range(2):
        opened.run(fetches, feed)
    before = machine.cpu_seconds()
    seconds = [timed(opened, fetches, feed) for _ in range(repeats)]
    return quiet(seconds), (machine.cpu_seconds() - before) / repeats


def _call(machine: Machine, step: Step) -> float:
    """Seconds of a step with the same fed tensors and one op per device."""
    from tensorflow_profiling import tf

    fed: dict[str, np.ndarray] = {}
    names = tensorflow_names(machine.cluster())
    with tf.Graph().as_default() as graph:
        for device in names:
            with tf.device(device):
                tf.no_op()
        with tf.device(names[0]):
            for i, batch in enumerate(step.feed.values()):
                given = tf.placeholder(tf.as_dtype(np.asarray(batch).dtype), name=f"fed{i}")
                fed[given.name] = batch
                tf.identity(given)
    ops = [op.name for op in graph.get_operations() if op.type in ("NoOp", "Identity")]
    with session(machine, graph.as_graph_def()) as opened:
        return quiet([timed(opened, ops, fed) for _ in range(3 * REPEATS)][REPEATS:])


def _each(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for step in steps:
        for op, value in step.items():
            found.setdefault(op, []).append(value)
    return {op: quiet(values) for op, values in found.items()}
