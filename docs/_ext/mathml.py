"""Write equations as MathML, which browsers draw themselves: no script and no font is fetched."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

SIZES = re.compile(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![A-Za-z])")  # delimiters get their size from what is between them
# Written with {} behind it, as its index would otherwise go below the letter, not beside it.
ACCENT = re.compile(r"\\(bar|hat) *\{?(\w)\}?")
logger = logging.getLogger(__name__)


def inline(writer: Any, node: nodes.math) -> None:
    """An equation in a line of text."""
    writer.body.append(mathml(node, node.astext(), False))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """An equation of its own; ``&`` and ``\\`` align its lines."""
    text = node.astext()
    aligned = rf"\begin{{aligned}} {text} \end{{aligned}}" if r"\\" in text or "&" in text else text
    writer.body.append(f'<div class="math">{mathml(node, aligned, True)}</div>\n')
    raise nodes.SkipNode


def mathml(node: nodes.Element, text: str, as_block: bool) -> str:
    """The equation as MathML; a warning where it cannot be read."""
    try:
        read = ACCENT.sub(r"{\\\1{\2}{}}", SIZES.sub("", text)).replace(r"\dots", r"\ldots")
        return latex2mathml.tex2mathml(read, as_block=as_block)
    except MathError as error:
        logger.warning("%s in the equation %s", error, text, location=node)
        return f"<code>{escape(text)}</code>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
