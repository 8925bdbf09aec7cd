"""Each check passes a right answer, also one found in another way, and says in a sentence why it does not pass another one."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from unittest.mock import ANY

import numpy as np
import pandas as pd
import pytest

import placelab as pl
from placelab import testing
from placelab.testing import answers

TWO = pl.Cluster([1.0, 1.0], bandwidth=1.0)
DIAMOND = pl.OpGraph.from_arrays(list("abcd"), [1.0, 3.0, 3.0, 1.0], [(0, 1), (0, 2), (1, 3), (2, 3)], edge_bytes=1.0)
PROBLEM = pl.Problem(DIAMOND, TWO)
SCHEDULE = pl.solve(PROBLEM, "heft")
OVERLAPPING = replace(SCHEDULE, start=SCHEDULE.start * 0, finish=SCHEDULE.finish - SCHEDULE.start)
WIDE = pl.generators.independent(6, seed=1)
SECONDS = 0.2


class Pair(NamedTuple):
    """A class of an answer's own."""

    a: int
    b: int


def empty(*arguments):
    """Not written yet."""


def slow(*arguments):
    """Never ends."""
    while True:
        pass


def heft_by_hand(problem):
    """HEFT written with the list scheduler."""
    s = pl.ListScheduler(problem, insertion=True)
    for op in np.argsort(-pl.upward_rank(problem), kind="stable"):
        s.place(op, min(s.feasible(op), key=lambda d: s.eft(op, d)))
    return s.placement()


def first_device(problem):
    """All ops on device 0."""
    return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))


def tireless(state, device, ready):
    """The longest op first."""
    return max(ready, key=state.exec_time)


def forgetful(problem):
    """The way back leaves groups apart."""
    return problem, lambda placed: pl.Placement(problem, np.arange(problem.graph.n_ops) % problem.cluster.n_devices)


def unit_tasks(n):
    """`n` tasks of one second on two machines."""
    return pl.Problem(pl.OpGraph.from_arrays([f"t{i}" for i in range(n)], [1.0] * n, []), TWO)


def nowhere(n):
    """A task that needs more memory than there is."""
    graph = pl.OpGraph.from_arrays(["t"], [1.0], [], persistent=[2.0])
    return pl.Problem(graph, pl.Cluster([1.0], memory=[1.0]), memory="reserved")


