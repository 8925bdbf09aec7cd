"""Do the trends of Srivastava's thesis hold here? Its chapter 7: bandwidths × machines × two ways to give out memory.

    python benchmarks/quality/thesis.py [PATH]

Writes thesis.md beside this file, or PATH: the same bytes everywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path

import numpy as np

import placelab as pl

TABLE = Path(__file__).with_name("thesis.md")
MACHINES = (3, 6, 9, 12, 15)
# From transfers that dwarf the ops to transfers that hardly count: see the mean ratios in the tables.
BANDWIDTHS = {"convolutional_network": (1e5, 1e7, 1e9, 1e11), "dynamic_rnn": (1e7, 1e9, 1e10, 1e11)}
STRATEGIES = {"m-topo": dict(rule="count"), "m-etf": {}, "m-sct": {}}
TOTAL, EACH = 3.0, 0.4  # memory of all machines, or of each, over what the network needs
SPEED = 1e13  # the reference speed: ops take the measured times


@dataclass(frozen=True)
class Grid:
    """Makespans [s] of one network: by strategy, an array (memory, bandwidth, machines); NaN where nothing fits."""

    network: str
    makespan: dict[str, np.ndarray]

    @cached_property
    def transfer_ratio(self) -> list[float]:
        """Mean transfer over mean op time, at each bandwidth."""
        graph = free(self.network)
        return [graph.tensor_bytes.mean() / b / (graph.compute.mean() / SPEED) for b in BANDWIDTHS[self.network]]


def free(network: str) -> pl.OpGraph:
    """The network without colocation groups, which the thesis left out (§6.4)."""
    graph = pl.load(network)
    return pl.OpGraph.from_arrays(
        graph.names,
        graph.compute,
        graph.edges,
        edge_bytes=graph.edge_bytes,
        edge_output=graph.edge_tensor,
        memory=graph.memory,
    )


def memories(needed: float, machines: int) -> tuple[float, float]:
    """Bytes of each machine: a fixed total dealt out evenly, or a fixed size each."""
    return TOTAL * needed / machines, EACH * needed


def makespan(problem: pl.Problem, name: str) -> float:
    """Of the strategy's plan, or of a run by ``fifo`` where there is none [s]; NaN where nothing fits."""
    try:
        placement = pl.place(problem, name, **STRATEGIES[name])
    except pl.InfeasibleError:
        return np.nan
    return pl.simulate(problem, placement, "fifo" if placement.planned is None else "planned").makespan


def run(network: str) -> Grid:
    """All makespans of a network."""
    graph = free(network)
    found = {name: np.empty((2, len(BANDWIDTHS[network]), len(MACHINES))) for name in STRATEGIES}
    for (b, bandwidth), (k, m) in product(enumerate(BANDWIDTHS[network]), enumerate(MACHINES)):
        for way, memory in enumerate(memories(float(graph.memory.sum()), m)):
            cluster = pl.Cluster([SPEED] * m, [memory] * m, bandwidth)
            problem = pl.Problem(graph, cluster, memory="reserved")
            for name in STRATEGIES:
                found[name][way, b, k] = makespan(problem, name)
    return Grid(network, found)


# -------------------------------------------------------------------- what the thesis saw


def beat_topo(grid: Grid, name: str) -> tuple[bool, str]:
    """The thesis: "across all cases … except for a few configurations"; at the lowest bandwidth not on the large network."""
    won = grid.makespan[name][:, 1:] < grid.makespan["m-topo"][:, 1:] * (1 + 1e-9)
    return bool(won.mean() >= 0.9), f"in {won.sum()} of {won.size} cases above the lowest bandwidth"


def sct_loses_at_the_lowest(grid: Grid) -> tuple[bool, str]:
    """"At 1e7 bytes/s m-SCT performs poorly because … the SCT assumption is significantly violated" (Inception-V3)."""
    ratio = np.nanmean(grid.makespan["m-sct"][:, 0] / grid.makespan["m-etf"][:, 0])
    return bool(ratio > 1), f"m-SCT takes {ratio:.2f} times m-ETF's makespan there, on average"


def converge(grid: Grid) -> tuple[bool, str]:
    """"For a large number of processors, the m-ETF and m-SCT graphs almost converge"."""
    apart = abs(grid.makespan["m-sct"] / grid.makespan["m-etf"] - 1)
    few, many = np.nanmean(apart[:, 1:, 0]), np.nanmean(apart[:, 1:, -1])
    said = f"{100 * few:.1f} % apart on {MACHINES[0]} machines, {100 * many:.1f} % on {MACHINES[-1]}"
    return bool(many < max(few, 0.05)), f"{said}, on average above the lowest bandwidth"


def falls_with_bandwidth(grid: Grid, name: str) -> tuple[bool, str]:
    """"As the bandwidth increases … makespan decreases for both m-ETF and m-SCT"."""
    series = np.nanmean(grid.makespan[name], axis=(0, 2))
    said = " → ".join(f"{value:.4g}" for value in series)
    return all(b <= a * (1 + 1e-9) for a, b in pairwise(series)), f"{said} s, mean over machines and memories"


