"""Violations of a problem's rules by a schedule, found from the raw graph, cluster, placement and times.

Nothing here is shared with the simulator, the planners or the memory curves, so that it checks all of them independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from placelab.base.errors import UnsupportedError, expect
from placelab.schedule.catalogue import checked
from placelab.schedule.independent_checks import TOLERANCE, HeldBytes, differing, fair_bytes
from placelab.schedule.schedule import Schedule

Index = int | np.integer


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes
    ----------
    kind : str
        ``time`` (missing, negative or not finite), ``duration``, ``allowed`` (device constraints), ``colocation``,
        ``overlap`` (two ops at once on a device), ``precedence``, ``transfer`` (missing, twice, not needed, from the
        wrong device), ``transfer time``, ``send``, ``contention`` (two transfers at once on a port or channel; under ``fair``
        a number of bytes that is not its fair share of the links),
        ``memory`` (a span over the capacity), ``oom`` (the schedule's own list of such spans is wrong).
    op, device : str or None
        Names: the op that is wrong (the producer, for a transfer), and where.
    time : float
        Seconds; when it goes wrong.
    detail : str
        What was found and what was expected.
    """

    kind: str
    op: str | None
    device: str | None
    time: float
    detail: str


@checked
def validate(schedule: Schedule, *, memory: bool = True) -> list[Violation]:
    """Every violation of the problem's rules in a schedule; empty when it is legal.

    Parameters
    ----------
    schedule
        Simulated, planned or built by hand.
    memory
        Whether to check memory, too. One violation per maximal span over a capacity; ``schedule.oom`` must list the same spans.

    Returns
    -------
    list of Violation
        Rule by rule. Times that are missing or not finite, and tensors or devices that do not exist, are reported
        alone: nothing else can be checked then.

    Notes
    -----
    Times may be off by 1e-9 of the latest time. An op of no length may stand at the instant at which others begin or
    end, but not inside another one's run. O(n log n) for n ops, edges and transfers.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.datasets.load("topcuoglu"), pl.Cluster.uniform(2))
    >>> schedule = pl.solve(problem, "single")
    >>> validate(schedule)
    []
    """
    expect(schedule, Schedule, "validate")
    check = _Check(schedule)
    unreadable = list(check.times())
    if unreadable:
        return unreadable
    rules = [
        check.durations(),
        check.allowed(),
        check.colocation(),
        check.device_overlaps(),
        check.local_precedence(),
        check.remote_precedence(),
        check.transfers(),
        check.transfer_times(),
        check.sends(),
        check.contention(),
        check.memory() if memory else (),
    ]
    return [violation for rule in rules for violation in rule]


