"""Commands in words: what is offered for a text, and what each does to the explorer."""

from __future__ import annotations

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
    palette._hear(None, {"typed": palette.answers, "chosen": chosen}, None)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("etf", "place with etf"),
        ("m-etf", "place with m-etf"),
        ("sched fifo", "schedule with fifo"),
        ("inception", "load inception_v3"),
        ("dgx", None),
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
    assert (first in phrases) if first else not any("dgx" in phrase for phrase in phrases)
    assert len(phrases) <= 8
    assert all(set(offer) == {"phrase", "says", "kind", "press"} for offer in unchanged.commands.palette.offers)


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
    explorer.commands.palette._hear(None, "undo", None)
    assert explorer.state.partitioner == "heft"
    explorer.commands.palette._hear(None, "redo", None)
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


def test_stale_and_hostile_messages_do_nothing(explorer):
    before = explorer.state
    offered(explorer, "etf")
    palette = explorer.commands.palette
    for message in (
        {"typed": "other", "chosen": 0},
        {"typed": "etf", "chosen": 99},
        {"typed": "etf", "chosen": -1},
        {},
        7,
    ):
        palette._hear(None, message, None)
    assert explorer.state is before
