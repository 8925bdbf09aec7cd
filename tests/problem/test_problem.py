"""Problem: groups, allowed devices, pins, times."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from problems import many

import placelab as pl

GRAPH = pl.OpGraph.from_arrays(
    ["read/a", "read/b", "join", "out"],
    [1, 2, 3, 4],
    [(0, 2), (1, 2), (2, 3)],
    edge_bytes=1,
    groups=[[0, 1]],
    group_names=["reads"],
)
CLUSTER = pl.Cluster([1, 2, 4], names=["cpu:0", "gpu:0", "gpu:1"], types=["cpu", "gpu", "gpu"])
PROBLEM = pl.Problem(GRAPH, CLUSTER)


def test_memory_model_follows_the_cluster():
    """Without capacities the model is none, with some it is dynamic."""
    assert PROBLEM.memory == "none"
    assert pl.Problem(GRAPH, CLUSTER.replace(memory=5.0)).memory == "dynamic"


def test_groups_of_the_caller_join_the_graphs():
    """A group given here is joined with a group of the graph that shares an op."""
    problem = pl.Problem(GRAPH, CLUSTER, groups=[["read/b", "out"]])
    assert problem.groups == (("read/a", "read/b", "out"),)
    assert problem.members(3).tolist() == [0, 1, 3]
    assert PROBLEM.members(2).tolist() == [2]


@pytest.mark.parametrize(
    ("key", "device", "expected"),
    [
        ("join", "gpu:1", {"join": ("gpu:1",)}),
        ("reads", "gpu", {"read/a": ("gpu:0", "gpu:1"), "read/b": ("gpu:0", "gpu:1")}),
        ("read/b", 0, {"read/a": ("cpu:0",), "read/b": ("cpu:0",)}),
        ("*o*", ["cpu:0", "gpu:1"], {"join": ("cpu:0", "gpu:1"), "out": ("cpu:0", "gpu:1")}),
    ],
)
def test_pins_name_an_op_a_group_or_a_pattern(key, device, expected):
    """A pin makes a new problem with fewer allowed devices; groups follow their member."""
    assert PROBLEM.pin({key: device}).allowed == expected
    assert PROBLEM.allowed == {}


def test_pins_add_up():
    """A second pin restricts the first; if no device is left, the error names the op."""
    once = PROBLEM.pin({"join": "gpu"})
    assert once.pin({"join": ["cpu:0", "gpu:1"]}).allowed == {"join": ("gpu:1",)}
    with pytest.raises(pl.InfeasibleError, match="op 'join' has no device left"):
        once.pin({"join": "cpu:0"})


def test_a_group_whose_devices_do_not_meet_names_two_members():
    """The error says which group and which two ops."""
    with pytest.raises(
        pl.InfeasibleError, match=r"group 'reads' .*'read/a' may run on cpu:0, 'read/b' on gpu:0, gpu:1"
    ):
        pl.Problem(GRAPH, CLUSTER, allowed={"read/a": "cpu", "read/b": "gpu"})


def test_three_sets_that_meet_only_pairwise_are_infeasible():
    """Each pair has a common device, all three have none."""
    allowed = {"read/a": ["cpu:0", "gpu:0"], "read/b": ["gpu:0", "gpu:1"], "out": ["cpu:0", "gpu:1"]}
    with pytest.raises(pl.InfeasibleError, match="colocation group"):
        pl.Problem(GRAPH, CLUSTER, groups=[["read/a", "out"]], allowed=allowed)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(memory="some"), "memory model is 'some'; expected one of none, edges, reserved, dynamic"),
        (dict(transfers="magic"), "transfer model is 'magic'"),
        (dict(transfer_ops=-1), "transfer_ops is -1"),
        (dict(latency="late"), "latency is 'late'; expected one of holds, follows"),
        (dict(latency=1e-6), "latency is 1e-06; expected one of holds, follows"),
        (dict(allowed={"nope": "gpu"}), "no op is called 'nope'"),
        (dict(allowed={"out": "tpu"}), "no device has the name, type or host 'tpu'"),
        (dict(groups=[["out", "nope"]]), "no op is called 'nope'"),
    ],
)
def test_bad_problems_are_refused(arguments, words):
    """One sentence that names what was wrong and what was expected."""
    with pytest.raises(pl.FormatError, match=words):
        pl.Problem(GRAPH, CLUSTER, **arguments)


def test_an_op_for_a_type_the_cluster_lacks_is_infeasible():
    """The error names an op of the graph that may only run on TPUs."""
    only = pl.OpGraph.from_arrays(["x"], [1], [], devices={0: ["tpu"]})
    with pytest.raises(pl.InfeasibleError, match="op 'x' may only run on tpu"):
        pl.Problem(only, CLUSTER)


def test_measured_times_go_before_compute():
    """By device name, then type, then compute / speed; measured times do not scale with the speed."""
    timed = pl.OpGraph.from_arrays(["x", "y"], [8, 8], [], time={"gpu:1": [0.5, np.nan], "gpu": [3.0, 3.0]})
    problem = pl.Problem(timed, CLUSTER)
    assert [problem.exec_time(0, d) for d in range(3)] == [8, 3, 0.5]
    assert [problem.exec_time(1, d) for d in range(3)] == [8, 3, 2]
    np.testing.assert_array_equal(problem.exec_times([2, 1]), [0.5, 3])


def test_an_op_without_a_time_on_an_allowed_device_is_an_error():
    """It is no error if the op may not run there."""
    partly = dict(names=["x"], compute=[np.nan], edges=[], time={"gpu": [1.0]})
    with pytest.raises(pl.FormatError, match="op 'x' has no time for device 'cpu:0'"):
        pl.Problem(pl.OpGraph.from_arrays(**partly), CLUSTER)
    assert pl.Problem(pl.OpGraph.from_arrays(**partly, devices={0: ["gpu"]}), CLUSTER).exec_time(0, 1) == 1.0


def test_the_rule_of_latencies_stays_with_a_problem():
    """Through pins, other costs and other arguments; its text names it where it is not the default."""
    problem = pl.Problem(GRAPH, CLUSTER, transfers="channel", latency="follows")
    others = (
        problem.pin({"out": "cpu:0"}),
        problem.with_costs(cluster=CLUSTER),
        problem.replace(transfers="sequential"),
        problem.replace(graph=GRAPH),
    )
    assert all(other.latency == "follows" for other in others)
    assert problem.replace(latency="holds").latency == pl.Problem(GRAPH, CLUSTER).latency == "holds"
    assert "latency='follows'" in repr(problem) and "latency=" not in repr(problem.replace(latency="holds"))


def test_transfer_time_is_latency_plus_bytes_over_bandwidth():
    """Within a device it is 0."""
    problem = pl.Problem(GRAPH, pl.Cluster([1, 1], bandwidth=4.0, latency=0.5))
    assert problem.transfer_time(0, 0, 1) == 0.75
    assert problem.transfer_time(0, 1, 1) == 0.0


def test_replace_keeps_what_is_not_replaced():
    """Rules are kept when a model changes."""
    pinned = PROBLEM.pin({"join": "gpu:1"})
    assert pinned.replace(transfers="channel").allowed == {"join": ("gpu:1",)}
    assert pinned.replace(transfers="channel").groups == PROBLEM.groups


def test_pins_stay_when_the_cluster_is_edited():
    """A faster link or an added device keeps a pin; a pin to a removed device is an error."""
    pinned = PROBLEM.pin({"join": "gpu:1", "out": "gpu"})
    assert pinned.replace(cluster=CLUSTER.replace(bandwidth=9.0)).allowed == pinned.allowed
    more = pl.Cluster([1, 2, 4, 4], names=["cpu:0", "gpu:0", "gpu:1", "gpu:2"], types=["cpu", "gpu", "gpu", "gpu"])
    assert pinned.replace(cluster=more).allowed == {"join": ("gpu:1",), "out": ("gpu:0", "gpu:1", "gpu:2")}
    fewer = pl.Cluster([1, 2], names=["cpu:0", "gpu:0"], types=["cpu", "gpu"])
    with pytest.raises(pl.InfeasibleError, match="op 'join' may only run on gpu:1"):
        pinned.replace(cluster=fewer)


def test_groups_of_the_caller_stay():
    """Replacing something else keeps the added groups."""
    joined = pl.Problem(GRAPH, CLUSTER, groups=[["join", "out"]])
    assert joined.replace(memory="reserved").groups == joined.groups
    assert joined.replace(groups=[["read/a", "join"]]).groups == (("read/a", "read/b", "join", "out"),)


def test_problems_of_the_maker_are_feasible():
    """The random problems for tests always leave a device for every op."""
    for problem in many(300):
        assert all(len(problem.feasible(v)) for v in range(problem.graph.n_ops))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(transfer_ops="x"), "transfer_ops is 'x'"),
        (dict(transfer_ops=None), "transfer_ops is None"),
        (dict(duplex="no"), "duplex is 'no'; expected True or False"),
        (dict(groups=5), "groups is 5"),
        (dict(groups=[5]), "groups holds 5"),
        (dict(groups="join"), "groups is 'join'"),
        (dict(allowed=["join"]), "expected a mapping"),
        (dict(allowed={"join": None}), "devices are None"),
        (dict(memory=["none"]), "memory model is"),
    ],
)
def test_rules_of_the_wrong_kind_are_named(arguments, words):
    """One sentence with the argument, what was found and what was expected."""
    with pytest.raises(pl.FormatError, match=words):
        pl.Problem(GRAPH, CLUSTER, **arguments)


def test_pins_of_the_wrong_kind_are_named():
    """Not a mapping, a key that is not text, invalid devices."""
    for where in (["join"], {1: "gpu"}, {"join": None}):
        with pytest.raises(pl.FormatError):
            pl.Problem(GRAPH, CLUSTER).pin(where)


def test_numbers_that_add_up_to_infinity_are_refused():
    """Each number is finite, but times of this problem would overflow."""
    chain = pl.OpGraph.from_arrays(["a", "b"], [1e300, 1e300], [(0, 1)], edge_bytes=1e300)
    assert np.isfinite(pl.solve(pl.Problem(chain, pl.Cluster([1.0, 2.0]))).makespan)
    heavy = chain.replace(persistent=[1e308, 1e308])
    slow = pl.Cluster([1e-20])
    narrow = pl.Cluster([1.0, 1.0], bandwidth=1e-20)
    for graph, cluster in ((chain, slow), (chain, narrow), (heavy, pl.Cluster([1.0]))):
        with pytest.raises(pl.FormatError, match="more than a float can hold"):
            pl.Problem(graph, cluster)


def test_times_of_shared_links_that_add_up_to_infinity_are_refused():
    """Under ``fair``, which alone knows them, in new problems and in those with other costs."""
    chain = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=1e300)
    wide = pl.Cluster([1.0, 1.0], bandwidth=1e300, links={"card": (1e200, [(0, 1)])})
    narrow = wide.replace(links={"card": (1e-20, [(0, 1)])})
    assert pl.solve(pl.Problem(chain, narrow), "round-robin").makespan == 3
    fair = pl.Problem(chain, wide, transfers="fair")
    for refused in (lambda: fair.replace(cluster=narrow), lambda: fair.with_costs(cluster=narrow)):
        with pytest.raises(pl.FormatError, match="more than a float can hold"):
            refused()


@pytest.mark.parametrize(
    "device", [None, "x", ["gpu:0"] * 3, [0.5] * 3, [2**40] * 3, np.array([2**32] * 3), [np.nan] * 3]
)
def test_devices_of_a_placement_are_whole_numbers(device):
    """Fractions are not truncated, and large numbers are not wrapped to a valid device."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1.0] * 3, [])
    with pytest.raises(pl.FormatError, match="whole numbers"):
        pl.Placement(pl.Problem(graph, CLUSTER), device)


