"""The controls in the top bar: model, files, examples, cluster, strategies, each asking for a change of the state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from os.path import isfile  # of Path, it would raise where a folder may not be read
from pathlib import Path
from typing import Any, NamedTuple

from placelab.analysis.comparing import fitting_schedulers
from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.engine.solving import function_of
from placelab.app.explorer.offered import (
    BEST_KNOWN,
    BY_HAND,
    CLUSTER,
    GIVEN,
    Model,
    Preset,
    decoder_model,
    model_names,
    model_of,
    preset,
)
from placelab.app.explorer.panels.options import Controls, CostsPicker, PreparePicker
from placelab.app.explorer.panels.panel import Popover, Shared, button
from placelab.app.explorer.spreads import layers_of, pipelined
from placelab.app.explorer.state import Change, State
from placelab.app.widgets import controls as w
from placelab.app.widgets.frame import Files
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import escaped
from placelab.base.files import json_of
from placelab.base.interrupts import lacking
from placelab.base.leaving import Abandoned, run_abandonable
from placelab.base.threads import Background, Worker
from placelab.base.units import si
from placelab.costs import Profile
from placelab.formats.catalogue import GRAPH, PROFILE, readers
from placelab.graphs.loading import SAVED_MODEL, opened, suffixes
from placelab.models import read, transformer
from placelab.problem.clusters import PRESETS
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS, summary
from placelab.schedule.catalogue import partitioners, schedulers

DECODER = "llama-3.2-1b"  # the smallest Llama: each of four cards of 11 GB holds a stage


class Example(NamedTuple):
    """What stands on its button, what it is, its source in two words, and what reads it."""

    name: str
    title: str
    says: str
    tag: str
    read: Callable[[], Change]


def dataset(name: str) -> Change:
    """Read a dataset and return the change that shows it."""
    model = model_of(name)
    return lambda state: state.with_model(model)


def pipeline() -> Change:
    """A training step of a Llama as a pipeline, a stage on each of four devices."""
    model = model_of(DECODER)
    assert model.layers is not None
    transformer = model.layers.model
    source = model.layers.source

    def change(state: State) -> State:
        changed = state.with_model(model).with_preset(preset(CLUSTER))
        return changed.with_spread(pipelined(transformer, source, changed.cluster))

    return change


EXAMPLES = (
    Example(
        "topcuoglu",
        "Ten tasks, HEFT",
        "10 ops on 3 processors; check every number",
        "textbook",
        partial(dataset, "topcuoglu"),
    ),
    Example("pipeline", "Llama pipeline", "4 stages × 8 micro-batches; where is the bubble?", "1F1B", pipeline),
    Example(
        "inception_v3",
        "Inception v3",
        "5,230 ops on 4 GPUs; a training step",
        "real graph",
        partial(dataset, "inception_v3"),
    ),
)


OWN_PLANS = (BY_HAND, BEST_KNOWN)  # stand in the menu of partitioners while they are shown
PATIENCE = 0.5  # seconds that `read` waits, so that small files are shown at once


class Reading:
    """A file or model that is to be read: its title, and what reads it."""

    def __init__(self, title: str, read: Callable[[], Change]) -> None:
        self.title = title
        self.read = read
        self.dropped = False  # something else is wanted


class Opening(Background):
    """The line that names the file being read, and the thread that reads one file after another.

    Parameters
    ----------
    take
        Called with the change that shows what was read.
    fail
        Called with a sentence when a file cannot be read, with "" when reading was cancelled.

    Attributes
    ----------
    box
        The line; `text` is the widget in it.
    """

    def __init__(self, take: Callable[[Change], None], fail: Callable[[str], None]) -> None:
        self._take = take
        self._fail = fail
        self._jobs: deque[Reading] = deque()  # the first is being read
        self._stopped = False
        self._worker = Worker(self._run, "reading")
        self.text = w.HTML()
        self._cancel = button("Cancel", "Stop reading; nothing changes", self.stop)
        self.box = w.HBox([self.text, self._cancel]).add_class("pl-opening")
        self.say("")

    def read(self, title: str, read: Callable[[], Change], instead: bool = False) -> None:
        """Have `read` called in the thread, and take what it returns; `instead` of all that was asked for before."""
        if instead:
            self.drop()
        self._jobs.append(Reading(title, read))
        self._worker.wake()
        self._worker.settled(PATIENCE)

    def drop(self) -> None:
        """Leave what is being read and what waits, without a word: a newer choice counts."""
        for job in list(self._jobs):
            job.dropped = True

    def say(self, text: str) -> None:
        """Show what is going on; "" hides the line."""
        self.text.value = f'<span role="status">{escape(escaped(text))}</span>' if text else ""
        self.box.hidden = not text
        self._cancel.hidden = not (self._jobs or text.startswith("Reading"))

    def stop(self) -> None:
        """Cancel all reading."""
        self.drop()
        self._stopped = True

    def close(self) -> None:
        """End the thread."""
        self.stop()
        super().close()

    def _run(self) -> None:
        while self._jobs:
            try:
                if not self._jobs[0].dropped:
                    self._read(self._jobs[0])
            finally:
                self._jobs.popleft()
                self.say("")

    def _read(self, job: Reading) -> None:
        self._stopped = False
        self.say(f"Reading {job.title} …")
        try:
            content = run_abandonable(job.read, lambda: job.dropped)
            if not job.dropped:
                self._take(content)
        except Abandoned:
            pass
        except Exception as error:  # a file may hold anything; it must not end the thread
            if not job.dropped:
                self._fail(sentence(error))
        if self._stopped:
            self._fail("")


OFFERED = 200  # names that the path field completes
HINT = (
    f"{', '.join(row.title for row in readers(GRAPH))}; files can be dropped anywhere here. A profile of a run "
    f"({', '.join(row.title for row in readers(PROFILE))}) gives the model that is shown its times. From a cell, "
    "<code>pl.explore(G)</code> takes a networkx DiGraph or a <code>torch.export</code> program."
)


PATH = "Path on the kernel's machine"
OPEN_TIP = "A model of your own, by path or upload; files can be dropped anywhere on the explorer"


class ModelPicker:
    """The menu, the button that opens the panel, the panel with a path field and an upload, and the line of the file being read.

    Attributes
    ----------
    examples
        A button for each of :data:`~placelab.app.explorer.panels.pickers.EXAMPLES`.
    """

    def __init__(self, shared: Shared) -> None:
        self._change = shared.change
        self._say = shared.say
        self._opened: dict[str, Model] = {}
        self._title = ""
        self._failed_path = ""  # the path that could not be read
        self.opening = Opening(self._take, self._failed)
        self.menu = w.Dropdown(description="Model", tooltip="The graph that is placed.")
        self.path = w.Combobox(description=PATH, placeholder="model.onnx, graph.pb …, then Enter", width="480px")
        accepted = [*(s for s in suffixes() if not s.endswith(".gz")), ".gz"]
        self.upload = Files(accept=",".join(accepted), comm=PartComm())
        self.upload.on_piece = self._arriving
        self.upload.on_file = self._uploaded
        self.upload.on_refused = self._refused
        self.upload.on_stopped = self._stopped
        hint = w.HTML(HINT).add_class("pl-about")
        zone = w.HBox([w.HTML("<b>Drop a model here</b> or"), self.upload]).add_class("pl-zone")
        self.examples = [button(e.title, e.says, partial(self.opening.read, e.title, e.read, True)) for e in EXAMPLES]
        begin = w.HBox([w.HTML("or begin with"), *self.examples]).add_class("pl-examples")
        opened = Popover("Open…", OPEN_TIP, zone, self.path, begin, hint, first=self._list_files)
        self.toggle = opened.toggle
        self.panel = opened.panel
        self.box = opened.box.add_class("pl-open")
        self.menu.on_choice(self._chosen)
        self.path.observe(lambda change: self._typed(change["new"]), "value")
        self.path.handles = {"submit": self._entered}

    def show(self, model: Model) -> None:
        """Show which model is chosen, without calling `pick`."""
        self._opened[model.title] = model
        self._title = model.title
        names = model_names()
        self.menu.offer([*names, *(t for t in self._opened if t not in names)], model.title)

    def ask(self) -> None:
        """Open the panel for a file."""
        self.toggle.value = True

    def close(self) -> None:
        """End the thread."""
        self.opening.close()

    def _chosen(self, title: str) -> None:
        if title == self._title:  # while another one was being read
            return self.opening.drop()
        self.opening.read(title, lambda: shows(self._opened.get(title) or model_of(title)), instead=True)

    def _typed(self, path: str) -> None:
        path = path.strip()
        self._failed_path = ""
        if path:
            self._say("", "")
            self.opening.read(path, lambda: shows(model_of(path)), instead=True)

    def _entered(self) -> None:
        """Read the same path again on Enter if it could not be read: the file may have changed."""
        if self.path.value == self._failed_path:
            self._typed(self._failed_path)

    def _arriving(self, name: str, have: int, size: int) -> None:
        if have < size:
            self.opening.say(f"Uploading {name}: {si(have, 'B')} of {si(size, 'B')}")

    def _uploaded(self, name: str, data: bytes) -> None:
        shown = self._opened[self._title].graph
        name = escaped(name)

        def read() -> Change:
            if decoder := decoder_of(data, name):
                return shows(decoder)
            content = opened(data, name, shown)
            if isinstance(content, Profile):
                return lambda state: state.with_profile(name, content)
            return shows(Model(name, content))

        self.opening.read(f"{name}, {si(len(data), 'B')}", read)

    def _refused(self, name: str, reason: str) -> None:
        if reason == "large":
            limit = si(self.upload.limit, "B")
            return self._failed(
                f"{name} has more than the {limit} that are uploaded; give its path on the kernel's machine"
            )
        self._failed(f"{name} did not arrive: {reason}")

    def _stopped(self, name: str, have: int, size: int) -> None:
        self._failed(
            f"The upload of {name} has stopped at {si(have, 'B')} of {si(size, 'B')}: drop the file once more."
        )

    def _take(self, change: Change) -> None:
        self._change(change)
        self.toggle.value = False

    def _failed(self, reason: str) -> None:
        self.opening.say("")
        self._failed_path = self.path.value
        self._say(reason, "bad")
        self.menu.put(self._title)

    def _list_files(self) -> None:
        """Offer what lies here, before the field is seen: new options clear what is typed in it."""
        self.path.options = openable_files(Path())


def shows(model: Model) -> Change:
    """The change that shows a model."""
    return lambda state: state.with_model(model)


def decoder_of(data: bytes, name: str) -> Model | None:
    """The decoder of which a file is the ``config.json``; None for another file."""
    if not name.lower().endswith(".json") or len(data) > transformer.MOST_BYTES:
        return None
    document = json_of(data, name, "a graph")
    return (
        decoder_model(layers_of(read(document), f"pl.models.read({document!r})"))
        if transformer.matches(document)
        else None
    )


def openable_files(folder: Path) -> list[str]:
    """Paths in a folder that can be opened, by suffix or as a SavedModel, sorted; the first `OFFERED`."""
    known = tuple(suffixes())
    try:
        found = list(folder.iterdir())
    except OSError:  # it is gone, or may not be listed
        return []
    models = [path for path in found if path.name.lower().endswith(known) or isfile(path / SAVED_MODEL)]
    return sorted(map(str, models))[:OFFERED]


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
    """The menus for the problem and the two strategies; what is set seldom is in panels that open over the page."""

    def __init__(self, shared: Shared, state: State) -> None:
        self._ask = shared.change
        self._presets: dict[str, Preset] = {state.preset.title: state.preset} if state.preset.title == GIVEN else {}
        self.models = ModelPicker(shared)
        self.cluster = self._menu(
            "Cluster", self._pick_cluster, "A preset to start from; picking it again undoes all edits."
        )
        self.transfers = self._menu("Transfers", self._pick_transfers, TRANSFERS_TIP, list(TRANSFERS))
        self.latency = self._menu("Latency", self._field("latency"), LATENCY_TIP, list(LATENCIES))
        self.memory = self._menu("Memory", self._field("memory"), MEMORY_TIP, list(MEMORY_MODELS))
        self.costs = CostsPicker(shared)
        self.seed = w.BoundedIntText(value=0, min=0, max=2**31 - 1, description="Seed", tooltip=SEED_TIP, width="86px")
        self.seed.on_choice(self._field("seed", "seed"))
        self.partitioner = self._menu("Partitioner", self._pick("partitioner"), "Which device each op runs on.")
        self.scheduler = self._menu("Scheduler", self._pick("scheduler"), "Which op a device runs next.")
        self.prepare = PreparePicker(shared)
        self.options = {kind: Controls(self._pick_option(kind)) for kind in ("partitioner", "scheduler")}
        self.about = {kind: w.HTML().add_class("pl-about") for kind in self.options}
        self.settings = {
            kind: Popover("⚙", f"What this {kind} does, and its options", self.about[kind], self.options[kind].box)
            for kind in self.options
        }
        self.more = Popover("⋯", "Prepare the graph, costs, seed", *self._seldom(), self.costs.panel)

    @property
    def bar(self) -> list[w.Widget]:
        """The menus, from left to right, in groups."""
        problem = [self.models.menu, self.models.box, w.HTML("on").add_class("pl-word"), self.cluster]
        strategies = [
            *(self.partitioner, self.settings["partitioner"].box, w.HTML("+").add_class("pl-word")),
            *(self.scheduler, self.settings["scheduler"].box),
        ]
        rules = [self.transfers, self.latency, self.memory, self.more.box]
        return [w.HBox(group).add_class("pl-group") for group in (problem, strategies, rules)]

    @property
    def missing(self) -> dict[str, str]:
        """Which strategies lack a package, and what to install."""
        lacks = {name: lacking(*function.packages) for name, function in partitioners().items()}
        return {name: f"{name} needs {what}" for name, what in lacks.items() if what}

    def _seldom(self) -> list[w.Widget]:
        """What is set seldom: a row of buttons and menus, and the transformations before placing."""
        row = w.HBox([self.costs.menu, self.costs.toggle, self.seed, self.prepare.box])
        return [row.add_class("pl-row"), self.prepare.panel]

    def show(self, state: State) -> None:
        """Show `state` in every control, without calling `change`."""
        self.models.show(state.model)
        self._show_cluster(state)
        rules = state.transfers, state.duplex and TRANSFER_MODELS[state.transfers].duplex
        self.transfers.put(next(title for title, those in TRANSFERS.items() if those == rules))
        self.latency.put(state.latency)
        self.memory.put(state.memory)
        self.seed.put(state.seed)
        self.latency.hidden = not TRANSFER_MODELS[state.transfers].queue
        self.costs.show(state)
        self.prepare.show(state)
        fitting = {*fitting_schedulers(state.graph), state.scheduler}
        run = {name: function for name, function in schedulers().items() if name in fitting}
        self.partitioner.missing = self.missing
        own = {state.placer: function_of(state)} if state.own_plan else {}
        self._show_strategy("partitioner", {**own, **partitioners()}, state.placer, state)
        self._show_strategy("scheduler", run, state.scheduler, state)

    def _show_cluster(self, state: State) -> None:
        own = [state.model.cluster] if state.model.cluster else []
        self._presets = {
            **{p.title: p for p in [*own, state.preset]},
            **{t: p for t, p in self._presets.items() if t == GIVEN},
        }
        now = f"{state.preset.title}, edited" if state.edited else state.preset.title
        extra = [title for title in self._presets if title not in PRESETS]
        self.cluster.offer([*([now] if state.edited else []), *extra, *PRESETS], now)

    def _show_strategy(self, kind: str, catalogue: Any, name: str, state: State) -> None:
        getattr(self, kind).offer(catalogue, name)
        function = catalogue[name]
        self.options[kind].show(function, state.options_of(kind))
        source = f" <span>{escape(function.source)}</span>" if function.source else ""
        summary = function.summary.replace("``", "")
        self.about[kind].value = f"<div><b>{escape(name)}</b> {escape(summary)}{source}</div>"

    def _menu(self, label: str, pick: Callable[[str], None], tip: str, choices: Any = ()) -> w.Dropdown:
        menu = w.Dropdown(options=list(choices), description=label, tooltip=f"{label}. {tip}")
        menu.on_choice(lambda value: None if value is None else pick(value))
        return menu

    def _field(self, label: str, key: str = "") -> Callable[[Any], None]:
        return lambda value: self._ask(lambda s: replace(s, **{label: value}), key)

    def _pick(self, kind: str) -> Callable[[str], None]:
        return lambda name: self._ask(lambda s: s if name in OWN_PLANS else s.with_strategy(kind, name))

    def _pick_transfers(self, title: str) -> None:
        transfers, duplex = TRANSFERS[title]
        self._ask(lambda s: replace(s, transfers=transfers, duplex=duplex))

    def _pick_cluster(self, title: str) -> None:
        self._ask(
            lambda s: s if title.endswith(", edited") else s.with_preset(self._presets.get(title) or preset(title))
        )

    def _pick_option(self, kind: str) -> Callable[[dict[str, Any], str], None]:
        return lambda values, name: self._ask(lambda s: s.with_options(kind, values), f"{kind} {name}")
