"""A page computes the bytes that the library does: its module, run by Node, against placelab on random problems."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import generate
import numpy as np
import problems
import pytest

import placelab as pl
from placelab.analysis.hand_plans import ByHand
from placelab.analysis.idle_time import idle_gaps
from placelab.analysis.improving import best_move
from placelab.app.export import page
from placelab.app.widgets import live_page
from placelab.app.widgets.gantt_chart import PAGE_POINTS
from placelab.app.widgets.gantt_wire import pack_memory, pack_schedule
from placelab.kernels.explain import FOR_MEMORY
from placelab.planning.lower_bounds import best_bound
from placelab.planning.memory_plan import can_bind
from placelab.schedule.whole_costs import in_whole_costs

SOLVE = Path(generate.__file__).with_name("solve.mjs")
MODULE = Path(pl.__file__).parent / "app" / "widgets" / "static" / "live.js"
FEW = 8  # of so many tasks one is tried first
PAIRS = [
    (p, s) for p in (None, *live_page.PARTITIONERS) for s in live_page.SCHEDULERS if (p, s) != ("single", "planned")
]


def test_the_committed_kernels_are_those_of_the_sources(monkeypatch):
    """Else a page would compute what the library did before; make build writes them anew."""
    monkeypatch.setenv("PLACELAB_JIT", "0")
    assert generate.text() == generate.TARGET.read_text()


def few(count: int, seed: int):
    """Random problems that pages know: any transfers, no Send ops, no restrictions, measured times without holes."""
    found = problems.many(count, seed=seed, ops=40, devices=6, transfer_ops=(0,), restricted=False)
    return [problem for problem in found if live_page.times_known(problem)]


def edited(problem: pl.Problem, random: Random) -> pl.Problem:
    """The problem after a few drags: some speeds, bandwidths, latencies times something."""
    cluster = problem.cluster
    factor = lambda: random.choice((1.0, 1.0, 2.0, 0.1, 1.37, random.uniform(0.1, 9)))  # noqa: E731
    changes = {
        name: getattr(cluster, name) * np.reshape([factor() for _ in range(getattr(cluster, name).size)], shape)
        for name in ("speed", "bandwidth", "latency")
        for shape in [getattr(cluster, name).shape]
    }
    return problem.with_costs(cluster=cluster.replace(**changes))


def task(schedule: pl.Schedule, problem: pl.Problem, partitioner: str | None, scheduler: str) -> dict:
    """What ``solve.mjs`` takes: a page's columns, and the numbers that a hand has changed since."""
    cluster = problem.cluster
    changed = {name: list(map(str, getattr(cluster, name).reshape(-1).tolist())) for name in ("speed", "latency")}
    rates = [str(x).replace("inf", "Infinity") for x in cluster.bandwidth.reshape(-1).tolist()]
    columns = base64.b64encode(live_page.pack_problem(schedule)).decode()
    return {"problem": columns, "partitioner": partitioner, "scheduler": scheduler, **changed, "bandwidth": rates}


def solved(tasks: list[dict], folder: Path, module: Path = MODULE) -> list[dict]:
    """What the page's module makes of them."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine: the module of live pages is not run")
    given = folder / "tasks.json"
    given.write_text(json.dumps(tasks))
    done = subprocess.run([node, SOLVE, module, given], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def expected(schedule: pl.Schedule, found: dict) -> dict:
    """The library's arrays under the names of those that were found."""
    moved = schedule.transfers
    planned = schedule.placement.planned
    columns = dict(
        device=schedule.device.astype("<i4"),
        planned=np.empty(0, "<i4") if planned is None else planned.astype("<i4"),
        start=schedule.start,
        finish=schedule.finish,
        begin=np.ascontiguousarray(moved["start"]),
        end=np.ascontiguousarray(moved["finish"]),
    )
    assert set(columns) <= set(found), found.get("error")
    return {name: base64.b64encode(column.tobytes()).decode() for name, column in columns.items()}


