"""The tabs beside the canvas, each a :class:`~placelab.app.explorer.panels.panel.Panel`."""

from __future__ import annotations

from typing import Any

from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.panels.decisions_panel import DecisionsPanel
from placelab.app.explorer.panels.difference_panel import DifferencePanel
from placelab.app.explorer.panels.graph_panel import GraphPanel
from placelab.app.explorer.panels.job_panel import JobPanel
from placelab.app.explorer.panels.layers_panel import LayersPanel
from placelab.app.explorer.panels.panel import Panel, PanelFactory, Shared
from placelab.app.explorer.panels.what_matters import WhatMatters
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.base.errors import UnsupportedError
from placelab.problem.problem import Problem

PANELS: tuple[PanelFactory, ...] = (  # in the order of their tabs
    Comparison,
    GraphPanel,
    DecisionsPanel,
    WhatMatters,
    DifferencePanel,
    JobPanel,
    LayersPanel,
)


CLUSTER = "Cluster"  # title of the canvas, which lies beside the panels, or where the page is narrow over them


class Tabs:
    """The panels, of which one is seen.

    Attributes
    ----------
    box
        The row of titles, and the panel below it.
    panels
        By title.
    """

    def __init__(self, shared: Shared) -> None:
        self.panels: dict[str, Panel] = {panel.title: panel for panel in (make(shared) for make in PANELS)}
        self._result: Result | None = None
        titles = [CLUSTER, *self.panels]
        self.titles = w.ToggleButtons(options=titles, value=Comparison.title)
        self.titles.add_class("pl-titles")
        self.stack = w.Stack([panel.box for panel in self.panels.values()], selected_index=0).add_class("pl-stack")
        self.box = w.VBox([self.titles, self.stack]).add_class("pl-tabs")
        self.titles.observe(self._choose, "value")
        self._choose()

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Tell all panels of the newest state."""
        for panel in self.panels.values():
            panel.show(state, problem, dragging)

    def result(self, result: Result | None) -> None:
        """Tell all panels of the newest result."""
        self._result = result
        for panel in self.panels.values():
            panel.result(result)

    def open(self, title: str) -> None:
        """Show the tab of that title; UnsupportedError when there is none."""
        if title not in self.panels:
            raise UnsupportedError(f"no tab is called {title!r}; there are {', '.join(self.panels)}")
        self.titles.value = title

    def close(self) -> None:
        """End the panels' threads."""
        for panel in self.panels.values():
            panel.close()

    def _choose(self, _: Any = None) -> None:
        """Show the panel whose title is pressed, of all panels only it computes; or the canvas over the last one."""
        over = self.titles.value == CLUSTER
        (self.box.add_class if over else self.box.remove_class)("pl-cluster-chosen")
        if over:
            return
        for i, (title, panel) in enumerate(self.panels.items()):
            chosen = title == self.titles.value
            appears = chosen and not panel.visible
            panel.visible = chosen
            if chosen:
                self.stack.selected_index = i
            if appears and self._result is not None:
                panel.result(self._result)
