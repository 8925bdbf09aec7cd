"""Put a page that recomputes where a lesson opens the explorer, with the schedule that it opens with, or that one's picture."""

from __future__ import annotations

import contextlib
import io
import json
import re
from html import escape
from pathlib import Path
from typing import Any

from shown import frame

import placelab as pl
from placelab.app.widgets.live_page import why_not

EXPLORER = "explorer"  # tag of the cell, and the name that it defines


def with_picture(notebook: str, lesson: str, outdir: str) -> str:
    """The notebook's JSON with the chart as the result of the cell that opens the explorer; pages go into the built site."""
    content = json.loads(notebook)
    for i, cell in enumerate(content["cells"]):
        if EXPLORER in cell["metadata"].get("tags", ()):
            html = shown(opened(content["cells"][: i + 1], lesson), lesson, outdir)
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


def shown(schedule: pl.Schedule, lesson: str, outdir: str) -> str:
    """The page that recomputes the schedule, in a frame; where no page can, or without scripts, its picture."""
    still = picture(schedule)
    if why_not(schedule):
        return still
    note = "The notebook has the explorer here. This page opens with the same schedule, and computes by itself:"
    page = frame(outdir, lesson, schedule, f"lesson-{Path(lesson).name.replace('_', '-')}")
    return f'<div class="shown"><p class="whole">{note}</p>{page}<noscript>{still}</noscript></div>'


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
