"""Answers to the exercises of lessons 1 to 5, 7 and 8: right ones found in another way than the solution's, and wrong ones."""

from __future__ import annotations

PARTITIONER = "@pl.partitioner\ndef {}(problem):\n    "
SCHEDULER = "@pl.scheduler(static=True)\ndef my_pct(problem, placement):\n    "
LIST = """s = pl.ListScheduler(problem, insertion={insertion})
    for op in np.argsort(-pl.upward_rank(problem), kind="stable"):
        s.place(op, min({devices}, key=lambda d: s.{key}(op, d)))
    return s.placement()
"""
LOADED = "bars = lambda: pd.concat([pl.compare(instance(i), {}, ['fifo', 'pct']) for i in range({})])"
GROUPED = (
    "\ntable = bars().groupby(['partitioner', 'scheduler']).makespan\nbars = lambda: table.agg(mean='mean', sd='std')"
)
BARS = "import pandas as pd\n" + LOADED + GROUPED
UNIT_TIME = """def unit_time(tasks, pairs, machines):
    names = [f"t{{i}}" for i in range(tasks)]
    return pl.Problem(pl.OpGraph.from_arrays(names, [7] * tasks, {pairs}), pl.Cluster([7] * machines{more}))
"""


BEST_OF = "{} = lambda problem: min((pl.place(problem, n) for n in {}), key=lambda plan: plan.estimate)"
SLIP = """def slip(problem):
    placement, plan = heft(problem, min)
    return [plan, pl.simulate(problem, placement, "{}").makespan]
"""
SINGLE = "{} = lambda problem: pl.Placement(problem, [0] * problem.graph.n_ops)"


def heft(insertion: bool = True, devices: str = "s.feasible(op)", key: str = "eft") -> str:
    """HEFT, or what it becomes by a slip."""
    return PARTITIONER.format("my_heft") + LIST.format(insertion=insertion, devices=devices, key=key)


CPOP = (
    PARTITIONER.format("my_cpop")
    + """graph, n = problem.graph, problem.cluster.n_devices
    up = pl.upward_rank(problem)
    both, path = up + pl.downward_rank(problem), {int(up.argmax())}
    last = int(up.argmax())
    while graph.successors_of(last).size:
        last = int(max(graph.successors_of(last), key=lambda v: both[v]))
        path.add(last)
    cost = {d: sum(problem.exec_time(v, d) for v in path) for d in range(n)}
    home = min((d for d in range(n) if all(problem.may_run[v, d] for v in path)), key=lambda d: cost[d], default=0)
    s = pl.ListScheduler(problem, insertion=True)
    for op in by_priority(problem, both):
        choice = s.feasible(op)
        choice = [home] if op in path and home in choice else choice
        s.place(op, min(choice, key=lambda d: s.eft(op, d)))
    return s.placement()
"""
)


RANK = """def my_rank(problem):
    graph, cluster, n, times = problem.graph, problem.cluster, problem.cluster.n_devices, problem.exec_table()
    pairs = [(i, j) for i in range(n) for j in range(n) if {pairs}]
    edges = list(zip(graph.edges.tolist(), graph.edge_bytes.tolist()))
    rank = {{}}
    for u in reversed(range(graph.n_ops)):
        rest = [0.0]
        for (a, b), size in edges:
            if a == u:
                rest.append(rank[b] + sum(cluster.latency[p] + {way} for p in pairs) / max(len(pairs), 1))
        rank[u] = {own} + max(rest)
    return [rank[u] for u in range(graph.n_ops)]
"""


def my_rank(pairs: str = "i != j", way: str = "size / cluster.bandwidth[p]", own: str = "times[u].mean()") -> str:
    """The upward rank of lesson 4 by recursion, or what it becomes by a slip."""
    return RANK.format(pairs=pairs, way=way, own=own)