RUN = dict(useful=100, saving=6, lost=15, detecting=1, restoring=5)
CHECKS = {
    "value": (
        lambda found: testing.check_value(found, 80, hint="add the transfers", seconds=SECONDS),
        [80, 80.0, lambda: 80, np.float64(80.0)],
        [(81, "81, which is not right: add the transfers"), ("80", "a str; an int is expected")],
    ),
    "placement": (
        lambda found: testing.check_placement(PROBLEM, found, at_most=7, seconds=SECONDS),
        [
            SCHEDULE.placement,
            dict(a="dev0", b="dev1", c="dev0", d="dev0"),
            heft_by_hand,
            lambda: dict(a=0, b=1, c=0, d=0),
        ],
        [
            (first_device, "first_device takes 8 s; at most 7 s are allowed"),
            ({"a": "dev0"}, "op 'b' has no device"),
            ({"a": "gpu"}, "gpu"),
            (7, "an int; a Placement or a mapping"),
        ],
    ),
    "schedule": (
        lambda found: testing.check_schedule(found, SCHEDULE, seconds=SECONDS),
        [
            SCHEDULE,
            SCHEDULE.start,
            dict(zip(DIAMOND.names, SCHEDULE.start, strict=True)),
            lambda placement: pl.simulate(placement.problem, placement),
        ],
        [
            (SCHEDULE.start + [0, 0, 0, 1], "starts op 'd' at 6 s, which is too late"),
            ({"a": 0.0}, "gives op 'b' no start"),
            ([1.0], "4 starts are expected"),
            ("a", "a str; a Schedule or the start of each op is expected"),
        ],
    ),
    "violation": (
        lambda found: testing.check_violation(found, OVERLAPPING, seconds=SECONDS),
        ["overlap", "precedence", pl.validate(OVERLAPPING)[0], lambda schedule: ("precedence", "d")],
        [
            ("memory", "the schedule does not break that rule\n\nstart = {'a': 0.0"),
            ("speed", "the rules are called"),
            (("precedence", "a"), "another op breaks the rule"),
        ],
    ),
    "beats": (
        lambda found: testing.check_beats(
            lambda p: pl.solve(p, "heft"), lambda p: pl.solve(p, "single"), 0.1, on=found, seconds=SECONDS
        ),
        [PROBLEM, lambda: PROBLEM],
        [(unit_tasks(1), "must take at least 10% less"), (3, "a Problem or a graph is expected")],
    ),
    "frame": (
        lambda found: testing.check_frame(
            found, ["name", "makespan"], {"makespans are positive": lambda rows: rows.makespan > 0}, seconds=SECONDS
        ),
        [
            pd.DataFrame(dict(makespan=[1.0], name=["a"], more=[0])),
            lambda: pd.DataFrame(dict(name=["a"], makespan=[2])),
            pd.DataFrame(dict(name=["a"], makespan=[2])).set_index("name"),
        ],
        [
            (pd.DataFrame(dict(name=["a"])), "no column 'makespan'"),
            (pd.DataFrame(dict(name=["a", "b"], makespan=[1, 0])), "breaks a claim: makespans are positive(.|\n)*'b'"),
            (pd.DataFrame(dict(name=["a", "b"], makespan=["x", "y"])), "is not of the form"),
            (pd.DataFrame(dict(name=[], makespan=[])), "has no rows"),
            ([1], "a list; a DataFrame is expected"),
        ],
    ),
    "error": (
        lambda found: testing.check_error(found, pl.CycleError, "has a cycle", seconds=SECONDS),
        [lambda: pl.OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 1), (1, 0)])],
        [
            (lambda: DIAMOND, "raises no error but gives OpGraph"),
            (lambda: [][1], "fails with IndexError"),
            (lambda: pl.OpGraph.from_arrays(["a"], [1], [(0, 0)]), "CycleError for another reason: op 'a' consumes"),
        ],
    ),
    "property": (
        lambda found: testing.check_property(
            found, [1, 4, 9], lambda n, root: root**2 == n, "its square is the number", seconds=SECONDS
        ),
        [lambda n: n**0.5, lambda n: -(n**0.5)],
        [
            (lambda n: 1, "gives 1, but its square is the number\n\ncase = 4"),
            (lambda n: (1, 2), r"gives \(1, 2\), which is not of the form that the exercise asks for \(TypeError: "),
        ],
    ),
    "run": (
        lambda found: testing.check_run(found, RUN, seconds=SECONDS),
        [RUN, RUN | {"total": 127}, lambda: RUN],
        [
            (RUN | {"lost": 14}, "counts 14 s as lost, which is not right"),
            (RUN | {"total": 126}, "not the sum of its parts"),
            ({"waste": 1}, "has a part 'waste'"),
            (3, "are expected"),
        ],
    ),
    "problem": (
        lambda found: testing.check_problem(found, [((1,), 1.0), ((3,), 2.0)], seconds=SECONDS),
        [unit_tasks, lambda n: unit_tasks(n + n % 2)],
        [
            (lambda n: unit_tasks(1), r"the answer\(3\) gives a problem whose least makespan is 1 s"),
            (lambda n: n, "a Problem is expected"),
            (nowhere, "has no placement: "),
        ],
    ),
    "transform": (
        lambda found: testing.check_transform(found, seconds=SECONDS * 10),
        [pl.transforms.colocate, lambda problem: (problem, lambda placed: placed)],
        [
            (forgetful, "in colocation group"),
            (lambda problem: problem, "a pair"),
            (lambda problem: (problem, lambda placed: 3), "gives no placement"),
        ],
    ),
    "strategy": (
        lambda found: testing.check_strategy(
            found, [pl.Problem(WIDE, pl.Cluster.uniform(2))], "single", beside=(), seconds=SECONDS
        ),
        [heft_by_hand, "etf"],
        [
            (first_device, "1.000 times as long as single(.|\n)*from_arrays"),
            (lambda problem: 3, "gives no placement"),
        ],
    ),
    "partitioner": (
        lambda found: testing.check_partitioner(found, [PROBLEM], seconds=SECONDS),
        [heft_by_hand, "etf"],
        [(lambda problem: 3, "fails with")],
    ),
    "scheduler": (
        lambda found: testing.check_scheduler(found, [PROBLEM], seconds=SECONDS * 10),
        [tireless, "pct"],
        [(lambda state, device, ready: -1, "chose -1")],
    ),
}
FUNCTIONS = {  # of the parameters that strategies have
    "partitioner": lambda f: lambda problem: f(),
    "scheduler": lambda f: lambda state, device, ready: f(),
    "strategy": lambda f: lambda problem: f(),
}


