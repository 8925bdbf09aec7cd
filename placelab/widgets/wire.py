"""How does a schedule travel to the browser? As columns in one buffer, without a Python object per op.

Little endian: a header of eight uint32 (version, ops, transfers, sends, devices, steps of the critical path, idle gaps, 0), then
the columns below in order, each starting at a multiple of 8 bytes. Read by ``widgets/gantt/decode.ts``.

==============  ===================================================================================================
makespan        f8, seconds
ops             f4 start, f4 duration, u2 device; row = op number
transfers       f4 start, f4 duration, u2 source, u2 destination, u4 op whose output travels
sends           f4 start, f4 duration, u2 device, u4 transfer it feeds
critical path   u1 kind (0 op, 1 transfer, 2 wait), u4 row (op; transfer; op that waited), f4 start, f4 duration
idle gaps       u2 device, f4 start, f4 duration, u1 reason (0 transfer, 1 upstream, 2 memory, 3 end), u4 op waited for
==============  ===================================================================================================

Single precision is enough to draw with (a picture has thousands of columns, not millions); numbers shown come from Python.
"""

from __future__ import annotations

import numpy as np

from placelab.graph import OpGraph
from placelab.schedule import Schedule

VERSION = 1
COLOURS = 8  # of widgets/shared/palette.ts; the last one is for what has no kind or a rare one
NO_OP = np.uint32(0xFFFFFFFF)


def pack_schedule(schedule: Schedule, critical: np.ndarray | None = None, idle: np.ndarray | None = None) -> bytes:
    """The columns of a schedule.

    Parameters
    ----------
    critical
        Structured array ``kind, row, start, finish``: the realised critical path; left out when None.
    idle
        Structured array ``device, start, finish, reason, op``: idle gaps and what ended them; left out when None.

    Returns
    -------
    bytes
        22,000 ops take about half a megabyte and two milliseconds.
    """
    moved, sends = schedule.transfers, schedule.sends
    columns = [np.array([schedule.makespan], "<f8")]
    columns += [*_span(schedule.start, schedule.finish), schedule.device.astype("<u2")]
    columns += [*_span(moved["start"], moved["finish"]), moved["source"].astype("<u2"), moved["destination"].astype("<u2")]
    columns += [schedule.problem.graph.tensor_producer[moved["tensor"]].astype("<u4")]
    columns += [*_span(sends["start"], sends["finish"]), sends["source"].astype("<u2"), np.arange(len(sends), dtype="<u4")]
    if critical is not None:
        columns += [critical["kind"].astype("<u1"), critical["row"].astype("<u4"), *_span(critical["start"], critical["finish"])]
    if idle is not None:
        columns += [idle["device"].astype("<u2"), *_span(idle["start"], idle["finish"])]
        columns += [idle["reason"].astype("<u1"), idle["op"].astype("<u4")]
    problem = schedule.problem
    sizes = [problem.graph.n_ops, len(moved), len(sends), problem.cluster.n_devices, _length(critical), _length(idle)]
    return b"".join(_padded(column) for column in [np.array([VERSION, *sizes, 0], "<u4"), *columns])


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
    return start.astype("<f4") + np.float32(0), (finish - start).astype("<f4")  # + 0: the browser sorts bits, -0 has another


def _length(rows: np.ndarray | None) -> int:
    return 0 if rows is None else len(rows)


def _padded(column: np.ndarray) -> bytes:
    data = column.tobytes()
    return data + b"\0" * (-len(data) % 8)