FORK = """def fork_time(parent, children, transfer):
    order, best = sorted(children, reverse={longest}), float("inf")
    for k in range(len(order) + 1):
        best = min(best, parent + max([sum(order[:k])] + [transfer + seconds for seconds in order[k:]]))
    return best
"""
CLUSTERS = """def clusters(problem):
    graph, rank, home, ends, start = problem.graph, pl.upward_rank(problem), {{}}, {{}}, {{}}
    finish = {{}}

    def arrival(u, v, where):
        far = graph.edge_bytes[[tuple(edge) for edge in graph.edges.tolist()].index((u, v))]
        return finish[u] + (0 if home[u] == where else far)

    while len(home) < graph.n_ops:
        free = []
        for v in range(graph.n_ops):
            inputs = graph.predecessors_of(v).tolist()
            if v not in home and all(u in home for u in inputs):
                last = max((arrival(u, v, None) for u in inputs), default=0)
                free.append(({priority}, v, last, inputs))
        _, v, begin, inputs = min(free)
        home[v] = v
        if inputs:
            near = min(inputs, key=lambda u: ({last}, u))
            there = max(arrival(u, v, home[near]) for u in inputs)
            there = max(there, {end})
            if there {than} begin:
                home[v], begin = home[near], there
        ends[home[v]] = finish[v] = begin + graph.compute[v]
    return np.array([home[v] for v in range(graph.n_ops)])
"""


def clusters(
    priority: str = "-last - rank[v]",
    last: str = "-arrival(u, v, None)",
    end: str = "ends[home[near]]",
    than: str = "<",
) -> str:
    """The clusters of lesson 5, or what they become by a slip."""
    return CLUSTERS.format(priority=priority, last=last, end=end, than=than)


