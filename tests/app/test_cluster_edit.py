"""Edits on the cluster canvas: their meaning, and undo."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from placelab.app.widgets.cluster_canvas import ClusterCanvas, History
from placelab.app.widgets.cluster_edit import Layout, apply, describe
from placelab.base.errors import PlacelabError
from placelab.problem import clusters
from placelab.problem.cluster import Cluster

INSIDE = (300e9, 5e-6)
BETWEEN = (12e9, 50e-6)


def edited(cluster: Cluster, layout: Layout | None = None, **edit: object) -> Cluster:
    """The cluster after one edit."""
    return apply(cluster, layout or Layout.of(cluster), edit)[0]


def hosts(**sizes: int) -> Cluster:
    return Cluster.from_hosts(sizes, memory=16e9, inside=INSIDE, between=BETWEEN)


def assert_links_follow_hosts(cluster: Cluster) -> None:
    """Every link has the values of its class: inside a host, or between two."""
    same = np.array(cluster.hosts)[:, None] == np.array(cluster.hosts)
    off = ~np.eye(cluster.n_devices, dtype=bool)
    np.testing.assert_array_equal(cluster.bandwidth[off], np.where(same, INSIDE[0], BETWEEN[0])[off])
    np.testing.assert_array_equal(cluster.latency[off], np.where(same, INSIDE[1], BETWEEN[1])[off])


@examples(60)
@given(st.lists(st.integers(2, 4), min_size=2, max_size=4), st.data())
def test_any_walk_between_hosts_keeps_links_and_hosts_in_step(sizes: list[int], data: st.DataObject) -> None:
    """If some host has two other devices, moved, added and copied devices get exactly the links of their place."""
    cluster = hosts(**{f"h{i}": n for i, n in enumerate(sizes)})
    state = cluster, Layout.of(cluster)
    for _ in range(6):
        cluster, layout = state
        device = data.draw(st.integers(0, cluster.n_devices - 1))
        host = data.draw(st.sampled_from([*sorted(set(cluster.hosts)), None]))
        kind = data.draw(st.sampled_from(["host", "add", "copy"]))
        after = apply(cluster, layout, {"kind": kind, "device": device, "host": host})
        if max(after[0].hosts.count(h) for h in after[0].hosts) < 3 or len(set(after[0].hosts)) < 2:
            continue  # the next step might find no link of a class to follow
        state = after
        assert_links_follow_hosts(state[0])
        assert sorted(state[1].order) == list(range(state[0].n_devices))


def test_a_device_that_leaves_the_only_host_has_slower_links() -> None:
    """Without a link between hosts to copy: a tenth of the bandwidth, twice the latency; moving back restores them."""
    out = edited(clusters.pcie_box(4), kind="host", device=1, host=None)
    assert out.hosts == ("server", "host0", "server", "server")
    assert set(out.bandwidth[1, [0, 2, 3]]) == set(out.bandwidth[[0, 2, 3], 1]) == {6e8}
    assert set(out.latency[1, [0, 2, 3]]) == {100e-6}
    back = edited(out, kind="host", device=1, host="server")
    np.testing.assert_array_equal(back.bandwidth, clusters.pcie_box(4).bandwidth)
    np.testing.assert_array_equal(back.latency, clusters.pcie_box(4).latency)


def test_two_machines_that_become_one_have_faster_links() -> None:
    """Without a host of two devices to copy: ten times the bandwidth and half the latency of the link between them."""
    joined = edited(clusters.parameter_server(2), kind="host", device=2, host="worker0")
    assert joined.bandwidth[1, 2] == joined.bandwidth[2, 1] == 12.5e9
    assert joined.latency[2, 1] == 25e-6
    assert joined.bandwidth[2, 0] == 1.25e9


def test_links_of_each_direction_follow_their_own_direction() -> None:
    """Send and receive links of a host's devices may differ; an added device has both."""
    cluster = hosts(a=2, b=2)
    bandwidth = cluster.bandwidth.copy()
    bandwidth[:2, 2:] = 1e9  # from a to b
    moved = edited(cluster.replace(bandwidth=bandwidth), kind="host", device=2, host="a")
    assert moved.bandwidth[2, 3] == 1e9 and moved.bandwidth[3, 2] == BETWEEN[0]


