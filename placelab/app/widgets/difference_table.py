"""A table of what differs between two schedules: scopes, kinds, ops and numbers. Traits only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets


class DifferenceTable(anywidget.AnyWidget):
    """Rows in the order that Python gives them; the browser shows those of one group.

    Attributes
    ----------
    rows
        One dictionary per row: ``what`` (``scope``, ``kind``, ``op``, ``number``), ``name``; ``moved``, ``before``, ``after``,
        texts; ``saved`` [s], None for none; ``op``, the number of the op that a click selects, -1 for none.
    groups
        The values of ``what`` that a reader can choose; ``group`` is the one chosen.
    summary
        A sentence above the rows, or why there are none.
    stale
        Whether the rows belong to a schedule before.
    unitless
        Whether times are plain numbers.

    Examples
    --------
    >>> DifferenceTable()
    DifferenceTable(0 rows)
    """

    _esm = Path(__file__).parent / "static" / "difference.js"

    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode()).tag(sync=True)
    group = traitlets.Unicode("scope").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    stale = traitlets.Bool(False).tag(sync=True)
    unitless = traitlets.Bool(False).tag(sync=True)
    selection = traitlets.Int(-1).tag(sync=True)  # number of the op that all views show as selected

    def __init__(self, **traits: Any) -> None:
        super().__init__(**{"layout": w.Layout(height="100%", min_height="0", min_width="0"), **traits})

    def __repr__(self) -> str:
        return f"DifferenceTable({len(self.rows)} rows)"
