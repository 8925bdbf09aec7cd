"""Measure every partitioner once more when it is warm: Inception-V3, 5,230 ops, on four GPUs.

    python benchmarks/strategies.py > benchmarks/strategies.md

Processor time of one process, least of three plans, so that other programs count for little. Each plan is of a problem that
nothing is known of yet, as SCT's linear program is kept with its graph. A search runs as long as it is given, so it has no
number. The documentation's table of strategies reads this page.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

os.environ.setdefault("PLACELAB_JIT", "wait")

import placelab as pl

PLANS = 3
HEAD = """# Time to plan

Milliseconds of processor time in which each partitioner plans Inception-V3's training step (5,230 ops, 9,223 edges) on four GPUs
(`pcie_box`): the least of three plans of a new problem by a warm process, compiled; *searches* run as long as
they are given. `python benchmarks/strategies.py > benchmarks/strategies.md` measures anew.

| partitioner | ms |
| --- | ---: |"""


def rows() -> Iterator[str]:
    """A line per partitioner."""
    for name, function in sorted(pl.partitioners().items()):
        yield f"| `{name}` | {'searches' if function.slow else milliseconds(name)} |"


def milliseconds(name: str) -> str:
    """Least processor time of some plans, the first of which only compiles."""
    graph = pl.load("inception_v3")
    taken = []
    for _ in range(PLANS + 1):
        problem = pl.Problem(graph.replace(), pl.clusters.pcie_box(4))
        begun = time.process_time()
        pl.place(problem, name, fallback=False)
        taken.append(1e3 * (time.process_time() - begun))
    return f"{min(taken[1:]):.3g}"


if __name__ == "__main__":
    print(HEAD)
    for row in rows():
        print(row, flush=True)
