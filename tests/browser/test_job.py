"""The tab Job in JupyterLab at 1280 × 720: a parameter server and a pipeline by one click, colours, and the interval dragged."""

from __future__ import annotations

import time

import pytest
from browser.test_explorer import Hand, at_1280
from playwright.sync_api import expect
from support.boxes import box_of

OPEN = "import placelab as pl\nexplorer = pl.explore('inception_v2', pl.clusters.two_nodes(2), tab='Job')\nexplorer"


@pytest.fixture
def hand(page, open_notebook):
    return at_1280(page, open_notebook, OPEN)


def job(hand: Hand, name: str) -> None:
    """Choose a job, and wait for its schedule."""
    hand.root.locator(".pl-job-head").get_by_role("button", name=name, exact=True).click()
    expect(hand.root.locator(".pl-job-numbers table")).to_be_visible()
    hand.notebook.execute("explorer.tabs.panels['Job'].settled(60)")
    hand.settled()


def ways(hand: Hand) -> list[str]:
    """Ways to colour that are offered."""
    return hand.root.locator(".pl-gantt select[aria-label='Colour by'] option:not([hidden])").all_inner_texts()


def test_jobs_by_one_click(hand, screenshot):
    """Both have their scheduler, numbers and colours; a slider changes the job; nothing lies outside its box."""
    assert "colour: replica" not in ways(hand)
    job(hand, "Parameter server")
    assert hand.notebook.value("[explorer.state.scheduler, explorer.problem.cluster.n_devices]") == ["tic", 5]
    assert {"colour: replica", "colour: phase"} <= set(ways(hand))
    expect(hand.root.locator(".pl-figures [data-key=efficiency] b")).to_be_visible()
    hand.menu("Colour by").select_option("replica")
    expect(hand.root.locator(".pl-gantt")).to_be_visible()
    screenshot("servers")
    slider = hand.root.locator(".pl-job-controls input").first
    slider.focus()
    hand.page.keyboard.press("ArrowLeft")
    hand.becomes("explorer.problem.cluster.n_devices", 4)
    job(hand, "4-stage pipeline")
    assert hand.notebook.value("explorer.state.scheduler") == "1f1b"
    assert "colour: replica" not in ways(hand)
    hand.menu("Colour by").select_option("micro-batch")
    expect(hand.root.locator(".pl-figures [data-key=bubble] b")).to_be_visible()
    hand.page.wait_for_timeout(300)
    screenshot("pipeline")
    hand.root.locator(".pl-job-controls .pl-slider", has_text="replicas").locator("input").focus()
    hand.page.keyboard.press("ArrowRight")
    hand.becomes("explorer.problem.cluster.n_devices", 16)  # two copies of four stages, and their streams
    hand.settled()
    assert {"colour: micro-batch", "colour: replica", "colour: phase"} <= set(ways(hand))
    expect(hand.root.locator(".pl-job-numbers [data-key=buckets]")).to_be_attached()
    hand.notebook.set_theme("JupyterLab Dark")
    hand.page.wait_for_timeout(300)
    screenshot("pipeline-dark")
    for box in (".pl-job-head", ".pl-job-side"):
        outer = box_of(hand.root.locator(".pl-tabs"))
        inner = box_of(hand.root.locator(box))
        assert inner["x"] >= outer["x"]
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
        assert inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 1
    job_step = hand.root.locator(".pl-job-head").get_by_role("button", name="One step", exact=True)
    job_step.click()
    hand.becomes("explorer.state.job is None", True)


@pytest.mark.slow
def test_data_parallel_by_one_click(hand, screenshot):
    """Two machines of four workers: straggling and skew; bucket and iterations by hand; colours in light and dark."""
    job(hand, "2 × 4 data-parallel")
    assert hand.notebook.value("[explorer.state.job.workers, explorer.problem.cluster.n_devices]") == [8, 16]
    assert {"colour: replica", "colour: phase"} <= set(ways(hand))
    for key in ("straggling", "buckets", "skew"):
        expect(hand.root.locator(f".pl-job-numbers [data-key={key}]")).to_be_attached()
    hand.menu("Colour by").select_option("phase")
    hand.page.wait_for_timeout(300)
    screenshot("phases")
    controls = hand.root.locator(".pl-job-controls")
    controls.locator("select", has=hand.page.locator("option", has_text="25 MB")).select_option(label="5 MB")
    hand.becomes("explorer.state.job.bucket_bytes", 5e6)
    hand.settled()
    controls.locator(".pl-slider", has_text="iterations").locator("input").focus()
    hand.page.keyboard.press("ArrowRight")
    hand.becomes("explorer.state.job.iterations", 2)
    hand.settled()
    hand.menu("Colour by").select_option("replica")
    hand.notebook.set_theme("JupyterLab Dark")
    hand.page.wait_for_timeout(300)
    screenshot("replicas-dark")


