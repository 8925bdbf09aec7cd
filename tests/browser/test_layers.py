"""The tab Layers in JupyterLab at 1280 × 720: a border dragged, keys, undo, dark; its numbers are the library's."""

from __future__ import annotations

import re

import pytest
from browser.test_explorer import Hand, at_1280
from playwright.sync_api import expect
from support.boxes import box_of

OPEN = """import placelab as pl
types = ["rtx4090", "rtx3090", "t4"]
known = [pl.costs.specs()[name] for name in types]
memory = [spec.memory for spec in known]
gpus = pl.Cluster([spec.speed for spec in known], memory=memory, names=types, types=types, bandwidth=16e9, latency=1e-5)
best = pl.split_layers("llama-3-8b", gpus, context=8192)
explorer = pl.explore(pl.models.read("llama-3-8b"), gpus)
explorer"""
BORDERS = "list(explorer.tabs.panels['Layers'].view.borders)"


@pytest.fixture
def hand(page, open_notebook):
    return at_1280(page, open_notebook, OPEN)


def follows(hand: Hand, split: str) -> None:
    """The strip shows the borders, seconds and bytes of a split of the library."""
    hand.becomes(BORDERS, hand.notebook.value(f"list(({split}).borders)"))
    words = "from placelab.base.units import seconds, si"
    times = hand.notebook.value(f"(exec({words!r}, globals()), [seconds(float(t)) for t in ({split}).seconds])[1]")
    expect(hand.root.locator(".pl-layers .value.time")).to_have_text(times)
    sizes = hand.notebook.value(f"({split}).memory.tolist()")
    for d, size in enumerate(sizes):
        parts = hand.root.locator(f".pl-layers .row[data-device='{d}'] .memory [data-bytes]")
        expect(parts.first).to_be_visible()
        assert sum(float(part.get_attribute("data-bytes")) for part in parts.all()) == pytest.approx(size)


@pytest.mark.slow
def test_a_border_is_dragged(hand):
    """It snaps to layers, seconds and memory follow, one undo takes it back."""
    follows(hand, "best")
    handle = hand.root.locator(".pl-layers .handle").first
    block = box_of(hand.root.locator(".pl-layers [data-block='20']"))
    here = box_of(handle.locator(".line"))
    hand.pull(handle, block["x"] - here["x"] - here["width"] / 2)
    hand.becomes(f"{BORDERS}[1]", 20)
    follows(hand, "best.moved(0, 20 - best.borders[1])")
    assert hand.notebook.value("len(explorer.steps.past)") == 1
    expect(handle).to_have_attribute("aria-valuenow", "20")
    expect(hand.root.locator(".pl-layers .side b")).to_have_attribute("title", re.compile("over the best"))
    hand.button("↶").click()
    hand.settled()
    follows(hand, "best")


@pytest.mark.slow
def test_keys_move_a_border_and_all_is_inside_its_box(hand, screenshot):
    """By four layers, and as far as it may go; light and dark."""
    screenshot("best")
    handle = hand.root.locator(".pl-layers .handle").first
    handle.focus()
    first = hand.notebook.value(f"{BORDERS}[1]")
    hand.page.keyboard.press("Shift+ArrowLeft")
    hand.becomes(f"{BORDERS}[1]", first - 4)
    hand.page.keyboard.press("Home")
    hand.becomes(f"{BORDERS}[1]", int(handle.get_attribute("aria-valuemin")))
    for _ in range(2):
        hand.button("↶").click()
        hand.settled()
    follows(hand, "best")
    hand.notebook.set_theme("JupyterLab Dark")
    hand.page.wait_for_timeout(300)
    screenshot("dark")
    outer = box_of(hand.root.locator(".pl-tabs"))
    for part in (
        ".pl-layers-head > *:visible",
        ".pl-layers .strip",
        ".pl-layers .jumps",
        ".pl-layers .row",
        ".pl-layers .legend",
    ):
        for each in hand.root.locator(part).all():
            inner = box_of(each)
            assert inner["x"] >= outer["x"] and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
            assert inner["y"] >= outer["y"] and inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 1


