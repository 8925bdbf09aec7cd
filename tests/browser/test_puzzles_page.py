"""The puzzles of the documentation, opened from files: played by hand, stars that stay, links that have a plan."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import placelab as pl

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """Address of a page with what the directive writes."""
    pytest.importorskip("sphinx", reason="needs the extra docs")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(DOCS / "_ext")
        import puzzle_pages

        folder = tmp_path_factory.mktemp("site")
        shutil.copy(DOCS / "_static" / "puzzles.js", folder)
        markup = puzzle_pages.write(folder / "playing", "playing", "puzzles.js")
    file = folder / "puzzles.html"
    style = (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
    head = f'<!doctype html><meta charset="utf-8"><title>Puzzles</title><style>{style}</style>'
    file.write_text(head + markup, encoding="utf-8")
    return file.as_uri()


def stars(page: Page) -> int:
    """The stars that the puzzle on show has now."""
    frame = page.frame_locator("iframe")
    expect(frame.locator(".pl-live[data-makespan]")).to_be_visible()
    page.wait_for_timeout(200)
    return int(frame.locator(".stars").get_attribute("data-stars"))


@pytest.mark.slow
def test_each_puzzle_begins_with_the_librarys_stars(page, address):
    """Each has a page of its own in which its first plan earns what `puzzle.stars` says."""
    page.goto(address)
    for name in pl.puzzles.names():
        page.locator(f'.list [data-name="{name}"]').click()
        expect(page.frame_locator("iframe").locator("h1")).to_have_text(name)
        puzzle = pl.puzzles.load(name)
        assert stars(page) == puzzle.stars(puzzle.start), name
    expect(page.locator("output")).to_have_text("0 of 36 stars")


def test_a_plan_by_hand_earns_stars_that_stay(page, address, screenshot):
    """Best moves to the end, with the library's makespan and stars; a reload keeps them, and the link opens the plan."""
    page.goto(address)
    puzzle = pl.puzzles.load("diamond")
    frame = page.frame_locator("iframe")
    plan = puzzle.start
    while move := pl.best_move(plan.schedule):
        stars(page)
        expect(frame.locator(".pl-gantt")).not_to_contain_text("Best move: ")  # the one before has been taken
        frame.get_by_role("button", name="Best move").click()
        expect(frame.locator(".pl-gantt")).to_contain_text("Best move: ")
        frame.get_by_role("application").press("Enter")
        plan = move.plan
        expect(frame.locator(".pl-live")).to_have_attribute("data-makespan", f"{plan.makespan:g}")
    assert plan.makespan < puzzle.start.makespan
    assert stars(page) == puzzle.stars(plan)
    earned = page.locator('.list [data-name="diamond"]')
    expect(earned).to_contain_text("★" * puzzle.stars(plan))
    expect(earned).to_contain_text(f"yours {plan.makespan:g}")
    screenshot("puzzles")
    page.goto("about:blank")
    page.go_back()
    expect(page.locator('.list [data-name="diamond"]')).to_contain_text(f"yours {plan.makespan:g}")
    assert stars(page) == puzzle.stars(plan), "the link has lost the plan"
    frame.locator('.cluster [data-key="speed:0"]').press("PageUp")
    expect(frame.locator(".stars")).to_have_text("no stars on a changed cluster")
    page.get_by_role("button", name="Clear stars").click()
    expect(page.locator("output")).to_have_text("0 of 36 stars")
