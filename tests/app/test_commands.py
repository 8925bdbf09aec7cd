"""Commands in words: what is offered for a text, and what each does to the explorer."""

from __future__ import annotations

import explorer_hands
import numpy as np
import pytest
from explorer_hands import CLUSTER, wait_for

import placelab as pl
from placelab.analysis.idle_time import idle_gaps
from placelab.app.explorer import Explorer


@pytest.fixture(scope="module")
def unchanged():
    """An explorer for tests that only ask what is offered."""
    made = pl.explore(pl.generators.fork_join(6), CLUSTER)
    assert made.settled(120)
    yield made
    made.close()


@pytest.fixture
def explorer():
    """Of a small graph on two hosts of two devices."""
    made = pl.explore(pl.generators.fork_join(6), CLUSTER)
    assert made.settled(120)
    yield made
    made.close()


def offered(explorer: Explorer, text: str) -> list[str]:
    """The phrases offered for a text."""
    explorer.commands.palette.typed = text
    return [offer["phrase"] for offer in explorer.commands.palette.offers]


def ask(explorer: Explorer, text: str, phrase: str | None = None) -> None:
    """Type a text and choose an offer, the first by default, as the browser does."""
    phrases = offered(explorer, text)
    palette = explorer.commands.palette
    chosen = phrases.index(phrase) if phrase else 0
    palette.obey({"kind": "choose", "typed": palette.answers, "offer": chosen})


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("etf", "place with etf"),
        ("m-etf", "place with m-etf"),
        ("sched fifo", "schedule with fifo"),
        ("inception", "load inception_v3"),
        ("memory none", "memory none"),
        ("channel", "transfers channel"),
        ("why", "details"),
        ("revert", "undo"),
        ("job", "job"),
        ("fork", "find stage0/fork"),
        ("sort", "busiest lanes first"),
        ("collapse", "fold hosts"),
        ("open file", "open file"),
        ("upload my model", "open file"),
        ("faster gpus", "faster devices"),
        ("out of memory", "more memory"),
        ("slow network", "slower network"),
        ("add a gpu", "add a device"),
        ("which strategy is the best?", "comparison"),
        ("show memory", "show memory"),
        ("where is the bottleneck", "what matters"),
        ("which link first", "what matters"),
        ("critical path", "colour by critical path"),
        ("lower bound", "why not faster"),
        ("how good is this", "why not faster"),
        ("export a picture", "download PNG"),
        ("keyboard shortcuts", "help"),
        ("tutorial", "hints"),
        ("data parallel", "job"),
        ("batch size", "job"),
        ("what if", "what matters"),
        ("another seed", "next seed"),
        ("start over", "start over"),
        ("move bars by hand", "by hand"),
        ("play", "play"),
        ("run the animation", "play"),
        ("zoom", "zoom in"),
        ("zoom to everything", "fit"),
        ("fullscreen", "full screen"),
        ("present", "present"),
        ("presentation mode", "present"),
        ("python code", "code"),
        ("copy as python", "code"),
        ("as a table", "table"),
        ("search", "find ops"),
        ("legend", "legend"),
        ("more gpus", "add a device"),
        ("remove a gpu", "remove a device"),
        ("unpin", "unpin everything"),
        ("examples", "load alexnet"),
        ("print", "download PNG"),
        ("dark mode", "dark mode"),
        ("dark theme", "dark mode"),
        ("make it dark", "dark mode"),
        ("settings", "settings"),
        ("preferences", "settings"),
        ("rename", "rename a device"),
        ("how do I rename a host", "rename a device"),
    ],
)
def test_what_a_newcomer_types_leads_there(unchanged, text, first):
    phrases = offered(unchanged, text)
    assert first in phrases
    assert len(phrases) <= 8
    assert all(set(offer) == {"phrase", "says", "kind", "press"} for offer in unchanged.commands.palette.offers)


FIRST = {
    "how do I pin an op": "pin an op",
    "pin": "pin an op",
    "tie an op to a device": "pin an op",
    "lock": "pin an op",
    "unpin op": "unpin everything",
    "pin this schedule": "keep",
    "compare two schedules": "keep",
    "compare algorithms": "comparison",
    "best partitioner": "comparison",
    "improve": "best known",
    "search": "find ops",
    "dgx": "cluster nvlink_box",
    "H100": "cluster h100_box",
    "gaming": "cluster rtx2080ti_box",
    "cheaper": "cheaper cluster",
    "lower my budget": "cheaper cluster",
    "price": "cheaper cluster",
    "delete gpu": "remove a device",
    "how many GPUs?": "add a device",
    "8 gpus": "add a device",
    "new machine": "add a host",
    "rename gpu": "rename a device",
    "slower gpu": "slower devices",
    "half the bandwidth": "slower network",
    "out of memory": "more memory",
    "ignore memory": "memory none",
    "memory usage": "show memory",
    "contention": "transfers sequential",
    "latency": "latency holds",
    "costs": "settings",
    "make it faster": "what matters",
    "where does the time go?": "what matters",
    "longest op": "what matters",
    "which link should I upgrade": "what matters",
    "use heft": "place with heft",
    "how does HEFT work?": "place with heft",
    "genetic algorithm": "place with portfolio",
    "exact solver": "place with cp-sat",
    "reinforcement learning": "place with policy-gradient",
    "tensor parallelism": "job",
    "training time": "job",
    "checkpoint": "job",
    "optimal solution": "why not faster",
    "upload onnx": "open file",
    "go back": "undo",
    "reset": "start over",
    "move an op by hand": "by hand",
    "shortcuts": "help",
    "what is this?": "hints",
    "save a picture": "download PNG",
    "why is my gpu idle": "why is b/gpu:1 idle",
    "why is gpu:1 idle": "why is a/gpu:1 idle",
}