def cases(part):
    """Check, answer and, for a wrong one, words; each with a name."""
    for name, (check, right, wrong) in CHECKS.items():
        for i, case in enumerate(right if part == "right" else wrong):
            yield pytest.param(check, *(case if part == "wrong" else (case,)), id=f"{name}-{i}")


@pytest.mark.parametrize(("check", "found"), list(cases("right")))
def test_a_right_answer_passes(check, found):
    """So does one in another form, or one that was found in another way."""
    check(found)


@pytest.mark.parametrize(("check", "found", "words"), list(cases("wrong")))
def test_a_wrong_answer_is_one_sentence(check, found, words):
    """The first line is one sentence; what follows it is code."""
    with pytest.raises(AssertionError, match=words) as error:
        check(found)
    first, _, code = str(error.value).partition("\n\n")
    assert "\n" not in first
    if code:
        compile(code, "counter-example", "exec")


@pytest.mark.parametrize("name", CHECKS)
def test_an_empty_answer_is_one_sentence(name):
    """A body of three dots, one that raises NotImplementedError, and, where an answer is a value, None and ``...``."""

    def not_yet(*arguments):
        raise NotImplementedError

    wrapped = FUNCTIONS.get(name, lambda f: f)
    stubs = [wrapped(not_yet)]
    stubs += [{"partitioner": lambda problem: ..., "scheduler": lambda state, device, ready: None}.get(name, empty)]
    stubs += [] if name in FUNCTIONS else [None, ...]
    for stub in stubs:
        with pytest.raises(AssertionError, match=r"is still empty|is not filled in yet") as error:
            CHECKS[name][0](stub)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", CHECKS)
def test_a_slow_answer_is_one_sentence(name, monkeypatch):
    """After its limit the answer is given up; here sooner, as a right one of some exercises needs more than these seconds."""
    limit = answers._Limit
    monkeypatch.setattr(answers, "_Limit", lambda seconds: limit(SECONDS / 4))
    with pytest.raises(AssertionError, match=r"takes longer than .* s: look for a loop") as error:
        CHECKS[name][0](FUNCTIONS.get(name, lambda f: f)(slow))
    assert "\n" not in str(error.value)


def test_an_answer_that_catches_its_end_is_ended_too():
    """A loop that takes an exception for one of its own is ended again, so that it does not slow later cells."""
    ended = threading.Event()

    def stubborn():
        for _ in range(2):
            with suppress(BaseException):
                slow()
        ended.set()

    with pytest.raises(AssertionError, match="takes longer than"):
        testing.check_value(stubborn, 1, seconds=SECONDS)
    assert ended.wait(10)


