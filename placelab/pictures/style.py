"""What pictures are made of: colours that everybody can tell apart, HTML and SVG of static ones, ink and parts of figures.

A static picture, which an object shows at the end of a notebook cell, has no style sheet, identifier or script: it takes the
colours of its page by ``currentColor`` and inheritance, so that it suits light and dark pages, and one picture cannot change
another. Names come from files of strangers; they pass :func:`text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np

from placelab.base import units
from placelab.base.directions import isolated
from placelab.base.errors import count
from placelab.base.interrupts import need
from placelab.base.units import PLAIN, SI, Units
from placelab.base.units import counted as counted

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure

    from placelab.problem.graph import OpGraph


# Okabe–Ito: distinguishable with every common colour vision; the last one is for ops of rare kinds or none.
# widgets/shared/palette.ts has the same.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C")
CRITICAL = "#e0343a"  # the critical path; 4 : 1 on white and on black
ALARM = "#c4161c"  # failures, memory that lacks, capacities
TOOLS = "pan,wheel_zoom,box_zoom,reset,save"
MANY = 3000  # glyphs from which WebGL draws them
INK = {False: "#111111", True: "#f2f2f2", None: "#767676"}  # text on a light, a dark, an unknown page (4 : 1 on both)
MOST_ROWS = 32  # of a table
FONT = "font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)"
LINE = "1px solid rgba(128,128,128,.4)"
# what XML cannot hold, and marks that reverse the text after them
UNFIT = re.compile(
    "[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


def kind_numbers(graph: OpGraph) -> tuple[list[str], np.ndarray]:
    """Kinds of a graph, sorted, and the index of each op's kind; int32, shape (n_ops,)."""
    column = graph.kind.tolist()
    kinds = sorted(set(column))
    index = {kind: i for i, kind in enumerate(kinds)}
    return kinds, np.fromiter(map(index.__getitem__, column), np.int32, len(column))


def kind_colours(graph: OpGraph) -> tuple[np.ndarray, list[str]]:
    """A colour for each op, and the kinds that the colours stand for.

    The kinds with the most compute get colours of their own (ties: more ops, then name); the rest share the last one.

    Returns
    -------
    colour : ndarray of uint8, shape (n_ops,)
        Index into `PALETTE`.
    legend : list of str
        Kind of each colour, "" for a colour that is not used, ``other`` for the last one; one entry for a graph of one kind.
    """
    kinds, index = kind_numbers(graph)
    if len(kinds) <= 1:
        return np.zeros(graph.n_ops, np.uint8), [next(iter(kinds), "") or "op"]
    return colours_by_work(kinds, index, graph.compute)