class _Check:
    """The schedule's columns, and one method per rule."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.problem = schedule.problem
        self.graph = self.problem.graph
        self.cluster = self.problem.cluster
        self.device = np.asarray(schedule.device)
        self.start = np.asarray(schedule.start)
        self.finish = np.asarray(schedule.finish)
        self.rows = np.asarray(schedule.transfers)
        self.sent = np.asarray(schedule.sends)
        self.k = self.cluster.n_devices

    def violation(self, kind: str, op: Index | None, device: Index | None, time: float, detail: str) -> Violation:
        name = None if op is None else str(self.graph.names[op])
        return Violation(kind, name, None if device is None else self.cluster.names[device], float(time), detail)

    @cached_property
    def slack(self) -> float:
        """Tolerance for rounding of times [s]."""
        ends = [column.max(initial=0.0) for column in (self.finish, self.rows["finish"], self.sent["finish"])]
        return TOLERANCE * max(ends)

    # ---------------------------------------------------------------- each op once, for as long as it takes

    def times(self) -> Iterator[Violation]:
        n = self.graph.n_ops
        for label, column in (("start", self.start), ("finish", self.finish), ("device", self.device)):
            if column.shape != (n,):
                yield self.violation("time", None, None, 0.0, f"{label} has shape {column.shape}; there are {n} ops")
                return
        for v in _where((self.device < 0) | (self.device >= self.k)):
            yield self.violation("allowed", v, None, self.start[v], f"on device {self.device[v]} of {self.k}")
        for v in _where(~_are_times(self.start, self.finish)):
            yield self.violation("time", v, None, np.nan, f"runs from {self.start[v]} to {self.finish[v]} s")
        for label, rows in (("transfer", self.rows), ("Send", self.sent)):
            known = (rows["tensor"] >= 0) & (rows["tensor"] < self.graph.n_tensors)
            for end in ("source", "destination"):
                known &= (rows[end] >= 0) & (rows[end] < self.k)
            for i in _where(~known):
                yield self.violation(
                    "transfer", None, None, np.nan, f"{label} {i} names no tensor or device: {rows[i]}"
                )
            for i in _where(known & ~_are_times(rows["start"], rows["finish"])):
                yield self.violation(
                    "time", self.producer(rows[i]), None, np.nan, f"{label} {i} has no times: {rows[i]}"
                )

    def durations(self) -> Iterator[Violation]:
        needed = self.exec_times()
        taken = self.finish - self.start
        for v in _where(~(np.abs(taken - needed) <= self.slack)):
            detail = f"runs for {taken[v]:.9g} s; expected {needed[v]:.9g}"
            yield self.violation("duration", v, self.device[v], self.start[v], detail)

    def exec_times(self) -> np.ndarray:
        """Seconds of each op on its device: those for the device's name, its type, or by default; else compute / speed.

        Seconds that were taken at a speed which is known are scaled to the device's.
        """
        graph = self.graph
        cluster = self.cluster
        seconds = graph.compute / cluster.speed[self.device]
        for d in range(self.k if graph.time is not None else 0):
            here = self.device == d
            for key in (cluster.names[d], cluster.types[d], graph.time_default):
                if graph.time is not None and key in graph.time_types:
                    j = graph.time_types.index(key)
                    taken_at = cluster.speed[d] if np.isnan(graph.time_speed[j]) else graph.time_speed[j]
                    given = graph.time[here, j] * (taken_at / cluster.speed[d])
                    seconds[here] = np.where(np.isnan(given), seconds[here], given)
                    break
        return seconds

    # ---------------------------------------------------------------- where ops may be

    def allowed(self) -> Iterator[Violation]:
        good = self.problem.may_run[np.arange(self.graph.n_ops), self.device]
        for s, names in enumerate(self.graph.device_sets):
            good &= (self.graph.device_set != s) | self.matching(names)[self.device]
        for v in _where(~good):
            yield self.violation("allowed", v, self.device[v], self.start[v], "may not run on this device")

    def matching(self, names: tuple[str, ...]) -> np.ndarray:
        """Whether each device's name, type or host is among `names`; if none is and ``*`` is one of them, every device."""
        every = zip(self.cluster.names, self.cluster.types, self.cluster.hosts, strict=True)
        named = np.array([not {name, kind, host}.isdisjoint(names) for name, kind, host in every])
        return named | ("*" in names and not named.any())

    def colocation(self) -> Iterator[Violation]:
        """Each op is on the device of the first op of its group; this covers groups that share an op, too."""
        wrong: dict[int, int] = {}
        for group in (self.graph.group, self.problem.group):
            grouped = _where(group >= 0)
            if not len(grouped):
                continue
            _, first, member_of = np.unique(group[grouped], return_index=True, return_inverse=True)
            first = grouped[first][member_of]
            apart = self.device[grouped] != self.device[first]
            wrong.update(zip(grouped[apart], first[apart], strict=True))
        for v, leader in sorted(wrong.items()):
            where = f"{self.graph.names[leader]!r}, which is on {self.cluster.names[self.device[leader]]}"
            yield self.violation("colocation", v, self.device[v], self.start[v], f"must share the device of {where}")

    # ---------------------------------------------------------------- one at a time

    def device_overlaps(self) -> Iterator[Violation]:
        n = self.graph.n_ops
        busy = np.concatenate([self.device, self.sent["source"]])
        start = np.concatenate([self.start, self.sent["start"]])
        finish = np.concatenate([self.finish, self.sent["finish"]])
        label = lambda i: repr(str(self.graph.names[i])) if i < n else f"the Send of {self.label(self.sent[i - n])}"  # noqa: E731
        for i, j in _overlaps(busy, start, finish, self.slack):
            op = i if i < n else self.producer(self.sent[i - n])
            detail = f"{label(i)} begins before {label(j)} ends at {finish[j]:.9g} s"
            yield self.violation("overlap", op, busy[i], start[i], detail)

    @cached_property
    def follows(self) -> np.ndarray:
        """What of each transfer's latency comes after its bytes [s]; it occupies nothing for so long."""
        return self.cluster.latency[self.rows["source"], self.rows["destination"]] * (self.problem.latency == "follows")

    def contention(self) -> Iterator[Violation]:
        """Each transfer occupies its channel, or its two devices' ports, until it ends or its latency follows."""
        rows = self.rows
        model = self.problem.transfers
        if model == "parallel":
            return
        if model == "fair":
            yield from self.fair_shares()
            return
        if model == "channel":
            port = rows["source"] * self.k + rows["destination"]
            row = np.arange(len(rows))
        elif model == "sequential":
            shift = self.k if self.problem.duplex else 0  # in-ports are other ports than out-ports
            port = np.concatenate([rows["source"], rows["destination"] + shift])
            row = np.tile(np.arange(len(rows)), 2)
        else:
            raise UnsupportedError(
                f"validate has no check of {model!r} transfers; write it in _Check.contention of placelab/analysis/validation.py"
            )
        free = rows["finish"] - self.follows
        for i, j in _overlaps(port, rows["start"][row], free[row], self.slack):
            first = rows[row[j]]
            second = rows[row[i]]
            where = port[i] % self.k if model == "sequential" else first["source"]
            at = f"{'ends' if self.problem.latency == 'holds' else 'lets go'} at {free[row[j]]:.9g}"
            detail = f"{self.label(second)} begins before {self.label(first)} {at} s ({model})"
            yield self.violation("contention", self.producer(second), where, second["start"], detail)

    def fair_shares(self) -> Iterator[Violation]:
        """Each transfer gets its bytes, no more and no fewer, when those that are under way share all links fairly."""
        rows = self.rows
        cluster = self.cluster
        link = (rows["source"], rows["destination"])
        size = self.graph.tensor_bytes[rows["tensor"]]
        begin = rows["start"] + cluster.latency[link] - self.follows
        alone = cluster.narrowest[link]
        flows = _where((size > 0) & np.isfinite(alone))
        pair = link[0].astype(np.int64) * self.k + link[1]
        end = np.maximum(begin, rows["finish"] - self.follows)
        got = fair_bytes(cluster, pair[flows], begin[flows], end[flows])
        with np.errstate(over="ignore"):
            allowed = 2 * self.slack * alone[flows] + TOLERANCE * size[flows]
        wrong = ~(np.abs(got - size[flows]) <= allowed)
        for i, received in zip(flows[wrong], got[wrong], strict=True):
            yield self.bad_row("contention", i, f"gets {received:.9g} bytes by its end; expected {size[i]:.9g} (fair)")

    # ---------------------------------------------------------------- inputs come before their consumers

    @cached_property
    def edge_destination(self) -> np.ndarray:
        """Device each edge's tensor must reach."""
        return self.device[self.graph.consumer]

    @cached_property
    def moves(self) -> np.ndarray:
        """Whether each edge leaves its producer's device."""
        return self.device[self.graph.producer] != self.edge_destination

    def local_precedence(self) -> Iterator[Violation]:
        u = self.graph.producer
        v = self.graph.consumer
        late = self.finish[u] - self.start[v]
        for e in _where(~self.moves & (late > self.slack)):
            yield self.late(v[e], self.finish[u[e]], repr(str(self.graph.names[u[e]])))

    def late(self, v: Index, arrival: float, what: str) -> Violation:
        detail = f"starts before {what} is there at {arrival:.9g} s"
        return self.violation("precedence", v, self.device[v], self.start[v], detail)

    @cached_property
    def edge_key(self) -> np.ndarray:
        """One number for each edge's (tensor, device it must reach)."""
        return self.graph.edge_tensor.astype(np.int64) * self.k + self.edge_destination

    @cached_property
    def row_key(self) -> np.ndarray:
        """One number for each transfer's (tensor, destination)."""
        return self.rows["tensor"].astype(np.int64) * self.k + self.rows["destination"]

    @cached_property
    def by_key(self) -> np.ndarray:
        """Transfers by (tensor, destination); of equals the first one first."""
        return self.row_key.argsort(kind="stable")

    @cached_property
    def edge_row(self) -> np.ndarray:
        """Transfer that brings each edge's tensor, or -1; shape (n_edges,)."""
        if not len(self.rows):
            return np.full(len(self.edge_key), -1)
        key = self.row_key[self.by_key]
        place = np.minimum(key.searchsorted(self.edge_key), len(key) - 1)
        return np.where(key[place] == self.edge_key, self.by_key[place], -1)

    def transfers(self) -> Iterator[Violation]:
        """One transfer per (tensor, destination) that is needed, no other, from the producer's device."""
        rows = self.rows
        graph = self.graph
        for i in _where(~_among(self.row_key, self.edge_key[self.moves])):
            yield self.bad_row("transfer", i, "is not needed")
        for i in _where(rows["source"] != self.device[graph.tensor_producer[rows["tensor"]]]):
            yield self.bad_row("transfer", i, "does not come from its producer's device")
        key = self.row_key[self.by_key]
        for i in np.sort(self.by_key[1:][key[1:] == key[:-1]]):
            yield self.bad_row("transfer", i, "is there twice")
        missing = _where(self.moves & (self.edge_row < 0))
        for e in missing[np.unique(self.edge_key[missing], return_index=True)[1]] if len(missing) else ():
            u = graph.producer[e]
            d = self.edge_destination[e]
            detail = f"tensor {graph.edge_tensor[e]} is not sent to {graph.names[graph.consumer[e]]!r}"
            yield self.violation("transfer", u, d, self.finish[u], detail)

    def remote_precedence(self) -> Iterator[Violation]:
        there = _where(self.moves & (self.edge_row >= 0))
        arrival = self.rows["finish"][self.edge_row[there]]
        late = arrival > self.start[self.graph.consumer[there]] + self.slack
        for e, time in zip(there[late], arrival[late], strict=True):
            yield self.late(self.graph.consumer[e], time, self.label(self.rows[self.edge_row[e]]))

    def transfer_times(self) -> Iterator[Violation]:
        """A transfer takes latency + bytes / bandwidth and begins when its producer (or its Send) has ended.

        Where links are shared it may take longer, unless nothing limits it.
        """
        rows = self.rows
        cluster = self.cluster
        link = rows["source"], rows["destination"]
        bandwidth = cluster.narrowest[link] if self.problem.transfers == "fair" else cluster.bandwidth[link]
        size = self.graph.tensor_bytes[rows["tensor"]]
        needed = cluster.latency[link] + size / bandwidth
        taken = rows["finish"] - rows["start"]
        longer = (size > 0) & np.isfinite(bandwidth) & (self.problem.transfers == "fair")
        for i in _where(~((taken >= needed - self.slack) & (longer | (taken <= needed + self.slack)))):
            yield self.bad_row("transfer time", i, f"takes {taken[i]:.9g} s; expected {needed[i]:.9g}")
        ready = self.finish[self.graph.tensor_producer[rows["tensor"]]]
        for i in _where(rows["start"] < ready - self.slack):
            yield self.bad_row("precedence", i, f"begins before its producer ends at {ready[i]:.9g} s")

    def sends(self) -> Iterator[Violation]:
        """One Send per transfer, row by row, on the source, after the producer and before the transfer."""
        rows = self.rows
        sent = self.sent
        expected = len(rows) if self.problem.transfer_ops else 0
        if len(sent) != expected:
            yield self.violation("send", None, None, 0.0, f"{len(sent)} Sends; expected {expected}")
        if len(sent) != expected or not expected:
            return
        other = sum(sent[column] != rows[column] for column in ("tensor", "source", "destination"))
        for i in _where(other):
            yield self.bad_row("send", i, f"has the Send of another one: {sent[i]}")
        needed = self.problem.transfer_ops / self.cluster.speed[sent["source"]]
        taken = sent["finish"] - sent["start"]
        for i in _where(~(np.abs(taken - needed) <= self.slack)):
            yield self.bad_row("send", i, f"has a Send of {taken[i]:.9g} s; expected {needed[i]:.9g}")
        for i in _where(sent["start"] < self.finish[self.graph.tensor_producer[sent["tensor"]]] - self.slack):
            yield self.bad_row("send", i, "has a Send that begins before its producer ends")
        for i in _where(rows["start"] < sent["finish"] - self.slack):
            yield self.bad_row("send", i, f"begins before its Send ends at {sent['finish'][i]:.9g} s")

    def bad_row(self, kind: str, i: Index, what: str) -> Violation:
        row = self.rows[i]
        return self.violation(kind, self.producer(row), row["source"], row["start"], f"{self.label(row)} {what}")

    def producer(self, row: np.void) -> int:
        return int(self.graph.tensor_producer[row["tensor"]])

    def label(self, row: np.void) -> str:
        source, destination = (self.cluster.names[row[end]] for end in ("source", "destination"))
        return f"tensor {row['tensor']} of {self.graph.names[self.producer(row)]!r} from {source} to {destination}"

    # ---------------------------------------------------------------- memory

    def memory(self) -> Iterator[Violation]:
        spans = HeldBytes(self.schedule).spans_over() if self.problem.memory != "none" else []
        for d, begin, end, short in spans:
            detail = f"{short:.9g} bytes over the capacity of {self.cluster.memory[d]:.9g} until {end:.9g} s"
            yield self.violation("memory", None, d, begin, detail)
        given = [tuple(row) for row in self.schedule.oom.tolist()]
        for d, begin, end, short in differing(spans, given, self.slack, TOLERANCE * self.cluster.memory):
            detail = f"{short:.9g} bytes short until {end:.9g} s: only in the schedule's list, or missing there"
            yield self.violation("oom", None, d, begin, detail)


