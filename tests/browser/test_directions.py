"""Names in Hebrew, and one with an override of direction, in the explorer: sentences and labels go on from left to right."""

from __future__ import annotations

import networkx as nx
import pytest
from browser.test_nothing_is_cut import WHOLE
from playwright.sync_api import Page, expect
from support import bare_page

import placelab as pl

HEBREW = "\u05e9\u05dc\u05d5\u05dd"
TURNED = """() => {  // texts in which what follows a Hebrew word does not stand right of it
  const walk = document.createTreeWalker(document.querySelector(".placelab-explorer"), NodeFilter.SHOW_TEXT), found = [];
  const box = (node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    return range.getBoundingClientRect();
  };
  while (walk.nextNode()) {
    const node = walk.currentNode, parts = /[\\u0590-\\u05ff]+/.exec(node.data);
    if (!parts || node.parentElement.closest("style, option, datalist")) continue;
    const after = node.data.slice(parts.index + parts[0].length).search(/[a-z0-9]/i);
    if (after < 0) continue;
    const name = box(node, parts.index, parts.index + parts[0].length);
    const at = parts.index + parts[0].length + after, next = box(node, at, at + 1);
    if (name.width && next.width && next.top < name.bottom && next.left < name.right - 1) found.push(node.data);
  }
  return found;
}"""


def model() -> nx.DiGraph:
    graph = nx.DiGraph()
    for i, name in enumerate((f"{HEBREW} 1", f"{HEBREW}/2", "a\u202eb", f"3 {HEBREW}")):
        graph.add_node(name, time=1.0 + i, kind=HEBREW)
    nx.add_path(graph, list(graph), bytes=1e6)
    return graph


@pytest.mark.own_page  # of a size
def test_a_name_from_right_to_left_turns_nothing(page: Page, screenshot):
    """Wherever a name is, what follows it stands right of it, and an override of direction is seen as an escape."""
    explorer = pl.explore(model(), pl.Cluster.uniform(2, speed=1.0, bandwidth=1e6, latency=0.5))
    try:
        assert explorer.settled(60) and explorer.comparison.settled(100)
        assert f"{HEBREW} 1" in explorer.problem.graph.names and "a\u202eb" in explorer.problem.graph.names
        for op in range(4):
            explorer.gantt.selection = op
            page.set_viewport_size({"width": 1362, "height": 779})
            bare_page.show(page, explorer)
            for tab in ("Comparison", "Decisions", "What matters", "Graph"):
                page.locator(".pl-titles button", has_text=tab).first.click()
                bare_page.heard(page)
                bare_page.still(page)
                assert page.evaluate(TURNED) == []
            assert page.locator(".pl-gantt .said").evaluate(WHOLE)  # with its third line
        screenshot("names")
        text = page.locator(".placelab-explorer").inner_text()
        assert "\u202e" not in text and "\\u202e" in text
        expect(page.locator(".pl-gantt .said")).to_contain_text(HEBREW)
    finally:
        explorer.close()
