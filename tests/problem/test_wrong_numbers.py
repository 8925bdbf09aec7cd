"""What is no number is refused, not converted; what belongs to another problem is refused, not mixed in."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import placelab as pl

PROBLEM = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
N = PROBLEM.graph.n_ops
NO_NUMBERS = {
    "timedelta64": np.array([3, 4], "m8[s]"),
    "list of timedelta64": [np.timedelta64(3, "s"), np.timedelta64(4, "s")],
    "objects with a timedelta64": np.array([np.timedelta64(3, "s"), 1.0], dtype=object),
    "datetime64": np.array(["2020-01-01", "2020-01-02"], "M8[s]"),
    "datetimes": [datetime(2020, 1, 1), datetime(2020, 1, 2)],
    "dates": [date(2020, 1, 1), date(2020, 1, 2)],
    "timedeltas": [timedelta(1), timedelta(2)],
    "series of timedeltas": pd.Series(pd.to_timedelta([1, 2], "s")),
    "complex": np.array([1 + 2j, 3]),
    "objects with a complex128": np.array([np.complex128(1 + 2j), 1.0], dtype=object),
    "texts": ["1", "2"],
    "array of texts": np.array(["1", "2"]),
    "bytes": [b"1", b"2"],
    "ragged": [[1.0], [1.0, 2.0]],
    "objects": [object(), object()],
}
COLUMNS = ("compute", "persistent", "temporary", "memory", "edge_bytes", "time")


@pytest.mark.parametrize("label", COLUMNS)
@pytest.mark.parametrize("given", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_a_column_of_a_graph_takes_numbers_only(label, given):
    """numpy would take a timedelta for its number of units, a text for its number, and the real part of a complex number."""
    costs = {"compute": [1.0, 1.0], label: {"gpu": given} if label == "time" else given}
    if label == "edge_bytes":
        costs[label] = given[:1]
    with pytest.raises(pl.FormatError, match=label):
        pl.OpGraph.from_arrays(["a", "b"], edges=[(0, 1)], **costs)


@pytest.mark.parametrize("label", ["speed", "memory", "bandwidth", "latency"])
@pytest.mark.parametrize("given", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_a_column_of_a_cluster_takes_numbers_only(label, given):
    """The same for speeds, capacities and links."""
    with pytest.raises(pl.FormatError, match=label):
        pl.Cluster(**{"speed": [1.0, 1.0], label: given})


def test_numbers_of_other_makes_are_taken():
    """Fractions, decimals, numpy's scalars and pandas' columns are numbers."""
    from decimal import Decimal
    from fractions import Fraction

    given = [Fraction(1, 2), Decimal("0.5"), np.float32(0.5), 10**300]
    assert pl.OpGraph.from_arrays(list("abcd"), given, []).compute.tolist() == [0.5, 0.5, 0.5, 1e300]
    assert pl.Cluster(pd.Series([1, 2])).speed.tolist() == [1, 2]


@pytest.mark.parametrize("given", [["False"], [0.5], [2], [None], "no", [[True]], [float("nan")]])
def test_whether_an_edge_only_orders_is_true_or_false(given):
    """A text, which Python takes for true, or another number is refused."""
    with pytest.raises(pl.FormatError, match="edge_control"):
        pl.OpGraph.from_arrays(["a", "b"], 1.0, [(0, 1)], edge_control=given)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, "1", [1.0], True, 1j, np.float64("nan"), 10**400])
@pytest.mark.parametrize("label", ["estimate", "bound"])
def test_times_of_a_placement_are_finite(label, value):
    """What no file can hold is refused when the placement is made."""
    with pytest.raises(pl.FormatError, match=label):
        pl.Placement(PROBLEM, np.zeros(N, int), **{label: value})


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3), None])
def test_an_estimate_of_any_make_can_be_saved(value, tmp_path):
    """Numbers of numpy come back from a file, too."""
    placement = pl.Placement(PROBLEM, np.zeros(N, int), estimate=value)
    again = pl.Placement.load(PROBLEM, placement.save(tmp_path / "p.json"))
    assert again.estimate == value


def test_other_costs_are_of_the_same_ops_and_devices():
    """Another graph or cluster would run with the rules and indices of this one."""
    wrong = [
        dict(graph=pl.generators.fork_join(4)),
        dict(graph=pl.OpGraph.from_arrays(list(PROBLEM.graph.names), 1.0, [])),
        dict(graph=3),
        dict(cluster=pl.Cluster.uniform(3)),
        dict(cluster=PROBLEM.cluster.replace(names=["x", "y"])),
        dict(cluster="pcie_box"),
    ]
    for given in wrong:
        with pytest.raises(pl.FormatError, match="with_costs needs"):
            PROBLEM.with_costs(**given)
    doubled = PROBLEM.with_costs(graph=PROBLEM.graph.replace(compute=2 * PROBLEM.graph.compute))
    assert (doubled.graph.compute == 2 * PROBLEM.graph.compute).all()


def test_other_costs_leave_no_op_without_a_time():
    """A graph whose seconds are not known is refused, not simulated with NaN."""
    graph = pl.OpGraph.from_arrays(["a"], [np.nan], [], time={"gpu": [1.0]})
    problem = pl.Problem(graph, pl.Cluster([1.0], types=["gpu"]))
    with pytest.raises(pl.FormatError, match="no time"):
        problem.with_costs(graph=graph.replace(time=np.array([[np.nan]])))


def test_a_pin_moves_all_groups_of_its_name():
    """Two groups may have one name, as in files of several towers."""
    graph = pl.OpGraph.from_arrays(list("abcde"), 1.0, [], groups=[[0, 1], [2, 3]], group_names=["tower", "tower"])
    pinned = pl.Problem(graph, pl.Cluster.uniform(2)).pin({"tower": "dev1"})
    assert pinned.allowed == dict.fromkeys("abcd", ("dev1",))
