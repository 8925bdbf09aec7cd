"""Measure step times and op starts of sessions that take turns, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

import placelab as pl
from placelab.formats.tensorflow.devices import device_name, tensorflow_names
from reality.machines import Machine
from reality.networks import Step

WARM_UP = 2


@dataclass
class Observed:
    """Measurements of one placement.

    Attributes
    ----------
    seconds : list of float
        Times of the steps without a trace.
    traces : list
        RunMetadata of the steps with a trace.
    """

    seconds: list[float] = field(default_factory=list)
    traces: list[Any] = field(default_factory=list)


@contextmanager
def session(machine: Machine, definition: Any, threads: int | None = None) -> Iterator[Any]:
    """A session for a GraphDef, on this machine."""
    from tensorflow_profiling import tf

    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    config = machine.config() if threads is None else machine.config(threads)
    with tf.Session(machine.target, graph=graph, config=config) as opened:
        yield opened


def observe(sessions: Mapping[str, Any], step: Step, rounds: int, traced_every: int) -> dict[str, Observed]:
    """Run all sessions in turns, `rounds` times, so that other programs disturb all of them.

    In every round a session runs two steps and times the second: in the first, the caches are full of another placement's
    tensors, which happens only once in a training run. In one of `traced_every` rounds a third step follows, which is traced.
    The first WARM_UP steps and the first traced one are discarded.
    """
    for opened in sessions.values():
        opened.run(step.initialiser)
        for _ in range(WARM_UP):
            opened.run(step.fetches, step.feed)
        traced(opened, step)
    found = {label: Observed() for label in sessions}
    for i in range(rounds):
        for label, opened in sessions.items():
            opened.run(step.fetches, step.feed)
            found[label].seconds.append(timed(opened, step.fetches, step.feed))
            if i % traced_every == 0:
                found[label].traces.append(traced(opened, step))
    return found


def timed(opened: Any, fetches: Any, feed: Mapping[str, Any] | None = None) -> float:
    """Seconds of one run."""
    begin = perf_counter()
    opened.run(fetches, feed)
    return perf_counter() - begin


def traced(opened: Any, step: Step) -> Any:
    """RunMetadata of one step."""
    from tensorflow_profiling import tf

    metadata = tf.RunMetadata()
    opened.run(
        step.fetches, step.feed, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata
    )
    return metadata


def kernels(trace: Any) -> Iterator[tuple[str, str, Any]]:
    """(op, device, statistics) of the ops that a step ran; transfers, which some machines list, are left out."""
    for device in trace.step_stats.dev_stats:
        for kernel in device.node_stats:
            if kernel.node_name != "RecvTensor":
                yield kernel.node_name, device.device, kernel


def starts(trace: Any, ops: Any) -> dict[str, float]:
    """Start of each of `ops` that ran [s], relative to the first."""
    found = {op: 1e-9 * kernel.all_start_nanos for op, _, kernel in kernels(trace) if op in ops}
    first = min(found.values(), default=0.0)
    return {op: start - first for op, start in found.items()}


def computed(trace: Any) -> dict[str, float]:
    """Seconds that each op computed, several kernels summed, without the executor's overhead."""
    found: dict[str, float] = {}
    for op, _, kernel in kernels(trace):
        found[op] = found.get(op, 0.0) + 1e-9 * (kernel.op_end_rel_nanos - kernel.op_start_rel_nanos)
    return found


def elsewhere(traces: Any, device: Mapping[str, str], cluster: pl.Cluster) -> list[str]:
    """Ops that ran on another device than the placement's."""
    called = {name: device_name(text) for name, text in zip(cluster.names, tensorflow_names(cluster), strict=True)}
    return sorted(
        {
            op
            for trace in traces
            for op, ran_on, _ in kernels(trace)
            if op in device and not called[device[op]].covers(device_name(ran_on))
        }
    )


def at_once(traces: Any, device: Mapping[str, str]) -> int:
    """Most ops that one device ran at the same time."""
    return max((_at_once(trace, device, name) for trace in traces for name in set(device.values())), default=0)


def _at_once(trace: Any, device: Mapping[str, str], name: str) -> int:
    events = []
    for op, _, kernel in kernels(trace):
        if device.get(op) == name:
            begin = kernel.all_start_nanos + kernel.op_start_rel_nanos
            events += [(begin, 1), (kernel.all_start_nanos + kernel.op_end_rel_nanos, -1)]
    return max(np.cumsum([change for _, change in sorted(events)]), default=0)
