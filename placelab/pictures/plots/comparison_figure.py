"""A heat map of all pairs of strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import expect
from placelab.base.interrupts import need
from placelab.pictures.plots.style import INK, dress, units_of

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


FRAME = (("black", 7), ("white", 3))  # of the selected pair: one of the two is visible on any colour


def comparison(frame: pd.DataFrame, *, stale: bool = False, dark: bool | None = None, width: int = 560) -> figure:
    """A heat map of :func:`placelab.compare`: partitioners down, schedulers across, mean makespan over seeds.

    Each cell shows its makespan and its distance from the best lower bound; the best one has a frame and a star. An
    empty cell shows its reason on hover. Colour is logarithmic in makespan over the best one, from blue (best) to
    yellow (5 times or more).

    Parameters
    ----------
    frame
        Result of ``compare``, complete or not.
    stale
        Draw pale, because the problem has changed since.
    dark
        Whether the page is dark; None where that is unknown.

    Notes
    -----
    A tap selects a cell in the data source of the renderer called ``"cells"``: listen with
    ``figure.select_one({"name": "cells"}).data_source.selected.on_change("indices", …)`` and read its columns
    ``partitioner`` and ``scheduler``.
    """
    need("pandas", "bokeh.models", "bokeh.plotting", "bokeh.transform")
    import pandas as pd
    from bokeh.models import ColumnDataSource, FactorRange
    from bokeh.plotting import figure
    from bokeh.transform import log_cmap

    expect(frame, pd.DataFrame, "plots.comparison")
    cells = _cells(frame, stale)
    source = ColumnDataSource(cells)
    rows, columns = list(dict.fromkeys(cells["partitioner"])), list(dict.fromkeys(cells["scheduler"]))
    plot = figure(
        width=width,
        height=60 + 38 * max(len(rows), 1),
        x_range=FactorRange(*columns),
        y_range=FactorRange(*rows[::-1]),
        x_axis_location="above",
        tools="tap",
        toolbar_location=None,
        tooltips=[("", "@partitioner + @scheduler"), ("", "@detail")],
    )
    colour = log_cmap("relative", "Cividis256", low=1.0, high=5.0, nan_color="#50505020")
    fade = 0.35 if stale else 1.0
    rect: dict[str, Any] = dict(x="scheduler", y="partitioner", width=0.96, height=0.92, source=source)
    drawn = plot.rect(
        **rect,
        name="cells",
        fill_color=colour,
        fill_alpha=fade,
        line_color="frame",
        line_width=3,
        line_alpha=fade,
        nonselection_fill_alpha=fade,
        nonselection_line_alpha=fade,
    )
    for edge, thickness in FRAME:
        rect |= dict(
            fill_color=None, line_color=edge, line_width=thickness, line_alpha=0.0, nonselection_line_alpha=0.0
        )
        plot.rect(**rect, selection_line_alpha=1.0)
    plot.hover.renderers = [drawn]
    words: dict[str, Any] = dict(
        x="scheduler",
        y="partitioner",
        source=source,
        text_align="center",
        text_baseline="middle",
        text_font_size="11px",
    )
    for ink, column in (("white", "on_dark"), ("black", "on_light"), (INK[dark], "on_page")):
        plot.text(
            **words, text=column, text_color=ink, text_alpha=max(fade, 0.6), nonselection_text_alpha=max(fade, 0.6)
        )
    plot.grid.visible = False
    plot.axis.axis_line_color = plot.axis.major_tick_line_color = None
    dress(plot, dark)
    return plot


def _cells(frame: pd.DataFrame, stale: bool) -> dict[str, list]:
    """One entry per pair: means over seeds, text, colour, frame, and the text on hover."""
    grouped = frame.groupby(["partitioner", "scheduler"], sort=False)
    mean = grouped[["makespan", "bound_gap"]].mean().reset_index()
    error = grouped["error"].agg(lambda texts: next((t for t in texts if t), "")).to_numpy()
    flawed = (grouped["oom"].any() | ~grouped["valid"].all()).to_numpy()
    makespan, gap = mean["makespan"].to_numpy(), mean["bound_gap"].to_numpy()
    known = np.isfinite(makespan)
    candidates = np.where(known & ~flawed, makespan, np.inf)
    best = int(np.argmin(candidates)) if len(mean) and np.isfinite(candidates).any() else -1
    least = np.nanmin(makespan) if known.any() else 1.0
    relative = np.where(known, makespan / least if least > 0 else 1.0, np.nan)
    cells: dict[str, list] = dict(
        partitioner=list(mean["partitioner"]), scheduler=list(mean["scheduler"]), relative=list(relative)
    )
    cells |= {label: [] for label in ("on_dark", "on_light", "on_page", "frame", "detail")}
    written = units_of(frame)
    for i, (t, g) in enumerate(zip(makespan, gap, strict=True)):
        marks = ("★ " if i == best else "", " ⚠" if flawed[i] else "")
        text = f"{marks[0]}{written.time(t)}{marks[1]}{_above(g)}" if known[i] else "–"
        where = "on_page" if stale or not known[i] else "on_dark" if relative[i] < 2.2 else "on_light"
        for column in ("on_dark", "on_light", "on_page"):
            cells[column].append(text if column == where else "")
        cells["frame"].append("#D55E00" if i == best else "#00000000")
        detail = f"{written.time(t)}, {100 * max(g, 0.0):,.1f} % above the best lower bound" + (
            ", not legal or out of memory" if flawed[i] else ""
        )
        cells["detail"].append(detail if known[i] else error[i])
    return cells


def _above(gap: float) -> str:
    """Gap to the bound, on a line of its own: ``+8 %``, or ``× 12`` from ten times on."""
    gap = max(gap, 0.0)  # a bound that is reached may differ by rounding
    return f"\n+{100 * gap:.0f} %" if gap < 8.995 else f"\n× {1 + gap:.0f}" if np.isfinite(gap) else ""
