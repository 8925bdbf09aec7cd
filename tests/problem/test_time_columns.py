"""Seconds that a graph carries: for which device do they hold, and what does a faster device make of them?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import placelab as pl
from placelab.problem.graph import time_column, time_speeds

TIMES = {"speed": {"small": 10.0}, "default": "small"}


def timed(times=None, **time):
    """Two ops in a row, with seconds by device type."""
    metadata = {} if times is None else {"times": times}
    return pl.OpGraph.from_arrays(["a", "b"], [100.0, 0.0], [(0, 1)], edge_bytes=[8.0], time=time, metadata=metadata)


def cluster(speeds, types):
    """Devices of these speeds and types, well connected."""
    return pl.Cluster(speeds, bandwidth=1e9, latency=0.0, types=types)


def test_the_seconds_of_a_type_whose_speed_is_known_follow_the_device_speed():
    """Twice as fast a device of the type takes half the seconds; at the known speed, exactly those."""
    problem = pl.Problem(timed(TIMES, small=[4.0, 2.0]), cluster([10.0, 20.0, 5.0], ["small"] * 3))
    assert [problem.exec_times(d).tolist() for d in range(3)] == [[4.0, 2.0], [2.0, 1.0], [8.0, 4.0]]


def test_a_device_without_a_column_takes_the_default_one_at_its_own_speed():
    """So an op that computes nothing but moves bytes has its time on devices of any type."""
    problem = pl.Problem(timed(TIMES, small=[4.0, 2.0], big=[1.0, 1.0]), cluster([20.0, 20.0], ["other", "big"]))
    assert problem.exec_times(0).tolist() == [2.0, 1.0]
    assert problem.exec_times(1).tolist() == [1.0, 1.0]  # its speed is not known: seconds hold as they are


def test_without_metadata_seconds_hold_whatever_the_speed_and_other_types_compute():
    """Topcuoglu's table is such a one."""
    problem = pl.Problem(timed(small=[4.0, 2.0]), cluster([20.0, 20.0], ["small", "other"]))
    assert [problem.exec_times(d).tolist() for d in range(2)] == [[4.0, 2.0], [5.0, 0.0]]


def test_where_a_column_has_no_seconds_compute_over_speed_holds():
    """Also in a column that is scaled."""
    problem = pl.Problem(timed(TIMES, small=[np.nan, 2.0]), cluster([20.0, 10.0], ["small"] * 2))
    assert [problem.exec_times(d).tolist() for d in range(2)] == [[5.0, 1.0], [10.0, 2.0]]


@pytest.mark.parametrize("speed", [3.0, 10.0, 7e3])
def test_the_validator_scales_by_itself(speed):
    """It reads the same metadata and finds every duration right, and a wrong one wrong."""
    problem = pl.Problem(timed(TIMES, small=[4.0, np.nan]), cluster([speed, 20.0], ["small", "other"]))
    for device in (0, 1):
        schedule = pl.simulate(problem, pl.Placement.from_mapping(problem, {"a": device, "b": 1 - device}), "fifo")
        assert pl.validate(schedule) == []
    unscaled = pl.Problem(timed(small=[4.0, np.nan]), problem.cluster)
    wrong = pl.simulate(unscaled, pl.Placement.from_mapping(unscaled, {"a": 1, "b": 1}), "fifo")
    wrong = replace(wrong, placement=replace(wrong.placement, problem=problem))
    assert {violation.kind for violation in pl.validate(wrong)} == {"duration"}


def test_the_columns_of_a_device():
    """Name before type before default; 0 where a speed is not known."""
    graph = timed(TIMES, small=[4.0, 2.0], big=[1.0, 1.0])
    assert graph.time_types == ("big", "small")
    assert time_speeds(graph).tolist() == [0.0, 10.0]
    assert [time_column(graph, *d) for d in (("big", "small"), ("x", "big"), ("x", "y"))] == [0, 0, 1]
    assert time_column(timed(), "x", "y") == -1


@pytest.mark.parametrize("times", [7, {"speed": 7}, {"speed": {"small": "fast"}}, {"speed": {"small": -1}}])
def test_metadata_that_are_not_speeds_are_refused_in_one_sentence(times):
    """A file may hold anything there."""
    with pytest.raises(pl.FormatError, match="metadata"):
        pl.Problem(timed(times, small=[4.0, 2.0]), cluster([1.0], ["small"])).exec_times(0)
