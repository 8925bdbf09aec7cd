"""The decisions view in a real browser, on a bare page with the Python object as its model."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from support import bare_page

import placelab as pl
from placelab.app.widgets.decisions import Decisions

TOPCUOGLU = pl.datasets.problem("topcuoglu")
PAPER = """
T1 P3 14 16 9|T3 P3 32 34 28|T4 P2 31 26 45|T2 P1 40 46 46|T5 P3 52 39 38
T6 P2 53 42 47|T9 P2 69 68 76|T7 P3 58 83 49|T8 P1 62 79 73|T10 P2 102 80 97
""".replace("\n", "|")
SIZES = {"panel": (560, 170), "wide": (1200, 420)}

STICKS_OUT = """() => {
  const root = document.querySelector('.pl-decisions'), box = root.parentElement.getBoundingClientRect();
  return [...root.querySelectorAll('*:not(style, option)')].filter((e) => {
    const own = e.getBoundingClientRect();
    const scrolled = e.closest('.list, .candidates, .why') && !e.matches('.list, .candidates, .why');
    const out = own.right > box.right + 1 || (!scrolled && own.bottom > box.bottom + 1);
    return own.width && (out || (e.textContent && parseFloat(getComputedStyle(e).fontSize) < 11));
  }).map((e) => e.className || e.tagName);
}"""


def traced(name: str, problem: pl.Problem = TOPCUOGLU) -> pl.Placement:
    return pl.place(problem, name, trace=True)


def show(page: Page, view: Decisions, size: str = "panel", theme: str = "light") -> None:
    """The view in a box of a panel's size, ready for keys."""
    bare_page.show(page, view, theme)
    width, height = SIZES[size]
    page.evaluate(
        "([w, h]) => { document.querySelector('.pl-decisions').parentElement.style.cssText = `width:${w}px;height:${h}px` }",
        [width, height],
    )
    page.locator(".list").focus()


def press(page: Page, *keys: str) -> None:
    """Press keys, as slowly as Python answers: the bare page, unlike Jupyter, takes a late answer for a newer value.

    What is drawn is told to Python, too, a frame after the key.
    """
    for key in keys:
        page.keyboard.press(key)
        bare_page.heard(page)
        bare_page.still(page)
        bare_page.heard(page)


def heading(page: Page, column: int = 0) -> str:
    return page.locator(".detail h3").nth(column).inner_text()


def scores(page: Page) -> list[str]:
    return [text.split()[0] for text in page.locator(".detail .score").all_inner_texts()]


def test_heft_decides_topcuoglus_tasks_as_the_paper_does(page, screenshot):
    """Step by step: the task, the processor chosen, the earliest finish time on each of the three."""
    view = Decisions.of(traced("heft"))
    show(page, view)
    for i, expected in enumerate(filter(None, PAPER.split("|"))):
        op, device, *times = expected.split()
        expect(page.locator(".detail h3 b")).to_have_text(op)
        expect(page.locator(".row[aria-selected=true]")).to_contain_text(op)
        expect(page.locator(".place")).to_have_text(f"{i + 1} / 10")
        assert scores(page) == times
        expect(page.locator("[data-chosen] .device")).to_have_text(device)
        expect(page.locator(".why")).to_contain_text("finishes soonest there")
        assert i == 0 or view.selection == int(op[1:]) - 1
        press(page, "ArrowRight")
    assert view.step == 9
    ghost = next(c for c in view.candidates if c["chosen"])
    assert {key: ghost[key] for key in ("device", "op", "finish")} == {"device": 1, "op": 9, "finish": 80}
    assert len(view.candidates) == 3
    screenshot("heft")


