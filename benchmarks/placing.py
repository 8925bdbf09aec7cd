"""How long does it take to decide where ops go? Placement time per strategy, linear programs and exact solvers, as tables.

    python benchmarks/placing.py [--quick]

Processor time of one public call in a warm process, the median of as many as fit into half a second; of solvers that use
several threads the time on the clock. Prints Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from speed import take_turns

import placelab as pl

DEVICES = 4
EXACT = ("cp-sat", "ilp")
NETWORKS = ("convolutional_network", "recurrent_network", "dynamic_rnn")
LAYERED = (7_000, 22_000)
WITHIN = ("m-topo", "m-etf", "m-sct")  # whose plans change when memory binds
SHARE = 1.5  # memory of all devices over what the graph needs, where it binds


def graphs() -> dict[str, pl.OpGraph]:
    """The networks as measured, and layered graphs of the sizes that Baechi was timed on."""
    return {name: pl.load(name) for name in NETWORKS} | {
        f"layered {n:,}": pl.generators.layered(n, seed=1) for n in LAYERED
    }


def roomy(graph: pl.OpGraph) -> pl.Problem:
    """Four equal devices, memory unlimited."""
    return pl.Problem(graph, pl.Cluster.uniform(DEVICES))


def tight(graph: pl.OpGraph, model: str) -> pl.Problem:
    """Four equal devices that have together `SHARE` times what the graph needs in this memory model."""
    needed = {"reserved": graph.memory.sum(), "dynamic": graph.persistent.sum() + graph.outputs.sum()}[model]
    return pl.Problem(graph, pl.Cluster.uniform(DEVICES, memory=SHARE * needed / DEVICES), memory=model)


def placing(problem: pl.Problem, name: str) -> str:
    """Milliseconds of one call, or why there are none."""
    try:
        (took,) = take_turns(lambda: pl.place(problem, name), least=1)
    except pl.UnsupportedError:
        return "too large"
    except pl.InfeasibleError:
        return "infeasible"
    return f"{took:.3g}" if took < 100 else f"{took:,.0f}"


def strategies() -> Iterator[str]:
    """A line per strategy, and per strategy and memory model where that changes what is done."""
    known = graphs()
    yield f"| strategy | memory | {' | '.join(known)} |"
    yield "| --- | --- |" + " ---: |" * len(known)
    yield f"| ops | | {' | '.join(f'{graph.n_ops:,}' for graph in known.values())} |"
    for name in pl.partitioners():
        if name in EXACT:
            continue
        yield f"| {name} | none | {' | '.join(placing(roomy(graph), name) for graph in known.values())} |"
        for model in ("reserved", "dynamic") if name in WITHIN else ():
            cells = [placing(tight(graph, model), name) for graph in known.values()]
            yield f"| {name} | {model}, {SHARE:g} × the need | {' | '.join(cells)} |"


def main() -> None:
    """Print the tables as they are measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    for row in strategies():
        print(row, flush=True)


if __name__ == "__main__":
    main()
