"""Compare `portfolio` with proven optima, with the best list scheduler and with the catalogue, as tables.

    python benchmarks/quality/portfolio.py [PATH]    # portfolio.md beside this file, or PATH
    python benchmarks/quality/portfolio.py --prove   # the optima of the first table once more, in optima.json
    python benchmarks/quality/portfolio.py --fair    # how it does where transfers share links, printed

The page is the same on every machine: no search in it is stopped by the clock.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from statistics import mean

from markdown_table import table

import placelab as pl
from placelab.graphs import generators as gen

PAGE, OPTIMA = (Path(__file__).with_name(name) for name in ("portfolio.md", "optima.json"))
PATIENT = 3600.0  # seconds
LIST = frozenset(
    "bil cpop dls duplex etf fcp flb gdl hbmct hcpt heft hlfet ish lookahead m-etf m-sct max-min mcp min-min parametric peft "
    "pets sct sufferage tf-greedy".split()
)
THIRTY = {
    "random": lambda seed: gen.layered(30, seed=seed),
    "dense": lambda seed: gen.random_dag(30, degree=6.0, seed=seed),
    "dear transfers": lambda seed: gen.layered(30, degree=3.0, ccr=10.0, seed=seed),
}
SIZES = (20, 100, 300, 1000)
GAUSS = dict(zip(SIZES, (6, 13, 24, 44), strict=True))
FFT = dict(zip(SIZES, (4, 16, 32, 128), strict=True))
PEERS = {
    "layered": lambda n, names: gen.layered(n, degree=3.0, seed=1),
    "layered, ccr 10": lambda n, names: gen.layered(n, ccr=10.0, seed=2),
    "layered, heterogeneity 1": lambda n, names: gen.layered(n, heterogeneity=1.0, devices=names, seed=3),
    "gaussian elimination": lambda n, names: gen.gaussian_elimination(GAUSS[n]),
    "fft": lambda n, names: gen.fft(FFT[n]),
    "series-parallel": lambda n, names: gen.series_parallel(n, seed=4),
}


def thirty() -> Iterator[tuple[str, pl.Problem]]:
    """Graphs of thirty ops on 4, 8 and 16 equal devices without latency."""
    for (kind, graph), devices, seed in product(THIRTY.items(), (4, 8, 16), (1, 2)):
        yield (
            f"{kind}, {devices} devices, seed {seed}",
            pl.Problem(graph(seed), pl.Cluster.uniform(devices, latency=0.0)),
        )


def peers() -> Iterator[tuple[str, int, pl.Problem]]:
    """(kind, about how many ops, problem): graphs as list schedulers are compared on, 4 and 50 equal devices without latency."""
    for (kind, graph), n, devices in product(PEERS.items(), SIZES, (4, 50)):
        cluster = pl.Cluster.uniform(devices, latency=0.0)
        yield kind, n, pl.Problem(graph(n, cluster.names), cluster)


def prove() -> None:
    """Prove the optima of :func:`thirty` by cp-sat, and write them down in seconds."""
    found = {}
    for name, problem in thirty():
        placement = pl.place(problem, "cp-sat", effort=600.0, time_limit=PATIENT)
        print(f"{name}: {placement.notes[0]}", flush=True)
        assert placement.optimal
        found[name] = placement.estimate
    OPTIMA.write_text(json.dumps(found, indent=1) + "\n")


def searched(problem: pl.Problem) -> tuple[float, float, float, str]:
    """Makespans of portfolio, of the best of the catalogue and of the best list scheduler [s]; that one's name."""
    found = pl.place(problem, "portfolio", time_limit=PATIENT)
    tried = found.table[(found.table.error == "") & (found.table.partitioner != "local search")]
    lists = tried[tried.partitioner.isin(LIST)]
    best = lists.makespan.argmin()
    return found.estimate, tried.makespan.min(), lists.makespan.iloc[best], lists.partitioner.iloc[best]


def shared() -> Iterator[tuple[str, pl.Problem]]:
    """About a hundred and three hundred ops on two hosts of four devices, joined by one link each way; ``fair`` transfers."""
    between = {f"from {a}": (12e9, [(a, b)]) for a, b in (("host0", "host1"), ("host1", "host0"))}
    cluster = pl.Cluster.from_hosts({"host0": 4, "host1": 4}, inside=(12e9, 0.0), between=(12e9, 0.0))
    cluster = cluster.replace(links=between)
    for (kind, graph), n in product(PEERS.items(), SIZES[1:3]):
        yield f"{kind}, {n} ops", pl.Problem(graph(n, cluster.names), cluster, transfers="fair")


