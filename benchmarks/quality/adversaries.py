"""How badly each published list scheduler can lose to each other one: small problems found by a search, by two rules.

    python benchmarks/quality/adversaries.py [--restarts N] [--processes N] [PATH]

Writes adversaries.md beside this file, or PATH: the same bytes on every machine. It takes half an hour on two cores.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
from markdown_table import table

import placelab as pl

PAGE = Path(__file__).with_name("adversaries.md")
RULES = ("published", "metropolis")
STEPS = 459  # those of the published program
SEEDS = (1, 2, 3, 4, 5)  # of a search that is repeated
LEAST = 1e-9  # of a weight, in the first public program
EQUAL_DEVICES = {"etf", "fcp", "flb"}  # strategies for which it keeps these equal
EQUAL_LINKS = {"bil", "fcp", "flb", "gdl"}
RIVALS = ("single", "heft")  # to which all others lose with its ranges
OWN = ("bil", "cpop", "duplex", "etf", "fcp", "flb", "gdl", "heft", "max-min", "min-min", "single")
MEMBERS = {  # of the parametric list scheduler, ops in topological order, appended
    "mct": "eft",  # minimum completion time
    "met": "quickest",  # minimum execution time
}
NAMES = tuple(sorted((*OWN, *MEMBERS, "olb")))
PAIRS = [(a, b) for a, b in product(NAMES, NAMES) if a != b]
Table = dict[tuple[str, str], float]  # the ratio of each pair


def enter(name: str, place: str) -> None:
    """Make a member a partitioner of its own."""

    @pl.partitioner(name=name)
    def member(problem: pl.Problem) -> pl.Placement:
        """A member of the parametric list scheduler."""
        return pl.place(problem, "parametric", priority="topological", place=place, insertion=False)


for each in MEMBERS.items():
    enter(*each)


@pl.partitioner
def olb(problem: pl.Problem) -> pl.Placement:
    """Opportunistic load balancing: ops in topological order, each on the device that is idle first."""
    s, idle = pl.ListScheduler(problem), np.zeros(problem.cluster.n_devices)
    for v in range(problem.graph.n_ops):
        d = int(np.argmin(idle))
        s.place(v, d)
        idle[d] = s.finish[v]
    return s.placement()


def ratio(a: str, b: str, restarts: int, rule: str, seed: int = 1) -> float:
    """The largest ratio found of the makespan of `a` to that of `b`."""
    return pl.adversarial(a, b, restarts=restarts, steps=STEPS, rule=rule, seed=seed).value


def found(restarts: int, rule: str, processes: int) -> Table:
    """The ratio of each pair."""
    first, second = zip(*PAIRS, strict=True)
    with ProcessPoolExecutor(processes) as pool:
        ratios = pool.map(ratio, first, second, [restarts] * len(PAIRS), [rule] * len(PAIRS))
        return dict(zip(PAIRS, ratios, strict=True))


def luck(processes: int) -> list[str]:
    """How many times heft loses to the fastest device, by as many restarts as published, for several seeds: by rule."""
    n = len(SEEDS)
    with ProcessPoolExecutor(processes) as pool:
        by_rule = [[*pool.map(ratio, ["heft"] * n, ["single"] * n, [10] * n, [rule] * n, SEEDS)] for rule in RULES]
    return [", ".join(f"{value:.2f}" for value in ratios) for ratios in by_rule]


def ratio_in_its_ranges(a: str, b: str, seed: int = 1) -> float:
    """As the first public program searches: weights down to 1e-9; equal devices or links for strategies made for these."""
    equal = [kind for kind, names in (("devices", EQUAL_DEVICES), ("links", EQUAL_LINKS)) if names & {a, b}]
    kept = dict(rule="published", least=LEAST, equal=equal)
    return pl.adversarial(a, b, restarts=10, steps=STEPS, seed=seed, **kept).value


def ranges(processes: int) -> str:
    """What all strategies lose to two of them with the ranges of the first public program."""
    pairs = [*product(NAMES, RIVALS)]
    with ProcessPoolExecutor(processes) as pool:
        lost = [pool.submit(ratio_in_its_ranges, a, b) for a, b in pairs if a != b]
        again = [*pool.map(ratio_in_its_ranges, ["heft"] * len(SEEDS), ["single"] * len(SEEDS), SEEDS)]
        found = iter([each.result() for each in lost])
    ratios = {pair: 1.0 if pair[0] == pair[1] else next(found) for pair in pairs}
    return in_its_ranges(ratios, again)


def in_its_ranges(ratios: Table, again: Sequence[float]) -> str:
    """The section on these."""
    rows = [[a, *("" if a == b else written(ratios[a, b]) for b in RIVALS)] for a in NAMES]
    return RANGES.format(seeds=", ".join(map(written, again)), n=len(SEEDS)) + table(["loses", *RIVALS], rows)


def written(value: float) -> str:
    """A ratio; very large ones without digits."""
    return f"{value:.2f}" if value < 1000 else "> 1000"


def section(rule: str, ratios: Table) -> str:
    """What one rule finds."""
    rows = []
    for a in NAMES:
        row = [ratios[a, b] for b in NAMES if b != a]
        rows.append([a, *("" if a == b else f"{ratios[a, b]:.2f}" for b in NAMES), f"{max(row):.2f}"])
    return f'\n## Rule "{rule}"\n\n{table(["loses", *NAMES, "worst"], rows)}'


HEAD = """# Where a strategy loses

