"""Loops and branches: how often a body runs, and what the metadata say of it."""

from functools import partial

import pytest

import placelab as pl
from placelab.formats.loops import Below, Control, Line, Until, computed, counted, limits, until, value_of


def loop(start, step, kind, limit):
    """Iterations of ``i = start; while i kind limit: i += step``."""
    return limits(
        counted(
            [start].__getitem__,
            lambda j, i: computed("AddV2", [i(0), step]),
            lambda i: computed(kind, [i(0), limit]),
        )
    )


COMPARE = {
    "Less": int.__lt__,
    "LessEqual": int.__le__,
    "Greater": int.__gt__,
    "GreaterEqual": int.__ge__,
    "NotEqual": int.__ne__,
}


@pytest.mark.parametrize("kind", [*COMPARE, "Equal"])
@pytest.mark.parametrize("step", [-3, -2, -1, 0, 1, 2, 3])
def test_counters_are_counted_as_python_counts(kind, step):
    """Every start and limit of a small range; a loop that does not end has no number."""
    holds = COMPARE.get(kind, int.__eq__)
    for start in range(-4, 5):
        for limit in range(-4, 5):
            n = 0
            i = start
            while holds(i, limit) and n < 50:
                n, i = n + 1, i + step
            assert loop(start, step, kind, limit) == ((n if n < 50 else None), None), (start, limit)


def test_both_of_two_conditions_end_a_loop():
    """The earlier one; a condition on data leaves an upper limit; a condition that never holds decides alone."""
    lines = [Line(0, 1), Line(10, -1)]
    ten = Below(-10, 1)
    four = Below(-4, 1)
    assert until(computed("LogicalAnd", [ten, four])) == Until(4)
    assert limits(until(computed("LogicalAnd", [ten, None]))) == (None, 10)
    assert computed("And", [None, False]) is False and computed("And", [None, True]) is None
    assert until(computed("LogicalNot", [computed("GreaterEqual", [lines[0], 7])])) == Until(7)
    assert until(computed("Not", [computed("Equal", [lines[1], 7])])) == Until(3)
    assert computed("Or", [ten, None]) is None and computed("Or", [False, ten]) == Until(10)


def test_variables_that_depend_on_each_other_or_on_data_have_no_number():
    """A swap, a product, an unknown start; a step that is another constant variable is one."""
    less = partial(lambda i: computed("Less", [i(0), 10]))
    assert counted([0, 5].__getitem__, lambda j, i: i(1 - j), less) is None
    assert counted([1].__getitem__, lambda j, i: computed("Mul", [i(0), 2]), less) is None
    assert counted([None].__getitem__, lambda j, i: computed("Add", [i(0), 1]), less) is None
    assert counted([0, 5].__getitem__, lambda j, i: i(1) if j else computed("Add", [i(0), i(1)]), less) == Until(2)


def test_numbers_are_followed_within_limits():
    """A cycle, a long chain and a number that doubles 200 times end without a value."""
    from placelab.formats.loops import Expression

    assert value_of("a", lambda name: Expression("Identity", ("a",))) is None
    assert value_of(10**6, lambda n: Expression("Identity", (n - 1,)) if n else 1) is None
    assert value_of(90, lambda n: Expression("Mul", (n - 1, n - 1)) if n else 2) is None
    assert value_of(5, lambda n: Expression("Mul", (n - 1, n - 1)) if n else 2) == 2**32


@pytest.mark.parametrize("trips", [0, -1, True, 1.5, "3", None, 1 << 31])
def test_trips_is_a_whole_number(trips):
    """Anything else is refused in one sentence."""
    with pytest.raises(pl.UnsupportedError, match=r"trips is .*; expected a whole number of 1 to"):
        Control(trips)


def test_what_is_assumed_is_said():
    """Of a loop of unknown length the option, at most the known limit; of a branch the dearest side, of equals the first."""
    control = Control(20)
    assert [control.loop("a", 3), control.loop("b"), control.loop("c", None, 10), control.loop("d", 0)] == [
        3,
        20,
        10,
        0,
    ]
    assert control.branch("e", [1.0, 5.0, 5.0]) == 1
    assert control.metadata() == {
        "loops": [
            {"op": "a", "trips": 3, "known": True},
            {"op": "b", "trips": 20, "known": False},
            {"op": "c", "trips": 10, "known": False, "most": 10},
            {"op": "d", "trips": 0, "known": True},
        ],
        "branches": [{"op": "e", "branches": 3, "taken": 1}],
    }
    graph = pl.OpGraph.from_arrays(["a"], [1.0], [], metadata=control.metadata())
    said = dict(pl.costs.sources(graph))
    assert said["loops"] == (
        "a × 3, b × 20 (assumed), c × 10 (assumed, at most 10), d × 0; the file does not say how often 2 of 4 run: trips"
    )
    assert said["branches"] == "the side of most operations counts: e: 2 of 3"
    assert said["not counted"] == "memory of the tensors within loops and branches, which are single ops"
    strange = pl.OpGraph.from_arrays(["a"], [1.0], [], metadata={"loops": "one round", "branches": [{"op": 3}, 4]})
    assert not {"loops", "branches", "not counted"} & dict(pl.costs.sources(strange)).keys()


def test_a_format_without_loops_has_no_trips(tmp_path):
    """One sentence names the reader's options."""
    pl.OpGraph.from_arrays(["a", "b"], [1, 2], [(0, 1)], edge_bytes=[1]).save(tmp_path / "g.json")
    with pytest.raises(pl.UnsupportedError, match="no option 'trips'"):
        pl.load(tmp_path / "g.json", trips=3)
