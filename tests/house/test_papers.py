"""The papers' notebooks: the summary at the top is the table that the last cell computes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PAPERS = sorted((Path(__file__).resolve().parents[2] / "notebooks" / "papers").glob("*.ipynb"))


def test_the_papers_are_here():
    """The parametrised test below must have something to test."""
    assert PAPERS


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_the_summary_is_what_the_last_cell_computes(path):
    """Line by line; nbval checks the last cell's output itself."""
    cells = json.loads(path.read_text())["cells"]
    (output,) = cells[-1]["outputs"]
    table = "".join(output["data"]["text/markdown"])
    assert table.startswith("| claim | published | ours | verdict | cause |")
    assert table in "".join(cells[0]["source"])
    for row in table.splitlines()[2:]:
        _, published, _, verdict, _ = (cell.strip() for cell in row.strip("|").split(" | "))
        silent = published.startswith(("no claim", "offered"))  # where nothing is claimed, nothing is judged
        assert not silent or verdict == "input or no claim", row
