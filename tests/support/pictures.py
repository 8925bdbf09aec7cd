"""Read the static pictures that objects show in notebooks."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

TAGS = {"div", "span", "b", "table", "thead", "tbody", "tr", "th", "td", "svg", "g", "path", "rect", "text", "title"}
ATTRIBUTES = {
    *("class", "style", "title", "role", "aria-label", "width", "height", "viewBox", "fill", "font-size", "transform", "opacity"),
    *("x", "y", "text-anchor", "d", "stroke", "stroke-width", "stroke-opacity", "shape-rendering", "pointer-events"),
}  # fmt: skip
MOST_BYTES = 100_000

# What a stranger may call things: markup, entities, formulas, text that reverses, controls, wide text, and far too long.
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "]]></title></svg><style>*{display:none}</style>&lt;&#0;",
    "\x00\x01\x1b[31m\u202eevil\ufffe",
    r"$\href{javascript:alert(1)}{x}$",
    "漢字" * 50,
    "&" * 100_000,
)


def html_of(shown: Any) -> str:
    """The HTML an object shows; its plain text is its repr."""
    bundle = shown._repr_mimebundle_(include=None, exclude=None)
    assert bundle.keys() == {"text/plain", "text/html"}
    assert bundle["text/plain"] == repr(shown)
    return bundle["text/html"]


def read(shown: Any) -> ElementTree.Element:
    """What an object shows, as XML: well-formed, bounded, and made of nothing but plain drawing."""
    html = html_of(shown)
    assert len(html.encode()) <= MOST_BYTES
    root = ElementTree.fromstring(html)
    for element in root.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in TAGS
        assert set(element.attrib) <= ATTRIBUTES
        assert "url" not in element.get("style", "")
        assert "prefers-color-scheme" not in element.get("style", "")
        for size in (element.get("font-size"), *re.findall(r"font-size:(\d+)|font:(\d+)", element.get("style", ""))):
            assert not size or int(size if isinstance(size, str) else "".join(size)) >= 11
    return root


def words(root: ElementTree.Element) -> str:
    """All text of a picture."""
    return " ".join("".join(root.itertext()).split())


def find(root: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    """Elements of a tag, of HTML or SVG."""
    return [e for e in root.iter() if e.tag.removeprefix("{http://www.w3.org/2000/svg}") == tag]


def cells(root: ElementTree.Element) -> list[list[str]]:
    """Rows of all tables as texts."""
    return [["".join(cell.itertext()).strip() for cell in row] for row in find(root, "tr")]
