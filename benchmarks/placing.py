"""Measure placement times of strategies, linear programs and exact solvers, and print them as tables.

    python benchmarks/placing.py [strategies] [lists] [prepared] [programs] [exact] [moves]

Processor time of one public call in a warm process: the median of the calls that fit into half a second. Exact solvers use
several threads, so their elapsed time is measured. Prints Markdown: the tables named, or all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from speed import HEAD, Row, line, take_turns

import placelab as pl
from placelab.planning import relaxation
from placelab.planning.favourite_child import mean_arcs
from placelab.planning.list_scheduler import planned_order
from placelab.strategies.partitioning import portfolio

DEVICES = 4
EXACT = ("cp-sat", "ilp")
LEARNED = ("cem", "policy-gradient")  # measured by learned.py
NETWORKS = ("convolutional_network", "recurrent_network", "dynamic_rnn")
LAYERED = (7_000, 22_000)
WITHIN = ("m-topo", "m-etf", "m-sct")  # whose plans change when memory binds
PROGRAM = ("sct", "m-sct")  # solve a linear program, and cache its solution
SHARE = 1.5  # memory of all devices over what the graph needs, in rows with a memory model


def graphs() -> dict[str, pl.OpGraph]:
    """The networks as measured, and layered graphs of the sizes on which Baechi was timed."""
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


def unseen(problem: pl.Problem) -> pl.Problem:
    """The same problem on a graph for which no linear program is cached."""
    return problem.replace(graph=problem.graph.replace(compute=problem.graph.compute))


def placing(problem: pl.Problem, name: str, seen: bool = False) -> str:
    """Milliseconds of one call, or why the call fails; `seen`: with the linear program solved before."""
    fresh = name in (*PROGRAM, "portfolio") and not seen
    try:
        (took,) = take_turns(lambda: pl.place(unseen(problem) if fresh else problem, name), least=1)
    except pl.UnsupportedError:
        return "too large"
    except pl.InfeasibleError:
        return "infeasible"
    return f"{took:.3g}" if took < 100 else f"{took:,.0f}"


def strategies() -> Iterator[str]:
    """A line per strategy, and one more per memory model if that changes the plan."""
    known = graphs()
    yield f"| strategy | memory | {' | '.join(known)} |"
    yield "| --- | --- |" + " ---: |" * len(known)
    yield f"| ops | | {' | '.join(f'{graph.n_ops:,}' for graph in known.values())} |"
    for name in pl.partitioners():
        if name in (*EXACT, *LEARNED):
            continue
        yield f"| {name} | none | {' | '.join(placing(roomy(graph), name) for graph in known.values())} |"
        if name in PROGRAM:
            cells = [placing(roomy(graph), name, seen=True) for graph in known.values()]
            yield f"| {name}, program solved before | none | {' | '.join(cells)} |"
        for model in ("reserved", "dynamic") if name in WITHIN else ():
            cells = [placing(tight(graph, model), name) for graph in known.values()]
            yield f"| {name} | {model}, {SHARE:g} × the need | {' | '.join(cells)} |"


# -------------------------------------------------------------------- list schedulers beside heft

LISTS = (
    "peft",
    "bil",
    "dls",
    "mcp",
    "min-min",
    "max-min",
    "sufferage",
    "hlfet",
    "ish",
    "hcpt",
    "pets",
    "parametric",
    "lookahead",
    "lc",
    "gdl",
    "fcp",
    "flb",
    "hbmct",
    "dsc",
)
LISTED = (3_000, 22_000)
CLUSTERS = {
    "4 equal": pl.Cluster.uniform(4),
    "4 unequal": pl.Cluster([5e12, 1e13, 2e13, 4e13], bandwidth=12e9, latency=50e-6),
    "50 equal": pl.Cluster.uniform(50),
    "mayer50": pl.clusters.mayer50(),
}


def lists() -> Iterator[str]:
    """A line per list scheduler: how many times as long as heft it takes, the two in turns; first heft's milliseconds."""
    problems = [
        (f"{n:,}, {name}", pl.Problem(pl.generators.layered(n, seed=1), cluster))
        for n in LISTED
        for name, cluster in CLUSTERS.items()
    ]
    yield f"| strategy | {' | '.join(name for name, _ in problems)} |"
    yield "| --- |" + " ---: |" * len(problems)
    alone = [take_turns(lambda p=problem: pl.place(p, "heft")) for _, problem in problems]
    yield f"| heft, ms | {' | '.join(f'{ms:.3g}' for (ms,) in alone)} |"
    for name in LISTS:
        pairs = [
            take_turns(lambda p=p: pl.place(p, name), lambda p=p: pl.place(p, "heft"), least=1)  # noqa: B023
            for _, p in problems
        ]
        yield f"| {name} | {' | '.join(f'{ours / heft:.2f}' for ours, heft in pairs)} |"