def rises_when_memory_is_dealt_out(grid: Grid, name: str) -> tuple[bool, str]:
    """Fixed total: "a gradually increasing trend as the number of machines increase", the memory of each being less."""
    first, last = ends(grid.makespan[name][0, :-1])
    return last > first, f"{first:.4g} s on {MACHINES[0]} machines, {last:.4g} s on {MACHINES[-1]}, mean of the lower bandwidths"


def falls_when_memory_comes_along(grid: Grid, name: str) -> tuple[bool, str]:
    """Fixed memory per machine: "both … display a generally decreasing trend as the number of machines increase"."""
    first, last = ends(grid.makespan[name][1])
    return last <= first, f"{first:.4g} s on {MACHINES[0]} machines, {last:.4g} s on {MACHINES[-1]}, mean of all bandwidths"


def ends(makespans: np.ndarray) -> tuple[float, float]:
    """Geometric means over bandwidths on the fewest and on the most machines."""
    return tuple(float(np.exp(np.nanmean(np.log(makespans[:, k])))) for k in (0, -1))


def trends(grid: Grid) -> Iterator[tuple[str, bool, str]]:
    """(claim, whether it holds, figures) for one network."""
    ahead = ("m-etf", "m-sct")
    for name in ahead:
        yield f"{name} beats m-topo", *beat_topo(grid, name)
    yield "at the lowest bandwidth m-sct loses to m-etf", *sct_loses_at_the_lowest(grid)
    yield f"m-etf and m-sct converge at {MACHINES[-1]} machines", *converge(grid)
    for name in ahead:
        yield f"{name}: more bandwidth, less makespan", *falls_with_bandwidth(grid, name)
    for name in ahead:
        yield f"{name}: a fixed total memory makes more machines slower", *rises_when_memory_is_dealt_out(grid, name)
    for name in ahead:
        yield f"{name}: memory per machine makes more machines faster", *falls_when_memory_comes_along(grid, name)


# -------------------------------------------------------------------- the page

HEAD = f"""# Chapter 7 of the thesis

Srivastava (2018) runs m-TOPO, m-ETF and m-SCT on a small convolutional network and on Inception-V3: bandwidths × machines ×
two ways to give out memory. `python benchmarks/quality/thesis.py` does the same on our small convolutional network and our
largest one, writes this file and checks the trends that the thesis describes.

As there: op times as measured, transfers in parallel and without latency, memory reserved for the whole run, no colocation
groups, m-TOPO by count. *Total* memory is {TOTAL:g} times what the network needs, dealt out evenly; *each* machine
has {EACH:g} times what it needs (the thesis: 75 MB and 16 GB, of a network whose need it does not print). Plans are run as
planned. The bandwidths span transfers that dwarf the ops and transfers that hardly count: the ratio is the mean
transfer over the mean op time.
"""


def section(grid: Grid) -> str:
    """One network: makespans, then which trends hold."""
    graph = free(grid.network)
    size = f"{graph.n_ops:,} ops, {graph.n_edges:,} edges, {graph.memory.sum() / 1e6:.4g} MB"
    lines = [f"## {grid.network}", "", f"{size}. Milliseconds:", ""]
    lines += [f"| memory | bandwidth, B/s | ratio | strategy | {' | '.join(f'{m} machines' for m in MACHINES)} |"]
    lines += ["| --- | ---: | ---: | --- |" + " ---: |" * len(MACHINES)]
    for (way, memory), (b, bandwidth) in product(enumerate(("total", "each")), enumerate(BANDWIDTHS[grid.network])):
        for name in STRATEGIES:
            cells = ["–" if np.isnan(t) else f"{1e3 * t:.5g}" for t in grid.makespan[name][way, b]]
            start = f"| {memory} | {bandwidth:.0e} | {grid.transfer_ratio[b]:.3g} | {name} "
            lines.append(f"{start}| {' | '.join(cells)} |")
    lines += ["", "| trend of the thesis | here | figures |", "| --- | --- | --- |"]
    lines += [f"| {claim} | {'holds' if held else '**does not hold**'} | {said} |" for claim, held, said in trends(grid)]
    return "\n".join(lines) + "\n" + WHY.get(grid.network, "")


# Why a trend is absent: written by hand, from what the tables show.
WHY: dict[str, str] = {}


def main() -> None:
    """Run everything, write the page, print the trends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=TABLE)
    path = parser.parse_args().path
    grids = [run(network) for network in BANDWIDTHS]
    for grid in grids:
        for claim, held, said in trends(grid):
            print(f"{grid.network}: {claim}: {'holds' if held else 'DOES NOT HOLD'}; {said}")
    path.write_text("\n".join([HEAD, *map(section, grids)]))


if __name__ == "__main__":
    main()
