"""A plan in the tab Job in JupyterLab at 1280 × 720: sliders, memory, winners by click and keys, plane; the library's numbers.
From 1440 × 900 on, all of it at once."""

from __future__ import annotations

import pytest
from browser.test_explorer import Hand, at_1280
from playwright.sync_api import expect
from support.boxes import box_of

OPEN = """import placelab as pl
from placelab.base.units import seconds
gpus = pl.costs.cluster("h100", 8)
explorer = pl.explore(pl.models.read("gpt2"), gpus, tab="Job")
page = explorer.tabs.panels["Job"].plan
def library():
    state = explorer.state.planned
    return pl.plan("gpt2", gpus, state.plan, batch=state.batch, sequence=state.sequence)
explorer"""
DEGREES = "[explorer.state.planned.plan.dp, explorer.state.planned.plan.tp, explorer.state.planned.plan.pp]"


@pytest.fixture
def hand(page, open_notebook):
    found = at_1280(page, open_notebook, OPEN)
    found.root.locator(".pl-job-head").get_by_role("button", name="Plan", exact=True).click()
    found.becomes("explorer.state.planned is not None", True)
    return found


def agrees(hand: Hand) -> None:
    """Bars and the line of numbers are those of `pl.plan`."""
    took = hand.notebook.value("seconds(library().seconds)")
    expect(hand.root.locator(".pl-plans .said")).to_contain_text(f"{took} per step")
    totals = hand.notebook.value("library().memory['total'].tolist()")
    expect(hand.root.locator(".pl-plans .stage")).to_have_count(len(totals))
    for stage, total in enumerate(totals):
        parts = hand.root.locator(f".pl-plans .stage[data-stage='{stage}'] [data-bytes]").all()
        assert sum(float(part.get_attribute("data-bytes")) for part in parts) == pytest.approx(total)


def inside(hand: Hand, *parts: str) -> None:
    """All that is seen of these lies in the tab."""
    outer = box_of(hand.root.locator(".pl-tabs"))
    for part in parts:
        for each in hand.root.locator(f"{part}:visible").all():
            inner = box_of(each)
            assert inner["x"] >= outer["x"] and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1, part
            assert inner["y"] >= outer["y"] and inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 1, part


