"""Measure learned placement: Inception-V3 on four GPUs, from a start and from nothing, beside list schedulers.

    python benchmarks/learned.py

Step times are simulated under ``pct``. ``placing`` is what it took here (wall-clock, other programs running), ``as steps``
what it would have taken with each sample a step on the machine, as the papers train: samples times the best step.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

os.environ.setdefault("PLACELAB_JIT", "wait")

import placelab as pl

BOXES = ("pcie_box", "rtx2080ti_box")
UNITS = "forward-only coplace fuse"
LISTS = ("single", "heft", "m-etf", "m-sct")
LEARNED = [
    (name, dict(start=start, units=units))
    for name in ("cem", "policy-gradient")
    for units in (UNITS, "")
    for start in ("m-etf", "uniform")
]
HEAD = """| cluster | strategy | start | units | step | of the last round, mean | samples | placing | as steps |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"""


def rows() -> Iterator[str]:
    """A line of the table per cluster and strategy."""
    graph = pl.load("inception_v3")
    for box in BOXES:
        problem = pl.Problem(graph, getattr(pl.clusters, box)(4))
        for name in LISTS:
            placement, taken = timed(problem, name, {})
            yield line(box, name, "", "", placement, taken)
        for name, options in LEARNED:
            placement, taken = timed(problem, name, options)
            yield line(box, name, options["start"], "transforms" if options["units"] else "ops", placement, taken)


def timed(problem: pl.Problem, name: str, options: dict) -> tuple[pl.Placement, float]:
    """The placement, and the seconds it took."""
    begun = time.perf_counter()
    return pl.place(problem, name, **options), time.perf_counter() - begun


def line(box: str, name: str, start: str, units: str, placement: pl.Placement, taken: float) -> str:
    """A row in Markdown."""
    step = pl.simulate(placement.problem, placement, "pct").makespan
    curve = placement.table
    more = ("", "", "")
    if curve is not None:
        end = curve.iloc[-1]
        more = f"{1e3 * end['mean']:.1f} ms", f"{end.samples:,.0f}", f"{end.placement_time / 60:.1f} min"
    cells = box, name, start, units, f"{1e3 * step:.1f} ms", *more[:2], f"{taken:.2g} s", more[2]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(HEAD)
    for row in rows():
        print(row, flush=True)
