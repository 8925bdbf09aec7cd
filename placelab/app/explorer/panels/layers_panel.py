"""The tab with a decoder's layers as a strip over the devices: phase and sizes, borders to drag, seconds and memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import traitlets

from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.jobs import one_step
from placelab.app.explorer.offered import decoder_model
from placelab.app.explorer.panels.panel import Panel, Shared, button
from placelab.app.explorer.session import HELD
from placelab.app.explorer.spreads import SIZES, Layers, layers_of
from placelab.app.explorer.state import State, key_of_problem
from placelab.app.widgets import controls as w
from placelab.app.widgets.tab_views import LayerStrip
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import PlacelabError
from placelab.base.units import percent, seconds, si
from placelab.models import names, read
from placelab.plans.borders import TIE
from placelab.plans.launchers import (
    accelerate,
    llama_cpp,
    megatron_layout,
    torch_split_points,
    vllm_default,
    vllm_partition,
)
from placelab.plans.layer_split import LayerSplit
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem

PHASES = {"Decode": "decode", "Prefill": "prefill", "Train": "train"}
OF = {"decode": "time per token", "prefill": "time of the prompt", "train": "time of a micro-batch"}
GHOSTS = {"stage": "stage", "memory": "memory", "sum": "token"}  # objective: what it makes least
WIDTH_TIP = "What the width of a layer means"
LAUNCH_TIP = "What to type for accelerate, llama.cpp, vLLM, Megatron-LM, PyTorch"
WIDTHS = {"by bytes": "bytes", "by seconds": "seconds"}
MOST = 10_000_000
# field of Layers: label, what it means, least value
FIELDS = {
    "batch": ("batch", "Sequences at a time; in training, of a micro-batch", 1),
    "sequence": ("tokens", "New tokens of each sequence", 1),
    "context": ("context", "Tokens of each sequence in the cache before", 0),
    "microbatches": ("micro-batches", "Micro-batches of a step; the first stages keep the activations of the most", 1),
}
MOST_FREE = 90  # percent
FREE_TIP = (
    "Percent of each memory that stays free, for what is not counted: fragments, and what the runtime holds itself"
)
INVITATION = (
    "A decoder's layers, split over devices: choose one, open a config.json, or call pl.explore('path/config.json')."
)
PLANNED = "The decoder is trained under a plan: the tab Job has its degrees."
CHOOSE = "choose a decoder …"


class LayersPanel(Panel):
    """A tab.

    Attributes
    ----------
    view
        The strip.
    phase, fields, headroom, width, decoders
        The controls above it: what the devices do, its sizes, the share of memory that stays free, what the width of a cell
        means, and the bundled decoders.
    """

    title = "Layers"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.view = LayerStrip(comm=PartComm())
        self.phase = w.ToggleButtons(options=list(PHASES.items()), description="phase").add_class("pl-phase")
        self.fields = {name: self._field(name) for name in FIELDS}
        self.headroom = w.BoundedIntText(value=0, min=0, max=MOST_FREE, description="free %", tooltip=FREE_TIP)
        self.headroom.add_class("pl-short").on_choice(lambda percent: self._set("headroom", percent / 100))
        self.width = w.Dropdown(options=list(WIDTHS.items()), description="Width", tooltip=WIDTH_TIP).add_class(
            "pl-width"
        )
        self.decoders = w.Dropdown(options=[CHOOSE, *names()], description="decoder", tooltip="Bundled decoders")
        self.launch = w.ToggleButton(description="Launch", tooltip=LAUNCH_TIP).add_class("pl-launches")
        self.split = button("Split its layers", "Back from the plan of the tab Job", lambda: shared.change(one_step))
        sizes = [*self.fields.values(), self.headroom]
        controls = [self.decoders, self.split, self.phase, *sizes, self.width, self.launch]
        self.head = w.HBox(controls).add_class("pl-layers-head")
        self.box: w.Widget = w.VBox([self.head, self.view]).add_class("pl-layers-tab")
        self.phase.on_choice(partial(self._set, "phase"))
        self.width.on_choice(lambda _: self._draw())
        self.decoders.on_choice(self._choose)
        traitlets.link((self.launch, "value"), (self.view, "launching"))
        self.launch.on_choice(lambda _: self._draw())
        self.view.handles = {"border": self._move, "split": self._split}
        self.view.on_choice(self.view.obey, "asked")

    def _turned(self) -> None:
        if self.visible:
            self._draw()

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Show the split of a state: it needs no schedule."""
        self._state = state
        self._problem = problem
        self._turned()

    # ---------------------------------------------------------------- what a hand changes

    def _field(self, name: str) -> w.BoundedIntText:
        label, tip, least = FIELDS[name]
        field = w.BoundedIntText(value=least, min=least, max=MOST, description=label, tooltip=tip)
        field.on_choice(partial(self._set, name))
        return field.add_class("pl-short") if name in ("batch", "microbatches") else field

    def _set(self, name: str, value: Any) -> None:
        """Another phase or size, with the borders where they are."""
        self._change(lambda layers: replace(layers, **{name: value}), f"layers {name}")

    def _choose(self, name: str) -> None:
        if name != CHOOSE:
            self._shared.change(lambda state: state.with_model(decoder_model(layers_of(read(name)))))

    def _split(self, objective: str, drag: int) -> None:
        """Take the best split by an objective."""
        if objective in GHOSTS:
            self._change(lambda layers: replace(layers, objective=objective, borders=()))

    def _move(self, border: int, to: int, drag: int) -> None:
        """Put a border where a hand wants it."""
        state = self._state
        if state is not None:
            self._change(lambda layers: layers.moved(state.cluster, border, to), f"{HELD}layers border {border} {drag}")

    def _change(self, change: Callable[[Layers], Layers], key: str = "") -> None:
        def changed(state: State) -> State:
            return state if state.layers is None else state.with_spread(change(state.layers))

        self._shared.change(changed, key)

    # ---------------------------------------------------------------- what is shown

    def _draw(self) -> None:
        state = self._state
        layers = None if state is None else state.layers
        planned = state is not None and state.planned is not None
        self._show_controls(layers, planned)
        if state is None or layers is None:
            return self._say(PLANNED if planned else INVITATION)
        try:
            self.view.take(**self._traits(layers, state))
        except PlacelabError as error:
            self._say(sentence(error))

    def _show_controls(self, layers: Layers | None, planned: bool) -> None:
        self.decoders.put(CHOOSE)
        self.decoders.hidden = layers is not None or planned
        self.split.hidden = not planned
        for control in (self.phase, self.headroom, self.launch):
            control.hidden = layers is None
        self.width.hidden = layers is None or layers.phase == "train"  # which has no room for it
        for name, field in self.fields.items():
            field.hidden = layers is None or name not in ("batch", *SIZES[layers.phase])
            if layers is not None:
                field.put(getattr(layers, name))
        if layers is not None:
            self.phase.put(layers.phase)
            self.headroom.put(round(100 * layers.headroom))

    def _say(self, message: str) -> None:
        self.view.take(message=message, result_of="", devices=[], borders=[], rows=[], launch=[])

    def _traits(self, layers: Layers, state: State) -> dict[str, Any]:
        split = layers.split(state.cluster)
        best = layers.best(state.cluster, "stage")
        shown = rows(split, 1 - layers.headroom)
        return dict(
            result_of=key_of_problem(state, self._problem) if self._problem is not None else "",
            devices=list(split.devices),
            borders=list(split.borders),
            limits=[list(limits) for limits in layers.limits(state.cluster)],
            sizes=layers.widths(state.cluster, self.width.value),
            rows=shown,
            facts=layers.facts(state.cluster),
            best=float(best.seconds.max()),
            ghosts=ghosts(layers, state.cluster),
            launch=launch_lines(split) if self.launch.value else [],
            now="does not fit" if any(row["lacks"] for row in shown) else f"now {seconds(float(split.seconds.max()))}",
            said=said(split, best, [row["lacks"] for row in shown]),
            of=OF[layers.phase],
            message="",
        )


