"""A table of what a faster kind, device, op or link would save, with bars and a slider. Traits only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets


class WhatMattersTable(anywidget.AnyWidget):
    """Rows that the browser sorts and formats; a slider says how much faster each part is imagined.

    Attributes
    ----------
    rows
        One dictionary per part: ``what`` (``kind``, ``device``, ``op``, ``link``), ``name``; ``op``, the number of the op that a
        click selects, -1 for none; ``saved`` [s], None where the faster run fails; ``stale``: it belongs to a schedule before.
    makespan
        Of the schedule as it is [s].
    percent
        Position of the slider, set by the browser.
    fraction
        Share of the rows that are computed.
    stale
        Whether all rows belong to a schedule before.

    Examples
    --------
    >>> WhatMattersTable()
    WhatMattersTable(0 rows, 10 % faster)
    """

    _esm = Path(__file__).parent / "static" / "matters.js"

    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    makespan = traitlets.Float(0.0).tag(sync=True)
    percent = traitlets.Int(10).tag(sync=True)
    fraction = traitlets.Float(1.0).tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)  # a few words; "" when there is nothing to say
    stale = traitlets.Bool(False).tag(sync=True)
    selection = traitlets.Int(-1).tag(sync=True)  # number of the op that all views show as selected
    unitless = traitlets.Bool(False).tag(sync=True)  # all quantities are plain numbers, see problem.plain_numbers

    def __init__(self, **traits: Any) -> None:
        super().__init__(**{"layout": w.Layout(height="100%", min_height="0", min_width="0"), **traits})

    def __repr__(self) -> str:
        return f"WhatMattersTable({len(self.rows)} rows, {self.percent} % faster)"
