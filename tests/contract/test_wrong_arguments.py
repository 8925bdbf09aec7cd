"""Public functions answer an argument of a wrong type with one clear sentence, before they begin."""

import inspect

import numpy as np
import pandas as pd
import pytest

import placelab as pl

PROBLEM = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
SCHEDULE = pl.solve(PROBLEM, "heft")
FRAME = pl.compare(PROBLEM, ["heft", "single"], ["fifo"])
OBJECTS = (3, 0.5, 1j, [None], {"x": 3}, object(), pl, np.array(3), np.array([[1.0, np.nan]]), pd.DataFrame())
TEXTS = ("x", "", b"x", "a\nb", "\0")
WRONG = {  # what no argument of a kind may be
    "cancel": (*OBJECTS, *TEXTS),
    "progress": (*OBJECTS, *TEXTS),
    "measure": (*OBJECTS, *TEXTS),
    "seed": (-1, 0.5, "x", None, [], object(), float("nan"), np.array([[1.0]])),
    "flag": (*OBJECTS, *TEXTS, None),
    "count": (*OBJECTS[1:], *TEXTS, None, True, float("nan")),
    "class": (*OBJECTS, *TEXTS),
    "cluster": OBJECTS,  # a text is the name of a preset
}
# Function, the arguments it needs, and the kind of each argument that is tried.
FUNCTIONS = [
    (
        pl.adversarial,
        dict(a="heft", b="cpop"),
        dict(seed="seed", steps="count", cancel="cancel", progress="progress", around="class"),
    ),
    (pl.compare, dict(problem=PROBLEM), dict(problem="class", cancel="cancel", progress="progress", measure="measure")),
    (pl.best_move, dict(schedule=SCHEDULE), dict(schedule="class", cancel="cancel", progress="progress")),
    (pl.explore, dict(problem_or_graph=PROBLEM), dict(cluster="cluster", compare_with="class", height="count")),
    (
        pl.idle_reasons,
        dict(schedule=SCHEDULE),
        dict(schedule="class", chain="flag", cancel="cancel", progress="progress"),
    ),
    (pl.improve, dict(plan=SCHEDULE), dict(plan="class", cancel="cancel", progress="progress")),
    (pl.improve_known, dict(problem=PROBLEM), dict(problem="class", cancel="cancel", progress="progress")),
    (pl.iterations, dict(problem=PROBLEM, placement=SCHEDULE.placement), dict(cancel="cancel", progress="progress")),
    (pl.list_members, dict(problem=PROBLEM), dict(problem="class", cancel="cancel")),
    (
        pl.place,
        dict(problem=PROBLEM),
        dict(problem="class", cancel="cancel", progress="progress", seed="seed", trace="flag", preview="flag"),
    ),
    (
        pl.plan_search,
        dict(model="gpt2", cluster=pl.costs.cluster("h100", 2), batch=8, sequence=64),
        dict(cluster="class", cancel="cancel", progress="progress"),
    ),
    (pl.plots.memory, dict(schedule=SCHEDULE), dict(schedule="class", width="count")),
    (pl.plots.winners, dict(frame=FRAME, x="seed", y="seconds"), dict(width="count")),
    (pl.sensitivity, dict(problem=PROBLEM), dict(problem="class", cancel="cancel", progress="progress", seed="seed")),
    (pl.solve, dict(problem=PROBLEM), dict(problem="class", cancel="cancel", progress="progress", seed="seed")),
    (pl.study, dict(problems=[PROBLEM]), dict(cancel="cancel", progress="progress")),
    (pl.testing.as_code, dict(problem=PROBLEM), dict(problem="class")),
    (pl.transforms.fuse, dict(problem=PROBLEM), dict(problem="class")),
    (pl.what_if, dict(schedule=SCHEDULE), dict(schedule="class", k="count", cancel="cancel", progress="progress")),
]
CASES = [
    pytest.param(function, given, name, kind, id=f"{function.__name__}({name})")
    for function, given, kinds in FUNCTIONS
    for name, kind in kinds.items()
]


@pytest.mark.parametrize(("function", "given", "name", "kind"), CASES)
def test_an_argument_of_a_wrong_type_is_named_in_one_sentence(function, given, name, kind):
    """No message of Python, numpy or pandas reaches the user; the sentence names the argument, or what is needed."""
    for value in WRONG[kind]:
        if kind == "count" and value is None and inspect.signature(function).parameters[name].default is None:
            continue
        with pytest.raises(pl.PlacelabError) as caught:
            function(**given | {name: value})
        assert f"{name} is" in str(caught.value) or "needs a" in str(caught.value)


def test_whoever_can_be_stopped_or_reports_is_tried_above():
    """No public function takes ``cancel`` or ``progress`` without a case of a wrong one."""
    found = {name for name in pl.__all__ if callable(value := getattr(pl, name)) and not isinstance(value, type)}
    tried = {(function.__name__, name) for function, _, kinds in FUNCTIONS for name in kinds}
    taken = {
        (name, parameter)
        for name in found
        for parameter in inspect.signature(getattr(pl, name)).parameters
        if parameter in ("cancel", "progress")
    }
    assert taken <= tried


def test_numbers_of_numpy_are_numbers():
    """A count, a seed or a flag that numpy made is taken."""
    pl.solve(PROBLEM, "heft", seed=np.int64(1), trace=np.True_)
    assert len(pl.iterations(PROBLEM, SCHEDULE.placement, runs=np.int32(2), noise=np.float32(0.5))) == 2
