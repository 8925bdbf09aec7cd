"""The explorer and slow strategies: progress, cancelling, outdated searches, previews during a drag, notes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from explorer_hands import CLUSTER, drag, look, pick, press, release, shown, wait_for

import placelab as pl
from placelab.app.explorer import Explorer
from placelab.app.explorer.computation import Computation
from placelab.app.explorer.engine.curve import Curve
from placelab.app.explorer.engine.solving import FULL, LIVE, ON_RELEASE, PREVIEW, Pace, RunningCall
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.panels.panel import Message, SearchLine, described
from placelab.app.explorer.state import initial_state
from placelab.base import leaving, units
from placelab.base.errors import PlacelabError
from placelab.base.progress import COMPILING, THREAD, Progress, never, silent
from placelab.schedule import catalogue as strategies

LONGEST = 30.0  # seconds of a search that nobody ends


@pytest.fixture(autouse=True)
def _catalogues_stay_as_they_were(monkeypatch):
    """Remove strategies that a test has defined, and leave out those that search."""
    kept = {name: f for name, f in strategies._partitioners.items() if not f.slow}
    monkeypatch.setattr(strategies, "_partitioners", kept)


@pytest.fixture
def explorer(monkeypatch) -> Iterator[Explorer]:
    """A small graph on two hosts, without the curve of a drag and the comparison, which call strategies, too."""
    monkeypatch.setattr(Curve, "follow", lambda *args: None)
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    opened = pl.explore(pl.generators.layered(60, seed=3), CLUSTER)
    assert opened.schedule  # as a hand first sees it
    yield opened
    opened.close()


@pytest.fixture
def left_soon(monkeypatch) -> None:
    """A call that does not answer is left after a fraction of the usual time."""
    monkeypatch.setattr(leaving, "GRACE", leaving.GRACE / 4)


class Oracle:
    """A partitioner that searches until it is cancelled or allowed to finish, and records its calls."""

    def __init__(self, **facts: Any) -> None:
        self.begun: list[pl.Problem] = []
        self.stopped = 0
        self.may_finish = threading.Event()

        @pl.partitioner(name="oracle", slow=True, **facts)
        def oracle(problem: pl.Problem, *, trace=False, progress=silent, cancel=never) -> pl.Placement:
            """Return HEFT's placement, after a while."""
            self.begun.append(problem)
            best = pl.place(problem, "heft", trace=trace)
            length = pl.simulate(problem, best, "planned").makespan
            until = time.monotonic() + LONGEST
            while not self.may_finish.is_set() and time.monotonic() < until:
                progress(Progress("improving", 0.25, length, length / 1.02))
                if cancel():
                    self.stopped += 1
                    return best
                time.sleep(0.002)
            proven = length if self.may_finish.is_set() else None
            return pl.Placement(
                problem, best.device, best.planned, trace=best.trace, bound=proven, notes=("Searched.",)
            )


def line(explorer: Explorer) -> str:
    """Text of the message of what runs, or of the line above the chart."""
    running = explorer.line.running
    said = re.sub(' title="[^"]*"', "", explorer.line.text.value)  # the same once more, under the pointer
    return f"{running.title} is running · {running.said}" if shown(running) else said


def stop(explorer: Explorer) -> None:
    """Press the button that ends what runs."""
    explorer.line.running.obey({"kind": "stop"})


# ---------------------------------------------------------------- searching


def test_a_search_says_how_far_it_is_and_can_be_cancelled(explorer):
    """The line shows progress, best makespan, bound and gap; buttons stop the search with its best, and start it again."""
    oracle = Oracle()
    pick(explorer, "Partitioner", "oracle")
    wait_for(lambda: "≤ 2.0 % above optimum" in line(explorer))
    length = explorer.result.schedule.makespan  # still HEFT's, with which the oracle begins
    for words in (
        "oracle is running · ",
        "improving",
        f"best {units.seconds(length)}",
        "60 ops on 4 devices",
    ):
        assert words in line(explorer)
    assert shown(explorer.line.running) and explorer.line.running.share == 0.25 and explorer.gantt.stale
    stop(explorer)
    assert explorer.schedule.makespan == length and explorer.schedule.placement.partitioner == "oracle"
    assert "Stopped by hand" in line(explorer) and not shown(explorer.line.running) and not explorer.gantt.stale
    oracle.may_finish.set()
    press(explorer.line.box, "Search again")
    wait_for(lambda: "Stopped" not in line(explorer) and "Searched." in line(explorer))
    wait_for(lambda: not shown(explorer.line.again))
    assert len(oracle.begun) == 2
    gap = next(item for item in explorer.gantt.numbers if item["key"] == "gap")
    assert (gap["value"], gap["tone"]) == ("proven optimal", "good")


