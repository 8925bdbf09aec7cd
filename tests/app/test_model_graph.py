"""Scopes, their layout, and what the browser is sent: every op is in one box, and boxes say what they hold."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.analysis.explanation import critical_steps, slack
from placelab.app.widgets import graph_view
from placelab.app.widgets.graph_scene import FEW, Edges, first_open, layers_of, order_of, place, scene_of
from placelab.app.widgets.graph_scopes import WIDE, scopes_of
from placelab.app.widgets.graph_view import COLOURS, ModelGraph

TYPESCRIPT = Path(__file__).parents[2] / "widgets" / "graph"
PARTS = st.lists(st.sampled_from(["a", "b", "c", "x1", "layer.0", ""]), min_size=1, max_size=4)


@st.composite
def graphs(draw: st.DrawFn) -> pl.OpGraph:
    """Ops with scopes in their names, some of them ops and scopes at once, with random edges."""
    given = draw(st.lists(PARTS, min_size=1, max_size=25))
    separator = draw(st.sampled_from(["/", "."]))
    names = list(dict.fromkeys(separator.join(parts) or "empty" for parts in given))
    n = len(names)
    pairs = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = sorted({(min(p), max(p)) for p in draw(st.lists(pairs, max_size=40)) if p[0] != p[1]})
    size = draw(st.lists(st.integers(0, 9), min_size=len(edges), max_size=len(edges)))
    order = draw(st.permutations(range(n)))
    return pl.OpGraph.from_arrays([names[i] for i in order], [1.0] * n, edges, edge_bytes=size)


@st.composite
def opened(draw: st.DrawFn) -> tuple[pl.OpGraph, list[int]]:
    graph = draw(graphs())
    scopes = scopes_of(graph)
    inner = st.integers(scopes.root, scopes.n_nodes - 1)
    return graph, draw(st.lists(inner, max_size=6))


@examples(150)
@given(graphs())
def test_every_op_is_in_the_scopes_of_its_name(graph: pl.OpGraph) -> None:
    """The path of each scope begins the names of its ops; no scope but the outermost has a single child."""
    scopes = scopes_of(graph)
    assert scopes.size[scopes.root] == graph.n_ops
    for scope in range(scopes.root, scopes.n_nodes):
        path = scopes.path[scope - scopes.n_ops]
        ops = scopes.ops(scope)
        assert len(ops) == scopes.size[scope]
        assert all(graph.names[v].lstrip("/.").startswith(path) for v in ops)
        assert scope == scopes.root or len(scopes.children(scope)) > 1
    for v in range(graph.n_ops):
        inner = scopes.path[scopes.ancestors(v)[0] - scopes.n_ops]
        assert scopes.label[v] and (inner + scopes.label[v])[-1] == (graph.names[v].strip("/.") or graph.names[v])[-1]


@examples(150)
@given(opened(), st.floats(0.3, 8))
def test_a_scene_shows_every_op_once(given: tuple[pl.OpGraph, list[int]], aspect: float) -> None:
    """In one closed box, inside the open scopes around it; boxes side by side do not overlap; edges go to later layers."""
    graph, open_scopes = given
    scopes = scopes_of(graph)
    scene = scene_of(graph, scopes, open_scopes, aspect)
    assert not scene.is_open[scene.owner].any()
    assert np.array_equal(
        np.bincount(scene.owner, minlength=len(scene.node))[~scene.is_open], scopes.size[scene.node[~scene.is_open]]
    )
    for v in range(graph.n_ops):
        assert scene.node[scene.owner[v]] in [v, *scopes.ancestors(v)]
    right = scene.x + scene.width
    bottom = scene.y + scene.height
    for box in range(len(scene.node)):
        around = scene.inside[box]
        if around >= 0:
            assert scene.is_open[around] and scene.node[around] in open_scopes
            assert scene.x[box] >= scene.x[around] and right[box] <= right[around] + 1e-9
            assert scene.y[box] >= scene.y[around] and bottom[box] <= bottom[around] + 1e-9
        beside = np.flatnonzero(scene.inside == around)
        beside = beside[beside != box]
        apart = (scene.x[beside] >= right[box] - 1e-9) | (right[beside] <= scene.x[box] + 1e-9)
        apart |= (scene.y[beside] >= bottom[box] - 1e-9) | (bottom[beside] <= scene.y[box] + 1e-9)
        assert apart.all()
    for a, b, back in zip(scene.source, scene.target, scene.back, strict=True):
        if not back and scene.inside[a] == scene.inside[b]:
            assert scene.layer[a] < scene.layer[b]


@examples(80)
@given(opened())
def test_opening_and_closing_are_inverse(given: tuple[pl.OpGraph, list[int]]) -> None:
    """The same scopes open give the same picture, in whatever order; edges carry the bytes between the ops of their boxes."""
    graph, open_scopes = given
    scopes = scopes_of(graph)
    scene, again = (scene_of(graph, scopes, those) for those in (open_scopes, open_scopes[::-1]))
    for column in ("node", "inside", "x", "y", "width", "height", "owner", "source", "target", "size"):
        np.testing.assert_array_equal(getattr(scene, column), getattr(again, column))
    expected: dict[tuple[int, int], float] = {}
    seen = set()
    for edge, (u, v) in enumerate(graph.edges.tolist()):
        a = int(scene.owner[u])
        b = int(scene.owner[v])
        tensor = int(graph.edge_tensor[edge])
        if a != b and (tensor, b) not in seen:
            seen.add((tensor, b))
            expected[a, b] = expected.get((a, b), 0) + graph.tensor_bytes[tensor]
    assert expected == {
        (a, b): size for a, b, size in zip(scene.source.tolist(), scene.target.tolist(), scene.size, strict=True)
    }


@examples(100)
@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=30))
    ),
    st.randoms(),
)
def test_only_cycles_turn_edges_back(given: tuple[int, set[tuple[int, int]]], random) -> None:
    """All other edges go to a later layer; without a cycle none is turned, whatever the ranks."""
    n, pairs = given
    pairs = sorted((a, b) for a, b in pairs if a != b)
    edges = Edges([a for a, _ in pairs], [b for _, b in pairs])
    rank = [random.random() for _ in range(n)]
    layer, back = layers_of(n, edges, rank)
    assert all(turned or layer[a] < layer[b] for (a, b), turned in zip(pairs, back, strict=True))
    forward = Edges([min(p) for p in pairs], [max(p) for p in pairs])
    assert not any(layers_of(n, forward, rank)[1])
    order = order_of(layer, edges, rank)
    assert sorted(v for part in order for v in part) == list(range(n))
    assert place(order, [60.0] * n, [24.0] * n, 3.0).width > 0


def test_chains_of_scopes_are_one_box_and_parts_are_by_depth() -> None:
    """A scope with one scope in it is merged; what is too wide is divided into neighbouring depths, without a cycle."""
    g = pl.OpGraph.from_arrays(["m/n/o/x", "m/n/o/y", "m/n/z/alone"], [1] * 3, [(0, 1), (1, 2)])
    scopes = scopes_of(g)
    assert [scopes.label[v] for v in scopes.children(scopes.root)] == ["m/n"]
    assert [scopes.label[v] for v in scopes.children(scopes.root + 1)] == ["z/alone", "o"]
    flat = pl.generators.layered(1000, seed=2)
    scopes = scopes_of(flat)
    parts = scopes.children(scopes.root)
    assert all(scopes.label[v].startswith("depth ") for v in parts) and len(parts) <= WIDE
    assert not scene_of(flat, scopes, ()).back.any()


def test_a_scope_is_never_too_wide() -> None:
    """Nor are the parts of one, however many ops there are."""
    n = 3 * WIDE**2 // 2
    graph = pl.OpGraph.from_arrays([f"op{i}" for i in range(n)], [1.0] * n, [(i, i + 1) for i in range(n - 1)])
    scopes = scopes_of(graph)
    assert max(len(scopes.children(v)) for v in range(scopes.root, scopes.n_nodes)) <= WIDE


@pytest.mark.parametrize("name", ["alexnet", "bert_base", "topcuoglu", "dynamic_rnn", "inception_v3"])
def test_at_first_there_are_few_boxes(name: str) -> None:
    """No more than can be looked at; large scopes open while there is room."""
    graph = pl.load(name)
    scopes = scopes_of(graph)
    first = first_open(scopes)
    scene = scene_of(graph, scopes, first)
    assert (~scene.is_open).sum() <= max(FEW, len(scopes.children(scopes.root))) <= WIDE
    assert set(scene.node[scene.is_open]) == set(first)


def solved(name: str = "alexnet") -> pl.Schedule:
    return pl.solve(pl.Problem(pl.load(name), pl.clusters.pcie_box()), "heft", "planned")


def test_values_hold_the_schedule() -> None:
    """Starts, durations and devices of the ops; marks for the colours that need them."""
    schedule = solved()
    n = len(schedule.start)
    at = 24 + 8 * -(-n * 4 // 8)
    for colour in COLOURS:
        data = graph_view.pack_values(schedule, colour)
        assert np.frombuffer(data, "<f8", 1, 16)[0] == schedule.makespan
        np.testing.assert_allclose(np.frombuffer(data, "<f4", n, 24), schedule.start, rtol=1e-6)
        np.testing.assert_allclose(np.frombuffer(data, "<f4", n, at), schedule.finish - schedule.start, rtol=1e-6)
        assert np.frombuffer(data, "<u4", 4)[2] == (n if colour in ("slack", "critical") else 0)
        device = np.frombuffer(data, "<u2", n, 2 * at - 24)
        np.testing.assert_array_equal(device, schedule.device)
        marks = np.frombuffer(data[2 * at - 24 + 8 * -(-n * 2 // 8) :][:n], "u1")
        if colour == "critical":
            steps = critical_steps(schedule)
            assert set(np.flatnonzero(marks)) == set(steps["row"][steps["kind"] == 0])


@pytest.mark.parametrize("transfers", ["parallel", "sequential"])
@pytest.mark.parametrize("transfer_ops", [0, 3])
def test_slack_is_what_an_op_can_be_late(transfers: str, transfer_ops: float) -> None:
    """None on the last op and the chain of ops before it; no consumer, and no next op, need start later."""
    graph = pl.generators.stencil(5, 5, seed=4)
    cluster = pl.Cluster.uniform(3, speed=1e3, bandwidth=1e4, latency=1e-4)
    problem = pl.Problem(graph, cluster, transfers=transfers, transfer_ops=transfer_ops)
    schedule = pl.simulate(problem, pl.place(problem, "round-robin"), "fifo")
    left = slack(schedule)
    near = 1e-8 * schedule.makespan
    latest = schedule.finish + left
    assert (left >= 0).all() and left[np.argmax(schedule.finish)] == 0
    assert latest.max() <= schedule.makespan + near
    begin = latest - (schedule.finish - schedule.start)
    assert (begin[graph.consumer] >= latest[graph.producer] - near).all()
    for d in range(3):
        order = schedule.order(d)
        assert (begin[order[1:]] >= latest[order[:-1]] - near).all()


def test_the_view_opens_finds_and_reveals() -> None:
    """By its traits, as the browser does it; opening and closing again gives the same scene."""
    view = ModelGraph.of(solved())
    before = view.scene
    tower = next(box for box in before["boxes"] if box["open"])
    view.opened = [v for v in view.opened if v != tower["node"]]
    assert len(view.scene["boxes"]) < len(before["boxes"])
    view.opened = [*view.opened, tower["node"]]
    assert view.scene == before
    view.opened = []
    view.query = "conv2 CONV2D"
    found = np.frombuffer(view.hits, "<u4")
    assert found.tolist() == [
        v for v, name in enumerate(view.graph.names) if "conv2" in name.lower() and "conv2d" in name.lower()
    ]
    view.obey({"kind": "reveal", "node": int(found[0])})
    owner = np.frombuffer(view.owner, "<i4")
    assert view.scene["boxes"][owner[found[0]]]["node"] == found[0]
    view.query = "  "
    assert view.hits == b""


def test_messages_that_mean_nothing_are_ignored() -> None:
    """No message of a browser raises; numbers of scopes of another graph open nothing."""
    view = ModelGraph.of(solved())
    pins: list[tuple] = []
    view.on_pin = lambda ops, device: pins.append((ops, device))
    for message in ({}, {"kind": "pin"}, {"kind": "pin", "node": "x"}, {"kind": "reveal", "node": 10**9}):
        view.obey(message)
    view.obey({"kind": "pin", "node": 0, "device": 99})
    assert not pins
    view.opened = [-5, 3, 10**7]
    assert not any(box["open"] for box in view.scene["boxes"])
    view.obey({"kind": "pin", "node": view.graph.n_ops, "device": 2})
    assert pins[0][0].tolist() == list(range(view.graph.n_ops)) and pins[0][1] == 2


def test_what_was_open_stays_open_for_the_same_ops() -> None:
    """With other costs the picture is laid out again; another graph starts afresh."""
    view = ModelGraph.of(solved())
    view.opened = view.opened[:1]
    view.selection = 3
    view.show_graph(pl.costs.scale(view.graph, compute=2))
    assert len(view.opened) == 1 and view.selection == 3 and view.values
    view.show_graph(pl.load("topcuoglu"))
    assert view.opened == [] and view.selection == -1 and view.values == b""
    assert repr(view) == "ModelGraph(10 ops in 10 boxes)"


def test_pins_are_marked_with_their_groups() -> None:
    """The ops that rules name and all of their groups; not what the graph restricts by itself."""
    schedule = solved()
    problem = schedule.problem
    names = schedule.problem.graph.names
    assert graph_view.pack_pins(problem) == b""
    member = int(problem.group_ops[0])
    pinned = problem.pin({str(names[member]): "gpu:2", "loss/mean": ["gpu:0", "gpu:1"]})
    marks = np.frombuffer(graph_view.pack_pins(pinned), "<i2")
    assert set(np.flatnonzero(marks == 2)) == set(problem.members(member))
    assert (marks == graph_view.SEVERAL).sum() == len(problem.members(problem.graph.index("loss/mean")))


def test_both_sides_know_the_same_colours() -> None:
    """The ways to colour are those of widgets/graph/colours.ts."""
    source = (TYPESCRIPT / "colours.ts").read_text(encoding="utf-8")
    assert tuple(re.findall(r'"([\w ]+)"', re.search(r"COLOURS = \[(.*?)\]", source)[1])) == COLOURS


def test_ops_of_which_only_times_are_known_have_sizes():
    """A graph without operations is drawn, the op with the longer time as the higher box."""
    graph = nx.DiGraph()
    graph.add_node("short", time=1.0)
    graph.add_node("long", time=9.0)
    graph.add_edge("short", "long", bytes=1.0)
    timed = pl.OpGraph.from_networkx(graph)
    scopes = scopes_of(timed)
    scene = scene_of(timed, scopes, first_open(scopes))
    height = dict(zip((scopes.label[v] for v in scene.node), scene.height, strict=True))
    assert height["short"] < height["long"] < np.inf
