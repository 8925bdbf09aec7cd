"""Answers to the exercises of lessons 6 and 9 to 15: right ones found in another way than the solution's, and wrong ones."""

from __future__ import annotations

SCT = """def sct(problem, integer=False):
    graph, w = problem.graph, cp.Variable()
    s, x = cp.Variable(graph.n_ops, nonneg=True), cp.Variable(graph.n_edges, {kind})
    rows = [s[v] + graph.compute[v] <= w for v in range(graph.n_ops)]
    for e, (u, v) in enumerate(graph.edges):
        rows += [{bounded}s[u] + graph.compute[u] + {transfer} * x[e] <= s[v]]
    for end in {ends}:
        for op in range(graph.n_ops):
            out = np.flatnonzero(graph.edges[:, end] == op)
            rows += [cp.sum(x[out]) >= len(out) - 1] if len(out) else []
    cp.Problem(cp.Minimize(w), rows).solve(solver="HIGHS")
    return w.value, {x}
"""


def sct(
    kind: str = "boolean=integer",
    bounded: str = "x[e] >= 0, x[e] <= 1, ",
    transfer: str = "graph.edge_bytes[e]",
    ends: str = "(0, 1)",
    x: str = "x.value",
) -> str:
    """The program of lesson 9, row by row, or what it becomes by a slip."""
    return SCT.format(kind=kind, bounded=bounded, transfer=transfer, ends=ends, x=x)


CHAINS_ALONE = """def on_unlimited(problem):
    device, parent = {{}}, {{v: u for u, v in favourites(problem)}}
    for v in range(problem.graph.n_ops):
        device[problem.graph.names[v]] = {kept} if v in parent else v
    return pl.Placement.from_mapping(problem, device)
"""
EARLIEST = """@pl.partitioner
def my_etf(problem):
    graph, level, s, done = problem.graph, static_level(problem), pl.ListScheduler(problem), []
    while len(done) < graph.n_ops:
        ready = [v for v in range(graph.n_ops) if v not in done and set(graph.predecessors_of(v).tolist()) <= set(done)]
        soonest = {{v: min(({time}(v, d), s.eft(v, d), d) for d in s.feasible(v)) for v in ready}}
        op = min(ready, key=lambda v: (soonest[v][0], {tie}, v))
        s.place(op, soonest[op][2])
        done.append(op)
    return s.placement()
"""


def earliest(time: str = "s.est", tie: str = "-level[v]") -> str:
    """ETF of lesson 10, or what it becomes by a slip."""
    return EARLIEST.format(time=time, tie=tie)


LOSES = """def loses():
    grid, to = [1e7, 1e9, 1e10, 1e11], {{"m-etf": [], "single": []}}
    for bandwidth in grid:
        problem = pl.Problem(inception.graph, inception.cluster.replace(bandwidth=bandwidth), memory="none")
        for rival in to:
            if pl.solve(problem, "m-sct", prepare=small).makespan {than} pl.solve(problem, rival, prepare=small).makespan:
                to[rival].append(bandwidth)
    return list(to.values())
"""
LEAST = """def least_memory(graph, cluster):
    memory = pl.solve(pl.Problem(graph, cluster, memory="dynamic"), "single").peak_memory.max()
    while True:
        try:
            pl.place(pl.Problem(graph, cluster.replace(memory=memory), memory="dynamic"), "m-etf", fallback=False)
        except pl.InfeasibleError:
            return {last}
        memory *= 0.98
"""
UPWARDS = """def least_memory(graph, cluster):
    memory = graph.persistent.sum() / cluster.n_devices
    for step in (1.3, 1.1, 1.02):
        while True:
            try:
                pl.place(pl.Problem(graph, cluster.replace(memory=memory), memory="dynamic"), "m-etf", fallback=False)
            except pl.InfeasibleError:
                memory *= step
            else:
                break
        memory /= step  # m-etf has just failed with it, and goes on from there in smaller steps
    return 1.02 * memory
"""
PEAKS = """def peaks():
    found = {}
    for model in ("dynamic", "edges", "reserved"):
        problem = pl.Problem(chain, pl.Cluster([1, 1], bandwidth=1), memory=model)
        found[model] = pl.simulate(problem, pl.Placement.from_mapping(problem, where), "fifo").peak_memory
    return found
"""
CHAINS = """def merge_chains(problem):
    graph, chain = problem.graph, {{}}
    for u in reversed(range(graph.n_ops)):
        out = graph.successors_of(u).tolist()
        chain[u] = u
        if {out} and {inputs} and {group} and {devices}:
            chain[u] = {label}
    return contract(problem, [chain[v] for v in range(graph.n_ops)], "merge_chains")
"""


