"""Read and write the schedule tables of ``torch.distributed.pipelining``: a row of actions per rank, as in ``0F0,0F1,,0B0``.

An action is ``<stage><kind><micro-batch>``: ``F`` forward, ``B`` full backward, ``I`` gradient of the input, ``W`` gradient of
the weights. An empty cell is a step in which the rank waits. ``(0F1;3B0)OVERLAP_F_B`` are actions that a rank runs together:
one op of pipelines in which :func:`placelab.transforms.together` has merged them, else one after the other. Actions that
communicate (``SEND_F``, ``RECV_B``, ``UNSHARD``, …) are left out, which a note tells: transfers follow from the graph.
:func:`placelab.transforms.communication_streams` runs SENDs and RECVs in their order.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.fields import read_from
from placelab.base.files import MAX_OPS, read_file, text_of
from placelab.planning.pipeline_orders import Ranks, Slot, Work, ranks_of, replay, sequence, work_of
from placelab.problem.pipeline_columns import Pipeline, required
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

EXPECTED = "a schedule table of torch.distributed.pipelining"
MAX_BYTES = 64 << 20
ACTION = re.compile(r"(\d{1,9})(F|B|I|W)(\d{1,9})")
TOGETHER = re.compile(r"\(([^()]*)\)OVERLAP_F_B")
OTHER = re.compile(r"\d{1,9}(?:UNSHARD|RESHARD|REDUCE_GRAD|SEND_F|RECV_F|SEND_B|RECV_B)\d{0,9}")
MESSAGE = re.compile(r"(\d{1,9})(SEND|RECV)_([FB])(\d{1,9})")
NOTE = (
    "SENDs and RECVs of the table are left out: tensors move when they are made; "
    "transforms.communication_streams(…, recv='table', table=…) runs them in their order"
)
PHASES = {"F": ("F",), "B": ("BW", "B", "W"), "I": ("B",), "W": ("W",)}
LETTER = {"F": "F", "BW": "B", "B": "I", "W": "W"}

Action = tuple[int, str, int]  # stage, kind, micro-batch


def read(problem: Problem, path: Any) -> Placement:
    """The placement of a pipeline with the order of a table, which ``planned`` replays.

    Parameters
    ----------
    problem
        A training step of stages and micro-batches (:mod:`placelab.problem.pipeline_columns`), every op tied to the device of
        its stage. Where it has replicas, each runs the table.
    path
        The table, as ``_dump_csv`` of a schedule writes it, gzipped or not; at most 64 MiB.

    Returns
    -------
    Placement
        ``planned`` has the order: row by row, what runs once per step first or last. ``simulate(problem, placement)`` replays it.

    Raises
    ------
    FormatError
        An action that is not one, is there twice, or belongs to no op of the problem; an op without an action; a row with
        stages of two devices; a deadlock. The message names the actions.
    UnsupportedError
        The problem has no stages and micro-batches.
    """
    return loads(problem, read_file(path, EXPECTED, MAX_BYTES), str(path))


def loads(problem: Problem, data: bytes, where: str = "the upload") -> Placement:
    """The placement from the bytes of a table; `where` names it in messages. Errors: as :func:`read`."""
    expect(problem, Problem, "a schedule table")
    required(problem.graph, "a schedule table")
    with read_from(where):
        text = text_of(data, where, EXPECTED)
        rows = actions(text)
        placement = Placement(problem, _devices(problem))
        replicas = ranks_of(problem, placement, "planned")
        pipeline = replicas[0].pipeline
        if len({d for each in replicas for d in each.device}) < sum(each.p for each in replicas):
            raise UnsupportedError("a schedule table has one pipeline on a device; DualPipe's twins share theirs")
        plans = [_slots(pipeline, row) for row in rows]
        _check_merged(pipeline, plans)
        _check_rows(replicas[0], rows)
        _check_all_there(pipeline, plans)
        order = np.concatenate([sequence(each, plans) for each in replicas])
        _check_runs(pipeline, work_of(problem, placement.device), placement.device, plans, order)
    notes = (NOTE,) if MESSAGE.search(text) else ()
    return Placement(problem, placement.device, order.astype(np.int32), partitioner="torch schedule", notes=notes)


def dumps(schedule: Schedule) -> str:
    """The table of a schedule: each device's ops in the order in which they start, a row per device, by its first stage; of
    several replicas, the first one's."""
    expect(schedule, Schedule, "a schedule table")
    required(schedule.problem.graph, "a schedule table")
    replicas = ranks_of(schedule.problem, schedule.placement, "planned")
    ranks = replicas[0]
    if len({d for each in replicas for d in each.device}) < sum(each.p for each in replicas):
        raise UnsupportedError("a schedule table has one pipeline on a device; DualPipe's twins share theirs")
    lines = [",".join(_written(ranks.pipeline, schedule.order(d).tolist())) for d in ranks.device]
    return "".join(f"{line}\r\n" for line in lines)