# -------------------------------------------------------------------- compared with Baechi

# Baechi 2020 Table 5, m-SCT on four GPUs: ops and seconds, unprepared and optimised (forward ops only, co-placed, fused).
PUBLISHED = {
    "Inception-V3": (6_884, 68.0, 17, 0.9),
    "GNMT, length 40": (18_050, 275.1, 542, 1.2),
    "GNMT, length 50": (22_340, 406.1, 706, 2.4),
}
PREPARE = ("forward-only", "coplace", "fuse")


def prepared() -> Iterator[str]:
    """m-sct without and with Baechi's optimisations; then the published times, from another machine."""
    yield "| graph | ops | m-sct, s | ops after preparing | with preparing, s | times faster |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, graph in graphs().items():
        problem = roomy(graph)
        small, _ = pl.transforms.chain(PREPARE)(problem)
        calls = [lambda p=problem, s=s: pl.place(unseen(p), "m-sct", prepare=s) for s in ((), PREPARE)]
        plain, quick = (took / 1e3 for took in take_turns(*calls, least=1))
        yield f"| {name} | {graph.n_ops:,} | {plain:.3g} | {small.graph.n_ops:,} | {quick:.3g} | {plain / quick:.1f} |"
    for name, (ops, plain, few, quick) in PUBLISHED.items():
        yield f"| Baechi: {name} | {ops:,} | {plain:.1f} | {few:,} | {quick:.1f} | {plain / quick:.1f} |"


# -------------------------------------------------------------------- linear programs

W_ONLY = {3_000: 150, 22_000: 3_000}  # milliseconds
DIRECT_RATIO = 1.15
CANONICAL_RATIO = 2.0


def programs() -> Iterator[str]:
    """SCT's linear program: its optimum, against HiGHS called directly on the same matrices; then the canonical x."""
    yield HEAD
    for n, budget in W_ONLY.items():
        graph = pl.generators.layered(n, seed=1)
        yield from map(line, program_rows(f"layered {n:,}", graph, budget))
    for name in NETWORKS[1:]:
        yield from map(line, program_rows(name, pl.load(name), np.inf))


def program_rows(what: str, graph: pl.OpGraph, budget: float) -> Iterator[Row]:
    """Two rows for one graph."""
    arcs = lambda: mean_arcs(roomy(graph))  # noqa: E731
    optimum = relaxation.least_makespan(arcs())
    solve = direct(arcs())
    assert abs(solve() / optimum.w - 1) < 1e-6
    ours, highs = take_turns(lambda: relaxation.least_makespan(arcs()), solve)
    yield Row(f"w of {what}", graph.n_ops, DEVICES, ours, "ms", budget, "HiGHS", highs, DIRECT_RATIO)
    (choice,) = take_turns(lambda: relaxation.canonical(optimum))
    yield Row(f"canonical x of {what}", graph.n_ops, DEVICES, choice, "ms", 2 * budget, "w", ours, CANONICAL_RATIO)


def direct(arcs: relaxation.Arcs) -> Callable[[], float]:
    """A call of HiGHS's dual simplex on the matrices that cvxpy passes to it; returns w."""
    import highspy

    data, scale = matrices(arcs)
    rows = data["A"].tocsc()
    equal = data["dims"].zero
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = rows.shape
    lp.col_cost_ = data["c"]
    lp.col_lower_ = data["lower_bounds"]
    lp.col_upper_ = data["upper_bounds"]
    lp.row_lower_ = np.where(np.arange(len(data["b"])) < equal, data["b"], -np.inf)
    lp.row_upper_ = data["b"]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = rows.indptr
    lp.a_matrix_.index_ = rows.indices
    lp.a_matrix_.value_ = rows.data

    def solve() -> float:
        highs = highspy.Highs()
        for option, value in (("output_flag", False), ("solver", "simplex"), ("simplex_strategy", 1)):
            highs.setOptionValue(option, value)
        highs.passModel(lp)
        highs.run()
        return highs.getInfo().objective_function_value * scale

    return solve


def matrices(arcs: relaxation.Arcs) -> tuple[dict[str, Any], float]:
    """The matrices that cvxpy makes of the linear program, and the seconds of one unit in it."""
    asked = []
    solve = relaxation._solve
    relaxation._solve = lambda lp, *more: asked.append(lp) or solve(lp, *more)
    try:
        relaxation.least_makespan(arcs)
    finally:
        relaxation._solve = solve
    return asked[0].get_problem_data("HIGHS")[0], relaxation._scale(arcs)


# -------------------------------------------------------------------- exact solvers

