"""The catalogues: entries made from decorated functions, and how strategies are found and called."""

import inspect
import pickle
import re
from typing import Annotated, Literal, get_type_hints

import numpy as np
import pytest

import placelab as pl
from placelab.schedule import catalogue as strategies
from placelab.schedule.catalogue import Limits

PROBLEM = pl.Problem(pl.generators.fork_join(4), pl.Cluster.uniform(2))


def test_a_partitioner_of_one_cell_is_in_the_catalogue_at_once():
    """The entry has the name with dashes, the first docstring line, and options with type and default."""

    @pl.partitioner
    def all_on_one(problem, *, device: int = 1):
        """Everything on one device.

        More about it.
        """
        return pl.Placement(problem, np.full(problem.graph.n_ops, device))

    entry = pl.partitioners()["all-on-one"]
    assert entry.summary == "Everything on one device."
    assert entry.options == {"device": (int, 1)}
    assert pl.place(PROBLEM, "all_on_one", device=0).device.tolist() == [0] * 6
    assert pl.place(PROBLEM, all_on_one).device.tolist() == [1] * 6


def test_a_placement_that_a_partitioner_keeps_stays_as_it_was():
    """`place` adds its data to a copy of the placement."""
    kept = pl.place(PROBLEM, "heft")

    @pl.partitioner
    def stored(problem):
        return kept

    assert pl.place(PROBLEM, "stored").partitioner == "stored"
    assert kept.partitioner == "heft"


def test_running_the_cell_again_replaces_the_entry():
    """The newest definition is used."""
    for device in (0, 1):

        @pl.partitioner
        def mine(problem, *, device=device):
            return pl.Placement(problem, np.full(problem.graph.n_ops, device))

    assert pl.place(PROBLEM, "mine").device.tolist() == [1] * 6


def test_a_strategy_need_not_be_of_a_module():
    """What exec defines among names without a __name__ has none, and is a user's."""
    exec(
        "@pl.partitioner\ndef nowhere(problem):\n    return pl.Placement(problem, [1] * problem.graph.n_ops)",
        {"pl": pl},
    )
    assert pl.partitioners()["nowhere"].__module__ == "__main__"
    assert pl.solve(PROBLEM, "nowhere").device.tolist() == [1] * 6


def test_replacing_one_of_placelabs_own_is_told(recwarn):
    """One warning names both, at the line of the decorator; entering the same name again is silent."""

    def heft(problem):
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    def pct(problem, placement):
        return np.zeros(problem.graph.n_ops)

    with pytest.warns(
        UserWarning, match=r"'heft' is now .*<locals>.heft, .* placelab\.strategies\..*\.heft;"
    ) as caught:
        pl.partitioner(heft)
    assert [warning.filename for warning in of_users(caught)] == [__file__]
    with pytest.warns(UserWarning, match=r"'etf' is now .*heft, ") as caught:
        pl.partitioner(name="etf")(heft)
    assert [warning.filename for warning in of_users(caught)] == [__file__]
    with pytest.warns(UserWarning, match="'pct' is now"):
        pl.scheduler(static=True)(pct)
    for _ in range(2):
        pl.partitioner(heft)
        pl.partitioner(name="mine")(heft)
    assert not of_users(recwarn)


def of_users(warned) -> list:
    """What is said to users: Python may meanwhile warn of a file that an earlier test has left open."""
    return [warning for warning in warned if warning.category is UserWarning]


def test_a_rule_is_asked_with_what_is_executable():
    """A run-time rule receives time, device and executable ops; the op it chooses runs next."""
    asked = []

    @pl.scheduler
    def last_first(state, device, ready):
        asked.append((state.time, device, tuple(ready)))
        assert all(state.missing_inputs(v) == 0 and state.executable_since(v) <= state.time for v in ready)
        assert state.idle(device)
        return max(ready)

    schedule = pl.simulate(PROBLEM, pl.Placement(PROBLEM, [0] * 6), "last-first")
    assert schedule.order(0).tolist() == [0, 4, 3, 2, 1, 5]
    assert asked[0] == (0.0, 0, (0,))
    assert asked[1][1:] == (0, (1, 2, 3, 4))


def test_a_rule_must_choose_what_it_was_given():
    """Any other choice is an error that names the scheduler."""

    @pl.scheduler
    def stubborn(state, device, ready):
        return 99

    with pytest.raises(pl.UnsupportedError, match="'stubborn' chose 99"):
        pl.simulate(PROBLEM, pl.Placement(PROBLEM, [0] * 6), "stubborn")


