"""HTML and SVG of the static pictures that objects show at the end of a notebook cell.

A picture has no style sheet, identifier or script: it takes the colours of its page by ``currentColor`` and inheritance, so that
it suits light and dark pages, and one picture cannot change another. Names come from files of strangers; they pass :func:`text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from unicodedata import east_asian_width

import numpy as np

from placelab.base import units
from placelab.base.units import counted as counted

MOST_ROWS = 32  # of a table
FONT = "font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif)"
LINE = "1px solid rgba(128,128,128,.4)"
# what XML cannot hold, and marks that reverse the text after them
UNFIT = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def text(name: Any, most: int = 60) -> str:
    """A name for HTML and SVG: escaped, its middle left out beyond `most` columns of text.

    >>> text("<b>"), text("/job:worker/task:0/device:GPU:0", 16)
    ('&lt;b&gt;', '/job:wo…ce:GPU:0')
    """
    given = str(name)
    clean = UNFIT.sub("\ufffd", given if len(given) <= 2 * most else given[:most] + given[-most:])
    if columns_of(clean) > most:
        half = (most - 1) // 2
        clean = f"{_within(clean, half)}…{_within(clean[::-1], most - 1 - half)[::-1]}"
    return escape(clean)


def columns_of(given: str) -> int:
    """Columns that a text takes where wide characters count twice."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in given)


def _within(given: str, most: int) -> str:
    """As much of a text's beginning as fits `most` columns."""
    while columns_of(given) > most:
        given = given[:-1]
    return given


def amount(value: float, unit: str, written: units.Units = units.SI) -> str:
    """A quantity as `written`; "∞" where a sum is more than a float can hold, "–" where it is unknown."""
    if np.isnan(value):
        return "–"
    return written.amount(value, unit) if np.isfinite(value) else "∞"


def percent(share: float) -> str:
    """A share in percent; "< 0.1 %" is escaped."""
    return escape(units.percent(share))


def picture(title: str, facts: Iterable[str], *parts: str) -> str:
    """A heading line, `title` in bold, then the parts; all HTML. MathJax leaves it alone: a name may hold dollars."""
    head = " · ".join(f'<span style="white-space:nowrap">{part}</span>' for part in [f"<b>{title}</b>", *facts])
    return (
        f'<div class="mathjax_ignore tex2jax_ignore" style="{FONT};max-width:960px;overflow-x:auto">'
        f"<div>{head}</div>{''.join(parts)}</div>"
    )


def aside(html: str) -> str:
    """A line in smaller, fainter letters."""
    return f'<div style="font-size:12px;opacity:.75">{html}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[int] = (), padding: int = 8) -> str:
    """A table of HTML cells; columns `numbers` are set to the right, `padding` pixels are on both sides of each."""
    right = set(numbers)
    align = ["right" if i in right else "left" for i in range(len(head))]

    def row(tag: str, cells: Sequence[str]) -> str:
        style = f"padding:1px {padding}px;white-space:nowrap;text-align:"
        pairs = zip(align, cells, strict=True)
        return "<tr>" + "".join(f'<{tag} style="{style}{side}">{cell}</{tag}>' for side, cell in pairs) + "</tr>"

    body = "".join(row("td", cells) for cells in rows)
    style = f"{FONT};border-collapse:collapse;margin:6px 0"
    return f'<table style="{style}"><thead>{row("th", head)}</thead><tbody>{body}</tbody></table>'


def bar(share: float, colour: str = "currentColor") -> str:
    """A share as a bar in a table cell, with its percentage."""
    share = float(np.clip(np.nan_to_num(share), 0, 1))
    return (
        f'<span style="display:inline-block;width:{round(60 * share)}px;height:8px;background:{colour};opacity:.8"></span> '
        f"{percent(share)}"
    )


def swatch(colour: str, height: int = 11) -> str:
    """A patch of colour for a legend."""
    return f'<span style="display:inline-block;width:11px;height:{height}px;background:{colour};vertical-align:middle"></span>'


def legend(entries: Iterable[tuple[str, str]]) -> str:
    """Patches and what they mean, in a line that wraps; pairs of HTML."""
    items = "".join(f'<span style="white-space:nowrap">{mark} {label}</span>' for mark, label in entries)
    return f'<div style="display:flex;flex-wrap:wrap;gap:2px 14px;font-size:12px;margin-top:4px">{items}</div>'


def side_by_side(*parts: str) -> str:
    """Parts in a line, or below each other where the page is narrow."""
    return f'<div style="display:flex;flex-wrap:wrap;gap:0 28px;align-items:flex-start">{"".join(parts)}</div>'


def svg(size: tuple[int, int], label: str, *parts: str) -> str:
    """An inline SVG image of (width, height) pixels in the colour of the text around it; `label` is escaped already."""
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" fill="currentColor" font-size="12" style="display:block;margin-top:6px">'
        f"{''.join(parts)}</svg>"
    )