def test_degrees_are_slid(hand, screenshot):
    """Arrow keys go from one legal value to the next, the product stays, bars and numbers follow, undo leads back."""
    agrees(hand)
    before = hand.notebook.value(DEGREES)
    slider = hand.root.locator(".pl-plan-controls .pl-slider", has_text="pp: ").locator("input")
    slider.focus()
    hand.page.keyboard.press("ArrowRight")
    hand.becomes("explorer.state.planned.plan.pp", 2)
    hand.page.keyboard.press("ArrowRight")
    hand.becomes("explorer.state.planned.plan.pp", 4)
    assert hand.notebook.value("explorer.state.planned.plan.devices") == 8
    agrees(hand)
    hand.root.locator(".pl-plan-controls").get_by_label("recompute").select_option("full")
    hand.becomes("explorer.state.planned.plan.recompute", "full")
    agrees(hand)
    screenshot("degrees")
    inside(
        hand,
        ".pl-job-head .pl-layers-head > *",
        ".pl-plan-controls .pl-slider",
        ".pl-plan-controls .pl-menu",
        ".pl-plans .stage",
    )
    while hand.notebook.value("explorer.state.planned is not None and len(explorer.steps.past) > 1"):
        hand.button("↶").click()
        hand.settled()
    assert hand.notebook.value(DEGREES) == before


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 1440])
def test_what_would_make_it_fit(hand, screenshot, width):
    """A plan that lacks memory says two choices with which it fits; a click, or Enter, takes one of them over; nothing is cut."""
    hand.page.set_viewport_size(dict(width=width, height=720 if width == 1280 else 900))
    more = "plan=pl.Plan(dp=2, pp=4, microbatch=200), batch=1600"
    hand.notebook.execute(
        f"from dataclasses import replace\nexplorer.shared.change(lambda s: s.with_spread(replace(s.planned, {more})))"
    )
    ways = hand.root.locator(".pl-plans .way")
    expect(ways).to_have_count(2)
    expect(hand.root.locator(".pl-plans .said")).to_contain_text("lacks")
    hand.page.wait_for_timeout(300)
    screenshot(f"lacks-{width}")
    inside(hand, ".pl-plans .said", ".pl-plans .way", ".pl-plans .bars", ".pl-plans .legend")
    lacking = box_of(hand.root.locator(".pl-plans .stage", has=hand.page.locator(".value.bad")).first)
    seen = box_of(hand.root.locator(".pl-plans .bars"))
    assert seen["y"] - 1 <= lacking["y"] and lacking["y"] + lacking["height"] <= seen["y"] + seen["height"] + 1
    ways.nth(1).focus()
    hand.page.keyboard.press("Enter")
    hand.becomes("explorer.state.planned.plan.recompute", "full")
    expect(ways).to_have_count(0)
    agrees(hand)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_gradients_lie_on_streams_under_their_devices(hand, screenshot, theme):
    """Each rank's lane has its stream's under it; the chart takes the plan's seconds, also after a link has been dragged."""
    hand.notebook.set_theme(theme)
    for name, value in (("pp", 2), ("tp", 2), ("zero", 2), ("microbatch", 4)):
        move = f"lambda s: s.with_spread(s.planned.moved({name!r}, {value}, s.cluster))"
        hand.notebook.execute(f"explorer.shared.change({move})")
    hand.becomes(DEGREES, [2, 2, 2])
    hand.shows("explorer.state.planned.result(explorer.state.cluster).schedule('gradients')")
    agrees(hand)
    assert hand.notebook.value("abs(explorer.schedule.makespan / library().seconds - 1) < 1e-12")
    screenshot(f"streams-{theme.split()[-1].lower()}")
    stage = hand.root.locator(".pl-gantt .stage")
    high = box_of(stage)["height"]
    for k, name in enumerate(["gpu:0", "gpu:0/stream", "gpu:4", "gpu:4/stream"]):
        stage.click(position=dict(x=20, y=25 + (high - 25) * (k + 0.4) / 4))
        expect(hand.root.locator(".pl-gantt .drawer header b")).to_have_text(name)
        hand.page.keyboard.press("Escape")
    before = hand.notebook.value("explorer.schedule.makespan")
    hand.pull(hand.root.locator(".pill.bandwidth").first, -60)
    hand.shows("explorer.state.planned.result(explorer.state.cluster).schedule('gradients')")
    assert hand.notebook.value("explorer.schedule.makespan") > before