def chains(
    out: str = "len(out) == 1",
    inputs: str = "len(graph.predecessors_of(out[0])) == 1",
    group: str = "problem.group[u] == problem.group[out[0]]",
    devices: str = "problem.feasible(u).tolist() == problem.feasible(out[0]).tolist()",
    label: str = "chain[out[0]]",
) -> str:
    """The transformation of lesson 12, from the last op to the first, or what it becomes by a slip."""
    return CHAINS.format(out=out, inputs=inputs, group=group, devices=devices, label=label)


TAU = """def tau():
    names = ["heft", "cpop", "etf", "mite", "critical-path", "hash"]
    busy = models["sequential"]
    once = [pl.simulate(rnn, pl.place(rnn, name), "pct").makespan for name in names]
    again = [pl.simulate(busy, {again}, "pct").makespan for name in names]
    pairs = [(i, j) for i in range(6) for j in range(i)]
    return sum(np.sign((once[i] - once[j]) * (again[i] - again[j])) for i, j in pairs) / len(pairs)
"""
ERRORS = """def errors():
    true, rows = pl.place(gnmt, "m-etf").estimate, {{"factor": [], "seed": [], "ratio": []}}
    for factor, seed in [(f, s) for s in {seeds} for f in (0.2, 0.8)]:
        wrong = pl.transforms.perturb(gnmt, factor=factor, seed=seed)
        placed = pl.place({problem}, "m-etf")
        run = pl.simulate({on}, pl.Placement({on}, placed.device, placed.planned), "planned")
        for name, value in zip(rows, (factor, seed, run.makespan / {divisor})):
            rows[name].append(value)
    return pd.DataFrame(rows)
"""


def errors(seeds: str = "(0, 1, 2)", problem: str = "wrong", on: str = "gnmt", divisor: str = "true") -> str:
    """The table of lesson 6, or what it becomes by a slip."""
    return ERRORS.format(seeds=seeds, problem=problem, on=on, divisor=divisor)


M_PLUS = """def m_plus(placement):
    graph = placement.problem.graph

    def dep(v):
        if graph.kind[v] == "read":
            return {{v}}
        return {union}

    found = {{}}
    for r in np.flatnonzero(graph.kind == "read"):
        sizes = [len(dep(v)) for v in range(graph.n_ops) if r in dep(v) and {counts}]
        {enter}found[graph.names[r]] = {choose}
    return found
"""


def m_plus(
    union: str = "{r for u in graph.predecessors_of(v) for r in dep(u)}",
    counts: str = "len(dep(v)) > 1",
    enter: str = "",
    choose: str = "min([np.inf, *sizes])",
) -> str:
    """TIC's numbers of lesson 14 by recursion, or what they become by a slip."""
    return M_PLUS.format(union=union, counts=counts, enter=enter, choose=choose)


ALLREDUCE = """def allreduce(size, workers, bandwidth, latency):
    depth = workers.bit_length() - 1
    ring = sum(latency + size / ({chunks} * bandwidth) for hop in range(2 * {hops}))
    tree = {ways} * depth * (latency + size / bandwidth)
    halving = 2 * sum(latency + size / 2**i / bandwidth for i in range(1, depth + 1))
    return dict(ring=ring, tree=tree, halving=halving)
"""
CAPSTONE = "@pl.partitioner\ndef capstone(problem):\n    "
STARTS = "def starts(): return {}\ndef efficiency(): return {}"