def ghosts(layers: Layers, cluster: Cluster) -> list[dict[str, Any]]:
    """The best split by each objective that the cluster has."""
    found = []
    for objective, label in GHOSTS.items():
        with suppress(PlacelabError):  # memories are unlimited
            best = layers.best(cluster, objective)
            value = percent(best.value) if objective == "memory" else seconds(best.value)
            if best.wanted.objective == objective:  # else nothing fits, and another objective stands in for it
                found.append(dict(objective=objective, label=label, value=value, borders=list(best.borders)))
    return found


def rows(split: LayerSplit, share: float) -> list[dict[str, Any]]:
    """A row per device: its seconds, bytes by category, capacity, and what it lacks of the share of it that may be used."""
    held = split.by_category
    lacks = np.maximum(split.memory - split.capacity * share, 0.0).tolist()
    return [
        dict(
            seconds=time,
            parts=[[name, size] for name, size in found.items() if any(other[name] for other in held)],
            capacity=None if np.isinf(capacity) else capacity,
            lacks=lack,
        )
        for time, found, capacity, lack in zip(
            split.seconds.tolist(), held, split.capacity.tolist(), lacks, strict=True
        )
    ]


def said(split: LayerSplit, best: LayerSplit, missing: list[float]) -> str:
    """The seconds of the slowest device and of all, and how far the first is from the best; or what devices lack."""
    if any(missing):
        lacking = [f"{d} lacks {si(lack, 'B')}" for d, lack in zip(split.devices, missing, strict=True) if lack]
        return f"does not fit: {', '.join(lacking)}"
    slowest = float(split.seconds.max())
    least = float(best.seconds.max())
    over = f", {percent(slowest / least - 1)} over the best" if slowest > least * (1 + TIE) else ""
    return f"slowest device {seconds(slowest)}{over} · one after the other {seconds(float(split.seconds.sum()))}"


