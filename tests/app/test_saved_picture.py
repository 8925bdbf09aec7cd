"""What the output of a cell holds for those who open the saved notebook without its kernel."""

from __future__ import annotations

import base64
import re
import threading
from html.parser import HTMLParser
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

import placelab as pl
from placelab.app.explorer import readable
from placelab.app.explorer.readable import SavedPicture, saved_html

PATIENCE = 60
NUMBERS = [{"key": "makespan", "label": "Makespan", "value": "80 s"}]
HOSTILE = "</script><img src=x onerror=alert(1)>"


class Elements(HTMLParser):
    """Names and attributes of the elements of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def schedule():
    return pl.solve(pl.datasets.problem("topcuoglu"), "heft")


@pytest.fixture
def displayed(monkeypatch):
    """Calls of IPython's `display` for pictures: HTML, and whether it replaced the one before."""
    calls: list[tuple[str, bool]] = []
    taken_by(monkeypatch, lambda data: None, calls)
    return calls


def taken_by(monkeypatch, live, calls):
    """Have live views go to a function, and pictures to a list."""

    def display(data, raw, display_id="", update=False):
        calls.append((data["text/html"], update)) if display_id else live(data)

    monkeypatch.setattr(readable, "display", display)


def test_the_picture_is_an_image_that_needs_no_script(schedule):
    """Code hosts remove SVG elements and scripts: title, numbers and chart are text and an `img` of well-formed SVG."""
    html = saved_html("topcuoglu", schedule, NUMBERS, "ab")
    assert "Makespan 80 s" in html and "<svg" not in html.partition("<script")[0]
    (image,) = [attributes for tag, attributes in Elements(html).found if tag == "img"]
    svg = ElementTree.fromstring(base64.b64decode(image["src"].partition("base64,")[2]))
    assert svg.tag.endswith("svg") and "gpu" not in image["alt"]
    assert {"P1", *(f"T{i}" for i in range(1, 11))} <= set(svg.itertext())
    assert "critical path" in html and "pale" not in html.partition("<script")[0]  # the legend has what is drawn


def test_parts_of_a_long_number_may_stand_on_several_lines(schedule):
    """A phone breaks lines between the parts of the critical path; within none of them."""
    path = {"key": "path", "label": "Critical path", "value": "compute 46 % · transfer 44 % · wait 10 %"}
    html = saved_html("topcuoglu", schedule, [path], "ab")
    parts = re.findall(r'<span style="white-space:nowrap">([^<]*)</span>', html)
    assert parts == ["Critical path compute 46 %", "transfer 44 %", "wait 10 %"]


def test_a_hostile_name_stays_text():
    """Names of models, ops and devices cannot leave their place in the picture or in the page that plays."""
    graph = pl.OpGraph.from_arrays([HOSTILE], [1.0], [])
    schedule = pl.solve(pl.Problem(graph, pl.Cluster([1.0], names=[HOSTILE])), "single")
    found = Elements(saved_html(HOSTILE, schedule, [{"label": HOSTILE, "value": HOSTILE}], "ab")).found
    assert [tag for tag, _ in found].count("img") == 1 and [tag for tag, _ in found].count("script") == 2
    assert not any("onerror" in attributes for _, attributes in found)


def test_a_page_that_is_too_large_is_left_out(schedule, monkeypatch):
    """The picture is there all the same."""
    whole = saved_html("topcuoglu", schedule, NUMBERS, "ab")
    monkeypatch.setattr(readable, "MOST", 1000)
    short = saved_html("topcuoglu", schedule, NUMBERS, "ab")
    assert "<script" in whole and "<script" not in short and "<img" in short


def test_large_graphs_fit(monkeypatch):
    """20,000 ops on four devices, with the page that plays: at most 0.7 MB, so that a notebook stays below 1 MB."""
    problem = pl.Problem(pl.load("gnmt_40"), pl.clusters.rtx2080ti_box(4))
    html = saved_html("gnmt_40", pl.solve(problem, "round-robin"), NUMBERS, "ab")
    assert "<script" in html and len(html.encode()) < 700_000


def test_the_picture_follows_once_nothing_changes(displayed, schedule, monkeypatch):
    """Many changes are one update, of the newest state; before the picture is displayed there is none."""
    shown = ["old"]
    picture = SavedPicture(lambda: (shown[0], schedule, NUMBERS, []))
    still = threading.Event()  # the pause ends with it, on a busy machine, too
    worker = picture._worker
    monkeypatch.setattr(worker, "sleep", lambda _: still.wait(PATIENCE) and not worker.woken)
    try:
        picture.follow()
        assert picture.settled(PATIENCE) and not displayed
        picture.display()
        for i in range(5):
            shown[0] = f"state {i}"
            picture.follow()
        still.set()
        assert picture.settled(PATIENCE)
    finally:
        picture.close()
    assert [update for _, update in displayed] == [False, True]
    assert "old" in displayed[0][0] and "state 4" in displayed[1][0]


