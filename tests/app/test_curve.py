"""The curve of a drag: makespan over the value that is being dragged."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import placelab as pl
from placelab.app.explorer.engine import curve
from placelab.app.explorer.engine.curve import Curve
from placelab.app.explorer.state import initial_state


def curve_of(partitioner: Callable[[pl.Problem], pl.Placement]) -> list[dict[str, Any]]:
    """What is shown in a drag that lasts as long as there is something to compute, from the first values on."""
    state = initial_state(pl.generators.layered(30, seed=1), pl.clusters.pcie_box(2))
    state = replace(state, partitioner=pl.partitioner(name="tried")(partitioner).name, scheduler="fifo")
    shown: list[dict[str, Any]] = []
    drawn = Curve(shown.append)
    drawn.follow(state, {"kind": "bandwidth", "pairs": [[0, 1], [1, 0]], "value": 1e9}, 1)
    assert drawn.settled(60)
    drawn.close()
    return shown[1:]


@pytest.mark.parametrize("late", [0, 1, curve.LATE])
def test_a_late_value_does_not_end_the_curve(late):
    """A busy machine makes a value late now and then."""
    calls = []

    def tried(problem: pl.Problem) -> pl.Placement:
        calls.append(problem)
        time.sleep(1.2 * curve.LIMIT if len(calls) <= late else 0)
        return pl.place(problem, "heft")

    last = curve_of(tried)[-1]
    assert (
        curve.VALUES - curve.LATE <= len(last["values"]) == len(last["makespans"])
    )  # loading kernels may take too long
    assert last["values"] == sorted(last["values"]) and last["values"][-1] / last["values"][-2] < 2


def test_values_that_are_all_late_make_no_curve():
    """Computing them would slow what the hand sees, so it ends after a few."""
    calls = []

    def tried(problem: pl.Problem) -> pl.Placement:
        calls.append(problem)
        time.sleep(1.2 * curve.LIMIT)
        return pl.place(problem, "heft")

    assert curve_of(tried) == []
    assert len(calls) == curve.LATE + 1
