"""The yardstick of the benchmarks does the simulator's work, and the committed tables can be reproduced.

Nothing here is timed; benchmarks/speed.py is for that, on a known machine.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from problems import many, placement

import placelab as pl

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "quality")]

import gaps  # noqa: E402
import makespans  # noqa: E402
import measured_plans  # noqa: E402
import pipelined_models  # noqa: E402
import plans  # noqa: E402
import portfolio  # noqa: E402
import refute  # noqa: E402
import replicated_models  # noqa: E402
import steps  # noqa: E402
import thesis  # noqa: E402
from yardstick import COMPILE, MODELS, Yardstick  # noqa: E402

SMALL = list(makespans.INSTANCES)[:6]
REWRITE = "after a new partitioner or an intended change run python benchmarks/quality/makespans.py"
QUICK = [name for name, function in pl.partitioners().items() if not function.slow]


@pytest.mark.skipif(shutil.which(COMPILE[0]) is None, reason="the yardstick needs a C compiler")
def test_the_yardstick_in_c_is_the_simulator():
    """Every start and finish of fifo and pct under its transfer models, ties and times of zero included, to the last bit."""
    for i, problem in enumerate(
        many(200, seed=11, ops=25, memory=("none",), transfer_ops=(0,), transfers=tuple(MODELS), latency=("holds",))
    ):
        placed = placement(Random(i).randint, problem.replace(duplex=False))
        yardstick = Yardstick(placed)
        for scheduler in ("fifo", "pct"):
            schedule = pl.simulate(placed.problem, placed, scheduler)
            assert getattr(yardstick, scheduler)() == schedule.makespan
            assert np.array_equal(yardstick.start, schedule.start)
            assert np.array_equal(yardstick.finish, schedule.finish)


def test_no_run_of_a_small_problem_is_shorter_than_the_bound():
    """The check of 100,000 problems, on some: every transfer model is met, and the bound is often reached, so it is not idle."""
    seen = refute.refute(120, first=1)
    for model in ("parallel", "sequential", "channel", "fair"):
        assert 0 < seen[model, "equal to the shortest run"] <= seen[model, "problems"]


def test_a_bound_that_is_too_high_is_found(monkeypatch):
    """One thousandth more, and the check fails."""
    monkeypatch.setattr(
        refute, "input_bound", lambda problem: 1.001 * float(refute.pl.bounds(problem, inputs=True)["inputs"])
    )
    with pytest.raises(AssertionError):
        refute.refute(30)


def table(name: str) -> tuple[list[str], dict[str, str]]:
    """Schedulers and, by partitioner, lines of one instance in the committed table."""
    lines = makespans.TABLE.read_text().partition(f"\n## {name}\n")[2].partition("\n## ")[0].splitlines()
    head, _, *rows = [line for line in lines if line.startswith("|")]
    return head.strip("| ").split(" | ")[1:], {row.split("|")[1].strip(): row for row in rows}


def test_the_page_of_makespans_begins_as_it_is_written():
    """Whoever runs the program for a new partitioner gets rows, and no other change."""
    assert makespans.TABLE.read_text().startswith(f"{makespans.HEAD}\n## {SMALL[0]}\n"), (
        f"{makespans.TABLE.name}: {REWRITE}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_table_of_makespans_reproduces(name):
    """Every committed number of the small instances; after an intended change, benchmarks/quality/makespans.py rewrites them."""
    problem = makespans.INSTANCES[name]()
    schedulers, rows = table(name)
    assert {"fifo", "pct"} <= set(schedulers) and {"heft", "tf-greedy"} <= set(rows)
    for partitioner, line in rows.items():
        assert makespans.row(problem, partitioner, schedulers) == line, f"{makespans.TABLE.name}: {REWRITE}"


LONG = ("dynamic_rnn, 4 GPUs, sequential", "dynamic_rnn, 4 GPUs of 6 MB, sequential")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in makespans.INSTANCES]
)
def test_rows_of_the_table_of_makespans_reproduce(name):
    """A fifth of the rows of quick partitioners on every instance, another fifth on the next."""
    problem = makespans.INSTANCES[name]()
    schedulers, rows = table(name)
    for partitioner in QUICK[list(makespans.INSTANCES).index(name) % 5 :: 5]:
        found = makespans.row(problem, partitioner, schedulers)
        assert found == rows.get(partitioner), f"{makespans.TABLE.name}: {REWRITE}"


@pytest.mark.parametrize("structure", ["fork", "in-tree", "pipeline"])
def test_the_proven_optima_reproduce(structure):
    """cp-sat proves the optimum of ten ops on two and four devices, equal to the committed one to the last digit."""
    row = next(line for line in gaps.TABLE.read_text().splitlines() if line.startswith(f"| {structure} |"))
    found = [gaps.optimum(problem) for name, *_, problem in gaps.instances() if name == structure]
    assert [f"{1e6 * seconds:.6g}" for seconds in found] == row.split(" | ")[1:7]


@pytest.mark.slow
def test_the_page_of_portfolio_reproduces():
    """On thirty ops with dear transfers portfolio has the committed gap to the optimum, which cp-sat proves again."""
    optima = json.loads(portfolio.OPTIMA.read_text())
    name, problem = next((name, problem) for name, problem in portfolio.thirty() if name.startswith("dear"))
    assert list(optima) == [name for name, _ in portfolio.thirty()]
    assert gaps.optimum(problem) == optima[name]
    cells = map(portfolio.percent, portfolio.gaps_of(problem, optima[name]))
    assert f"| {name} | {1e6 * optima[name]:.6g} | {' | '.join(cells)} |" in portfolio.PAGE.read_text()


@pytest.mark.parametrize("name", thesis.STRATEGIES)
def test_the_grid_of_the_thesis_reproduces(name):
    """The small network at 1e9 B/s with a fixed total memory has the committed milliseconds."""
    graph = thesis.free(thesis.SMALL)
    lines = [line for line in thesis.TABLE.read_text().splitlines() if line.startswith("| total | 1e+09 |")]
    committed = next(line for line in lines if f"| {name} |" in line).split(" | ")[5:]
    for cell, m in zip(committed, thesis.MACHINES, strict=True):
        total, _ = thesis.memories(float(graph.memory.sum()), m)
        problem = pl.Problem(
            graph, pl.Cluster([thesis.SPEED] * m, memory=[total] * m, bandwidth=1e9), memory="reserved"
        )
        assert cell.strip("| ") == f"{1e3 * thesis.makespan(problem, name):.5g}"


@pytest.mark.slow
def test_the_page_of_steps_reproduces():
    """Read orders of AlexNet on one worker, and schedules of the Llama's layers, have the committed numbers."""
    page = steps.PAGE.read_text()
    orders = {("alexnet", 1): replicated_models.Orders(replicated_models.job("alexnet", 1))}
    assert replicated_models.grid(orders).splitlines()[-1] in page
    graph = pl.load("llama_8")
    cluster = pl.clusters.rtx2080ti_box(pipelined_models.DEVICES)
    problem = pl.Problem(pipelined_models.apart(graph), cluster, transfers="sequential", duplex=True)
    prepared, placement = pipelined_models.staged(problem, "layers")
    whole = pl.simulate(problem, placement, "fifo").makespan
    runs = [("llama_8", "layers", prepared, 8, whole, pipelined_models.schedules(placement, 8))]
    for made in (pipelined_models.all_of(runs), pipelined_models.winners(runs)):
        assert made.splitlines()[-1] in page


def test_the_page_of_plans_reproduces():
    """Plans of the smallest model on three uneven cards, and what is said beside measured steps, are as committed."""
    page = plans.PAGE.read_text()
    name = list(plans.CLUSTERS)[-1]
    found = plans.case(plans.MODELS[0], *plans.CLUSTERS[name])
    for line in plans.rows(found):
        assert f"| {' | '.join(line)} |" in page
    assert measured_plans.section() in page