def test_where_ops_may_run_is_said_in_one_form_restricted_or_not():
    """`may_run` agrees with what is derived from it; without restrictions it takes one byte for any shape."""
    free = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(4))
    bound = free.pin({free.graph.names[1]: [1, 2]})
    for problem in (free, bound):
        n = problem.graph.n_ops
        k = problem.cluster.n_devices
        may = problem.may_run
        assert may.shape == (n, k) and not may.flags.writeable
        assert [problem.feasible(v).tolist() for v in range(n)] == [np.flatnonzero(row).tolist() for row in may]
        assert problem.runs_all.tolist() == may.all(axis=0).tolist()
        assert problem.runs_on(np.full(n, 3)).tolist() == may[:, 3].tolist()
        flags, stride = problem.allowed_flags()
        assert [[flags[v * stride + d] for d in range(k)] for v in range(n)] == may.astype(int).tolist()
    assert free.may_run.base.nbytes == 1 and bound.restricted and not free.restricted


def test_seconds_on_every_device_are_those_on_each():
    """`exec_table` agrees with `exec_times` and `exec_time`; devices that are not allowed get the given number."""
    problem = pl.datasets.problem("topcuoglu")
    v = 3
    problem = problem.pin({problem.graph.names[v]: 0})
    table = problem.exec_table()
    assert all(problem.exec_times(d).tolist() == table[:, d].tolist() for d in range(3))
    assert problem.exec_table(np.array([v]), otherwise=np.inf).tolist() == [[problem.exec_time(v, 0), np.inf, np.inf]]


