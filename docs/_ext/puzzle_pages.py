"""The directive ``puzzles``: the puzzles of ``placelab.puzzles`` as pages in which they are played, with stars.

``docs/_static/puzzles.js`` shows the one that is chosen in a frame, and keeps the stars in the reader's browser. Without scripts
a list of links leads to the pages.
"""

from __future__ import annotations

from html import escape
from math import inf
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import placelab as pl
from placelab.app.export import page
from placelab.app.widgets.live_page import why_not

PAGES = "playing"  # folder of the built site, as in shown.py
HEIGHT = 760


def write(folder: Path, address: str, script: str) -> str:
    """Write the pages into a folder; the markup that shows them from `address`, with the script at its address."""
    folder.mkdir(parents=True, exist_ok=True)
    links = []
    for name in pl.puzzles.names():
        puzzle = pl.puzzles.load(name)
        schedule = puzzle.start.schedule
        if reason := why_not(schedule):
            raise ValueError(f"no page can recompute the puzzle {name!r}: {reason}")
        facts = {
            "name": name,
            "task": puzzle.task,
            "heft": None if puzzle.heft == inf else puzzle.heft,
            "optimum": puzzle.optimum,
        }
        file = folder / f"puzzle-{name.replace(' ', '-')}.html"
        file.write_text(page(schedule, title=name, live=True, puzzle=facts), encoding="utf-8")
        data = f'data-name="{escape(name)}" data-par="{puzzle.optimum:g}"'
        links.append(f'<li><a href="{address}/{file.name}" {data}>{escape(name)}</a>: {escape(puzzle.task)}</li>')
    return (
        f'<div class="puzzles"><ul>{"".join(links)}</ul></div><script src="{script}" data-height="{HEIGHT}"></script>'
    )


class Puzzles(SphinxDirective):
    """``{puzzles}``: the list, and the puzzle that is chosen."""

    def run(self) -> list[nodes.Node]:
        """The nodes: markup alone."""
        up = "../" * self.env.docname.count("/")
        markup = write(Path(self.env.app.outdir, PAGES), f"{up}{PAGES}", f"{up}_static/puzzles.js")
        return [nodes.raw("", markup, format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("puzzles", Puzzles)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