def test_the_newest_state_stops_a_search(explorer):
    """Another pick does not wait for the search, whose result is discarded."""
    oracle = Oracle()
    pick(explorer, "Partitioner", "oracle")
    wait_for(lambda: oracle.begun)
    pick(explorer, "Partitioner", "single")
    assert explorer.schedule.placement.partitioner == "single"
    assert oracle.stopped == 1 and "oracle" not in line(explorer)
    wait_for(lambda: not shown(explorer.line.running))
    assert not shown(explorer.line.running)


def test_a_dragging_hand_does_not_wait_for_a_search(explorer):
    """A drag stops the search, none begins during it, and one runs on release."""
    oracle = Oracle()
    pick(explorer, "Partitioner", "oracle")
    wait_for(lambda: oracle.begun)
    begun = time.monotonic()
    drag(explorer, *(1e9 + i for i in range(20)), release=False)
    assert time.monotonic() - begun < LONGEST / 3 and explorer.gantt.stale
    wait_for(lambda: oracle.stopped == 1)
    assert explorer.settled(30)
    assert len(oracle.begun) == 1
    oracle.may_finish.set()
    release(explorer)
    assert explorer.schedule.problem is explorer.problem is oracle.begun[-1] and len(oracle.begun) == 2
    wait_for(lambda: not explorer.gantt.stale)


def test_a_strategy_that_is_replaced_stops_its_search(explorer):
    """When a cell defines the strategy again during a search, the new version is used."""
    old = Oracle()
    pick(explorer, "Partitioner", "oracle")
    wait_for(lambda: old.begun)
    look(explorer)
    new = Oracle()
    new.may_finish.set()
    assert "Searched." in explorer.schedule.placement.notes and old.stopped == 1 and new.begun


def test_a_search_is_not_repeated_for_its_trace(explorer):
    """The search records its decisions, so that explaining an op does not repeat it."""
    oracle = Oracle()
    oracle.may_finish.set()
    pick(explorer, "Partitioner", "oracle")
    assert explorer.schedule
    explorer.gantt.selection = 5
    wait_for(lambda: " on " in explorer.gantt.detail)
    assert explorer.gantt.detail.startswith(explorer.placement.trace.line(explorer.problem, 5))
    assert explorer.settled(120) and len(oracle.begun) == 1


def test_words_come_at_most_ten_times_a_second():
    """However often a search is shown, and whatever it reports."""
    line = SearchLine(lambda: None)
    heard = []
    line.running.observe(lambda change: heard.append(change["new"]), "said")
    search = RunningCall("quick", lambda elapsed: False)
    until = time.monotonic() + 0.6
    while time.monotonic() < until:
        search.report(Progress(f"step {time.monotonic()}"))
        line.show(search)
    assert 1 <= len(heard) <= 6
    line.rest(["Done."])
    assert "Done." in line.text.value and not shown(line.running)