def print_fair() -> None:
    """Print what portfolio saves over the best list scheduler under ``fair``, and whether it is longer than the catalogue."""
    saved = []
    worse = 0
    for name, problem in shared():
        found, tried, lists, best = searched(problem)
        saved.append(1 - found / lists)
        worse += found > tried
        print(name, f"{percent(saved[-1])} % shorter than {best}", sep=": ", flush=True)
    print(f"mean {percent(mean(saved))} %; longer than the best of the catalogue: {worse} of {len(saved)}")


def percent(value: float) -> str:
    """With two digits, without a sign of zero."""
    return f"{100 * value:.2f}".replace("-0.00", "0.00")


def gaps_of(problem: pl.Problem, optimum: float) -> list[float]:
    """Gaps to the optimum: best list scheduler, catalogue, portfolio."""
    found, tried, lists, _ = searched(problem)
    return [makespan / optimum - 1 for makespan in (lists, tried, found)]


def optima_section() -> str:
    """The table of gaps to proven optima."""
    optima = json.loads(OPTIMA.read_text())
    gaps = {name: gaps_of(problem, optima[name]) for name, problem in thirty()}
    near = sum(gap[-1] <= 0.01 for gap in gaps.values())
    reached = sum(gap[-1] <= 1e-5 for gap in gaps.values())
    rows = [[name, f"{1e6 * optima[name]:.6g}", *map(percent, gap)] for name, gap in gaps.items()]
    rows.append(["mean", "", *(percent(mean(column)) for column in zip(*gaps.values(), strict=True))])
    rows.append(["worst", "", *(percent(max(column)) for column in zip(*gaps.values(), strict=True))])
    head = ["30 ops", "optimum, µs", "best list scheduler, %", "best of the catalogue, %", "portfolio, %"]
    return f"""## Against proven optima

Makespan over the least possible, minus 1. `cp-sat` proves each optimum (`optima.json`). Target: within 1 % on all. Within 1 %:
{near} of {len(gaps)}; optimal: {reached}.

{table(head, rows)}"""


def peers_section() -> str:
    """The table of what portfolio saves over the best list scheduler."""
    rows = []
    saved = {}
    worse = 0
    for kind, n, problem in peers():
        found, tried, lists, name = searched(problem)
        devices = problem.cluster.n_devices
        bound = max(pl.bounds(problem).values())
        saved[kind, n, devices] = 1 - found / lists
        worse += found > tried
        cells = [str(problem.graph.n_ops), str(devices), name, percent(1 - found / lists), percent(1 - bound / lists)]
        rows.append([kind, *cells])
        print(*rows[-1], flush=True)
    over = lambda i, value: percent(mean(share for key, share in saved.items() if key[i] == value))  # noqa: E731
    means = [["all", percent(mean(saved.values()))]]
    means += [[f"{n:,} ops", over(1, n)] for n in SIZES] + [[f"{k} devices", over(2, k)] for k in (4, 50)]
    means += [[kind, over(0, kind)] for kind in PEERS]
    head = ["instance", "ops", "devices", "best list scheduler", "portfolio shorter, %", "no schedule shorter, %"]
    verdict = "met" if mean(saved.values()) >= 0.03 else "not met"
    return f"""## Against the best list scheduler

How much shorter than the best of {len(LIST)} list schedulers, each under its best scheduler. Target: 3 % in the mean: {verdict}.
Longer than the best of the catalogue: {worse} of {len(saved)}. The last column is what a lower bound leaves room for; the true
optimum lies between.

{table(["mean over", "portfolio shorter, %"], means)}
{table(head, rows)}"""


HEAD = """# Portfolio

`python benchmarks/quality/portfolio.py` writes this file: default options, seed 0, no search stopped by the clock. The number of
moves grows with ops × devices, up to a most that falls with the ops (see the docstring of `portfolio`), and does not depend on
the number of cores. Large neighbourhoods solved by CP-SAT are not part of it: in the same processor time they gained hardly more
than further moves (*Quality* in benchmarks/README.md).
"""


def main() -> None:
    """Write the page, or the optima."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=PAGE)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--fair", action="store_true")
    given = parser.parse_args()
    if given.prove:
        prove()
    elif given.fair:
        print_fair()
    else:
        given.path.write_text("\n".join([HEAD, optima_section(), peers_section()]))


if __name__ == "__main__":
    main()
