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
    (pl.adversarial, dict(a="heft", b="cpop"), dict(seed="seed", steps="count", cancel="cancel", around="class")),
    (pl.compare, dict(problem=PROBLEM), dict(problem="class", cancel="cancel", progress="progress", measure="measure")),
    (pl.best_move, dict(schedule=SCHEDULE), dict(schedule="class", cancel="cancel", progress="progress")),
    (pl.explore, dict(problem_or_graph=PROBLEM), dict(cluster="cluster", compare_with="class", height="count")),
    (pl.list_members, dict(problem=PROBLEM), dict(problem="class", cancel="cancel")),
    (
        pl.place,
        dict(problem=PROBLEM),
        dict(problem="class", cancel="cancel", seed="seed", trace="flag", preview="flag"),
    ),
    (pl.plots.memory, dict(schedule=SCHEDULE), dict(schedule="class", width="count")),
    (pl.plots.winners, dict(frame=FRAME, x="seed", y="seconds"), dict(width="count")),
    (pl.sensitivity, dict(problem=PROBLEM), dict(problem="class", cancel="cancel", progress="progress", seed="seed")),
    (pl.solve, dict(problem=PROBLEM), dict(problem="class", cancel="cancel", seed="seed")),
    (pl.study, dict(problems=[PROBLEM]), dict(cancel="cancel", progress="progress")),
    (pl.testing.as_code, dict(problem=PROBLEM), dict(problem="class")),
    (pl.transforms.fuse, dict(problem=PROBLEM), dict(problem="class")),
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


def test_numbers_of_numpy_are_numbers():
    """A count, a seed or a flag that numpy made is taken."""
    pl.solve(PROBLEM, "heft", seed=np.int64(1), trace=np.True_)
    assert len(pl.iterations(PROBLEM, SCHEDULE.placement, runs=np.int32(2), noise=np.float32(0.5))) == 2
