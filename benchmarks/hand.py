"""Measure the response of chart and explorer to a user's drag, in Chromium, on real models one after another.

    python benchmarks/hand.py                  # 12 minutes on an idle machine; prints the table of README.md
    python benchmarks/hand.py gnmt_50          # one model; "resnet_v2_152, 8 workers" is a job, "decoder" plan and layers

The kernel, JupyterLab and the browser are those of the browser tests, whose limits are generous; this program prints the figures.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

import numpy as np  # noqa: E402
from browser.conftest import FLAGS, TIMEOUT  # noqa: E402
from browser.test_explorer import FPS, OPEN, WATCH, Hand, key  # noqa: E402
from browser.test_gantt import FRAMES  # noqa: E402
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright  # noqa: E402
from support import bare_page, chromium, lab_server  # noqa: E402
from support.boxes import box_of  # noqa: E402

import placelab as pl  # noqa: E402
from placelab.app.widgets.gantt_chart import Gantt  # noqa: E402
from placelab.app.widgets.graph_scopes import scopes_of  # noqa: E402
from placelab.app.widgets.graph_view import ModelGraph  # noqa: E402

MODELS = ("convolutional_network", "dynamic_rnn", "gnmt_40", "gnmt_50")
JOBS = {  # model, its job, and the link that is dragged
    "resnet_v2_152, 8 workers": ("resnet_v2_152", 'kind="parameter servers", workers=8', "between hosts"),
    "llama_8, 16 micro-batches": ("llama_8", 'kind="pipeline", microbatches=16', "inside server"),
}
DECODER = "decoder"
OF_80_LAYERS = """import placelab as pl
explorer = pl.explore(pl.models.read("llama-3.1-70b"), pl.costs.cluster("h200", 8))
explorer"""
STRIP = 45  # ms from a hand's move to the strip of 80 layers on 8 devices
BARS = 60  # ms from it to a plan's bars of memory
FOLLOW = """selector => {
  window.updates = [];
  window.answers = [];  // of the kernel, where the page has drawn ahead of it
  let moved = 0, ahead = 0;
  const begin = (event) => {
    if ((event.type === 'keydown' || event.buttons) && !moved) moved = performance.now();
  };
  for (const kind of ['pointermove', 'keydown']) document.addEventListener(kind, begin, true);
  const shown = document.querySelector(selector);
  const painted = (begun, into) =>
    requestAnimationFrame(() => requestAnimationFrame(() => into.push(performance.now() - begun)));
  new MutationObserver(() => {
    if (ahead && !shown.hasAttribute('data-ahead')) painted(ahead, answers);
    if (moved) painted(moved, updates);
    ahead = shown.hasAttribute('data-ahead') ? moved || ahead : 0;
    moved = 0;
  }).observe(shown, {childList: true, subtree: true, characterData: true, attributes: true});
}"""
DEVICES = 4
PAINTS = 7
DRAGS = 10
LOOKS = 3
BUDGETS = {1_000: (100, 45), 5_500: (100, 55), 25_000: (150, 75)}  # ops up to → ms of a first paint and of an update
LATE = 2  # times the budget of an update, which 95 % of the updates keep
CLOSED = 400  # ms of the model graph
OPENED = 150  # ms of a scope
SCOPE = 300  # parts of it
FIRST = 1_000  # milliseconds to the picture of the first move, with the kernels that `make lab` has compiled
LEAST = 5  # pictures per second while a hand moves
SMOOTH = 55  # frames per second, at least
PAINT = """async () => {
  const {default: widget} = await import(window.module);
  window.unmount();
  document.body.replaceChildren();
  const el = document.createElement("div");
  document.body.append(el);
  const begun = performance.now();
  window.unmount = await widget.render({model: window.model, el});
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const taken = performance.now() - begun;
  const canvas = el.querySelector(".stage canvas");
  if (!canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((x) => x)) throw "not painted yet";
  return taken;
}"""
PAINT_GRAPH = """async () => {
  const {default: widget} = await import(window.module);
  window.unmount();
  document.body.replaceChildren();
  const el = document.createElement("div");
  document.body.append(el);
  const begun = performance.now();
  window.unmount = await widget.render({model: window.model, el});
  const pixels = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const drawn = (canvas) => canvas.width && pixels(canvas).some((x) => x);
  for (;;) {
    await new Promise((done) => requestAnimationFrame(done));
    if ([...el.querySelectorAll(".stage canvas")].some(drawn)) return performance.now() - begun;
    if (performance.now() - begun > 5000) throw "not painted within 5 s";
  }
}"""
# Runs the notebook's first cell again, in the kernel that has run it, until another explorer has its chart.
AGAIN = """async () => {
  const before = document.querySelector(".placelab-explorer");
  const begun = performance.now();
  window.jupyterapp.commands.execute("notebook:run-all-cells");
  for (;;) {
    await new Promise((done) => requestAnimationFrame(done));
    const now = document.querySelector(".placelab-explorer");
    if (now && now !== before && now.querySelector(".pl-gantt:not([data-makespan=''])")) return performance.now() - begun;
    if (performance.now() - begun > 20000) throw "no chart within 20 s";
  }
}"""
TWO_FRAMES = """async () => {
  const begun = performance.now();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - begun;
}"""
MOVES = 90  # of a quick drag
EVERY = 16  # milliseconds
COUNT = """() => {
  if (window.pictures !== undefined) return;
  window.pictures = 0;
  new MutationObserver(() => window.pictures++)
    .observe(document.querySelector('.pl-gantt'), {attributes: true, attributeFilter: ['data-makespan']});
}"""

Row = tuple[str, str, str, str]  # what, measured, budget, verdict


def main(models: list[str]) -> None:
    """Print a row for each measurement."""
    print("| model | what | measured | budget | |\n| --- | --- | ---: | ---: | --- |")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=FLAGS)
        for model in models:
            parts = [] if model in JOBS or model == DECODER else [*_chart(browser, model), *_graph(browser, model)]
            for what, measured, budget, verdict in [*parts, *_explorer(browser, model)]:
                print(f"| {model} | {what} | {measured} | {budget} | {verdict} |", flush=True)
        browser.close()


def _chart(browser: Browser, name: str) -> Iterator[Row]:
    """Measure the chart alone on a page that already has its data, as after the kernel's message."""
    problem = pl.Problem(pl.load(name), pl.clusters.pcie_box(DEVICES))
    page = _page(browser)
    bare_page.show(page, Gantt.of(pl.solve(problem, "heft", "pct")))
    source = (Path(pl.__file__).parent / "app" / "widgets" / "static" / "gantt.js").read_text(encoding="utf-8")
    page.evaluate(
        "source => { window.module = URL.createObjectURL(new Blob([source], {type: 'text/javascript'})) }", source
    )
    floor = median(page.evaluate(TWO_FRAMES) for _ in range(PAINTS))
    paint, _ = next(ms for ops, ms in BUDGETS.items() if problem.graph.n_ops <= ops)
    yield _milliseconds("first paint of the chart", [page.evaluate(PAINT) for _ in range(PAINTS)][1:], paint)
    yield "two frames of a page that does nothing", f"{floor:.0f} ms", "", ""
    page.context.close()


