"""The contract checks find broken contracts, and show the smallest problem on which they break."""

from __future__ import annotations

import itertools

import numpy as np
import problems
import pytest

import placelab as pl
from placelab import testing
from placelab.testing import contracts


def on(problem, device):
    """All ops on one device."""
    return pl.Placement(problem, np.full(problem.graph.n_ops, device))


def test_a_good_partitioner_passes_without_being_entered():
    """A plain function is checked unchanged, options included; the catalogue is not changed."""

    def first_with_room(problem, *, backwards: bool = False):
        s = pl.ListScheduler(problem)
        for v in range(problem.graph.n_ops):
            s.place(v, s.feasible(v)[-1 if backwards else 0])
        return s.placement()

    testing.check_partitioner(first_with_room)
    assert "first-with-room" not in pl.partitioners()


def unrestricted(problem):
    """Ignores device constraints."""
    return on(problem, -1 % problem.cluster.n_devices)


def random_every_time(problem, *, _draws=itertools.count()):  # noqa: B008
    """Returns another placement each time."""
    return on(problem, next(_draws) % problem.cluster.n_devices)


def too_hopeful(problem):
    """Estimates a makespan below the longest path."""
    return pl.Placement(problem, on(problem, 0).device, estimate=1e-6)


def backwards(problem):
    """Plans the last op first."""
    return pl.Placement(problem, on(problem, 0).device, planned=np.arange(problem.graph.n_ops)[::-1])


def gives_up(problem):
    """Raises an error although a placement exists."""
    raise pl.InfeasibleError("no")


def meddles(problem):
    """Changes the costs of the problem's ops."""
    problem.graph.compute.setflags(write=True)
    problem.graph.compute[0] += 1
    return on(problem, 0)


def other_problem(problem):
    """Returns a placement of another problem."""
    return on(problem.replace(transfers="channel"), 0)


def heaps(problem):
    """Ignores memory limits."""
    return pl.Placement(problem, [problem.feasible(v)[0] for v in range(problem.graph.n_ops)])


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (unrestricted, "may only run on"),
        (random_every_time, "another placement when called again"),
        (too_hopeful, "below the lower bound"),
        (backwards, "before its input"),
        (gives_up, "finds no placement"),
        (meddles, "changes the problem"),
        (other_problem, "of another problem"),
    ],
)
def test_a_broken_partitioner_is_found(broken, words):
    """The message names the broken rule and shows a problem as code."""
    with pytest.raises(AssertionError, match=words) as found:
        testing.check_partitioner(broken)
    assert "pl.OpGraph.from_arrays(" in str(found.value)


def test_memory_that_is_for_ever_is_checked():
    """A device gets more persistent bytes than it has memory."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], persistent=6.0)
    with pytest.raises(AssertionError, match="puts 12 bytes for ever on 'dev0', which has 10"):
        testing.check_partitioner(heaps, [pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=10.0))])


def test_the_smallest_failing_problem_is_shown():
    """Among problems in any order, the one with the fewest ops is shown."""

    def not_three(problem):
        assert problem.graph.n_ops < 3, "three!"
        return on(problem, 0)

    cluster = pl.Cluster([1.0, 1.0])
    chains = [pl.Problem(contracts._chain(n), cluster) for n in (5, 1, 3, 2, 4)]
    with pytest.raises(AssertionError, match=r"AssertionError: three!(.|\n)*names=\['a', 'b', 'c'\]"):
        testing.check_partitioner(not_three, chains)


def test_the_code_shown_makes_the_problem_again():
    """Evaluated, the code gives an equal problem."""
    for problem in [*testing.examples(), *problems.many(150, seed=51)]:
        if problem.graph.n_ops > 50:
            continue
        names: dict = {}
        exec(testing.as_code(problem), globals(), names)
        again = names["problem"]
        assert again.graph.edges.tolist() == problem.graph.edges.tolist()
        assert again.group.tolist() == problem.group.tolist() or not problem.n_groups
        assert np.array_equal(again.may_run, problem.may_run)
        assert np.array_equal(again.cost, problem.cost, equal_nan=True)
        placement = pl.Placement(problem, [problem.feasible(v)[0] for v in range(problem.graph.n_ops)])
        schedules = [pl.simulate(p, pl.Placement(p, placement.device), "fifo") for p in (problem, again)]
        assert schedules[0].finish.tolist() == schedules[1].finish.tolist()
        assert schedules[0].oom.tolist() == schedules[1].oom.tolist()


def test_good_schedulers_pass():
    """A rule with three parameters, and priorities with two."""

    def shortest_first(state, device, ready):
        return min(ready, key=state.exec_time)

    def by_rank(problem, placement):
        return pl.upward_rank(problem)

    testing.check_scheduler(shortest_first)
    testing.check_scheduler(by_rank)


def test_a_broken_scheduler_is_found():
    """A choice that is not executable, and one that changes from run to run."""

    def stubborn(state, device, ready):
        return 0

    def moody(state, device, ready, *, _draws=itertools.count()):  # noqa: B008
        return ready[next(_draws) // 3 % len(ready)]

    with pytest.raises(AssertionError, match="chose 0"):
        testing.check_scheduler(stubborn)
    with pytest.raises(AssertionError, match="another schedule when run again"):
        testing.check_scheduler(moody)