@pytest.mark.parametrize(("devices", "said"), [(4, ""), pytest.param(8, "3 of 8 ▾", marks=pytest.mark.slow)])
def test_no_bar_is_cut(page, open_notebook, screenshot, devices, said):
    """Four devices have their bars at once; of eight, as many as have room are whole, and it says of how many."""
    spread = f"""import placelab as pl
known = pl.costs.specs()["rtx3090"]
gpus = pl.Cluster([known.speed] * {devices}, memory=[known.memory] * {devices}, bandwidth=16e9, latency=1e-5)
explorer = pl.explore(pl.models.read("llama-3-8b"), gpus, tab="Layers")
explorer"""
    hand = at_1280(page, open_notebook, spread)
    expect(hand.root.locator(".pl-layers .value.time")).to_have_count(devices)
    page.wait_for_timeout(300)
    screenshot("bars")
    seen = box_of(hand.root.locator(".pl-layers .rows"))
    ends = [box_of(row)["y"] + box_of(row)["height"] for row in hand.root.locator(".pl-layers .row[data-device]").all()]
    bottom = seen["y"] + seen["height"]
    tab = box_of(hand.root.locator(".pl-tabs"))
    assert bottom <= tab["y"] + tab["height"]
    whole = sum(end <= bottom + 0.5 for end in ends)
    assert whole == (devices if not said else 3)
    assert not any(bottom + 0.5 < end < bottom + 11 for end in ends)
    expect(hand.root.locator(".pl-layers .row.head span").first).to_have_text(said)


HOLD = """() => {
  window.held = [];
  window.sends = WebSocket.prototype.send;
  WebSocket.prototype.send = function (data) { window.held.push([this, data]); };
}"""
RELEASE = """() => {
  WebSocket.prototype.send = window.sends;
  for (const [socket, data] of window.held) socket.send(data);
}"""


def test_the_page_is_ahead_of_the_kernel(hand):
    """A border that has moved has its seconds and bytes before the kernel hears of it, which then says the same."""
    split = "best.moved(0, -1)"
    words = "from placelab.base.units import seconds"
    times = hand.notebook.value(f"(exec({words!r}, globals()), [seconds(float(t)) for t in ({split}).seconds])[1]")
    parts = hand.notebook.value(f"[list(held.values()) for held in ({split}).by_category]")
    shown = hand.root.locator(".pl-layers .value.time")
    bytes_of = "els => els.map(el => [...el.querySelectorAll('.memory [data-bytes]')].map(part => +part.dataset.bytes))"

    def says() -> None:
        expect(shown).to_have_text(times)
        found = hand.root.locator(".pl-layers .row[data-device]").evaluate_all(bytes_of)
        assert found == [[size for size, *others in zip(own, *parts, strict=True) if any(others)] for own in parts]

    hand.page.evaluate(HOLD)
    hand.root.locator(".pl-layers .handle").first.focus()
    hand.page.keyboard.press("ArrowLeft")
    says()
    ahead = hand.root.locator(".pl-layers .rows[data-ahead]")
    expect(ahead).to_have_count(1)
    hand.page.evaluate(RELEASE)
    expect(ahead).to_have_count(0)
    says()


@pytest.mark.slow
def test_training_says_what_is_missing(hand, screenshot):
    """Another phase keeps the explorer's history; bars are red past the capacity and say what lacks."""
    hand.root.locator(".pl-phase").get_by_role("button", name="Train").click()
    hand.becomes("explorer.state.layers.phase", "train")
    follows(hand, "explorer.state.layers.split(gpus)")
    expect(hand.root.locator(".pl-layers .value.bad").first).to_contain_text("too much")
    expect(hand.root.locator(".pl-layers .past").first).to_be_visible()
    expect(hand.root.locator(".pl-layers .side b")).to_have_text("does not fit")
    screenshot("train")
    outer, launch = (box_of(hand.root.locator(part)) for part in (".pl-tabs", ".pl-launches"))
    assert launch["x"] + launch["width"] <= outer["x"] + outer["width"] + 1


@pytest.mark.slow
def test_what_to_type_follows_a_border(hand, screenshot):
    """Launch lies over the chart and stays while keys move a border; copy takes the whole text; a ghost jumps; Escape closes."""
    hand.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hand.root.locator(".pl-launches").click()
    panel = hand.root.locator(".pl-launch")
    lines = panel.locator("code")
    expect(lines.nth(1)).to_have_text(hand.notebook.value("pl.export.vllm_partition(best)"))
    screenshot("launch")
    hand.root.locator(".pl-layers .handle").first.focus()
    hand.page.keyboard.press("ArrowLeft")
    expect(lines.nth(0)).to_have_text(hand.notebook.value("pl.export.megatron_layout(best.moved(0, -1))"))
    panel.get_by_role("button", name="Copy").nth(3).click()
    expect(panel.get_by_role("button", name="✓")).to_be_visible()
    copied = hand.page.evaluate("navigator.clipboard.readText()")
    assert copied == hand.notebook.value("pl.export.accelerate(best.moved(0, -1))")
    hand.root.locator(".pl-layers .jumps button").last.click()
    follows(hand, "pl.split_layers('llama-3-8b', gpus, objective='sum', context=8192)")
    expect(panel.locator(".why")).to_contain_text("vLLM runs one on each rank")
    lines.first.focus()
    hand.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    hand.becomes("explorer.tabs.panels['Layers'].launch.value", False)
