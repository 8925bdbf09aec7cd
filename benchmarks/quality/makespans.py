"""Compute the makespan of every partitioner × scheduler on every instance, as a table kept in the repository.

    python benchmarks/quality/makespans.py [PATH]

Writes makespans.md beside this file, or PATH: the same bytes on every machine, so that a change of a strategy shows as a diff.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import placelab as pl
from placelab import costs
from placelab.graphs import generators as gen
from placelab.problem import clusters

TABLE = Path(__file__).with_name("makespans.md")
EXACT = ("cp-sat", "ilp")  # their table is gaps.md
LEARNED = ("cem", "policy-gradient")  # ops that those place here
LARGEST = 1_000  # see benchmarks/learned.py
PATIENT = {"portfolio": {"time_limit": 3600.0}}  # else a busy machine's clock would end it
SCHEDULERS = ["fifo", "msr", "pct", "planned", "random"]  # orders of reads and of pipelines are in steps.md
NETWORKS = ("convolutional_network", "recurrent_network", "dynamic_rnn")


def uneven(n_ops: int, heterogeneity: float) -> pl.OpGraph:
    """A layered graph whose ops take different times on each of the four devices of the preset ``uniform``."""
    return gen.layered(n_ops, heterogeneity=heterogeneity, devices=clusters.uniform().names)


def measured(network: str, memory: float = 8e9) -> pl.Problem:
    """A TensorFlow network as measured, on four GPUs with `memory` bytes each, which share PCIe."""
    return pl.Problem(pl.load(network), clusters.pcie_box().replace(memory=[memory] * 4), transfers="sequential")


def redrawn(network: str) -> pl.Problem:
    """A TensorFlow network with the costs and the fifty devices of Mayer 2017 §5.1."""
    return pl.Problem(costs.mayer(pl.load(network)), clusters.mayer50())


# Small ones first: tests/house/test_benchmarks.py recomputes them.
INSTANCES: dict[str, Callable[[], pl.Problem]] = {
    "topcuoglu": lambda: pl.datasets.problem("topcuoglu"),
    "seq 32, parameter server": lambda: pl.Problem(  # a layer computes as long as its parameter's transfer takes
        gen.seq(32, compute=8.5e9, size=1e6), clusters.parameter_server(1), transfers="channel"
    ),
    "fork-join 16 × 8": lambda: pl.Problem(gen.fork_join(16, 8), clusters.uniform()),
    "stencil 16 × 16": lambda: pl.Problem(gen.stencil(16, 16), clusters.uniform()),
    "gaussian elimination 20": lambda: pl.Problem(gen.gaussian_elimination(20), clusters.uniform()),
    "fft 32": lambda: pl.Problem(gen.fft(32), clusters.uniform()),
    "layered 300, ccr 0.1": lambda: pl.Problem(gen.layered(300, ccr=0.1), clusters.uniform()),
    "layered 300, ccr 10": lambda: pl.Problem(gen.layered(300, ccr=10), clusters.uniform()),
    "layered 300, heterogeneity 1": lambda: pl.Problem(uneven(300, 1.0), clusters.uniform()),
    "layered 3000, two nodes, channel": lambda: pl.Problem(
        gen.layered(3000, compute=1e10), clusters.two_nodes(), transfers="channel"
    ),
    **{f"{name}, 4 GPUs, sequential": lambda name=name: measured(name) for name in NETWORKS},
    "dynamic_rnn, 4 GPUs of 6 MB, sequential": lambda: measured("dynamic_rnn", memory=6e6),
    **{f"{name}, mayer costs, mayer50": lambda name=name: redrawn(name) for name in NETWORKS},
}


def makespan(placement: pl.Placement, scheduler: str) -> str:
    """Seconds with six digits, marked if a device runs out of memory; – if the placement has no planned order."""
    try:
        schedule = pl.simulate(placement.problem, placement, scheduler)
    except pl.UnsupportedError:
        return "–"
    return f"{schedule.makespan:.6g}" + (" oom" if len(schedule.oom) else "")


def row(problem: pl.Problem, partitioner: str, schedulers: list[str]) -> str:
    """One line of a table: a partitioner under each scheduler."""
    try:
        placement = pl.place(problem, partitioner, **PATIENT.get(partitioner, {}))
    except pl.InfeasibleError:
        cells = ["infeasible" for _ in schedulers]
    except pl.UnsupportedError:
        cells = ["refused" for _ in schedulers]
    else:
        cells = [makespan(placement, scheduler) for scheduler in schedulers]
    return f"| {partitioner} | {' | '.join(cells)} |"


def section(name: str, problem: pl.Problem) -> str:
    """Heading, instance, bound and table."""
    graph = problem.graph
    cluster = problem.cluster
    lines = [
        f"## {name}",
        "",
        f"{graph.n_ops:,} ops, {graph.n_edges:,} edges, {cluster.n_devices} devices; memory `{problem.memory}`, transfers "
        f"`{problem.transfers}`. No schedule is shorter than {max(pl.bounds(problem).values()):.6g} s.",
        "",
        f"| partitioner | {' | '.join(SCHEDULERS)} |",
        f"| --- | {' | '.join('---:' for _ in SCHEDULERS)} |",
        *(
            row(problem, partitioner, SCHEDULERS)
            for partitioner in pl.partitioners()
            if _belongs(partitioner, graph.n_ops)
        ),
    ]
    return "\n".join(lines) + "\n"


def _belongs(partitioner: str, n_ops: int) -> bool:
    return partitioner not in EXACT and (partitioner not in LEARNED or n_ops <= LARGEST)


HEAD = """# Makespans

Seconds, of every partitioner (rows; the exact ones are in [gaps.md](gaps.md)) under every scheduler (columns), with their
default options and seed 0, no search stopped by the clock; `cem` and `policy-gradient` up to 1,000 ops.
`python benchmarks/quality/makespans.py` writes this file; a change in it is a change of what a strategy does, and is reviewed as
one.

*infeasible*: the partitioner found no placement within memory and constraints. *refused*: it is not made for such a problem.
*oom*: a device holds more than its memory at some time. –: the partitioner plans no order.
"""


def main() -> None:
    """Write the whole file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=TABLE)
    sections = [section(name, problem()) for name, problem in INSTANCES.items()]
    parser.parse_args().path.write_text("\n".join([HEAD, *sections]))


if __name__ == "__main__":
    main()
