"""Run the pieces of code of a how-to."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import placelab as pl

HOWTO = Path(__file__).resolve().parents[2] / "docs" / "howto"


def run_page(name: str) -> dict[str, Any]:
    """What the code of a page defines, and as ``values`` the value of each piece by the text of its last expression."""
    found: dict[str, Any] = {"pl": pl, "values": {}}
    pieces = re.findall(r"^```\{shown\}\n(.*?)^```", (HOWTO / f"{name}.md").read_text(), re.MULTILINE | re.DOTALL)
    assert pieces, f"{name}.md has no pieces of code"
    for piece in pieces:
        tree = ast.parse(piece)
        last = ast.unparse(tree.body.pop())
        exec(compile(tree, "<page>", "exec"), found)
        found["values"][last] = eval(last, found)
    return found
