"""Controls for the options of strategies, for transformations before placing, and for costs."""

from __future__ import annotations

import ast
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from html import escape
from typing import Annotated, Any, Literal

from placelab.app.explorer.panels.panel import Shared, button, opens
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.costs.descriptions import sources
from placelab.costs.new_costs import counts_plainly
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import Limits, Strategy, limits_of, transforms

LONG = "190px"
STEPS = 100  # of a slider
WIDE = 100  # times: steps of one size would be too coarse at the lower end of a slider that spans more


def control(name: str, annotation: Any, default: Any, value: Any) -> w.Control:
    """The widget for one option, showing `value`.

    ============================================ ===============================
    annotation                                   control
    ============================================ ===============================
    ``bool``                                     toggle
    ``Literal[...]``                             menu
    ``Annotated[float or int, Limits(lo, hi)]``  slider beside a field, of powers of
                                                 ten where it spans more than `WIDE`
    ``int``, ``float``                           field for a number
    ``str``                                      field for a text
    anything else                                field for a Python literal
    ============================================ ===============================
    """
    label = name.replace("_", " ")
    widget = _of_type(annotation, default, value)
    widget.description = label
    widget.tooltip = f"{name}: default {default!r}"
    if isinstance(widget, (w.IntText, w.FloatText)):
        widest = max(64, 7 * len(label), 30 + 9 * len(str(default)))  # as its label, and its value
        widget.width = f"{widest}px"
    widget.add_class("pl-option")
    return widget


def read(widget: w.Control) -> Any:
    """The option's value that a control shows."""
    parse = getattr(widget, "parse", None)
    return parse(widget.value) if parse else widget.value


