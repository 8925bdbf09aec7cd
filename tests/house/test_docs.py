"""The documentation names every public name, builds without a warning, and the site fetches nothing and has no broken link."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect, sync_playwright
from support import chromium

import placelab as pl
from placelab.app.widgets.live_page import PARTITIONERS, SCHEDULERS
from placelab.formats.catalogue import GRAPH, readers
from placelab.problem.resource_models import MEMORY_MODELS, TRANSFER_MODELS

ROOT = Path(__file__).resolve().parents[2]
API = ROOT / "docs" / "api"
MODULES = [name for name in pl.__all__ if isinstance(getattr(pl, name), ModuleType)]
FETCHED = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}


def public(module: ModuleType) -> list[str]:
    """Names of a module that are for users: those it lists, else its own functions and classes."""
    own = (
        name
        for name, thing in vars(module).items()
        if inspect.isroutine(thing) or inspect.isclass(thing)
        if name[0] != "_" and thing.__module__ == module.__name__
    )
    return list(getattr(module, "__all__", own))


def test_every_public_name_is_in_the_reference():
    """docs/api/index.md lists what placelab exports, each module has a page, and that page all of its names."""
    listed = set(re.findall(r"^   (\w+)$", (API / "index.md").read_text(), re.MULTILINE))
    assert set(pl.__all__) - set(MODULES) == listed, "docs/api/index.md lists what placelab exports"
    for name in MODULES:
        page = (API / f"{name}.md").read_text()
        if f"automodule:: placelab.{name}\n   :members:\n" not in page:
            listed = set(re.findall(rf"^\.\. auto\w+:: placelab\.{name}\.(\w+)$", page, re.MULTILINE))
            missing = sorted(set(public(getattr(pl, name))) - listed)
            assert not missing, f"docs/api/{name}.md needs a line for {', '.join(missing)}"


def test_what_there_is_names_every_strategy_and_model():
    """The table has the name of each strategy, transfer model and memory model."""
    table = (ROOT / "docs" / "what_there_is.md").read_text()
    kinds = (pl.partitioners(), pl.schedulers(), pl.transforms.catalogue(), TRANSFER_MODELS, MEMORY_MODELS)
    missing = [name for kind in kinds for name in kind if f"`{name}`" not in table]
    assert not missing, f"docs/what_there_is.md needs the name of {', '.join(missing)} in its table"


def test_what_there_is_names_every_format():
    """The table has the title of each format that a graph is read from."""
    table = (ROOT / "docs" / "what_there_is.md").read_text().replace("`", "")
    missing = [row.title for row in readers(GRAPH) if row.title not in table]
    assert not missing, f"docs/what_there_is.md needs {', '.join(missing)} in its row of formats"


def test_the_readme_is_short_and_links_to_the_documentation():
    """The README has at most 700 words; what, a picture, how to install and a first call come before its first heading."""
    text = (ROOT / "README.md").read_text()
    first = text.partition("\n## ")[0]
    assert len(text.split()) <= 700 and "(docs/index.md)" in text
    assert all(part in first for part in ("![", "pip install", "import placelab as pl"))


def test_pictures_of_notebooks_are_told_in_a_sentence():
    """Each cell whose result is a picture has an alternative text, which the site takes from its metadata."""
    told = {}
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        for i, cell in enumerate(json.loads(path.read_text())["cells"]):
            if any(kind.startswith("image/") for output in cell.get("outputs", ()) for kind in output.get("data", ())):
                told[path.name, i] = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt", "")
    assert len(told) >= 8
    assert not [place for place, alt in told.items() if not re.fullmatch(r"[A-Z].{20,}\.", alt)]


def test_what_is_said_to_be_shown_by_a_test_has_one():
    """Each test that the page "Where it runs" names is there."""
    named = re.findall(r"`(tests/\S+\.py)::(\w+)`", (ROOT / "docs" / "where.md").read_text())
    assert len(named) > 8
    missing = [f"{path}::{name}" for path, name in named if f"\ndef {name}(" not in (ROOT / path).read_text()]
    assert not missing


class Page(HTMLParser):
    """What a page fetches, where it links to, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note addresses and ids."""
        given = {key: value or "" for key, value in attrs}
        self.places.add(given.get("id", ""))
        if tag in FETCHED:
            self.fetched.append(given.get(FETCHED[tag], ""))
        if tag == "a":
            self.links.append(given.get("href", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The built site; -W makes a warning an error."""
    pytest.importorskip("myst_nb", reason="needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "-W", "-c", "docs", ".", str(folder)]
    built = subprocess.run(command, cwd=ROOT, env=os.environ | {"PLACELAB_JIT": "0"}, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-3000:]
    return folder


def pages(site: Path) -> dict[Path, Page]:
    """All pages of the site."""
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


@pytest.mark.slow
def test_the_site_fetches_nothing(site):
    """Scripts, styles, fonts, images and frames are files of the site."""
    addresses = [(path.name, address) for path, page in pages(site).items() for address in page.fetched]
    styles = [
        (path.name, found) for path in site.rglob("*.css") for found in re.findall(r"url\(([^)]*)\)", path.read_text())
    ]
    assert len(addresses) > 100
    assert not [pair for pair in addresses + styles if re.match(r"""["']?(https?:)?//""", pair[1])]


KINDS = (
    *("docs/index", "docs/start", "docs/strategies", "docs/playground", "docs/puzzles", "docs/gallery", "docs/where"),
    *(
        "docs/howto/choose_parallelism",
        "docs/generated/strategies/partitioner-heft",
        "docs/generated/strategies/scheduler-gpipe",
    ),
    *(
        "docs/generated/api/placelab.collective_time",
        "docs/generated/api/placelab.Problem",
        "notebooks/papers/mayer2017",
    ),
    *(
        "notebooks/lessons/12_fewer_ops",
        "benchmarks/quality/plans",
        "README",
        "CONTRIBUTING",
        "genindex",
        "py-modindex",
    ),
)
# Text and boxes of the article that end right of the screen, and of no part of it that scrolls by itself.
BEYOND = """() => {
  const width = document.documentElement.clientWidth, found = [], range = document.createRange();
  const ends = (box) => box.width > 0 && box.right > width + 1;
  const scrolls = (node) => {
    for (let at = node; at.tagName !== "ARTICLE"; at = at.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX) && !ends(at.getBoundingClientRect())) return true;
    return false;
  };
  const article = document.querySelector("article"), texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    range.selectNodeContents(texts.currentNode);
    const said = texts.currentNode.data.trim(), own = texts.currentNode.parentElement;
    if (said && ends(range.getBoundingClientRect()) && !scrolls(own)) found.push(said);
  }
  for (const box of article.querySelectorAll("img, svg, iframe, table, math, button, input, select"))
    if (ends(box.getBoundingClientRect()) && !scrolls(box)) found.push(box.tagName);
  return found;
}"""


@pytest.mark.slow
def test_pages_fit_a_phone(site):
    """At 390 pixels nothing ends beyond the screen but what scrolls by itself; the legend is in its frame."""
    executable = chromium.find()
    if executable is None:
        pytest.skip(f"There is no Chromium. {chromium.REMEDY}")
    with sync_playwright() as playwright:
        phone = playwright.chromium.launch(
            executable_path=executable, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        page = phone.new_page(viewport={"width": 390, "height": 844})
        beyond = {}
        for kind in KINDS:
            page.goto((site / f"{kind}.html").as_uri())
            assert page.locator("article").inner_text(), kind
            beyond[kind] = page.evaluate(BEYOND)
        assert not {kind: found for kind, found in beyond.items() if found}
        page.set_viewport_size({"width": 390, "height": 1600})
        page.goto((site / "docs/generated/strategies/partitioner-heft.html").as_uri())
        frame = page.locator(".shown iframe").first
        frame.scroll_into_view_if_needed()
        expect(frame.content_frame.locator(".legend")).to_be_in_viewport(ratio=1)
        phone.close()


@pytest.mark.slow
def test_links_within_the_site_lead_somewhere(site):
    """Each link to a page, a file or a place in a page has its target."""
    found = pages(site)
    assert not list(broken(found))


def broken(found: dict[Path, Page]) -> Iterator[str]:
    """Links without a target."""
    for path, page in found.items():
        for link in page.links:
            url = urlsplit(link)
            if url.scheme or url.netloc or not link:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.is_file():
                yield f"{path.name}: {link}"
            elif url.fragment and target in found and unquote(url.fragment) not in found[target].places:
                yield f"{path.name}: {link}"


@pytest.mark.slow
def test_the_reference_has_every_public_name(site):
    """Sphinx's own list of what is described has each name, under the path by which users call it."""
    from sphinx.util.inventory import InventoryFile

    described = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    known = {name for kind, names in described.data.items() if kind.startswith("py:") for name in names}
    wanted = {f"placelab.{name}" for name in pl.__all__ if name not in MODULES}
    wanted |= {f"placelab.{module}.{name}" for module in MODULES for name in public(getattr(pl, module))}
    assert not wanted - known


@pytest.mark.slow
def test_the_site_has_no_solution(site):
    """No line of a solution that is its own is on the lesson's page; there is no archive with them, and no page of answers."""
    lessons = sorted((ROOT / "notebooks" / "lessons").glob("*.ipynb"))
    assert len(lessons) == 15 and not list(site.rglob("*instructor*.zip")) and not list(site.rglob("answers*"))
    for path in lessons:
        cells = json.loads(path.read_text())["cells"]
        page = unescape(re.sub(r"<[^>]+>", "", (site / "notebooks" / "lessons" / f"{path.stem}.html").read_text()))
        shown = "\n".join("".join(cell["source"]) for cell in cells if not tagged(cell))
        solved = {line.strip() for cell in cells if tagged(cell) for line in "".join(cell["source"]).splitlines()}
        own = {line for line in solved if len(line) > 30 and line not in shown}
        assert own, f"{path.name} has no solution to look for"
        assert not [line for line in own if line in page], path.name


@pytest.mark.slow
def test_each_lesson_shows_with_what_its_explorer_opens(site):
    """The chart stands below the cell that opens the explorer, and its alternative text is a sentence."""
    for path in sorted((ROOT / "notebooks" / "lessons").glob("*.ipynb")):
        _, _, below = (site / "notebooks" / "lessons" / f"{path.stem}.html").read_text().partition("explore</span>")
        label = re.search(r'<svg [^>]*role="img"[^>]*aria-label="([^"]*)"', below)
        assert label and re.fullmatch(r"The explorer opens with .* have a makespan of .*\.", label[1]), path.name


def tight(seed: int) -> pl.Problem:
    """Eight ops; a device that is by far the fastest has room for a third of them, all together have some to spare."""
    rng = np.random.default_rng(seed)
    drawn = pl.generators.random_dag(8, seed=seed)
    kept = rng.integers(1, 4, 8).astype(float)
    seconds = rng.integers(1, 5, 8).astype(float)
    graph = pl.OpGraph.from_arrays(drawn.names, seconds, drawn.edges, edge_bytes=0.01, persistent=kept)
    room = np.ceil(kept.sum() / 3)
    return pl.Problem(graph, pl.Cluster([50.0, 1.0, 2.0], memory=[room, 2 * room, 2 * room], bandwidth=1e3))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(pl.partitioners()))
def test_the_column_of_memory_says_what_plans_do(name, monkeypatch):
    """Strategies with a dot fit where memory is tight, and those without one do not."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    from strategy_pages import heeds_memory

    try:
        fits = [holds(pl.place(tight(seed), name, fallback=False)) for seed in (1, 2, 3)]
    except pl.InfeasibleError:
        fits = [False]
    assert all(fits) == heeds_memory(name)


def holds(placement: pl.Placement) -> bool:
    """Whether each device has room for what its ops keep, counted here."""
    problem = placement.problem
    held = np.bincount(placement.device, problem.graph.persistent, problem.cluster.n_devices)
    return bool((held <= problem.cluster.memory).all())


def tagged(cell: dict) -> bool:
    """Whether a cell is a solution or a check."""
    return bool({"solution", "check"} & set(cell["metadata"].get("tags", ())))


@pytest.mark.slow
def test_every_strategy_has_a_page_that_plays(site):
    """A page per partitioner, scheduler and transformation, with its frame."""
    folder = site / "docs" / "generated" / "strategies"
    kinds = {"partitioner": pl.partitioners(), "scheduler": pl.schedulers(), "transform": pl.transforms.catalogue()}
    for kind, catalogue in kinds.items():
        for name, function in catalogue.items():
            if function.__module__.startswith("placelab."):
                page = Page(folder / f"{kind}-{name}.html")
                assert any(address.endswith(f"playing/{kind}-{name}.html") for address in page.fetched)


@pytest.mark.slow
def test_pages_of_strategies_that_a_page_has_recompute(site):
    """The examples of these partitioners, and of these schedulers, come with the code and the problem."""
    names = [f"partitioner-{name}" for name in PARTITIONERS] + [f"scheduler-{name}" for name in SCHEDULERS]
    for name in names:
        assert '<body class="live">' in (site / "playing" / f"{name}.html").read_text(), name
