"""How badly each quick strategy can lose to each other one: small problems found by a search, by two rules.

    python benchmarks/quality/adversaries.py [--restarts N] [--processes N] [PATH]

Writes adversaries.md beside this file, or PATH: the same bytes on every machine.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

from markdown_table import table

import placelab as pl

PAGE = Path(__file__).with_name("adversaries.md")
RULES = ("published", "metropolis")
STEPS = 459  # those of the published program
SEEDS = (1, 2, 3, 4, 5)  # of a search that is repeated
OWN = ("cpop", "dls", "etf", "heft", "hlfet", "lookahead", "max-min", "mcp", "min-min", "peft", "single", "sufferage")
MEMBERS = {  # of the parametric list scheduler, ops in topological order, appended
    "mct": "eft",  # minimum completion time
    "met": "quickest",  # minimum execution time
    "mst": "est",  # minimum start time
}
NAMES = tuple(sorted((*OWN, *MEMBERS)))


def enter(name: str, place: str) -> None:
    """Make a member a partitioner of its own."""

    @pl.partitioner(name=name)
    def member(problem: pl.Problem) -> pl.Placement:
        """A member of the parametric list scheduler."""
        return pl.place(problem, "parametric", priority="topological", place=place, insertion=False)


for each in MEMBERS.items():
    enter(*each)


def ratio(a: str, b: str, restarts: int, rule: str, seed: int = 1) -> float:
    """The largest ratio found of the makespan of `a` to that of `b`."""
    return pl.adversarial(a, b, restarts=restarts, steps=STEPS, rule=rule, seed=seed).value


def found(restarts: int, rule: str, processes: int) -> dict[tuple[str, str], float]:
    """The ratio of each pair."""
    pairs = [(a, b) for a, b in product(NAMES, NAMES) if a != b]
    first, second = zip(*pairs, strict=True)
    with ProcessPoolExecutor(processes) as pool:
        ratios = pool.map(ratio, first, second, [restarts] * len(pairs), [rule] * len(pairs))
        return dict(zip(pairs, ratios, strict=True))


def luck(processes: int) -> str:
    """How many times heft loses to the fastest device, by as many restarts as published, for several seeds."""
    n = len(SEEDS)
    with ProcessPoolExecutor(processes) as pool:
        by_rule = [[*pool.map(ratio, ["heft"] * n, ["single"] * n, [10] * n, [rule] * n, SEEDS)] for rule in RULES]
    one, two = (", ".join(f"{value:.2f}" for value in ratios) for ratios in by_rule)
    return f"""
What a search finds is a lower bound, and depends on its luck: by 10 restarts with {n} seeds `heft` loses {one}
times to `single` with the published rule, {two} times with the other one.
"""


def section(rule: str, ratios: dict[tuple[str, str], float]) -> str:
    """What one rule finds."""
    worst = {a: max(ratios[a, b] for b in NAMES if b != a) for a in NAMES}
    twice, five = (sum(value >= least for value in worst.values()) for least in (2, 5))
    rows = [[a, *("" if a == b else f"{ratios[a, b]:.2f}" for b in NAMES), f"{worst[a]:.2f}"] for a in NAMES]
    return f"""
## Rule "{rule}"

{twice} of {len(NAMES)} lose at least 2 times to some other one, {five} at least 5 times; `heft` loses
{ratios["heft", "single"]:.2f} times to `single`.

{table(["loses", *NAMES, "worst"], rows)}"""


HEAD = """# Where a strategy loses

`python benchmarks/quality/adversaries.py` writes this page.

Each cell: how many times as long the strategy of its row takes as that of its column, on the worst problem that simulated
annealing finds (`pl.adversarial`: {restarts} restarts of {steps} steps), among problems of 3 to 5 ops and 3 to 5 devices with
weights from 0.1 to 1. Rule "published" accepts worse problems as the program of Coleman and Krishnamachari (2024, PISA) does,
with exp(−r / T), which favours the worst ones; "metropolis", the default, with exp(−(1 − r) / T).

Published, for 15 algorithms by 10 restarts: all 15 lose at least 2 times to some other one, 10 of them at least 5 times, and HEFT
4.34 times to the fastest device alone (`single` here). These numbers are not reached below, by fewer restarts and with better
rivals: `lookahead`, which looks one op further, loses least. Nine of the published ones are among these; BIL, Duplex, FCP,
FLB, GDL and WBA are not, and `dls`, `hlfet`, `lookahead`, `mcp`, `peft` and `sufferage` take their places. `mct`, `met` and
`mst`, here for the minimum completion, execution and start time, are members of `parametric`; `mst` is the nearest to the
published OLB.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=PAGE)
    parser.add_argument("--restarts", type=int, default=3)
    parser.add_argument("--processes", type=int, help="(default: one per processor)")
    options = parser.parse_args()
    sections = [section(rule, found(options.restarts, rule, options.processes)) for rule in RULES]
    head = HEAD.format(restarts=options.restarts, steps=STEPS) + luck(options.processes)
    options.path.write_text(head + "".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