def _where(wrong: np.ndarray) -> np.ndarray:
    """Numbers of the entries that are True; `np.flatnonzero` takes five times as long for a few."""
    return wrong.nonzero()[0]


def _among(value: np.ndarray, few: np.ndarray) -> np.ndarray:
    """Whether each value is one of a few."""
    if not len(few):
        return np.zeros(len(value), bool)
    rising = np.sort(few)
    return rising[np.minimum(rising.searchsorted(value), len(rising) - 1)] == value


def _are_times(start: np.ndarray, finish: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.isfinite(start) & np.isfinite(finish) & (start >= 0) & (finish >= 0)


def _overlaps(resource: np.ndarray, start: np.ndarray, finish: np.ndarray, slack: float) -> Iterator[tuple[int, int]]:
    """Pairs (later, earlier) of intervals that use one resource at once: each interval with one that it runs into."""
    order = np.lexsort((finish, start, resource))
    r = resource[order]
    s = start[order]
    f = finish[order]
    clash = (r[1:] == r[:-1]) & (s[1:] < f[:-1] - slack)
    if not clash.any():
        return
    for one in np.unique(r[1:][clash]):  # a resource without a clash between neighbours has none at all
        a, b = np.searchsorted(r, [one, one + 1])
        yield from ((order[a + i], order[a + j]) for i, j in _clashes(s[a:b], f[a:b], slack))


def _clashes(start: np.ndarray, finish: np.ndarray, slack: float) -> Iterator[tuple[int, int]]:
    """Among intervals sorted by (start, finish), those that overlap an earlier one.

    Interval i clashes when some j < i begins before i ends and ends after i begins, by more than rounding.
    """
    latest = np.maximum.accumulate(finish)
    before = np.minimum(np.searchsorted(start, finish - slack), np.arange(len(start)))
    for i in _where((before > 0) & (latest[before - 1] > start + slack)).tolist():
        yield i, int(np.argmax(finish[: before[i]]))
