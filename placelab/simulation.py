"""What happens when a placement runs? The event simulator's public face."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from placelab.errors import FormatError, InfeasibleError, UnsupportedError, expect
from placelab.kernels import events, msr
from placelab.kernels.codes import CHANNEL, EDGES, FREE, PORTS, PORTS_BY_PRIORITY
from placelab.kernels.transfers import group_transfers
from placelab.planning import plan_arrays
from placelab.planning.ranks import in_classes
from placelab.problem.graph import frozen
from placelab.problem.problem import Problem
from placelab.schedule.memory import TOLERANCE
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TRANSFER, Schedule
from placelab.strategies import Order, Rule, Scheduler, default_scheduler, find, keywords, schedulers

I4, I8, F8 = np.int32, np.int64, np.float64
RULES = {"priority": events.PRIORITY, "fifo": events.FIFO, "msr": events.MSR, "planned": events.PLANNED}
_NONE = frozen(np.zeros(1, I4))  # stands for a column that a rule does not read
OOM = ("mark", "raise", "wait")


def simulate(
    problem: Problem,
    placement: Placement,
    scheduler: str | Scheduler | None = None,
    *,
    seed: int = 0,
    oom: str = "mark",
    **options: Any,
) -> Schedule:
    """Run a placement, event by event, under the problem's transfer and memory model.

    Parameters
    ----------
    problem
        What is run.
    placement
        Where each op runs.
    scheduler
        Name in the catalogue, or a decorated function. Default: ``planned`` if the placement has a plan, else ``pct``.
    seed
        For schedulers with a random part.
    oom
        What happens when a device lacks memory: ``"mark"`` runs on (see ``schedule.oom``); ``"raise"`` stops; ``"wait"`` lets
        ops wait for room. A run that lacks none without waiting is the result of ``"wait"``, too. Otherwise the run begins
        anew, and an op starts when its device has room for all it may hold until it ends: temporary bytes and outputs, as if
        each output stayed. That is more than an output takes that its consumer picks up at once (``edges``), because no op
        knows what runs next. Even an op of no time waits. Tensors on their way take room unasked, and are marked.
    options
        Options of the scheduler.

    Returns
    -------
    Schedule
        The same for the same input in every process: ties are broken by op number, never by a hash or a heap's whim.

    Raises
    ------
    InfeasibleError
        Under ``oom="raise"`` the first shortage; under ``"wait"`` a deadlock, naming the ops, never where ``"raise"``
        succeeds; a planned order that contradicts the edges.
    UnsupportedError
        No such scheduler or option, or ``planned`` after a partitioner without a plan.

    Notes
    -----
    O((ops + edges + transfers) log ops); ``"wait"`` runs twice where memory is short. Transfers start when their producer ends
    (``parallel``), are reserved in order of request (``sequential``) or wait for a channel; a tensor goes once to each device
    that consumes it. Of equals the one that became executable first goes first, at one instant a Send before an op, then the
    lower number. An instant is processed in rounds: completions, then transfers, then idle devices from the lowest up
    (:mod:`placelab.kernels.events`).

    References
    ----------
    Mayer et al. (2017) §5; Jeon et al., Baechi (2020) §3.4, §4.2; Hashemi et al. (2018) §1; Abadi et al. (2015) §3.2.2.

    Examples
    --------
    >>> import placelab as pl
    >>> chain = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    >>> problem = pl.Problem(chain, pl.Cluster([1.0, 1.0], bandwidth=2.0))
    >>> pl.simulate(problem, pl.Placement(problem, [0, 1]), "fifo").makespan
    7.0
    """
    expect(problem, Problem, "simulate")
    expect(placement, Placement, "simulate")
    if placement.problem is not problem:
        placement = replace(
            placement, problem=problem, bound=None, notes=()
        )  # what was proven, was of the other problem
    if oom not in OOM:
        raise FormatError(f"oom is {oom!r}; expected one of {', '.join(OOM)}")
    function = find(schedulers(), default_scheduler(placement) if scheduler is None else scheduler, "scheduler")
    given = keywords(function, options, seed=seed)
    run, order = _Run(problem, placement, seed, wait=False), None
    if function.static:
        order = _as_order(function(problem, placement, **given), problem, function.name, run.n_transfers)
    schedule = run.result_of(function, given, order)
    if oom == "wait" and len(schedule.oom):
        schedule = _Run(problem, placement, seed, wait=True).result_of(function, given, order)
    if oom == "raise" and len(schedule.oom):
        d, begin, _, short = schedule.oom[0].tolist()
        raise InfeasibleError(
            f"device {problem.cluster.names[d]!r} is out of memory at {begin:.6g} s, {short:,.0f} bytes short "
            f"(memory model {problem.memory!r}); place fewer ops there, or simulate with oom='mark' to see the whole run"
        )
    return schedule


def _as_order(answer: Any, problem: Problem, who: str, n_transfers: int) -> Order:
    """What a static scheduler returned, as a checked Order."""
    if not isinstance(answer, Order):
        pair = answer if isinstance(answer, tuple) else (answer, None)
        if len(pair) != 2:
            raise FormatError(
                f"scheduler {who!r} gave {len(pair)} arrays; expected op priorities, or (op, transfer) priorities"
            )
        answer = Order("priority", *pair)
    n, t, k = problem.graph.n_ops, problem.graph.n_tensors, problem.cluster.n_devices
    if answer.op is not None and np.shape(answer.op) != (n,):
        raise FormatError(f"scheduler {who!r} gave op priorities of shape {np.shape(answer.op)}; expected ({n},)")
    for label in ("transfer", "send"):
        value = getattr(answer, label)
        if value is not None and np.shape(value) not in ((t,), (t, k), (n_transfers, 1)):
            raise FormatError(
                f"scheduler {who!r} gave {label} priorities of shape {np.shape(value)}; expected ({t},), ({t}, {k}) or "
                f"({n_transfers}, 1)"
            )
    return answer


class _Run:
    """One simulation: the arrays that the kernel reads and writes."""

    def __init__(self, problem: Problem, placement: Placement, seed: int, wait: bool) -> None:
        self.problem, self.placement, self.seed = problem, placement, seed
        self.memory = problem.memory_model.code if wait and problem.memory_model.timed else FREE
        if wait and not problem.memory_model.timed:
            _check_lasting(problem, placement)
        graph, p = problem.graph, placement.device
        work, receivers, transfers = plan_arrays.transfers(problem)
        self.n_transfers = x = group_transfers(
            p, plan_arrays.successors(graph), graph.producer, work, receivers, transfers
        )
        self.receiver, self.local_start, self.local_end, self.consumer_ptr = receivers
        self.op_transfer_ptr, self.tensor, self.destination, self.edge_transfer = transfers
        self.tensor, self.destination = self.tensor[:x], self.destination[:x]
        self.source = p[graph.tensor_producer[self.tensor]]
        self.n_sends = x if problem.transfer_ops else 0

    def result_of(self, rule: Scheduler, given: dict[str, Any], order: Order | None) -> Schedule:
        """The schedule of a scheduler: under the order it gave, or asking it whenever a device must choose."""
        if order is None:
            self.ask(rule, given)
        else:
            self.follow(order)
        return self.schedule(rule.name)

    def follow(self, order: Order) -> None:
        """Run to the end under a static order."""
        arguments = self._arguments(order, RULES[order.rule])
        events.run_events(*arguments.values())
        self._finish(arguments)

    def ask(self, rule: Rule, given: dict[str, Any]) -> None:
        """Run to the end, asking `rule` whenever a device must choose."""
        arguments = self._arguments(Order("fifo"), events.ASK)
        enter, views, write_back = events.run_events.bind(*arguments.values())
        view = dict(zip(arguments, views, strict=True))
        state = State(self.problem, self.placement, view, self)
        while (device := enter()) >= 0:
            base, count = view["queue_base"][device], view["n_queued"][device]
            ready = sorted(v for v in map(int, view["queue"][base : base + count]) if state._fits(v))
            op = rule(state, device, ready, **given)
            if not isinstance(op, (int, np.integer)) or op not in ready:
                raise UnsupportedError(
                    f"scheduler {rule.name!r} chose {op!r}; it must choose one of the executable ops it was given"
                )
            view["state"][events.CHOICE] = int(op)
        write_back()
        self._finish(arguments)

    def schedule(self, scheduler: str) -> Schedule:
        """The result as a Schedule."""
        a = self.result
        transfers = np.empty(self.n_transfers, TRANSFER)
        transfers["tensor"], transfers["source"], transfers["destination"] = self.tensor, self.source, self.destination
        sends = transfers.copy() if self.n_sends else np.empty(0, TRANSFER)
        transfers["start"], transfers["finish"] = a["transfer_start"], a["transfer_finish"]
        if self.n_sends:
            sends["start"], sends["finish"] = a["send_start"], a["send_finish"]
        return Schedule(self.placement, a["start"], a["finish"], transfers, sends, scheduler, self.seed)

    # ---------------------------------------------------------------- the kernel's arguments

    def _arguments(self, order: Order, rule: int) -> dict[str, Any]:
        """Everything ``run_events`` takes, in its order."""
        problem, p = self.problem, self.placement.device
        graph, cluster = problem.graph, problem.cluster
        n, k, x = graph.n_ops, cluster.n_devices, self.n_transfers
        items = n + self.n_sends
        kind = self._transfer_rule(order)
        alpha, beta, gamma, delta = (float(w) for w in order.weights)
        rank, shared, item_of_rank = self._ranks(order, rule, items)
        sequence, sequence_ptr = self._sequence(order, rule)
        queue_ptr, send_base = self._queues()
        channel, pairs = self._channels(kind)
        pair_base = np.zeros(pairs + 1, I4)
        np.cumsum(np.bincount(channel, minlength=pairs), out=pair_base[1:])
        successor = graph.successors if rule == events.MSR else (_NONE,) * 3
        return dict(
            n_ops=n, n_transfers=x, n_devices=k, device=p, duration=frozen(problem.exec_times(p)),
            send_duration=frozen(problem.transfer_ops / cluster.speed), latency=cluster.latency.reshape(-1),
            bandwidth=cluster.bandwidth.reshape(-1), tensor_bytes=graph.tensor_bytes,
            receiver=self.receiver, local_start=self.local_start, local_end=self.local_end,
            op_transfer_ptr=self.op_transfer_ptr, consumer_ptr=self.consumer_ptr, tensor=self.tensor,
            destination=self.destination, source=self.source, channel=frozen(channel), edge_transfer=self.edge_transfer,
            rule=rule, rank=rank, shared=shared, item_of_rank=item_of_rank, sequence=sequence, sequence_ptr=sequence_ptr,
            transfers=kind, duplex=problem.duplex, with_sends=self.n_sends > 0, transfer_class=self._transfer_class(order),
            successor_ptr=successor[0], successor=successor[1], successor_inputs=successor[2],
            n_producers=graph.n_producers if rule == events.MSR else _NONE,
            most_inputs=self._most_inputs(rule), producer=graph.producer, static=order.static,
            alpha=alpha, beta=beta, gamma=gamma, delta=delta,
            memory=self.memory, limit=frozen(cluster.memory * (1 + TOLERANCE)), temporary=graph.temporary,
            outputs=self._outputs(), pred_ptr=graph.pred_ptr, pred_edge=graph.pred_edge, edge_tensor=graph.edge_tensor,
            op_tensor_ptr=graph.op_tensor_ptr, **self._uses(),
            state=_state(), clock=np.zeros(1), missing=np.diff(graph.pred_ptr), busy=np.zeros(k, I4),
            turn=np.full(len(shared), -1, I4), since=np.full(items if rule == events.MSR else len(shared), -1, I4),
            facts=_facts(items if rule == events.MSR else 0), links=np.full(3 * items if rule == events.MSR else 0, -1, I4),
            queue=np.empty(n + self.n_sends, I8), queue_base=queue_ptr, n_queued=np.zeros(k, I4), send_base=send_base,
            n_sends_queued=np.zeros(k, I4), set_aside=np.empty(items if self.memory else 1, I8),
            heap=np.empty(2 * (k + 2 * x + 1)), touched=np.empty(k, I4), touched_flag=np.zeros(k, I4),
            planned_next=sequence_ptr[:-1].copy(), port=np.zeros(2 * k), pair_queue=np.empty(len(channel), I8),
            pair_base=pair_base, pair_size=np.zeros(pairs, I4), pair_busy=np.zeros(pairs, I4), pairs=np.empty(pairs, I4),
            pair_flag=np.zeros(pairs, I4), requested=np.empty(len(channel), I4),
            start=np.full(n, np.nan), finish=np.full(n, np.nan), send_start=np.empty(self.n_sends),
            send_finish=np.empty(self.n_sends), transfer_start=np.empty(x), transfer_finish=np.empty(x),
        )  # fmt: skip

    def _most_inputs(self, rule: int) -> np.ndarray:
        """Edges into each op from any one producer, at most; MSR alone reads it."""
        if rule != events.MSR:
            return _NONE
        _, successor, inputs = self.problem.graph.successors
        most = np.zeros(self.problem.graph.n_ops, I4)
        np.maximum.at(most, successor, inputs)
        return frozen(most)

    def _transfer_rule(self, order: Order) -> int:
        code = self.problem.transfer_model.code
        return PORTS_BY_PRIORITY if code == PORTS and order.transfer is not None else code

    def _channels(self, kind: int) -> tuple[np.ndarray, int]:
        """The queue in which each transfer waits for its turn, and how many there are; none where transfers are reserved."""
        k, model, duplex = self.problem.cluster.n_devices, self.problem.transfer_model, self.problem.duplex
        source = self.source.astype(I8)
        if kind == PORTS_BY_PRIORITY:
            return source * k + self.destination, k * k
        if kind == CHANNEL:
            (channel,) = model.ends(source, self.destination, k, duplex)
            return channel, model.queues(k, duplex)
        return np.zeros(0, I8), 1

    def _ranks(self, order: Order, rule: int, items: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank of each op and Send in its queue, the lowest of its equals, the item of each rank; at a tie Sends come first."""
        n, sends, shared = self.problem.graph.n_ops, self.n_sends, np.empty(0, I4)
        if rule == events.PRIORITY:
            item, rank, shared = in_classes(
                np.concatenate([self._send_priorities(order), np.asarray(order.op, dtype=F8)])
            )
        else:
            ties = np.arange(n) if order.op is None or rule != events.FIFO else np.argsort(order.op, kind="stable")
            item = np.concatenate([np.arange(sends), sends + ties]).astype(I4)
            rank = np.empty(items, I4)
            rank[item] = np.arange(items)
        if not sends:
            return rank, shared, item
        ops_first = lambda column: np.concatenate([column[sends:], column[:sends]])  # noqa: E731
        return ops_first(rank), ops_first(shared), np.where(item < sends, n + item, item - sends).astype(I4)

    def _send_priorities(self, order: Order) -> np.ndarray:
        if not self.n_sends:
            return np.empty(0)
        given = order.send if order.send is not None else order.transfer
        if given is not None:
            return self._per_transfer(given)
        graph = self.problem.graph
        remote = self.edge_transfer >= 0
        priority = np.full(self.n_transfers, -np.inf)
        np.maximum.at(priority, self.edge_transfer[remote], np.asarray(order.op, dtype=F8)[graph.consumer[remote]])
        return priority

    def _per_transfer(self, value: Any) -> np.ndarray:
        value = np.asarray(value, dtype=F8)
        if value.shape == (self.n_transfers, 1):
            return value[:, 0]
        return value[self.tensor] if value.ndim == 1 else value[self.tensor, self.destination]

    def _transfer_class(self, order: Order) -> np.ndarray:
        """Dense rank of each transfer's priority, 0 the highest, equal priorities share one; empty when there are none."""
        if order.transfer is None:
            return np.empty(0, I8)
        return np.unique(-self._per_transfer(order.transfer), return_inverse=True)[1].astype(I8)

    def _sequence(self, order: Order, rule: int) -> tuple[np.ndarray, np.ndarray]:
        """Planned ops device by device."""
        p, k = self.placement.device, self.problem.cluster.n_devices
        ptr = np.zeros(k + 1, I4)
        if rule != events.PLANNED:
            return np.zeros(1, I4), ptr
        np.cumsum(np.bincount(p, minlength=k), out=ptr[1:])
        planned = np.asarray(order.op, dtype=I4)
        return planned[np.argsort(p[planned], kind="stable")], ptr

    def _queues(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each device's queue begins, and within it the part for Sends."""
        k = self.problem.cluster.n_devices
        ops = np.bincount(self.placement.device, minlength=k)
        sends = np.bincount(self.source, minlength=k) if self.n_sends else np.zeros(k, I8)
        base = np.zeros(k + 1, I4)
        np.cumsum(ops + sends, out=base[1:])
        return base, (base[:-1] + ops).astype(I4)

    def _uses(self) -> dict[str, np.ndarray]:
        """How often each tensor is still needed at home and each copy where it went; bytes in use at time 0."""
        graph, k = self.problem.graph, self.problem.cluster.n_devices
        if self.memory == FREE:
            return dict(home_uses=np.zeros(1, I4), copy_uses=np.zeros(1, I4), used=np.zeros(1))
        local = self.edge_transfer < 0
        home = np.bincount(graph.edge_tensor[local], minlength=graph.n_tensors) + np.bincount(
            self.tensor, minlength=graph.n_tensors
        )
        copies = np.bincount(self.edge_transfer[~local], minlength=self.n_transfers)
        used = np.bincount(self.placement.device, self.problem.lasting, minlength=k)
        return dict(home_uses=home.astype(I4), copy_uses=copies.astype(I4), used=used)

    def _outputs(self) -> np.ndarray:
        """Bytes each op's outputs take while it waits for room; ``edges`` does not count what nobody consumes."""
        graph = self.problem.graph
        if self.memory != EDGES:
            return graph.outputs
        size = np.where(np.diff(graph.tensor_ptr) > 0, graph.tensor_bytes, 0.0)
        return frozen(np.bincount(graph.tensor_producer, size, minlength=graph.n_ops).astype(F8))

    def _finish(self, arguments: dict[str, Any]) -> None:
        self.result = arguments
        if arguments["state"][events.DONE] < self.problem.graph.n_ops:
            raise InfeasibleError(_deadlock(self, arguments))


class State:
    """What a run-time rule may look at when it is asked: read-only.

    Attributes
    ----------
    problem, placement
        What is running, and where.
    time : float
        Now [s].
    random : numpy.random.Generator
        Seeded with the simulation's seed.
    """

    def __init__(self, problem: Problem, placement: Placement, view: dict[str, Any], run: _Run) -> None:
        self.problem, self.placement = problem, placement
        self._view, self._run = view, run

    @property
    def time(self) -> float:
        """Now [s]."""
        return float(self._view["clock"][0])

    @cached_property
    def random(self) -> np.random.Generator:
        """A generator seeded with the simulation's seed."""
        return np.random.default_rng(self._run.seed)

    def exec_time(self, op: int) -> float:
        """Seconds that op takes on its device."""
        return float(self._view["duration"][op])

    def idle(self, device: int) -> bool:
        """Whether nothing runs on that device at the moment."""
        return not self._view["busy"][device]

    def missing_inputs(self, op: int) -> int:
        """Number of inputs (edges) of that op that have not arrived yet."""
        return int(self._view["missing"][op])

    def executable_since(self, op: int) -> float:
        """Time at which the last input of an executable op arrived [s]; 0 for an op without inputs."""
        graph, view, run = self.problem.graph, self._view, self._run
        arrival = 0.0
        for e in graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]:
            x = run.edge_transfer[e]
            arrival = max(arrival, view["transfer_finish"][x] if x >= 0 else view["finish"][graph.producer[e]])
        return float(arrival)

    def _fits(self, op: int) -> bool:
        view = self._view
        names = (
            "memory",
            "used",
            "limit",
            "temporary",
            "outputs",
            "pred_ptr",
            "pred_edge",
            "edge_tensor",
            "edge_transfer",
        )
        d = view["device"][op]
        return bool(
            events.fits(op, d, *(view[a] for a in names), view["tensor_bytes"], view["home_uses"], view["copy_uses"])
        )