def _graph(browser: Browser, name: str) -> Iterator[Row]:
    """Measure the model graph: laid out by the kernel, and painted by a page that has the layout."""
    schedule = pl.solve(pl.Problem(pl.load(name), pl.clusters.pcie_box(DEVICES)), "heft", "pct")
    made = [_timed(lambda: ModelGraph.of(schedule)) for _ in range(LOOKS + 1)][1:]
    view = made[-1][1]
    page = _page(browser)
    bare_page.show(page, view)
    source = (Path(pl.__file__).parent / "app" / "widgets" / "static" / "graph.js").read_text(encoding="utf-8")
    page.evaluate(
        "source => { window.module = URL.createObjectURL(new Blob([source], {type: 'text/javascript'})) }", source
    )
    painted = median([page.evaluate(PAINT_GRAPH) for _ in range(PAINTS)][1:])
    yield _milliseconds("model graph laid out and painted, scopes closed", [ms + painted for ms, _ in made], CLOSED)
    page.context.close()
    scopes = scopes_of(schedule.problem.graph)
    inside = {node: len(scopes.children(node)) for node in range(scopes.n_ops, scopes.n_nodes) if node != scopes.root}
    node = min(inside, key=lambda node: abs(inside[node] - SCOPE))
    opened = sorted({*view.opened, node, *scopes.ancestors(node)} - {scopes.root})
    took = []
    for _ in range(LOOKS):
        fresh = ModelGraph.of(schedule)
        took.append(_timed(lambda fresh=fresh: fresh.set_trait("opened", opened))[0])
    yield _milliseconds(f"a scope of {inside[node]} opened, laid out", took, OPENED)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds that a call takes, and what it returns."""
    begun = perf_counter()
    result = call()
    return 1000 * (perf_counter() - begun), result


def _explorer(browser: Browser, name: str) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "notebooks"
        root.mkdir()
        with lab_server.running(root, Path(folder)) as lab:
            page = _page(browser)
            arguments = f'"topcuoglu", pl.clusters.pcie_box({DEVICES})'
            code = OF_80_LAYERS if name == DECODER else OPEN.format(arguments=arguments)
            hand = Hand(lab_server.open_notebook(page, lab, "browser.ipynb", [code]))
            again = [hand.page.evaluate(AGAIN) for _ in range(LOOKS + 1)]
            yield _milliseconds("cell run again → the explorer's first picture", again[1:], FIRST)
            trained = name in JOBS
            yield from (
                _spread(hand) if name == DECODER else _trained(hand, *JOBS[name]) if trained else _driven(hand, name)
            )
            page.context.close()


def _spread(hand: Hand) -> Iterator[Row]:
    """Measure the strip of a decoder's layers under a hand, and the bars of its plan under a slider's keys."""
    hand.settled()
    hand.page.evaluate(FOLLOW, ".pl-layers .rows")
    handle = hand.root.locator(".pl-layers .handle").nth(3)
    box = box_of(handle)
    assert box
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    hand.page.mouse.move(x, y)
    hand.page.mouse.down()
    for i in range(30):
        hand.page.mouse.move(x + (12 if i % 2 else -12), y)
        hand.page.wait_for_timeout(300)
    hand.page.mouse.up()
    updates = hand.page.evaluate("updates")[2:]  # the first ones compile and lay out
    yield _milliseconds("border dragged → seconds and bytes of 80 layers on 8 devices repainted", updates, STRIP)
    answers = hand.page.evaluate("answers")[2:]
    yield "the same, said by the kernel", f"{median(answers):.0f} ms ({len(answers)} times)", "", ""
    hand.root.get_by_role("button", name="Job", exact=True).or_(hand.root.get_by_role("tab", name="Job")).first.click()
    hand.root.locator(".pl-job-head").get_by_role("button", name="Plan", exact=True).click()
    hand.becomes("explorer.state.planned is not None", True)
    hand.settled()
    hand.page.evaluate(FOLLOW, ".pl-plans .bars")
    hand.root.locator(".pl-plan-controls .pl-slider", has_text="pp: ").locator("input").focus()
    for i in range(24):
        hand.page.keyboard.press("ArrowRight" if i % 6 < 3 else "ArrowLeft")
        hand.page.wait_for_timeout(300)
    yield _milliseconds("slider moved → bars of memory repainted", hand.page.evaluate("updates")[2:], BARS)
    idle = median(hand.page.evaluate(TWO_FRAMES) for _ in range(PAINTS))
    yield "two frames of the same page when nothing moves", f"{idle:.0f} ms", "", ""


def _trained(hand: Hand, model: str, job: str, link: str) -> Iterator[Row]:
    """Measure a training job of a model, under the strategies that it is shown with at first."""
    hand.menu("Model").select_option(model)
    hand.becomes("explorer.state.model.title", model)
    with_job = f"explorer.change(lambda state: with_job(state, Job({job})))"
    hand.notebook.execute(f"from placelab.app.explorer.jobs import Job, with_job\n{with_job}")
    hand.settled()
    yield from _dragged(hand, link)


def _driven(hand: Hand, name: str) -> Iterator[Row]:
    for menu, name_of in (("Partitioner", "heft"), ("Scheduler", "planned")):
        hand.menu(menu).select_option(name_of)
        hand.becomes(f"explorer.state.{menu.lower()}", name_of)
    begun = hand.page.evaluate("() => performance.now()")
    hand.menu("Model").select_option(name)
    hand.root.locator(f'.pl-gantt[data-stale="false"]:has-text("{pl.load(name).n_ops:,} ops")').wait_for()
    taken = hand.page.evaluate("() => performance.now()") - begun
    yield "from the menu to the chart, the model read from its file", f"{taken:.0f} ms", "", ""
    yield from _dragged(hand, "inside server")


def _dragged(hand: Hand, link: str) -> Iterator[Row]:
    hand.notebook.execute("explorer.comparison.halt()")
    pair = hand.notebook.value("f'{explorer.state.partitioner}, {explorer.state.scheduler}'")
    n = hand.notebook.value("explorer.problem.graph.n_ops")
    _, update = next(ms for ops, ms in BUDGETS.items() if n <= ops)
    hand.page.evaluate(WATCH)
    handle = key(hand, f"bandwidth:{link}")
    for i in range(1 + LOOKS):
        hand.pull(handle, 60 if i % 2 else -60, steps=24, hold=240)
        hand.notebook.execute("explorer.comparison.halt()")
        if not i:
            first = hand.page.evaluate("updates.splice(0)")[0]
    updates = hand.page.evaluate("updates")
    yield "the first move of the first drag", f"{first:.0f} ms", f"{FIRST} ms", _within(first <= FIRST)
    yield _milliseconds(f"bandwidth dragged → chart repainted ({pair})", updates, update)
    late = float(np.percentile(updates, 95))
    yield "the same, 95 % of them", f"{late:.0f} ms", f"{LATE * update} ms", _within(late <= LATE * update)
    rates = [_rate(hand, handle, 90 if i % 2 else -90) for i in range(DRAGS)]
    measured = f"{min(rates):.1f} pictures/s (median {median(rates):.1f})"
    yield f"slowest of {DRAGS} drags of {MOVES} quick moves", measured, f"{LEAST}", _within(min(rates) >= LEAST)
    for act in ("zoom", "pan"):
        yield _frames(act, [hand.page.evaluate(FRAMES, act) for _ in range(LOOKS)])
    hand.root.get_by_role("button", name="Play").click()
    yield _frames("play", [hand.page.evaluate(FPS) for _ in range(LOOKS)])


def _rate(hand: Hand, link: Locator, dx: float) -> float:
    """Pictures per second while a hand moves without a pause."""
    box = box_of(link)
    assert box
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    hand.page.evaluate(COUNT)
    hand.page.mouse.move(x, y)
    hand.page.mouse.down()
    begun = hand.page.evaluate("pictures = 0; performance.now()")
    for i in range(MOVES):
        hand.page.mouse.move(x + dx * (i + 1) / MOVES, y)
        hand.page.wait_for_timeout(EVERY)
    pictures, ended = hand.page.evaluate("[pictures, performance.now()]")
    hand.page.mouse.up()
    hand.becomes("explorer.canvas.dragging", False)
    hand.notebook.execute("explorer.comparison.halt()")
    return 1000 * pictures / (ended - begun)


def _within(kept: bool) -> str:
    return "within" if kept else "over"


def _page(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(TIMEOUT)
    expect.set_options(timeout=TIMEOUT)
    context.add_init_script("localStorage.setItem('placelab-hints', 'shown')")  # they would lie over what is dragged
    return context.new_page()


def _milliseconds(what: str, found: list[float], budget: float) -> Row:
    middle = median(found)
    measured = f"{middle:.0f} ms ({min(found):.0f} – {max(found):.0f}, {len(found)} times)"
    return what, measured, f"{budget} ms", _within(middle <= budget)


def _frames(what: str, found: list[float]) -> Row:
    return what, f"{median(found):.0f} frames/s", f"{SMOOTH}", _within(median(found) >= SMOOTH)


if __name__ == "__main__":
    main(sys.argv[1:] or [*MODELS, *JOBS, DECODER])
