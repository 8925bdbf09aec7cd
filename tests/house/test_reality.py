"""Simulated against real: the model of shared cores, the fitted costs and the measures of agreement are correct.

Tests that need TensorFlow run in a separate process, if it is installed.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from problems import many, placement

import placelab as pl

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from reality import agreement, cores, measure, report, torch_model  # noqa: E402

NO_PYTORCH = importlib.util.find_spec("torch") is None
NO_TENSORFLOW = importlib.util.find_spec("tensorflow") is None


def simulated(problem: pl.Problem, i: int) -> pl.Schedule:
    placed = placement(Random(i).randint, problem)
    return pl.simulate(placed.problem, placed, "fifo")


PROBLEMS = list(many(60, seed=5, ops=25, memory=("none",), transfer_ops=(0,), transfers=("parallel",)))


def test_with_a_core_for_every_task_the_model_is_the_simulator():
    """Every start and finish, ties and ops of no time included, to the last bits."""
    for i, problem in enumerate(PROBLEMS):
        schedule = simulated(problem, i)
        run = cores.run(schedule, 10_000)
        assert np.allclose(run.start, schedule.start, rtol=1e-12, atol=0)
        assert np.allclose(run.finish, schedule.finish, rtol=1e-12, atol=0)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("n_cores", [1, 2, 3])
def test_tasks_never_outnumber_the_cores(n_cores, exclusive):
    """No op starts before its inputs are there."""
    for i, problem in enumerate(PROBLEMS):
        schedule = simulated(problem, i)
        run = cores.run(schedule, n_cores, exclusive=exclusive)
        events = sorted([(t, 1) for t in run.start] + [(t, 0) for t in run.finish])
        longer = run.finish > run.start
        starts = run.start[longer]
        finishes = run.finish[longer]
        busy = [int(((starts <= t) & (t < finishes)).sum()) for t, _ in events]
        assert max(busy, default=0) <= n_cores
        graph = problem.graph
        assert (run.start[graph.consumer] >= run.finish[graph.producer] * (1 - 1e-12)).all()


def forked(n: int, size: float = 0.0) -> pl.Problem:
    """An op of 1 s whose output goes to n others of 1 s each; links of 2 bytes/s."""
    graph = pl.OpGraph.from_arrays(
        list("abcdefgh")[: n + 1],
        [1.0] * (n + 1),
        [(0, i + 1) for i in range(n)],
        edge_bytes=[size] * n,
        edge_output=[0] * n,
    )
    return pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=2.0))


def test_a_device_of_a_shared_pool_runs_several_ops_at_once():
    schedule = pl.simulate(forked(4), pl.Placement(forked(4), [0] * 5), "fifo")
    assert cores.run(schedule, 2, exclusive=True).makespan == 5
    assert cores.run(schedule, 2, exclusive=False).makespan == 3


def test_a_transfer_takes_a_core_for_its_work_and_waits_without_one():
    """b runs beside a's transfer of 2 s to c, of which 0.5 s are work. With one core b runs before the work."""
    problem = forked(2, size=4.0)
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 0, 1]), "fifo")
    assert schedule.makespan == 4
    assert cores.run(schedule, 1, work=[0.5]).makespan == 5  # b until 2, the work until 2.5, arrival at 4
    assert cores.run(schedule, 2, work=[0.5]).makespan == 4
    assert cores.run(schedule, 2, work=[3.0]).makespan == 5  # two sides may work longer than the transfer takes


def test_overhead_is_what_computing_and_calling_leave():
    assert measure.overhead(step=1.0, call=0.1, computing=0.5, ops=100) == pytest.approx(0.004)
    assert measure.overhead(step=1.0, call=0.1, computing=2.0, ops=100) == 0


def test_a_link_is_fitted_and_a_reference_has_no_bandwidth():
    sizes = np.array(measure.SIZES)
    copied = measure.line(sizes, 2e-4 + sizes / 1e9)
    assert (copied.seconds, copied.bandwidth) == pytest.approx((2e-4, 1e9))
    assert copied(1e9) == pytest.approx(1.0002)
    referred = measure.line(sizes, [5e-6, 4e-6, 5e-6, 4e-6, 3e-6])
    assert (referred.seconds, referred.bandwidth) == (4e-6, np.inf)
    assert referred(1e12) == 4e-6


def test_measures_of_agreement():
    assert agreement.kendall([1, 2, 3, 4], [10, 20, 30, 25]) == pytest.approx(4 / 6)
    assert agreement.spearman([1, 2, 3], [9, 4, 1]) == pytest.approx(-1)
    assert np.isnan(agreement.kendall([1], [2])) and np.isnan(agreement.spearman([1, 1], [1, 2]))
    assert agreement.error(3.0, 2.0) == pytest.approx(0.5)


