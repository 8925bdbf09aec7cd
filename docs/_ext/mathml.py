"""Write equations as MathML, which browsers draw themselves: no script and no font is fetched."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def inline(writer: Any, node: nodes.math) -> None:
    """An equation in a line of text."""
    writer.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """An equation of its own; ``&`` and ``\\\\`` align its lines."""
    equation = latex2mathml.tex2mathml(_aligned(node.astext()), as_block=True)
    writer.body.append(f'<div class="math">{equation}</div>\n')
    raise nodes.SkipNode


def _aligned(text: str) -> str:
    return rf"\begin{{aligned}} {text} \end{{aligned}}" if r"\\" in text or "&" in text else text


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
