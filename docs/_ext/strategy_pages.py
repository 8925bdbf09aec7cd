"""Write a page per strategy into docs/generated/strategies, before the site is built.

A page has the strategy's docstring, a schedule that plays, and the strategy's place in benchmarks/quality/makespans.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from placelab import partitioners, schedulers
from placelab.graphs import transforms

QUALITY = Path("benchmarks", "quality", "makespans.md")
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
        head, values = rows[0][1:], {row[0]: [seconds(cell) for cell in row[1:]] for row in rows[2:]}
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
            mine, best = found[name], min(found.values())
            place = 1 + sum(value < mine for value in found.values())
            shown = f"{mine:,g}" if mine < float("inf") else "none"
            yield f"| {problem} | {shown} | {best:,g} | {place if shown != 'none' else '–'} of {len(found)} |"


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for sources."""
    app.connect("builder-inited", write_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