def test_keys_buttons_slider_and_list_step(page):
    """Home, End, ten at a time, buttons at their ends, a click on a row; a selection made elsewhere is gone to."""
    view = Decisions.of(traced("heft"))
    show(page, view)
    press(page, "End")
    expect(page.locator(".place")).to_have_text("10 / 10")
    expect(page.get_by_label("Next (→)")).to_be_disabled()
    press(page, "PageUp", "ArrowLeft")
    expect(page.locator(".place")).to_have_text("1 / 10")
    page.get_by_label("Next (→)").click()
    press(page, "End", "ArrowLeft")  # from a button that the end disables
    expect(page.locator(".place")).to_have_text("9 / 10")
    page.locator(".row").nth(4).click()
    expect(page.locator(".detail h3 b")).to_have_text("T5")
    page.get_by_label("Step", exact=True).fill("6")
    expect(page.locator(".detail h3 b")).to_have_text("T9")
    view.selection = 7
    bare_page.receive(page, view, "selection", "step")
    expect(page.locator(".detail h3 b")).to_have_text("T8")
    expect(page.locator(".row[aria-selected=true]")).to_be_in_viewport()


def test_it_plays_to_the_end(page):
    """Space starts and stops; the end stops it, too."""
    view = Decisions.of(traced("heft"), step=0)
    page.clock.install()
    show(page, view)
    press(page, "Space")
    for i in range(2, 5):
        page.clock.run_for(1000)
        expect(page.locator(".place")).to_have_text(f"{i} / 10")
    press(page, "Space")
    page.clock.run_for(3000)
    expect(page.locator(".place")).to_have_text("4 / 10")
    press(page, "Space")
    for i in range(5, 11):
        page.clock.run_for(1000)
        expect(page.locator(".place")).to_have_text(f"{i} / 10")
    page.clock.run_for(1000)
    expect(page.get_by_label("Play (Space)")).to_be_visible()


def test_predictions_hide_the_answer_and_are_counted(page, screenshot):
    """No score, winner, ghost or later device is in the page before the guess; by key or click; right or wrong."""
    view = Decisions.of(traced("heft"))
    show(page, view)
    press(page, "ArrowRight")
    expect(page.locator(".place")).to_have_text("2 / 10")
    press(page, "p")
    expect(page.locator(".why")).to_contain_text("Where does T3 go?")
    expect(page.locator(".row").nth(0)).to_contain_text("P3")
    assert not page.locator(".score, [data-chosen]").count() and view.candidates == []
    assert page.locator(".row").nth(1).inner_text().split()[-1] == "?"
    assert page.locator(".row").nth(0).inner_text().split()[-1] == "P3"
    screenshot("hidden")
    press(page, "3")
    expect(page.locator(".why")).to_contain_text("Right.")
    expect(page.locator(".toggle").first).to_have_text("Predict 1 / 1")
    assert len(view.candidates) == 3
    press(page, "ArrowRight")
    page.locator("[data-device='0']").click()
    expect(page.locator(".why")).to_contain_text("No, not P1. P2: finishes soonest there")
    expect(page.locator("[data-guessed] .mark")).to_have_text("✗")
    expect(page.locator(".toggle").first).to_have_text("Predict 1 / 2")
    press(page, "ArrowLeft")
    expect(page.locator("[data-chosen] .device")).to_have_text("P3")
    press(page, "p")
    expect(page.locator(".row").nth(9)).to_contain_text("P2")


def test_ranks_add_up_backwards(page, screenshot):
    """From the exit on; the successor that decides is named, and a click goes there."""
    view = Decisions.of(traced("heft"))
    show(page, view)
    press(page, "End", "r")
    expect(page.locator(".why")).to_have_text("rank(T10) = 14.67, its own alone: an exit")
    press(page, "End")
    expect(page.locator(".why")).to_have_text("rank(T1) = 13 own + 18 transfer + 77 rank(T2) = 108")
    assert [float(score) for score in scores(page)] == pytest.approx([95, 92, 89, 80, 77.3], abs=0.05)
    screenshot("ranks")
    page.locator(".detail button.device").first.click()
    expect(page.locator(".detail h3 b")).to_have_text("T2")
    assert view.selection == 1
    press(page, "r")
    expect(page.locator(".place")).to_have_text("4 / 10")


