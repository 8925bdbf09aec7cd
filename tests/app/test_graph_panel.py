"""The graph tab and pins by hand: a step of the history, whole groups, in the copied code, refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import placelab as pl
from placelab.app.explorer import code
from placelab.app.explorer.code import shortened
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.graph_panel import GraphPanel
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.state import State, initial_state
from placelab.base.errors import FormatError, InfeasibleError, PlacelabError


class Hands:
    """A state, changed as the explorer does it: refused where no problem comes out."""

    def __init__(self, given: Any, cluster: pl.Cluster | None = None) -> None:
        self.state = initial_state(given, cluster)
        self.said = ""
        self.shared = Shared(self.change, lambda text, tone: None, lambda: False)
        self.panel = GraphPanel(self.shared)
        self.show()

    def change(self, change: Any, key: str) -> None:
        try:
            state = change(self.state)
            state.problem()
        except PlacelabError as error:
            self.said = str(error)
        else:
            self.state = state
            self.show()

    def show(self) -> None:
        problem = self.state.problem()
        self.panel.show(self.state, problem, False)
        schedule = pl.solve(problem, "heft", "planned")
        self.panel.result(Result(self.state, schedule, None))
        assert self.panel.settled(60)

    def request(self, kind: str, name: str, device: int = -1) -> None:
        scene = self.panel.view.scene
        node = next(box["node"] for box in scene["boxes"] if box["label"] == name)
        self.panel.view.obey({"kind": kind, "node": node, "device": device})


@pytest.fixture
def hands() -> Iterator[Hands]:
    made = Hands("alexnet", pl.clusters.pcie_box())
    yield made
    made.panel.close()


def cell(state: State) -> pl.Schedule:
    names: dict[str, Any] = {}
    exec(code.cell(state), names)
    return names["schedule"]


def test_a_scope_is_pinned_and_taken_back(hands: Hands) -> None:
    """All of its ops run there, and those of their groups; marked in the view, and in the copied code as a pattern."""
    hands.request("pin", "tower_1", 3)
    graph = hands.state.graph
    schedule = pl.solve(hands.state.problem())
    tower = np.array([name.startswith("tower_1/") for name in graph.names])
    assert (schedule.device[tower] == 3).all()
    marks = np.frombuffer(hands.panel.view.pinned, "<i2")
    assert (marks[tower] == 3).all() and set(marks) == {-1, 3}
    text = code.cell(hands.state)
    assert "problem = problem.pin({'tower_1/*': 'gpu:3'" in text
    np.testing.assert_array_equal(cell(hands.state).start, schedule.start)
    hands.request("unpin", "tower_1")
    assert hands.state.pins == () and hands.panel.view.pinned == b""


def test_a_group_moves_as_one_and_the_last_hand_wins(hands: Hands) -> None:
    """A pin moves the whole group, and replaces what any of its ops was pinned to; pins of other ops stay."""
    problem = hands.state.problem()
    member, other = (str(problem.graph.names[problem.members(int(v))[0]]) for v in problem.group_ops[[0, -1]])
    first = hands.state.with_pin([other], "gpu:0").with_pin([member], "gpu:1")
    (pins,) = first.with_pin([problem.groups[0][-1]], "gpu:2").pins
    assert {name: pins[name] for name in problem.groups[0]} == dict.fromkeys(problem.groups[0], ("gpu:2",))
    assert pins[other] == ("gpu:0",)
    assert first.without_pin([member]).pins == hands.state.with_pin([other], "gpu:0").pins


def test_what_a_problem_was_given_stays_until_a_hand_changes_it() -> None:
    """Pins of a problem from a cell are those of the state; a hand replaces only the pins of the ops it moves."""
    graph = pl.load("topcuoglu")
    cluster = pl.clusters.uniform(3)
    fork = pl.generators.fork_join(4)
    names = fork.names.tolist()
    devices = cluster.names
    state = initial_state(pl.Problem(fork, cluster).pin({names[0]: devices[:2], names[-1]: devices[2]}))
    moved = state.with_pin([names[-1]], devices[0])
    allowed = moved.problem().allowed
    assert allowed[names[-1]] == devices[:1] and len(allowed[names[0]]) == 2
    with pytest.raises(FormatError, match="no op is called 'fork'"):
        initial_state(graph).with_pin(["fork"], "dev0")


def test_a_pin_follows_its_device_to_a_new_name(hands: Hands) -> None:
    """Renaming one device keeps the pins on it; a device that is gone is missed in a sentence."""
    pinned = hands.state.with_pin(["images"], "gpu:1")
    cluster = pinned.cluster
    renamed = pinned.with_cluster(cluster.replace(names=["gpu:0", "fast", "gpu:2", "gpu:3"]), pinned.layout)
    assert renamed.problem().allowed["images"] == ("fast",)
    gone = pinned.with_cluster(pl.Cluster.uniform(4), pinned.layout)
    with pytest.raises(InfeasibleError, match="may only run on gpu:1"):
        gone.problem()


def test_what_cannot_be_is_refused() -> None:
    """The graph's own restriction holds: one sentence, and the state stays as it was."""
    graph = pl.OpGraph.from_arrays(["in", "out"], [1.0, 1.0], [(0, 1)], devices={0: ["gpu:0"]})
    hands = Hands(graph, pl.clusters.pcie_box())
    before = hands.state
    hands.request("pin", "in", 1)
    assert "'in' has no device left" in hands.said and hands.state is before
    with pytest.raises(InfeasibleError, match="'in' has no device left"):
        before.with_pin(["in"], "gpu:1").problem()
    hands.panel.close()


def test_selection_is_shared_and_a_hidden_tab_computes_nothing(hands: Hands) -> None:
    """Both ways; and what it missed is shown when it is seen again."""
    hands.shared.selection = 5
    assert hands.panel.view.selection == 5
    hands.panel.view.selection = 7
    assert hands.shared.selection == 7
    hands.panel.visible = False
    before = hands.panel.view.values
    hands.state = initial_state("topcuoglu")
    hands.show()
    assert hands.panel.view.graph.n_ops == 127 and hands.panel.view.values == before
    hands.panel.visible = True
    hands.panel.result(None)
    assert hands.panel.settled(60)
    assert hands.panel.view.graph.n_ops == 10 and hands.panel.view.values != before


def test_patterns_mean_exactly_the_pins_they_stand_for() -> None:
    """Names with characters of patterns, an op with a pattern's name, scopes of which one op is elsewhere."""
    names = ["a/x", "a/y", "b[1]/x", "b[1]/y", "b1/x", "c/*", "c/z", "d/e/x", "d/e/y", "d/z"]
    graph = pl.OpGraph.from_arrays(names, [1.0] * len(names), [])
    problem = pl.Problem(graph, pl.clusters.pcie_box())
    where = {name: ("gpu:1",) for name in names if name != "d/z"} | {
        "a/x": ("gpu:0", "gpu:1"),
        "a/y": ("gpu:0", "gpu:1"),
    }
    short = shortened(where, graph)
    assert short == {
        "a/*": ("gpu:0", "gpu:1"),
        "b[[]1]/*": "gpu:1",
        "b1/x": "gpu:1",
        "c/*": "gpu:1",
        "c/z": "gpu:1",
        "d/e/*": "gpu:1",
    }
    assert problem.pin(short).allowed == problem.pin(where).allowed
