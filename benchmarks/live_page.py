"""Measure how soon the picture of a page that recomputes follows a drag: pages in files, in Chromium, without a kernel.

    python benchmarks/live_page.py             # a minute on an idle machine; prints the table of README.md

All bandwidths are dragged 40 times, under heft and planned; a delay is from a key's press to the picture, the frame in which it
is drawn included. *Computed*: the processor time that place and simulate take in Node, and what writes the chart's columns.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from browser.conftest import FLAGS  # noqa: E402
from browser.test_live_page import DRAGGED, opened, settled  # noqa: E402
from playwright.sync_api import Browser, sync_playwright  # noqa: E402
from support import chromium  # noqa: E402

import placelab as pl  # noqa: E402
from placelab.app.widgets.live_page import pack_problem  # noqa: E402

COMPUTE = Path(__file__).with_suffix(".mjs")
MODULE = Path(pl.__file__).parent / "app" / "widgets" / "static" / "live.js"
MOVES = 80
ROUNDS = 3  # of 40 moves
BUDGETS = {6_000: (200, 45), 20_000: (400, 75)}  # ops up to → ms of the first picture, and of the median one


def problems() -> Iterator[tuple[str, pl.Problem]]:
    """What is measured, by name."""
    yield "inception_v3", pl.Problem(pl.load("inception_v3"), pl.clusters.rtx2080ti_box(4))
    yield "bert_base", pl.Problem(pl.load("bert_base"), pl.clusters.rtx2080ti_box(4))
    yield "layered, 20,000 ops", pl.Problem(pl.generators.layered(20_000, seed=2), pl.clusters.pcie_box(4))


def main() -> None:
    """Print a row for each page."""
    print("| page | ops | kB | computed, columns | first | median | 95 % | budget | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        for name, problem in problems():
            print(f"| {name} | {_row(browser, problem, Path(folder))} |", flush=True)
        browser.close()


def _row(browser: Browser, problem: pl.Problem, folder: Path) -> str:
    schedule = pl.solve(problem, "heft", "planned")
    computed, columns = (median(each) for each in zip(*_computed(schedule, folder), strict=True))
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    opened(page, schedule, folder)
    firsts = []
    delays = []
    for _ in range(ROUNDS):
        first, *others = page.evaluate(DRAGGED)
        firsts.append(first)
        delays += others
        page.reload()
        settled(page)
    page.close()
    n = problem.graph.n_ops
    soon, most = next(ms for ops, ms in BUDGETS.items() if n <= ops)
    kept = median(delays) <= most and max(firsts) <= soon
    size = (folder / "live.html").stat().st_size / 1000
    times = f"{max(firsts):.0f} ms | {median(delays):.0f} ms | {quantiles(delays, n=20)[-1]:.0f} ms"
    return f"{n:,} | {size:.0f} | {computed:.1f}, {columns:.1f} ms | {times} | {soon}, {most} ms | {'ok' if kept else '**late**'}"


def _computed(schedule: pl.Schedule, folder: Path) -> list[list[float]]:
    given = folder / "problem"
    given.write_bytes(pack_problem(schedule))
    node = shutil.which("node")
    assert node, "there is no node on this machine"
    done = subprocess.run([node, COMPUTE, MODULE, given, str(MOVES)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)[10:]  # the first ones are compiled meanwhile


if __name__ == "__main__":
    main()
