"""The page of a decoder's training plan: degrees as sliders, memory by stage, the winners of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.engine.found_plans import PlanSearch, Record, best_over, bytes_of, listed, plan_of, ran
from placelab.app.explorer.panels.panel import Shared, button
from placelab.app.explorer.spreads import RANKS, Planned, schedules
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.tab_views import PlanBoard
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import PlacelabError
from placelab.base.units import counted, percent, seconds, si
from placelab.plans.degrees import Plan
from placelab.plans.memory import CATEGORIES, CHOICES
from placelab.plans.plan_steps import PlanResult
from placelab.problem.cluster import Cluster
from placelab.schedule.schedule import Schedule

PAGES = {"Degrees": "degrees", "Winners": "winners", "Plane": "plane"}
SLIDERS = {  # field of a plan: label, what it means
    "dp": ("dp", "Data parallelism: replicas that share the batch"),
    "tp": ("tp", "Tensor parallelism: devices that share each product"),
    "pp": ("pp", "Pipeline parallelism: stages of consecutive layers"),
    "ep": ("ep", "Expert parallelism: devices that share the experts"),
    "microbatch": ("micro-batch", "Sequences that a stage works on at a time"),
    "chunks": ("chunks", "Stages on each device"),
}
MENUS = {
    "schedule": "Scheduler of the pipeline",
    "recompute": "Activations that the backward pass computes again",
    "zero": "What ZeRO divides",
}
WRITTEN = {"zero": "ZeRO", "sequence": "tokens"}  # names of fields, where they are written otherwise
PLANES = {
    "tp × pp": ("tp", "pp"),
    "dp × tp": ("dp", "tp"),
    "dp × pp": ("dp", "pp"),
    "pp × mb": ("pp", "microbatch"),
}
AXES_TIP = "Two degrees; each cell has the best plan with them"
SHORT = {"microbatch": "mb"}
SIZES = {"batch": "Sequences of a step, over all replicas", "sequence": "Tokens of each sequence"}
MOST = 1_000_000


class PlanPage:
    """Controls and board of one plan.

    Parameters
    ----------
    shared
        What it changes, it changes by this.

    Attributes
    ----------
    head, box
        The controls for the row above, and the page.
    board
        Bars, table and plane.
    search
        The search in the background.
    """

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._state: State | None = None
        self._stops: dict[str, list[int]] = {}
        self._records: list[Record] = []  # the rows of the table
        self._remedies: list[Planned] = []  # that the board offers where the plan does not fit
        self._kept: tuple[Plan, Schedule] | None = None  # what a hand has kept of them
        self.board = PlanBoard(comm=PartComm())
        self.search = PlanSearch(self._draw_found)
        self.pages = w.ToggleButtons(options=list(PAGES.items()), description="page").add_class("pl-phase")
        self.pages.add_class("pl-plan-pages")
        self.sizes = {name: self._size(name) for name in SIZES}
        self.axes = w.Dropdown(options=list(PLANES), description="Plane", tooltip=AXES_TIP).add_class("pl-width")
        self.find = button("Search", "Find the fastest plans that use all devices", self._search)
        self.head = w.HBox([self.pages, *self.sizes.values(), self.axes, self.find]).add_class("pl-layers-head")
        self.sliders = {name: self._slider(name) for name in SLIDERS}
        self.menus = {name: self._menu(name) for name in MENUS}
        self.product = w.HTML().add_class("pl-product")
        grid = w.HBox([*self.sliders.values(), *self.menus.values()]).add_class("pl-options").add_class("pl-job-grid")
        self.controls = w.VBox([self.product, grid]).add_class("pl-plan-controls")
        self.box = w.HBox([self.controls, self.board]).add_class("pl-plan-page")
        self.pages.on_choice(lambda _: self._turn())
        self.axes.on_choice(lambda _: self._draw_found())
        self.board.handles = {"plan": self._take, "keep": self._keep, "remedy": self._remedy}
        shared.observe(self._draw_found, "kept")
        self._turn()  # in a wide explorer the style sheet shows all pages at once

    def show(self, state: State, of: str) -> None:
        """Show the plan of a state, whose problem has the key `of`."""
        self._state = state
        planned = state.planned
        if planned is None:
            return
        self._show_controls(planned, state.cluster)
        with self.board.hold_sync():
            self.board.result_of = of
            self._draw_plan(planned, state)
            self._draw_found()

    def close(self) -> None:
        """End the search."""
        self._shared.unobserve(self._draw_found, "kept")
        self.search.close()

    # ---------------------------------------------------------------- what a hand changes

    def _size(self, name: str) -> w.BoundedIntText:
        field = w.BoundedIntText(value=1, min=1, max=MOST, tooltip=SIZES[name])
        field.add_class("pl-plan-size").description = WRITTEN.get(name, name)
        field.on_choice(partial(self._resize, name))
        return field

    def _slider(self, name: str) -> w.IntSlider:
        slider = w.IntSlider(min=0, max=1, readout=False, tooltip=SLIDERS[name][1])
        slider.on_choice(partial(self._slid, name))
        return slider

    def _menu(self, name: str) -> w.Dropdown:
        menu = w.Dropdown(
            options=CHOICES.get(name, ("1f1b",)), description=WRITTEN.get(name, name), tooltip=MENUS[name]
        )
        menu.on_choice(partial(self._move, name))
        return menu

    def _slid(self, name: str, at: int) -> None:
        stops = self._stops.get(name, [])
        if 0 <= at < len(stops):
            self._move(name, stops[at])

    def _move(self, name: str, value: Any) -> None:
        self._change(lambda planned, cluster: planned.moved(name, value, cluster), f"plan {name}")

    def _resize(self, name: str, value: int) -> None:
        """Another batch or sequence; degrees that no longer divide give way."""

        def resized(planned: Planned, cluster: Cluster) -> Planned:
            changed = replace(planned, batch=value) if name == "batch" else replace(planned, sequence=value)
            return changed.moved("tp", planned.plan.tp, cluster) if name == "batch" else changed

        self._change(resized, f"plan {name}")

    def _remedy(self, remedy: int) -> None:
        if 0 <= remedy < len(self._remedies):
            plan = self._remedies[remedy].plan
            self._change(lambda planned, cluster: replace(planned, plan=plan))

    def _take(self, row: int) -> None:
        if 0 <= row < len(self._records):
            plan = plan_of(self._records[row])
            self._change(lambda planned, cluster: replace(planned, plan=plan))

    def _keep(self, row: int) -> None:
        """Keep the schedule of a plan that was found; of the one that is kept, let it go."""
        state = self._state
        if state is None or state.planned is None or not 0 <= row < len(self._records):
            return
        plan = plan_of(self._records[row])
        if plan == self._kept_plan():
            self._shared.kept = None
            return
        try:
            schedule = replace(state.planned, plan=plan).result(state.cluster).schedule(RANKS)
        except PlacelabError as error:
            self._shared.say(sentence(error), "bad")
            return
        self._kept = plan, schedule
        self._shared.kept = schedule

    def _kept_plan(self) -> Plan | None:
        """The plan that was kept here and still is."""
        return self._kept[0] if self._kept is not None and self._kept[1] is self._shared.kept else None

    def _change(self, change: Callable[[Planned, Cluster], Planned], key: str = "") -> None:
        def changed(state: State) -> State:
            return state if state.planned is None else state.with_spread(change(state.planned, state.cluster))

        self._shared.change(changed, key)

    def _search(self) -> None:
        state = self._state
        if self.search.running:
            self.search.stop()
        elif state is not None and state.planned is not None:
            self.search.start(state.planned, state.cluster)
            if self.pages.value == "degrees":
                self.pages.value = "winners"
        self._draw_found()

    # ---------------------------------------------------------------- what is shown

    def _turn(self) -> None:
        self.board.page = self.pages.value
        self.controls.hidden = self.pages.value != "degrees"
        self.axes.hidden = self.pages.value != "plane"
        for field in self.sizes.values():
            field.hidden = not self.axes.hidden  # there is no room for both
        self._draw_found()

    def _show_controls(self, planned: Planned, cluster: Cluster) -> None:
        plan = planned.plan
        for name, slider in self.sliders.items():
            value = getattr(plan, name)
            stops = sorted({*planned.stops(name, cluster), value})
            self._stops[name] = stops
            slider.hidden = len(stops) == 1 and name in ("ep", "chunks")
            said = f"{SLIDERS[name][0]}: {value}"
            slider.take(max=max(len(stops) - 1, 1), value=stops.index(value), description=said)
        for name, menu in self.menus.items():
            known = dict.fromkeys([*schedules(plan), plan.schedule]) if name == "schedule" else CHOICES[name]
            menu.offer(known, getattr(plan, name))
        for name, field in self.sizes.items():
            field.put(getattr(planned, name))
        product = f"{plan.dp} × {plan.tp} × {plan.pp} = <b>{plan.devices} of {cluster.n_devices}</b>"
        self.product.value = f"{product} · {counted(plan.microbatches(planned.batch), 'micro-batch')}"

    def _draw_plan(self, planned: Planned, state: State) -> None:
        try:
            found = planned.result(state.cluster)
        except PlacelabError as error:
            return self.board.take(stages=[], refused=str(error), remedies=[])
        other = f" · the chart runs {state.scheduler}" if state.scheduler != planned.scheduler else ""
        offered = [] if found.fits else planned.remedies(state.cluster)
        self._remedies = [plan for _, plan in offered]
        remedies = [words for words, _ in offered]
        self.board.take(stages=stages(found), said=numbers(found) + other, refused=lacking(found), remedies=remedies)

    def _draw_found(self, _: Any = None) -> None:
        search = self.search
        state = self._state
        self.find.description = "Stop" if search.running else "Search"
        planned = None if state is None else state.planned
        if state is None or planned is None:
            return
        records = list(search.records)
        x, y = PLANES[self.axes.value]
        xs, ys, cells = best_over(records, x, y)
        shown = listed(records)
        self._records = shown + [cell for cell in cells.values() if cell not in shown]
        other = (
            "of a different batch, model or cluster: search again · " if search.stale(planned, state.cluster) else ""
        )
        kept = self._kept_plan()
        plane = dict(
            x=[f"{SHORT.get(x, x)} {value}" for value in xs],
            y=[f"{SHORT.get(y, y)} {value}" for value in ys],
            cells=[[self._cell(cells.get((a, b)), planned, x, y) for a in xs] for b in ys],
        )
        rows = [row_of(record, planned) | {"kept": plan_of(record) == kept} for record in shown]
        self.board.take(rows=rows, plane=plane, status=other + search.status)

    def _cell(self, record: Record | None, planned: Planned, x: str, y: str) -> dict[str, Any]:
        if record is None:
            return dict(seconds=None, text="", why="no plan has these degrees", row=-1, shown=False)
        third = next(name for name in ("dp", "pp", "tp") if name not in (x, y))
        why = record["why_not"]
        return dict(
            seconds=float(record["seconds"]) if ran(record) else None,
            text=f"{third} {record[third]}" if ran(record) else "slower" if why.startswith("takes ") else "✗",
            why=why or row_of(record, planned)["more"],
            row=self._records.index(record) if bytes_of(record) is not None else -1,
            shown=same(record, planned),
        )


def same(record: Record, planned: Planned) -> bool:
    """Whether a record is of the plan shown."""
    return plan_of(record) == replace(planned.plan, layers=None)


def row_of(record: Record, planned: Planned) -> dict[str, Any]:
    """A row of the table."""
    known = ran(record)
    plan = plan_of(record)
    schedule = "–" if plan.pp == 1 else plan.schedule + (f" {plan.chunks}" if plan.chunks > 1 else "")
    more = [f"mb {plan.microbatch}"]
    more += [f"ep {plan.ep}"] * (plan.ep > 1) + [f"ZeRO {plan.zero}"] * (plan.zero > 0)
    more += [f"recompute {plan.recompute}"] * (plan.recompute != "none")
    return dict(
        degrees=f"{plan.dp} × {plan.tp} × {plan.pp}",
        schedule=schedule,
        more=", ".join(more),
        **{name: float(record[name]) if known else None for name in ("seconds", "mfu", "bubble")},
        memory=bytes_of(record),
        why=record["why_not"],
        shown=same(record, planned),
    )


def stages(found: PlanResult) -> list[dict[str, Any]]:
    """What the devices of each stage hold."""
    frame = found.memory
    categories = [name for name in CATEGORIES if frame[name].any()]
    return [
        dict(
            name=f"stage {j}",
            parts=[[name, float(row[name])] for name in categories],
            capacity=None if np.isinf(row["capacity"]) else float(row["capacity"]),
            lacks=max(float(row["total"] - row["capacity"]), 0.0),
        )
        for j, row in frame.iterrows()
    ]


def numbers(found: PlanResult) -> str:
    """Seconds, tokens per second, MFU, idle share of the pipeline, exposed communication."""
    parts = [
        f"{seconds(found.seconds)} per step",
        f"{si(found.tokens_per_second, 'tokens/s')}",
        f"{percent(found.mfu)} MFU",
        f"{percent(found.bubble)} idle",
        f"{percent(found.exposed / found.seconds)} exposed",
    ]
    return " · ".join(parts)


def lacking(found: PlanResult) -> str:
    """Which stage lacks most memory, and what has most of it; "" where all fit."""
    frame = found.memory
    lacks = (frame["total"] - frame["capacity"]).to_numpy()
    stage = int(lacks.argmax())
    if lacks[stage] <= 0:
        return ""
    row = frame.iloc[stage]
    most = max(CATEGORIES, key=lambda name: row[name])
    return f"stage {stage} lacks {si(float(lacks[stage]), 'B')}; most of it has {most}, {si(float(row[most]), 'B')}"
