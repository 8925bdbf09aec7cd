"""Colours that everybody can tell apart, ink for light and dark pages, and units, for all figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from placelab.base.interrupts import need
from placelab.base.units import PLAIN, SI, Units
from placelab.pictures.kind_colours import PALETTE as PALETTE

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure

CRITICAL = "#c4161c"
TOOLS = "pan,wheel_zoom,box_zoom,reset,save"
MANY = 3000  # glyphs from which WebGL draws them
INK = {False: "#111111", True: "#f2f2f2", None: "#767676"}  # text on a light, a dark, an unknown page (4 : 1 on both)


def new_plot(*, glyphs: int = 0, **options: Any) -> figure:
    """A figure that a hand moves and enlarges, drawn by WebGL if it has very many glyphs; `options` are those of Bokeh."""
    need("bokeh.plotting")
    from bokeh.plotting import figure

    return figure(**{"tools": TOOLS, "output_backend": "webgl" if glyphs > MANY else "canvas", **options})


def hover(plot: figure, drawn: list[Any], lines: list[tuple[str, str]], *, listed: bool = True) -> None:
    """Show lines while the pointer is on what is drawn; `listed`: the toolbar has a button that ends this."""
    need("bokeh.models")
    from bokeh.models import HoverTool

    plot.add_tools(HoverTool(renderers=drawn, tooltips=lines, visible=listed))


def quad(plot: figure, columns: dict[str, Any], **style: Any) -> Any:
    """Draw bars from columns of their corners and of the values shown on hover."""
    need("bokeh.models")
    from bokeh.models import ColumnDataSource

    return plot.quad("left", "right", "top", "bottom", source=ColumnDataSource(columns), **style)


def units_of(frame: pd.DataFrame) -> Units:
    """How the quantities of a table are written: as its ``attrs["si"]`` says, which those who made it set; else in SI units."""
    return SI if frame.attrs.get("si", True) else PLAIN


def time_unit(value: float, written: Units = SI) -> tuple[str, float]:
    """The unit in which a time has one to three digits before the point, and its size [s]; none for plain numbers."""
    if not written.si:
        return "", 1.0
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return unit, size
    return "ns", 1e-9


def long_time_unit(value: float) -> tuple[str, float]:
    """As :func:`time_unit`, with minutes, hours and days for what takes two of them and more.

    >>> long_time_unit(100.0), long_time_unit(7200.0)
    (('s', 1.0), ('h', 3600.0))
    """
    units = (("d", 86400.0), ("h", 3600.0), ("min", 60.0))
    return next((unit for unit in units if value >= 2 * unit[1]), time_unit(value))


def byte_unit(value: float, written: Units = SI) -> tuple[str, float]:
    """The unit in which a number of bytes has one to three digits before the point, and its size; none for plain numbers."""
    if not written.si:
        return "", 1.0
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return unit, size
    return "B", 1.0


def axis(label: str, unit: str) -> str:
    """The label of an axis with its unit, if there is one.

    >>> axis("time", "ms"), axis("time", "")
    ('time [ms]', 'time')
    """
    return f"{label} [{unit}]" if unit else label


def move_legend(plot: figure, least: int = 1, mute: bool = False) -> None:
    """Put the legend right of the plot, where it covers nothing; hide it if it has fewer entries; `mute`: a click dims a line."""
    for legend in list(plot.legend):
        if len(legend.items) < least:
            legend.visible = False
            continue
        plot.add_layout(legend, "right")
        legend.click_policy = "mute" if mute else "none"


def dress(plot: figure, dark: bool | None) -> None:
    """Set colours that suit the page, and keep the page's background."""
    need("bokeh.models.annotations")
    from bokeh.models.annotations import Title

    ink = INK[dark]
    plot.background_fill_color = plot.border_fill_color = None
    plot.outline_line_color = None
    assert isinstance(plot.title, Title)  # Bokeh makes one out of any text
    plot.title.text_color = ink
    plot.axis.axis_label_text_color = plot.axis.major_label_text_color = ink
    if plot.axis[0].axis_line_color:
        plot.axis.axis_line_color = plot.axis.major_tick_line_color = plot.axis.minor_tick_line_color = ink
    else:
        plot.axis.minor_tick_line_color = None
    plot.grid.grid_line_color = ink
    plot.grid.grid_line_alpha = 0.12
    for legend in plot.legend:
        legend.label_text_color = ink
        legend.background_fill_color = None
        legend.border_line_color = None
