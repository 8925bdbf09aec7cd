"""The directive ``playground``: pages that recompute, one per model and box, and menus to choose among them.

``docs/_static/playground.js`` shows the page that is chosen in a frame, and keeps model, box and the state of that page in the
address. Without scripts a list of links leads to the pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import placelab as pl
from placelab.app.widgets.live_page import why_not

TEN_TASKS = "topcuoglu", "ten tasks (Topcuoglu)", "published", "three processors, as published"
MODELS = ("inception_v3", "bert_base", "gpt2", "resnet50", "convolutional_network")
BOXES = {
    "rtx2080ti_box": "4 × RTX 2080 Ti",
    "h100_box": "8 × H100",
    "two_nodes": "two hosts of four",
}
PAGES = "playing"  # folder of the built site, as in shown.py
HEIGHT = 900


def problems() -> Iterator[tuple[tuple[str, str, str, str], pl.Problem]]:
    """Name and title of a model, then of a box, and the problem; the one that is shown first first."""
    yield TEN_TASKS, pl.datasets.problem("topcuoglu")
    for name in MODELS:
        graph = pl.load(name)
        for box, title in BOXES.items():
            yield (name, f"{name} ({graph.n_ops:,} ops)", box, title), pl.Problem(graph, getattr(pl.clusters, box)())


def write(folder: Path, address: str, script: str) -> str:
    """Write the pages into a folder; the markup that shows them from `address`, with the script at its address."""
    folder.mkdir(parents=True, exist_ok=True)
    links = []
    for names, problem in problems():
        schedule = pl.solve(problem, "heft", "planned")
        model, model_title, box, box_title = map(escape, names)
        reason = why_not(schedule)
        if reason:
            raise ValueError(f"the playground cannot recompute {model} on {box}: {reason}")
        page = pl.export.html(schedule, folder / f"playground-{model}-{box}.html", live=True)
        data = f'data-model="{model}" data-model-title="{model_title}" data-box="{box}" data-box-title="{box_title}"'
        data += f' data-python="{escape(python(names[0], names[2]))}"'
        links.append(f'<li><a href="{address}/{page.name}" {data}>{model_title} on {box_title}</a></li>')
    return (
        f'<div class="playground"><ul>{"".join(links)}</ul></div>'
        f'<script src="{script}" data-height="{HEIGHT}"></script>'
    )


def python(model: str, box: str) -> str:
    """Code that gives the schedule of a page."""
    given = f'pl.Problem(pl.load("{model}"), pl.clusters.{box}())'
    return f'pl.solve({given if box in BOXES else f"pl.datasets.problem({model!r})"}, "heft", "planned")'


class Playground(SphinxDirective):
    """``{playground}``: the menus and the page that is chosen."""

    def run(self) -> list[nodes.Node]:
        """The nodes: markup alone."""
        up = "../" * self.env.docname.count("/")
        markup = write(Path(self.env.app.outdir, PAGES), f"{up}{PAGES}", f"{up}_static/playground.js")
        return [nodes.raw("", markup, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("playground", Playground)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
