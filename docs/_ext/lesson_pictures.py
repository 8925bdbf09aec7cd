"""Put a picture where a lesson opens the explorer: the chart with which it opens, drawn when the page is built."""

from __future__ import annotations

import contextlib
import io
import json
import re
from html import escape
from typing import Any

import placelab as pl

EXPLORER = "explorer"  # tag of the cell, and the name that it defines


def with_picture(notebook: str, lesson: str) -> str:
    """The notebook's JSON with the chart as the result of the cell that opens the explorer."""
    content = json.loads(notebook)
    for i, cell in enumerate(content["cells"]):
        if EXPLORER in cell["metadata"].get("tags", ()):
            html = picture(opened(content["cells"][: i + 1], lesson))
            cell["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": {"text/html": html}}]
    return json.dumps(content)


def opened(cells: list[dict], lesson: str) -> pl.Schedule:
    """The schedule that the explorer of the last cell shows; the cells before it are run."""
    names: dict[str, Any] = {"__name__": lesson}
    for cell in cells:
        if cell["cell_type"] == "code":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile("".join(cell["source"]), lesson, "exec"), names)
    explorer = names[EXPLORER]
    try:
        return explorer.schedule
    finally:
        explorer.close()


def picture(schedule: pl.Schedule) -> str:
    """The schedule's own picture; the alternative text is a sentence."""
    html = schedule._repr_mimebundle_()["text/html"]
    problem = schedule.problem
    takes = problem.cluster.units.time(schedule.makespan)
    ops = f"{problem.graph.n_ops:,} ops of {problem.graph.title} on {problem.cluster.n_devices} devices"
    sentence = f"The explorer opens with this Gantt chart: {ops} have a makespan of {takes}."
    html = re.sub(r'(<svg [^>]*?aria-label=)"[^"]*"', rf'\1"{escape(sentence)}"', html, count=1)
    note = "The notebook has the explorer here. It opens with this schedule:"
    return f'<div class="shown"><p class="whole">{note}</p>{html}</div>'