@pytest.mark.parametrize("text", FIRST)
def test_the_first_offer_is_what_a_newcomer_means(unchanged, text):
    """Enter follows it at once."""
    assert offered(unchanged, text)[0] == FIRST[text]


@pytest.mark.parametrize("text", ["no such thing", "tpu", "zzz", "?"])
def test_what_nothing_fits_offers_nothing(unchanged, text):
    assert offered(unchanged, text) in ([], [offer.phrase for offer in unchanged.commands.views[:8]])


def test_an_op_is_pinned_in_words(explorer):
    """By its whole name, with what is colocated, or its scope's; the device may be called without its host."""
    for text in ("pin stage0/fork to gpu:1", "put stage0 on a/gpu:1"):
        ask(explorer, text)
        pinned = {op for where in explorer.state.pins for op in where}
        assert pinned and {names for where in explorer.state.pins for names in where.values()} == {("a/gpu:1",)}
        assert ("stage0/fork" in pinned) and (len(pinned) == 1) == text.startswith("pin")
        explorer.undo()
    assert not any(phrase.startswith("pin no") for phrase in offered(explorer, "pin nothing to gpu:1"))


def test_two_partitioners_against_each_other(explorer):
    """The first is kept, the second shown, the difference open; a text with one name or none compares nothing."""
    first, second = (pl.solve(explorer.problem, name, "planned").makespan for name in ("dls", "etf"))
    for text in ("compare dls with etf", "dls vs etf"):
        assert offered(explorer, text)[0] == "compare dls with etf"
    ask(explorer, "is dls better than etf?")
    assert explorer.shared.kept.makespan == first and explorer.state.partitioner == "etf"
    assert explorer.schedule.makespan == second and explorer.tabs.titles.value == "Difference"
    assert not any(phrase.startswith("compare") for phrase in offered(explorer, "compare etf"))


def test_everyday_words_change_what_they_say(explorer):
    """Each is a step that undo takes back; *start over* leads to the first state."""
    cluster = explorer.state.cluster
    opened = explorer.state
    ask(explorer, "faster gpus")
    assert explorer.state.cluster.speed.tolist() == (2 * cluster.speed).tolist()
    ask(explorer, "slow network")
    off = ~np.eye(4, dtype=bool)
    assert (explorer.state.cluster.bandwidth[off] == cluster.bandwidth[off] / 2).all()
    ask(explorer, "add a gpu")
    assert explorer.state.cluster.n_devices == 5
    ask(explorer, "start over")
    assert explorer.state == opened and explorer.problem.cluster.n_devices == 4
    explorer.undo()
    assert explorer.state.cluster.n_devices == 5
    ask(explorer, "upload my model")
    assert explorer.pickers.models.toggle.value and not explorer.pickers.models.panel.hidden
    ask(explorer, "critical path")
    assert explorer.gantt.colour_by == "critical path"


def test_an_empty_line_offers_the_explorers_own(explorer):
    explorer.commands.palette.typed = "x"
    assert offered(explorer, "")[0] == "undo"


def test_strategies_change_and_undo_goes_back(explorer):
    ask(explorer, "place with etf")
    assert explorer.settled(120) and explorer.state.partitioner == "etf"
    wait_for(lambda: explorer.commands.palette.done.get("text", "") == "heft → etf")
    explorer.commands.palette.obey({"kind": "undo"})
    assert explorer.state.partitioner == "heft"
    explorer.commands.palette.obey({"kind": "redo"})
    assert explorer.state.partitioner == "etf"


@pytest.mark.parametrize(
    ("text", "column", "where", "value"),
    [
        ("a/gpu:1 memory 8 GB", "memory", 1, 8e9),
        ("speed 20 TFLOP/s", "speed", slice(None), 20e12),
        ("8gb", "memory", slice(None), 8e9),
        ("a/gpu:1 mem 8,5 GB", "memory", 1, 8.5e9),
    ],
)
def test_values_of_devices(explorer, text, column, where, value):
    names = explorer.state.cluster.names
    text = text.replace("a/gpu:1", names[1])
    before = getattr(explorer.state.cluster, column).copy()
    ask(explorer, text)
    after = getattr(explorer.state.cluster, column)
    before[where] = value
    assert after.tolist() == before.tolist()