@pytest.mark.slow
def test_the_interval_is_dragged(hand, screenshot):
    """The line of the interval follows a hand; another MTBF moves the optimum; the picture is drawn anew many times."""
    job(hand, "4-stage pipeline")
    hand.root.locator(".pl-job-head").get_by_role("button", name="Training run", exact=True).click()
    picture = hand.root.locator(".pl-run .costs")
    expect(picture).to_be_visible()
    expect(hand.root.locator(".pl-failures")).to_be_attached()
    screenshot("run")
    assert "restoring" in hand.root.locator(".pl-run .legend").get_attribute("title")
    here, best = (hand.root.locator(f".pl-run {name}") for name in (".pl-here", ".pl-optimum"))
    before = here.get_attribute("d")
    first = float(best.get_attribute("data-seconds"))
    hand.page.evaluate(
        """() => { window.pictures = 0; new MutationObserver(() => window.pictures++).observe(
          document.querySelector('.pl-run'), {childList: true, subtree: true}); }"""
    )
    box = box_of(hand.root.locator(".pl-run-row input").nth(1))
    x = box["x"] + box["width"] / 2
    y = box["y"] + box["height"] / 2
    hand.page.mouse.move(x, y)
    hand.page.mouse.down()
    begun = time.monotonic()
    for i in range(40):
        hand.page.mouse.move(x + i, y)
        hand.page.wait_for_timeout(16)
    took = time.monotonic() - begun
    print(f"{hand.page.evaluate('window.pictures') / took:.1f} pictures a second")
    while hand.page.evaluate("window.pictures") <= 3:  # the machine is busy
        assert time.monotonic() < begun + 30
        x += 1
        hand.page.mouse.move(x + 40, y)
        hand.page.wait_for_timeout(100)
    hand.page.mouse.up()
    expect(here).not_to_have_attribute("d", before)
    drag_on_the_curve(hand)
    slider = hand.root.locator(".pl-run-row input").nth(2)
    slider.focus()
    for _ in range(10):
        hand.page.keyboard.press("ArrowRight")
    hand.page.wait_for_function(f"Number(document.querySelector('.pl-optimum')?.dataset.seconds) > {first}")
    hand.notebook.set_theme("JupyterLab Dark")
    hand.page.wait_for_timeout(300)
    screenshot("run-dark")


def drag_on_the_curve(hand: Hand) -> None:
    """The marker on the curve is where the pointer is, before the kernel answers; then the slider and the run are there, too."""
    marker = hand.root.locator(".pl-run [role=slider]")
    slider = hand.root.locator(".pl-run-row input").nth(1)
    run = "explorer.tabs.panels['Job'].run.run"
    assert hand.notebook.value(f"{run}.interval > 0")  # the kernel has answered all that came before
    hand.page.wait_for_timeout(200)
    costs = box_of(hand.root.locator(".pl-run .costs"))
    was = float(slider.input_value())
    knob = box_of(marker.locator(".knob"))
    hand.page.mouse.move(knob["x"] + knob["width"] / 2, knob["y"] + knob["height"] / 2)
    hand.page.mouse.down()
    for share in (0.5, 0.6, 0.7):
        x = costs["x"] + share * costs["width"]
        hand.page.mouse.move(x, costs["y"] + 10)
        now = box_of(marker.locator(".knob"))
        assert abs(now["x"] + now["width"] / 2 - x) <= 1.5
    hand.page.mouse.up()
    asked = float(marker.get_attribute("aria-valuenow"))
    hand.becomes(f"abs({run}.interval - {asked}) <= {run}.step", True)
    hand.page.wait_for_timeout(200)
    assert float(slider.input_value()) < was  # it was at its end
    assert marker.evaluate("element => element === document.activeElement")
    for _ in range(5):
        hand.page.keyboard.press("ArrowLeft")
    assert float(marker.get_attribute("aria-valuenow")) < asked
    hand.becomes(f"{run}.interval < {asked}", True)
    assert "expected" in marker.get_attribute("aria-valuetext")
