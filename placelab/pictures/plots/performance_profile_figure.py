"""Performance profiles: the share of problems that each strategy solves within a factor of the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.interrupts import need
from placelab.pictures.plots.strategy_table import StrategyTable, strategy_table
from placelab.pictures.plots.style import PALETTE, TOOLS, dress, move_legend

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


def performance_profile(
    frame: pd.DataFrame, *, most: float = 10.0, dark: bool | None = None, width: int = 640, height: int = 360
) -> figure:
    """Performance profiles of a study: for each strategy s the share ρ_s(τ) of problems within τ times the best.

    With t(p, s) the makespan, a mean over seeds, and r(p, s) = t(p, s) / min over s' of t(p, s'),

        ρ_s(τ) = (number of p with r(p, s) ≤ τ) / N.

    ρ_s(1) is how often s is the best, alone or not; for large τ it is how often s has a legal result within memory.

    Parameters
    ----------
    frame
        Result of :func:`placelab.study`. Problems that some strategy was not run on are left out.
    most
        The largest τ drawn.
    dark
        Whether the page is dark; None where that is unknown.
    width, height
        Pixels.

    References
    ----------
    Dolan, Moré (2002), Benchmarking optimization software with performance profiles, eq. 1 and 2.
    """
    need("bokeh.models", "bokeh.plotting")
    from bokeh.models import BasicTickFormatter, ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure

    table = strategy_table(frame, "plots.performance_profile")
    plot = figure(
        width=width,
        height=height,
        x_axis_type="log",
        x_range=Range1d(start=1.0, end=most),
        y_range=Range1d(start=0.0, end=1.02),
        x_axis_label="τ: makespan over the best",
        y_axis_label=f"share of {len(table.problems):,} problems",
        tools=TOOLS,
    )
    plot.xaxis.formatter = BasicTickFormatter()
    drawn: list[Any] = []
    for i, name in enumerate(table.strategies):
        tau, share = profile(table, i, most)
        source = ColumnDataSource(dict(tau=tau, share=share, strategy=[name] * len(tau)))
        drawn.append(
            plot.step(
                "tau",
                "share",
                source=source,
                mode="after",
                line_width=2,
                line_color=PALETTE[i % len(PALETTE)],
                line_dash="solid" if i < len(PALETTE) else "dashed",
                legend_label=name,
                name="profile",
            )
        )
    plot.add_tools(HoverTool(renderers=drawn, tooltips=[("", "@strategy"), ("τ", "@tau"), ("share", "@share{0.0 %}")]))
    move_legend(plot, mute=True)
    dress(plot, dark)
    return plot


def profile(table: StrategyTable, strategy: int, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The steps of a strategy's profile from τ = 1 to `most`: where it rises, and how high it is from there on."""
    ratio = np.sort(table.relative[:, strategy])
    tau = np.unique([1.0, *ratio[ratio <= most], most])
    return tau, np.searchsorted(ratio, tau, side="right") / len(ratio)
