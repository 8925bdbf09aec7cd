"""Public functions answer an argument of a wrong type with one clear sentence, before they begin."""

import contextlib
import inspect

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import placelab as pl
from placelab.formats.profiles import Profile

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


KNOWN = dict(  # by the name of a parameter
    **dict(
        problem=PROBLEM, graph=PROBLEM.graph, cluster=PROBLEM.cluster, plan=SCHEDULE, schedule=SCHEDULE, frame=FRAME
    ),
    **dict(placement=SCHEDULE.placement, model="gpt2", name="diamond", partitioner="heft", b="cpop", devices=2),
    **dict(batch=4, sequence=64, bandwidth=1e9, disk=1e9, save=1.0, restore=1.0, mtbf=100.0, workers=2, size=1.0),
    **dict(microbatches=2, iterations=4, backward=1.0, kind="all-reduce", path="out.json", hosts=1, seconds=[1.0, 2.0]),
)
ROOMS = (
    pl.clusters,
    pl.costs,
    pl.datasets,
    pl.export,
    pl.faults,
    pl.generators,
    pl.models,
    pl.plots,
    pl.puzzles,
    pl.transforms,
)


def public() -> dict:
    """Public functions with an argument that may be given by its place, by name."""
    named = {name: getattr(pl, name) for name in pl.__all__}
    for room in ROOMS:
        names = getattr(room, "__all__", [name for name in vars(room) if not name.startswith("_")])
        named |= {f"{room.__name__.rpartition('.')[2]}.{name}": getattr(room, name) for name in names}
    own = {name: f for name, f in named.items() if inspect.isfunction(f) and f.__module__.startswith("placelab")}
    helpers = ("placelab.base", "placelab.problem.cluster.")  # what clusters imports
    return {name: f for name, f in own.items() if not f"{f.__module__}.".startswith(helpers) and _places(f)}


def _places(function) -> list:
    return [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]


PUBLIC = public()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_wrong_first_argument_raises_no_error_of_pythons(name, tmp_path, monkeypatch):
    """Where it is refused, one of the package's own errors says so."""
    monkeypatch.chdir(tmp_path)
    function = PUBLIC[name]
    _, *others = inspect.signature(function).parameters.values()
    given = {p.name: KNOWN.get(p.name, "x") for p in others if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
    for value in (3, None, "x", [], {}, object(), np.timedelta64(3, "s")):
        with contextlib.suppress(pl.PlacelabError):
            made = function(value, **given)
            getattr(made, "close", bool)()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pl.explore(PROBLEM, options=3), "explore, for options, needs a Mapping, found an int"),
        (lambda: pl.explore(PROBLEM, height=-1), "explore: height is -1; expected a whole number, 1 or more"),
        (lambda: pl.makespans(PROBLEM, [[0.5] * 12]), r"devices has 0\.5; expected whole numbers"),
        (lambda: pl.makespans(PROBLEM, [["x"] * 5]), "devices has 'x'; expected whole numbers"),
        (lambda: pl.makespans(PROBLEM, None), "devices has None; expected whole numbers"),
        (lambda: pl.sensitivity(PROBLEM, 3), "partitioner is 3; expected a name, or pairs"),
        (lambda: pl.sensitivity(PROBLEM, [3]), r"partitioner is \[3\]; expected a name, or pairs"),
        (lambda: pl.adversarial("heft", "cpop", equal=3), "in equal, needs a str, found an int"),
        (lambda: pl.clusters.replicated(PROBLEM.cluster, bandwidth="x"), "bandwidth between replicas needs"),
        (lambda: pl.clusters.replicated(PROBLEM.cluster, latency=[]), "latency between replicas needs"),
        (lambda: pl.plots.memory(SCHEDULE, width=-1), "width is -1; expected a whole number, 1 or more"),
        (lambda: pl.Placement.loads(PROBLEM, "x"), "needs a bytes or a bytearray, found a str"),
        (lambda: pl.OpGraph.from_arrays(["a"], [1.0], [], time_default=[]), r"time_default names \[\]"),
        (lambda: pl.checkpoint_interval(10**400, 20.0), "save is 1000"),
        (lambda: pl.faults.system_mtbf([10**400]), "times between failures"),
        (lambda: pl.allreduce_time(10**400, 2, bandwidth=1.0), "size is 1000"),
        (lambda: pl.plots.checkpoint_intervals({}), "curves has no entries"),
        (lambda: pl.generators.pipeline_training([], 1.0, microbatches=2), "no entries"),
        (lambda: pl.generators.pipeline_training([10**400], 1.0, microbatches=2), r"F is \[1000"),
        (lambda: pl.faults.expected_segment_time([10**400], save=1.0, restore=1.0, mtbf=3.0), r"work is \[1000"),
        (lambda: pl.OpGraph.from_networkx(_timed(SPAN)), r"time of op 'a' is np\.timedelta64"),
        (lambda: pl.testing.check_placement(3, SCHEDULE.placement), "check_placement needs a Problem, found an int"),
    ],
)
def test_the_value_is_in_the_sentence(call, says):
    """What was given, and what is expected."""
    with pytest.raises(pl.PlacelabError, match=says):
        call()


