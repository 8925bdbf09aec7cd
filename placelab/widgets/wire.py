"""How does a schedule travel to the browser? As columns in one buffer, without a Python object per op.

Little endian: a header of eight uint32 (version, ops, transfers, sends, devices, steps of the critical path, idle gaps,
0), then the columns below in order, each starting at a multiple of 8 bytes. Read by ``widgets/gantt/decode.ts``.

=============  ====================================================================================================
makespan       f8, seconds
ops            f4 start, f4 duration, u2 device; row = op number
transfers      f4 start minus its producer's finish, f4 duration, u2 source, u2 destination, u4 producer (op)
sends          f4 start, f4 duration, u2 device, u4 transfer it feeds
critical path  u1 kind (0 op, 1 transfer, 2 wait, 3 Send), u4 row (op; transfer; op that waited; transfer it feeds),
               f4 start, f4 duration
idle gaps      u2 device, f4 start, f4 duration, u1 reason (0 transfer, 1 upstream, 2 memory, 3 end), u4 op waited for
=============  ====================================================================================================

Single precision is enough to draw with: a picture has thousands of columns, not millions. A transfer's start is counted
from its producer's finish, so that the two meet in the picture too (and most of the column is 0, which compresses).
"""

from __future__ import annotations

import numpy as np

from placelab.explain import GAP, STEP, critical_steps, idle_gaps
from placelab.graph import OpGraph
from placelab.kernels.explain import BY_SEND, TRANSFER
from placelab.schedule import Schedule

VERSION = 1
COLOURS = 8  # of widgets/shared/palette.ts; the last one is for what has no kind or a rare one
SEND = 3  # kind of a Send op on the critical path


def pack_schedule(schedule: Schedule, critical: bool = True, idle: bool = True) -> bytes:
    """The columns of a schedule.

    Parameters
    ----------
    critical, idle
        Whether the critical path and the idle gaps are sent, too.

    Returns
    -------
    bytes
        About 25 per op and 20 per transfer.
    """
    problem, moved, sends = schedule.problem, schedule.transfers, schedule.sends
    producer = problem.graph.tensor_producer[moved["tensor"]]
    steps = critical_steps(schedule) if critical else np.empty(0, STEP)
    gaps = idle_gaps(schedule) if idle else np.empty(0, GAP)
    counts = [problem.graph.n_ops, len(moved), len(sends), problem.cluster.n_devices, len(steps), len(gaps)]
    kind = np.where((steps["kind"] == TRANSFER) & (steps["cause"] == BY_SEND), SEND, steps["kind"])
    columns = [
        np.array([VERSION, *counts, 0], "<u4"),
        np.array([schedule.makespan], "<f8"),
        *(*_span(schedule.start, schedule.finish), schedule.device.astype("<u2")),
        *((moved["start"] - schedule.finish[producer]).astype("<f4"), (moved["finish"] - moved["start"]).astype("<f4")),
        *(moved["source"].astype("<u2"), moved["destination"].astype("<u2"), producer.astype("<u4")),
        *(*_span(sends["start"], sends["finish"]), sends["source"].astype("<u2"), np.arange(len(sends), dtype="<u4")),
        *(kind.astype("<u1"), steps["row"].astype("<u4"), *_span(steps["start"], steps["finish"])),
        *(gaps["device"].astype("<u2"), *_span(gaps["start"], gaps["finish"])),
        *(gaps["reason"].astype("<u1"), gaps["op"].astype("<u4")),
    ]
    return b"".join(_padded(column) for column in columns)


def pack_names(names: np.ndarray) -> bytes:
    """Op names, utf-8, joined by newlines; a newline inside a name becomes a space."""
    text = "\n".join(names.tolist())
    if text.count("\n") != len(names) - 1:
        text = "\n".join(" ".join(name.split("\n")) for name in names)
    return text.encode()


def pack_kinds(graph: OpGraph) -> tuple[bytes, list[str]]:
    """A colour index for each op, and what the indices stand for.

    The kinds with the most compute get colours of their own (ties: more ops, then name); the rest share the last one.
    """
    kinds, index, n = np.unique(graph.kind.astype(str), return_inverse=True, return_counts=True)
    if len(kinds) == 1:
        return bytes(graph.n_ops), [str(kinds[0]) or "op"]
    work = np.bincount(index, weights=graph.compute, minlength=len(kinds))
    own = [i for i in np.lexsort((kinds, -n, -work)) if kinds[i]][: COLOURS - 1]
    colour = np.full(len(kinds), COLOURS - 1, np.uint8)
    colour[own] = np.arange(len(own))
    legend = [str(kinds[i]) for i in own]
    return colour[index].tobytes(), legend + [""] * (COLOURS - 1 - len(legend)) + ["other"]


def _span(start: np.ndarray, finish: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Start and duration; never -0.0, whose bits would sort last in the browser."""
    return start.astype("<f4") + np.float32(0), (finish - start).astype("<f4")


def _padded(column: np.ndarray) -> bytes:
    data = column.tobytes()
    return data + b"\0" * (-len(data) % 8)
