"""One state of truth: what belongs to another state than the newest is grey and says that it is computed, never a mixture."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from support.bare_page import portable, show
from support.boxes import box_of

import placelab as pl
from placelab.app.explorer.engine import remedies
from placelab.app.explorer.readable import Readable
from placelab.app.widgets import controls as w

COMPUTING = "pl-computing"


@pytest.fixture
def explorer():
    """Heft on a small graph, with a training job's numbers."""
    opened = pl.explore(pl.generators.layered(60, seed=3), pl.clusters.pcie_box())
    assert opened.settled(60) and opened.comparison.settled(60)
    yield opened
    opened.close()


def grey(where: Locator) -> None:
    """Whether what stands there looks outdated, and says so."""
    said = where.evaluate(
        "e => [getComputedStyle(e, '::after').content, getComputedStyle(e.firstElementChild).opacity]"
    )
    assert said == ['"computing …"', "0.5"]


def test_results_that_come_out_of_order_are_never_mixed(page: Page, explorer, screenshot):
    """The newest state first; then numbers, comparison and chart of it, in an order that is not the kernel's; then an old one."""
    show(page, explorer)
    root = page.locator(".placelab-explorer")
    figures = root.locator(".pl-figures")
    chart, table = (root.locator(f".pl-view:has(> .pl-{view})") for view in ("gantt", "comparison"))
    expect(figures).to_contain_text("legal")
    expect(root.locator(f".{COMPUTING}")).to_have_count(0)
    before = state_of(explorer)
    explorer.change(lambda state: state.with_strategy("partitioner", "round-robin"))
    assert explorer.settled(60)
    after = state_of(explorer)
    gantt = explorer.gantt.model_id
    text = explorer.numbers.figures.model_id

    def receive(*names: str, of: dict) -> None:
        page.evaluate("news => model.receive(news)", {name: of[name] for name in names})

    receive("now", of=after)
    for each in (figures, chart):
        expect(each).to_contain_class(COMPUTING)
        grey(each)
    expect(table).not_to_contain_class(COMPUTING)  # it is of the problem, which is the same
    expect(figures).to_contain_text(explorer_time(before, text))
    screenshot("computing")
    receive(f"{text}.result_of", f"{text}.items", of=after)
    expect(figures).not_to_contain_class(COMPUTING)
    expect(chart).to_contain_class(COMPUTING)
    receive(*(name for name in after if name.startswith(f"{gantt}.")), of=after)
    expect(chart).not_to_contain_class(COMPUTING)
    receive(*after, of=after)
    expect(root.locator(f".{COMPUTING}")).to_have_count(0)
    receive(f"{text}.result_of", f"{text}.items", of=before)  # late, as from another thread
    expect(figures).to_contain_class(COMPUTING)
    expect(chart).not_to_contain_class(COMPUTING)


@pytest.mark.slow
def test_details_and_curve_of_another_state_are_grey(page: Page, explorer, screenshot):
    """The drawer says that it is computed from the moment at which the state is another one, whatever comes late or early."""
    explorer.gantt.drawer = True
    explorer.gantt.selection = 5
    wait_for(lambda: explorer.gantt.details.get("title"))
    show(page, explorer)
    drawer = page.locator(".pl-gantt .drawer")
    columns = drawer.locator(".columns")
    line = page.locator(".pl-gantt .detail")
    expect(columns).not_to_contain_class(COMPUTING)
    expect(line).not_to_contain_class("of-before")
    before = state_of(explorer)
    explorer.change(lambda state: state.with_strategy("partitioner", "round-robin"))
    assert explorer.settled(60)
    gantt = explorer.gantt.model_id
    wait_for(lambda: explorer.gantt.details.get("of") == explorer.now)
    after = state_of(explorer)
    said = f"{gantt}.details"

    def receive(*names: str, of: dict) -> None:
        page.evaluate("news => model.receive(news)", {name: of[name] for name in names})

    receive(*(name for name in after if name != said and name != f"{gantt}.detail"), of=after)  # all but the details
    expect(columns).to_contain_class(COMPUTING)
    expect(line).to_contain_class("of-before")
    expect(page.locator(".pl-view:has(> .pl-gantt)")).not_to_contain_class(COMPUTING)
    grey(columns)
    screenshot("computing")
    receive(said, of=after)
    expect(columns).not_to_contain_class(COMPUTING)
    receive(said, of=before)  # late, as from another thread
    expect(columns).to_contain_class(COMPUTING)

    pairs = [[0, 1], [1, 0]]
    explorer.set_state({f"{gantt}.value": {"kind": "bandwidth", "label": "bandwidth", "pairs": pairs}})
    wait_for(lambda: explorer.gantt.details.get("over") and "values" in explorer.gantt.curve)
    assert explorer.settled(60) and explorer._curve.settled(60)
    valued = state_of(explorer)
    receive(*valued, of=valued)
    curve = drawer.locator(".over")
    expect(curve.locator("polyline")).to_be_visible()
    expect(curve).not_to_contain_class(COMPUTING)
    another = valued[f"{gantt}.curve"] | {"of": before["now"]}
    receive(f"{gantt}.curve", of={f"{gantt}.curve": another})
    expect(curve).to_contain_class(COMPUTING)
    grey(curve)
    expect(columns).not_to_contain_class(COMPUTING)
    receive(f"{gantt}.curve", of=valued)
    expect(curve).not_to_contain_class(COMPUTING)