def whole_costs(problem: pl.Problem) -> dict[str, str]:
    """The costs in which partitioners plan, under the names of the page."""
    whole = in_whole_costs(problem).problem
    graph = whole.graph
    cluster = whole.cluster
    times = {} if graph.time is None else {"time": graph.time, "timeSpeed": graph.time_speed}
    if whole is problem:  # then a page may lack columns of other devices
        times = {}
    columns = dict(
        compute=graph.compute,
        tensorBytes=graph.tensor_bytes,
        **times,
        speed=cluster.speed,
        bandwidth=cluster.bandwidth,
        latency=cluster.latency,
        linkBandwidth=np.array([link.bandwidth for link in cluster.links]),
    )
    return {
        name: base64.b64encode(np.ascontiguousarray(column, "<f8").tobytes()).decode()
        for name, column in columns.items()
    }


def differing(tasks: list[dict], schedules: list[pl.Schedule | None], folder: Path) -> list[tuple]:
    """Which arrays of which task are not the library's, to the bit; a plan that the page refuses must be short of memory."""
    return list(differences(tasks, schedules, solved(tasks, folder)))


def differences(tasks: list[dict], schedules: list[pl.Schedule | None], answers: list[dict]) -> Iterator[tuple]:
    """The same, one after the other, of what a module has answered."""
    for i, (each, found, schedule) in enumerate(zip(tasks, answers, schedules, strict=True)):
        if "short of memory" in found.get("error", "") or schedule is None:
            if schedule is not None and not runs_short(schedule.problem, each["partitioner"]):
                yield i, "refused"
            if "short of memory" not in found.get("error", ""):
                yield i, "planned"
            continue
        yield from ((i, name) for name, text in expected(schedule, found).items() if found[name] != text)
        whole = whole_costs(schedule.problem)
        yield from ((i, f"whole {name}") for name, text in whole.items() if found["whole"][name] != text)
        if found["makespan"] != schedule.makespan:
            yield i, "makespan"
        if found["bound"] != best_bound(schedule.problem):
            yield i, "bound"
        if found["memory"] != base64.b64encode(pack_memory(schedule, most=PAGE_POINTS)).decode():
            yield i, "memory"
        if FOR_MEMORY not in idle_gaps(schedule)["reason"]:  # a want of room is what the page does not look for
            wire = base64.b64encode(pack_schedule(schedule)).decode()
            if found["wire"] != wire:
                yield i, "wire"


def runs_short(problem: pl.Problem, partitioner: str) -> bool:
    """Whether a run of a partitioner's plan is short of memory, before the library holds ops back for that."""
    return len(pl.simulate(problem, pl.partitioners()[partitioner](problem), "planned").oom) > 0


def trials(given: Iterable[pl.Problem], seed: int) -> tuple[list[dict], list[pl.Schedule | None]]:
    """Each problem, as saved and after drags, with each pair that the page has; None where the library has no plan."""
    random = Random(seed)
    tasks = []
    schedules: list[pl.Schedule | None] = []
    for problem in given:
        tight = can_bind(problem)
        placement = problems.placement(random.randint, problem) if tight else pl.place(problem, "heft")
        saved = pl.simulate(problem, placement)
        for after in (problem, edited(problem, random)):
            for partitioner, scheduler in PAIRS:
                if placement.planned is None and partitioner is None and scheduler == "planned":
                    continue
                tasks.append(task(saved, after, partitioner, scheduler))
                schedules.append(solution(after, placement, partitioner, scheduler))
    return tasks, schedules


def solution(
    problem: pl.Problem, placement: pl.Placement, partitioner: str | None, scheduler: str
) -> pl.Schedule | None:
    """The library's schedule, None where the partitioner finds no plan within memory."""
    kept = pl.Placement(problem, placement.device, placement.planned)
    try:
        return pl.simulate(problem, pl.place(problem, partitioner, fallback=False) if partitioner else kept, scheduler)
    except pl.InfeasibleError:
        return None


def test_the_page_computes_the_librarys_bytes(tmp_path):
    """Devices, orders, times of ops and transfers, critical path and idle gaps, for all pairs, also after drags."""
    tasks, schedules = trials(few(60, seed=28), seed=28)
    assert len(tasks) > 300 and {each["partitioner"] for each in tasks} == {None, *live_page.PARTITIONERS}
    assert differing(tasks, schedules, tmp_path) == []