PARTS = (".pl-plan-controls", ".pl-plans .bars", ".pl-plans .legend", ".pl-plans .winners", ".pl-plans .plane")


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1920, 1080)])
def test_a_wide_page_has_degrees_winners_and_plane_at_once(hand, screenshot, theme, width, height):
    """No part covers another or leaves the tab, a search fills two of them, a cell's plan moves the sliders, no choice of pages
    is left; at 1280 there is one page at a time, again."""
    hand.page.set_viewport_size(dict(width=width, height=height))
    hand.notebook.set_theme(theme)
    hand.notebook.execute("explorer.shared.change(lambda s: s.with_spread(s.planned.moved('pp', 4, s.cluster)))")
    hand.becomes("explorer.state.planned.plan.pp", 4)
    hand.button("Search").click()
    hand.notebook.execute("page.search.settled(120)")
    expect(hand.root.locator(".pl-plans tbody tr").nth(10)).to_be_attached()
    expect(hand.root.locator(".pl-job-head .pl-plan-pages")).to_be_hidden()
    boxes = [box_of(hand.root.locator(part)) for part in PARTS]
    outer = box_of(hand.root.locator(".pl-tabs"))
    for box in boxes:
        assert box["width"] > 100 and box["height"] > 20
        assert box["x"] >= outer["x"] and box["x"] + box["width"] <= outer["x"] + outer["width"] + 1
        assert box["y"] >= outer["y"] and box["y"] + box["height"] <= outer["y"] + outer["height"] + 1
    for k, one in enumerate(boxes):
        for other in boxes[k + 1 :]:
            beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            assert beside or one["y"] + one["height"] <= other["y"] + 1 or other["y"] + other["height"] <= one["y"] + 1
    inside(
        hand, ".pl-job-head .pl-layers-head > *", ".pl-plan-controls .pl-slider", ".pl-plans .stage", ".pl-plans .said"
    )
    wide = "e => [...e.querySelectorAll('b')].filter(b => b.scrollWidth > b.parentElement.clientWidth).map(b => b.textContent)"
    assert hand.root.locator(".pl-plans .cells").evaluate(wide) == []
    sizes = "e => [...e.querySelectorAll('*')].map(x => parseFloat(getComputedStyle(x).fontSize))"
    assert min(hand.root.locator(".pl-plan-page").evaluate(sizes)) >= 11
    screenshot(f"wide-{width}-{theme.split()[-1].lower()}")
    hand.notebook.execute("before = explorer.state.planned.plan")
    hand.root.locator(".pl-plans .cells button:not(:disabled)[aria-pressed=false]").first.click()
    hand.becomes("explorer.state.planned.plan != before", True)
    agrees(hand)
    hand.page.set_viewport_size(dict(width=1280, height=720))
    expect(hand.root.locator(".pl-job-head .pl-plan-pages")).to_be_visible()
    expect(hand.root.locator(".pl-plans .plane")).to_be_hidden()


@pytest.mark.slow
def test_winners_are_searched_and_shown(hand, screenshot):
    """Search streams rows; a click and the keys apply a plan; the plane has the best of each pair; all in both themes."""
    hand.button("Search").click()
    hand.notebook.execute("page.search.settled(120)")
    best = "pl.plan_search('gpt2', gpus, batch=64, sequence=1024).frame.dropna(subset='seconds')"
    rows = hand.root.locator(".pl-plans tbody tr")
    expect(hand.button("Search")).to_be_visible()
    took = hand.notebook.value(f"seconds({best}.seconds.iloc[0])")
    expect(rows.first.locator("td").nth(3)).to_have_text(took)
    rows.nth(2).click()
    first = f"[int({best}.iloc[2][name]) for name in ('dp', 'tp', 'pp')]"
    hand.becomes(DEGREES, hand.notebook.value(first))
    expect(rows.nth(2)).to_have_attribute("aria-selected", "true")
    rows.nth(2).focus()
    hand.page.keyboard.press("ArrowUp")
    hand.page.keyboard.press("ArrowUp")
    hand.page.keyboard.press("Enter")
    hand.becomes("library().seconds", hand.notebook.value(f"float({best}.seconds.iloc[0])"))
    rows.nth(1).focus()
    hand.page.keyboard.press("k")
    hand.becomes("explorer.shared.kept is not None", True)
    expect(rows.nth(1).locator("td").first).to_contain_text("◈")
    screenshot("winners")
    hand.notebook.set_theme("JupyterLab Dark")
    hand.root.locator(".pl-job-head").get_by_role("button", name="Plane", exact=True).click()
    cells = hand.root.locator(".pl-plans .cells button")
    expect(hand.root.locator(".pl-plans .cells button[aria-pressed=true]")).to_contain_text(f"★ {took}")
    hand.page.wait_for_timeout(300)
    screenshot("plane-dark")
    inside(hand, ".pl-job-head .pl-layers-head > *", ".pl-plans .cells", ".pl-plans .status")
    other = hand.root.locator(".pl-plans .cells button:not(:disabled)[aria-pressed=false]").first
    other.focus()
    hand.page.keyboard.press("Enter")
    expect(hand.root.locator(".pl-plans .cells button[aria-pressed=true]")).not_to_contain_text("★")
    assert cells.count() >= 9
