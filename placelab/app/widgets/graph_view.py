"""The model graph as a widget, and the bytes that its browser side gets. Traits and messages only; drawn by ``widgets/graph``.

Values are little endian: a header of four uint32 (version, ops, marks, 0), the makespan (f8, seconds), then the columns, each
starting at a multiple of 8 bytes: f4 start, f4 duration (seconds), u2 device, u1 mark. Read by ``widgets/graph/values.ts``.
Marks are there for two colours only: with ``"critical"``, 255 on the critical path; with ``"slack"``, the root of the slack's
share of the makespan in 255ths.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import traitlets

from placelab.analysis.explanation import critical_steps, slack
from placelab.app.widgets.gantt_wire import VERSION, joined, pack_kinds
from placelab.app.widgets.graph_scene import Scene, first_open, scene_of
from placelab.app.widgets.graph_scopes import Scopes, scopes_of
from placelab.app.widgets.whole import View
from placelab.kernels.explain import OP
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

SEVERAL = 32767  # an op pinned to more than one device
NOWHERE = 65535  # device of an op that is not placed
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


def pack_values(schedule: Schedule, colour: str, placed: np.ndarray | None = None) -> bytes:
    """Columns of a schedule, 11 bytes per op.

    Parameters
    ----------
    colour
        What the boxes are coloured by; decides about the marks.
    placed
        Which ops are placed; the others are on the device `NOWHERE`. None: all.
    """
    device = schedule.device if placed is None else np.where(placed, schedule.device, NOWHERE)
    marks = _marks(schedule, colour)
    columns = [
        np.array([VERSION, len(schedule.start), len(marks), 0], "<u4"),
        np.array([schedule.makespan], "<f8"),
        schedule.start.astype("<f4"),
        (schedule.finish - schedule.start).astype("<f4"),
        device.astype("<u2"),
        marks,
    ]
    return joined(columns)


def _marks(schedule: Schedule, colour: str) -> np.ndarray:
    if colour == "critical":
        steps = critical_steps(schedule)
        marks = np.zeros(len(schedule.start), np.uint8)
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


COLOURS = ("device", "kind", "time", "slack", "critical")
OnPin = Callable[[np.ndarray, int], None]


class ModelGraph(View):
    """The scopes of a model as boxes that open and close, in layers from left to right, with the tensors between them.

    Attributes
    ----------
    problem
        The one whose pins are marked.
    on_pin
        Called with op numbers and a device number when a user drags a box onto a device, -1 to take the pin away; None: nothing
        can be pinned.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.load("alexnet"), pl.clusters.pcie_box())
    >>> view = ModelGraph.of(pl.solve(problem))
    >>> view
    ModelGraph(127 ops in 33 boxes)
    >>> view.opened = []
    >>> view
    ModelGraph(127 ops in 15 boxes)
    """

    _esm = Path(__file__).parent / "static" / "graph.js"

    scene = traitlets.Dict().tag(sync=True)  # boxes and edges, see placelab.app.widgets.graph_view
    owner = traitlets.Bytes().tag(sync=True)  # box of each op, int32
    kinds = traitlets.Bytes().tag(sync=True)  # colour index per op, uint8
    kind_names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # meaning of each colour index
    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)  # device names
    values = traitlets.Bytes().tag(sync=True)  # times and devices of ops, see placelab.app.widgets.graph_view
    pinned = traitlets.Bytes().tag(sync=True)  # device that each op is pinned to, int16; empty without pins
    opened: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)  # open scopes; both ways
    selection = traitlets.Int(-1).tag(sync=True)  # op number, -1 for none; both ways
    colour = traitlets.Unicode("device").tag(sync=True)  # one of COLOURS, what boxes are coloured by; both ways
    verbatim = ("query",)
    query = traitlets.Unicode("").tag(sync=True)  # text to find; from the browser
    hits = traitlets.Bytes().tag(sync=True)  # ops found, uint32, by number
    aspect = traitlets.Float(3.3).tag(sync=True)  # width of the picture divided by its height; from the browser
    can_pin = traitlets.Bool(False).tag(sync=True)  # whether boxes can be pinned to devices
    unitless = traitlets.Bool(False).tag(sync=True)  # all quantities are plain numbers, see Cluster.units

    on_pin: OnPin | None = None
    problem: Problem | None = None

    def __init__(self, **traits: Any) -> None:
        self._lock = threading.RLock()  # messages of the browser may arrive on another thread than results
        self._graph: OpGraph | None = None
        self._scopes: Scopes | None = None
        self._schedule: Schedule | None = None
        self._placed: np.ndarray | None = None
        self._texts: list[str] = []
        self.handles = {"reveal": self.reveal, "pin": self._pin, "unpin": self._pin}
        super().__init__(**traits)

    @classmethod
    def of(cls, schedule: Schedule, **traits: Any) -> ModelGraph:
        """The graph of a schedule, coloured by it."""
        view = cls(**traits)
        view.show_graph(schedule.problem.graph)
        view.show(schedule)
        view.show_pins(schedule.problem)
        return view

    @property
    def graph(self) -> OpGraph | None:
        """The graph on show."""
        return self._graph

    def show_graph(self, graph: OpGraph) -> None:
        """Show a graph; what is open and selected stays when the ops have the names they had."""
        before = self._graph
        same = before is not None and (graph.names is before.names or np.array_equal(graph.names, before.names))
        scopes = self._scopes if same and self._scopes is not None else scopes_of(graph)
        with self._lock, self.hold_sync():
            self._graph = graph
            self._scopes = scopes
            self.kinds, self.kind_names = pack_kinds(graph)
            if not same:
                self._schedule = self._placed = None
                self._texts = []
                self.values = b""
                self.pinned = b""
                self.hits = b""
                self.query = ""
                self.selection = -1
            opened = self.opened if same else list(first_open(scopes))
            if self.opened == opened:
                self._lay_out()
            self.opened = opened  # lays out, if it differs

    def show(self, schedule: Schedule, placed: np.ndarray | None = None) -> None:
        """Show when and where the ops of a schedule run, of which these are placed; ignored for another graph than on show."""
        with self._lock, self.hold_sync():
            if self._graph is not None and len(schedule.start) == self._graph.n_ops:
                self._schedule = schedule
                self._placed = placed
                self.devices = list(schedule.problem.cluster.names)
                self.unitless = not schedule.problem.cluster.units.si
                self.values = pack_values(schedule, self.colour, placed)

    def show_pins(self, problem: Problem) -> None:
        """Mark the ops that the rules of a problem tie to devices."""
        with self._lock, self.hold_sync():
            if self._graph is not None and problem.graph.n_ops == self._graph.n_ops:
                self.problem = problem
                self.devices = list(problem.cluster.names)
                self.unitless = not problem.cluster.units.si
                self.pinned = pack_pins(problem)

    def reveal(self, node: int) -> None:
        """Open the scopes that an op is in, by its number."""
        with self._lock:
            if self._scopes is not None and 0 <= node < self._scopes.n_ops:
                self.opened = sorted({*self.opened, *self._scopes.ancestors(node)} - {self._scopes.root})

    @traitlets.observe("opened", "aspect")
    def _lay_out(self, _: Any = None) -> None:
        with self._lock, self.hold_sync():
            if self._graph is not None and self._scopes is not None:
                aspect = float(np.clip(self.aspect, 0.2, 20))
                scene = scene_of(self._graph, self._scopes, self.opened, aspect)
                self.scene = describe(self._graph, self._scopes, scene)
                self.owner = pack_owner(scene)

    @traitlets.observe("colour")
    def _recolour(self, _: Any) -> None:
        with self._lock:
            if self._schedule is not None:
                self.values = pack_values(self._schedule, self.colour, self._placed)

    @traitlets.observe("query")
    def _find(self, _: Any) -> None:
        with self._lock:
            self.hits = self.find(self.query).astype("<u4").tobytes()

    def find(self, text: str) -> np.ndarray:
        """Numbers of the ops whose name or kind contains every word of `text`, in either case; none for no word."""
        words = text.lower().split()
        if self._graph is None or not words:
            return np.empty(0, np.int64)
        if not self._texts:
            pairs = zip(self._graph.names.tolist(), self._graph.kind.tolist(), strict=True)
            self._texts = [f"{name}\n{kind}".lower() for name, kind in pairs]
        return np.array([v for v, of in enumerate(self._texts) if all(word in of for word in words)], np.int64)

    def _pin(self, node: int, device: int = -1) -> None:
        """Pin the ops of a node to a device, or take their pins away."""
        scopes = self._scopes
        if self.on_pin and scopes is not None and 0 <= node < scopes.n_nodes and -1 <= device < len(self.devices):
            self.on_pin(scopes.ops(node), device)

    def __repr__(self) -> str:
        ops = self._graph.n_ops if self._graph else 0
        boxes = sum(not box["open"] for box in self.scene.get("boxes", ()))
        return f"ModelGraph({ops:,} op{'s' * (ops != 1)} in {boxes:,} box{'es' * (boxes != 1)})"