`python benchmarks/quality/adversaries.py` writes this page.

Each cell: how many times as long the strategy of its row takes as that of its column, on the worst problem that simulated
annealing finds (`pl.adversarial`: {restarts} restarts of {steps} steps), among problems of 3 to 5 ops and 3 to 5 devices with
weights from 0.1 to 1. Rule "published" accepts worse problems as the program of Coleman and Krishnamachari (2024, PISA) does,
with exp(−r / T), which favours the worst ones; "metropolis", the default, with exp(−(1 − r) / T).

These are 14 of the 15 published algorithms: WBA, which draws lots, is missing. FastestNode is `single`; MCT and MET are members
of `parametric`; OLB is written in the program of this page. `met` and `single` take equally long on these problems, whose ops are
all quickest on one device: their columns differ by the luck of the search alone.

## What is met

| | published | rule "published" | rule "metropolis" |
| --- | --- | --- | --- |
{shape}

Met, by both rules: every one of them loses at least 2 times to some other one. Not met: fewer of them lose 5 times, and with this
seed HEFT loses less to the fastest device.

- *Luck.* A search finds a lower bound: one more restart may raise a cell, none can lower it. By 10 restarts with {n} seeds `heft`
  loses {published} times to `single` with the published rule, {metropolis} times with the other one.
- *The programs.* In the public program GDL takes the op and the device of the *least* level, FCP looks for the input that is
  computed last, not for the one that arrives last, and FLB prefers the op that waits where two start equally soon. Here they
  follow the papers. The others were not compared line by line.
- *The ranges.* The first public program lets moves take weights down to 1e-9, a later one to 0.1, as here; and it keeps devices
  equal for ETF, FCP and FLB, links for BIL, FCP, FLB and GDL. The last section has these ranges.
"""

RANGES = """
## Rule "published", with the ranges of the first public program

`pl.adversarial(…, least=1e-9, equal=…)`, 10 restarts. A device or link may be almost without speed: a search that finds the
way there has ratios without end; one that does not has ratios as above. By {n} seeds `heft` loses to `single`
{seeds} times. If the published ratios were found with these ranges, 4.34 says where one search
stopped. FCP and FLB lose far less on equal devices and links than above, where they overlook slow devices.

"""


def shape(tables: Sequence[Table]) -> str:
    """What was published beside what the rules find: rows of a table."""
    worst = [[max(ratios[a, b] for b in NAMES if b != a) for a in NAMES] for ratios in tables]
    rows = [
        ("lose at least 2 times", "15 of 15", *(f"{sum(x >= 2 for x in one)} of {len(NAMES)}" for one in worst)),
        ("lose at least 5 times", "10 of 15", *(f"{sum(x >= 5 for x in one)} of {len(NAMES)}" for one in worst)),
        ("HEFT to the fastest device alone", "4.34", *(f"{ratios['heft', 'single']:.2f}" for ratios in tables)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=PAGE)
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--processes", type=int, help="(default: one per processor)")
    options = parser.parse_args()
    tables = [found(options.restarts, rule, options.processes) for rule in RULES]
    text = page(options.restarts, tables, luck(options.processes)) + ranges(options.processes)
    options.path.write_text(text, encoding="utf-8")


def page(restarts: int, tables: Sequence[Table], lucky: Sequence[str]) -> str:
    """The whole page."""
    facts = dict(restarts=restarts, steps=STEPS, n=len(SEEDS), published=lucky[0], metropolis=lucky[1])
    head = HEAD.format(shape=shape(tables), **facts)
    return head + "".join(section(rule, ratios) for rule, ratios in zip(RULES, tables, strict=True))


if __name__ == "__main__":
    main()
