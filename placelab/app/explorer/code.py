"""Write a state of the explorer as the text of a cell that reproduces it, exact to the last digit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from glob import escape
from typing import Any

import numpy as np

from placelab.app.explorer.jobs import stages_of
from placelab.app.explorer.offered import PIPELINE, HandPlan, Preset
from placelab.app.explorer.state import State, pins_on
from placelab.formats.python_code import COLUMNS, broken, cluster_code, column_code, number, problem_code
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import CHOSEN
from placelab.schedule.catalogue import Strategy, partitioners, schedulers, transforms

Devices = str | tuple[str, ...]


def shortened(where: Mapping[str, tuple[str, ...]], graph: OpGraph) -> dict[str, Devices]:
    """Pins in which ``scope/*`` stands for the ops of a scope that all have the same one, and a lone device for a list of one.

    Parameters
    ----------
    where
        Names of the devices of each pinned op.

    Returns
    -------
    dict
        For :meth:`placelab.Problem.pin`, where it means the same; the outermost scopes first, in the order of `where`.

    Examples
    --------
    >>> g = OpGraph.from_arrays(["a/x", "a/y", "b"], [1] * 3, [])
    >>> shortened({"a/x": ("gpu:0",), "a/y": ("gpu:0",)}, g)
    {'a/*': 'gpu:0'}
    """
    taken = {*graph.names.tolist(), *graph.group_names}
    total = Counter(scope for name in graph.names.tolist() for scope in _scopes(name))
    pinned = Counter((scope, devices) for name, devices in where.items() for scope in _scopes(name))
    pins: dict[str, Devices] = {}
    for name, devices in where.items():
        whole = (scope for scope in _scopes(name) if 1 < total[scope] == pinned[scope, devices])
        pattern = next((p for p in (f"{escape(scope)}/*" for scope in whole) if p not in taken), name)
        pins[pattern] = devices[0] if len(devices) == 1 else devices
    return pins


def _scopes(name: str) -> Iterator[str]:
    """The scopes that an op is in, from the outermost: ``a`` and ``a/b`` for ``a/b/c``."""
    at = name.find("/")
    while at >= 0:
        yield name[:at]
        at = name.find("/", at + 1)


WRITTEN = 12  # devices; matrices of larger clusters are written as changed entries, where these are few
FEW = 60  # entries
MOST_WRITTEN = 200  # ops of a plan by hand that the cell writes out
STEP = "cluster"  # code of a cluster that the cell has written already


def cell(state: State) -> str:
    """The text of a cell that ends in the schedule shown.

    Examples
    --------
    >>> from placelab.app.explorer.state import initial_state
    >>> print(cell(initial_state("topcuoglu")))
    import placelab as pl
    <BLANKLINE>
    graph = pl.load('topcuoglu')
    cluster = pl.Cluster(**graph.metadata['cluster'])
    problem = pl.Problem(graph, cluster, memory='none', transfers='parallel')
    schedule = pl.solve(problem, 'heft', 'planned')
    schedule
    """
    return "\n".join(
        [
            *_imports(state),
            *_reminder(state),
            "",
            *_graph_and_cluster(state, named=False),
            _problem(state),
            _solve(state),
            "schedule",
        ]
    )


def _imports(state: State) -> list[str]:
    step = state.base or state
    library = [] if step.spread is None else step.spread.imports(step.cluster)
    library += ["import functools"] * any(options for _, options in state.preparation)
    return [*library, "import placelab as pl"]


def file_name(state: State, title: str = "") -> str:
    """Name of the file that the cell loads a graph from which cannot be loaded by an expression; or of a file of that title."""
    title = title or (state.base or state).model.title
    stem = re.sub(r"[^\w.-]+", "_", re.sub(r"\.json(\.gz)?$", "", title)).strip("._")
    return f"{stem or 'model'}.json.gz"


def _reminder(state: State) -> list[str]:
    """A comment that names the strategies which the notebook, not placelab, defines."""
    chosen: list[Strategy | None] = [partitioners().get(state.partitioner), schedulers().get(state.scheduler)]
    chosen += [transforms().get(name) for name in state.prepare]
    own = [f.name for f in chosen if f and not f.__module__.startswith("placelab.")]
    return [f"# run the cell that defines {' and '.join(own)} first"] if own else []


def _graph_and_cluster(state: State, named: bool = True) -> list[str]:
    """Lines that make both; of a split or a plan, whose problem has a graph, only what is needed unless it is to be `named`."""
    if state.spread is None:
        return [*_graph(state), *_cluster(state)]
    scaled = _scaled(state)
    graph = [f"graph = {state.spread.problem_code}.graph"] if named or scaled else []
    return [*_cluster(state), *state.spread.lines(state.cluster), *graph, *scaled]


def _graph(state: State) -> list[str]:
    return [*_step(state), f"graph = {state.model.code or f'pl.load({file_name(state)!r})'}", *_scaled(state)]


def _scaled(state: State) -> list[str]:
    change = {"mayer": "mayer", "seconds": "in_seconds"}.get(state.costs)
    lines = [f"graph = pl.costs.{change}(graph)"] if change else []
    factors = {"compute": state.compute, "transfer": state.transfer}
    given = ", ".join(f"{label}={number(factor)}" for label, factor in factors.items() if factor != 1)
    return lines + ([f"graph = pl.costs.scale(graph, {given})"] if given else [])


def _step(state: State) -> list[str]:
    """Graph and, of a pipeline, cluster that the present job is made of."""
    step = state.base
    if step is None or state.job is None or state.job.kind != PIPELINE:
        return [] if step is None else _graph(step) if step.spread is None else _graph_and_cluster(step)
    stages = stages_of(state.job, step.cluster)
    return [*_graph_and_cluster(step), *([] if stages is step.cluster else cluster_code(stages))]


def _cluster(state: State) -> list[str]:
    start = state.preset
    now = state.cluster
    changed = [c for c in COLUMNS if not np.array_equal(getattr(start.cluster, c), getattr(now, c))]
    changed += ["links"] if start.cluster.links != now.links else []
    if not start.code or start.cluster.n_devices != now.n_devices:
        return cluster_code(now)
    return [*([] if start.code == STEP else [f"cluster = {start.code}"]), *_changes(start, now, changed)]


def _changes(start: Preset, now: Cluster, changed: list[str]) -> list[str]:
    lines = []
    arguments = []
    for c in changed:
        entries = np.argwhere(getattr(start.cluster, c) != getattr(now, c)) if c in ("bandwidth", "latency") else ()
        if now.n_devices > WRITTEN and 0 < len(entries) <= FEW:
            lines += [
                f"{c} = cluster.{c}.copy()",
                *(f"{c}[{i}, {j}] = {number(getattr(now, c)[i, j])}" for i, j in entries),
            ]
            arguments.append(f"{c}={c}")
        else:
            arguments.append(f"{c}={column_code(now, c)}")
    return [*lines, f"cluster = cluster.replace({', '.join(arguments)})"] if arguments else []


def _problem(state: State) -> str:
    pins = [shortened(pins_on(where, state.cluster), state.graph) for where in state.pins]
    calls = [f"problem = problem.pin({broken(where)})" for where in pins]
    return "\n".join([problem_code(state) if state.spread is None else _spread_problem(state), *calls])


def _spread_problem(state: State) -> str:
    """The problem of a split or a plan, with other rules and costs than its own."""
    assert state.spread is not None
    own = state.spread.problem(state.cluster)
    shown = state.problem()
    rules = [f"{label}={getattr(shown, label)!r}" for label in CHOSEN if getattr(shown, label) != getattr(own, label)]
    problem = f"problem = {state.spread.problem_code}" + f".replace({', '.join(rules)})" * bool(rules)
    return problem + ".with_costs(graph=graph)" * (len(_scaled(state)) > 0)


def _solve(state: State) -> str:
    if state.own_plan:
        return _replay(state, state.own_plan)
    arguments = [f"prepare=[{', '.join(_prepared(*step) for step in state.preparation)}]"] if state.prepare else []
    arguments += [f"seed={state.seed}"] if state.seed else []
    arguments += [
        f"{kind}_options={dict(state.options_of(kind))!r}"
        for kind in ("partitioner", "scheduler")
        if state.options_of(kind)
    ]
    return f"schedule = pl.solve({', '.join(['problem', repr(state.partitioner), repr(state.scheduler), *arguments])})"


def _replay(state: State, plan: HandPlan) -> str:
    """The plan that was made by hand, and its run."""
    late = "" if plan.not_before is None else f", not_before=[{', '.join(map(number, plan.not_before.tolist()))}]"
    made = f"pl.Placement(problem, {plan.device.tolist()}, {plan.planned.tolist()}{late})"
    if is_long(plan):
        made = f"pl.Placement.load(problem, {plan_file(state)!r})"
    arguments = ["problem", "placement", repr(state.scheduler)]
    arguments += [f"seed={state.seed}"] if state.seed else []
    arguments += [f"**{dict(options)!r}"] if (options := state.options_of("scheduler")) else []
    if plan.placed is not None:
        placed = f"problem.graph.names[{plan.placed.nonzero()[0].tolist()}]"
        return f"placement = {made}\nschedule = pl.by_hand(placement, placed={placed}).schedule"
    return f"placement = {made}\nschedule = pl.simulate({', '.join(arguments)})"


def is_long(plan: HandPlan) -> bool:
    """Whether the cell loads a plan from a file rather than writing it out."""
    return len(plan.device) > MOST_WRITTEN


def plan_file(state: State) -> str:
    """Name of the file that the cell loads a long plan by hand from."""
    return f"{file_name(state, state.model.title).removesuffix('.json.gz')}-by-hand.json.gz"


def _prepared(name: str, options: Mapping[str, Any]) -> str:
    """One transformation before placing: its name, or the function with its options."""
    if not options:
        return repr(name)
    given = ", ".join(f"{option}={value!r}" for option, value in options.items())
    return f"functools.partial(pl.transforms.catalogue()[{name!r}], {given})"
