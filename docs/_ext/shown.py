"""The directive ``shown``: run a piece of Python when the site is built, and show it with its result.

The pieces of a page share their names, as cells of a notebook do. The result is that of the last line: a picture where it has
one, a table, else text. ``:play: NAME`` writes the schedule as a page that plays it, and recomputes it where it can, and embeds
that page; ``:memory:`` draws the memory in use in each schedule of a dictionary. A piece that fails stops the build: what
the page says about it is not true any more.
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from memory_curves import curves
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

import placelab as pl

MOST_BYTES = 1_000_000  # of a playing page
PAGES = "playing"  # folder of the built site


class Shown(SphinxDirective):
    """``{shown}``: code, and what its last line gives."""

    has_content = True
    option_spec = {"play": directives.unchanged, "memory": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The nodes: code and result."""
        code = "\n".join(self.content)
        names = self.env.temp_data.setdefault("shown_names", {"pl": pl, "__name__": self.env.docname})
        try:
            value = last_value(code, names)
        except Exception as error:
            raise ExtensionError(f"{self.env.docname}:{self.lineno}: the piece of code fails: {error!r}") from error
        given: list[nodes.Node] = [nodes.literal_block(code, code, language="python")]
        if "play" in self.options:
            html = frame(self.env.app.outdir, self.env.docname, value, self.options["play"])
        elif "memory" in self.options:
            html = curves(value)
        elif value is None:
            return given
        else:
            html = result(value)
        return [*given, nodes.raw("", f'<div class="shown">{html}</div>', format="html")]


def frame(outdir: str, docname: str, schedule: Any, name: str) -> str:
    """Write the page that plays a schedule, or recomputes it, into the built site; the element that embeds it in a page."""
    folder = Path(outdir, PAGES)
    folder.mkdir(parents=True, exist_ok=True)
    page = pl.export.html(schedule, folder / f"{name}.html")
    if page.stat().st_size > MOST_BYTES:
        raise ExtensionError(f"{page.name} has {page.stat().st_size:,} bytes; choose a smaller graph")
    up = "../" * docname.count("/")
    live = '<body class="live">' in page.read_text(encoding="utf-8")
    height = min(210 + 58 * schedule.problem.cluster.n_devices + 320 * live, 900)
    return (
        f'<iframe src="{up}{PAGES}/{name}.html" class="{"live" if live else "plays"}" style="--height:{height}px" loading="lazy" '
        f'title="A schedule that plays: {escape(name)}"></iframe>'
        f'<p class="whole"><a href="{up}{PAGES}/{name}.html">The page alone</a></p>'
    )


def last_value(code: str, names: dict[str, Any]) -> Any:
    """Run code; the value of its last line if that is an expression, else None."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<shown>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<shown>", "eval"), names)


def result(value: Any) -> str:
    """A value as HTML: its own, or its text."""
    if hasattr(value, "_repr_mimebundle_"):
        return value._repr_mimebundle_()["text/html"]
    if hasattr(value, "to_html"):
        return value.to_html(border=0, float_format=lambda x: f"{x:.4g}")
    return f"<pre>{escape(value if isinstance(value, str) else repr(value))}</pre>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("shown", Shown)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