SPAN = np.timedelta64(3, "s")


def _timed(time: object) -> nx.DiGraph:
    """A graph of networkx whose op takes so long."""
    graph = nx.DiGraph()
    graph.add_node("a", time=time)
    return graph


@pytest.mark.parametrize(
    "call",
    [
        lambda: pl.checkpoint_interval(SPAN, 20.0),
        lambda: pl.what_if(SCHEDULE, k=SPAN),
        lambda: pl.what_if(SCHEDULE, factor=SPAN),
        lambda: pl.generators.fork_join(SPAN),
        lambda: pl.place(PROBLEM, "heft", seed=SPAN),
        lambda: pl.Cluster.uniform(SPAN),
        lambda: pl.Cluster([1.0, 1.0], bandwidth=1.0, links={"a": (SPAN, [(0, 1)])}),
        lambda: pl.Problem(PROBLEM.graph, PROBLEM.cluster, transfer_ops=SPAN),
        lambda: pl.ListScheduler(PROBLEM).place(SPAN, 0),
        lambda: pl.iterations(PROBLEM, SCHEDULE.placement, "fifo", noise=SPAN),
        lambda: pl.faults.expected_segment_time(SPAN, save=1.0, restore=1.0, mtbf=3.0),
        lambda: pl.faults.system_mtbf([SPAN]),
        lambda: pl.sensitivity(PROBLEM, "heft", values=[SPAN]),
        lambda: pl.generators.pipeline_training(SPAN, 1.0, microbatches=2, stages=2),
        lambda: pl.allreduce_time(1.0, 2, bandwidth=SPAN),
        lambda: pl.costs.fit_link([SPAN, SPAN], [1.0, 2.0]),
        lambda: pl.costs.fit_link([1.0, 2.0], [SPAN, SPAN]),
        lambda: pl.costs.measured(PROBLEM.graph, Profile({PROBLEM.graph.names[0]: SPAN}), "dev0", speed=1.0),
        lambda: pl.Cluster.uniform(4).index(SPAN),  # it has a device 3
        lambda: pl.clusters.replicated(PROBLEM.cluster, bandwidth=SPAN),
        lambda: pl.transforms.backward_schedule(SCHEDULE, ratio=SPAN),
        lambda: pl.OpGraph.from_arrays(["a"], [1.0], [], time={"gpu": [1.0]}, time_speed={"gpu": SPAN}),
    ],
)
def test_a_span_of_time_is_no_number(call):
    """To numpy a timedelta64 is a whole number, of a unit that nobody looks at."""
    with pytest.raises(pl.PlacelabError, match=r"timedelta|must be numbers"):
        call()


def test_numbers_of_numpy_are_numbers():
    """A count, a seed or a flag that numpy made is taken."""
    pl.solve(PROBLEM, "heft", seed=np.int64(1), trace=np.True_)
    assert len(pl.iterations(PROBLEM, SCHEDULE.placement, runs=np.int32(2), noise=np.float32(0.5))) == 2
