"""The controls in the top bar: menus for problem and strategies, each calling the explorer with a change of the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any

import ipywidgets as w

from placelab.analysis.comparing import fitting_schedulers
from placelab.app.explorer.panels.choose import choose
from placelab.app.explorer.panels.costs import CostsPicker
from placelab.app.explorer.panels.models import ModelPicker
from placelab.app.explorer.panels.options import Controls
from placelab.app.explorer.panels.popover import Popover
from placelab.app.explorer.panels.prepare import PreparePicker
from placelab.app.explorer.state import GIVEN, Change, Preset, State, preset
from placelab.problem.clusters import PRESETS
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS, summary
from placelab.schedule.catalogue import partitioners, schedulers

ChangeState = Callable[[Change, str], None]  # takes a change, and the key under which quick repetitions are one step

TRANSFERS = {
    f"{name}, duplex" if duplex else name: (name, duplex)
    for name, model in TRANSFER_MODELS.items()
    for duplex in ([False, True] if model.duplex else [False])
}
TRANSFERS_TIP = f"How transfers share the links. {summary(TRANSFER_MODELS)}."
LATENCY_TIP = f"What a latency keeps from other transfers. {summary(LATENCIES)}."
MEMORY_TIP = f"What counts against a device's memory. {summary(MEMORY_MODELS)}."
SEED_TIP = "For strategies with a random part, and for ties."


class Pickers:
    """The menus for the problem and the two strategies; what is set seldom is in panels that open over the page.

    Parameters
    ----------
    change
        Called with each change that a user makes.
    say
        Shows a sentence about a file that could not be opened.

    Attributes
    ----------
    quiet
        Whether the controls are being set by the program, so that their events are no changes by a user.
    """

    def __init__(self, change: ChangeState, say: Callable[[str, str], None], state: State) -> None:
        self._change, self.quiet = change, False
        self._presets: dict[str, Preset] = {state.preset.title: state.preset} if state.preset.title == GIVEN else {}
        self.models = ModelPicker(
            lambda model: self._ask(lambda s: s.with_model(model)),
            lambda name, profile: self._ask(lambda s: s.with_profile(name, profile)),
            say,
        )
        self.cluster = self._menu(
            "Cluster", self._pick_cluster, "A preset to start from; picking it again undoes all edits."
        )
        self.transfers = self._menu("Transfers", self._pick_transfers, TRANSFERS_TIP, list(TRANSFERS))
        self.latency = self._menu("Latency", self._field("latency"), LATENCY_TIP, list(LATENCIES))
        self.memory = self._menu("Memory", self._field("memory"), MEMORY_TIP, list(MEMORY_MODELS))
        self.costs = CostsPicker(self._ask)
        self.seed = w.BoundedIntText(
            0, min=0, max=2**31 - 1, description="Seed", tooltip=SEED_TIP, layout=w.Layout(width="86px")
        )
        self.seed.observe(lambda c: self._field("seed", "seed")(c["new"]), "value")
        self.partitioner = self._menu("Partitioner", self._pick("partitioner"), "Which device each op runs on.")
        self.scheduler = self._menu("Scheduler", self._pick("scheduler"), "Which op a device runs next.")
        self.prepare = PreparePicker(self._ask)
        self.options = {kind: Controls(self._pick_option(kind)) for kind in ("partitioner", "scheduler")}
        self.about = {kind: w.HTML().add_class("pl-about") for kind in self.options}
        self.settings = {
            kind: Popover("⚙", f"What this {kind} does, and its options", self.about[kind], self.options[kind].box)
            for kind in self.options
        }
        self.more = Popover(
            "⋯", "Open a file, prepare the graph, costs, seed", *self._seldom(), self.models.panel, self.costs.panel
        )

    @property
    def bar(self) -> list[w.Widget]:
        """The menus, from left to right, in groups."""
        problem = [self.models.menu, w.HTML("on").add_class("pl-word"), self.cluster]
        strategies = [
            *(self.partitioner, self.settings["partitioner"].box, w.HTML("+").add_class("pl-word")),
            *(self.scheduler, self.settings["scheduler"].box),
        ]
        rules = [self.transfers, self.latency, self.memory, self.more.box]
        return [w.HBox(group).add_class("pl-group") for group in (problem, strategies, rules)]

    @property
    def tips(self) -> dict[str, str]:
        """What each menu is, by its name."""
        menus = (
            self.models.menu,
            self.cluster,
            self.partitioner,
            self.scheduler,
            self.transfers,
            self.latency,
            self.memory,
        )
        return {menu.description: menu.tooltip for menu in menus}

    def _seldom(self) -> list[w.Widget]:
        """What is set seldom: a row of buttons and menus, and the transformations before placing."""
        row = w.HBox([self.models.toggle, self.costs.menu, self.costs.toggle, self.seed, self.prepare.box])
        return [row.add_class("pl-row"), self.prepare.panel]

    def show(self, state: State) -> None:
        """Show `state` in every control, without calling `change`."""
        self.quiet = True
        try:
            self.models.show(state.model)
            self._show_cluster(state)
            rules = state.transfers, state.duplex and TRANSFER_MODELS[state.transfers].duplex
            self.transfers.value = next(title for title, those in TRANSFERS.items() if those == rules)
            self.latency.value, self.memory.value, self.seed.value = state.latency, state.memory, state.seed
            self.latency.layout.display = None if TRANSFER_MODELS[state.transfers].queue else "none"
            self.costs.show(state)
            self.prepare.show(state)
            fitting = {*fitting_schedulers(state.graph), state.scheduler}
            run = {name: function for name, function in schedulers().items() if name in fitting}
            for kind, catalogue in (("partitioner", partitioners()), ("scheduler", run)):
                self._show_strategy(kind, catalogue, state)
        finally:
            self.quiet = False

    def _show_cluster(self, state: State) -> None:
        own = [state.model.cluster] if state.model.cluster else []
        self._presets = {
            **{p.title: p for p in [*own, state.preset]},
            **{t: p for t, p in self._presets.items() if t == GIVEN},
        }
        now = f"{state.preset.title}, edited" if state.edited else state.preset.title
        extra = [title for title in self._presets if title not in PRESETS]
        choose(self.cluster, [*([now] if state.edited else []), *extra, *PRESETS], now)

    def _show_strategy(self, kind: str, catalogue: Any, state: State) -> None:
        name = getattr(state, kind)
        choose(getattr(self, kind), list(catalogue), name)
        function = catalogue[name]
        self.options[kind].show(function, state.options_of(kind))
        source = f" <span>{escape(function.source)}</span>" if function.source else ""
        summary = function.summary.replace("``", "")
        self.about[kind].value = f"<div><b>{escape(name)}</b> {escape(summary)}{source}</div>"

    def _menu(self, label: str, pick: Callable[[str], None], tip: str, choices: Any = ()) -> w.Dropdown:
        menu = w.Dropdown(
            options=list(choices), description=label, tooltip=f"{label}. {tip}", layout=w.Layout(width="auto")
        )

        def chosen(change: dict[str, Any]) -> None:
            if change["new"] is not None:
                pick(change["new"])

        menu.observe(chosen, "value")
        return menu

    def _ask(self, change: Change, key: str = "") -> None:
        self._change(change, key)

    def _field(self, label: str, key: str = "") -> Callable[[Any], None]:
        return lambda value: self._ask(lambda s: replace(s, **{label: value}), key)

    def _pick(self, kind: str) -> Callable[[str], None]:
        return lambda name: self._ask(lambda s: s.with_strategy(kind, name))

    def _pick_transfers(self, title: str) -> None:
        transfers, duplex = TRANSFERS[title]
        self._ask(lambda s: replace(s, transfers=transfers, duplex=duplex))

    def _pick_cluster(self, title: str) -> None:
        self._ask(
            lambda s: s if title.endswith(", edited") else s.with_preset(self._presets.get(title) or preset(title))
        )

    def _pick_option(self, kind: str) -> Callable[[dict[str, Any], str], None]:
        return lambda values, name: self._ask(lambda s: s.with_options(kind, values), f"{kind} {name}")
