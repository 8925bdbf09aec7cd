"""A long session does not fill the memory. First of all files by name, since it takes longest."""

import pytest
from browser.test_explorer import explore, key  # noqa: F401
from browser.test_saved import LINK
from playwright.sync_api import Page

# Drags by events of the page: a mouse of the test's own waits for a picture after each, which takes five times as long.
DRAG = """async (handle, times) => {
  const picture = () => new Promise(requestAnimationFrame), chart = document.querySelector(".placelab-explorer .pl-gantt");
  for (let i = 0; i < times; i++) {
    const { x, y, width, height } = handle.getBoundingClientRect(), [left, top] = [x + width / 2, y + height / 2];
    const send = (type, moved) => handle.dispatchEvent(new PointerEvent(type, { clientX: left + moved, clientY: top,
      pointerId: 1, pointerType: "mouse", isPrimary: true, button: 0, buttons: 1, bubbles: true, cancelable: true }));
    send("pointerdown", 0);
    for (const moved of [8, 16, 24]) {
      send("pointermove", i % 2 ? moved : -moved);
      await picture();
    }
    send("pointerup", i % 2 ? 24 : -24);
    for (let waited = 0; waited < 4 || chart.dataset.stale !== "false"; waited++) await picture();
  }
}"""
COUNT = """drags = set()
explorer.canvas.observe(lambda change: drags.add(change["new"]["gesture"]), "edit")"""


@pytest.mark.slow
@pytest.mark.own_page
def test_a_thousand_drags_leave_nothing_behind(explore, page: Page):  # noqa: F811
    """After garbage collection, the page's heap, nodes and listeners and the kernel's memory have grown by less than 10 %."""
    hand = explore('"convolutional_network"')
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")
    tools.send("HeapProfiler.enable")
    handle = key(hand, LINK)
    handle.hover()  # the page has a mouse then
    hand.notebook.execute(COUNT)

    def drag(times: int) -> None:
        handle.evaluate(DRAG, times)
        hand.settled()

    def used() -> dict[str, float]:
        for _ in range(3):
            tools.send("HeapProfiler.collectGarbage")
        metrics = {metric["name"]: metric["value"] for metric in tools.send("Performance.getMetrics")["metrics"]}
        kernel = hand.notebook.execute(
            "import gc, re; gc.collect(); print(re.search(r'VmRSS:\\s*(\\d+)', open('/proc/self/status').read())[1])"
        )
        return {name: metrics[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")} | {
            "kernel": float(kernel)
        }

    def least() -> dict[str, float]:
        """Of five looks: what is garbage is not always collected at once."""
        hand.settled()
        hand.compared()
        hand.notebook.execute("assert explorer.saved.settled(60)")
        looks = [used() for _ in range(5)]
        return {name: min(look[name] for look in looks) for name in looks[0]}

    drag(100)  # what is made once is there then: code, caches, the history's fullest length
    before = least()
    drag(1000)
    after = least()
    assert hand.notebook.value("len(drags)") >= 1000
    grown = {name: after[name] / before[name] for name in before}
    assert all(ratio < 1.1 for ratio in grown.values()), (grown, before, after)
