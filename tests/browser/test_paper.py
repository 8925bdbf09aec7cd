"""The chart as a picture for a paper: all that is drawn is in the legend, nothing else is, and bars have names and times."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page
from support import bare_page

import placelab as pl
from placelab.app.widgets.gantt_chart import Gantt


def opened(page: Page, gantt: Gantt, theme: str = "light") -> None:
    bare_page.show(page, gantt, theme)
    bare_page.still(page)


def saved(page: Page, width: int = 85) -> dict[str, ElementTree.Element]:
    """Texts of the chart on the page, saved as SVG of `width` mm, with their elements."""
    with page.expect_download() as begun:
        page.evaluate("message => model.tell(message)", dict(picture="svg", name="a.svg", title="A chart", width=width))
    svg = begun.value.path().read_text(encoding="utf-8")
    assert 'fill="#ffffff"' in svg and "#111111" in svg  # light on any page
    return {text.text or "": text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}


@pytest.fixture(scope="module")
def ten_tasks() -> pl.Schedule:
    return pl.solve(pl.datasets.problem("topcuoglu"), "heft", "planned")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_legend_of_a_picture_has_what_is_drawn(page: Page, ten_tasks: pl.Schedule, theme: str):
    """The hatched line of a critical path that waits, too; no memory, no kept schedule, nothing merged."""
    opened(page, Gantt.of(ten_tasks), theme)
    found = saved(page)
    legend = [text for text in found if text and text[0].islower()]
    waits = [f"idle: waits for {what}" for what in ("a transfer", "an op upstream")]
    assert legend == ["op", "transfer", "critical path", "critical path waits in line", *waits]


def test_a_picture_of_a_span_has_the_legend_of_that_span(page: Page, ten_tasks: pl.Schedule):
    """While the first task runs nothing is transferred; the kept schedule is named."""
    gantt = Gantt.of(ten_tasks)
    gantt.keep(ten_tasks)
    gantt.selection = 0
    opened(page, gantt)
    stage = page.locator(".pl-gantt .stage")
    for key in "z++++aaaaaaaaaaaaaaa":  # to the left until 0
        stage.press(key)
    bare_page.still(page)
    legend = [text for text in saved(page) if text and text[0].islower()]
    assert legend == ["op", "critical path", "idle: waits for an op upstream", "kept schedule"]


def test_a_narrow_picture_has_names_and_enough_times(page: Page, ten_tasks: pl.Schedule):
    """At 85 mm a short name is on each bar with room for it, where the library has its start; times are 20 apart, not 50."""
    opened(page, Gantt.of(ten_tasks))
    found = saved(page)
    assert {f"T{i}" for i in (1, 2, 3, 4, 5, 6, 7, 9)} <= found.keys()
    assert [text for text in found if text.isdecimal()] == ["0", "20", "40", "60", "80"]
    at = {text: float(element.get("x", "nan")) for text, element in found.items()}
    unit = (at["60"] - at["20"]) / 40
    for i in (4, 6, 9):
        assert (at[f"T{i}"] - at["T1"]) / unit == pytest.approx(ten_tasks.start[i - 1], abs=0.3)


def test_a_narrow_bar_has_a_whole_name_or_none(page: Page):
    """Two letters of a long name and an ellipsis say nothing. Times that need more room keep their distance."""
    names = ["aa", "a_very_long_name", "rest"]
    graph = pl.OpGraph.from_arrays(names, [12e5, 12e5, 62e5], [(0, 1), (1, 2)])
    opened(page, Gantt.of(pl.solve(pl.Problem(graph, pl.Cluster([1.0], names=["gpu"])), "single", "fifo")))
    found = saved(page)
    assert {"aa", "rest"} <= found.keys() and not any("…" in text for text in found)
    assert [text for text in found if text[0].isdecimal() and "busy" not in text] == ["0", "5,000,000"]


def test_merged_bars_are_in_the_legend(page: Page):
    """3,000 ops on 85 mm are merged, and the legend says how to read them."""
    schedule = pl.solve(pl.Problem(pl.generators.layered(3000, seed=1), pl.Cluster.uniform(2)), "round-robin", "fifo")
    opened(page, Gantt.of(schedule))
    assert "merged: height shows the busy share" in saved(page)


def test_long_names_of_devices_keep_their_ends(page: Page):
    """They differ there: beside a device's lane, and at both ends of a link."""
    names = [f"/job:worker/replica:0/task:0/device:GPU:{i}" for i in range(3)]
    problem = pl.Problem(pl.generators.layered(30, seed=1), pl.Cluster([1e12] * 3, bandwidth=1e9, names=names))
    gantt = Gantt.of(pl.solve(problem, "round-robin", "fifo"))
    gantt.links_shown = True
    opened(page, gantt)
    found = [text for text in saved(page) if text.startswith("/")]
    devices = [text for text in found if "→" not in text]
    assert [text[-6:] for text in devices] == [f":GPU:{i}"[-6:] for i in range(3)] and all(
        "…" in text for text in devices
    )
    links = [[end.strip()[-1] for end in text.split("→")] for text in found if "→" in text]
    assert sorted(links) == [[a, b] for a in "012" for b in "012" if a != b]
    opened(page, shown := Gantt.of(pl.solve(pl.Problem(problem.graph, pl.clusters.pcie_box(2)), "round-robin", "fifo")))
    shown.links_shown = True
    bare_page.receive(page, shown, "links_shown")
    assert "gpu:0 → gpu:1" in saved(page)  # a little too wide, which is squeezed


@pytest.mark.parametrize(("capacity", "said"), [(1e9, "memory in use, and its capacity"), (1e12, "memory in use")])
def test_a_capacity_is_in_the_legend_where_it_is_drawn(page: Page, capacity: float, said: str):
    """Far above the curve there is none. What is short of it is named."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1e9, 1e9], [(0, 1)], edge_bytes=[1e8], persistent=[9e8, 9e8])
    problem = pl.Problem(graph, pl.Cluster([1e9], memory=[capacity]), memory="dynamic")
    gantt = Gantt.of(pl.simulate(problem, pl.Placement(problem, [0, 0]), "fifo"))
    gantt.memory_shown = True
    opened(page, gantt)
    found = saved(page)
    assert [text for text in found if text.startswith("memory")] == [said]
    assert ("out of memory" in found) == (capacity < 2e9)