class Launcher(NamedTuple):
    """A launcher: its name, where its text goes, the function that writes it, and what else there is to say of a split."""

    name: str
    where: str
    write: Callable[[LayerSplit], str]
    more: Callable[[LayerSplit], str] = lambda split: ""


def _vllms_own(split: LayerSplit) -> str:
    ranks = len(split.stages)
    if ranks > split.model.layers:
        return ""
    return f"its default would be {','.join(map(str, vllm_default(split.model.layers, ranks)))}"


LAUNCHERS = (
    Launcher("Megatron-LM", "--pipeline-model-parallel-layout", megatron_layout),
    Launcher("vLLM", "environment", vllm_partition, _vllms_own),
    Launcher("llama.cpp", "arguments", llama_cpp, lambda split: "the head counts as a layer of the last device"),
    Launcher("Accelerate", "device_map and max_memory, JSON", accelerate),
    Launcher("PyTorch", "split points of a pipeline", torch_split_points, lambda split: "each begins a stage"),
)


def launch_lines(split: LayerSplit) -> list[dict[str, str]]:
    """Of each launcher ``name``, ``where``, ``text``, and ``why`` there is none, "" where there is one."""
    return [_line(launcher, split) for launcher in LAUNCHERS]


def _line(launcher: Launcher, split: LayerSplit) -> dict[str, str]:
    line = dict(name=launcher.name, where=launcher.where, text="", why="")
    try:
        text = launcher.write(split)
    except PlacelabError as error:
        return line | dict(why=str(error))
    more = launcher.more(split)
    return line | dict(text=text, where=f"{launcher.where} · {more}" if more else launcher.where)