def test_seconds_without_a_processor_do_not_count():
    """A call that waits, as on a machine that others keep busy, may take some times its limit, and no longer."""
    testing.check_value(lambda: time.sleep(2 * SECONDS) or 1, 1, seconds=SECONDS)
    with pytest.raises(AssertionError, match="takes longer than"):
        testing.check_value(lambda: time.sleep(100 * SECONDS) or 1, 1, seconds=SECONDS)


def test_a_value_can_be_judged_by_a_function():
    """Where several answers are right, or the cell should not show the answer."""
    check = partial(testing.check_value, want=lambda text: text in ("b", "c"), hint="see the chart")
    check("b")
    testing.check_value(pd.Series({"x": 1.5}), {"x": 1.5})
    with pytest.raises(AssertionError, match="'a', which is not right: see the chart"):
        check("a")


@pytest.mark.parametrize(
    "found", [ANY, [1, ANY], (ANY,), {"a": ANY}, {"a": [ANY]}, np.array([ANY, 1], dtype=object)], ids=str
)
def test_what_equals_everything_is_no_answer(found):
    """Nor where it is inside a container; a class of the answer's own may stand there if it compares as its base does."""
    with pytest.raises(AssertionError, match="numbers, texts, containers"):
        testing.check_property(lambda _: found, [1], lambda *_: True, "it must not be asked")
    testing.check_property(lambda _: Pair(1, 2), [1], lambda _, found: found == (1, 2), "it must be the pair")


def test_a_value_is_shown_on_one_line_in_plain_numbers():
    """NumPy's own notation helps nobody."""
    for value in [(np.float64(1.5), np.int64(2)), {"x": np.float64(1.5)}, np.arange(400.0).reshape(-1, 2)]:
        with pytest.raises(AssertionError) as error:
            testing.check_value(value, lambda value: False)
        assert "np." not in str(error.value) and "\n" not in str(error.value)


def test_a_failing_placement_is_shown_as_code():
    """It can be run again."""
    with pytest.raises(AssertionError) as error:
        testing.check_property(lambda placement: 0, [SCHEDULE.placement], lambda placement, found: False, "it is wrong")
    names: dict = {}
    exec(str(error.value).partition("\n\n")[2], {"pl": pl}, names)
    assert names["placement"].device.tolist() == SCHEDULE.placement.device.tolist()


def test_a_notebook_shows_the_sentence_and_the_line_that_failed():
    """IPython asks the error itself; the calls inside placelab help no student."""

    def fails():
        return {}["gpu"]

    with pytest.raises(AssertionError) as error:
        testing.check_value(fails, 80)
    sentence, *lines = error.value._render_traceback_()
    assert sentence == str(error.value) == "fails fails with KeyError: 'gpu'"
    assert len(lines) == 1 and lines[0].startswith("in fails, line ") and lines[0].endswith('return {}["gpu"]')


def test_tolerance_is_a_share_of_the_right_value():
    """1 % of 200 is 2."""
    testing.check_value(202, 200, tol=0.01)
    with pytest.raises(AssertionError):
        testing.check_value(202.1, 200, tol=0.01)


def test_the_leaderboard_is_sorted_and_the_same_for_a_seed():
    """Best first; its problems depend on the seed alone."""
    board, again = (testing.check_strategy("heft", 4, "single", beside=["hash"]) for _ in range(2))
    assert board.equals(again)
    assert board["mean"].is_monotonic_increasing and {"heft", "single", "hash"} == set(board.index)
    assert (board.loc["single"] == 1).all()
    first, other = (testing.contest_problems(seed)[0].graph for seed in (4, 5))
    assert first.n_ops != other.n_ops or (first.compute != other.compute).any()


def test_a_body_with_only_a_docstring_is_empty():
    """A function that returns something is not."""
    assert answers.is_empty(empty) and answers.is_empty(lambda: None) and answers.is_empty(lambda: ...)
    assert not any(map(answers.is_empty, (lambda: 0, slow, len)))
