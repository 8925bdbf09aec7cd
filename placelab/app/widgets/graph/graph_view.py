"""The model graph as a widget. Traits and messages only; the drawing is in ``widgets/graph``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from placelab.app.widgets.gantt.colouring import pack_kinds
from placelab.app.widgets.graph.scene import first_open, scene_of
from placelab.app.widgets.graph.scene_wire import describe, pack_owner, pack_pins, pack_values
from placelab.app.widgets.graph.scopes import Scopes, scopes_of
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

COLOURS = ("device", "kind", "time", "slack", "critical")
OnPin = Callable[[np.ndarray, int], None]


class ModelGraph(anywidget.AnyWidget):
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

    _esm = Path(__file__).parents[1] / "static" / "graph.js"

    scene = traitlets.Dict().tag(sync=True)  # boxes and edges, see placelab.app.widgets.graph.scene_wire
    owner = traitlets.Bytes().tag(sync=True)  # box of each op, int32
    kinds = traitlets.Bytes().tag(sync=True)  # colour index per op, uint8
    kind_names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # meaning of each colour index
    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)  # device names
    values = traitlets.Bytes().tag(sync=True)  # times and devices of ops, see placelab.app.widgets.graph.scene_wire
    pinned = traitlets.Bytes().tag(sync=True)  # device that each op is pinned to, int16; empty without pins
    opened: traitlets.List[int] = traitlets.List(traitlets.Int()).tag(sync=True)  # open scopes; both ways
    selection = traitlets.Int(-1).tag(sync=True)  # op number, -1 for none; both ways
    colour = traitlets.Unicode("device").tag(sync=True)  # one of COLOURS, what boxes are coloured by; both ways
    query = traitlets.Unicode("").tag(sync=True)  # text to find; from the browser
    hits = traitlets.Bytes().tag(sync=True)  # ops found, uint32, by number
    request = traitlets.Dict().tag(sync=True, echo_update=False)  # newest message; see Request in traits.ts
    aspect = traitlets.Float(3.3).tag(sync=True)  # width of the picture divided by its height; from the browser
    can_pin = traitlets.Bool(False).tag(sync=True)  # whether boxes can be pinned to devices
    unitless = traitlets.Bool(False).tag(sync=True)  # all quantities are plain numbers, see problem.plain_numbers

    on_pin: OnPin | None = None
    problem: Problem | None = None

    def __init__(self, **traits: Any) -> None:
        self._lock = threading.RLock()  # messages of the browser may arrive on another thread than results
        self._graph: OpGraph | None = None
        self._scopes: Scopes | None = None
        self._schedule: Schedule | None = None
        self._texts: list[str] = []
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
            self._graph, self._scopes = graph, scopes
            self.kinds, self.kind_names = pack_kinds(graph)
            if not same:
                self._schedule, self._texts = None, []
                self.values, self.pinned, self.hits, self.query, self.selection = b"", b"", b"", "", -1
            opened = self.opened if same else list(first_open(scopes))
            if self.opened == opened:
                self._lay_out()
            self.opened = opened  # lays out, if it differs

    def show(self, schedule: Schedule) -> None:
        """Show when and where the ops of a schedule run; ignored for another graph than the one on show."""
        with self._lock, self.hold_sync():
            if self._graph is not None and len(schedule.start) == self._graph.n_ops:
                self._schedule = schedule
                self.devices = list(schedule.problem.cluster.names)
                self.unitless = not schedule.problem.cluster.units.si
                self.values = pack_values(schedule, self.colour)

    def show_pins(self, problem: Problem) -> None:
        """Mark the ops that the rules of a problem tie to devices."""
        with self._lock, self.hold_sync():
            if self._graph is not None and problem.graph.n_ops == self._graph.n_ops:
                self.problem = problem
                self.devices = list(problem.cluster.names)
                self.unitless = not problem.cluster.units.si
                self.pinned = pack_pins(problem)

    def reveal(self, op: int) -> None:
        """Open the scopes that op number `op` is in."""
        with self._lock:
            if self._scopes is not None and 0 <= op < self._scopes.n_ops:
                self.opened = sorted({*self.opened, *self._scopes.ancestors(op)} - {self._scopes.root})

    @traitlets.observe("opened", "aspect")
    def _lay_out(self, _: Any = None) -> None:
        with self._lock, self.hold_sync():
            if self._graph is not None and self._scopes is not None:
                aspect = float(np.clip(self.aspect, 0.2, 20))
                scene = scene_of(self._graph, self._scopes, self.opened, aspect)
                self.scene, self.owner = describe(self._graph, self._scopes, scene), pack_owner(scene)

    @traitlets.observe("colour")
    def _recolour(self, _: Any) -> None:
        with self._lock:
            if self._schedule is not None:
                self.values = pack_values(self._schedule, self.colour)

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

    @traitlets.observe("request")
    def _receive(self, change: dict[str, Any]) -> None:
        message, scopes = change["new"], self._scopes
        kind, node, device = (message.get(key) for key in ("kind", "node", "device"))
        if scopes is None or not isinstance(node, int) or not 0 <= node < scopes.n_nodes:
            return
        if kind == "reveal":
            self.reveal(node)
        elif kind == "unpin" and self.on_pin:
            self.on_pin(scopes.ops(node), -1)
        elif kind == "pin" and self.on_pin and isinstance(device, int) and 0 <= device < len(self.devices):
            self.on_pin(scopes.ops(node), device)

    def __repr__(self) -> str:
        ops = self._graph.n_ops if self._graph else 0
        boxes = sum(not box["open"] for box in self.scene.get("boxes", ()))
        return f"ModelGraph({ops:,} op{'s' * (ops != 1)} in {boxes:,} box{'es' * (boxes != 1)})"
