"""Make a control for each option in a strategy's signature."""

from __future__ import annotations

import ast
import math
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import ipywidgets as w

from placelab.schedule.catalogue import Strategy

SHORT = w.Layout(width="auto", min_width="84px")
LONG = w.Layout(width="190px")


def control(name: str, annotation: Any, default: Any, value: Any) -> w.DOMWidget:
    """The widget for one option, showing `value`.

    ====================================== =============================
    annotation                             control
    ====================================== =============================
    ``bool``                               toggle
    ``Literal[...]``                       menu
    ``Annotated[float or int, (lo, hi)]``  slider
    ``int``, ``float``                     field for a number
    ``str``                                field for a text
    anything else                          field for a Python literal
    ====================================== =============================
    """
    label = name.replace("_", " ")
    widget = _of_type(annotation, default, value)
    widget.description, widget.tooltip = label, f"{name}: default {default!r}"
    if isinstance(widget, (w.IntText, w.FloatText)):
        widest = max(64, 7 * len(label), 30 + 9 * len(str(default)))  # as its label, and its value
        widget.layout.width = f"{widest}px"
    widget.description_allow_html = False
    widget.add_class("pl-option")
    return widget


def read(widget: w.DOMWidget) -> Any:
    """The option's value that a control shows."""
    parse = getattr(widget, "parse", None)
    return parse(widget.value) if parse else widget.value


def changed(options: Mapping[str, tuple[Any, Any]], values: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ from their defaults in value or type."""
    return {name: v for name, v in values.items() if (type(v), v) != (type(options[name][1]), options[name][1])}


def _of_type(annotation: Any, default: Any, value: Any) -> w.DOMWidget:
    kind, extra = _split(annotation)
    if kind is bool:
        return w.Checkbox(value=bool(value), indent=False, layout=SHORT)
    if typing.get_origin(kind) is Literal:
        choices = [c if isinstance(c, str) else (repr(c), c) for c in typing.get_args(kind)]
        return w.Dropdown(options=choices, value=value, layout=SHORT)
    if kind in (int, float) and _is_range(extra) and isinstance(value, (int, float)) and extra[0] <= value <= extra[1]:
        return _slider(kind, extra[0], extra[1], value)
    if kind is int and isinstance(value, int):
        return w.IntText(value=value)
    if kind is float and isinstance(value, (int, float)):
        return w.FloatText(value=value)
    return _text(value, literal=kind is not str)


def _split(annotation: Any) -> tuple[Any, Any]:
    """The type, and the first metadata of ``Annotated``. ``X | None`` is returned as it is and becomes a literal."""
    if typing.get_origin(annotation) is Annotated:
        kind, extra = typing.get_args(annotation)[:2]
        return kind, extra
    return annotation, None


def _is_range(extra: Any) -> bool:
    return (
        isinstance(extra, tuple)
        and len(extra) == 2
        and all(isinstance(x, (int, float)) and math.isfinite(x) for x in extra)
    )


def _slider(kind: type, low: float, high: float, value: float) -> w.DOMWidget:
    if kind is int:
        return w.IntSlider(min=int(low), max=int(high), value=int(value), layout=LONG)
    return w.FloatSlider(min=low, max=high, step=(high - low) / 100, value=value, readout_format=".3g", layout=LONG)


def _text(value: Any, literal: bool) -> w.DOMWidget:
    field = w.Text(
        value=repr(value) if literal else str(value), continuous_update=False, layout=w.Layout(width="130px")
    )
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
        self._widgets: dict[str, w.DOMWidget] = {}
        self._quiet = False

    def show(self, strategy: Strategy, values: Mapping[str, Any]) -> None:
        """Show the options of `strategy`: `values`, else the defaults. Widgets are kept if the options are the same."""
        if strategy.options != self._options:
            self._options = strategy.options
            self._widgets = {name: self._control(name, values) for name in self._options}
            self.box.children = tuple(self._widgets.values())
        elif changed(self._options, self._values()) != dict(values):
            self._restore(values)

    def _control(self, name: str, values: Mapping[str, Any]) -> w.DOMWidget:
        annotation, default = self._options[name]
        widget = control(name, annotation, default, values.get(name, default))
        widget.observe(lambda _: self._moved(name), "value")
        return widget

    def _restore(self, values: Mapping[str, Any]) -> None:
        self._quiet = True
        try:
            for name, widget in self._widgets.items():
                value = values.get(name, self._options[name][1])
                parse = getattr(widget, "parse", None)
                widget.value = value if parse is None else str(value) if parse is str else repr(value)
        finally:
            self._quiet = False

    def _values(self) -> dict[str, Any]:
        return {name: read(widget) for name, widget in self._widgets.items()}

    def _moved(self, name: str) -> None:
        if not self._quiet:
            self._on_change(changed(self._options, self._values()), name)
