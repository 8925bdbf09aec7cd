"""Compute the gap of every partitioner to the proven optimum of small task graphs.

    python benchmarks/quality/gaps.py [PATH]

Writes gaps.md beside this file, or PATH: the same bytes on every machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import mean

import placelab as pl

TABLE = Path(__file__).with_name("gaps.md")
OPS = 10
DEVICES = (2, 4)
RATIOS = (0.1, 1.0, 10.0)
EXACT = ("cp-sat", "ilp")
PROVEN = 1 + 1e-6  # the solver counts time in whole units, and proves its optimum up to one unit
REACHED = 1e-5


def instances() -> Iterator[tuple[str, float, int, pl.Problem]]:
    """(structure, communication to computation ratio, devices, problem): equal devices, links without latency."""
    for ratio, devices in product(RATIOS, DEVICES):
        for name, graph in pl.generators.structures(OPS, ccr=ratio).items():
            yield name, ratio, devices, pl.Problem(graph, pl.Cluster.uniform(devices, latency=0.0))


def makespan(problem: pl.Problem, partitioner: str) -> float:
    """Seconds of the plan where there is one, else of a run by ``pct``."""
    placement = pl.place(problem, partitioner)
    return pl.simulate(problem, placement, "pct" if placement.planned is None else "planned").makespan


def optimum(problem: pl.Problem) -> float:
    """Least makespan [s], proven by cp-sat and reached by its plan."""
    placement = pl.place(problem, "cp-sat")
    found = pl.simulate(problem, placement, "planned").makespan
    assert found <= PROVEN * placement.bound, f"{found} s is not proven: the bound is {placement.bound} s"
    return found


def gaps(heuristics: list[str]) -> tuple[dict[tuple, float], dict[str, dict[tuple, float]]]:
    """Optimum of each instance, and each heuristic's makespan over it, minus 1."""
    best = {}
    gap = {name: {} for name in heuristics}
    for *key, problem in instances():
        best[tuple(key)] = least = optimum(problem)
        for name in heuristics:
            gap[name][tuple(key)] = makespan(problem, name) / least - 1
    return best, gap


def percent(share: float) -> str:
    """With one digit."""
    return f"{100 * max(share, 0.0):.1f}"


def row(name: str, gap: dict[tuple, float]) -> str:
    """A line of the table of partitioners."""
    reached = sum(value <= REACHED for value in gap.values())
    by_ratio = [mean(v for (_, ratio, _), v in gap.items() if ratio == r) for r in RATIOS]
    by_devices = [mean(v for (*_, devices), v in gap.items() if devices == k) for k in DEVICES]
    cells = [*map(percent, (mean(gap.values()), max(gap.values()), *by_ratio, *by_devices))]
    return f"| {name} | {reached} | {' | '.join(cells)} |"


def structure_row(structure: str, best: dict[tuple, float], gap: dict[str, dict[tuple, float]]) -> str:
    """A line of the table of structures: optima in µs, and the quick partitioners that are closest on average."""
    optima = [f"{1e6 * best[structure, r, k]:.6g}" for r, k in product(RATIOS, DEVICES)]
    quick = {name: of for name, of in gap.items() if not pl.partitioners()[name].slow}
    average = {name: mean(v for (s, *_), v in of.items() if s == structure) for name, of in quick.items()}
    closest = min(average.values())
    names = [name for name, value in average.items() if value <= closest + REACHED]
    return f"| {structure} | {' | '.join(optima)} | {percent(closest)} | {', '.join(names)} |"


HEAD = """# Gaps to the optimum

Makespan over the least makespan possible, minus 1, in percent. `python benchmarks/quality/gaps.py` writes this file. The
instances are `generators.structures(10)`: ten structures of ten ops each, of the kind on which optimal schedulers are
compared, with communication to computation ratios of 0.1, 1 and 10, on 2 and 4 equal devices without latency: {count}. `cp-sat`
proves the optimum of each. Partitioners that plan an order run it (`planned`), the others run under `pct`; default
options, seed 0.
"""


def main() -> None:
    """Write the whole file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=TABLE)
    path = parser.parse_args().path
    best, gap = gaps([name for name in pl.partitioners() if name not in EXACT])
    names = sorted(gap, key=lambda name: (mean(gap[name].values()), name))
    titles = [*(f"ccr {r:g}" for r in RATIOS), *(f"{k} devices" for k in DEVICES)]
    optima = [f"ccr {r:g}, {k} devices" for r, k in product(RATIOS, DEVICES)]
    lines = [
        HEAD.format(count=len(best)),
        f"| partitioner | optimal | mean | worst | {' | '.join(titles)} |",
        "| --- |" + " ---: |" * (3 + len(titles)),
        *(row(name, gap[name]) for name in names),
        "",
        "The proven optima in µs, and the quick partitioners that are closest, on average over a structure's six instances:",
        "",
        f"| structure | {' | '.join(optima)} | least mean gap | reached by |",
        "| --- |" + " ---: |" * (1 + len(optima)) + " --- |",
        *(structure_row(structure, best, gap) for structure in dict.fromkeys(s for s, *_ in best)),
    ]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