@pytest.mark.parametrize(
    "title",
    ["Graph", *(pytest.param(title, marks=pytest.mark.slow) for title in ("Decisions", "What matters", "Difference"))],
)
def test_a_tab_says_that_it_shows_another_state(page: Page, explorer, title: str):
    """What is in it is grey until it is that of the newest state."""
    panel = explorer.tabs.panels[title]
    explorer.keep(explorer.schedule)
    explorer.change(lambda state: state.with_strategy("partitioner", "m-etf"))
    explorer.tabs.open(title)
    wait_for(lambda: panel.view.result_of == explorer.now)
    show(page, explorer)
    view = page.locator(f".pl-stack .pl-view:has(> .pl-{ROOTS[title]})")
    expect(view).not_to_contain_class(COMPUTING)
    # Python's answers have the state, too.
    page.evaluate("() => { window.toPython = async () => ({}); return model.answered; }")
    page.evaluate("now => model.receive({now})", "another:state")
    expect(view).to_contain_class(COMPUTING)
    grey(view)
    page.evaluate("now => model.receive({now})", explorer.now)
    expect(view).not_to_contain_class(COMPUTING)


@pytest.mark.parametrize(
    ("title", "root"), [pytest.param("Layers", "layers", marks=pytest.mark.slow), ("Job", "plans")]
)
def test_layers_and_plan_say_that_they_are_of_another_problem(page: Page, title: str, root: str, screenshot):
    """They need no schedule: they are current with any strategy, and grey once the problem is another one."""
    with_decoder = pl.explore(pl.models.read("gpt2"), pl.costs.cluster("h100", 4), tab=title)
    try:
        panel = with_decoder.tabs.panels[title]
        if title == "Job":
            panel.to_plan.click()
        view = panel.plan.board if title == "Job" else panel.view
        of_problem = lambda: with_decoder.now.partition(":")[0]  # noqa: E731
        wait_for(lambda: view.result_of == of_problem())
        before = state_of(with_decoder)
        show(page, with_decoder)
        shown = page.locator(f".pl-stack .pl-view:has(> .pl-{root})")
        expect(shown).not_to_contain_class(COMPUTING)
        page.evaluate("now => model.receive({now})", f"{of_problem()}:another")
        page.wait_for_timeout(300)  # longer than what is outdated for a moment looks current
        expect(shown).not_to_contain_class(COMPUTING)
        page.evaluate("now => model.receive({now})", "another:state")
        expect(shown).to_contain_class(COMPUTING)
        grey(shown)
        screenshot("computing")

        slower = lambda state: state.with_cluster(state.cluster.replace(speed=state.cluster.speed / 2), state.layout)  # noqa: E731
        with_decoder.change(slower)
        assert with_decoder.settled(60) and view.result_of == of_problem() != before["now"].partition(":")[0]
        after = state_of(with_decoder)
        page.evaluate("news => model.receive(news)", {"now": after["now"]})
        expect(shown).to_contain_class(COMPUTING)
        of_view = {name: value for name, value in after.items() if name.startswith(f"{view.model_id}.")}
        page.evaluate("news => model.receive(news)", of_view)
        expect(shown).not_to_contain_class(COMPUTING)
    finally:
        with_decoder.close()