def test_a_new_device_is_like_its_host() -> None:
    """Added to a host: the type, speed, memory and links of that host's last device, and the next free number."""
    cluster = clusters.parameter_server(2)
    bigger, layout = apply(cluster, Layout.of(cluster), {"kind": "add", "host": "ps0"})
    assert (bigger.names[3], bigger.types[3], bigger.hosts[3], bigger.speed[3]) == ("ps:1", "ps", "ps0", 1e12)
    assert layout.order == (0, 3, 1, 2)
    assert edited(cluster, kind="add", host=None).hosts[3] == "host0"


def test_a_copy_has_the_links_of_its_model() -> None:
    """It has the model's links to all other devices; model and copy are linked like devices of their host."""
    cluster = edited(hosts(a=3, b=1), kind="bandwidth", pairs=[[0, 3]], value=7e9)
    copied = edited(cluster, kind="copy", device=0)
    assert copied.names[4] == "a/gpu:3"
    assert copied.bandwidth[4, 3] == 7e9 and copied.bandwidth[3, 4] == BETWEEN[0]
    assert copied.bandwidth[0, 4] == copied.bandwidth[4, 0] == INSIDE[0]


@pytest.mark.parametrize(("like", "new"), [("gpu:0", "gpu:1"), ("a9", "a10"), ("tpu", "tpu 2"), ("7", "8")])
def test_a_copy_takes_the_next_free_name(like: str, new: str) -> None:
    """The number at the end is increased; a name without a number gets one."""
    assert edited(Cluster(speed=[1.0], names=[like]), kind="copy", device=0).names[1] == new


def test_links_are_set_or_scaled() -> None:
    """A set of ordered pairs takes a value or a factor, other links stay; None is an unlimited bandwidth."""
    cluster = hosts(a=2, b=1)
    scaled = edited(cluster, kind="bandwidth", pairs=[[0, 2], [2, 0]], factor=10)
    assert scaled.bandwidth[[0, 1, 2], [2, 2, 0]].tolist() == [12e10, 12e9, 12e10]
    assert edited(cluster, kind="latency", pairs=[[0, 1]], value=0).latency[0, 1] == 0
    assert edited(cluster, kind="bandwidth", pairs=[[0, 1]], value=None).bandwidth[0, 1] == np.inf
    assert edited(cluster, kind="memory", device=1, value=None).memory.tolist() == [16e9, np.inf, 16e9]