def test_orders_are_compared_where_both_sides_know_the_op():
    measured = {"a": 0.0, "b": 2.0, "c": 1.0, "elsewhere": 9.0}
    predicted = {"a": 0.0, "b": 1.0, "c": 2.0, "dead": 5.0}
    assert agreement.order(predicted, measured) == pytest.approx(1 / 3)
    device = {"a": "x", "b": "x", "c": "y", "dead": "y"}
    assert agreement.order_by_device(predicted, measured, device) == {"x": pytest.approx(1)}


def test_what_does_not_repeat_cannot_be_predicted():
    assert agreement.typical([{"a": 1.0}, {"a": 3.0, "b": 1.0}, {"a": 8.0}]) == {"a": 3.0, "b": 1.0}
    there = {"a": 0.0, "b": 1.0}
    back = {"a": 1.0, "b": 0.0}
    assert agreement.repeatability([there] * 4) == pytest.approx(1)
    assert agreement.repeatability([there, back] * 2) == pytest.approx(-1)


def test_a_part_that_is_not_run_stays_in_the_file(tmp_path):
    path = tmp_path / "reality.md"
    report.save(path, pytorch="old torch")
    assert "placelab" in path.read_text() and path.read_text().endswith("## PyTorch\n\nold torch\n")
    report.save(path, tensorflow="# new")
    assert path.read_text() == "# new\n\n## PyTorch\n\nold torch\n"
    report.save(path, pytorch="new torch")
    assert path.read_text() == "# new\n\n## PyTorch\n\nnew torch\n"


def test_errors_are_shown_as_they_are_and_next_to_a_single_device():
    """A load that slows every step alike changes the first error, not the second."""
    names = ["random", "single", "heft"]
    predicted = [4.0, 2.0, 1.0]
    assert report.agreed(names, predicted, [8.0, 4.0, 2.0]) == ["1.00", "1.00", "50%", "0%"]
    assert report.agreed(names[::2], predicted[::2], [1.0, 4.0]) == ["-1.00", "-1.00", "188%", "–"]


def test_seconds_are_added_by_category():
    kinds = ["aten.mm.default", "aten.add.Tensor", "aten.addmm.default"]
    found = torch_model.by_category(kinds, np.array([1.0, 4.0, 2.0]), np.array([0.5, 0.25, 0.5]))
    assert found == {"elementwise": (1, 4.0, 0.25), "matmul": (2, 3.0, 1.0)}


@pytest.mark.skipif(NO_PYTORCH, reason="PyTorch is not installed: pip install placelab[torch]")
def test_a_distributed_model_computes_the_same():
    """Checked on one device, since others may be missing: inputs follow the modules, and results stay."""
    import torch

    model, batch = torch_model.encoder("cpu")
    with torch.no_grad():
        before = model(batch)
        torch_model.distribute(model, {"0": "cpu", "1.grow": "cpu", "1.grow.weight": "cpu"}, "cpu")
        assert torch.equal(model(batch), before)


def test_in_the_committed_table_every_op_ran_where_it_was_placed():
    """For all networks on both kinds of devices, with at least three placements each."""
    sections = (BENCHMARKS / "reality.md").read_text().split("\n## ")
    tables = {
        s.splitlines()[0]: [row for row in s.splitlines() if row.startswith("| ")][2:]
        for s in sections
        if ", " in s.splitlines()[0]
    }
    cases = {title for title in tables if title.endswith(("one process", "four workers"))}
    networks = ("recurrent_network", "dynamic_rnn", "convolutional_network")
    assert {f"{n}, {d}" for n in networks for d in ("one process", "four workers")} <= cases
    assert all(len(tables[case]) >= 3 and all(row.endswith(" 0 |") for row in tables[case]) for case in cases)


@pytest.mark.slow
@pytest.mark.skipif(NO_TENSORFLOW, reason="TensorFlow is not installed: pip install tensorflow-cpu tf_keras")
@pytest.mark.parametrize("machine", ["process", "workers"])
def test_a_network_is_placed_run_and_compared(machine, tmp_path):
    """The whole run: every op runs on its device, and a step is predicted and measured."""
    out = tmp_path / "table.md"
    command = [sys.executable, str(BENCHMARKS / "reality.py"), str(out), "--networks", "convolutional_network"]
    command += ["--machines", machine, "--partitioners", "single", "m-etf", "random", "--rounds", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [
        row.strip("| ").split(" | ")
        for row in out.read_text().rpartition("\n## convolutional_network")[2].partition("\n## ")[0].splitlines()
        if row.startswith("| ")
    ]
    assert [row[0] for row in rows[2:]] == ["single", "m-etf", "random"]
    for row in rows[2:]:
        cells = dict(zip(rows[0], row, strict=True))
        assert cells["moved"] == "0"
        assert float(cells["measured, ms"]) > 0 and float(cells["simulated, ms"]) > 0
        assert float(cells["order"]) > 0.5
