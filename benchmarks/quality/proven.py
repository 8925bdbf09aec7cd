"""How far from the optimum the best plans can be at most, on real models and three machines, as a table.

python benchmarks/quality/proven.py [MODEL …]     # proven.md beside this file; all without names: six minutes of processor time
python benchmarks/quality/proven.py --minutes M   # at most so long, small models first; the page says what is left out
python benchmarks/quality/proven.py --random N    # N random problems: the bound never exceeds an optimum that cp-sat proves
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import inf
from pathlib import Path
from statistics import mean
from time import monotonic, perf_counter, process_time

from markdown_table import table

import placelab as pl
from placelab.planning.input_bound import input_bound

PAGE = Path(__file__).with_name("proven.md")
BOXES = (pl.clusters.rtx2080ti_box, pl.clusters.nvlink_box, pl.clusters.two_nodes)
LONGEST = 120.0  # seconds of the processor that a plan may take: a minute of two cores, however busy the machine is
TRIED = 0.2  # seconds of cp-sat, roughly, for a random problem
HEAD = """# Proven

`python benchmarks/quality/proven.py{command}`
writes this file, here at {commit} on {processor}. *Plan* is the makespan of
`portfolio` with default options, at most two minutes of the processor, which are a minute of two cores; *bound* the largest of
`pl.bounds(problem, inputs=True)`; *above* what the plan is longer than the bound: the optimum lies between. *Before* is the same
with the bounds that know no transfers. Transfers `parallel`, no limit of memory. Seconds of plans are the processor's, on which
they depend; all else depends on it only where the two minutes are over.

Mean {mean:.1f} %, before {before:.1f} %; largest {most:.1f} %; above 20 %: {far} of {count}; proven optimal: {optimal} of
{count}; plans that the two minutes ended: {late}.{left}

"""
COLUMNS = ("model, box", "ops", "plan, ms", "bound, ms", "above, %", "before, %", "plan, s", "bound, s")
FAR = 20.0  # percent above the bound
Found = tuple[pl.Problem, float, float, float, float]


@lru_cache(1)  # boxes of a model share what strategies know of its graph
def loaded(name: str) -> pl.OpGraph:
    """A data set."""
    return pl.load(name)


def solved(name: str, box: Callable[[], pl.Cluster]) -> Found:
    """(problem, plan [s], bound [s], seconds of the plan, seconds of the bound) of a model in a box."""
    problem = pl.Problem(loaded(name), box(), memory="none")
    began = perf_counter()
    bound = input_bound(problem)
    proven = perf_counter()
    end = process_time() + LONGEST
    options = dict(time_limit=1e6, cancel=lambda: process_time() > end)
    plan = pl.simulate(problem, pl.place(problem, "portfolio", **options), "planned").makespan
    return problem, plan, bound, process_time() - end + LONGEST, proven - began


def above(found: Found) -> tuple[float, float]:
    """What a plan is above the bound, and above those that know no transfers, in percent."""
    problem, plan, bound, *_ = found
    return max(100 * (plan / bound - 1), 0.0), max(100 * (plan / max(pl.bounds(problem).values()) - 1), 0.0)


def row(label: str, found: Found) -> tuple[str, ...]:
    """A line of the table."""
    problem, plan, bound, searched, proved = found
    numbers = f"{1e3 * plan:.4g}", f"{1e3 * bound:.4g}", *(f"{percent:.1f}" for percent in above(found))
    return label, f"{problem.graph.n_ops:,}", *numbers, f"{searched:.1f}", f"{proved:.3f}"


def models() -> list[str]:
    """All data sets but the one whose costs are no operations, the small ones first."""
    return sorted(set(pl.datasets.names()) - {"topcuoglu"}, key=lambda name: (pl.load(name).n_ops, name))


def labels(names: Iterable[str]) -> dict[str, tuple[str, Callable[[], pl.Cluster]]]:
    """Model and box by the first cell of their line."""
    return {f"{name}, {box.__name__}": (name, box) for name in names for box in BOXES}


def write(names: list[str], minutes: float, command: str) -> None:
    """Write the page, anew after each row, so that one that is stopped leaves what it has."""
    end = monotonic() + 60 * minutes
    lines = []
    gaps = []
    before = []
    took = []
    cases = labels(names or models())
    input_bound(pl.Problem(pl.load("alexnet"), BOXES[0]()))  # the time to load a kernel is not counted
    left = list(cases)
    where = dict(command=command, commit=_commit(), processor=_processor())
    for label, case in cases.items():
        found = solved(*case)
        gap, earlier = above(found)
        gaps.append(gap)
        before.append(earlier)
        took.append(found[3])
        lines.append(row(label, found))
        left.remove(label)
        print(*lines[-1], flush=True)
        said = dict(
            mean=mean(gaps),
            before=mean(before),
            most=max(gaps),
            far=sum(gap > FAR for gap in gaps),
            optimal=sum(gap < 1e-6 for gap in gaps),
            count=len(gaps),
            late=sum(seconds >= LONGEST for seconds in took),
            left=f" Left out for want of time: {'; '.join(left)}." if left else "",
        )
        PAGE.write_text(HEAD.format(**where, **said) + table(COLUMNS, lines))
        if monotonic() > end:
            break


def _commit() -> str:
    """The commit of this checkout, as Git abbreviates it."""
    asked = ("git", "describe", "--always", "--dirty")
    return subprocess.check_output(asked, cwd=PAGE.parent, text=True).strip()


def _processor() -> str:
    """The processor's name, where the system says it."""
    known = Path("/proc/cpuinfo")
    said = known.read_text().splitlines() if known.exists() else []
    named = (line.partition(":")[2].strip() for line in said if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def random_problems(count: int) -> Iterator[pl.Problem]:
    """Of 4 to 9 ops on two or three devices, half of them unequal."""
    for seed in range(count):
        k = 2 + seed % 2
        speed = [1.0] * k if seed % 4 < 2 else [1.0, 2.0, 1.5][:k]
        graph = pl.generators.layered(4 + seed % 6, ccr=(0.3, 1.0, 3.0)[seed % 3], seed=seed)
        mean_rate = graph.edge_bytes.mean() / graph.compute.mean() if graph.n_edges else 1.0
        yield pl.Problem(graph, pl.Cluster(speed, bandwidth=max(mean_rate, 1e-9), latency=0.0))


def check(count: int) -> None:
    """Print how near to proven optima the bound is, and fail where it exceeds one."""
    found = []
    before = []
    for problem in random_problems(count):
        placement = pl.place(problem, "cp-sat", effort=TRIED)
        # not `placement.optimal`: cp-sat takes the bound itself, and a wrong one would seem to be proven
        assert input_bound(problem) <= placement.estimate * (1 + 1e-9), problem
        found.append(placement.estimate / input_bound(problem) - 1)
        before.append(placement.estimate / max(pl.bounds(problem).values()) - 1)
    print(f"{count} problems: cp-sat's plan above the bound {mean(found):.1%} in the mean, before {mean(before):.1%}")


def main() -> None:
    """Write the page, or try random problems."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--minutes", type=float, default=inf)
    parser.add_argument("--random", type=int, default=0)
    given = parser.parse_args()
    if given.random:
        check(given.random)
    else:
        write(given.models, given.minutes, "".join(f" {word}" for word in sys.argv[1:]))


if __name__ == "__main__":
    main()