ROOTS = {"Graph": "graph", "Decisions": "decisions", "What matters": "matters", "Difference": "difference"}


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_rejection_leaves_the_charts_foot_in_sight(page: Page, theme: str, screenshot):
    """Nothing is said below an outdated chart, which says it itself, and so the message ends above the row of details."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1e9, 1e9], [(0, 1)], persistent=[6e9, 6e9])
    opened = pl.explore(pl.Problem(graph, pl.Cluster([1e12] * 2, memory=[8e9] * 2), memory="dynamic"))
    try:
        assert opened.schedule
        opened.change(lambda state: state.with_cluster(state.cluster.replace(memory=[5e9] * 2), state.layout))
        wait_for(lambda: not opened.rejection.box.hidden)
        assert opened.rejection.settled(60)
        page.set_viewport_size({"width": 1280, "height": 720})
        show(page, opened, theme)
        root = page.locator(".placelab-explorer")
        expect(root.locator(".pl-view:has(> .pl-gantt)")).to_contain_class(COMPUTING)
        expect(root.locator(".pl-gantt")).to_contain_class("outdated")
        message, foot = (box_of(root.locator(where)) for where in (".pl-rejection", ".pl-gantt .foot"))
        assert message["y"] + message["height"] <= foot["y"]
        screenshot(theme)
    finally:
        opened.close()


BOXES = """message => [message, ...message.querySelectorAll("button, table")].map((part) => {
  const { x, y, width, height } = part.getBoundingClientRect();
  return [x, y, width, height];
})"""


def test_places_of_remedies_do_not_move(page: Page, monkeypatch, screenshot):
    """From "trying" to buttons and struck-out names: each stays where it was, as do all other buttons and the devices."""
    turns = threading.Semaphore(0)
    whole = remedies.value_of

    def in_turn(*arguments: Any) -> float | None:
        turns.acquire(timeout=30)
        return whole(*arguments)

    monkeypatch.setattr(remedies, "value_of", in_turn)
    opened = pl.explore("alexnet", "pcie_box", partitioner="single")
    try:
        assert opened.schedule
        small = lambda s: s.with_cluster(s.cluster.replace(memory=[358e6] * 4), s.layout)  # noqa: E731
        opened.change(lambda state: replace(small(state), memory="dynamic"))
        wait_for(lambda: not opened.rejection.box.hidden)
        page.set_viewport_size({"width": 1280, "height": 720})
        show(page, opened)
        message = page.locator(".pl-rejection")
        places = message.locator(".pl-places > button")
        expect(places.first).to_have_text("more memory …")
        count = places.count()
        boxes = lambda: message.evaluate(BOXES)  # noqa: E731
        box_of(message)  # at rest
        before = boxes()
        expect(message.locator(".pl-places > button:enabled")).to_have_count(0)
        for more in (5, count):
            for _ in range(more):
                turns.release()
            wait_for(lambda more=more: sum("…" not in p.description for p in opened.rejection.offers.children) >= more)
            page.evaluate("news => model.receive(news)", state_of(opened))
            expect(message.locator(".pl-trying")).to_have_count(count - more)
            assert boxes() == before
        assert opened.rejection.settled(60)
        assert not message.evaluate("box => box.scrollHeight > box.clientHeight")
        cut = "all => all.filter((place) => place.scrollWidth > place.clientWidth).map((place) => place.textContent)"
        assert places.evaluate_all(cut) == []
        expect(message.locator(".pl-unfit", has_text="critical-path")).to_have_css(
            "text-decoration-line", "line-through"
        )
        screenshot("found")
    finally:
        turns.release(1000)
        opened.close()


def wait_for(true: Callable[[], object]) -> None:
    """Until it is."""
    until = time.monotonic() + 30
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_another_problem_leaves_no_number_that_looks_like_its_own(page: Page, explorer):
    """The comparison and the best known are of the problem before, too."""
    show(page, explorer, "dark")
    root = page.locator(".placelab-explorer")
    expect(root.locator(".pl-figures")).to_contain_text("legal")
    page.evaluate("() => model.receive({now: 'another:state'})")
    for part in (".pl-figures", ".pl-chip", ".pl-par", ".pl-view:has(> .pl-gantt)", ".pl-view:has(> .pl-comparison)"):
        expect(root.locator(part)).to_contain_class(COMPUTING)
    page.evaluate("now => model.receive({now})", explorer.now)
    expect(root.locator(f".{COMPUTING}")).to_have_count(0)


def state_of(explorer) -> dict:
    """What the page knows of the explorer, as it is sent."""
    return {name: portable(value) for name, value in explorer.get_state().items() if not name.startswith("_")}


def explorer_time(state: dict, text: str) -> str:
    """The makespan as the numbers write it."""
    return next(item["value"] for item in state[f"{text}.items"] if item["key"] == "makespan")


def test_a_failure_of_the_state_before_makes_room_for_what_runs(page: Page):
    """It would cover what is awaited, and its buttons would be cut; it is there again where nothing runs."""
    running = w.Running(title="slow", said="5,230 ops on 4 devices", stop="Stop").add_class("pl-running")
    failure = w.VBox([w.Failed(failure={"sentence": "mine: IndexError"})]).add_class("pl-failure")
    messages = w.VBox([running, failure]).add_class("pl-messages")
    show(page, Readable([messages]))
    expect(page.locator(".pl-running")).to_be_visible()
    expect(page.locator(".pl-failure")).to_be_hidden()
    running.hidden = True
    show(page, Readable([messages]))
    expect(page.locator(".pl-running")).to_be_hidden()
    expect(page.locator(".pl-failure")).to_be_visible()


def test_after_a_failure_the_line_below_the_chart_does_not_say_that_it_computes(page: Page):
    """Nothing runs then: what it says is of the state before."""
    show(page, Readable([w.HBox([]).add_class("pl-failed")]))
    expect(page.locator(".pl-failed")).to_have_count(1)
    before = page.evaluate(
        """() => {
          const line = document.createElement("div");
          line.className = "detail of-before";
          const chart = document.createElement("div");
          chart.className = "pl-gantt";
          chart.append(line);
          document.querySelector(".placelab-explorer").append(chart);
          return getComputedStyle(line, "::before").content;
        }"""
    )
    assert before == '"of the state before: "'
