"""A figure of where a second schedule saves and loses time against a first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from placelab.analysis.two_schedules import Difference
from placelab.analysis.two_schedules import difference as differing
from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.pictures.plots.style import INK, PALETTE, TOOLS, axis, dress, quad, time_unit
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.models import GridPlot
    from bokeh.plotting import figure

SAVED, LOST = PALETTE[0], PALETTE[5]
MANY = 3000  # ops from which WebGL draws them


def difference(
    a: Difference | Schedule,
    b: Schedule | None = None,
    *,
    by: Literal["kind", "scope"] = "kind",
    depth: int = 1,
    rows: int = 12,
    dark: bool | None = None,
    width: int = 800,
) -> GridPlot:
    """Where schedule `b` saves and loses time against `a`: by kind or scope, and op by op.

    Above, a bar to the right is time that ops of a kind (or scope) save of the makespan, one to the left what they lose
    (:meth:`placelab.Difference.by_scope`). Below, a point per op: when it finishes in `a`, and how much earlier in `b`;
    ops on another device are blue.

    Parameters
    ----------
    a, b
        Two schedules of one graph, or the result of :func:`placelab.difference` alone.
    by, depth
        Kinds, or scopes of so many components.
    rows
        Number of kinds or scopes, those that change most; the others are one bar.
    dark
        Whether the page is dark; None where that is unknown.
    width
        Pixels.
    """
    need("bokeh.layouts")
    from bokeh.layouts import gridplot

    expect(a, (Difference, Schedule), "plots.difference")
    if by not in ("kind", "scope"):
        raise FormatError(f"by is {by!r:.60}; expected 'kind' or 'scope'")
    if isinstance(a, Schedule):
        expect(b, Schedule, "plots.difference of one schedule")
    d = a if isinstance(a, Difference) else differing(a, b)  # type: ignore[arg-type]
    table = d.by_kind() if by == "kind" else d.by_scope(depth)
    panels = [_bars(d, table, by, rows, width), _shifts(d, width)]
    for panel in panels:
        dress(panel, dark)
    return gridplot([*panels], ncols=1, toolbar_options=dict(logo=None))


def _bars(d: Difference, table: pd.DataFrame, by: str, rows: int, width: int) -> figure:
    """A bar of what each kind or scope saves, and one of what it loses."""
    need("bokeh.models.annotations", "bokeh.plotting")
    from bokeh.models import HoverTool, Range1d
    from bokeh.models.annotations import Span
    from bokeh.plotting import figure

    names, saved, lost, moved = _rows(table, by, rows)
    reach = max(saved.max(initial=0.0), lost.max(initial=0.0))
    written = d.a.problem.cluster.units
    unit, size = time_unit(reach, written)
    plot = figure(
        width=width,
        height=80 + 20 * len(names),
        x_axis_label=f"lost  ←  {axis('makespan', unit)}  →  saved",
        x_range=Range1d(start=-1.05 * reach / size or -1.0, end=1.05 * reach / size or 1.0),
        y_range=Range1d(start=len(names) - 0.4, end=-0.6),
        title=f"{written.time(d.a.makespan)} → {written.time(d.b.makespan)}, by {by}",
        tools="save",
    )
    plot.yaxis.ticker = list(range(len(names)))
    plot.yaxis.major_label_overrides = dict(enumerate(name or f"(no {by})" for name in names))
    plot.ygrid.visible = False
    lane, nothing = np.arange(len(names)), np.zeros(len(names))
    words: dict[str, Any] = dict(name=names, moved=moved, top=lane - 0.38, bottom=lane + 0.38)
    words |= dict(saved=[written.time(x) for x in saved], lost=[written.time(x) for x in lost])
    bars = [
        quad(plot, words | dict(left=nothing, right=saved / size), fill_color=SAVED, line_color=None, name="saved"),
        quad(plot, words | dict(left=-lost / size, right=nothing), fill_color=LOST, line_color=None, name="lost"),
    ]
    lines = [(by, "@name"), ("saved", "@saved"), ("lost", "@lost"), ("ops on another device", "@moved")]
    plot.add_tools(HoverTool(renderers=bars, tooltips=lines, visible=False))
    plot.add_layout(Span(location=0, dimension="height", line_color=INK[None]))
    return plot


def _rows(table: pd.DataFrame, by: str, rows: int) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Name, saved and lost seconds, and moved ops of what changes most; what is left as one row."""
    first, rest = table.head(rows), table.iloc[rows:]
    names = [str(name) for name in first[by]] + ([f"{len(rest)} others"] if len(rest) else [])
    saved, lost, moved = (
        np.append(first[label].to_numpy(), [rest[label].sum()] if len(rest) else [])
        for label in ("saved", "lost", "moved")
    )
    return names, saved, lost, moved.astype(int)


def _shifts(d: Difference, width: int) -> figure:
    """How much earlier each op finishes."""
    need("bokeh.models.annotations", "bokeh.plotting")
    from bokeh.models import ColumnDataSource, HoverTool
    from bokeh.models.annotations import Span
    from bokeh.plotting import figure

    ops = d.ops[d.ops["finish_a"].notna() & d.ops["finish_b"].notna()]
    earlier = (ops["finish_a"] - ops["finish_b"]).to_numpy()
    written = d.a.problem.cluster.units
    (unit, size), (unit_y, size_y) = (
        time_unit(t, written) for t in (d.a.makespan, float(np.abs(earlier).max(initial=0.0)))
    )
    plot = figure(
        width=width,
        height=260,
        x_axis_label=axis("finish before", unit),
        y_axis_label=axis("earlier by", unit_y),
        tools=TOOLS,
        output_backend="webgl" if len(ops) > MANY else "canvas",
    )
    drawn: list[Any] = []
    for moved, label, colour in ((False, "same device", PALETTE[7]), (True, "another device", SAVED)):
        mine = ops["moved"].to_numpy() == moved
        part = ops[mine]
        columns = dict(
            finish=part["finish_a"].to_numpy() / size,
            earlier=earlier[mine] / size_y,
            name=part["name"].to_numpy(),
            where=[a if a == b else f"{a} → {b}" for a, b in zip(part["device_a"], part["device_b"], strict=True)],
        )
        if mine.any():
            source = ColumnDataSource(columns)
            points = plot.scatter(
                "finish", "earlier", source=source, size=4, color=colour, alpha=0.6, legend_label=label, name=label
            )
            drawn.append(points)
    lines = [("op", "@name"), ("device", "@where"), ("earlier by", f"@earlier{{0.[0000]}} {unit_y}")]
    plot.add_tools(HoverTool(renderers=drawn, tooltips=lines, visible=False))
    plot.add_layout(Span(location=0, dimension="width", line_color=INK[None]))
    plot.legend.location = "bottom_right"
    return plot
