"""A lesson's page in the documentation, from a file: where the notebook has the explorer, a page recomputes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

import placelab as pl

ROOT = Path(__file__).resolve().parents[2]


def test_the_explorers_place_has_a_page_that_recomputes(page, tmp_path):
    """Lesson 1's: it opens with the schedule of the explorer, and follows a drag as the library does."""
    pytest.importorskip("sphinx", reason="needs the extra docs")
    lesson = "notebooks/lessons/01_where_and_who_next"
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "docs" / "_ext")
        from lesson_pictures import with_picture

        notebook = with_picture((ROOT / f"{lesson}.ipynb").read_text("utf-8"), lesson, str(tmp_path))
    outputs = [output for cell in json.loads(notebook)["cells"] for output in cell.get("outputs", ())]
    (html,) = (o["data"]["text/html"] for o in outputs if "<iframe" in "".join(o.get("data", {}).get("text/html", "")))
    file = tmp_path / f"{lesson}.html"
    file.parent.mkdir(parents=True)
    file.write_text(f'<!doctype html><meta charset="utf-8"><style>iframe {{ width: 900px }}</style>{html}', "utf-8")
    page.goto(file.as_uri())
    frame = page.frame_locator("iframe")
    saved = pl.solve(pl.datasets.problem("topcuoglu"), "heft", "planned")
    shown = frame.locator(".pl-live")
    expect(shown).to_have_attribute("data-makespan", f"{saved.makespan:g}")
    frame.locator('.cluster [data-key^="bandwidth"]').first.press("PageUp")
    faster = saved.problem.with_costs(cluster=saved.problem.cluster.replace(bandwidth=2.0))
    expect(shown).to_have_attribute("data-makespan", f"{pl.solve(faster, 'heft', 'planned').makespan:g}")
