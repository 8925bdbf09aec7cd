"""Pack the model graph for the browser: a scene as a dictionary, values of ops as columns in one buffer.

Values are little endian: a header of four uint32 (version, ops, marks, 0), the makespan (f8, seconds), then the columns, each
starting at a multiple of 8 bytes: f4 start, f4 duration (seconds), u2 device, u1 mark. Read by ``widgets/graph/values.ts``.
Marks are there for two colours only: with ``"critical"``, 255 on the critical path; with ``"slack"``, the root of the slack's
share of the makespan in 255ths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.analysis.explanation import critical_steps
from placelab.analysis.slack import slack
from placelab.app.widgets.gantt.wire import VERSION, joined
from placelab.app.widgets.graph.scene import Scene
from placelab.app.widgets.graph.scopes import Scopes
from placelab.kernels.explain.explain import OP
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

SEVERAL = 32767  # an op pinned to more than one device
NAMED = 3  # kinds of ops that the description of a box names


def describe(graph: OpGraph, scopes: Scopes, scene: Scene) -> dict[str, Any]:
    """A scene as plain JSON, see ``Scene`` in ``widgets/graph/traits.ts``."""
    kinds = _kinds(graph, scene)
    columns = (scene.node, scene.inside, scene.is_open, scene.layer)
    shape = (np.round(column, 1).tolist() for column in (scene.x, scene.y, scene.width, scene.height))
    boxes = [
        {
            "node": node,
            "label": scopes.label[node],
            "path": str(graph.names[node]) if node < scopes.n_ops else scopes.path[node - scopes.n_ops],
            "inside": inside,
            "open": is_open,
            "layer": layer,
            "x": x,
            "y": y,
            "w": w,
            "h": h,
            "ops": int(scopes.size[node]),
            "kinds": kinds.get(box, ""),
        }
        for box, (node, inside, is_open, layer, x, y, w, h) in enumerate(
            zip(*(column.tolist() for column in columns), *shape, strict=True)
        )
    ]
    edges = {
        "source": scene.source.tolist(),
        "target": scene.target.tolist(),
        "bytes": scene.size.tolist(),
        "back": np.flatnonzero(scene.back).tolist(),
    }
    return {"ops": graph.n_ops, "boxes": boxes, "edges": edges}


def _kinds(graph: OpGraph, scene: Scene) -> dict[int, str]:
    """The most frequent kinds of the ops in each closed box, in words; ties by name."""
    names, kind = np.unique(graph.kind.astype(str), return_inverse=True)
    pairs, count = np.unique(scene.owner.astype(np.int64) * len(names) + kind, return_counts=True)
    found: dict[int, list[tuple[int, str]]] = {}
    for pair, n in zip(pairs.tolist(), count.tolist(), strict=True):
        found.setdefault(pair // len(names), []).append((n, str(names[pair % len(names)])))
    return {box: _in_words(kinds) for box, kinds in found.items()}


def _in_words(kinds: list[tuple[int, str]]) -> str:
    kinds = sorted(kinds, key=lambda kind: (-kind[0], kind[1]))
    texts = [(name or "op") if n == 1 else f"{n:,} × {name or 'op'}" for n, name in kinds[:NAMED]]
    more = len(kinds) - NAMED
    return ", ".join(texts) + (f", {more} more kind{'s' * (more != 1)}" if more > 0 else "")


def pack_owner(scene: Scene) -> bytes:
    """Box of each op, int32."""
    return scene.owner.astype("<i4").tobytes()


def pack_values(schedule: Schedule, colour: str) -> bytes:
    """Columns of a schedule, 11 bytes per op.

    Parameters
    ----------
    colour
        What the boxes are coloured by; decides about the marks.
    """
    marks = _marks(schedule, colour)
    columns = [
        np.array([VERSION, len(schedule.start), len(marks), 0], "<u4"),
        np.array([schedule.makespan], "<f8"),
        schedule.start.astype("<f4"),
        (schedule.finish - schedule.start).astype("<f4"),
        schedule.device.astype("<u2"),
        marks,
    ]
    return joined(columns)


def _marks(schedule: Schedule, colour: str) -> np.ndarray:
    if colour == "critical":
        steps, marks = critical_steps(schedule), np.zeros(len(schedule.start), np.uint8)
        marks[steps["row"][steps["kind"] == OP]] = 255
        return marks
    if colour == "slack":
        return np.round(255 * np.sqrt(slack(schedule) / (schedule.makespan or 1))).astype(np.uint8)
    return np.empty(0, np.uint8)


def pack_pins(problem: Problem) -> bytes:
    """Device that each op is pinned to by the problem's rules, int16: -1 for none, `SEVERAL` for more; empty without pins.

    Members of a pinned op's group are pinned, too. What the graph itself restricts is no pin.
    """
    if not problem.rules:
        return b""
    pinned = np.full(problem.graph.n_ops, -1, "<i2")
    named = np.array([problem.graph.index(name) for name in problem.rules], np.int64)
    groups = np.unique(problem.group[named])
    held = np.isin(problem.group, groups[groups >= 0])
    held[named] = True
    allowed = problem.may_run[held]
    pinned[held] = np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), SEVERAL)
    return pinned.tobytes()