@pytest.mark.slow
def test_larger_graphs(tmp_path):
    """Many ready ops on devices of one kind, gaps of hundreds of ops, Inception with measured times."""
    wide = pl.Problem(pl.generators.fork_join(600), pl.Cluster.uniform(4), transfers="channel")
    deep = pl.Problem(pl.generators.layered(500, seed=2), pl.clusters.pcie_box(3), transfers="fair", latency="follows")
    real = pl.Problem(pl.load("inception_v3"), pl.clusters.rtx2080ti_box(4))
    pairs = [(wide, "min-min"), (wide, "peft"), (deep, "heft"), (deep, "cpop"), (real, "heft")]
    schedules = [pl.solve(problem, partitioner, "planned") for problem, partitioner in pairs]
    tasks = [task(s, s.problem, name, "planned") for s, (_, name) in zip(schedules, pairs, strict=True)]
    assert differing(tasks, schedules, tmp_path) == []
    assert [live_page.why_fixed(s.problem) or live_page.why_still(s) for s in schedules] == [""] * len(pairs)


@pytest.mark.slow
def test_what_the_page_finds_again_is_left_out(tmp_path):
    """Devices and plan of a partitioner that the page has; they are in it where another plan stood in, or none is found there."""
    graph = pl.generators.layered(60, seed=4)
    cluster = pl.Cluster.from_hosts({"a": 2, "b": 1}, speed=[1.37e12, 7.1e11, 1.9e12])
    free = pl.Problem(graph, cluster)
    schedules = [pl.solve(free, name) for name in live_page.PARTITIONERS]
    scheduler = [s.scheduler for s in schedules]
    tasks = [task(s, free, p, r) for s, p, r in zip(schedules, live_page.PARTITIONERS, scheduler, strict=True)]
    for each, schedule in zip(tasks, schedules, strict=True):
        whole = len(live_page.pack_problem(schedule))
        short = live_page.live_traits(schedule)["problem"]
        assert len(short) < whole
        each["problem"] = base64.b64encode(short).decode()
    assert differing(tasks, schedules, tmp_path) == []

    by_hand = pl.simulate(free, pl.Placement(free, [0] * 60), "fifo")
    assert len(live_page.live_traits(by_hand)["problem"]) == len(live_page.pack_problem(by_hand))
    kept = 0
    tasks = []
    schedules = []
    for share in np.linspace(0.05, 0.9, 30):
        room = pl.Problem(graph, cluster.replace(memory=share * graph.memory.sum()), transfers="sequential")
        try:
            schedule = pl.solve(room, "heft", "planned")
        except pl.InfeasibleError:
            continue
        plain = solution(room, schedule.placement, "heft", "planned")
        same = plain is not None and np.array_equal(plain.start, schedule.start)
        given = live_page.live_traits(schedule)["problem"]
        if len(given) == len(live_page.pack_problem(schedule)):
            kept += 1
        else:
            assert same and not live_page.why_still(schedule)
            left_out = base64.b64encode(given).decode()
            tasks.append({**task(schedule, room, "heft", "planned"), "problem": left_out})
            schedules.append(schedule)
    assert kept and tasks and differing(tasks, schedules, tmp_path) == []


def test_a_page_of_twenty_thousand_ops_is_small():
    """Below the 600 kB up to which a page recomputes without being asked to, with random costs, which hardly compress."""
    problem = pl.Problem(pl.generators.layered(20_000, seed=2), pl.clusters.pcie_box(4))
    assert len(page(pl.solve(problem, "heft", "planned"), live=True)) <= 600_000


