"""The playground of the documentation, opened from files: menus, a page that recomputes, and the address that holds the state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import placelab as pl

pytestmark = pytest.mark.own_page  # of another address, which keeps things

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def playground(tmp_path_factory) -> str:
    """Address of a page with what the directive writes, of the two smallest models."""
    pytest.importorskip("sphinx", reason="needs the extra docs")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(DOCS / "_ext")
        import playground

        patched.setattr(playground, "MODELS", ("convolutional_network", "resnet50"))
        folder = tmp_path_factory.mktemp("site")
        shutil.copy(DOCS / "_static" / "playground.js", folder)
        markup = playground.write(folder / "playing", "playing", "playground.js")
    file = folder / "playground.html"
    file.write_text(
        f'<!doctype html><meta charset="utf-8"><title>Playground</title><style>iframe {{ width: 900px }}</style>{markup}',
        encoding="utf-8",
    )
    return file.as_uri()


def frame(page: Page):
    """The frame of the page that is chosen, once it has computed."""
    frame = page.frame_locator("iframe")
    expect(frame.locator(".pl-live[data-makespan]")).to_be_visible()
    return frame


def makespan(page: Page) -> float:
    """What the page in the frame shows [s]."""
    return float(frame(page).locator(".pl-live[data-makespan]").get_attribute("data-makespan"))


@pytest.mark.slow
def test_a_link_of_the_playground_shows_what_was_found(page, browser, playground, screenshot):
    """Model, box, strategies and a drag, opened in a fresh browser: the makespan of the library."""
    page.goto(playground)
    assert makespan(page) == 80
    page.get_by_label("Model").select_option("convolutional_network")
    page.get_by_label("Box").select_option("two_nodes")
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.two_nodes())
    expect(frame(page).locator("h1")).to_contain_text("8 devices")
    assert makespan(page) == pl.solve(problem, "heft", "planned").makespan
    frame(page).get_by_label("Partitioner").select_option("etf")
    frame(page).locator('.cluster [data-key^="bandwidth"]').first.press("PageDown")
    page.wait_for_function("() => /etf.planned;bandwidth/.test(location.hash)")
    expect(page.get_by_label("Link to this state")).to_have_value(page.url)
    page.wait_for_timeout(200)
    found = makespan(page)
    code = frame(page).locator(".pl-live pre").text_content()
    names = {"pl": pl, "schedule": pl.solve(problem, "heft", "planned")}
    exec(code.replace("pl.solve", "found = pl.solve"), names)
    assert names["found"] == found != names["schedule"].makespan
    screenshot("playground")
    fresh = browser.new_context().new_page()
    fresh.goto(page.url)
    expect(frame(fresh).locator("h1")).to_contain_text("8 devices")
    expect(frame(fresh).get_by_label("Partitioner")).to_have_value("etf")
    fresh.wait_for_timeout(200)
    assert makespan(fresh) == found
    frame(fresh).get_by_role("button", name="Reset").click()
    fresh.wait_for_function("() => location.hash.endsWith('#convolutional_network/two_nodes/')")
    fresh.context.close()


def test_a_graph_of_ones_own_gives_the_librarys_makespan(page, browser, playground, tmp_path):
    """A file as `save` writes it, packed or not, on the boxes of the page; its link asks for the file again."""
    graph = pl.generators.layered(80, seed=4)
    graph.save(tmp_path / "mine.json.gz")
    page.goto(playground)
    page.get_by_label("Box").wait_for()
    page.get_by_label("Your file").set_input_files(tmp_path / "mine.json.gz")
    expect(page.get_by_label("Model")).to_have_value("file")
    page.get_by_label("Box").select_option("two_nodes")
    expect(frame(page).locator("h1")).to_have_text("layered 80 · 8 devices")
    expect(page.locator("code")).to_have_text(
        'schedule = pl.solve(pl.Problem(pl.load("mine.json.gz"), pl.clusters.two_nodes()), "heft", "planned")'
    )
    problem = pl.Problem(graph, pl.clusters.two_nodes())
    assert makespan(page) == pl.solve(problem, "heft", "planned").makespan
    frame(page).get_by_label("Partitioner").select_option("etf")
    frame(page).get_by_label("Scheduler").select_option("fifo")
    page.wait_for_function("() => location.hash === '#file/two_nodes/2;etf+fifo'")
    page.wait_for_timeout(200)
    assert makespan(page) == pl.solve(problem, "etf", "fifo").makespan
    fresh = browser.new_context().new_page()
    fresh.goto(page.url)
    expect(fresh.locator("output")).to_have_text("This link is of a file that it does not have: choose it.")
    fresh.get_by_label("Your file").set_input_files(tmp_path / "mine.json.gz")
    expect(frame(fresh).get_by_label("Scheduler")).to_have_value("fifo")
    fresh.wait_for_timeout(200)
    assert makespan(fresh) == makespan(page)
    fresh.context.close()


def test_what_is_no_graph_is_refused(page, playground, tmp_path):
    """One sentence in the frame says what the file is not; another file then works."""
    (tmp_path / "wrong.json").write_text('{"a": 1}')
    pl.generators.fork_join(3).save(tmp_path / "right.json")
    page.goto(playground)
    page.get_by_label("Box").wait_for()
    page.get_by_label("Your file").set_input_files(tmp_path / "wrong.json")
    expect(page.frame_locator("iframe").get_by_role("alert").first).to_have_text(
        "This is no graph as OpGraph.save writes it: load your file with placelab, and save it."
    )
    page.get_by_label("Your file").set_input_files(tmp_path / "right.json")
    expect(frame(page).locator("h1")).to_contain_text("fork")


def test_an_unknown_address_opens_the_first_page(page, playground):
    """Ten tasks on three processors, whose plan by HEFT takes 80."""
    page.goto(f"{playground}#nothing/%zz/2;heft+fifo")
    assert makespan(page) == 80
    expect(page.get_by_label("Model")).to_have_value("topcuoglu")