SEEDS = 3
# (solver, ops, seconds it may take, its options)
CASES = [
    *(("cp-sat", n, budget, dict(effort=1e6, time_limit=budget)) for n, budget in ((20, 1.0), (50, 30.0), (100, 60.0))),
    *(("ilp", n, 60.0, dict(max_ops=n)) for n in (15, 30)),
]


def chains(n: int, seed: int) -> pl.Problem:
    """About 1.5 · n^0.4 parallel chains with some edges between them, as in a model graph; the budgets are for these.

    Whole costs, log-normal: ops of mostly 10 to 40 time units, tensors that take as long.
    """
    rng = np.random.default_rng(seed)
    width = max(3, int(1.5 * n**0.4))
    follows = [(v - width, v) for v in range(width, n) if rng.random() < 0.9]
    joins = [(max(0, v - 1 - int(rng.integers(6 * width))), v) for v in rng.integers(1, n, int(0.7 * n)).tolist()]
    edges = sorted({*follows, *joins})
    times, sizes = (np.maximum(1.0, rng.lognormal(3.0, 0.8, size).round()) for size in (n, len(edges)))
    graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(n)], times, edges, edge_bytes=sizes)
    return pl.Problem(graph, pl.Cluster([1.0] * DEVICES, bandwidth=1.0))


def layered(n: int, seed: int) -> pl.Problem:
    """Layers of ops with inputs from anywhere, costs from U(0, 2 · mean), on the preset whose latency is half an op; harder."""
    return roomy(pl.generators.layered(n, seed=seed))


def exact() -> Iterator[str]:
    """Elapsed seconds until a plan is proven optimal or the time limit is reached, and the plan's gap to its bound."""
    yield "| solver | ops | devices | graph | seed | seconds | at most | above its bound | best heuristic above it |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    exact_cells(chains(5, 0), "cp-sat", {}), exact_cells(chains(5, 0), "ilp", {})  # the first call imports the solver
    for name, n, limit, options in CASES:
        for make in (chains, layered) if name == "cp-sat" and n > 20 else (chains,):
            for seed in range(SEEDS):
                took, *gaps = exact_cells(make(n, seed), name, options)
                instance = f"{name} | {n} | {DEVICES} | {make.__name__} | {seed}"
                yield f"| {instance} | {took} | {limit:g} | {' | '.join(gaps)} |"


def exact_cells(problem: pl.Problem, name: str, options: dict[str, Any]) -> list[str]:
    """Time of one call, gap of its plan and gap of the best heuristic's to the bound it proved."""
    begun = time.perf_counter()
    placement = pl.place(problem, name, **options)
    took = time.perf_counter() - begun
    best = min(pl.solve(problem, h, "planned").makespan for h in ("heft", "etf", "sct", "cpop", "tf-greedy"))
    found = pl.simulate(problem, placement, "planned").makespan
    return [f"{took:.2f}", *(f"{100 * max(0.0, makespan / placement.bound - 1):.2f} %" for makespan in (found, best))]


# -------------------------------------------------------------------- local search

SLACKS = 0.01, 0.0  # how much longer a plan may get, relative
MOVES = 3_000


def moves() -> Iterator[str]:
    """Moves of `portfolio` that one walk from HEFT's plan tries in a second of processor time."""
    yield f"| graph | {' | '.join(f'moves/s, slack {100 * slack:g} %' for slack in SLACKS)} |"
    yield "| --- |" + " ---: |" * len(SLACKS)
    problems = {
        "inception_v3": pl.Problem(pl.load("inception_v3"), pl.clusters.rtx2080ti_box(), memory="none"),
        "layered 5,000": roomy(pl.generators.layered(5_000, seed=1)),
    }
    for name, problem in problems.items():
        schedule = pl.solve(problem, "heft", "planned")
        order = planned_order(schedule.start, schedule.finish)
        start = portfolio.run(problem, schedule.device, order, "heft", "planned")
        search = portfolio.LocalSearch(problem, [start], 0, MOVES)  # loads the kernel
        cells = []
        for slack in SLACKS:
            walk = portfolio.Walk(problem, search.walks[0].fixed, start, MOVES, slack, 0)
            began = time.process_time()
            tried = walk.improve(MOVES, slack)[2]
            cells.append(f"{tried / (time.process_time() - began):,.0f}")
        yield f"| {name} | {' | '.join(cells)} |"


TABLES = {
    "strategies": strategies,
    "lists": lists,
    "prepared": prepared,
    "programs": programs,
    "exact": exact,
    "moves": moves,
}


def main() -> None:
    """Print the tables as they are measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help="which tables; all by default")
    for name in parser.parse_args().tables or TABLES:
        for row in TABLES[name]():
            print(row, flush=True)
        print()


if __name__ == "__main__":
    main()