def test_lanes_of_the_chart(explorer):
    """Each choice leaves the others."""
    ask(explorer, "hide idle lanes")
    ask(explorer, "busiest")
    ask(explorer, "fold hosts", "fold hosts")
    lanes = explorer.gantt.lanes
    assert lanes == {"hides": True, "order": "busy", "folded": sorted(set(CLUSTER.hosts))}
    ask(explorer, "unfold")
    ask(explorer, "show idle")
    assert (explorer.gantt.lanes["folded"], explorer.gantt.lanes["hides"]) == ([], False)


def test_values_of_links(explorer):
    names = explorer.state.cluster.names
    ask(explorer, "bus 300 GB/s")
    off = ~np.eye(4, dtype=bool)
    assert (explorer.state.cluster.bandwidth[off] == 300e9).all()
    ask(explorer, f"{names[0]} latency 7 µs")
    latency = explorer.state.cluster.latency
    assert (latency[0, 1:] == 7e-6).all() and (latency[1:, 0] == 7e-6).all() and latency[1, 2] != 7e-6


@pytest.mark.parametrize(
    ("text", "column", "value"),
    [("bus 300", "bandwidth", 300e9), ("memory 8", "memory", 8e9), ("delay 7", "latency", 7e-6)],
)
def test_a_value_without_a_unit_has_the_one_that_is_shown(explorer, text, column, value):
    """As it is written on the pill that it changes."""
    ask(explorer, text)
    after = getattr(explorer.state.cluster, column)
    assert np.unique(after[~np.eye(4, dtype=bool)] if after.ndim == 2 else after) == pytest.approx(value)


@pytest.mark.parametrize("text", ["nothing here 8 GB", "8 parsecs", "8", "gpu", "-3 GB", "why is it"])
def test_what_is_no_value_changes_nothing(explorer, text):
    before = explorer.state
    assert not any(" → " in offer["says"] for offer in explorer.commands.palette.offers if offered(explorer, text))
    assert explorer.state is before


def test_twice_an_unlimited_memory_is_said_to_be_none():
    """Nothing changes, and a message says what to type."""
    explorer = pl.explore(pl.generators.layered(12, seed=1), pl.Cluster.uniform(2))
    assert explorer.settled(60)
    before = explorer.state
    ask(explorer, "more memory", "more memory")
    assert explorer.state == before and "as in “memory 8 GB”" in explorer_hands.message(explorer)
    explorer.close()


def test_why_a_device_was_idle(explorer):
    schedule = explorer.schedule
    gaps = idle_gaps(schedule)
    row = int(np.argmax(gaps["finish"] - gaps["start"]))
    name = schedule.problem.cluster.names[gaps["device"][row]]
    middle = 1e6 * float(gaps["start"][row] + gaps["finish"][row]) / 2
    ask(explorer, f"why is {name} idle at {middle:.3f} us?")
    assert (explorer.gantt.gap, explorer.gantt.selection) == (row, int(gaps["op"][row])) and explorer.gantt.drawer
    wait_for(lambda: explorer.gantt.details.get("title") == f"{name} idle")
    ask(explorer, f"why is {name} idle")
    assert explorer.gantt.lane == int(gaps["device"][row])
    wait_for(lambda: explorer.gantt.details.get("title") == name)


@pytest.mark.parametrize("text", ["why is P1 idle at 40", "Why is P1 idle at 40?", "why is p1 idle at 40 ms"])
def test_an_instant_of_a_problem_without_units_is_a_number(text):
    """As its makespan is; where a problem has units, a number has that of the makespan."""
    explorer = pl.explore("topcuoglu")
    assert explorer.settled(120)
    assert offered(explorer, text)[0] == "why is P1 idle at 40"
    ask(explorer, text)
    gap = idle_gaps(explorer.schedule)[explorer.gantt.gap]
    assert gap["device"] == 0 and gap["start"] <= 40 < gap["finish"]
    explorer.close()


def test_an_instant_without_a_unit_has_that_of_the_makespan(unchanged):
    number, unit = unchanged.problem.cluster.units.time(unchanged.schedule.makespan / 2).split()
    phrase = offered(unchanged, f"why is b/gpu:1 idle at {number}")[0]
    assert phrase == f"why is b/gpu:1 idle at {number} {unit}"


def test_stale_and_hostile_messages_do_nothing(explorer):
    before = explorer.state
    offered(explorer, "etf")
    palette = explorer.commands.palette
    for message in (
        {"kind": "choose", "typed": "other", "offer": 0},
        {"kind": "choose", "typed": "etf", "offer": 99},
        {"kind": "choose", "typed": "etf", "offer": -1},
        {},
        7,
    ):
        palette.obey(message)
    assert explorer.state is before
