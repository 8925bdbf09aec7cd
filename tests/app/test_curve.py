"""The curve of a drag: makespan over the value that is being dragged."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from explorer_hands import wait_for

import placelab as pl
from placelab.app.explorer.engine import curve
from placelab.app.explorer.engine.curve import Curve
from placelab.app.explorer.engine.solving import Reasons, Result
from placelab.app.explorer.state import State, initial_state
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.details import Subject


class Clock:
    """Time passes where a test says so, on a busy machine, too."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    """The clock by which values are late, and the hand rests."""
    made = Clock()
    monkeypatch.setattr(curve, "monotonic", made)
    monkeypatch.setattr(curve, "LIMIT", 0.05)
    monkeypatch.setattr(curve, "STILL", 0.0)
    return made


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
def test_a_late_value_does_not_end_the_curve(clock, late):
    """A busy machine makes a value late now and then."""
    calls = []

    def tried(problem: pl.Problem) -> pl.Placement:
        calls.append(problem)
        clock.now += 1.2 * curve.LIMIT if len(calls) <= late else 0
        return pl.place(problem, "heft")

    last = curve_of(tried)[-1]
    assert curve.VALUES == len(last["values"]) == len(last["makespans"])
    assert last["values"] == sorted(last["values"]) and last["values"][-1] / last["values"][-2] < 2


def test_a_late_last_value_hides_none_before_it(clock):
    """The last report says that nothing is missing, and has all values that were in time."""
    calls = []

    def tried(problem: pl.Problem) -> pl.Placement:
        calls.append(problem)
        clock.now += 1.2 * curve.LIMIT if len(calls) == curve.VALUES else 0
        return pl.place(problem, "heft")

    said = curve_of(tried)
    assert [each["missing"] for each in said] == sorted((each["missing"] for each in said), reverse=True)
    assert said[-1]["missing"] == 0 and len(said[-1]["values"]) == curve.VALUES


def test_values_that_are_all_late_make_no_curve(clock):
    """Computing them would slow what the hand sees, so it ends after a few."""
    calls = []

    def tried(problem: pl.Problem) -> pl.Placement:
        calls.append(problem)
        clock.now += 1.2 * curve.LIMIT
        return pl.place(problem, "heft")

    assert curve_of(tried) == []
    assert len(calls) == curve.LATE + 1


def kept(state: State, value: dict[str, Any]) -> list[dict[str, Any]]:
    """What is said of the curve of a chosen value."""
    said: list[dict[str, Any]] = []
    drawn = Curve(lambda _: None, said.append)
    drawn.rest_on(state, value)
    drawn.rest_on(state, dict(value))  # the same again costs nothing
    assert drawn.settled(60)
    drawn.close()
    return said


LINK = {"kind": "bandwidth", "label": "bandwidth inside a", "pairs": [[0, 1], [1, 0]]}


def test_a_curve_says_whose_it_is_and_stays_until_there_is_another_one():
    """Of the same value in another state: the page greys the one before by its key."""
    said: list[dict[str, Any]] = []
    drawn = Curve(said.append, said.append)
    cluster = pl.clusters.pcie_box(2)
    for key, size in (("first", 20), ("second", 30)):
        drawn.rest_on(initial_state(pl.generators.layered(size, seed=1), cluster), LINK, key)
        assert drawn.settled(60)
    assert said[0] == {} and {} not in said[1:]
    keys = [each["of"] for each in said[1:]]
    assert keys == sorted(keys) and {*keys} == {"first", "second"}
    said.clear()
    drawn.follow(initial_state(pl.generators.layered(20, seed=1), cluster), {**LINK, "value": 1e9}, 7)
    assert drawn.settled(60)
    drawn.close()
    assert said[0] == {} and {each["gesture"] for each in said[1:]} == {7}


def test_the_curve_of_a_chosen_value_is_what_the_library_computes():
    cluster = pl.clusters.pcie_box(2)
    graph = pl.generators.layered(30, seed=1)
    first, *_, last = kept(initial_state(graph, cluster), LINK)
    assert first == {} and last["now"] == cluster.bandwidth[0, 1] and last["unit"] == "B/s"
    for value, found in list(zip(last["values"], last["makespans"], strict=True))[:: curve.COARSE]:
        changed = cluster.replace(bandwidth=np.where(np.eye(2, dtype=bool), cluster.bandwidth, value))
        state = replace(initial_state(graph, changed))
        due = pl.solve(state.problem(), state.partitioner, state.scheduler).makespan
        assert found == pytest.approx(due, rel=1e-9)


def test_a_value_without_a_curve_says_why():
    cluster = pl.Cluster.uniform(2, bandwidth=float("inf"))
    assert "powers of ten" in kept(initial_state(pl.generators.fork_join(3), cluster), LINK)[-1]["none"]


@pytest.mark.parametrize(
    "value", [LINK | {"pairs": [[0, 2]]}, {"kind": "speed", "device": 2}, {"kind": "shared", "link": "nic"}]
)
def test_a_value_that_the_cluster_has_not_gets_no_curve(value):
    """As when its device was removed."""
    assert kept(initial_state(pl.generators.fork_join(3), pl.clusters.pcie_box(2)), value) == []


def test_a_canvas_with_other_devices_has_nothing_chosen():
    canvas = ClusterCanvas(pl.clusters.pcie_box(3))
    canvas.chosen = {"kind": "speed", "label": "speed of gpu:2", "device": 2}
    canvas.edit = {"kind": "speed", "device": 2, "value": 1e12}
    assert canvas.chosen
    canvas.edit = {"kind": "remove", "device": 0}
    assert canvas.chosen == {}


def test_a_job_has_devices_of_its_own():
    """Its schedule's numbers of devices are not those of the canvas: nothing is said of wrong links."""
    state = initial_state(pl.generators.layered(30, seed=1), pl.clusters.pcie_box(2))
    problem = pl.Problem(state.graph, pl.clusters.pcie_box(3))
    result = Result(state, pl.solve(problem, "heft"), [])
    said = Reasons().details(result, Subject(value=LINK))
    assert said["title"] == LINK["label"] and said["facts"] == [] and "chain" not in said


def test_the_curve_needs_no_open_details():
    """It stays while the value is chosen, and is that of the newest state; what is chosen next ends it."""
    explorer = pl.explore("topcuoglu")
    assert explorer.settled(60) and not explorer.gantt.drawer
    explorer.canvas.chosen = LINK
    sensitivity = explorer.sensitivity
    wait_for(lambda: len(sensitivity.curve.get("values", ())) == curve.VALUES)
    assert (sensitivity.label, sensitivity.unitless) == (LINK["label"], True)
    assert sensitivity.result_of == explorer.now == sensitivity.curve["of"]
    explorer.change(lambda state: replace(state, scheduler="fifo"))
    wait_for(lambda: sensitivity.result_of == explorer.now)
    explorer.gantt.value = {}
    wait_for(lambda: sensitivity.curve == {})
    explorer.close()