def test_static_priorities_run_largest_first():
    """An array of priorities, or a pair with transfer priorities."""

    @pl.scheduler(static=True)
    def by_number(problem, placement):
        return np.arange(problem.graph.n_ops)

    @pl.scheduler(static=True)
    def both(problem, placement):
        return -np.arange(problem.graph.n_ops), np.zeros(problem.graph.n_tensors)

    placement = pl.Placement(PROBLEM, [0] * 6)
    assert pl.simulate(PROBLEM, placement, "by-number").order(0).tolist() == [0, 4, 3, 2, 1, 5]
    assert pl.simulate(PROBLEM, placement, "both").order(0).tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pl.place(PROBLEM, "heftt"), "no partitioner is called 'heftt'; did you mean 'heft'"),
        (
            lambda: pl.simulate(PROBLEM, pl.Placement(PROBLEM, [0] * 6), "zzz"),
            "no scheduler is called 'zzz'; there are",
        ),
        (lambda: pl.place(PROBLEM, "heft", speed=3), "'heft' has no option 'speed'"),
        (lambda: pl.place(PROBLEM, print), "is not decorated with @placelab.partitioner"),
        (
            lambda: pl.simulate(PROBLEM, pl.Placement(PROBLEM, [0] * 6), "planned"),
            "needs a partitioner that plans an order",
        ),
    ],
)
def test_what_does_not_fit_is_an_unsupported_error(call, words):
    """The message lists what is available."""
    with pytest.raises(pl.UnsupportedError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda **o: pl.place(PROBLEM, "batch-split", **o), dict(quota="half")),
        (lambda **o: pl.place(PROBLEM, "critical-path", **o), dict(order="any")),
        (lambda **o: pl.place(PROBLEM, "dfs", **o), dict(exec_time=[])),
        (lambda **o: pl.place(PROBLEM, "hash", **o), dict(weight="none")),
        (lambda **o: pl.place(PROBLEM, "layers", **o), dict(depth=-1)),
        (lambda **o: pl.place(PROBLEM, "min-cut", **o), dict(imbalance=1e-6)),
        (lambda **o: pl.place(PROBLEM, "min-cut", **o), dict(imbalance=float("nan"))),
        (lambda **o: pl.place(PROBLEM, "mite", **o), dict(neighbours="all")),
        (lambda **o: pl.place(PROBLEM, "portfolio", **o), dict(moves=-1)),
        (lambda **o: pl.place(PROBLEM, "m-sct", **o), dict(threshold=0)),
        (lambda **o: pl.place(PROBLEM, "m-sct", **o), dict(threshold=1.5)),
        (lambda **o: pl.simulate(PROBLEM, pl.place(PROBLEM), "fifo", **o), dict(ties="none")),
        (lambda **o: pl.partitioners()["dfs"](PROBLEM, **o), dict(exec_time="none")),
        (lambda **o: pl.transforms.fuse(PROBLEM, **o), dict(rule="none")),
        (lambda **o: pl.transforms.coarsen(PROBLEM, **o), dict(rho=-1.0)),
        (lambda **o: pl.transforms.post_adjust(PROBLEM, **o), dict(by="chance")),
        (lambda **o: pl.transforms.perturb(PROBLEM, **o), dict(factor=2)),
    ],
)
def test_a_wrong_option_is_the_same_error_everywhere(call, words):
    """For strategies and transformations, by name or as a function: option, value found, values expected."""
    (name, value), *_ = words.items()
    with pytest.raises(pl.UnsupportedError, match=rf": {name} is .*; expected "):
        call(**words)
    with pytest.raises(pl.UnsupportedError, match="has no option 'speeed'; its options: "):
        call(speeed=value)