def test_a_shared_link_is_set_or_scaled() -> None:
    """By its name; other links stay, and a drag of it is one step that can be undone."""
    cluster = hosts(a=2, b=1).replace(links={"card": (8e9, [("a", "b")]), "bus": (4e9, [("a", "a")])})
    scaled = edited(cluster, kind="shared", link="card", factor=0.5)
    assert [link.bandwidth for link in scaled.links] == [4e9, 4e9] and scaled.links[0].pairs == cluster.links[0].pairs
    assert edited(cluster, kind="shared", link="bus", value=6e9).links[1].bandwidth == 6e9
    for wrong, says in (
        ({"link": "bus", "value": 0}, "link 'bus' has a bandwidth of 0.0"),
        ({"link": "x"}, "no shared"),
    ):
        with pytest.raises(PlacelabError, match=says):
            edited(cluster, kind="shared", **wrong)
    canvas = ClusterCanvas(cluster)
    for value in (7e9, 5e9):
        canvas.edit = {
            "kind": "shared",
            "link": "card",
            "value": value,
            "gesture": 3,
            "seq": int(value),
            "final": False,
        }
    canvas.edit = {"kind": "release", "gesture": 3, "final": True}
    assert canvas.value.links[0].bandwidth == 5e9
    canvas.undo()
    assert canvas.value is cluster and not canvas.can_undo


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({"kind": "speed", "device": 0, "value": 0}, "speed of device 'a/gpu:0' is 0 operations/s"),
        ({"kind": "speed", "device": 9, "value": 1}, "no device number 9"),
        ({"kind": "speed", "device": True, "value": 1}, "device of 'speed' is True; expected int"),
        ({"kind": "speed", "device": 0, "value": "fast"}, "value of 'speed' is 'fast'; expected float"),
        ({"kind": "speed", "device": 0, "value": 10**400}, "value of 'speed' is 1000"),
        ({"kind": "bandwidth", "pairs": [[0, 1]], "value": 0}, "bandwidth from 'a/gpu:0' to 'a/gpu:1' is 0 bytes/s"),
        ({"kind": "bandwidth", "pairs": [[0, 0]], "value": 1}, "two different devices"),
        ({"kind": "bandwidth", "pairs": [[0, 5]], "value": 1}, "two different devices"),
        ({"kind": "bandwidth", "pairs": [[0, 1], [1]], "value": 1}, "is [[0, 1], [1]]; expected list"),
        ({"kind": "bandwidth", "pairs": None, "value": 1}, "pairs of 'bandwidth' is None"),
        ({"kind": "latency", "pairs": [[0, 1]], "value": -1}, "latency from"),
        ({"kind": "latency", "pairs": [[0, 1]], "factor": float("nan")}, "factor of 'latency' is nan"),
        ({"kind": "host", "device": 0, "host": "c"}, "no host is called 'c'; there are a, b"),
        ({"kind": "add", "host": ["a"]}, "expected str | None"),
        ({"kind": "rename", "device": 0, "name": "a/gpu:1"}, "two devices are called 'a/gpu:1'"),
        ({"kind": "rename", "device": 0, "name": " "}, "needs a name"),
        ({"kind": "rename_host", "host": "a", "name": "b"}, "another host is called 'b'"),
        ({"kind": "rename_host", "host": "a", "name": ""}, "needs a name"),
        ({"kind": "rename_host", "host": "z", "name": "y"}, "no host is called 'z'"),
        ({"kind": "view", "view": "3d"}, "view of 'view' is '3d'"),
        ({"kind": "explode"}, "no command 'explode'"),
        ({"kind": "click"}, "no edit 'click'"),
        ({"kind": ["add"]}, "no command ['add']"),
        ({}, "no command None"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(edit: dict, says: str) -> None:
    """A refused edit names the value found; no message of a browser raises another exception."""
    with pytest.raises(PlacelabError, match=re.escape(says)):
        edited(hosts(a=2, b=1), **edit)


def test_the_last_device_stays() -> None:
    """A cluster needs a device; the others can be removed one by one."""
    cluster = edited(hosts(a=2), kind="remove", device=0)
    assert cluster.names == ("gpu:1",)
    with pytest.raises(PlacelabError, match="last device"):
        edited(cluster, kind="remove", device=0)


def test_removing_keeps_the_order_of_the_cards() -> None:
    """Numbers above the removed device move down, in the layout too."""
    cluster = hosts(a=2, b=2)
    layout = Layout((3, 1, 0, 2))
    removed, layout = apply(cluster, layout, {"kind": "remove", "device": 1})
    assert removed.names == ("a/gpu:0", "b/gpu:0", "b/gpu:1") and layout.order == (2, 0, 1)


def test_places_are_counted_within_a_host() -> None:
    """Slot 0 is the first card of the host, regardless of other cards; a slot that is too large means the last."""
    layout = Layout((0, 2, 1, 3))
    on = ("a", "a", "b", "a")
    assert layout.move(on, 3, 0).order == (3, 0, 2, 1)
    assert layout.move(on, 0, 1).order == (2, 1, 0, 3)
    assert layout.move(on, 0, 99).order == (2, 1, 3, 0)


def test_a_drag_is_one_step_and_only_its_newest_message_counts() -> None:
    """Factors of one drag do not multiply; undo restores the state before the drag, redo the state after it."""
    history = History.of(hosts(a=2))
    for factor in (2.0, 5.0, 10.0):
        history = history.handle({"kind": "bandwidth", "pairs": [[0, 1]], "factor": factor, "gesture": 7})
    history = history.handle({"kind": "release"}).settle()
    assert history.now[0].bandwidth[0, 1] == 3e12 and len(history.past) == 1
    back = history.handle({"kind": "undo"})
    assert back.now[0].bandwidth[0, 1] == 3e11 and not back.past
    assert back.handle({"kind": "redo"}).now == history.now
    assert back.undo() is back and history.redo() is history


def test_a_drag_that_comes_back_is_no_step() -> None:
    """It adds no step to undo and redo."""
    history = History.of(hosts(a=2)).handle({"kind": "speed", "device": 0, "value": 1.0, "gesture": 1}).settle().undo()
    history = history.handle({"kind": "host", "device": 0, "host": None, "gesture": 2})
    history = history.handle({"kind": "move", "device": 0, "slot": 0, "gesture": 2}).settle()
    assert not history.past


def test_the_widget_follows_python_and_keeps_the_last_good_cluster() -> None:
    """A cluster set in Python is an undoable step; a refused edit sets `error`, is acknowledged, and changes nothing."""
    canvas = ClusterCanvas(clusters.pcie_box())
    canvas.value = clusters.two_nodes()
    assert len(canvas.cluster["devices"]) == 8 and canvas.can_undo
    canvas.edit = {"seq": 4, "gesture": 1, "final": True, "kind": "speed", "device": 0, "value": -1}
    assert "speed of device" in canvas.error and canvas.ack == [4] and canvas.value.n_devices == 8
    canvas.undo()
    assert canvas.error == "" and canvas.value.n_devices == 4 and canvas.can_redo
    assert repr(canvas) == "ClusterCanvas(Cluster(4 devices on 1 hosts))"


def test_the_widget_says_when_a_hand_drags() -> None:
    """`dragging` is true from the first message of a drag to its last; the browser gets the cluster at the end."""
    canvas = ClusterCanvas(clusters.pcie_box())
    canvas.edit = {"seq": 1, "gesture": 1, "final": False, "kind": "speed", "device": 0, "value": 2e13}
    assert canvas.dragging and canvas.value.speed[0] == 2e13 and canvas.cluster["devices"][0]["speed"] == 1e13
    canvas.edit = {"seq": 2, "gesture": 1, "final": True, "kind": "release"}
    assert not canvas.dragging and canvas.cluster["devices"][0]["speed"] == 2e13


def test_an_observer_that_fails_does_not_stall_the_browser() -> None:
    """The message is still acknowledged."""
    canvas = ClusterCanvas(clusters.pcie_box())
    canvas.observe(lambda _: 1 / 0, "value")
    with pytest.raises(ZeroDivisionError):
        canvas.edit = {"seq": 9, "kind": "speed", "device": 0, "value": 1.0}
    assert canvas.ack == [9]


def test_answers_to_two_browsers_may_be_sent_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a thread holds back what is sent, as while a result is shown, each browser finds the number of its message."""
    canvas = ClusterCanvas(clusters.pcie_box())
    sent = []
    monkeypatch.setattr(canvas, "_send", lambda message, buffers=None: sent.append(message["state"].get("ack")))
    with canvas.hold_sync():
        canvas.edit = {"seq": 7, "gesture": 1, "final": True, "kind": "speed", "device": 0, "value": 2e13}
        canvas.edit = {"seq": 900, "gesture": 2, "final": True, "kind": "speed", "device": 1, "value": 2e13}
    assert sent == [[7, 900]]


def test_what_is_sent_is_plain_json() -> None:
    """Unlimited memory is null, the diagonal 0; strict JSON has neither infinity nor NaN."""
    sent = describe(clusters.mayer50(), Layout.of(clusters.mayer50()))
    json.dumps(sent, allow_nan=False)
    assert sent["devices"][0]["memory"] is None and sent["bandwidth"][3][3] == 0
