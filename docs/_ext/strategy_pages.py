"""Write a page per strategy into docs/generated/strategies, and the tables that list them, before the site is built.

A page has the strategy's docstring, a schedule that plays, and the strategy's place in benchmarks/quality/makespans.md. A table
has a row per strategy; whether a partitioner heeds memory is tried, the time it takes is read from benchmarks/strategies.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import placelab as pl
from placelab import partitioners, schedulers
from placelab.graphs import transforms

QUALITY = Path("benchmarks", "quality", "makespans.md")
TIMES = Path("benchmarks", "strategies.md")
FAMILIES = {  # of partitioners; what is in none of these is a list scheduler
    "placement": "batch-split critical-path dfs mite m-topo m-etf m-sct tf-greedy layers min-cut contiguous",
    "baseline": "hash single random round-robin",
    "clustering": "dsc ez lc",
    "search": "cem policy-gradient portfolio",
    "exact": "cp-sat ilp",
}
HEFT = "heft"  # the partitioner under which the table of a scheduler's page compares
TOPCUOGLU = 'problem = pl.datasets.problem("topcuoglu")\n'
LAYERED = "problem = pl.Problem(pl.generators.layered(30, seed=1), pl.clusters.uniform(3))\n"
READS = (
    "model = pl.costs.in_seconds(pl.generators.seq(6))\n"
    "graph = pl.transforms.model_replica(model, workers=1, training=False)\n"
    'problem = pl.Problem(graph, pl.clusters.parameter_server(1).replace(bandwidth=12e9), transfers="channel")\n'
)
TRAINING = 'problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4))\n'
EXAMPLES = {
    "ilp": 'problem = pl.Problem(pl.generators.series_parallel(6, seed=1), pl.Cluster.uniform(2))\npl.solve(problem, "ilp")',
    **{name: f'{READS}pl.solve(problem, "heft", "{name}")' for name in ("tic", "tac", "random-reads")},
    "interleaved": (
        "problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=8, stages=4, chunks=2)\n"
        'pl.solve(problem, "heft", "interleaved")'
    ),
    "dualpipe": (
        'problem = pl.generators.pipeline_training(1.0, 1.0, 1.0, microbatches=10, stages=4, layout="dual")\n'
        'pl.solve(problem, "heft", "dualpipe")'
    ),
    "dualpipe-v": (
        'problem = pl.generators.pipeline_training(1.0, 1.0, 1.0, microbatches=8, stages=4, chunks=2, layout="v")\n'
        'pl.solve(problem, "heft", "dualpipe-v")'
    ),
    "looped-bfs": (
        "problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=8, stages=4, chunks=2)\n"
        'pl.solve(problem, "heft", "looped-bfs")'
    ),
    "forward-only": (
        "problem = pl.generators.pipeline_training(1.0, None, microbatches=8, stages=4, chunks=2)\n"
        'pl.solve(problem, "heft", "forward-only")'
    ),
    "zb-v": (
        'problem = pl.generators.pipeline_training(1.0, 1.0, 1.0, microbatches=8, stages=4, chunks=2, layout="v")\n'
        'pl.solve(problem, "heft", "zb-v")'
    ),
}


def write_pages(app: Sphinx) -> None:
    """One page per strategy, and nothing else, in docs/generated/strategies."""
    folder = Path(app.srcdir, "docs", "generated", "strategies")
    folder.mkdir(parents=True, exist_ok=True)
    results = dict(makespans((Path(app.srcdir) / QUALITY).read_text()))
    pages = {f"{kind}-{f.name}": page(kind, f, results) for kind, f in strategies()}
    for stale in set(folder.glob("*.md")) - {folder / f"{name}.md" for name in pages}:
        stale.unlink()
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text() != text:  # an unchanged page is not built again
            file.write_text(text)


def write_tables(app: Sphinx) -> None:
    """docs/generated/partitioners.txt, schedulers.txt and preparations.txt, which docs/strategies.md includes."""
    times = dict(re.findall(r"^\| `(.+?)` \| (.+?) \|$", (Path(app.srcdir) / TIMES).read_text(), re.MULTILINE))
    rows = [(kind, f) for kind, f in strategies() if f.__module__.startswith("placelab.")]
    tables = {
        "partitioners": [PARTITIONERS, *(partitioner_row(f, times) for kind, f in rows if kind == "partitioner")],
        "schedulers": [SCHEDULERS, *(scheduler_row(f) for kind, f in rows if kind == "scheduler")],
        "preparations": [PREPARATIONS, *(preparation_row(f) for kind, f in rows if kind == "transform")],
    }
    for name, lines in tables.items():
        Path(app.srcdir, "docs", "generated", f"{name}.txt").write_text("\n".join(lines) + "\n")


PARTITIONERS = """| strategy | family | year | in one sentence | kind | memory | ms |
| --- | --- | --- | --- | --- | :-: | ---: |"""
SCHEDULERS = """| strategy | year | in one sentence | kind |
| --- | --- | --- | --- |"""
PREPARATIONS = """| strategy | year | in one sentence |
| --- | --- | --- |"""


def partitioner_row(f: Any, times: dict[str, str]) -> str:
    """Name, family, year, sentence, whether it searches, whether it heeds memory, milliseconds."""
    family = next((name for name, members in FAMILIES.items() if f.name in members.split()), "list")
    searches = "searches" if family in ("search", "exact") else "plans"
    heeds = "●" if heeds_memory(f.name) else "–"
    took = times.get(f.name, "–").replace("searches", "s, min")
    return f"| {link('partitioner', f)} | {family} | {year(f)} | {sentence(f)} | {searches} | {heeds} | {took} |"


def scheduler_row(f: Any) -> str:
    """Name, year, sentence, when it decides."""
    return f"| {link('scheduler', f)} | {year(f)} | {sentence(f)} | {'static' if f.static else 'at run time'} |"


def preparation_row(f: Any) -> str:
    """Name, year, sentence."""
    return f"| {link('transform', f)} | {year(f)} | {sentence(f)} |"


def link(kind: str, f: Any) -> str:
    """The name, which leads to the strategy's page."""
    return f"[{f.name}](generated/strategies/{kind}-{f.name}.md)"


