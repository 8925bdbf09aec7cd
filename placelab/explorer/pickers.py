"""Which controls stand above the canvas? Plain ipywidgets; each tells the explorer what state it wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as w

from placelab.clusters import PRESETS
from placelab.explorer.failure import sentence
from placelab.explorer.options import Controls
from placelab.explorer.prepare import PreparePicker
from placelab.explorer.state import GIVEN, Change, Model, Preset, State, model_names, model_of, preset
from placelab.formats import placelab_json
from placelab.problem import MEMORY_MODELS
from placelab.strategies import partitioners, schedulers

Go = Callable[[Change, str], None]  # a change, and the key under which quick repetitions are one step

TRANSFERS = {
    "parallel": ("parallel", False),
    "sequential": ("sequential", False),
    "sequential, duplex": ("sequential", True),
    "channel": ("channel", False),
}
TRANSFERS_TIP = (
    "How transfers share the links. parallel: no contention; sequential: one at a time per device, or one in and one out "
    "(duplex); channel: one at a time per pair of devices."
)
MEMORY_TIP = (
    "What counts against a device's memory. none: unlimited; edges: tensors on their way in; reserved: what each op "
    "reserves for the whole run; dynamic: parameters always, outputs while they are needed."
)
COSTS = {"of the model": "model", "Mayer 2017": "mayer"}
COSTS_TIP = "Operations and bytes as the model has them, or 1 to 100 as in Mayer 2017 §5.1, for its cluster mayer50."
SEED_TIP = "For strategies with a random part, and for ties."


class Pickers:
    """The row of menus for the problem, and the row for the two strategies with their options.

    Parameters
    ----------
    go
        Takes each change a user asks for.
    say
        Takes a sentence about a file that could not be opened.
    """

    def __init__(self, go: Go, say: Callable[[str, str], None], state: State) -> None:
        self._go, self.quiet = go, False  # quiet: what the controls say has not been asked for by a user
        self._presets: dict[str, Preset] = {state.preset.title: state.preset} if state.preset.title == GIVEN else {}
        self.models = ModelPicker(lambda model: self._ask(lambda s: s.with_model(model)), say)
        self.cluster = self._menu(
            "Cluster", self._pick_cluster, "A preset to start from; picking one again undoes what a hand has changed."
        )
        self.transfers = self._menu("Transfers", self._pick_transfers, TRANSFERS_TIP, list(TRANSFERS))
        self.memory = self._menu("Memory", self._field("memory"), MEMORY_TIP, MEMORY_MODELS)
        self.costs = self._menu("Costs", lambda label: self._field("costs")(COSTS[label]), COSTS_TIP, list(COSTS))
        self.seed = w.BoundedIntText(
            0, min=0, max=2**31 - 1, description="Seed", tooltip=SEED_TIP, layout=w.Layout(width="86px")
        )
        self.seed.observe(lambda c: self._field("seed", "seed")(c["new"]), "value")
        self.partitioner = self._menu("Partitioner", self._field("partitioner"), "Which device each op runs on.")
        self.scheduler = self._menu("Scheduler", self._field("scheduler"), "Which op a device runs next.")
        self.prepare = PreparePicker(self._ask)
        self.options = {kind: Controls(self._pick_option(kind)) for kind in ("partitioner", "scheduler")}
        self.about = {kind: w.HTML().add_class("pl-about") for kind in self.options}

    @property
    def rows(self) -> list[w.Widget]:
        """The row of the problem, that of the strategies, and after each the panel that it opens."""
        problem = [
            self.models.menu,
            self.models.toggle,
            self.cluster,
            self.transfers,
            self.memory,
            self.costs,
        ]
        strategies = [self.prepare.box, self._strategy("partitioner"), self._strategy("scheduler"), self.seed]
        return [
            w.HBox(problem).add_class("pl-row"),
            self.models.panel,
            w.HBox(strategies).add_class("pl-row").add_class("pl-strategies"),
            self.prepare.panel,
        ]

    def show(self, state: State) -> None:
        """Let every control say what `state` says, without asking for a change."""
        self.quiet = True
        try:
            self.models.show(state.model)
            self._show_cluster(state)
            self.transfers.value = next(
                t
                for t, rules in TRANSFERS.items()
                if rules == (state.transfers, state.duplex and state.transfers == "sequential")
            )
            self.memory.value, self.seed.value = state.memory, state.seed
            self.costs.value = next(label for label, costs in COSTS.items() if costs == state.costs)
            self.prepare.show(state)
            for kind, catalogue in (("partitioner", partitioners()), ("scheduler", schedulers())):
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
        _choose(self.cluster, [*([now] if state.edited else []), *extra, *PRESETS], now)

    def _show_strategy(self, kind: str, catalogue: Any, state: State) -> None:
        name = getattr(state, kind)
        _choose(getattr(self, kind), list(catalogue), name)
        function = catalogue[name]
        self.options[kind].show(function, state.options_of(kind))
        source = f" <span>{escape(function.source)}</span>" if function.source else ""
        summary = function.summary.replace("``", "")
        told = f"{summary} {function.source}".strip()
        self.about[kind].value = f'<div title="{escape(told)}">{escape(summary)}{source}</div>'

    def _strategy(self, kind: str) -> w.Widget:
        row = w.HBox([getattr(self, kind), self.options[kind].box]).add_class("pl-choice")
        return w.VBox([row, self.about[kind]]).add_class("pl-strategy")

    def _menu(self, label: str, pick: Callable[[str], None], tip: str, choices: Any = ()) -> w.Dropdown:
        menu = w.Dropdown(options=list(choices), description=label, tooltip=tip, layout=w.Layout(width="auto"))
        menu.observe(lambda change: change["new"] is not None and pick(change["new"]), "value")
        return menu

    def _ask(self, change: Change, key: str = "") -> None:
        self._go(change, key)

    def _field(self, label: str, key: str = "") -> Callable[[Any], None]:
        return lambda value: self._ask(lambda s: replace(s, **{label: value}), key)

    def _pick_transfers(self, title: str) -> None:
        transfers, duplex = TRANSFERS[title]
        self._ask(lambda s: replace(s, transfers=transfers, duplex=duplex))

    def _pick_cluster(self, title: str) -> None:
        self._ask(
            lambda s: s if title.endswith(", edited") else s.with_preset(self._presets.get(title) or preset(title))
        )

    def _pick_option(self, kind: str) -> Callable[[dict[str, Any], str], None]:
        return lambda values, name: self._ask(lambda s: s.with_options(kind, values), f"{kind} {name}")


class ModelPicker:
    """A menu of the models there are, and a panel with a path field and an upload that adds to it."""

    def __init__(self, pick: Callable[[Model], None], say: Callable[[str, str], None]) -> None:
        self._pick, self._say = pick, say
        self._opened: dict[str, Model] = {}
        self._title = ""
        self.menu = w.Dropdown(description="Model", tooltip="The graph that is placed.", layout=w.Layout(width="auto"))
        self.toggle = w.ToggleButton(
            description="Open file…",
            tooltip="A graph of your own: placelab JSON by path or upload",
            layout=w.Layout(width="auto"),
        )
        self.path = w.Combobox(
            description="Path on the kernel's machine",
            placeholder="graph.json or graph.json.gz, then Enter",
            continuous_update=False,
            layout=w.Layout(width="340px"),
        )
        self.upload = w.FileUpload(
            description="Upload",
            tooltip="A placelab JSON file from this browser's machine",
            accept=".json,.gz",
            layout=w.Layout(width="auto"),
        )
        hint = w.HTML("From a cell: <code>pl.explore(G)</code> takes a networkx DiGraph.").add_class("pl-about")
        self.panel = w.HBox([self.path, self.upload, hint]).add_class("pl-row").add_class("pl-open")
        self._reveal()
        self.menu.observe(self._chosen, "value")
        self.toggle.observe(self._reveal, "value")
        self.path.observe(self._typed, "value")
        self.upload.observe(self._uploaded, "value")

    def show(self, model: Model) -> None:
        """Let the menu say which model is shown."""
        self._opened[model.title] = model
        self._title = model.title
        names = model_names()
        _choose(self.menu, [*names, *(t for t in self._opened if t not in names)], model.title)

    def _chosen(self, change: Any) -> None:
        title = change["new"]
        if title in self.menu.options and title != self._title:
            self._open(lambda: self._opened.get(title) or model_of(title))

    def _typed(self, change: Any) -> None:
        path = change["new"].strip()
        if path:
            self._open(lambda: model_of(path))

    def _uploaded(self, change: Any) -> None:
        for file in change["new"]:
            name = Path(file["name"]).name
            self._open(lambda name=name, file=file: Model(name, placelab_json.loads(bytes(file["content"]), name)))
        if change["new"]:
            self.upload.value = ()

    def _open(self, read: Callable[[], Model]) -> None:
        try:
            model = read()
        except Exception as error:  # whatever a file may hold, the sentence stands in place and nothing is lost
            self._say(sentence(error), "bad")
            self.menu.value = self._title
        else:
            self._pick(model)
            self.toggle.value = False

    def _reveal(self, _: Any = None) -> None:
        self.panel.layout.display = "flex" if self.toggle.value else "none"
        if self.toggle.value:
            self.path.options = sorted(str(p) for pattern in ("*.json", "*.json.gz") for p in Path().glob(pattern))[
                :200
            ]


def _choose(menu: w.Dropdown, options: list[str], value: str) -> None:
    """Other choices and a value in one step, so that the browser never sees one without the other."""
    with menu.hold_sync():
        if list(menu.options) != options:
            menu.options = options
        menu.value = value