@pytest.mark.parametrize(
    ("hint", "good", "bad", "expected"),
    [
        (Annotated[int, Limits(0)], [0, np.int64(5)], [-1, 0.5, "1"], "a whole number, 0 or more"),
        (Annotated[float, Limits(0, 1)], [0, 1.0], [1.01, float("nan")], "a number, 0 to 1"),
        (Annotated[float, Limits(0, above=True)], [1e-9, np.inf], [0, 0.0], "a number, above 0"),
        (Annotated[float, (0.5, 2.0)], [0.5, 2], [0.4, None], "a number, 0.5 to 2.0"),
        (Annotated[float, "seconds"], [1.0], ["x"], "a number"),
        (Annotated[int, Limits(1)] | None, [None, 1], [0, "x"], "a whole number, 1 or more, or None"),
        (Literal["a", 1] | None, ["a", None, 1], ["b", []], "a, 1, or None"),
        (int | str, [1, "x", 2.5], [], ""),
        (list, [1, "x"], [], ""),
    ],
)
def test_options_are_checked_against_their_annotations(hint, good, bad, expected):
    """Types, choices and limits are checked; an option without annotation takes any value."""

    def mine(problem, *, option=None):
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    mine.__annotations__["option"] = hint
    mine = pl.partitioner(mine)
    for value in good:
        pl.place(PROBLEM, "mine", option=value)
        mine(PROBLEM, option=value)
    for value in bad:
        for call in (lambda v: pl.place(PROBLEM, "mine", option=v), lambda v: mine(PROBLEM, option=v)):
            with pytest.raises(pl.UnsupportedError, match=rf"mine: option is .*; expected {re.escape(expected)}$"):
                call(value)


def test_a_decorated_function_is_still_the_function():
    """It keeps signature, documentation and source, and pickle finds it by its name."""
    fuse = pl.transforms.fuse
    assert list(inspect.signature(fuse).parameters) == ["problem", "rule"]
    assert fuse.__doc__.startswith("Merge u → v") and "def fuse(" in inspect.getsource(fuse)
    assert pickle.loads(pickle.dumps(fuse)) is fuse


@pytest.mark.parametrize("name", ["partitioners", "schedulers", "transforms"])
def test_every_entry_of_a_catalogue_has_what_its_protocol_names(name):
    """Each entry has the attributes that pickers and callers read."""
    protocols = dict(partitioners=[strategies.Partitioner], transforms=[strategies.Transform])
    for entry in getattr(strategies, name)().values():
        for protocol in protocols.get(name, [strategies.StaticScheduler, strategies.Rule]):
            assert all(hasattr(entry, attribute) for attribute in get_type_hints(protocol))
        assert hasattr(entry, "slow") == (name == "partitioners") and hasattr(entry, "static") == (name == "schedulers")


