"""Plans of training steps: the best ones over two of their degrees or sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from placelab.base.errors import expect
from placelab.base.interrupts import need
from placelab.base.units import seconds
from placelab.pictures.plots.style import PALETTE, dress, hover, move_legend, new_plot

if TYPE_CHECKING:
    import pandas as pd
    from bokeh.plotting import figure


@runtime_checkable
class Plans(Protocol):
    """What a figure needs of the result of :func:`placelab.plan_search`, whose room stands above this one."""

    def plane(self, x: str, y: str, value: str = ...) -> pd.DataFrame:
        """The best plans' values over two columns."""


def plane(plans: Plans, x: str, y: str, *, dark: bool | None = None, width: int = 560) -> figure:
    """The best plan of a search for each pair of values of two columns, in the colour of its degrees; on hover its figures.

    Parameters
    ----------
    plans
        Of :func:`placelab.plan_search`.
    x, y
        Columns, such as ``"tp"`` and ``"pp"``, or ``"devices"`` and ``"sequence"`` of a search `over` them.
    dark
        Whether the page is dark; None where that is unknown.
    width
        Pixels.

    Raises
    ------
    FormatError
        A column that the plans do not have.
    """
    need("bokeh.models")
    from bokeh.models import ColumnDataSource, FactorRange

    expect(plans, Plans, "plots.plane")
    names, taken, rates, shares = (
        plans.plane(x, y, value) for value in ("plan", "seconds", "tokens_per_second", "mfu")
    )
    across, down = ([f"{value}" for value in axis] for axis in (names.columns, names.index))
    plot = new_plot(
        width=width,
        height=110 + 34 * len(down),
        x_range=FactorRange(factors=across),
        y_range=FactorRange(factors=down),
        x_axis_label=x,
        y_axis_label=y,
        tools="save",
        toolbar_location=None,
    )
    cells: dict[str, dict[str, list[Any]]] = {}
    for i, b in enumerate(down):
        for j, a in enumerate(across):
            if isinstance(name := names.iat[i, j], str):
                entry = (a, b, name, seconds(taken.iat[i, j]), f"{rates.iat[i, j]:,.0f}", f"{shares.iat[i, j]:.1%}")
                of = cells.setdefault(name, {key: [] for key in ("x", "y", "plan", "seconds", "rate", "mfu")})
                for column, value in zip(of.values(), entry, strict=True):
                    column.append(value)
    drawn = [
        plot.rect(
            "x", "y", 0.96, 0.92, source=ColumnDataSource(of), line_color=None, fill_color=PALETTE[k % len(PALETTE)],
            legend_label=name, name="cells",
        )
        for k, (name, of) in enumerate(cells.items())
    ]  # fmt: skip
    hover(
        plot, drawn, [("", "@plan"), (x, "@x"), (y, "@y"), ("step", "@seconds"), ("tokens/s", "@rate"), ("MFU", "@mfu")]
    )
    if drawn:
        move_legend(plot)
    plot.grid.visible = False
    dress(plot, dark)
    return plot