def _written(pipeline: Pipeline, ops: Iterable[int]) -> list[str]:
    written = []
    for v in ops:
        phase = pipeline.phase[v]
        if phase == "FB":
            microbatch, stage, _ = pipeline.backward[v].tolist()
            written.append(f"({pipeline.stage[v]}F{pipeline.microbatch[v]};{stage}B{microbatch})OVERLAP_F_B")
        elif phase in LETTER:
            written.append(f"{pipeline.stage[v]}{LETTER[phase]}{pipeline.microbatch[v]}")
    return written


# -------------------------------------------------------------------- reading


def actions(text: str) -> list[list[Action]]:
    """Rows of actions; FormatError for a cell that is none."""
    if text.count(",") + text.count("\n") > 4 * MAX_OPS:
        raise FormatError(f"the table has more than {4 * MAX_OPS:,} cells; such tables are not read")
    try:
        rows = [
            [action for cell in row for action in _cell(cell.strip(), r)]
            for r, row in enumerate(csv.reader(io.StringIO(text, newline=""), strict=True))
        ]
    except csv.Error as error:
        raise FormatError(f"the table is not CSV: {error}") from None
    return [row for row in rows if row]


def messages_of(text: str) -> list[tuple[int, str, str, int]]:
    """SENDs and RECVs of a table row by row: stage, word, ``"F"`` or ``"B"``, micro-batch. Errors: as :func:`actions`."""
    actions(text)
    cells = (cell.strip() for row in csv.reader(io.StringIO(text, newline="")) for cell in row)
    found = (MESSAGE.fullmatch(cell) for cell in cells)
    return [(int(match[1]), match[2], match[3], int(match[4])) for match in found if match]


def _cell(cell: str, row: int) -> list[Action]:
    if not cell or OTHER.fullmatch(cell):
        return []
    if together := TOGETHER.fullmatch(cell):
        return [action for part in together[1].split(";") for action in _cell(part.strip(), row)]
    if not (match := ACTION.fullmatch(cell)):
        raise FormatError(
            f"row {row} has {cell!r:.60}; expected stage, F, B, I or W, and micro-batch, as in '0F0', or nothing"
        )
    return [(int(match[1]), match[2], int(match[3]))]


def _slots(pipeline: Pipeline, row: list[Action]) -> list[Slot]:
    """The ops of a row's actions: a full backward is one op, or both gradients."""
    slots: list[Slot] = []
    for stage, kind, microbatch in row:
        known = [(p, microbatch, stage) for p in PHASES[kind] if (p, microbatch, stage) in pipeline.op]
        if not known:
            raise FormatError(f"{stage}{kind}{microbatch} {_unknown(pipeline, stage, kind, microbatch)}")
        slots += known
    return slots


def _unknown(pipeline: Pipeline, stage: int, kind: str, microbatch: int) -> str:
    if stage < pipeline.stages and microbatch < pipeline.microbatches:
        return "needs gradients of weights as ops of their own; give pipeline_training a weight, or write B for both"
    return f"is no op of a pipeline of stages 0 to {pipeline.stages - 1} and micro-batches 0 to {pipeline.microbatches - 1}"


def _devices(problem: Problem) -> np.ndarray:
    if not (problem.may_run.sum(axis=1) == 1).all():
        raise UnsupportedError("a schedule table needs a pipeline with every op tied to the device of its stage")
    return problem.may_run.argmax(axis=1).astype(np.int32)