def _facts(items: int) -> np.ndarray:
    """What the queues of MSR know of each item before it is queued (:mod:`placelab.kernels.msr`)."""
    facts = np.zeros((items, 4), I4)
    facts[:, 3] = msr.NOWHERE
    return facts.reshape(-1)


def _state() -> np.ndarray:
    state = np.zeros(events.N_STATE, I8)
    state[events.CHOICE] = -1
    return state


def _check_lasting(problem: Problem, placement: Placement) -> None:
    need = np.bincount(placement.device, problem.lasting, minlength=problem.cluster.n_devices)
    over = np.flatnonzero(need > problem.cluster.memory * (1 + TOLERANCE))
    if len(over):
        d = over[0]
        raise InfeasibleError(
            f"device {problem.cluster.names[d]!r} has {problem.cluster.memory[d]:,.0f} bytes, but its ops reserve "
            f"{need[d]:,.0f} for the whole run; waiting cannot help: place fewer ops there"
        )


def _deadlock(run: _Run, arguments: dict[str, Any]) -> str:
    graph, cluster = run.problem.graph, run.problem.cluster
    left = np.flatnonzero(np.isnan(arguments["finish"]))
    ready = left[arguments["missing"][left] == 0]
    if run.memory != FREE:
        used = arguments["used"]
        lacks = [
            f"{graph.names[v]!r} on {cluster.names[d]!r} ({used[d]:,.0f} of {cluster.memory[d]:,.0f} bytes in use)"
            for v, d in zip(ready[:3], run.placement.device[ready[:3]], strict=True)
        ]
        more = f" and {len(ready) - 3} more" if len(ready) > 3 else ""
        if lacks:
            return (
                f"out of memory: {', '.join(lacks)}{more} wait for room that nothing will free; place fewer ops there"
            )
    first = left[arguments["sequence"][arguments["planned_next"][run.placement.device[left]]] == left]
    names = ", ".join(repr(graph.names[v]) for v in first[:3])
    return f"the planned order contradicts the graph: {names} wait for ops planned after them; plan each op after its inputs"
