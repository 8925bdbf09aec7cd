"""What the details drawer shows as tables: the curve of a value, and what is told of a selection, as raw numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.app.explorer.engine.curve import UNITS
from placelab.app.widgets.gantt_chart import Gantt
from placelab.base.errors import UnsupportedError


def curve_columns(gantt: Gantt) -> dict[str, Any]:
    """A row per value of the curve that is shown: the value, and the makespan with it; UnsupportedError while there is none."""
    curve = gantt.curve
    if why := curve.get("none", ""):
        raise UnsupportedError(f"there is no curve to download: {why.removeprefix('No curve: ')}")
    if not curve.get("values") or not gantt.value:
        raise UnsupportedError(
            "there is no curve to download: open the details below the chart, then click a value of the cluster"
        )
    _settled(gantt, curve)
    kind = gantt.value["kind"]
    columns = {gantt.value.get("label", kind): UNITS[kind], "makespan": "s"}
    heads = columns if gantt.unitless else [f"{name} [{unit}]" for name, unit in columns.items()]
    return dict(zip(heads, (list(curve["values"]), list(curve["makespans"])), strict=True))


def details_columns(gantt: Gantt) -> dict[str, Any]:
    """A row per fact of what is selected: name, value, unit; UnsupportedError while nothing is."""
    details = gantt.details
    if not details.get("figures"):
        raise UnsupportedError(
            "there are no details to download: click an op, a transfer, an idle gap, a device, or a value of the cluster"
        )
    _settled(gantt, details)
    name, value, unit = zip(*details["figures"], strict=True)
    return {"name": list(name), "value": np.array(value, object), "unit": list(unit)}


def _settled(gantt: Gantt, said: dict[str, Any]) -> None:
    """Refuse what was said of the state before."""
    if said.get("of") != gantt.result_of:
        raise UnsupportedError("the details are computed anew; download them again in a moment")
