"""Why no schedule is shorter than the proven bound, as segments of a lane above the Gantt chart. Data only."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from placelab.planning.input_bound import ProofPart, steps
from placelab.problem.problem import Problem

MOST = 120  # segments that are sent
MARKED = 200  # ops of one that are, to be marked
KINDS = {"op": "compute", "transfer": "transfer", "share": "share", "between": "share", "work": "work"}
Segment = dict[str, object]


def proof_of(problem: Problem) -> list[Segment]:
    """The proof of the bound ``inputs`` (``bounds(why=True)``) in order of time, for the lane.

    Returns
    -------
    list of dict
        ``kind`` (``compute``, ``transfer``, ``share``: ops that must run on one device or await transfers, ``work``: of all
        devices together), ``label``, ``start``, ``finish`` [s], ``op`` (number of the first op), ``ops`` (all it is about, 200 at
        most), ``said``, a sentence.
        Neighbouring ops of one scope are one segment; where that is still more than 120, the shortest are drawn with the one
        before them.
    """
    parts = [step for step in steps(problem) if step.finish > step.start]
    names = problem.graph.names
    scope = lambda step: (step.kind, str(names[step.ops[0]]).partition("/")[0] if step.kind == "op" else step)  # noqa: E731
    joined = [list(group) for _, group in groupby(parts, scope)]
    while len(joined) > MOST:
        least = min(range(1, len(joined)), key=lambda i: joined[i][-1].finish - joined[i][0].start)
        joined[least - 1 : least + 1] = [joined[least - 1] + joined[least]]
    return [_segment(group, problem) for group in joined]


def _segment(group: Sequence[ProofPart], problem: Problem) -> Segment:
    """Neighbouring steps as one segment; the kind is that of the longest."""
    longest = max(group, key=lambda step: step.finish - step.start)
    names = problem.graph.names
    time = problem.cluster.units.time
    began = group[0].start
    ended = group[-1].finish
    first, last = (str(names[op]) for op in (longest.ops[0], longest.ops[-1]))
    took = f"{time(ended - began)}, {time(began)} to {time(ended)}"
    if longest.kind == "transfer":
        label = ""
        said = f"{last} waits for the output of {first} from another device"
    elif longest.kind == "share" and len(longest.ops) > 1:
        label = f"{len(longest.ops):,} ops share"
        said = f"{len(longest.ops):,} ops, {first} to {last}, run on one device: each would be too late elsewhere"
    elif longest.kind == "between":
        label = f"{len(longest.ops):,} ops"
        said = f"{len(longest.ops):,} ops, {first} to {last}: on one device they take so long, on two with transfers no less"
    elif longest.kind == "work":
        label = f"{len(longest.ops):,} ops"
        said = f"{len(longest.ops):,} ops run between these moments, over the devices that may run them"
    else:
        label = first.partition("/")[0] if len(group) > 1 else first.rpartition("/")[2]
        said = f"{len(group):,} ops of {label} run one after the other" if len(group) > 1 else f"{first} runs"
    return {
        "kind": KINDS[longest.kind],
        "label": label,
        "start": float(began),
        "finish": float(ended),
        "op": int(longest.ops[0]),
        "ops": list(dict.fromkeys(int(op) for step in group for op in step.ops))[:MARKED],
        "said": f"{said}: at least {took}.",
    }