def _check_rows(ranks: Ranks, rows: list[list[Action]]) -> None:
    """FormatError where a row has stages of two devices, or two rows of one."""
    rank_of = {stage: rank for rank, stages in enumerate(ranks.stages) for stage in stages}
    taken: dict[int, int] = {}
    for r, row in enumerate(rows):
        first = row[0]
        for action in row:
            if rank_of[action[0]] != rank_of[first[0]]:
                raise FormatError(
                    f"row {r} has {_text(action)} and {_text(first)}, whose stages are on two devices; expected a row per device"
                )
        if taken.setdefault(rank_of[first[0]], r) != r:
            raise FormatError(
                f"{_text(first)} of row {r} is on the device of row {taken[rank_of[first[0]]]}; expected a row per device"
            )


def _text(action: Action) -> str:
    return "{}{}{}".format(*action)


def _check_all_there(pipeline: Pipeline, plans: list[list[Slot]]) -> None:
    """FormatError where an op has two actions, or none."""
    seen: set[Slot] = set()
    for slot in (slot for plan in plans for slot in plan):
        if slot in seen:
            raise FormatError(f"{_action(slot)} is there twice; expected once")
        seen.add(slot)
    for slot in pipeline.op:
        if slot[0] in LETTER and slot not in seen:
            raise FormatError(f"{_action(slot)} is missing{_needed(slot, seen)}; each micro-batch needs it once")


def _check_merged(pipeline: Pipeline, plans: list[list[Slot]]) -> None:
    """FormatError where passes that are one op do not follow each other."""
    for plan in plans:
        for slot, after in zip(plan, [*plan[1:], None], strict=True):
            v = pipeline.op[slot]
            if slot[0] == "F" and pipeline.phase[v] == "FB" and (after is None or pipeline.op[after] != v):
                microbatch, stage, _ = pipeline.backward[v].tolist()
                raise FormatError(
                    f"{_action(slot)} runs together with {stage}B{microbatch} in this pipeline; "
                    f"expected ({_action(slot)};{stage}B{microbatch})OVERLAP_F_B"
                )


def _action(slot: Slot) -> str:
    phase, microbatch, stage = slot
    return f"{stage}{LETTER[phase]}{microbatch}"


def _needed(slot: Slot, seen: set[Slot]) -> str:
    """One of the actions that need a slot, in words."""
    phase, i, s = slot
    readers: list[Slot] = [("F", i, s + 1), ("BW", i, s), ("B", i, s)] if phase == "F" else []
    readers += [(phase, i, s - 1), ("W", i, s)] if phase in ("B", "BW") else []
    return next((f", which {_action(reader)} needs" for reader in readers if reader in seen), "")


def _check_runs(pipeline: Pipeline, work: Work, device: np.ndarray, plans: list[list[Slot]], order: np.ndarray) -> None:
    """FormatError for a deadlock: it names an action that comes too late, and one that waits for it."""
    finish = replay(work, order.tolist())
    if min(finish) >= 0:
        return
    heads = {}  # the first action of each row that never runs
    for plan in plans:
        left = [slot for slot in plan if finish[pipeline.op[slot]] < 0]
        if left:
            heads[int(device[pipeline.op[left[0]]])] = left[0]
    seen: list[Slot] = []
    slot = next(iter(heads.values()))
    while slot not in seen:
        seen.append(slot)
        late = _late(pipeline, work, finish, pipeline.op[slot])
        head = heads[int(device[pipeline.op[late]])]
        if head == slot:
            raise FormatError(f"{_action(slot)} comes before {_action(late)}, which it needs, in one row")
        slot = head
    waits = seen[-1]
    other = slot
    needs = _action(_late(pipeline, work, finish, pipeline.op[waits]))
    raise FormatError(
        f"deadlock: {_action(waits)} waits for {needs}, which comes after {_action(other)} in its row, and "
        f"{_action(other)} waits in turn for what comes after {_action(waits)}"
    )


def _late(pipeline: Pipeline, work: Work, finish: list[float], op: int) -> Slot:
    """An action that op waits for and that never runs; through Receives."""
    for u, _ in work.inputs[op]:
        if finish[u] < 0:
            phase = "F" if pipeline.phase[u] == "FB" else str(pipeline.phase[u])
            slot = (phase, int(pipeline.microbatch[u]), int(pipeline.stage[u]))
            return slot if slot[0] in LETTER else _late(pipeline, work, finish, u)
    raise AssertionError("an op that never runs waits for another one")