def test_two_strategies_are_shown_side_by_side(page, screenshot):
    """The other's decision about the same op, marks where devices differ, and jumps to the first differences."""
    view = Decisions.of(traced("heft"), traced("tf-greedy"), choices=["cpop", "tf-greedy"], against="tf-greedy")
    show(page, view)
    press(page, "End", "d")
    assert view.step == view.differs[0] == 1
    expect(page.locator(".place")).to_have_text("2 / 10")
    press(page, "End")
    page.get_by_text("first other device").click()
    assert view.step == view.differs[1]
    assert heading(page, 1).startswith("tf-greedy")
    expect(page.locator("section").nth(1)).to_contain_text("A different device")
    assert page.locator(".row[data-mark]").count() > 0
    screenshot("pair")
    view.observe(lambda change: view.show(traced("heft"), traced(change["new"])), "against")
    press(page, "End")
    page.get_by_label("Compare with").select_option("cpop")
    expect(page.locator(".place")).to_have_text("1 / 10")  # the first difference is gone to
    assert view.differs == [0, 0] and heading(page, 1).startswith("cpop")


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_its_box(page, screenshot, size, theme):
    """Nothing sticks out of a panel, alone or compared; text is 11 pixels or more."""
    view = Decisions.of(traced("heft"), traced("cpop"), choices=["cpop"], against="cpop", step=3)
    show(page, view, size, theme)
    assert page.evaluate(STICKS_OUT) == []
    screenshot("compared", page.locator(".pl-decisions"))
    view.against = ""
    view.show(traced("heft"))
    bare_page.receive(page, view, "page", "generation", "about", "against", "differs")
    expect(page.locator("section")).to_have_count(1)
    assert page.evaluate(STICKS_OUT) == []
    screenshot("alone", page.locator(".pl-decisions"))


def test_a_large_graph_is_windowed(page, screenshot):
    """Of 3,000 decisions some dozens are elements; any of them can be gone to at once."""
    graph = pl.generators.layered(3_000, seed=2)
    view = Decisions.of(traced("heft", pl.Problem(graph, pl.Cluster.uniform(50))))
    show(page, view)
    assert page.locator(".row").count() < 40
    press(page, "End")
    last = graph.names[view._traces.trace.op[-1]]
    expect(page.locator(".detail h3 b")).to_have_text(last)
    assert view.step == 2_999 and view.selection == view._traces.trace.op[-1]
    page.locator(".list").evaluate("list => { list.scrollTop = 20 * 1500 }")
    name = graph.names[view._traces.trace.op[1_503]]
    expect(page.locator(".row[data-row='1503']")).to_contain_text(name)
    expect(page.locator(".detail h3 b")).to_have_text(last)
    expect(page.locator("[data-chosen]")).to_be_in_viewport()
    screenshot("fifty")


def test_names_are_text(page):
    """A hostile op name is shown as it is."""
    name = "<img src=x onerror=alert(1)>"
    graph = pl.OpGraph.from_arrays([name, "b"], [1.0, 2.0], [(0, 1)])
    view = Decisions.of(traced("heft", pl.Problem(graph, pl.Cluster([1.0, 2.0]))))
    show(page, view)
    expect(page.locator(".detail h3 b")).to_have_text(name)
    assert not page.locator("img").count()


def test_a_note_takes_the_place_of_the_list(page):
    """The reason why there is nothing."""
    view = Decisions()
    view.clear("ilp records no decisions.")
    bare_page.show(page, view)
    expect(page.locator(".note")).to_have_text("ilp records no decisions.")
    expect(page.locator(".main")).to_be_hidden()


def test_an_ops_name_has_its_share_of_the_list(page):
    """Also beside long names of devices, of which less is new in each line."""
    graph = pl.OpGraph.from_arrays(["stem/first/conv", "stem/second/conv"], [1.0, 2.0], [(0, 1)])
    cluster = pl.Cluster([1.0, 2.0], names=["a machine with quite a long name:0", "a machine with quite a long name:1"])
    show(page, Decisions.of(traced("heft", pl.Problem(graph, cluster))))
    bare_page.still(page)
    share = page.locator(".row").first.evaluate("row => row.children[1].offsetWidth / row.offsetWidth")
    assert share >= 0.3
    assert page.locator(".main").evaluate("e => e.children[0].offsetWidth / e.offsetWidth") > 0.45