def test_a_cell_shows_the_live_view_and_then_the_picture(displayed, monkeypatch):
    """Two outputs; the live view's own style hides the picture that belongs to it."""
    views = []
    taken_by(monkeypatch, views.append, displayed)
    explorer = pl.explore("topcuoglu")
    try:
        explorer._ipython_display_()
        assert "application/vnd.jupyter.widget-view+json" in views[0]
        (html, update), name = displayed[0], re.search(r"placelab-saved-\w+", displayed[0][0])[0]
        assert not update and "Makespan 80<" in html
        assert f".{name}" in explorer.hiding
    finally:
        explorer.close()


def test_a_slow_strategy_does_not_keep_the_view_back(displayed, monkeypatch):
    """The live view is shown before the first schedule is there; its text says what is computed."""
    seen = threading.Event()
    views = []
    taken_by(monkeypatch, lambda data: (views.append(data), seen.set()), displayed)

    @pl.partitioner
    def waits_for_the_view(problem: pl.Problem) -> pl.Placement:
        assert seen.wait(PATIENCE)
        return pl.place(problem, "single")

    explorer = pl.explore("topcuoglu", partitioner="waits-for-the-view")
    try:
        explorer._ipython_display_()
        assert explorer.settled(PATIENCE) and explorer.schedule.makespan > 0
        assert views[0]["text/plain"] == "Explorer(topcuoglu: 10 ops on 3 devices, waits-for-the-view + planned)"
    finally:
        explorer.close()


def test_pictures_are_numbered(displayed, schedule):
    """So that a page can tell whether it has got the newest."""
    made: list[tuple[str, int]] = []
    saved = SavedPicture(lambda: ("x", schedule, NUMBERS, []), lambda name, number: made.append((name, number)))
    saved.display()
    saved.display()
    saved.close()
    for (html, _), (name, number) in zip(displayed, made, strict=True):
        (box,) = [given for tag, given in Elements(html).found if tag == "div" and given.get("class") == name]
        assert box["data-number"] == str(number)
    assert [number for _, number in made] == [1, 2]


class Shell:
    """IPython's shell, with the metadata of the message that it executes."""

    def __init__(self, metadata):
        self._metadata = metadata

    def get_parent(self):
        return {"metadata": self._metadata}


def test_where_nobody_looks_a_cell_waits_for_its_picture(monkeypatch):
    """nbconvert sends no metadata with a cell, front ends do; Voilà's page is looked at; without a kernel nobody waits."""
    for metadata, software, seconds in (
        ({"cellId": "a"}, "", readable.FIRST),
        ({}, "", readable.UNSEEN),
        ({}, "voila/0.5", readable.FIRST),
    ):
        monkeypatch.setenv("SERVER_SOFTWARE", software)
        monkeypatch.setattr(readable, "get_ipython", lambda metadata=metadata: Shell(metadata))
        assert readable.patience() == seconds
    monkeypatch.setattr(readable, "get_ipython", lambda: None)
    monkeypatch.setenv("SERVER_SOFTWARE", "")
    assert readable.patience() == readable.FIRST


@pytest.mark.slow
def test_an_executed_notebook_holds_the_picture_of_a_slow_strategy():
    """As ``jupyter nbconvert --execute`` makes it."""
    code = """import time, placelab as pl
@pl.partitioner
def slow_one(problem):
    time.sleep(3)
    return pl.place(problem, "heft")
pl.explore("topcuoglu", partitioner="slow_one")"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    NotebookClient(notebook, timeout=120).execute()
    (html,) = [
        output["data"]["text/html"] for output in notebook.cells[0].outputs if "text/html" in output.get("data", {})
    ]
    assert "No schedule yet" not in html and "Gantt chart of topcuoglu" in html


def test_of_a_plan_by_hand_the_picture_has_what_is_placed(schedule):
    """Ops in the tray have no bar, and the numbers of the whole plan are not said of a part."""
    waiting = [op for op in range(10) if schedule.problem.graph.names[op] != "T1"]
    html = saved_html("topcuoglu", schedule, NUMBERS, "ab", waiting)
    images = [found["src"] for name, found in Elements(html).found if name == "img"]
    svg = base64.b64decode(images[0].partition(",")[2]).decode()
    titles = re.findall(r"<title>(P\d): busy [^,]*, (\d+) ops?,", svg)
    assert sorted(titles) == [("P1", "0"), ("P2", "0"), ("P3", "1")]
    assert len(re.findall(r"[Mm]\S+ \S+h\d+", svg)) == 1  # a bar, and no critical path
    assert "critical path" not in html.partition("<img")[0]
    assert "plan so far 1 of 10 ops" in html and "80 s" not in html.partition("<img")[0]
