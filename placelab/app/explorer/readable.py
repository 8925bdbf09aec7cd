"""What a cell can read of an explorer, and how its output shows it."""

from __future__ import annotations

from pathlib import Path

import traitlets
from IPython.display import display

from placelab.app.explorer import code
from placelab.app.explorer.computation import Computation
from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.panels.panel import Item
from placelab.app.explorer.panels.tabs import Tabs
from placelab.app.explorer.saved_picture import SavedPicture, patience
from placelab.app.explorer.session import Session, Undoable
from placelab.app.explorer.state import State
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.whole import Whole
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

PATIENT = 5.0  # seconds that a command waits for the first of two schedules, and the explorer's text for its own
VIEW = "application/vnd.jupyter.widget-view+json"


class Readable(Whole):
    """State, problem and result of an explorer; it changes none of them."""

    _esm = Path(__file__).parents[1] / "widgets" / "static" / "explorer.js"

    height = traitlets.Int(0).tag(sync=True)  # in CSS pixels; 0: what the window leaves
    hints = traitlets.Int(0).tag(sync=True)  # how often a user has asked for the hints that a browser shows once
    hiding = traitlets.Unicode("").tag(sync=True)  # a style sheet that hides the saved picture
    # Key of the newest state; a part that shows a result of another one is outdated.
    now = traitlets.Unicode("").tag(sync=True)

    _session: Session
    _computation: Computation
    tabs: Tabs
    gantt: Gantt
    saved: SavedPicture

    @property
    def state(self) -> State:
        """What pickers and canvas show."""
        return self._session.state

    @property
    def problem(self) -> Problem:
        """The problem shown."""
        return self._session.problem

    @property
    def placement(self) -> Placement:
        """Device of each op; waits for it, and raises the exception that kept the strategies from placing."""
        return self.schedule.placement

    @property
    def schedule(self) -> Schedule:
        """Times of ops and transfers; waits for them, and raises the exception that kept the strategies from scheduling."""
        return self._computation.schedule

    @property
    def result(self) -> Result | None:
        """The result shown now, which may be stale; None before the first. Does not wait."""
        return self._computation.result

    @property
    def steps(self) -> Undoable:
        """The states that undo and redo lead to."""
        return self._session.steps

    @property
    def code(self) -> str:
        """Text of a cell that reproduces what is shown."""
        return code.cell(self.state)

    def settled(self, timeout: float | None = None) -> bool:
        """Wait until the newest state is computed and shown, the comparison aside; return False when that takes longer."""
        return self._computation.settled(timeout)

    @property
    def comparison(self) -> Comparison:
        """The tab that compares all pairs of strategies."""
        panel = self.tabs.panels[Comparison.title]
        assert isinstance(panel, Comparison)
        return panel

    def _ipython_display_(self) -> None:
        """Show the live view, and after it, for those who open the saved notebook, a picture that the view hides.

        The view comes at once, before the first schedule: a slow strategy must not leave the cell empty.
        """
        live = {VIEW: self.get_view_spec(), "text/plain": f"Explorer({self._title})"}
        display(live, raw=True)
        self.settled(patience())
        self.saved.display()

    def _pictured(self) -> tuple[str, Schedule, list[Item], list[int]] | None:
        """What the saved notebook shows; None before the first result."""
        result = self.result
        if result is None:
            return None
        state = result.state
        waiting = [] if state.placed is None else (~state.placed).nonzero()[0].tolist()
        title = f"{state.model.title} · {state.placer} + {state.scheduler}"
        return title, result.schedule, self.gantt.numbers, waiting

    @property
    def _title(self) -> str:
        """Model, cluster and pair of strategies."""
        state = self.state
        cluster = self.problem.cluster
        model = f"{state.model.title}: {state.graph.n_ops:,} ops on {cluster.n_devices} devices"
        return f"{model}, {state.placer} + {state.scheduler}"

    def __repr__(self) -> str:
        """With the makespan of the newest state; waits some seconds for it, as a traceback's printer asks for a text, too."""
        try:
            done = self._computation.answered(PATIENT)
            outcome = self.problem.cluster.units.time(self.schedule.makespan) if done else "still computing"
        except Exception as error:
            outcome = sentence(error)
        return f"Explorer({self._title}: {outcome})"
