"""Controls as data that the page draws: named and used as in ipywidgets, but those of one application share one model.

The explorer is one widget for its front end. Controls and views are its parts: each has a name, and its traits
are sent as traits of the whole, called ``part.trait``; see :mod:`placelab.app.widgets.whole`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import traitlets
from ipywidgets import Widget
from traitlets import Bool, CFloat, CInt, Dict, Float, Int, List, Unicode

from placelab.app.widgets.whole import Part, PartComm, references


class Control(Part):
    """A part that the page draws from its traits alone; see ``widgets/explorer/controls.tsx``.

    Attributes
    ----------
    hidden
        Whether it takes no place.
    classes
        Classes of its style; `add_class` and `remove_class` change them.
    tooltip
        What is said under the pointer.
    width
        In CSS, as ``"190px"``; "" for what the style sheet says.
    """

    hidden = Bool(False).tag(sync=True)
    classes: List[str] = List(Unicode()).tag(sync=True)
    tooltip = Unicode("").tag(sync=True)
    width = Unicode("").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(comm=PartComm(), **traits)

    def put(self, value: Any) -> None:
        """Show a value that was set elsewhere."""
        self.take(value=value)

    @property
    def kind(self) -> str:
        """Name of the class by which the page draws it: of :data:`CONTROLS`, its own or the one it is derived from."""
        return next(made.__name__ for made in type(self).__mro__ if made.__module__ == __name__)

    def add_class(self, name: str) -> Self:
        """Add a class and return the control."""
        if name not in self.classes:
            self.classes = [*self.classes, name]
        return self

    def remove_class(self, name: str) -> Self:
        """Take a class away and return the control."""
        if name in self.classes:
            self.classes = [other for other in self.classes if other != name]
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, 'description', '')})"


# -------------------------------------------------------------------- text and buttons


class HTML(Control):
    """Text with markup, which the kernel has escaped."""

    value = Unicode("").tag(sync=True)

    def __init__(self, value: str = "", **traits: Any) -> None:
        super().__init__(value=value, **traits)


class Button(Control):
    """A button; what a click does is its command ``click``."""

    description = Unicode("").tag(sync=True)
    disabled = Bool(False).tag(sync=True)

    def click(self) -> None:
        """Do what a click does."""
        self.handles["click"]()


class ToggleButton(Control):
    """A button that stays pressed."""

    value = Bool(False).tag(sync=True)
    description = Unicode("").tag(sync=True)


class Checkbox(Control):
    """A box to tick, with its label."""

    value = Bool(False).tag(sync=True)
    description = Unicode("").tag(sync=True)


# -------------------------------------------------------------------- one of several


class Selection(Control):
    """One of several values, each under a label.

    Attributes
    ----------
    options
        Labels, or pairs of label and value; the value stays if it is among the new ones.
    value
        The one chosen; None where there are none.
    """

    description = Unicode("").tag(sync=True)
    labels: List[str] = List(Unicode()).tag(sync=True)
    index = Int(-1).tag(sync=True)
    value = traitlets.Any(None)

    def __init__(self, options: Iterable[Any] = (), value: Any = None, **traits: Any) -> None:
        self._values: list[Any] = []
        super().__init__(**traits)
        self.options = options
        if value is not None:
            self.value = value

    @property
    def options(self) -> tuple[Any, ...]:
        """The labels, or pairs of label and value where they differ."""
        pairs = zip(self.labels, self._values, strict=True)
        return tuple(label if label == value else (label, value) for label, value in pairs)

    @options.setter
    def options(self, options: Iterable[Any]) -> None:
        pairs = [option if isinstance(option, tuple) else (str(option), option) for option in options]
        before = self.value
        with self.hold_sync():
            self._values = [value for _, value in pairs]
            self.labels = [label for label, _ in pairs]
            self.value = before if before in self._values else self._values[0] if self._values else None
            self.index = self._index(self.value)

    def offer(self, options: Iterable[Any], value: Any) -> None:
        """Show choices and the one chosen, in one message, so that the page never has one without the other."""
        with self.quietly(), self.hold_sync():
            if self.options != tuple(options := list(options)):
                self.options = options
            self.value = value

    @traitlets.validate("value")
    def _known(self, proposal: Any) -> Any:
        value = proposal["value"]
        if value is not None and value not in self._values:
            raise traitlets.TraitError(f"{value!r} is none of {self.labels}")
        return value

    @traitlets.observe("value")
    def _show(self, change: Any) -> None:
        self.index = self._index(change["new"])

    @traitlets.observe("index")
    def _chosen(self, change: Any) -> None:
        if 0 <= change["new"] < len(self._values) and self._index(self.value) != change["new"]:
            self.value = self._values[change["new"]]

    def _index(self, value: Any) -> int:
        return self._values.index(value) if value in self._values else -1


class Dropdown(Selection):
    """A menu.

    Attributes
    ----------
    missing
        Labels that cannot be chosen, and why.
    """

    missing = traitlets.Dict().tag(sync=True)


class ToggleButtons(Selection):
    """A row of buttons, of which one is pressed."""


# -------------------------------------------------------------------- fields and sliders


class Text(Control):
    """A field for a text, which is sent when it is left or on Enter."""

    verbatim = ("value",)

    value = Unicode("").tag(sync=True)
    description = Unicode("").tag(sync=True)
    placeholder = Unicode("").tag(sync=True)


class Combobox(Text):
    """A field for a text that completes some; its command ``submit`` says that Enter was pressed."""

    options: List[str] = List(Unicode()).tag(sync=True)


class IntText(Control):
    """A field for a whole number."""

    value = CInt(0).tag(sync=True)
    description = Unicode("").tag(sync=True)


class BoundedIntText(IntText):
    """A field for a whole number from `min` to `max`; what lies outside becomes the nearer one."""

    min = Int(0).tag(sync=True)
    max = Int(100).tag(sync=True)

    @traitlets.validate("value")
    def _inside(self, proposal: Any) -> int:
        return max(self.min, min(proposal["value"], self.max))


class FloatText(Control):
    """A field for a number."""

    value = CFloat(0.0).tag(sync=True)
    description = Unicode("").tag(sync=True)


class IntSlider(Control):
    """A slider for a whole number; `readout`: with the number beside it, `typed`: which is a field."""

    value = CInt(0).tag(sync=True)
    min = Int(0).tag(sync=True)
    max = Int(100).tag(sync=True)
    step = Int(1).tag(sync=True)
    description = Unicode("").tag(sync=True)
    readout = Bool(True).tag(sync=True)
    typed = Bool(False).tag(sync=True)


class FloatSlider(Control):
    """A slider for a number; `readout`: with the number beside it, in three digits, `typed`: which is a field.

    With `above` the value is above `min`: the slider begins a step higher, and less can be typed.
    """

    value = CFloat(0.0).tag(sync=True)
    min = Float(0.0).tag(sync=True)
    max = Float(1.0).tag(sync=True)
    step = Float(0.01).tag(sync=True)
    description = Unicode("").tag(sync=True)
    readout = Bool(True).tag(sync=True)
    typed = Bool(False).tag(sync=True)
    above = Bool(False).tag(sync=True)


class FloatLogSlider(FloatSlider):
    """A slider for a power of ten; `min`, `max` and `step` are of its exponent."""


# -------------------------------------------------------------------- what is only shown


class Running(Control):
    """What runs, how far it is, and a button that ends it; the page counts its seconds on.

    Attributes
    ----------
    title, said
        What runs; how far it is and why it takes long.
    seconds
        That it had taken when this was sent.
    share
        Of the work, from 0 to 1; less than 0 where nobody knows.
    stop, stopping
        What the button says, and whether it was pressed: the command ``stop``.
    """

    title = Unicode("").tag(sync=True)
    said = Unicode("").tag(sync=True)
    seconds = Float(0.0).tag(sync=True)
    share = Float(-1.0).tag(sync=True)
    stop = Unicode("Stop").tag(sync=True)
    stopping = Bool(False).tag(sync=True)


class Failed(Control):
    """An error with its line and its traceback: `failure` has ``sentence``, ``place``, ``lines``, ``traceback``, ``cell``."""

    failure = Dict().tag(sync=True)


class Table(Control):
    """Texts in rows.

    Attributes
    ----------
    head
        Over the columns; empty for none.
    rows
        Each with its ``cells``, of which the first names the row, and if wanted ``key``, ``title`` and ``tone``.
    note
        A sentence in place of the rows.
    """

    head: List[str] = List(Unicode()).tag(sync=True)
    rows: List[dict] = List(Dict()).tag(sync=True)
    note = Unicode("").tag(sync=True)


class Figures(Control):
    """Numbers in a row, as the `numbers` of the chart: key, label, value, title, tone."""

    items: List[dict] = List(Dict()).tag(sync=True)


class Par(Control):
    """A line with three ticks: what is proven, the best known, what is shown; `said` has them in words."""

    bound = Float(0.0).tag(sync=True)
    best = Float(0.0).tag(sync=True)
    shown = Float(0.0).tag(sync=True)
    said = Unicode("").tag(sync=True)


class Sensitivity(Control):
    """The makespan over a value of the cluster, small, in the canvas' row of buttons and the free ground below it.

    Attributes
    ----------
    curve
        As :class:`placelab.app.explorer.engine.curve.Curve` keeps it; {} for none.
    label
        Of the value.
    unitless
        Whether times are plain numbers.
    """

    curve: Dict = Dict().tag(sync=True)
    label = Unicode("").tag(sync=True)
    unitless = Bool(False).tag(sync=True)


# -------------------------------------------------------------------- boxes


class Box(Control):
    """Some parts, as :class:`HBox`, :class:`VBox` or :class:`Stack` and the style sheet arrange them.

    Attributes
    ----------
    children
        Controls and views, from the first on.
    """

    children: List[Widget] = List(traitlets.Instance(Widget)).tag(sync=True, to_json=references)

    def __init__(self, children: Iterable[Widget] = (), **traits: Any) -> None:
        super().__init__(children=list(children), **traits)


class HBox(Box):
    """Parts beside each other."""


class VBox(Box):
    """Parts below each other."""


class Stack(Box):
    """Parts of which one is seen, number `selected_index`."""

    selected_index = Int(0).tag(sync=True)