# name that the exercise defines → right answers; wrong answers, each with words of what the check says
ANSWERS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "in_eight": (
        ["in_eight = dict(a=1, b=1, c=0, d=0)", "in_eight = lambda: pl.place(problem, 'cp-sat')"],
        [
            ("in_eight = lambda: dict(a=0, b=0, c=1, d=0)", "takes 9 s; at most 8 s are allowed"),
            ("in_eight = lambda: dict(a=0, b=0, c=1)", "op 'd' has no device"),
            (
                "problem = pl.Problem(diamond, pl.Cluster([9, 9], bandwidth=9))\n"
                "in_eight = lambda: pl.place(problem, 'single')",
                "takes 10 s",
            ),
            (
                """def in_eight():
    for array in (problem.graph.compute, problem.cluster.speed):
        array.flags.writeable = True
    problem.graph.compute[:] = 0
    problem.cluster.speed[:] = 9
    return dict(a=0, b=0, c=0, d=0)""",
                "takes 10 s",
            ),
            ("in_eight = lambda: [0, 0, 1, 1]", "is a list; a Placement or a mapping"),
        ],
    ),
    "waits_for": (
        [
            """def waits_for(schedule, device, time):
    for row in pl.idle_reasons(schedule).itertuples():
        if row.device == device and row.start <= time <= row.finish:
            return row.name"""
        ],
        [
            (
                "waits_for = lambda schedule, device, time: 'a'",
                r"a different op ends the idle interval(.|\n)*case = \(schedule",
            ),
            (
                "waits_for = lambda schedule, *at: {('dev1', 2.5): 'a', ('dev1', 4.5): 'c'}.get(at, 'b')",
                "a different op ends",
            ),
            (
                """class Anything(str):
    __eq__ = lambda self, other: True
    __hash__ = str.__hash__
waits_for = lambda schedule, device, time: Anything()""",
                "numbers, texts, containers",
            ),
            (
                """def waits_for(schedule, device, time):
    idle = pl.idle_reasons(schedule)
    return idle[idle.device == device].name.iloc[0]""",
                "a different op ends the idle interval",
            ),
        ],
    ),
    "stops_paying": (["stops_paying = 1 / 3"], [("stops_paying = 0.5", "0.5, which is not right")]),
    "broken_early": (
        [
            "broken_early, broken_crowded, broken_again = (pl.validate(s)[0] for s in (early, crowded, again))",
            "broken_early, broken_crowded, broken_again = 'precedence', ('overlap', 'c'), ('transfer', 'a')",
        ],
        [
            ("broken_early = 'overlap'", "does not break that rule\n\nstart = .*'c': 2.5"),
            ("broken_early = 'rule 1'", "the rules are called"),
            ("broken_early, broken_crowded, broken_again = 'precedence', 'overlap', 'time'", "'c': 3.0.*'e': 0.0"),
        ],
    ),
    "traffic": (
        [
            """def traffic(placement):
    graph, device = placement.problem.graph, placement.device
    cross = device[graph.edges[:, 0]] != device[graph.edges[:, 1]]
    tensor, _ = np.unique(np.stack([graph.edge_tensor[cross], device[graph.edges[cross, 1]]]), axis=1)
    return [len(tensor), graph.tensor_bytes[tensor].sum()]"""
        ],
        [
            (
                """def traffic(placement):
    graph, device = placement.problem.graph, placement.device
    cross = device[graph.edges[:, 0]] != device[graph.edges[:, 1]]
    return cross.sum(), graph.edge_bytes[cross].sum()""",
                r"counts differently(.|\n)*names=\['a', 'b', 'c', 'd', 'e'\]",
            ),
            (
                """def traffic(placement):
    graph, device = placement.problem.graph, placement.device
    tensors = np.unique(graph.edge_tensor[device[graph.edges[:, 0]] != device[graph.edges[:, 1]]])
    return len(tensors), graph.tensor_bytes[tensors].sum()""",
                r"counts differently(.|\n)*names=\['op0', 'op1', 'op2', 'op3'\]",
            ),
            ("traffic = lambda placement: 2", "is not of the form"),
            (
                """def traffic(placement):
    run = pl.metrics(pl.simulate(placement.problem, placement, "fifo"))
    return run["transfers"], run["bytes_moved"]""",
                "traffic calls placelab's own .*, which this exercise forbids",
            ),
        ],
    ),
    "simulate_fifo": (
        [
            """def simulate_fifo(placement):
    problem, graph, start, now = placement.problem, placement.problem.graph, {}, 0.0
    waiting = {v: 0.0 for v in range(graph.n_ops) if not len(graph.predecessors_of(v))}
    while waiting:
        v = min(waiting, key=lambda v: (waiting[v], v))
        waiting.pop(v)
        start[graph.names[v]], now = now, now + problem.exec_time(v, 0)
        for s in graph.successors_of(v).tolist():
            if all(graph.names[u] in start for u in graph.predecessors_of(s)):
                waiting[s] = now
    return start"""
        ],
        [
            (
                "simulate_fifo = lambda placement: [0.0] * placement.problem.graph.n_ops",
                "starts op 'c' at 0 s, which is too early",
            ),
            ("simulate_fifo = lambda placement: []", "3 starts are expected"),
            (
                """from placelab.strategies.placing import solve as helper
def simulate_fifo(placement):
    return helper(placement.problem, "single", "fifo").start""",
                "simulate_fifo calls placelab's own",
            ),
            (
                """def simulate_fifo(placement):
    problem, graph, now = placement.problem, placement.problem.graph, 0.0
    missing = [len(graph.predecessors_of(v)) for v in range(graph.n_ops)]
    start, queue = [0.0] * graph.n_ops, [v for v in range(graph.n_ops) if not missing[v]]
    for v in queue:  # whoever came first, whatever its number
        start[v], now = now, now + problem.exec_time(v, 0)
        for s in graph.successors_of(v).tolist():
            missing[s] -= 1
            queue += [s] if not missing[s] else []
    return start""",
                r"(.|\n)*names=\['a', 'b', 'c'\]",
            ),
        ],
    ),
    "my_pct": (
        [
            """@pl.scheduler(static=True)
def my_pct(problem, placement):
    graph, cluster, device, time = problem.graph, problem.cluster, placement.device, {}
    for u in reversed(range(graph.n_ops)):
        rest = [0.0]
        for e in np.flatnonzero(graph.edges[:, 0] == u):
            i, j = device[graph.edges[e]]
            far = cluster.latency[i, j] + graph.edge_bytes[e] / cluster.bandwidth[i, j] if i != j else 0.0
            rest.append(far + time[graph.edges[e, 1]])
        time[u] = problem.exec_time(u, device[u]) + max(rest)
    return np.array([time[v] for v in range(graph.n_ops)])"""
        ],
        [
            (SCHEDULER + "return pl.upward_rank(problem)", "starts op 'op0' at 0 s"),
            (SCHEDULER + "return [1]", "priorities of shape"),
            (SCHEDULER + "return pl.schedulers()['pct'](problem, placement).op", "calls placelab's own 'pct'"),
        ],
    ),
    "pct_loses": (
        [
            """def pct_loses():
    for seed in range(1000):
        problem = pl.Problem(pl.generators.layered(12, seed=seed), pl.Cluster([1e13] * 3, bandwidth=12e9))
        if fifo(problem) < 0.85 * pct(problem):
            return problem"""
        ],
        [
            ("fifo = lambda problem: 0.0\npct_loses = small", "fifo takes 10 s and pct 7 s"),
            ("pct_loses = small", "fifo takes 10 s and pct 7 s"),
            ("pct_loses = 3", "a Problem or a graph is expected"),
        ],
    ),
    "saved_by_delta": (
        [
            "runs = [pl.simulate(puzzle, in_turn, 'msr', delta=d).makespan for d in (5, 0)]\n"
            "saved_by_delta = 1 - runs[0] / runs[1]"
        ],
        [
            ("saved_by_delta = 0.2133", "divide by the makespan without"),
            ("saved_by_delta = lambda: '18 %'", "is a str"),
        ],
    ),
    "my_rank": (
        [my_rank()],
        [
            (my_rank(pairs="True"), "an op has a different upward rank"),
            (my_rank(way="size / cluster.bandwidth[0, 1]"), "an op has a different upward rank"),
            (my_rank(own="times[u].min()"), "an op has a different upward rank"),
            ("my_rank = pl.upward_rank", "calls placelab's own 'upward_rank'"),
            (
                "my_rank = lambda problem: [108, 77, 80, 80, 69, 63, 43, 36, 44, 15]",
                "different upward rank|not of the form",
            ),
        ],
    ),
    "fork_time": (
        [FORK.format(longest=True)],
        [
            (FORK.format(longest=False), "try other choices of the children"),
            (
                "fork_time = lambda parent, children, transfer: parent + sum(children)",
                "try other choices of the children",
            ),
            (
                "fork_time = lambda parent, children, transfer: parent + transfer + max(children)",
                "try other choices of the children",
            ),
            ("fork_time = lambda parent, children, transfer: 6", "try other choices of the children"),
            (
                """def fork_time(parent, children, transfer):
    names, edges = [f"op{i}" for i in range(len(children) + 1)], [(0, i + 1) for i in range(len(children))]
    graph = pl.OpGraph.from_arrays(names, [parent, *children], edges, edge_bytes=transfer)
    return pl.place(pl.Problem(graph, pl.Cluster([1] * len(names), bandwidth=1)), "cp-sat").estimate""",
                "calls placelab's own 'cp-sat'",
            ),
        ],
    ),
    "clusters": (
        [clusters()],
        [
            (clusters(than="<="), "different ops are together"),
            (clusters(last="-finish[u]"), "different ops are together"),
            (clusters(end="0"), "different ops are together"),
            (clusters(priority="-rank[v]"), "different ops are together"),
            ("clusters = lambda problem: range(problem.graph.n_ops)", "different ops are together"),
            ("clusters = lambda problem: pl.place(problem, 'dsc').device", "calls placelab's own 'dsc'"),
        ],
    ),
    "my_heft": (
        [
            PARTITIONER.format("my_heft")
            + "rank, s = pl.upward_rank(problem), pl.ListScheduler(problem, insertion=True)\n"
            "    for op in sorted(range(problem.graph.n_ops), key=lambda v: (-rank[v], v)):\n"
            "        s.place(op, sorted((s.eft(op, d), d) for d in s.feasible(op))[0][1])\n"
            "    return s.placement()"
        ],
        [
            (
                PARTITIONER.format("my_heft") + "return pl.place(problem, 'heft')",
                "my-heft.* calls placelab's own 'heft'",
            ),
            (
                PARTITIONER.format("my_heft")
                + "try:\n        plan = pl.partitioners()['heft'](problem)\n    finally:\n        pass\n    return plan",
                "my-heft.* calls placelab's own 'heft'",
            ),
            (heft(insertion=False), "but HEFT with insertion takes a different time"),
            (heft(devices="range(problem.cluster.n_devices)"), "finds no placement"),
            (heft(key="est"), "86.0, which is not right"),
            (heft().replace(".placement()", ""), "returned ListScheduler; expected a Placement"),
        ],
    ),
    "my_cpop": (
        [CPOP],
        [
            (heft().replace("my_heft", "my_cpop"), "80.0, which is not right"),
            (PARTITIONER.format("my_cpop") + "return pl.place(problem, 'cpop')", "calls placelab's own 'cpop'"),
            (CPOP.replace("cost[d]", "d"), "86|which is not right|takes a different time"),
        ],
    ),
    "gap_filler": (
        [
            """def gap_filler():
    for seed in range(1000):
        problem = pl.Problem(pl.generators.layered(14, seed=seed, ccr=3.0), pl.Cluster([1e13] * 3, bandwidth=12e9))
        if with_insertion(problem) < 0.85 * append_only(problem):
            return problem"""
        ],
        [
            ("append_only = lambda problem: 99.0\ngap_filler = ten", "80 s and append_only 80 s"),
            ("gap_filler = ten", "80 s and append_only 80 s"),
            ("gap_filler = lambda: 'ten'", "is a str; a Problem"),
        ],
    ),
    "my_strategy": (
        [heft(insertion=False).replace("my_heft", "my_strategy")],
        [
            ("my_strategy = lambda problem: pl.place(problem, 'etf')", "the answer calls placelab's own 'etf'"),
            (SINGLE.format("my_strategy"), "times as long as cpop on average"),
            ("my_strategy = lambda problem: 3", "gives no placement"),
        ],
    ),
    "bars": (
        [
            BARS.format(["heft", "hash", "critical-path"], 3),
            BARS.replace("sd='std'", "sd=np.std").format(["heft", "hash", "critical-path"], 3),
        ],
        [
            (BARS.format(["heft", "hash", "critical-path"], 1), "the mean is that of"),
            (BARS.replace("sd='std'", "sd='sem'").format(["heft", "hash", "critical-path"], 3), "sd is the standard"),
            (
                "import pandas as pd\nrows = [(p, s, m, 9) for p, m in [('heft', 900), ('hash', 2600), ('critical-path', 1540)]"
                " for s in ('fifo', 'pct')]\n"
                "bars = lambda: pd.DataFrame(rows, columns=['partitioner', 'scheduler', 'mean', 'sd'])",
                "the mean is that of",
            ),
            (BARS.format(["heft", "hash"], 3), "there is a row per pair"),
            ("bars = lambda: {}", "a DataFrame is expected"),
        ],
    ),
    "slip": (
        [SLIP.format("pct")],
        [
            ("slip = lambda problem: (planned, right)", "which argument combines the arrivals"),
            ("slip = lambda problem: (69.04, 2313.6)", "HEFT with the slip gives other numbers"),
            (SLIP.format("fifo"), "which scheduler"),
        ],
    ),
    "winner_under_sequential": (
        [
            """def winner_under_sequential():
    busy, times = problem.replace(transfers="sequential"), []
    for name in ["hash", "critical-path", "heft"]:
        where = pl.place(problem, name).to_mapping()
        runs = [pl.simulate(p, pl.Placement.from_mapping(p, where), "pct").makespan for p in (busy, problem)]
        times.append((runs[0], name, runs[0] / runs[1]))
    return list(min(times)[1:])"""
        ],
        [("winner_under_sequential = lambda: ('critical-path', 2.0)", "run all three under sequential transfers")],
    ),
    "gaps": (
        [
            "import pandas as pd\nbest = pl.place(problem, 'cp-sat').estimate\n"
            "names = ['hash', 'heft', 'cpop', 'etf', 'critical-path']\n"
            "gaps = pd.Series({name: pl.solve(problem, name).makespan / best - 1 for name in names})"
        ],
        [
            ("gaps = lambda: dict(heft=0.0115)", "the optimum is what cp-sat proves"),
            ("gaps = lambda: [0.1] * 5", "is a list; a dict is expected"),
        ],
    ),
    "unit_time": (
        [
            UNIT_TIME.format(pairs="pairs", more=""),
            UNIT_TIME.format(pairs="pairs, edge_bytes=[3] * len(pairs)", more=", bandwidth=1e99"),
        ],
        [
            (
                "table = {(1, 1): 1, (3, 2): 2, (4, 2): 3, (5, 3): 2, (7, 2): 4, (7, 4): 3}\n"
                "def unit_time(tasks, pairs, machines):\n"
                "    takes = [1.0] * table.get((tasks, machines), 1)\n"
                "    graph = pl.OpGraph.from_arrays([str(t) for t in range(len(takes))], takes, [])\n"
                "    return pl.Problem(graph, pl.Cluster([1.0]))",
                "whose least makespan is .*, which is not right",
            ),
            (
                UNIT_TIME.format(pairs="pairs", more="") + "translated = unit_time\ndef unit_time(*instance):\n"
                "    least = pl.place(translated(*instance), 'cp-sat').estimate\n"
                "    return pl.Problem(pl.OpGraph.from_arrays(['all'], [least], []), pl.Cluster([1.0]))",
                "an op of 1 second per task, an edge per pair",
            ),
            (UNIT_TIME.format(pairs="[]", more=""), r"unit_time\(4, .* least makespan is 2 s"),
            (
                UNIT_TIME.format(pairs="pairs, edge_bytes=[1] * len(pairs)", more=""),
                r"unit_time\(7, .* least makespan is 5 s",
            ),
            (
                UNIT_TIME.format(pairs="pairs", more=", memory=[1] * machines")
                .replace("7] * tasks, pairs", "7] * tasks, pairs, persistent=[9] * tasks")
                .replace("machines))", "machines), memory='reserved')"),
                "has no placement",
            ),
        ],
    ),
    "anomaly": (
        [
            """def anomaly():
    for seed in range(1000):
        problem = pl.Problem(pl.generators.layered(9, seed=seed), pl.Cluster([1e13, 2e13], bandwidth=12e9))
        if with_fast_links(problem) > 1.07 * with_slow_links(problem):
            return problem"""
        ],
        [
            ("with_slow_links = lambda problem: 0.0\nanomaly = problem", "must take at least 7% less"),
            ("anomaly = problem", "must take at least 7% less"),
            ("anomaly = 1", "a Problem or a graph is expected"),
        ],
    ),
    "my_search": (
        [
            PARTITIONER.format("my_search")
            + """plans = []
    for insertion in (True, False):
        for weight in np.linspace(0.0, 1.0, 11):
            rank = pl.upward_rank(problem) + weight * pl.downward_rank(problem)
            s = pl.ListScheduler(problem, insertion=insertion)
            waiting = list(range(problem.graph.n_ops))
            while waiting:
                free = [v for v in waiting if not set(problem.graph.predecessors_of(v).tolist()) & set(waiting)]
                op = max(free, key=lambda v: rank[v])
                waiting.remove(op)
                s.place(op, min(s.feasible(op), key=lambda d: s.eft(op, d)))
            plans.append(s.placement())
    return min(plans, key=lambda plan: plan.estimate)
"""
        ],
        [
            (BEST_OF.format("my_search", ["heft", "etf"]), "the answer calls placelab's own 'heft'"),
            (
                "my_search = lambda problem: pl.best_known(problem).placement",
                "calls placelab's own 'best_known'|fails with",
            ),
            (SINGLE.format("my_search"), "times as long as heft on average"),
        ],
    ),
}