def test_seconds_that_are_taken_for_operations_are_said():
    """Where no op takes a nanosecond a warning names compute, speed and remedy; a pin says nothing again."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [60.0, 5.0], [(0, 1)])
    with pytest.warns(UserWarning, match=r"6e-12 s: its compute is 60 operations.*1e\+13 a second.*speed 1"):
        problem = pl.Problem(graph, pl.Cluster.uniform(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem.pin({"a": 0})
        pl.Problem(graph, pl.Cluster([1.0, 1.0]))
        pl.Problem(graph.replace(compute=graph.compute * 1e9), pl.Cluster.uniform(2))
        pl.Problem(graph.replace(compute=graph.compute * 0), pl.Cluster.uniform(2))


def test_seconds_given_as_operations_are_said_once_where_they_are_given(recwarn):
    """By the line that makes the problem; not by those that change it, solve it or open it."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [60.0, 5.0], [(0, 1)])
    problem = pl.Problem(graph, pl.Cluster.uniform(2))
    (warning,) = of_users(recwarn)
    assert str(warning.message).startswith("the longest op takes 6e-12 s") and warning.filename == __file__
    recwarn.clear()
    pl.solve(problem.replace(transfers="channel"), "heft")
    explorer = pl.explore(graph, pl.Cluster.uniform(2))
    assert explorer.schedule.makespan > 1e-3  # a unit takes a millisecond, which the explorer says
    explorer.close()
    pl.Problem(graph, pl.Cluster([1.0, 1.0]))
    assert not of_users(recwarn)


def of_users(warned) -> list:
    """What is said to users: Python may meanwhile warn of a file that an earlier test has left open."""
    return [warning for warning in warned if warning.category is UserWarning]


def test_a_file_beside_the_package_is_a_users(recwarn):
    """One whose path begins as the package's does is not placelab's."""
    code = "pl.Problem(pl.OpGraph.from_arrays(['a'], [60.0], []), pl.Cluster.uniform(2))"
    exec(compile(code, f"{Path(pl.__file__).parent}_notes/mine.py", "exec"), {"pl": pl})
    assert len(of_users(recwarn)) == 1
