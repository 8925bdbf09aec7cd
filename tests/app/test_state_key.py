"""Every result carries the key of its state, and the page learns of a new state before its result."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explorer_hands import figures

import placelab as pl
from placelab.app.explorer.state import initial_state, key_of, key_of_problem


def keyed(state) -> str:
    return key_of(state, state.problem())


def test_equal_states_have_equal_keys():
    """Whatever objects they are made of."""
    state = initial_state("topcuoglu")
    assert keyed(state) == keyed(replace(state))
    assert keyed(state).startswith(key_of_problem(state, state.problem()) + ":")


@pytest.mark.parametrize(
    ("change", "same_problem"),
    [
        (lambda s: s.with_cluster(s.cluster.replace(latency=1.0), s.layout), False),
        (lambda s: replace(s, compute=2.0), False),
        (lambda s: replace(s, transfers="channel"), False),
        (lambda s: s.with_pin(["T1"], "P2"), False),
        (lambda s: replace(s, seed=1), False),
        (lambda s: replace(s, prepare=("fuse",)), False),
        (lambda s: s.with_strategy("partitioner", "cpop"), True),
        (lambda s: s.with_options("partitioner", {"insertion": False}), True),
        (lambda s: s.with_hand(pl.place(s.problem(), "cpop")), True),
    ],
    ids=["cluster", "costs", "transfers", "pin", "seed", "prepare", "partitioner", "option", "plan"],
)
def test_what_changes_the_result_changes_the_key(change, same_problem):
    """Of the problem, or of the pair alone."""
    state = initial_state("topcuoglu")
    changed = change(state)
    assert keyed(changed) != keyed(state)
    assert (keyed(changed).partition(":")[0] == keyed(state).partition(":")[0]) == same_problem


def test_a_strategy_that_is_defined_anew_has_another_key():
    """Results of the one before belong to no state any more."""

    def define() -> None:
        @pl.partitioner
        def of_a_test(problem):
            """All on the first device."""
            return pl.Placement(problem, [0] * problem.graph.n_ops)

    define()
    state = replace(initial_state("topcuoglu"), partitioner="of-a-test", scheduler="fifo")
    before = keyed(state)
    assert before == keyed(state)
    define()
    assert keyed(state) != before


def test_every_result_carries_the_key_of_its_state(explorer, monkeypatch):
    """What is sent after a change: first the new key, then chart, numbers, comparison with theirs."""
    assert explorer.settled(60)
    sent = []
    monkeypatch.setattr(explorer, "_send", lambda message, buffers=None: sent.append(message))
    send_state = explorer.send_state
    monkeypatch.setattr(explorer, "send_state", lambda key=None: (sent.append({"own": key}), send_state(key)))
    explorer.change(lambda state: replace(state, transfers="channel"))
    assert explorer.settled(60)
    now = keyed(explorer.state)
    assert explorer.now == now
    chart = explorer.gantt.model_id
    figures = explorer.numbers.figures.model_id
    states = [message.get("state", {}) for message in sent]
    announced = next(i for i, message in enumerate(sent) if message.get("own") == "now")
    drawn = next(i for i, message in enumerate(sent) if [f"{chart}.schedule"] in message.get("buffer_paths", ()))
    assert announced < drawn and states[drawn][f"{chart}.result_of"] == now
    written = next(state for state in states[drawn:] if f"{figures}.items" in state)
    assert written[f"{figures}.result_of"] == now
    assert explorer.comparison.table.result_of == now.partition(":")[0]


def test_a_pair_without_a_result_leaves_the_keys_of_before(explorer):
    """The chart stays, and is known to be of another state; the numbers say that there is none."""
    assert explorer.settled(60)
    before = explorer.gantt.result_of
    explorer.change(lambda state: replace(state, partitioner="round-robin", scheduler="planned"))
    explorer.settled(60)
    assert explorer.gantt.result_of == explorer.now != before  # the scheduler was replaced, and the key with it

    @pl.partitioner
    def failing_here(problem):
        """Fails."""
        raise KeyError("x")

    shown = explorer.gantt.result_of
    explorer.change(lambda state: replace(state, partitioner="failing-here", scheduler="fifo"))
    explorer.settled(60)
    assert explorer.gantt.result_of == shown != explorer.now
    assert explorer.numbers.figures.result_of == explorer.now and "no schedule" in figures(explorer)