def test_the_default_scheduler_follows_the_plan():
    """The default is ``planned`` if there is a plan, else ``pct``, in simulate and solve alike."""
    planned = pl.place(PROBLEM, "heft")
    plain = pl.place(PROBLEM, "single")
    assert [pl.simulate(PROBLEM, placement).scheduler for placement in (planned, plain)] == ["planned", "pct"]
    assert [pl.solve(PROBLEM, name).scheduler for name in ("heft", "single")] == ["planned", "pct"]
    assert pl.simulate(PROBLEM, planned, "fifo").scheduler == "fifo"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pl.place("heft", PROBLEM), "place needs a Problem, found a str"),
        (lambda: pl.place(PROBLEM, None), "expected the name of a partitioner, or a function .*, found None"),
        (lambda: pl.solve(PROBLEM, pl.Placement(PROBLEM, [0] * 6)), "name of a partitioner.*, found a Placement"),
        (
            lambda: pl.simulate(PROBLEM, "pct", pl.Placement(PROBLEM, [0] * 6)),
            "simulate needs a Placement, found a str",
        ),
        (lambda: pl.compare(PROBLEM, 5), "name of a partitioner.*, found an int"),
        (
            lambda: pl.Problem(PROBLEM.cluster, PROBLEM.graph),
            r"Problem\(graph, cluster\) needs an OpGraph, found a Cluster",
        ),
        (lambda: pl.validate(PROBLEM), "validate needs a Schedule, found a Problem"),
        (lambda: pl.bounds(pl.Placement(PROBLEM, [0] * 6), PROBLEM), "bounds needs a Problem, found a Placement"),
        (lambda: pl.metrics(PROBLEM), "metrics needs a Schedule, found a Problem"),
        (lambda: pl.transforms.fuse(PROBLEM.graph), "fuse needs a Problem, found an OpGraph"),
        (lambda: pl.partitioners()["dfs"](PROBLEM.graph), "dfs needs a Problem, found an OpGraph"),
        (lambda: pl.schedulers()["pct"](PROBLEM, [0] * 6), "pct needs a Placement, found a list"),
        (lambda: pl.plots.gantt(PROBLEM), r"plots\.gantt needs a Schedule, found a Problem"),
        (lambda: pl.costs.provenance(PROBLEM), r"costs\.provenance needs an OpGraph, found a Problem"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named(call, words):
    """The error names the function, what it needs and what was found, also for swapped arguments."""
    with pytest.raises(pl.FormatError, match=words):
        call()


def test_a_strategy_of_another_kind_is_named():
    """Partitioner and scheduler are swapped."""
    with pytest.raises(pl.UnsupportedError, match="'pct' is a scheduler; expected a partitioner, of which there are"):
        pl.solve(PROBLEM, "pct", "heft")


def test_a_strategy_of_the_wrong_form_is_refused_when_it_is_defined():
    """If there are too many positional parameters, the message shows the expected form."""
    with pytest.raises(pl.UnsupportedError, match=r"expected \(problem, \*, options\)"):

        @pl.partitioner
        def wrong(problem, extra, more):
            """A strategy of a wrong form."""


@pytest.mark.parametrize("answer", [np.zeros(3), (np.zeros(6), np.zeros((2, 2))), np.full(6, np.nan), (1, 2, 3)])
def test_priorities_of_the_wrong_shape_are_refused(answer):
    """One number per op, one per tensor (and destination), none of them NaN."""

    @pl.scheduler(static=True)
    def bad(problem, placement):
        return answer

    with pytest.raises(pl.FormatError, match=r"scheduler .*gave"):
        pl.simulate(PROBLEM, pl.Placement(PROBLEM, [0] * 6), "bad")


@pytest.mark.parametrize("name", ["partitioners", "schedulers"])
def test_every_strategy_says_what_it_is_and_where_it_is_from(name):
    """A one-line summary and a source for the pickers; options all have defaults."""
    for entry in getattr(pl, name)().values():
        assert entry.summary
        assert entry.summary[-1] == "."
        assert entry.source, entry.name
        assert all(default is not None for _, default in entry.options.values())


@pytest.mark.parametrize("seed", [-1, None, "x", 1.5, [1]])
def test_a_seed_is_a_whole_number(seed):
    """Every strategy raises the same error, also those that draw nothing."""
    for call in (lambda: pl.place(PROBLEM, "hash", seed=seed), lambda: pl.solve(PROBLEM, "heft", "random", seed=seed)):
        with pytest.raises(pl.FormatError, match="seed is"):
            call()


def test_numpy_integers_are_seeds():
    """np.int64(3) equals 3 as a seed, in every partitioner."""
    for name in ("hash", "random"):
        placed = [pl.place(PROBLEM, name, seed=seed).device.tolist() for seed in (3, np.int64(3))]
        assert placed[0] == placed[1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pl.place(PROBLEM, "heft", insertion="x"), "insertion is 'x'; expected True or False"),
        (lambda: pl.place(PROBLEM, "hash", weight=[]), "expected auto"),
        (lambda: pl.solve(PROBLEM, "heft", "msr", scheduler_options={"alpha": "x"}), "alpha is 'x'; expected a number"),
        (lambda: pl.solve(PROBLEM, "heft", "msr", scheduler_options={"alpha": np.nan}), "alpha is nan"),
        (lambda: pl.solve(PROBLEM, "heft", "fifo", scheduler_options={"ties": "x"}), "expected index, random"),
        (lambda: pl.solve(PROBLEM, partitioner_options={"seed": 1}), "give it to solve itself"),
        (lambda: pl.solve(PROBLEM, partitioner_options=5), "needs a Mapping, found an int"),
        (lambda: pl.place(PROBLEM, pl.schedulers()["pct"]), "not decorated with @placelab.partitioner"),
        (lambda: pl.place(PROBLEM.graph), "needs a Problem, found an OpGraph"),
        (lambda: pl.Order("x"), "rule 'x'; expected one of priority"),
        (lambda: pl.Order("priority"), "needs a number per op"),
        (lambda: pl.Order("planned", np.array([0, 0, 1])), "each op once"),
        (lambda: pl.Order("planned", np.array([0, 1, -1])), "each op once"),
        (lambda: pl.Order("priority", ["x"]), "not numbers"),
        (lambda: pl.Order("msr", weights=(1, 2)), "expected four numbers"),
        (lambda: pl.partitioner(5), "not a function"),
        (lambda: pl.partitioner(lambda problem, *, x: None), "option 'x' of <lambda> has no default"),
    ],
)
def test_what_does_not_fit_a_strategy_is_named(call, words):
    """An error of one sentence comes before anything runs."""
    with pytest.raises(pl.PlacelabError, match=words):
        call()