@pytest.fixture
def compiler():
    """An event that ends a thread that is known as one in which kernels are compiled."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name=f"{THREAD}nothing", daemon=True)
    thread.start()
    yield lambda: (done.set(), thread.join())
    done.set()


def test_a_search_says_that_it_is_slow_because_kernels_are_compiled(compiler):
    """In place of what it does by itself, while they are; once, where that is all there is to say."""
    search = RunningCall("quick", lambda elapsed: False, why="searches placements of 10 ops")
    assert described(search).endswith("slow because of compiling kernels, once for this machine")
    search.report(Progress(COMPILING))
    assert described(search).count(COMPILING) == 1
    compiler()
    search.report(Progress("step 3"))
    assert described(search) == "step 3 · searches placements of 10 ops"


def test_a_note_says_that_kernels_are_compiled_and_goes(compiler):
    """A result that is there already may have taken longer for it, and so may the next."""
    opened = pl.explore("topcuoglu")
    wait_for(lambda: "Kernels are being compiled, once for this machine" in opened.message.text.value)
    wait_for(lambda: shown(opened.message))
    compiler()
    wait_for(lambda: not shown(opened.message) and not opened.message.text.value)
    opened.close()


def test_a_schedule_is_there_before_all_kernels_are(compiler):
    """Settled is what is computed and shown; the note comes with each result, goes with the compiler, or the explorer ends it."""
    with closing(pl.explore("topcuoglu")) as opened:
        assert opened.settled(20)
        wait_for(lambda: "being compiled" in opened.message.text.value)
        pick(opened, "Partitioner", "peft")
        assert opened.settled(20)
        wait_for(lambda: "being compiled" in opened.message.text.value)
        opened.message.say("Something else.", "note")
        with closing(pl.explore("topcuoglu")) as other:
            wait_for(lambda: "being compiled" in other.message.text.value)
            watching = other._computation._compiler
        watching.join(10)
        assert not watching._thread.is_alive()
        compiler()
        opened._computation._compiler.settled(20)
        assert "Something else." in opened.message.text.value


def test_what_two_threads_say_at_once_is_not_mixed():
    """The last one's sentence stays when the other one's is taken back, which came first."""
    message = Message()
    begun, may = threading.Event(), threading.Event()
    message.text.observe(lambda change: "note" in change["new"] and (begun.set(), may.wait(10)), "value")
    first = threading.Thread(target=message.say, args=("A note.", "note"))
    first.start()
    assert begun.wait(10)
    second = threading.Thread(target=message.say, args=("An error.", "bad"))
    second.start()
    second.join(0.2)  # as far as it comes
    may.set()
    first.join(10), second.join(10)
    message.unsay("A note.")
    assert "An error." in message.text.value and shown(message) and "pl-said-bad" in message.classes
    message.unsay("An error.")
    assert message.text.value == "" and not shown(message)


def test_a_search_that_is_slow_to_end_is_waited_for(explorer, left_soon):
    """Stop shows its best placement, though it takes longer to return than a strategy that does not answer is given."""
    begun = threading.Event()

    @pl.partitioner(name="tidy", slow=True)
    def tidy(problem: pl.Problem, *, progress=silent, cancel=never) -> pl.Placement:
        begun.set()
        while not cancel():
            time.sleep(0.01)
        time.sleep(3 * leaving.GRACE)
        return pl.Placement(problem, np.full(problem.graph.n_ops, 1))

    pick(explorer, "Partitioner", "tidy")
    assert begun.wait(30)
    wait_for(lambda: shown(explorer.line.running))
    stop(explorer)
    assert (explorer.schedule.placement.device == 1).all()
    assert "Stopped by hand: this is the best so far." in explorer.line.text.value


def test_a_plan_that_was_reported_is_not_lost(explorer, left_soon):
    """Stop waits for a search that has reported a plan, though it has not yet asked whether to stop."""
    begun = threading.Event()

    @pl.partitioner(name="absorbed", slow=True)
    def absorbed(problem: pl.Problem, *, progress=silent, cancel=never) -> pl.Placement:
        progress(Progress("improving", None, 1.0))
        begun.set()
        while not explorer.line.running.stopping:
            time.sleep(0.01)
        time.sleep(3 * leaving.GRACE)
        assert cancel()
        return pl.Placement(problem, np.full(problem.graph.n_ops, 1))

    pick(explorer, "Partitioner", "absorbed")
    assert begun.wait(30)
    wait_for(lambda: shown(explorer.line.running))
    stop(explorer)
    assert (explorer.schedule.placement.device == 1).all()
    assert "Stopped by hand: this is the best so far." in explorer.line.text.value


class Deaf:
    """A partitioner that calls `cancel` only at its end; its preview puts everything on device 1."""

    def __init__(self) -> None:
        self.begun: list[pl.Problem] = []
        self.may_finish = threading.Event()

        @pl.partitioner(name="deaf", slow=True)
        def deaf(problem: pl.Problem, *, preview=False, progress=silent, cancel=never) -> pl.Placement:
            if not preview:
                self.begun.append(problem)
                self.may_finish.wait(30)
                cancel()
            return pl.Placement(problem, np.full(problem.graph.n_ops, int(preview)))


def test_a_search_that_ignores_stop_is_abandoned(explorer, left_soon):
    """A newer state does not wait for it; Stop shows its preview instead; its result is discarded."""
    deaf = Deaf()
    pick(explorer, "Partitioner", "deaf")
    wait_for(lambda: deaf.begun)
    pick(explorer, "Seed", 1)
    wait_for(lambda: len(deaf.begun) >= 2)  # the first goes on
    wait_for(lambda: shown(explorer.line.running))
    stop(explorer)
    assert (explorer.placement.device == 1).all() and explorer.schedule.seed == 1
    assert "Stopped by hand before deaf had anything" in line(explorer) and not explorer.gantt.stale
    deaf.may_finish.set()
    time.sleep(0.1)
    assert (explorer.placement.device == 1).all()
    press(explorer.line.box, "Search again")
    wait_for(lambda: line(explorer) == "")
    assert (explorer.placement.device == 0).all()


def test_few_calls_of_one_key_are_abandoned_at_once(left_soon):
    """With so many, the next one waits, and can be left; those of another key do not wait. Exceptions are raised."""
    end = threading.Event()
    caller = leaving.Caller()
    for _ in range(leaving.MAX_ABANDONED):
        with pytest.raises(leaving.Abandoned):
            caller.run(lambda: end.wait(60), lambda: True, "one")
    begun = []
    with pytest.raises(leaving.Abandoned):
        caller.run(lambda: begun.append(1), lambda: True, "one")
    assert caller.run(lambda: "came", never, "another") == caller.run(lambda: "came", never) == "came"
    threading.Timer(0.3, end.set).start()
    assert caller.run(lambda: "waited", never, "one") == "waited" and end.is_set() and not begun
    with pytest.raises(ZeroDivisionError):
        caller.run(lambda: 1 / 0, never)
    caller.close()


def test_closing_before_the_first_result_has_its_own_sentence():
    """A cell that asks a closed explorer for a schedule it never had gets one sentence, not an error about None."""
    state = initial_state(pl.generators.fork_join(3), CLUSTER)
    never_asked: Any = None
    computation = Computation(lambda: (state, state.problem()), never, never_asked, never_asked, never_asked)
    computation.close()
    with pytest.raises(PlacelabError, match="closed before its first schedule"):
        _ = computation.newest


# ---------------------------------------------------------------- previews


class Draft:
    """A partitioner with a preview: everything on device 1 during a drag, else on device 2."""

    def __init__(self, seconds: float, preview_seconds: float = 0.0, note: tuple[str, ...] = ()) -> None:
        self.calls: list[bool] = []

        @pl.partitioner(name="draft")
        def draft(problem: pl.Problem, *, preview: bool = False) -> pl.Placement:
            self.calls.append(preview)
            time.sleep(preview_seconds if preview else seconds)
            device = np.full(problem.graph.n_ops, 1 if preview else 2)
            return pl.Placement(problem, device, notes=note if preview else ())


@pytest.mark.parametrize("note", [(), ("preview: by matching",)], ids=["its own words", "the explorer's words"])
def test_a_preview_under_the_hand_and_the_result_on_release(explorer, patient, note):
    """Each message of a drag shows a preview, labelled; the release shows the full result, even of the same state."""
    draft = Draft(seconds=0.3, note=note)
    pick(explorer, "Partitioner", "draft")
    assert explorer.settled(120)
    draft.calls.clear()
    drag(explorer, 1e9, 2e9, 3e9, release=False)
    assert draft.calls == [True] * 3 and not explorer.gantt.stale
    assert (explorer.placement.device == 1).all() and "preview" in line(explorer).lower()
    assert line(explorer).lower().count("preview:") == 1
    release(explorer)
    assert (explorer.placement.device == 2).all() and "preview" not in line(explorer).lower()
    assert draft.calls[3:] == [False] and explorer.schedule.problem.cluster.bandwidth[0, 1] == 3e9
    wait_for(lambda: not explorer.gantt.stale)


def test_no_preview_where_the_whole_result_is_quick(explorer, patient):
    """A strategy whose full result is fast enough for a drag uses no preview."""
    draft = Draft(seconds=0.0)
    pick(explorer, "Partitioner", "draft")
    assert explorer.settled(120)
    draft.calls.clear()
    drag(explorer, 1e9, 2e9, release=False)
    assert draft.calls == [False, False] and (explorer.placement.device == 2).all()
    release(explorer)
    assert explorer.settled(120) and draft.calls == [False, False]


def test_what_is_computed_during_a_drag():
    """Whatever takes up to two seconds or is not known to take longer; previews of what is not smooth without."""
    plain, search, drafts = (type("f", (), dict(reserved=r, slow=s)) for r, s in (((), 0), ((), 1), (("preview",), 0)))
    pace = Pace()
    task = ("task",)
    modes = lambda: [pace.mode(f, task) for f in (plain, search, drafts)]  # noqa: E731
    assert modes() == [FULL, ON_RELEASE, PREVIEW]
    for seconds, expected in ((0.01, FULL), (1.5, PREVIEW), (2.5, PREVIEW)):
        pace.measured(task, seconds, preview=False)
        assert modes() == [FULL if seconds < LIVE else ON_RELEASE] * 2 + [expected]
    pace.measured(task, 2.5, preview=True)
    assert modes() == [ON_RELEASE] * 3
    pace.measured(task, 1.5, preview=False)
    assert modes() == [FULL] * 3
    assert [pace.mode(f, ("another",)) for f in (plain, search, drafts)] == [FULL, ON_RELEASE, PREVIEW]


# ---------------------------------------------------------------- notes


def test_notes_stand_above_the_chart_as_text(explorer):
    """Markup in notes is escaped."""

    @pl.partitioner
    def wordy(problem: pl.Problem) -> pl.Placement:
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int), notes=("Means of speeds < 1.", "And more."))

    pick(explorer, "Partitioner", "wordy")
    assert explorer.schedule
    wait_for(lambda: "<span>Means of speeds &lt; 1.</span> <span>And more.</span>" in line(explorer))
    pick(explorer, "Partitioner", "single")
    assert explorer.schedule and line(explorer) == ""