def changed(options: Mapping[str, tuple[Any, Any]], values: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ from their defaults in value or type."""
    return {name: v for name, v in values.items() if (type(v), v) != (type(options[name][1]), options[name][1])}


def _of_type(annotation: Any, default: Any, value: Any) -> w.Control:
    kind, limits = _split(annotation)
    if kind is bool:
        return w.Checkbox(value=bool(value))
    if typing.get_origin(kind) is Literal:
        choices = [c if isinstance(c, str) else (repr(c), c) for c in typing.get_args(kind)]
        return w.Dropdown(options=choices, value=value)
    if limits is not None and kind in (int, float) and isinstance(value, (int, float)) and limits.hold(value):
        if math.isfinite(limits.least) and math.isfinite(limits.most):
            return _slider(kind, limits, value)
    if kind is int and isinstance(value, int):
        return w.IntText(value=value)
    if kind is float and isinstance(value, (int, float)):
        return w.FloatText(value=value)
    return _text(value, literal=kind is not str)


def _split(annotation: Any) -> tuple[Any, Limits | None]:
    """The type, and the limits of ``Annotated``. ``X | None`` is returned as it is and becomes a literal."""
    if typing.get_origin(annotation) is Annotated:
        kind, extra = typing.get_args(annotation)[:2]
        return kind, limits_of(extra)
    return annotation, None


def _slider(kind: type, limits: Limits, value: float) -> w.Control:
    """A slider between limits, with a field for what lies between its steps."""
    least = limits.least
    most = limits.most
    wide = 0 < least < most / WIDE
    if kind is int:
        least = int(least) + limits.above
        if wide:
            return w.BoundedIntText(min=least, max=int(most), value=int(value))
        return w.IntSlider(min=least, max=int(most), value=int(value), typed=True, width=LONG)
    ends = (math.log10(least), math.log10(most)) if wide else (least, most)
    made = w.FloatLogSlider if wide else w.FloatSlider
    step = (ends[1] - ends[0]) / STEPS
    return made(min=ends[0], max=ends[1], step=step, above=limits.above, value=value, typed=True, width=LONG)


def _text(value: Any, literal: bool) -> w.Control:
    field = w.Text(value=repr(value) if literal else str(value), width="130px")
    field.parse = _literal if literal else str
    return field


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


class Controls:
    """A row of controls for one strategy's options, rebuilt when another strategy is chosen.

    Parameters
    ----------
    on_change
        Called with the options that differ from their defaults, and the name of the one that changed.
    """

    def __init__(self, on_change: Callable[[dict[str, Any], str], None]) -> None:
        self.box = w.HBox().add_class("pl-options")
        self._on_change = on_change
        self._options: Mapping[str, tuple[Any, Any]] = {}
        self._widgets: dict[str, w.Control] = {}

    def show(self, strategy: Strategy, values: Mapping[str, Any]) -> None:
        """Show the options of `strategy`: `values`, else the defaults. Widgets are kept if the options are the same."""
        if strategy.options != self._options:
            self._options = strategy.options
            self._widgets = {name: self._control(name, values) for name in self._options}
            self.box.children = list(self._widgets.values())
        elif changed(self._options, self._values()) != dict(values):
            self._restore(values)

    def _control(self, name: str, values: Mapping[str, Any]) -> w.Control:
        annotation, default = self._options[name]
        widget = control(name, annotation, default, values.get(name, default))
        widget.on_choice(lambda _: self._on_change(changed(self._options, self._values()), name))
        return widget

    def _restore(self, values: Mapping[str, Any]) -> None:
        for name, widget in self._widgets.items():
            value = values.get(name, self._options[name][1])
            parse = getattr(widget, "parse", None)
            widget.put(value if parse is None else str(value) if parse is str else repr(value))

    def _values(self) -> dict[str, Any]:
        return {name: read(widget) for name, widget in self._widgets.items()}


PREPARE_TIP = "Make the graph smaller before it is placed; the placement of the smaller one is that of the whole."
PREPARE_HINT = "Applied in the order pressed. The partitioner places the ops that are left; all others follow those."


class PreparePicker:
    """The button that lists the transformations, the panel it opens, and how many ops are left.

    Attributes
    ----------
    toggles, controls
        By transformation: the button that applies it, and the controls of its options.
    """

    def __init__(self, shared: Shared) -> None:
        self._change = shared.change
        self._chosen: tuple[str, ...] = ()
        self.toggles: dict[str, w.ToggleButton] = {}
        self.controls: dict[str, Controls] = {}
        self.toggle = w.ToggleButton(tooltip=PREPARE_TIP)
        self.about = w.HTML().add_class("pl-about")
        self.panel = w.HBox().add_class("pl-row").add_class("pl-open")
        self.box = w.VBox([self.toggle, self.about]).add_class("pl-prepare")
        opens(self.toggle, self.panel)

    def show(self, state: State) -> None:
        """Show the transformations of `state`, without calling `change`."""
        if list(self.toggles) != list(transforms()):
            self._rebuild()
        self._chosen = state.prepare
        for name, toggle in self.toggles.items():
            self._show_step(name, toggle, dict(state.preparation))
        self.toggle.description = "Prepare: " + " → ".join(state.prepare) if state.prepare else "Prepare…"
        if not state.prepare:
            self.about.value = ""

    def show_count(self, before: int, after: int) -> None:
        """Show how many ops there are and how many were placed."""
        self.about.value = f"<div>{before:,} → {after:,} ops</div>" if self._chosen else ""

    def _show_step(self, name: str, toggle: w.ToggleButton, chosen: Mapping[str, Mapping[str, Any]]) -> None:
        toggle.put(name in chosen)
        toggle.description = f"{self._chosen.index(name) + 1} · {name}" if toggle.value else name
        controls = self.controls[name]
        controls.show(transforms()[name], chosen.get(name, {}))
        controls.box.hidden = not toggle.value

    def _rebuild(self) -> None:
        self.toggles = {
            name: w.ToggleButton(description=name, tooltip=f"{function.summary} {function.source}".strip())
            for name, function in transforms().items()
        }
        for name, toggle in self.toggles.items():
            toggle.on_choice(partial(self._pressed, name))
        self.controls = {name: Controls(partial(self._moved, name)) for name in self.toggles}
        steps = [w.HBox([self.toggles[name], self.controls[name].box]) for name in self.toggles]
        hint = w.HTML(escape(PREPARE_HINT)).add_class("pl-about")
        self.panel.children = [*(step.add_class("pl-choice") for step in steps), hint]

    def _pressed(self, name: str, chosen: bool) -> None:
        others = tuple(other for other in self._chosen if other != name)
        self._change(lambda s: replace(s, prepare=(*others, name) if chosen else others))

    def _moved(self, name: str, values: dict[str, Any], option: str) -> None:
        self._change(lambda s: s.with_option_values("transform", name, values), f"transform {name} {option}")


COSTS = {"of the model": "model", "Mayer 2017": "mayer", "1 ms per unit": "seconds"}
COSTS_TIP = (
    "Operations and bytes as the model has them; or 1 to 100 as in Mayer 2017 §5.1, for its cluster mayer50; or plain numbers as "
    "milliseconds, for clusters in SI units."
)
SOURCES_TIP = "Where costs come from, and factors that make them larger or smaller"
USED = "Applies to the devices shown"
FACTORS = {
    "compute": ("Compute ×", "All operations and seconds, times this"),
    "transfer": ("Bytes ×", "The bytes of all tensors, times this"),
}


class CostsPicker:
    """The menu, the button that opens the panel, and the panel.

    Attributes
    ----------
    sliders, reset
        The factors by name, ``"compute"`` and ``"transfer"``, and the button that sets both to 1.
    sources
        The table of the sources.
    """

    def __init__(self, shared: Shared) -> None:
        self._change = shared.change
        self._graph: OpGraph | None = None  # before it is scaled
        self._used: set[str] = set()  # columns of times that apply to the devices shown
        self._tabled: tuple = ()  # graph and columns that the table was made for
        self.menu = w.Dropdown(options=list(COSTS), description="Costs", tooltip=COSTS_TIP)
        self.toggle = w.ToggleButton(tooltip=SOURCES_TIP)
        self.sliders = {
            name: w.FloatLogSlider(value=1.0, min=-1, max=1, step=0.05, description=label, tooltip=tip, width="320px")
            for name, (label, tip) in FACTORS.items()
        }
        once = lambda: self._change(lambda state: replace(state, compute=1.0, transfer=1.0))  # noqa: E731
        self.reset = button("× 1", "Both factors 1 again", once)
        self.sources = w.Table().add_class("pl-sources")
        sliders = w.HBox([*self.sliders.values(), self.reset]).add_class("pl-factors")
        self.panel = w.VBox([sliders, self.sources]).add_class("pl-open").add_class("pl-costs")
        self.menu.on_choice(lambda label: self._change(lambda state: replace(state, costs=COSTS[label])))
        for name, slider in self.sliders.items():
            slider.on_choice(partial(self._scale, name))
        opens(self.toggle, self.panel)
        self.toggle.observe(lambda _: self._fill_table(), "value")

    def show(self, state: State) -> None:
        """Show the costs of `state`, without calling `change`."""
        offered = [label for label, kind in COSTS.items() if kind != "seconds" or counts_plainly(state.model.graph)]
        self.menu.offer(offered, next(label for label, costs in COSTS.items() if costs == state.costs))
        factors = {name: getattr(state, name) for name in FACTORS}
        for name, factor in factors.items():
            if _rounded(self.sliders[name].value) != factor:
                self.sliders[name].put(factor)
        changed = any(factor != 1 for factor in factors.values())
        self.toggle.description = " · ".join(f"× {factor:g}" for factor in factors.values()) if changed else "Details…"
        text = ", ".join(f"{FACTORS[name][0].lower()} {factor:g}" for name, factor in factors.items())
        self.toggle.tooltip = f"{text}. {SOURCES_TIP}" if changed else SOURCES_TIP
        self._graph = state.model.with_costs(state.costs)
        self._used = {f"time on {column}" for column in _columns(self._graph, state.cluster)}
        self._fill_table()

    def _fill_table(self) -> None:
        """Write the table if it is visible and outdated."""
        wanted = (self._graph, self._used)
        if self.toggle.value and self._graph is not None and wanted != self._tabled:
            self._tabled = wanted
            self.sources.rows = [_source(label, text, label in self._used) for label, text in sources(self._graph)]

    def _scale(self, name: str, factor: float) -> None:
        changes: Any = {name: _rounded(factor)}
        self._change(lambda state: replace(state, **changes), f"scale {name}")


def _rounded(factor: float) -> float:
    """Three digits; the position of a slider has sixteen."""
    return float(f"{factor:.3g}")


def _columns(graph: OpGraph, cluster: Cluster) -> list[str]:
    """Columns of the graph's times that hold for a device of the cluster."""
    columns = {graph.time_column(name, kind) for name, kind in zip(cluster.names, cluster.types, strict=True)}
    return [graph.time_types[j] for j in columns if j >= 0]


def _source(label: str, text: str, used: bool) -> dict[str, Any]:
    """A row of the table of sources; that of a column in use is marked."""
    return {"cells": [f"✓ {label}", text], "title": USED, "tone": "pl-used"} if used else {"cells": [label, text]}