def colours_by_work(labels: list[str], index: np.ndarray, compute: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """As :func:`kind_colours`, for labels of any sort; `index` is that of each op's label, shape (n_ops,)."""
    n = np.bincount(index, minlength=len(labels))
    work = np.bincount(index, weights=np.nan_to_num(compute), minlength=len(labels))
    most = len(PALETTE) - 1
    own = [i for i in np.lexsort((np.arange(len(labels)), -n, -work)) if labels[i]][:most]
    colour = np.full(len(labels), most, np.uint8)
    colour[own] = np.arange(len(own))
    legend = [labels[i] for i in own]
    return colour[index], legend + [""] * (most - len(legend)) + ["other"]


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on "#rrggbb"; `inkOn` of widgets/shared/palette.ts has the same threshold.

    >>> ink_on("#F0E442"), ink_on("#0072B2")
    ('#000', '#fff')
    """
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return "#000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 else "#fff"


def new_plot(*, glyphs: int = 0, **options: Any) -> figure:
    """A figure that a hand moves and enlarges, drawn by WebGL if it has very many glyphs; `options` are those of Bokeh."""
    need("bokeh.plotting")
    from bokeh.plotting import figure

    for side in {"width", "height"} & set(options):
        count(options[side], side)
    return figure(**{"tools": TOOLS, "output_backend": "webgl" if glyphs > MANY else "canvas", **options})


def plot_of_cells(factors: tuple[list[str], list[str]], labels: tuple[str, str], width: int) -> figure:
    """A figure of cells: `factors` and `labels` are those across, then those up."""
    need("bokeh.models")
    from bokeh.models import FactorRange

    across, up = factors
    return new_plot(
        width=width,
        height=110 + 34 * len(up),
        x_range=FactorRange(factors=across),
        y_range=FactorRange(factors=up),
        x_axis_label=labels[0],
        y_axis_label=labels[1],
        tools="save",
        toolbar_location=None,
    )


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


def text(name: Any, most: int = 60) -> str:
    """A name for HTML and SVG: escaped, its middle left out beyond `most` columns of text.

    >>> text("<b>"), text("/job:worker/task:0/device:GPU:0", 16)
    ('&lt;b&gt;', '/job:wo…ce:GPU:0')
    """
    given = str(name)
    clean = UNFIT.sub("\ufffd", given if len(given) <= 2 * most else given[:most] + given[-most:])
    return escape(isolated(middle_cut(clean, most)))


def middle_cut(given: str, most: int) -> str:
    """A text, its middle left out beyond `most` columns."""
    if columns_of(given) <= most:
        return given
    half = (most - 1) // 2
    return f"{_within(given[:most], half)}…{_within(given[: -most - 1 : -1], most - 1 - half)[::-1]}"


def columns_of(given: str) -> int:
    """Columns that a text takes where wide characters count twice."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in given)


def _within(given: str, most: int) -> str:
    """As much of a text's beginning as fits `most` columns."""
    while columns_of(given) > most:
        given = given[:-1]
    return given


def amount(value: float, unit: str, written: units.Units = units.SI) -> str:
    """A quantity as `written`; "∞" where a sum is more than a float can hold, "–" where it is unknown."""
    if np.isnan(value):
        return "–"
    return written.amount(value, unit) if np.isfinite(value) else "∞"


def percent(share: float) -> str:
    """A share in percent; "< 0.1 %" is escaped."""
    return escape(units.percent(share))


def picture(title: str, facts: Iterable[str], *parts: str) -> str:
    """A heading line, `title` in bold, then the parts; all HTML. MathJax leaves it alone: a name may hold dollars."""
    head = " · ".join(f'<span style="white-space:nowrap">{part}</span>' for part in [f"<b>{title}</b>", *facts])
    return (
        f'<div class="mathjax_ignore tex2jax_ignore" style="{FONT};max-width:960px;overflow-x:auto">'
        f"<div>{head}</div>{''.join(parts)}</div>"
    )


def aside(html: str) -> str:
    """A line in smaller, fainter letters."""
    return f'<div style="font-size:12px;opacity:.75">{html}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = (), padding: int = 8) -> str:
    """A table of HTML cells; columns `numbers` are set to the right, `padding` pixels are on both sides of each."""
    right = set(numbers)
    align = ["right" if i in right else "left" for i in range(len(head))]

    def row(tag: str, cells: Sequence[str]) -> str:
        style = f"padding:1px {padding}px;white-space:nowrap;text-align:"
        pairs = zip(align, cells, strict=True)
        return "<tr>" + "".join(f'<{tag} style="{style}{side}">{cell}</{tag}>' for side, cell in pairs) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    style = f"{FONT};border-collapse:collapse;margin:6px 0"
    return f'<table style="{style}"><thead>{row("th", head)}</thead><tbody>{body}</tbody></table>'


def bar(share: float, colour: str = "currentColor") -> str:
    """A share as a bar in a table cell, with its percentage."""
    share = float(np.clip(np.nan_to_num(share), 0, 1))
    return (
        f'<span style="display:inline-block;width:{round(60 * share)}px;height:8px;background:{colour};opacity:.8"></span> '
        f"{percent(share)}"
    )


def swatch(colour: str, height: int = 11) -> str:
    """A patch of colour for a legend."""
    return f'<span style="display:inline-block;width:11px;height:{height}px;background:{colour};vertical-align:middle"></span>'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Patches and what they mean, in a line that wraps; pairs of HTML."""
    items = "".join(f'<span style="white-space:nowrap">{mark} {label}</span>' for mark, label in entries)
    return f'<div style="display:flex;flex-wrap:wrap;gap:2px 14px;font-size:12px;margin-top:4px">{items}</div>'


def side_by_side(*parts: str) -> str:
    """Parts in a line, or below each other where the page is narrow."""
    return f'<div style="display:flex;flex-wrap:wrap;gap:0 28px;align-items:flex-start">{"".join(parts)}</div>'


def svg(size: tuple[int, int], label: str, *parts: str) -> str:
    """An inline SVG image of (width, height) pixels in the colour of the text around it; `label` is escaped already."""
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" fill="currentColor" font-size="12" style="display:block;margin-top:6px">'
        f"{''.join(parts)}</svg>"
    )