def year(f: Any) -> str:
    """The year of the first of its sources."""
    return min(re.findall(r"\b(?:19|20)\d\d\b", f.source), default="–")


def sentence(f: Any) -> str:
    """The first line of its docstring without its own name, equations and what Sphinx writes in another way."""
    text = re.sub(r"^[\w-]*[A-Z][\w-]*: (.)", lambda found: found[1].upper(), f.summary)
    return re.sub(r":math:`(.*?)`", r"$\1$", text.replace("``", "`")).replace("|", "\\|")


def heeds_memory(name: str) -> bool:
    """Whether a plan leaves a fast device that is too small for its share; who cannot run here is taken at its word."""
    graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(8)], [1.0] * 8, [], persistent=[1.0] * 8)
    cluster = pl.Cluster([100.0, 1.0], memory=[2.0, 6.0], bandwidth=1e9)
    problem = pl.Problem(graph, cluster, memory="reserved")
    try:
        placement = pl.place(problem, name, fallback=False)
    except pl.PlacelabError:
        return False
    return not len(pl.simulate(problem, placement, "fifo").oom)


def strategies() -> Iterator[tuple[str, Any]]:
    """Kind and function of every strategy."""
    catalogues = {"partitioner": partitioners(), "scheduler": schedulers(), "transform": transforms.catalogue()}
    for kind, catalogue in catalogues.items():
        yield from ((kind, catalogue[name]) for name in sorted(catalogue))


def page(kind: str, f: Any, results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The page of a strategy, in Markdown."""
    path = f"{f.__module__}.{f.__name__}"
    parts = [
        f"# {f.name}\n\n*{kind.capitalize()}*. Source: {f.source}.",
        f"```{{eval-rst}}\n.. autofunction:: {path}\n```",
        f"## A schedule that plays\n\n```{{shown}}\n:play: {kind}-{f.name}\n{example(kind, f)}\n```",
    ]
    rows = list(ranked(kind, f.name, results))
    if rows:
        what = "partitioners" if kind == "partitioner" else "schedulers"
        under = "its best scheduler" if kind == "partitioner" else f"the partitioner `{HEFT}`"
        parts += [
            f"## In the quality tables\n\nMakespans under {under}, and its place among the {what} there "
            f"(equal ones share a place). All pairs are in the table of [makespans](/{QUALITY}).",
            f"| problem | makespan [s] | best [s] | place among {what} |\n| --- | ---: | ---: | ---: |\n"
            + "\n".join(rows),
        ]
    return "\n\n".join(parts) + "\n"


def example(kind: str, f: Any) -> str:
    """Code whose last line is a schedule by the strategy."""
    if f.name in EXAMPLES:
        return EXAMPLES[f.name]
    if kind == "partitioner":
        return f'{TOPCUOGLU}pl.solve(problem, "{f.name}")'
    if kind == "transform":
        return f'{TRAINING}pl.solve(problem, "m-etf", prepare="{f.name}")'
    if f.needs == "pipeline":
        seconds = "1.0, 1.0, 1.0" if f.name.startswith("zb-") else "1.0, 2.0"
        given = f"problem = pl.generators.pipeline_training({seconds}, microbatches=8, stages=4)\n"
        return f'{given}pl.solve(problem, "heft", "{f.name}")'
    return f'{LAYERED}pl.solve(problem, "heft", "{f.name}")'


def makespans(text: str) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """Problem, and its makespans by partitioner and scheduler, of each table in a Markdown file; words count as infinite."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"
        ]
        head = rows[0][1:]
        values = {row[0]: [seconds(cell) for cell in row[1:]] for row in rows[2:]}
        yield section.splitlines()[0], {name: dict(zip(head, row, strict=True)) for name, row in values.items()}


def seconds(cell: str) -> float:
    """The number in a cell; infinite where there is none."""
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return float("inf")


def ranked(kind: str, name: str, results: dict[str, dict[str, dict[str, float]]]) -> Iterator[str]:
    """A row per problem: makespan of the strategy, best makespan, place."""
    for problem, table in results.items():
        found = {p: min(row.values()) for p, row in table.items()} if kind == "partitioner" else table.get(HEFT, {})
        if kind != "transform" and name in found:
            mine = found[name]
            best = min(found.values())
            place = 1 + sum(value < mine for value in found.values())
            shown = f"{mine:,g}" if mine < float("inf") else "none"
            yield f"| {problem} | {shown} | {best:,g} | {place if shown != 'none' else '–'} of {len(found)} |"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for sources."""
    app.connect("builder-inited", write_pages)
    app.connect("builder-inited", write_tables)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
