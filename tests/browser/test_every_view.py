"""Every tab at four sizes, light and dark: no text is outside, on another one, or cut without a sign."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect
from support import bare_page

import placelab as pl
from placelab.app.explorer import Explorer

SIZES = {  # of the window in CSS pixels, and pixels of the screen in one
    "1280": (1280, 720, 1),
    "1440": (1440, 900, 1),
    "1920": (1920, 1080, 1),
    "150%": (853, 480, 1.5),
}
MODELS = {
    "small": lambda: pl.explore("topcuoglu"),
    "large": lambda: pl.explore("convolutional_network", pl.clusters.two_nodes(4)),
}
FAULTS = """() => {
  const root = document.querySelector(".placelab-explorer"), whole = root.getBoundingClientRect(), found = [], texts = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, element = node.parentElement;
    if (!node.data.trim() || element.closest("style, script, option, [aria-hidden=true]")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    let { left, right, top, bottom } = range.getBoundingClientRect();
    // By an ellipsis, a tooltip that has it whole, or as it scrolls. Figures drop out whole; some labels are for readers alone.
    let told = element.closest(".pl-figures") !== null;
    const full = right - left;
    for (let part = element; part !== root; part = part.parentElement) {
      const style = getComputedStyle(part), box = part.getBoundingClientRect();
      told ||= style.textOverflow === "ellipsis" || /auto|scroll/.test(style.overflowX + style.overflowY);
      told ||= (part.getAttribute("title") ?? "").includes(node.data.trim());
      told ||= box.width <= 1 && box.height <= 1;
      told ||= style.webkitLineClamp !== "none";
      const inner = style.textOverflow === "ellipsis" ? parseFloat(style.paddingRight) : 0;
      if (style.overflowX !== "visible") [left, right] = [Math.max(left, box.left), Math.min(right, box.right - inner)];
      if (style.overflowY !== "visible") [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    if (right - left < 2 || bottom - top < 4) {
      if (full >= 2 && !told) found.push(`hidden: ${node.data.trim()}`);
      continue;
    }
    if (right - left < full - 2 && !told) found.push(`cut: ${node.data.trim()}`);
    if (left < whole.left - 1 || right > whole.right + 1 || bottom > whole.bottom + 1) found.push(`outside: ${node.data.trim()}`);
    texts.push([node.data.trim(), left, right, top, bottom]);
  }
  texts.sort((a, b) => a[3] - b[3]);
  texts.forEach(([text, left, right, , bottom], i) => {
    for (let j = i + 1; j < texts.length && texts[j][3] < bottom - 3; j++) {
      const [other, l, r] = texts[j];
      if (Math.min(right, r) - Math.max(left, l) > 3) found.push(`${text} on ${other}`);
    }
  });
  return found;
}"""


@pytest.fixture(scope="module", params=MODELS)
def explorer(request: pytest.FixtureRequest) -> Iterator[Explorer]:
    found = MODELS[request.param]()
    assert found.settled(60) and found.comparison.settled(100)
    found.keep(found.schedule)
    found.change(lambda state: state.with_strategy("partitioner", "etf"))
    assert found.settled(60)
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.own_page  # of another scale
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_tab(browser: Browser, explorer: Explorer, size: str, theme: str, label: str):
    width, height, scale = SIZES[size]
    context = browser.new_context(device_scale_factor=scale, viewport={"width": width, "height": height})
    context.add_init_script("try { localStorage.setItem('placelab-hints', 'shown') } catch {}")
    page = context.new_page()
    found = []
    try:
        bare_page.show(page, explorer, theme)
        page.add_style_tag(content="body { margin: 0 !important } .placelab-explorer { height: 100vh }")
        for tab in page.locator(".pl-titles button:visible").all():
            tab.click()
            bare_page.heard(page)
            page.wait_for_timeout(300)
            bare_page.still(page)
            page.screenshot(path=f"tests/artifacts/{label}-{tab.inner_text()}.png")
            found += [f"{tab.inner_text()}: {fault}" for fault in page.evaluate(FAULTS)]
        expect(page.locator(".pl-gantt").first).to_be_visible()
    finally:
        context.close()
    assert not found, "\n".join(found)


BROKEN = {  # styles of a line that is put into the explorer
    "cut: ": "width: 30px; overflow: hidden",
    "outside: ": "left: 1270px",
    " on ": "left: 4px; top: 42px",
    "hidden: ": "height: 2px; overflow: hidden",
}
LINE = """style => {
  const line = Object.assign(document.createElement("p"), { textContent: "a line of text", style });
  document.querySelector(".placelab-explorer").append(line);
}"""


@pytest.mark.slow
@pytest.mark.own_page
@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_wrong_is_found(page, explorer: Explorer, fault: str):
    """The look above sees a text that is cut, outside, on another one, or hidden."""
    page.set_viewport_size({"width": 1280, "height": 720})
    bare_page.show(page, explorer)
    page.add_style_tag(content="body { margin: 0 !important } .placelab-explorer { height: 100vh }")
    bare_page.still(page)
    assert not page.evaluate(FAULTS)
    page.evaluate(LINE, f"position: fixed; left: 600px; top: 690px; white-space: nowrap; {BROKEN[fault]}")
    assert any(fault in found for found in page.evaluate(FAULTS))
