"""What a cell can read of an explorer, how its output shows it, and the picture of it that a saved notebook has."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Sequence
from os import environ
from pathlib import Path

import traitlets
from IPython import get_ipython
from IPython.display import display

from placelab.app.explorer import code
from placelab.app.explorer.computation import Computation
from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.panels.held import placed_so_far
from placelab.app.explorer.panels.numbers import plan_so_far
from placelab.app.explorer.panels.panel import Item
from placelab.app.explorer.panels.result_view import Tabs
from placelab.app.explorer.session import Session, Undoable
from placelab.app.explorer.state import State
from placelab.app.export import page, without
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.whole import Whole
from placelab.base.threads import Background, Worker, ending
from placelab.pictures.schedule_cells import entries
from placelab.pictures.schedule_chart import gantt
from placelab.pictures.style import aside, picture, text
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import PLANNED
from placelab.schedule.critical_steps import critical_steps
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

PAUSE = 2.0  # seconds without a new result before the picture is made again
FIRST = 1.0  # seconds that a cell waits for the first result
UNSEEN = 60.0  # … where a program runs the notebook, as nbconvert does: what the cell shows then is what is saved
MOST = 700_000  # bytes of the page that recomputes, or plays; without it the picture stays well below 200 KB

# The picture is the output after the live view's. A live view hides it, by `hiding`; without one, the picture hides the words
# "model not found" in place of the view. Where scripts run, a button puts the page that recomputes, or plays, in place of the
# picture; a live view whose kernel is busy or gone opens the same page (widgets/frame/goon.ts).
SCRIPT = """(() => { for (const box of document.querySelectorAll(".placelab-saved-%(token)s")) {
  const [page, image, old] = ["script[type='application/json']", "img", "button"].map((what) => box.querySelector(what));
  if (!page || !image || old) continue;
  const button = document.createElement("button");
  const live = page.dataset.kind === "live", scheme = document.body.dataset.jpThemeLight === "false" ? "dark" : "light";
  button.textContent = live ? "▶ Recompute here" : "▶ Play this schedule";
  button.onclick = () => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = image.alt;
    frame.style = `width:100%%;height:${live ? 860 : 560}px;border:0;color-scheme:${scheme}`;
    frame.srcdoc = JSON.parse(page.textContent).replace("color-scheme: light dark", `color-scheme: ${scheme}`);
    image.parentElement.replaceWith(frame);
  };
  page.before(button);
} })()"""
ALONE = (
    ".jp-OutputArea-child:not(:has(> * > .placelab-explorer)):has(+ .jp-OutputArea-child > * > .placelab-saved-{token})"
    "{{display:none}}"
)
Numbers = list[dict[str, str]]
# Title, schedule of all ops, numbers, ops of it that wait to be placed by hand; None before the first result.
Shown = Callable[[], tuple[str, Schedule, Numbers, list[int]] | None]


def patience() -> float:
    """How long [s] a cell waits for the first result: shortly where somebody looks at it.

    Front ends say of a cell that they run which one it is; nbconvert and its like say nothing. Neither does Voilà, whose page is
    looked at.
    """
    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    looked_at = bool(parent.get("metadata")) or environ.get("SERVER_SOFTWARE", "").startswith("voila")
    return FIRST if looked_at or not parent else UNSEEN


class SavedPicture(Background):
    """An output of the cell that is made again some seconds after the last change, apart from the live view's output.

    Parameters
    ----------
    shown
        Returns what to show.
    made
        Called after each picture with its element's class and number, from which a page tells whether it has received it.

    Attributes
    ----------
    hiding
        A style sheet by which the live view hides the picture.
    """

    def __init__(self, shown: Shown, made: Callable[[str, int], object] = lambda *_: None) -> None:
        self._shown = shown
        self._made = made
        self._number = 0
        self._token = secrets.token_hex(6)
        self._displayed = False
        self._worker = Worker(self._catch_up, "saved picture")
        mine = f".placelab-saved-{self._token}"
        self.hiding = f"{mine},.jp-OutputArea-child:has(> * > {mine}){{display:none}}"

    def display(self) -> None:
        """Put the picture into the output of the cell that is being run."""
        self._show(update=False)
        self._displayed = True

    def follow(self) -> None:
        """Make the picture again once nothing has changed for a while."""
        if self._displayed:
            self._worker.wake()

    def _catch_up(self) -> None:
        if self._worker.sleep(PAUSE):
            self._show(update=True)

    def _show(self, update: bool) -> None:
        shown = self._shown()
        html = (
            saved_html(*shown[:3], self._token, shown[3])
            if shown
            else _box(self._token, picture("No schedule yet", ()))
        )
        self._number += 1
        html = html.replace("<div", f'<div data-number="{self._number}"', 1)
        if ending():
            return
        display({"text/html": html}, raw=True, display_id=f"placelab-{self._token}", update=update)
        self._made(f"placelab-saved-{self._token}", self._number)


def saved_html(title: str, schedule: Schedule, numbers: Numbers, token: str, waiting: Sequence[int] = ()) -> str:
    """The picture, and the page that recomputes, or plays, for a button that a script adds; no page of more than `MOST` bytes.

    While ops wait, picture and page show the part that is placed; in a page that recomputes the others are in the tray. The chart
    is an ``img``: code hosts and notebooks that are not trusted remove SVG elements, and show images.
    """
    part, placed = without(schedule, waiting)
    steps = critical_steps(part)
    drawn = gantt(part, steps[:0], drawn=placed) if len(waiting) else gantt(part, steps)
    svg = drawn.svg.replace('style="', 'style="color:#111;font-family:sans-serif;', 1)
    label = f"Gantt chart of {title}"
    image = (
        f'<img alt="{text(label, 200)}" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" '
        'style="display:block;box-sizing:border-box;max-width:100%;padding:8px;margin:6px 0;background:#fff"/>'
    )
    lines = [f"{item['label']} {item['value']}" for item in numbers if item.get("value")]
    facts = [text(part) for line in lines for part in line.split(" · ")]  # where a narrow page breaks the line
    if len(waiting):  # the numbers are of a plan that is whole
        facts = [f"plan so far {placed.sum():,} of {len(placed):,} ops"]
    said = "The explorer as it was when this notebook was saved. Run the cell to make it live."
    return _box(
        token,
        picture(text(title), facts, entries(drawn.key), image, aside(said), _page(schedule, numbers, token, waiting)),
    )


def _page(schedule: Schedule, numbers: Numbers, token: str, waiting: Sequence[int]) -> str:
    """The page as data that no browser runs, and the script that shows it on demand; "" where it is too large."""
    for live in (None, False):  # where it can, it recomputes
        html = page(schedule, numbers, live=live, waiting=waiting)
        data = json.dumps(html, ensure_ascii=False).replace("<", "\\u003c")
        if len(data.encode()) <= MOST:
            kind = "live" if '<body class="live">' in html else "plays"
            script = f"<script>{SCRIPT % {'token': token}}</script>"
            return f'<script type="application/json" data-kind="{kind}">{data}</script>{script}'
    return ""


def _box(token: str, html: str) -> str:
    return f'<div class="placelab-saved-{token}"><style>{ALONE.format(token=token)}</style>{html}</div>'


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
        """Device of each op; waits for it, and raises the exception that kept the strategies from placing.

        Ops that wait to be placed by hand stand behind all others, on some device that may run them.
        """
        return self._computation.newest.placement

    @property
    def schedule(self) -> Schedule:
        """Times of ops and transfers; waits for them, and raises the exception that kept the strategies from scheduling.

        While ops wait to be placed by hand, those of the part that is placed, as :func:`placelab.by_hand` has them: what waits
        takes no time, holds no memory, and has no transfers.
        """
        return self._computation.newest.schedule

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
        title = f"{state.model.title} · {state.placer} + {state.scheduler}"
        if state.placed is None or result.whole is None:
            return title, result.schedule, self.gantt.numbers, []
        waiting = (~state.placed).nonzero()[0].tolist()
        so_far = plan_so_far(result.schedule, *placed_so_far(result.schedule, state.placed))
        return title, simulate(result.problem, result.whole, PLANNED), so_far, waiting

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
