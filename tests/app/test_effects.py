"""The note on an edit: every kind of edit says what has changed, in a few words of the field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from explorer_hands import CLUSTER, wait_for

import placelab as pl
from placelab.app.explorer.jobs import one_step, with_job
from placelab.app.explorer.offered import ALL_REDUCE, PIPELINE, Job, Model, preset
from placelab.app.explorer.panels.effects import said_of_change
from placelab.app.explorer.spreads import planned_of
from placelab.app.explorer.state import Change, State, initial_state
from placelab.app.widgets.cluster_edit import apply
from placelab.base.units import number

NAMES = ["in", "mixed_6e/a", "mixed_6e/b", "grad/a", "grad/b", "grad/c", "out"]
GRAPH = pl.OpGraph.from_arrays(
    NAMES, [1e9] * 7, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)], edge_bytes=[1e6] * 6, groups=[(1, 3, 4)]
)
PLAN = pl.place(pl.Problem(GRAPH, CLUSTER), "heft")
MOVED = replace(PLAN, device=np.where(np.arange(7) == 6, (PLAN.device + 1) % 4, PLAN.device))


def canvas(**edit: object) -> Change:
    """An edit on the canvas."""
    return lambda state: state.with_cluster(*apply(state.cluster, state.layout, edit))


def column(**values: object) -> Change:
    return lambda state: state.with_cluster(state.cluster.replace(**values), state.layout)


def pins(state: State) -> State:
    """A scope, with what shares a group with an op of it."""
    return state.with_pin(NAMES[1:3], "a/gpu:1")


def on_job(change: Change) -> tuple[Change, Change]:
    """From a job with parameter servers to another state."""
    return lambda state: with_job(initial_state("alexnet"), Job()), change


def steps(*both: Change) -> tuple[Change, ...]:
    return both


same: Change = lambda state: state  # noqa: E731
by_hand: Change = lambda state: state.with_hand(PLAN)  # noqa: E731
decoder: Change = lambda state: initial_state(pl.models.read("llama-3.2-1b"), CLUSTER)  # noqa: E731


def planned(state: State) -> State:
    """A decoder under a plan."""
    made = decoder(state) if state.layers is None else state
    assert made.layers is not None
    return made.with_spread(planned_of(made.layers.model, made.layers.source, made.cluster))


EDITS: dict[str, tuple[tuple[Change, Change], str]] = {
    "a file is opened": (steps(same, lambda s: s.with_model(Model("other", s.graph))), "model other"),
    "of a long name": (
        steps(same, lambda s: s.with_model(Model("of/a/very/long/path/that/leads/to/model.onnx", s.graph))),
        "model …/that/leads/to/model.onnx",
    ),
    "one that steers the page": (steps(same, lambda s: s.with_model(Model("a\u202eb", s.graph))), r"model a\u202eb"),
    "another cluster": (
        steps(same, lambda s: s.with_preset(preset("two_nodes"))),
        "cluster two_nodes",
    ),
    "partitioner": (steps(same, lambda s: s.with_strategy("partitioner", "etf")), "heft → etf"),
    "scheduler": (steps(same, lambda s: s.with_strategy("scheduler", "pct")), "planned → pct"),
    "seed": (steps(same, lambda s: replace(s, seed=3)), "seed 0 → 3"),
    "memory model": (steps(same, lambda s: replace(s, memory="none")), "memory model dynamic → none"),
    "transfers": (steps(same, lambda s: replace(s, transfers="channel")), "transfers parallel → channel"),
    "duplex": (
        steps(lambda s: replace(s, transfers="channel"), lambda s: replace(s, transfers="sequential", duplex=True)),
        "transfers channel → sequential, duplex",
    ),
    "latency rule": (steps(same, lambda s: replace(s, latency="follows")), "latency holds → follows"),
    "costs": (steps(same, lambda s: replace(s, costs="mayer")), "costs of the model → Mayer 2017"),
    "compute": (steps(same, lambda s: replace(s, compute=2.0)), "compute × 1 → × 2"),
    "bytes": (steps(same, lambda s: replace(s, transfer=0.5)), "bytes × 1 → × 0.5"),
    "prepare": (steps(same, lambda s: replace(s, prepare=("linear-clusters",))), "prepare nothing → linear-clusters"),
    "an option": (
        steps(
            lambda s: s.with_strategy("partitioner", "min-cut"),
            lambda s: s.with_options("partitioner", {"imbalance": 1.5}),
        ),
        "min-cut imbalance 0.03 → 1.5",
    ),
    "an option back at its default": (
        steps(
            lambda s: s.with_strategy("partitioner", "min-cut").with_options("partitioner", {"imbalance": 1.5}),
            lambda s: s.with_options("partitioner", {}),
        ),
        "min-cut imbalance 1.5 → 0.03",
    ),
    "pins of a scope and its group": (steps(same, pins), "mixed_6e + 2 colocated ops → a/gpu:1"),
    "a pin of an op and its group": (
        steps(same, lambda s: s.with_pin(["grad/b"], "b/gpu:0")),
        "grad/b + 2 colocated ops → b/gpu:0",
    ),
    "memory that was unlimited": (
        steps(column(memory=np.inf), column(memory=8e9)),
        "memory unlimited → 8 GB, memory model none → dynamic",
    ),
    "a pin of one op": (steps(same, lambda s: s.with_pin(["out"], "b/gpu:0")), "out → b/gpu:0"),
    "a pin moves": (
        steps(lambda s: s.with_pin(["out"], "b/gpu:0"), lambda s: s.with_pin(["out"], "b/gpu:1")),
        "out → b/gpu:1",
    ),
    "a pin of all": (steps(same, lambda s: s.with_pin(NAMES, "b/gpu:0")), "all 7 ops → b/gpu:0"),
    "unpinned": (steps(pins, lambda s: s.without_pin(["mixed_6e/a"])), "mixed_6e/a + 2 colocated ops unpinned"),
    "all unpinned": (steps(pins, lambda s: replace(s, pins=())), "mixed_6e + 2 colocated ops unpinned"),
    "several pins": (
        steps(same, lambda s: pins(s).with_pin(["out"], "b/gpu:0")),
        "pins of 5 ops",
    ),
    "a plan by hand": (steps(same, by_hand), "heft → by hand"),
    "a move by hand": (
        steps(by_hand, lambda s: s.with_hand(MOVED)),
        f"out {CLUSTER.names[PLAN.device[6]]} → {CLUSTER.names[MOVED.device[6]]}",
    ),
    "another order by hand": (
        steps(by_hand, lambda s: s.with_hand(replace(PLAN, planned=PLAN.planned.copy()))),
        "a different order",
    ),
    "a job": (steps(lambda s: initial_state("alexnet"), lambda s: with_job(s, Job())), f"job {Job().title}"),
    "another job": (on_job(lambda s: with_job(s, Job(PIPELINE))), f"job {Job(PIPELINE).title}"),
    "a job's workers": (on_job(lambda s: with_job(s, Job(workers=3))), "workers 4 → 3"),
    "a job's switch": (on_job(lambda s: with_job(s, Job(sync=False))), "sync on → off"),
    "a job's buckets": (
        steps(
            lambda s: with_job(initial_state("alexnet"), Job(ALL_REDUCE)),
            lambda s: with_job(s, Job(ALL_REDUCE, bucket_bytes=50e6)),
        ),
        "bucket 25 → 50 MB",
    ),
    "no job": (on_job(one_step), "one step, no job"),
    "a decoder's phase": (
        steps(decoder, lambda s: s.with_spread(replace(s.layers, phase="prefill"))),
        "phase decode → prefill",
    ),
    "a plan": (steps(decoder, planned), "fifo → 1f1b, plan 2 × 2 × 1"),
    "a plan's batch": (steps(planned, lambda s: s.with_spread(replace(s.planned, batch=32))), "batch 64 → 32"),
    "a device is added": (steps(same, canvas(kind="copy", device=3)), " added"),
    "a device is removed": (steps(same, canvas(kind="remove", device=3)), "b/gpu:1 removed"),
    "a device moves": (steps(same, canvas(kind="host", device=1, host="b")), "a/gpu:1 → b"),
    "a card moves": (steps(same, canvas(kind="move", device=0, slot=1)), "cards in another order"),
    "a device's name": (steps(same, canvas(kind="rename", device=0, name="fast")), "a/gpu:0 renamed fast"),
    "its name where it is pinned to": (
        steps(lambda s: s.with_pin(["out"], "a/gpu:0"), canvas(kind="rename", device=0, name="fast")),
        "a/gpu:0 renamed fast",
    ),
    "a device's speed": (steps(same, canvas(kind="speed", device=1, value=2e12)), "a/gpu:1 speed 10 → 2 TFLOP/s"),
    "a device's memory": (steps(same, canvas(kind="memory", device=0, value=8e9)), "a/gpu:0 memory 16 → 8 GB"),
    "all memory": (steps(same, column(memory=[8e9] * 4)), "memory 16 → 8 GB"),
    "some memory": (steps(same, column(memory=[8e9, 8e9, 16e9, 16e9])), "2 devices memory 16 → 8 GB"),
    "a link": (
        steps(same, canvas(kind="bandwidth", pairs=[[0, 1], [1, 0]], value=100e9)),
        "a/gpu:0 ↔ a/gpu:1 bandwidth 300 → 100 GB/s",
    ),
    "one way of a link": (
        steps(same, canvas(kind="bandwidth", pairs=[[0, 2]], value=6e9)),
        "a/gpu:0 → b/gpu:0 bandwidth 12 → 6 GB/s",
    ),
    "links of a device": (
        steps(same, canvas(kind="latency", pairs=[[0, 1], [0, 2], [0, 3]], value=9e-6)),
        "links of a/gpu:0 latency 5 … 50 → 9 µs",
    ),
    "all links": (
        steps(same, lambda s: column(bandwidth=2 * s.cluster.bandwidth)(s)),
        "bandwidth 12 … 300 → 24 … 600 GB/s",
    ),
    "much at once": (
        steps(same, lambda s: replace(s, seed=1, latency="follows", compute=2.0, transfer=2.0, memory="none")),
        "memory model dynamic → none, latency holds → follows, seed 0 → 1, 2 more",
    ),
    "how the cluster is drawn": (steps(same, lambda s: replace(s, layout=replace(s.layout, view="grid"))), ""),
}


def graph_of(*names: str, groups: list[tuple[int, ...]] | None = None) -> pl.OpGraph:
    n = len(names)
    edges = [(i, i + 1) for i in range(n - 1)]
    return pl.OpGraph.from_arrays([*names], [1e9] * n, edges, edge_bytes=[1e6] * (n - 1), groups=groups or [])


def on(graph: pl.OpGraph, *pinned: str) -> tuple[Change, Change]:
    """Ops of another graph are pinned."""
    return lambda _: initial_state(pl.Problem(graph, CLUSTER)), lambda s: s.with_pin(pinned, "b/gpu:0")


def devices(*moves: tuple[int, int]) -> Change:
    """Ops go to other devices by hand, all from where they are first."""
    there = dict(moves)
    return lambda s: s.with_hand(replace(PLAN, device=np.array([there.get(v, 0) for v in range(7)])))


def linked(bandwidth: float) -> Change:
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    return lambda s: s.with_cluster(s.cluster.replace(links={"bus": (bandwidth, pairs)}), s.layout)


def renamed(*names: str) -> Change:
    return lambda s: s.with_cluster(s.cluster.replace(names=[*names, *s.cluster.names[len(names) :]]), s.layout)


BLOCK = graph_of("block", "block/a", "block/b", "in/x", "end")
DOTS = graph_of("net.a", "net.b", "end")
EDITS |= {
    "four at once": (
        steps(same, lambda s: replace(s, seed=1, latency="follows", compute=2.0, transfer=2.0)),
        "latency holds → follows, seed 0 → 1, compute × 1 → × 2, 1 more",
    ),
    "of a long name without parts": (
        steps(same, lambda s: s.with_model(Model("a" * 20 + "b" * 20, s.graph))),
        f"model …{'a' * 7}{'b' * 20}",
    ),
    "of a long name with dots": (
        steps(same, lambda s: s.with_model(Model("a.verylongname.that.leads.to.models", s.graph))),
        "model ….that.leads.to.models",
    ),
    "an option of many digits": (
        steps(
            lambda s: s.with_strategy("partitioner", "min-cut"),
            lambda s: s.with_options("partitioner", {"imbalance": 0.1 + 0.2}),
        ),
        "min-cut imbalance 0.03 → 0.3",
    ),
    "an option of two words, that is none any more": (
        steps(
            lambda s: s.with_strategy("partitioner", "parametric").with_options(
                "partitioner", {"pin_critical_path": True}
            ),
            lambda s: replace(s, options={}),
        ),
        "parametric pin critical path on → off",
    ),
    "another model's job": (
        on_job(lambda s: with_job(initial_state("convolutional_network"), Job(workers=3))),
        f"job {Job(workers=3).title}",
    ),
    "two settings of a job": (
        on_job(lambda s: with_job(s, Job(workers=3, sync=False))),
        "workers 4 → 3, sync on → off",
    ),
    "a plan's recomputing": (
        steps(planned, lambda s: s.with_spread(replace(s.planned, plan=replace(s.planned.plan, recompute="full")))),
        "recompute none → full",
    ),
    "a plan's two words": (
        steps(
            planned, lambda s: s.with_spread(replace(s.planned, plan=replace(s.planned.plan, sequence_parallel=False)))
        ),
        "sequence parallel on → off",
    ),
    "a plan's layers": (
        steps(planned, lambda s: s.with_spread(replace(s.planned, plan=replace(s.planned.plan, layers=(16,))))),
        "layers none → (16,)",
    ),
    "a plan's degrees": (
        steps(planned, lambda s: s.with_spread(s.planned.moved("tp", 4, s.cluster))),
        "plan 1 × 4 × 1",
    ),
    "a plan's degrees and batch": (
        steps(planned, lambda s: s.with_spread(replace(s.planned.moved("tp", 4, s.cluster), batch=32))),
        "batch 64 → 32, plan 1 × 4 × 1",
    ),
    "a pin of a scope alone": (on(BLOCK, "block/a", "block/b", "block"), "block (3 ops) → b/gpu:0"),
    "a pin of a scope with dots": (on(DOTS, "net.a", "net.b"), "net (2 ops) → b/gpu:0"),
    "a pin of a scope's only op": (on(BLOCK, "in/x"), "in/x → b/gpu:0"),
    "a pin of a part of a scope": (on(BLOCK, "block/a", "end"), "block/a + 1 op → b/gpu:0"),
    "a pin of a scope and more": (on(BLOCK, "block/a", "block", "block/b", "end"), "block + 1 op → b/gpu:0"),
    "a pin of the only op": (on(graph_of("alone"), "alone"), "alone → b/gpu:0"),
    "a pin to one of two devices": (
        steps(same, lambda s: replace(s, pins=({"out": ("a/gpu:0", "b/gpu:0")},))),
        "out → a/gpu:0 or b/gpu:0",
    ),
    "two pins of an op": (
        steps(same, lambda s: replace(s, pins=({"out": ("a/gpu:0",)}, {"out": ("b/gpu:0",)}))),
        "out → a/gpu:0 and b/gpu:0",
    ),
    "moves by hand to several": (steps(devices(), devices((5, 1), (6, 2))), "2 ops on other devices"),
    "moves by hand from several": (steps(devices((5, 1), (6, 2)), devices((5, 3), (6, 3))), "grad/c + 1 op → b/gpu:1"),
    "a shared link": (steps(linked(100e9), linked(50e9)), "bus bandwidth 100 → 50 GB/s"),
    "two devices' names": (steps(same, renamed("x", "y")), "2 devices renamed"),
    "a host's name": (
        steps(same, lambda s: s.with_cluster(s.cluster.replace(hosts=["z", "z", "b", "b"]), s.layout)),
        "host a renamed z",
    ),
    "devices to several hosts": (
        steps(same, lambda s: s.with_cluster(s.cluster.replace(hosts=["b", "c", "b", "b"]), s.layout)),
        "2 devices → other hosts",
    ),
    "links that share no device": (
        steps(same, canvas(kind="bandwidth", pairs=[[0, 1], [2, 3]], value=100e9)),
        "2 links bandwidth 300 → 100 GB/s",
    ),
}
LAYERS = dict(objective="round", phase="train", batch=4, sequence=64, context=8, microbatches=3, headroom=0.2)


@pytest.mark.parametrize("name", LAYERS)
def test_each_setting_of_a_decoders_layers_is_named(name):
    """With its two values."""
    before = decoder(initial_state("topcuoglu"))
    assert before.layers is not None
    after = before.with_spread(replace(before.layers, **{name: LAYERS[name]}))
    old, new = (
        number(value) if isinstance(value, float) else value for value in (getattr(before.layers, name), LAYERS[name])
    )
    assert f"{name} {old} → {new}" in said_of_change(before, after).split(", ")


def test_nothing_is_said_while_ops_are_placed_one_by_one(opened):
    """Neither where it begins nor where it ends."""
    some = opened.with_hand(PLAN, placed=np.arange(7) < 3)
    for before, after in ((opened, some), (some, opened), (some, opened.with_hand(PLAN, placed=np.arange(7) < 4))):
        assert said_of_change(before, after) == ""


@pytest.fixture(scope="module")
def opened() -> State:
    return initial_state(pl.Problem(GRAPH, CLUSTER))


@pytest.mark.parametrize("kind", EDITS)
def test_each_kind_of_edit_says_what_changed(opened, kind):
    """Short, in the words of the field; nothing is said of states that are equal."""
    (first, then), said = EDITS[kind]
    before = first(opened)
    after = then(before)
    found = said_of_change(before, after)
    assert found.endswith(said) if said.startswith(" ") else found == said
    assert len(found) <= 100
    assert said_of_change(after, after) == ""


def test_every_part_of_the_state_is_tried(opened):
    """But what no control changes, and what is told by another part."""
    tried = set()
    for (first, then), said in EDITS.values():
        before = first(opened)
        after = then(before)
        if said:
            tried |= {f.name for f in fields(State) if getattr(before, f.name) != getattr(after, f.name)}
    untold = {"transfer_ops", "groups", "requested_scheduler"}
    assert {f.name for f in fields(State)} - tried <= untold


def test_a_note_tells_edit_and_effect_and_its_button_takes_it_back():
    """Undo is an edit, too: its note says what changed with it, and its button does it again."""
    explorer = pl.explore(pl.generators.fork_join(6), CLUSTER)
    assert explorer.settled(120)
    palette = explorer.commands.palette
    now: Callable[[], str] = lambda: explorer.problem.cluster.units.time(explorer.schedule.makespan)  # noqa: E731
    first = now()
    explorer.change(lambda state: state.with_pin(["stage0/fork"], "b/gpu:1"))
    wait_for(lambda: palette.done.get("text") == "stage0/fork → b/gpu:1")
    assert not palette.done["redo"] and palette.done["effect"].endswith(now())
    palette.obey({"kind": "undo"})
    wait_for(lambda: palette.done.get("text") == "Undo: stage0/fork unpinned")
    assert palette.done["redo"] and palette.done["effect"].endswith(first)
    palette.obey({"kind": "redo"})
    wait_for(lambda: palette.done.get("text") == "Redo: stage0/fork → b/gpu:1")
    assert not palette.done["redo"]
    explorer.close()
