"""A placement as it shows itself at the end of a notebook cell: what each device was given."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from placelab.pictures.cells.markup import MOST_ROWS, amount, aside, bar, counted, percent, picture, table, text
from placelab.pictures.kind_colours import PALETTE
from placelab.schedule.placement import Placement

NOTES = 4  # sentences shown


def show_placement(placement: Placement) -> str:
    """The placement as HTML, at most 100 KB. O(ops + edges log edges)."""
    problem = placement.problem
    used = len(np.unique(placement.device))
    return picture(
        f"{text(problem.graph.title)} on {used:,} of {counted(problem.cluster.n_devices, 'device')}",
        _facts(placement),
        *(aside(text(note, 300)) for note in placement.notes[:NOTES]),
        table(
            ("device", "ops", "compute", "time", "share of time", _kept(placement)[0]), _rows(placement), (1, 2, 3, 5)
        ),
    )


def _facts(placement: Placement) -> Iterator[str]:
    yield text(placement.partitioner or "by hand")
    if placement.estimate is not None:
        yield f"expects {placement.problem.cluster.units.time(placement.estimate)}"
    if placement.optimal:
        yield "proven optimal"
    elif placement.bound:
        yield f"at least {placement.problem.cluster.units.time(placement.bound)} proven"
    moved, size = _cut(placement)
    yield f"{counted(moved, 'transfer')}, {amount(size, 'B', placement.problem.cluster.units)}"


def _cut(placement: Placement) -> tuple[int, float]:
    """Number and bytes of transfers: pairs of a tensor and another device that needs it."""
    graph, device, k = placement.problem.graph, placement.device, placement.problem.cluster.n_devices
    target = device[graph.consumer]
    away = device[graph.producer] != target
    pairs = np.sort(graph.edge_tensor[away].astype(np.int64) * k + target[away])
    tensor = pairs[np.diff(pairs, prepend=-1) > 0] // k
    return len(tensor), float(graph.tensor_bytes[tensor].sum())


def _kept(placement: Placement) -> tuple[str, np.ndarray]:
    """Bytes of each op that stay for the whole run, with their name: what the memory model reserves, else parameters."""
    problem = placement.problem
    if problem.memory == "reserved":
        return "reserved", problem.lasting
    return "parameters", problem.graph.persistent


def _rows(placement: Placement) -> list[tuple[str, ...]]:
    problem, device = placement.problem, placement.device
    k, limit, written = problem.cluster.n_devices, problem.capacity, problem.cluster.units
    ops = np.bincount(device, minlength=k)
    work = np.bincount(device, problem.graph.compute, minlength=k)
    time = np.bincount(device, problem.exec_times(device), minlength=k)
    kept = np.bincount(device, _kept(placement)[1], minlength=k)

    def row(label: str, of: np.ndarray) -> tuple[str, ...]:
        size, room = kept[of].sum(), limit[of].sum()
        share = f" ({percent(size / room)} of {amount(room, 'B', written)})" if size > 0 and np.isfinite(room) else ""
        busy = bar(time[of].sum() / time.sum() if time.sum() > 0 else 0.0, PALETTE[0])
        sums = amount(work[of].sum(), "FLOP", written), written.time(float(time[of].sum()))
        return label, f"{ops[of].sum():,}", *sums, busy, amount(size, "B", written) + share

    shown = k if k <= MOST_ROWS else MOST_ROWS - 1
    rows = [row(text(problem.cluster.names[d], 32), np.array([d])) for d in range(shown)]
    return rows if shown == k else [*rows, row(f"{k - shown:,} more devices", np.arange(shown, k))]
