"""Save and Restore ops, and what they add to a step."""

from __future__ import annotations

import numpy as np
import pytest
from problems import many

import placelab as pl
from placelab.analysis.faults import disk_time, node_times, step_with_nodes
from placelab.graphs.transforms import checkpoint_nodes


@pytest.fixture
def step():
    """F11: x on A for 2 s with 4 bytes, 1 byte on its way for 1 s, y on B for 3 s with 6 bytes."""
    graph = pl.OpGraph.from_arrays(["x", "y"], [2.0, 3.0], [(0, 1)], edge_bytes=[1.0], persistent=[4.0, 6.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0, names=["A", "B"]))
    return pl.simulate(problem, pl.Placement(problem, [0, 1], planned=[0, 1]), "planned")


@pytest.mark.parametrize("scheduler", ["planned", "fifo", "pct"])
def test_nodes_lengthen_the_step(step, scheduler):
    """F11: plain 6; with Restore ops 8, as B's variable is restored meanwhile; with Save ops 9; with both 11."""
    plain = pl.simulate(step.problem, step.placement, scheduler)
    found = [step_with_nodes(plain, disk=2.0, save=s, restore=r).makespan for s, r in ((0, 1), (1, 0), (1, 1))]
    assert [plain.makespan, *found] == [6, 8, 9, 11]
    assert node_times(plain, disk=2.0) == (3, 2)


def test_beside_a_step_the_slowest_device_counts(step):
    """The greatest quotient of bytes and disk rate."""
    assert disk_time(step, disk=2.0) == disk_time(step.placement, disk=2.0) == 3
    assert disk_time(step, disk=[1.0, 3.0]) == 4


def test_a_variable_has_its_disks_speed_not_its_devices(step):
    """A device ten times as fast writes as slowly; disks may differ."""
    fast = pl.Problem(step.problem.graph, step.problem.cluster.replace(speed=[10.0, 10.0]))
    made = checkpoint_nodes(fast, disk=[1.0, 3.0])
    taken = {name: made.exec_times(1)[v] for v, name in enumerate(made.graph.names)}
    assert taken == pytest.approx(
        {"Restore/x": 4 / 3, "Restore/y": 2, "x": 0.2, "y": 0.3, "Save/x": 4 / 3, "Save/y": 2}
    )


def test_variables_wait_for_restore_and_saves_for_updates():
    """A Save runs after all that read the variable: on a network, after its updates; each is on the variable's device."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box())
    made = checkpoint_nodes(problem, disk=1e9)
    old = problem.graph
    new = made.graph
    held = np.flatnonzero(old.persistent > 0)
    assert new.n_ops == old.n_ops + 2 * len(held) and new.persistent.sum() == old.persistent.sum()
    for name in old.names[held]:
        save, variable, restore = (new.index(f"{prefix}{name}") for prefix in ("Save/", "", "Restore/"))
        readers = {old.names[v] for v in old.successors_of(old.index(name))}
        assert set(new.names[new.predecessors_of(save)]) == readers | {name}
        assert new.successors_of(restore).tolist() == [variable] and not len(new.predecessors_of(restore))
        assert {save, variable, restore} <= set(made.members(variable).tolist())
    schedule = pl.solve(made, "heft")
    assert pl.validate(schedule) == []


def test_any_schedule_runs_with_nodes():
    """Random problems with groups, pins, memory models and measured times: valid, every op where it was, rules kept."""
    for problem in many(60, seed=8, memory=("none", "reserved", "dynamic")):
        schedule = pl.solve(problem.replace(memory="none"), "heft")
        longer = step_with_nodes(schedule, disk=1e6)
        assert pl.validate(longer) == []
        same = [longer.problem.graph.index(name) for name in problem.graph.names]
        assert longer.device[same].tolist() == schedule.device.tolist()
        assert np.isclose(longer.problem.exec_times(0)[same], problem.exec_times(0)).all()
        neither = step_with_nodes(schedule, disk=1e6, save=False, restore=False)
        assert neither.makespan == pytest.approx(schedule.makespan)


def test_what_has_no_nodes_is_refused(step):
    """A disk that is no rate; a graph that has them already."""
    for wrong in (0.0, -1.0, "fast", [1.0, 2.0, 3.0]):
        with pytest.raises(pl.FormatError, match="disk is "):
            checkpoint_nodes(step.problem, disk=wrong)
    once = checkpoint_nodes(step.problem, disk=1.0)
    with pytest.raises(pl.FormatError, match="has an op 'Save/x' already"):
        checkpoint_nodes(once, disk=1.0)