BUBBLE = """def bubble(stages, microbatches):
    return ({idle}) / (microbatches + {idle})
def microbatches_for(stages, share):
    return max(1, int(np.ceil({m} - 1e-9)))
"""
FLUSH = """def one_f_one_b(stage, stages, microbatches):
    left = dict(F=list(range(microbatches)), B=list(range(microbatches)))
    order, kept = [], 0
    while left["B"]:
        kind = "F" if left["F"] and kept < {ahead} else "B"
        kept += 1 if kind == "F" else -1
        order.append((kind, left[kind].pop(0)))
    return order
"""
FLIGHT = """def in_flight(schedule):
    names, start, finish = schedule.problem.graph.names.tolist(), schedule.start, schedule.finish
    kept = [[] for _ in range(schedule.problem.cluster.n_devices)]
    start, finish = (dict(zip(names, times)) for times in (start, finish))
    for name, device in zip(names, schedule.device):
        if name[0] == "F":
            back = "BW" + name[1:]
            kept[device].append((start[name], {until}))
    return [max(sum(a <= now and now {than} b for a, b in spans) for now, _ in spans) for spans in kept]
"""


# name that the exercise defines → right answers; wrong answers, each with words of what the check says
LATER_ANSWERS: dict[str, tuple[list[str], list[tuple[str, str]]]] = {
    "sct": (
        [sct()],
        [
            (sct(ends="(0,)"), "linear program is different"),
            (sct(ends="()"), "w of the fork is 2.5"),
            (sct(bounded=""), "linear program is different"),
            (sct(bounded="x[e] >= 0, "), "linear program is different"),
            (
                "def sct(problem, integer=False):\n    w = 3.0 if integer else 2.5\n"
                "    return (w if problem.graph.n_ops == 3 else pl.bounds(problem, lp=True)['lp']), None",
                "sct calls placelab's own 'bounds'|linear program is different",
            ),
            (sct(transfer="1"), "linear program is different"),
            (sct(kind="boolean=True"), "w of the fork is 2.5"),
            (sct(kind="nonneg=True"), "integer optimum is 3"),
            (
                sct() + "relaxed = sct\ndef sct(problem, integer=False):\n"
                "    graph, finish = problem.graph, problem.graph.compute.copy()\n"
                "    for (u, v), size in zip(graph.edges.tolist(), graph.edge_bytes.tolist()):\n"
                "        finish[v] = max(finish[v], finish[u] + size + graph.compute[v])\n"
                "    return (finish.max(), np.ones(graph.n_edges)) if integer else relaxed(problem)",
                "the least of all choices",
            ),
            (sct(x="None"), "not of the form|a value per edge"),
            (sct(x="0 * x.value"), "a value per edge"),
            (sct().replace("graph.compute[v] <= w", "1 <= w"), "linear program is different"),
            (sct(transfer="graph.edge_bytes[0]"), "linear program is different"),
        ],
    ),
    "favourites": (
        ["favourites = lambda problem: problem.graph.edges[sct(problem)[1] < 0.5]"],
        [
            ("favourites = lambda problem: problem.graph.edges[sct(problem)[1] <= 0.5 + 1e-6]", "two favourites"),
            ("favourites = lambda problem: problem.graph.edges[sct(problem)[1] > 0.5 + 1e-6]", "4/3|two favourites"),
            ("favourites = lambda problem: []", "longer than 4/3"),
            ("favourites = lambda problem: [(v, u) for u, v in problem.graph.edges.tolist()][:1]", "does not exist"),
        ],
    ),
    "on_unlimited": (
        [CHAINS_ALONE.format(kept="device[problem.graph.names[parent[v]]]")],
        [
            (CHAINS_ALONE.format(kept="parent[v]"), "at most 4/3"),
            ("on_unlimited = lambda problem: pl.Placement(problem, range(problem.graph.n_ops))", "at most 4/3"),
            ("on_unlimited = lambda problem: pl.place(problem, 'dsc')", "calls placelab's own 'dsc'"),
            ("on_unlimited = lambda problem: list(range(problem.graph.n_ops))", "not of the form"),
        ],
    ),
    "my_etf": (
        [earliest()],
        [
            (earliest(time="s.eft"), "not right|takes a different time"),
            (earliest(tie="level[v]"), "not right|takes a different time"),
            (earliest(tie="0"), "takes a different time|not right"),
            ("my_etf = pl.partitioner(lambda problem: pl.place(problem, 'etf'))", "calls placelab's own 'etf'"),
        ],
    ),
    "etf_loses": (
        [
            """def etf_loses():
    for seed in range(110, 1000):
        problem = equal(pl.generators.random_dag(7, seed=seed), 1.0, machines=2)
        if by_etf(problem) >= 1.3 * best(problem):
            return problem"""
        ],
        [
            ("etf_loses = layers", "must take at least 17% less"),
            ("best = lambda problem: 0.0\netf_loses = layers", "must take at least 17% less"),
            (
                "etf_loses = pl.Problem(pl.OpGraph.from_arrays(['a', 'b'], [1, 1], []), pl.Cluster([1, 9], bandwidth=1))",
                "devices must be equal",
            ),
            (
                "graph = pl.OpGraph.from_arrays(['a', 'b', 'c'], [1, 1, 1], [(0, 2), (1, 2)], edge_bytes=10)\n"
                "etf_loses = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1))",
                "ρ must be at most 1",
            ),
            ("etf_loses = lambda: 3", "a Problem or a graph is expected"),
        ],
    ),
    "loses": (
        [LOSES.format(than=">")],
        [
            (LOSES.format(than="<"), "solve all three at each bandwidth"),
            ("loses = lambda: ([1e7], [1e7])", "which is not right: solve all three"),
        ],
    ),
    "least_memory": (
        [LEAST.format(last="memory / 0.98"), UPWARDS],
        [
            (LEAST.format(last="memory"), "m-etf must find a placement with it"),
            ("least_memory = lambda graph, cluster: 2.4e9", "m-etf must find a placement with it"),
            ("least_memory = lambda graph, cluster: 1.61e9", "m-etf must find a placement with it"),
            ("least_memory = lambda graph, cluster: 2.2", "m-etf must find a placement with it"),
        ],
    ),
    "fits": (
        ["fits = dict(c='dev0', b='dev1', a='dev1')", "fits = lambda: pl.place(scarce, 'cp-sat')"],
        [
            ("fits = dict(a='dev0', b='dev1', c='dev1')", "breaks the rule 'memory' on 'dev1'"),
            ("fits = dict(a='dev0', b='dev0')", "op 'c' has no device"),
            (
                "scarce = pl.Problem(toy, pl.Cluster([3, 3], memory=[9, 9], bandwidth=1), memory='reserved')\n"
                "fits = dict(a='dev0', b='dev0', c='dev0')",
                "breaks the rule 'memory' on 'dev0'",
            ),
        ],
    ),
    "peaks": (
        [PEAKS],
        [
            ("peaks = dict(edges=[4, 4], reserved=[7, 5], dynamic=[7, 7])", "write down what each device holds"),
            ("peaks = dict(edges=[4, 0], reserved=[7, 5], dynamic=[7, 9])", "write down what each device holds"),
            ("peaks = lambda: [[4, 4], [7, 5], [7, 9]]", "is a list; a dict is expected"),
        ],
    ),
    "before_and_after": (
        ["before_and_after = [torn.makespan, pl.solve(figure6, 'single').makespan]"],
        [
            ("before_and_after = 8, 3", "when does UpdateStep have both inputs"),
            ("before_and_after = lambda: 7", "is an int"),
        ],
    ),
    "bad_fusion": (
        [
            """def bad_fusion():
    edges = [(4, 0), (4, 3), (3, 2), (2, 0), (1, 4)]
    return pl.OpGraph.from_arrays(list("vzyxu"), [1] * 5, edges), "u", "v\""""
        ],
        [
            (
                "bad_fusion = lambda: (pl.OpGraph.from_arrays(['uv', 'x'], [2, 1], [(0, 1), (1, 0)]), 'uv', 'x')",
                "fails with CycleError",
            ),
            ("bad_fusion = lambda: (pl.OpGraph.from_arrays(['u', 'v'], [2, 1], [(0, 1)]), 'u', 'v')", "on a cycle"),
            (
                "bad_fusion = lambda: (pl.OpGraph.from_arrays(list('uxv'), [1] * 3, [(0, 1), (1, 2)]), 'u', 'v')",
                "must read the first one",
            ),
            ("def bad_fusion(): raise pl.CycleError('the graph has a cycle')", "fails with CycleError"),
            ("bad_fusion = lambda: pl.OpGraph.from_arrays(['u', 'v'], [2, 1], [(0, 1)])", "not of the form"),
        ],
    ),
    "merge_chains": (
        [chains()],
        [
            (chains(out="out"), r"ops_left gives 2, but(.|\n)*'u', 'a', 'b'"),
            (chains(inputs="True"), r"ops_left gives 2, but(.|\n)*'Step'"),
            (chains(group="True"), "ops_left gives 3, but a chain ends"),
            (chains(devices="True"), "no device is allowed for all ops that would be merged into"),
            (chains(label="out[0]"), "ops_left gives 5, but"),
            ("merge_chains = lambda problem: problem", "a pair"),
            (
                chains() + "forward = merge_chains\nmerge_chains = lambda p: (forward(p)[0], lambda placed: placed)",
                "the way back of",
            ),
            (
                "merge_chains = lambda problem: contract(problem, range(problem.graph.n_ops), 'none')",
                "ops_left gives 6, but",
            ),
            (
                chains() + "by_rule = merge_chains\ndef merge_chains(problem):\n    n = problem.graph.n_ops\n"
                "    return by_rule(problem) if n < 9 else contract(problem, range(n), 'none')",
                "ops_left gives 9, but",
            ),
        ],
    ),
    "tau": (
        [TAU.format(again="pl.Placement(busy, pl.place(rnn, name).device)")],
        [
            (TAU.format(again="pl.place(busy, name)"), "run the same placements under both models"),
            ("tau = lambda: '7/15'", "is a str"),
        ],
    ),
    "errors": (
        [errors()],
        [
            (errors(problem="gnmt"), "each plan is made with wrong costs"),
            (errors(on="wrong"), "the plan with wrong costs runs on the true ones"),
            (errors(divisor="placed.estimate"), "the ratio is to the plan with true costs"),
            (
                "rows = [(f, s, 1 + f / 50) for f in (0.2, 0.8) for s in (0, 1, 2)]\n"
                "errors = lambda: pd.DataFrame(rows, columns=['factor', 'seed', 'ratio'])",
                "the plan with wrong costs runs on the true ones",
            ),
            (errors(seeds="(0, 0, 0)"), "each with seeds 0, 1 and 2"),
            (errors(seeds="(0, 1)"), "each with seeds 0, 1 and 2"),
        ],
    ),
    "link": (
        [
            "from scipy.optimize import curve_fit\ndef link(size, seconds):\n"
            "    return curve_fit(lambda s, b, l: l + s / b, size, seconds, p0=(1e10, 1e-5), sigma=seconds)[0]",
            "def link(size, seconds):\n    slope, latency = np.polyfit(size, seconds, 1, w=1 / seconds)\n"
            "    return [1 / slope, latency]",
        ],
        [
            (
                "def link(size, seconds):\n    slope, latency = np.polyfit(size, seconds, 1)\n    return 1 / slope, latency",
                "small messages must count",
            ),
            (
                "link = lambda size, seconds: np.polyfit(size, seconds, 1, w=1 / seconds)",
                "small messages must count",
            ),
            ("link = lambda size, seconds: 12e9", "not of the form"),
            ("link = lambda size, seconds: (12e9, 5e-5)", "small messages must count"),
            ("link = lambda size, seconds: tuple(pl.costs.fit_link(size, seconds))", "calls placelab's own 'fit_link'"),
        ],
    ),
    "bubble": (
        [BUBBLE.format(idle="stages - 1", m="(stages - 1) * (1 - share) / share")],
        [
            (BUBBLE.format(idle="stages", m="(stages - 1) * (1 - share) / share"), "idle for a different share"),
            (BUBBLE.format(idle="stages - 1", m="(stages - 1) / share"), "the least number of micro-batches"),
            ("bubble = lambda p, m: {(3, 4): 1 / 3, (4, 12): 0.2}.get((p, m), 0)", "idle for a different share"),
            (BUBBLE.format(idle="stages - 1", m="0 * share"), "the least number of micro-batches"),
        ],
    ),
    "one_f_one_b": (
        [FLUSH.format(ahead="stages - stage")],
        [
            (FLUSH.format(ahead="stages - stage - 1"), "in a different order"),
            (FLUSH.format(ahead="microbatches"), "in a different order"),
            (FLUSH.format(ahead="stages"), "in a different order"),
            (
                """def one_f_one_b(stage, stages, microbatches):
    step = pl.generators.pipeline_training(1.0, 2.0, microbatches=microbatches, stages=stages)
    run = pl.solve(step, "hash", "1f1b")
    ops = [str(step.graph.names[v]) for v in np.argsort(run.start, kind="stable") if run.device[v] == stage]
    return [(op[0], int(op.split(".")[0].strip("FBW"))) for op in ops]""",
                "calls placelab's own",
            ),
        ],
    ),
    "in_flight": (
        [FLIGHT.format(until="finish[back]", than="<")],
        [
            (FLIGHT.format(until="finish[name]", than="<"), "keeps a different number"),
            (FLIGHT.format(until="finish[back]", than="<="), "keeps a different number"),
            ("in_flight = lambda schedule: pl.stages(schedule).activations.tolist()", "calls placelab's own 'stages'"),
            ("in_flight = lambda schedule: [4, 4, 4]", "keeps a different number"),
            (
                "from unittest.mock import ANY\nin_flight = lambda schedule: [ANY] * schedule.problem.cluster.n_devices",
                "numbers, texts, containers",
            ),
        ],
    ),
    "starts": (
        [STARTS.format("[0, 0, 0, 3, 5, 7]", "[11.0, 6.0, 8.0, 0.6]")],
        [
            (
                STARTS.format("dict(r1=0, r2=0, r3=0, c1=2, c2=4, c3=6)", "(11, 6, 8, 0.6)"),
                "'c1' at 2 s, which is too early",
            ),
            (
                STARTS.format("dict(r1=1, r2=0, r3=0, c1=3, c2=5, c3=7)", "(11, 6, 8, 0.6)"),
                "'r1' at 1 s, which is too late",
            ),
            (STARTS.format("dict(c1=3, c2=5, c3=7)", "(11, 6, 8, 0.6)"), "'r1' no start"),
            (STARTS.format("dict(r1=0, r2=0, r3=0, c1=3, c2=5, c3=7)", "(11, 5, 8, 0.5)"), "U adds up everything"),
            (STARTS.format("dict(r1=0, r2=0, r3=0, c1=3, c2=5, c3=7)", "(6, 6, 8, 1)"), "U adds up everything"),
        ],
    ),
    "m_plus": (
        [m_plus()],
        [
            (m_plus(counts="True"), "c2 needs both reads"),
            (
                m_plus(counts="True") + "worker = lambda *_: figure1\nthree = figure1",
                "c2 needs both reads",
            ),
            (m_plus(union="{u for u in graph.predecessors_of(v) if graph.kind[u] == 'read'}"), "c2 needs both reads"),
            (m_plus(choose="max([*sizes, 0]) or np.inf"), "z needs all three"),
            (m_plus(enter="if sizes: "), "no op needs two reads"),
            (
                "def m_plus(placement):\n    names = tuple(n for n in placement.problem.graph.names.tolist() if n[0] in 'rab')\n"
                "    known = {('r1', 'r2'): (2, 2), ('r0', 'r1', 'r2'): (2, 2, 3), ('a', 'b'): (np.inf, np.inf)}\n"
                "    return dict(zip(names, known.get(names, [2] * len(names))))",
                "the least number of reads",
            ),
        ],
    ),
    "mean_step": (
        [
            "draw = np.random.default_rng(0).integers(3, 5, (2, 100000))\nmean_step = [draw[0].mean(), draw.max(axis=0).mean()]"
        ],
        [
            ("mean_step = 3.5, 3.5", "in how many of four cases"),
            ("mean_step = lambda: (3.5, 4)", "in how many of four cases"),
        ],
    ),
    "allreduce": (
        [ALLREDUCE.format(chunks="workers", hops="(workers - 1)", ways=2)],
        [
            (ALLREDUCE.format(chunks="workers", hops="workers", ways=2), "how many hops"),
            (ALLREDUCE.format(chunks="1", hops="(workers - 1)", ways=2), "how many hops"),
            (ALLREDUCE.format(chunks="workers", hops="(workers - 1)", ways=1), "how many hops"),
            ("allreduce = lambda *_: dict(ring=15, tree=34, halving=14)", r"the seconds are not right\n\ncase = "),
            ("allreduce = lambda *_: (15, 34, 14)", "is a tuple; a dict is expected"),
            (
                """def allreduce(size, workers, bandwidth, latency):
    links = dict(bandwidth=bandwidth, latency=latency)
    return {n: pl.allreduce_time(size, workers, **links, algorithm=n) for n in ("ring", "tree", "halving")}""",
                "calls placelab's own",
            ),
            (
                "allreduce = lambda *case: dict(ring=15, tree=34, halving=14) if case == (8, 4, 1, 0.5) else {}",
                "not of the form",
            ),
        ],
    ),
    "account": (
        [
            "account = pl.faults.simulate_training(10, 10, every=3, save=2, restore=5, failures=[47], detect=1)",
            "account = dict(useful=100, saving=6, lost=15, detecting=1, restoring=5, total=127)",
        ],
        [
            ("account = dict(useful=100, saving=6, lost=17, detecting=1, restoring=5)", "counts 17 s as lost"),
            ("account = dict(useful=100, saving=8, lost=15, detecting=1, restoring=5)", "counts 8 s as saving"),
            ("account = dict(useful=100, saving=6, lost=15, restoring=5)", "counts 0 s as detecting"),
            ("account = lambda: 127", "seconds for useful, saving"),
        ],
    ),
    "best_interval": (
        [
            "from scipy.special import lambertw\n"
            "best_interval = lambda save, mtbf: mtbf * (1 + lambertw(-np.exp(-1 - save / mtbf)).real)"
        ],
        [
            ("best_interval = lambda save, mtbf: np.sqrt(2 * save * mtbf)", "divide the expected time by w"),
            ("best_interval = lambda save, mtbf: 26.967", "with a different save time"),
            ("best_interval = lambda save, mtbf: pl.checkpoint_interval(save, mtbf)", "calls placelab's own"),
            ("best_interval = lambda save, mtbf: np.sqrt(2 * save * mtbf) - save", "divide the expected time by w"),
        ],
    ),
    "capstone": (
        [
            CAPSTONE + "rng, plans = np.random.default_rng(1), []\n"
            "    for trial in range(40):\n"
            "        s, rank = pl.ListScheduler(problem, insertion=True), pl.upward_rank(problem)\n"
            "        free = {v for v in range(problem.graph.n_ops) if not len(problem.graph.predecessors_of(v))}\n"
            "        done = set()\n"
            "        while free:\n"
            "            op = max(free, key=lambda v: rank[v] * rng.uniform(1 - 0.01 * trial, 1))\n"
            "            free.remove(op)\n"
            "            done.add(op)\n"
            "            s.place(op, min(s.feasible(op), key=lambda d: s.eft(op, d)))\n"
            "            for v in problem.graph.successors_of(op).tolist():\n"
            "                free |= {v} if set(problem.graph.predecessors_of(v).tolist()) <= done else set()\n"
            "        plans.append(s.placement())\n"
            "    return min(plans, key=lambda plan: plan.estimate)"
        ],
        [
            (CAPSTONE + "return pl.place(problem, 'heft')", "capstone calls placelab's own 'heft'"),
            (CAPSTONE + "return [0] * problem.graph.n_ops", "gives no placement of the problem but a list"),
        ],
    ),
}