def test_tensors_that_share_storages(tmp_path):
    """Memory over time where views share bytes, on devices on which not all of them are made."""
    both = [sharing(Random(7), memory) for memory in ("dynamic", "edges")]
    schedules = [pl.simulate(p, pl.Placement(p, [v // 3 % 3 for v in range(60)]), "fifo") for p in both]
    assert all(len(s.oom) for s in schedules)
    assert differing([task(s, s.problem, None, "fifo") for s in schedules], schedules, tmp_path) == []


def sharing(random: Random, memory: str) -> pl.Problem:
    """A problem in which tensors share storages."""
    edges = [(random.randrange(max(0, v - 4), v), v) for v in range(1, 60) for _ in range(2)]
    storage = {u: u // 6 if u % 3 else -1 for u, _ in edges}  # of all tensors that an op makes
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(60)],
        [random.uniform(1, 9) for _ in range(60)],
        edges,
        edge_bytes=[1.0 + u for u, _ in edges],
        edge_storage=[storage[u] for u, _ in edges],
        temporary=[random.uniform(0, 20) for _ in range(60)],
    )
    cluster = pl.Cluster([1.0, 2.0, 1.0], bandwidth=30.0, memory=90.0)
    assert graph.tensor_storage is not None
    return pl.Problem(graph, cluster, memory=memory, transfers="sequential")


@pytest.mark.slow
def test_all_ops_on_one_device(tmp_path):
    """The fastest that holds them, in each memory model, where memories are about what is needed; storages count once."""
    random = Random(29)
    tasks: list[dict] = []
    schedules: list[pl.Schedule | None] = []
    for problem in [*few(250, seed=29), *(sharing(random, "none") for _ in range(12))]:
        free = problem.replace(memory="none")
        saved = pl.simulate(free, pl.Placement(free, [0] * free.graph.n_ops), "fifo")
        for memory in live_page.MEMORIES[1:]:
            least = 1.0
            try:
                pl.place(problem.replace(memory=memory, cluster=problem.cluster.replace(memory=least)), "single")
            except pl.InfeasibleError as error:
                least += max(error.short.values())
            near = [
                least * random.choice((1 - 1e-12, 0.999, 0.999, 0.999, 2.0)) for _ in range(problem.cluster.n_devices)
            ]
            tight = problem.replace(memory=memory, cluster=problem.cluster.replace(memory=near))
            on_it = pl.simulate(tight, pl.Placement(tight, saved.device), "fifo")
            tasks.append(task(on_it, tight, "single", "pct"))
            schedules.append(solution(tight, saved.placement, "single", "pct"))
    found = [s for s in schedules if s is not None]
    assert len(schedules) - len(found) > 20 and len({int(s.device[0]) for s in found}) > 2
    assert sum(s.problem.graph.tensor_storage is not None for s in found) > 10
    assert differing(tasks, schedules, tmp_path) == []


@pytest.mark.slow
def test_files_of_graphs(tmp_path):
    """A graph that was saved is the same problem in a page of another one on that cluster; times and groups are in it."""
    tasks: list[dict] = []
    schedules: list[pl.Schedule | None] = []
    for problem in few(200, seed=41):
        rules = {"transfers": problem.transfers, "memory": problem.memory}
        plain = pl.Problem(problem.graph, problem.cluster, **rules)
        if plain.restricted or not live_page.times_known(plain):
            continue
        page = pl.Problem(pl.generators.fork_join(2), plain.cluster, **rules)
        saved = pl.simulate(page, pl.Placement(page, [0] * page.graph.n_ops), "fifo")
        plain.graph.save(tmp_path / "graph.json")
        devices = {"names": list(plain.cluster.names), "types": list(plain.cluster.types)}
        given = {"graph": (tmp_path / "graph.json").read_text(encoding="utf-8"), "devices": devices}
        for partitioner, scheduler in (("heft", "planned"), ("etf", "fifo")):
            tasks.append({**task(saved, plain, partitioner, scheduler), **given})
            schedules.append(solution(plain, pl.Placement(plain, [0] * plain.graph.n_ops), partitioner, scheduler))
    found = [schedule.problem for schedule in schedules if schedule]
    assert len(found) > 45 and {p.graph.time is None for p in found} == {p.memory == "none" for p in found} == {
        True,
        False,
    }
    assert any(p.n_groups for p in found)
    assert differing(tasks, schedules, tmp_path) == []


@pytest.mark.slow
def test_other_memory_models(tmp_path):
    """Each memory model from a page that was saved in another one: what is reserved, given or not, is among its columns."""
    tasks = []
    schedules = []
    for i, problem in enumerate(few(45, seed=23)):
        placement = pl.place(problem.replace(memory="none"), "heft")
        if i % 2:
            own = np.arange(float(problem.graph.n_ops))
            problem = problem.with_costs(graph=problem.graph.replace(memory=own))
        saved = pl.simulate(problem, pl.Placement(problem, placement.device, placement.planned))
        for memory in live_page.MEMORIES:
            other = problem.replace(memory=memory)
            for partitioner in (None, "heft", "etf"):
                tasks.append({**task(saved, problem, partitioner, "fifo"), "memory": memory})
                schedules.append(solution(other, placement, partitioner, "fifo"))
    assert len({each.problem.memory for each in schedules if each is not None and len(each.oom)}) == 3
    assert differing(tasks, schedules, tmp_path) == []


@pytest.mark.slow
def test_plans_within_memory(tmp_path):
    """Where a plan made without regard to memory is short of it, each partitioner plans anew as the library, waits included."""
    tasks: list[dict] = []
    schedules: list[pl.Schedule | None] = []
    waits = 0
    for i, problem in enumerate(few(200, seed=61)):
        given = problem.replace(
            memory=("dynamic", "edges", "reserved")[i % 3], cluster=problem.cluster.replace(memory=None)
        )
        free = pl.solve(given, "heft", "planned")
        if not free.peak_memory.max() > 0:
            continue
        tight = given.replace(
            cluster=given.cluster.replace(memory=[0.8 * free.peak_memory.max()] * given.cluster.n_devices)
        )
        saved = pl.simulate(tight, pl.Placement(tight, free.device, free.placement.planned))
        for partitioner in live_page.PARTITIONERS[1:]:  # all that plan
            plan = solution(tight, free.placement, partitioner, "planned")
            tasks.append(task(saved, tight, partitioner, "planned"))
            schedules.append(plan)
            if plan is not None and plan.placement.not_before is not None:
                waits += 1  # a page that is saved with such a plan has it
                assert live_page.why_not(plan) == live_page.why_still(plan) == ""
                tasks.append(task(plan, tight, None, "planned"))
                schedules.append(plan)
    within = [s for s in schedules if s is not None and not len(s.oom)]
    assert len(within) > 200 and waits > 10
    assert differing(tasks, schedules, tmp_path) == []


def test_bounds_of_restricted_ops(tmp_path):
    """Pins, groups and allowed devices count as in the library: in least times, in transfers, in the work of a set of devices."""
    tasks = []
    schedules = []
    for problem in problems.many(300, seed=12, ops=40, devices=6, transfer_ops=(0,)):
        if not problem.restricted or not live_page.times_known(problem):
            continue
        saved = pl.simulate(problem, pl.Placement(problem, problem.may_run.argmax(axis=1)), "fifo")
        bits = live_page.live_traits(saved)["live"]["allowed"]
        tasks.append({**task(saved, problem, None, "fifo"), "allowed": bits})
        schedules.append(saved)
    assert len(tasks) > 30
    assert differing(tasks, schedules, tmp_path) == []


def by_hand(schedule: pl.Schedule, random: Random) -> tuple[list[list], dict]:
    """Random legal moves of a schedule's ops, as [ops, device, position], and what plans by hand have after and before them.

    [[a, b], -1] is an exchange, which may be illegal.
    """
    problem = schedule.problem
    names = problem.graph.names
    cluster = problem.cluster.names
    plan = pl.by_hand(schedule)
    moves = []
    seen = []
    for _ in range(7):
        ops = random.sample(range(problem.graph.n_ops), min(random.choice((1, 1, 2, 3, 12)), problem.graph.n_ops))
        if len(ops) == 2:
            try:
                plan = plan.swap(*names[ops].tolist())
                seen.append(1.0)
            except pl.InfeasibleError as error:
                if "would wait" not in str(error):
                    continue  # a device that may not run the op, which the page asks elsewhere
                seen.append(0.0)
            moves.append([ops, -1, 0])
            continue
        block = names[ops].tolist()
        places = [plan.places(block, d) for d in range(len(cluster))]
        seen += [x for p in places for x in (p.first, p.last, p.start, p.ready)]
        d = random.choice([d for d, p in enumerate(places) if p.legal] or [-1])
        if d < 0:
            seen = seen[: -4 * len(cluster)]
            continue
        at = random.randint(places[d].first, places[d].last)
        gone = {*ops} | {int(v) for op in ops for v in problem.members(op) if plan.placement.device[v] != d}
        lane = [int(v) for v in plan.order(d) if int(v) not in gone]
        beside = {"before": str(names[lane[at]])} if at < len(lane) else {"after": str(names[lane[-1]])} if lane else {}
        plan = plan.move(block, d, **beside)
        moves.append([ops, d, at])
    best = best_move(plan.schedule)
    arrays = dict(
        best=np.array([plan.makespan if best is None else best.makespan]),
        bestDevice=(plan if best is None else best.plan).placement.device.astype("<i4"),
        bestPlanned=(plan if best is None else best.plan).planned.astype("<i4"),
        handDevice=plan.placement.device.astype("<i4"),
        handPlanned=plan.planned.astype("<i4"),
        handStart=plan.schedule.start,
        handPlaces=np.array(seen, "<f8"),
    )
    return moves, {
        name: base64.b64encode(np.ascontiguousarray(each).tobytes()).decode() for name, each in arrays.items()
    }


@pytest.mark.parametrize("count", [110, pytest.param(330, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_plans_by_hand(count, tmp_path):
    """Legal places on all devices, the plan after moves and exchanges, and the best move from there; groups move as one."""
    random = Random(5)
    tasks = []
    plans = []
    for problem in few(count, seed=17):
        for scheduler in ("planned", "fifo"):
            schedule = pl.simulate(problem, pl.place(problem.replace(memory="none"), "heft"), scheduler)
            saved = pl.simulate(problem, pl.Placement(problem, schedule.device, schedule.placement.planned), scheduler)
            moves, plan = by_hand(saved, random)
            tasks.append({**task(saved, problem, None, scheduler), "moves": moves})
            plans.append(plan)
    moves = [move for each in tasks for move in each["moves"]]
    share = count / 330
    assert len(tasks) > 120 * share and len(moves) > 400 * share
    assert sum(move[1] < 0 for move in moves) > 100 * share
    assert sum(len(move[0]) == 3 for move in moves) > 60 * share
    wrong = [
        (i, name)
        for i, (found, plan) in enumerate(zip(solved(tasks, tmp_path), plans, strict=True))
        for name in plan
        if found.get(name) != plan[name]
    ]
    assert wrong == []


def begun(problem: pl.Problem, random: Random) -> ByHand:
    """A plan of a problem of which some ops are placed, each after its inputs."""
    random_plan = pl.by_hand(problems.placement(random.randint, problem))
    order = random_plan.planned.tolist()  # of which each beginning has the inputs of all its ops
    return pl.by_hand(random_plan.placement, placed=problem.graph.names[order[: random.randint(0, len(order))]])


def test_the_part_of_a_plan_that_is_placed(tmp_path):
    """What a page and the library simulate while ops wait is the same, under all transfer and memory models, to the bit."""
    random = Random(8)
    given = [*few(160, seed=23), *(sharing(random, memory) for memory in ("dynamic", "edges") * 4)]
    plans = [begun(problem, random) for problem in given]
    tasks = []
    for plan, problem in zip(plans, given, strict=True):
        part = range(problem.graph.n_ops) if plan.placed is None else plan.placed.nonzero()[0].tolist()
        whole = pl.simulate(problem, plan.placement, "planned")
        tasks.append({**task(whole, problem, None, "planned"), "part": list(part)})
    assert sum(plan.placed is not None and plan.placed.any() for plan in plans) > 40
    kinds = {(problem.transfers, problem.memory) for problem in given}
    assert len(kinds) > 12
    unequal = differences(tasks, [plan.schedule for plan in plans], solved(tasks, tmp_path))
    of_runs = {"planned", "start", "finish", "begin", "end", "makespan", "memory", "wire"}
    assert [found for found in unequal if found[1] in of_runs] == []


def graph_of_tenths() -> pl.OpGraph:
    """Costs that are whole in tenths."""
    graph = pl.generators.layered(50, seed=9)
    return graph.replace(compute=np.arange(1, 51) / 10, tensor_bytes=np.arange(1.0, graph.n_tensors + 1) / 10)


@pytest.fixture(scope="module")
def both():
    """A third of the trials on problems of whole numbers, which have ties, and of odd ones, whose sums depend on their order."""
    cluster = pl.Cluster.from_hosts({"a": 2, "b": 1}, speed=[1.37e12, 7.1e11, 1.9e12], memory=3e8)
    models = zip(live_page.MODELS, ("none", "dynamic", "none", "reserved"), strict=True)
    graphs = (pl.generators.layered(50, seed=seed) for seed in range(len(live_page.MODELS)))
    given = [pl.Problem(g, cluster, transfers=t, memory=m) for g, (t, m) in zip(graphs, models, strict=True)]
    tenths = graph_of_tenths()
    given.append(pl.Problem(tenths, pl.Cluster([1.0, 1.25, 0.5], bandwidth=0.5)))
    tasks, schedules = trials([*few(9, seed=3), *given], seed=3)
    return tasks[::3], schedules[::3]


@pytest.mark.parametrize("name", ["speed", "bandwidth"])
@pytest.mark.slow
def test_a_difference_in_the_last_bit_is_noticed(both, name, tmp_path):
    """The test of the test: a speed or a bandwidth one bit off changes what the page computes."""
    tasks, schedules = both
    off = [{**each, name: [str(np.nextafter(float(x), 9e99)) for x in each[name]]} for each in tasks]
    off = [{**each, name: [x.replace("inf", "Infinity") for x in each[name]]} for each in off]
    assert noticed(off, schedules, tmp_path)


def noticed(tasks: list[dict], schedules: list[pl.Schedule | None], folder: Path, module: Path = MODULE) -> bool:
    """Whether something differs; a few of the tasks, spread over all, tell it of most mistakes."""
    few = [*range(0, len(tasks), FEW)]
    others = sorted({*range(len(tasks))} - {*few})
    parts = (([tasks[i] for i in part], [schedules[i] for i in part]) for part in (few, others))
    return any(any(differences(*part, solved(part[0], folder, module))) for part in parts)


MISTAKES = {  # file, what stands there, and what a mistake would put there
    "a quotient as a product": (
        "kernels.generated.ts",
        "] / times.divisor[d]);\n}",
        "] * (1 / times.divisor[d]));\n}",
    ),
    "a sum in another order": ("kernels.generated.ts", "if ((n < 8)) {", "if ((n < 1e9)) {"),
    "a sum in a kernel in another order": (
        "kernels.generated.ts",
        "((begin + network.latency[pair]) + took)",
        "(begin + (network.latency[pair] + took))",
    ),
    "a mean over all pairs": ("kernels.generated.ts", "(devices * (devices - 1))", "(devices * devices)"),
    "a tie of planned ops": ("place.ts", "ascending(finish, order)", "order"),
    "a weight of MSR": ("simulate.ts", "alpha: 1", "alpha: 0"),
    "an order of idle gaps": (
        "wire.ts",
        "ascending(gaps.begin.subarray(0, idle))",
        "ascending(gaps.begin.subarray(0, idle)).reverse()",
    ),
    "a level of memory": ("kernels.generated.ts", "(total[key[i]] + values[i])", "values[i]"),
    "a latency in a bound": ("kernels.generated.ts", "(latency[i] + (size[e] / rate[i]))", "(size[e] / rate[i])"),
    "a unit of time": ("kernels.generated.ts", "(work - speed)", "(work + speed)"),
    "a tie in a kernel": ("kernels.generated.ts", "heap[(j + 1)] < code", "heap[(j + 1)] > code"),
    "costs that are whole": (
        "kernels.generated.ts",
        "Number($round(shifted((x * parts), power, down)))",
        "(x * parts)",
    ),
}


@pytest.fixture(scope="module")
def mutants(tmp_path_factory) -> Path:
    """A folder with the page's module with each of the mistakes, under its number."""
    node = shutil.which("node")
    if node is None or not (SOLVE.parents[1] / "node_modules").exists():
        pytest.skip("the front end cannot be built on this machine: its mutants are not tried")
    folder = tmp_path_factory.mktemp("mutants")
    asked = [
        {"file": f"kernels/{file}", "before": before, "after": after, "target": str(folder / f"{i}.mjs")}
        for i, (file, before, after) in enumerate(MISTAKES.values())
    ]
    (folder / "mistakes.json").write_text(json.dumps(asked))
    subprocess.run([node, SOLVE.with_name("mutants.mjs"), folder / "mistakes.json"], check=True, timeout=60)
    return folder


@pytest.mark.parametrize(
    "mistake", [pytest.param(name, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, name in enumerate(MISTAKES)]
)
def test_a_mistake_in_the_page_is_noticed(both, mutants, mistake, tmp_path):
    """Each of them, in what surrounds the kernels or in a kernel, changes what the page computes."""
    module = mutants / f"{[*MISTAKES].index(mistake)}.mjs"
    assert noticed(*both, tmp_path, module)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_problems(seed, tmp_path):
    """As above, with more of them."""
    assert differing(*trials(few(120, seed + 100), seed=seed + 100), tmp_path) == []
