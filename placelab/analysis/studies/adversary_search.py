"""Search for a problem on which one strategy loses to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from placelab.analysis.comparing import several
from placelab.analysis.measures import ordering_efficiency
from placelab.base.errors import FormatError, InfeasibleError, PlacelabError, UnsupportedError, expect
from placelab.base.interrupts import need
from placelab.base.leaving import made_apart
from placelab.base.progress import COMPILING, Progress, Report, never, silent
from placelab.planning.lower_bounds import bounds
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Partitioner, Scheduler, checked, find, partitioners, schedulers
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulated
from placelab.strategies.placing import run_to_solve

if TYPE_CHECKING:
    import pandas as pd


HOT = 10.0  # temperature at the first step
COLD = 0.1  # and after the last
PUBLISHED_COOLING = 0.99  # of the temperature by each step: 459 steps from HOT to COLD
LEAST = 0.1  # of each weight of a small instance at first, as the next
MOST = 1.0
CHANGE = 0.1  # of a weight by a move, at most
SIZES = (3, 5)  # ops and devices of a small instance
STEP = 0.25  # of the logarithm of a varied quantity: a move changes it by at most 28 %

Edges = dict[tuple[int, int], float]  # (producer, consumer) → bytes
EQUAL = ("devices", "links")  # what a search can be told to keep equal
OBJECTIVES = ("makespan", "gap", "efficiency")
FIRST = 1.0  # seconds that a search has for its first step, however soon it is cancelled
RULES = ("metropolis", "published")
COLUMNS = ("restart", "step", "temperature", "value", "taken", "best")

Pair = tuple[Partitioner, Scheduler | None]
Strategy = str | Partitioner | tuple[str | Partitioner, str | Scheduler | None]


@dataclass(frozen=True, eq=False)
class Adversary:
    """A problem on which a strategy does badly; :func:`adversarial` makes it.

    ``placelab.explore(found.problem, partitioner="cpop", compare_with=found.b)`` shows one schedule before the other.

    Attributes
    ----------
    problem : Problem
        The instance. Where the search began with small ones, ``problem.graph.save("name.json")`` is a dataset, cluster
        included.
    a, b : Schedule
        What the two strategies make of it.
    value : float
        What the search maximised, for this problem.
    path : DataFrame
        One row per step: ``restart``, ``step``, ``temperature``, the ``value`` tried (NaN where a strategy gave no result),
        whether it was ``taken``, and the ``best`` so far.
    """

    problem: Problem
    a: Schedule
    b: Schedule
    value: float
    path: pd.DataFrame


@checked
def adversarial(
    a: Strategy,
    b: Strategy,
    *,
    around: Problem | None = None,
    factor: float = 2.0,
    least: float = LEAST,
    equal: str | Iterable[str] = (),
    objective: str = "makespan",
    restarts: int = 10,
    steps: int = 1000,
    rule: str = "metropolis",
    seed: int = 0,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Adversary:
    r"""Search for a problem on which strategy `a` loses to strategy `b`, by simulated annealing over problems.

    Parameters
    ----------
    a, b
        A partitioner, or a pair (partitioner, scheduler); with a partitioner alone the default scheduler runs its placement.
    around
        A problem to begin with, whose structure is kept: only costs, bytes, speeds and bandwidths move, each within `factor`.
        Default: chains of 3 to 5 ops on 3 to 5 devices with weights from 0.1 to 1, whose edges come and go, too.
    least
        Below which no move takes a weight of these small problems. The public program had 1e-9 at first and has 0.1 now; with
        devices and links of almost no speed ratios have no end.
    equal
        ``"devices"``, ``"links"`` or both: those of the small problems are all 1, and none changes; with `around` they stay as
        they are. For strategies that are made for equal ones.
    objective
        What is maximised: ``"makespan"``, that of `a` over that of `b`; ``"gap"``, that of `a` over the best lower bound;
        ``"efficiency"``, :math:`2 - E` of `a` (:func:`placelab.metrics`). `b` has no part in the last two.
    restarts, steps
        Number of searches, each from a different beginning (with `around`: from the same one), and of steps of each.
    rule
        ``"metropolis"``: a better problem is always taken, a worse one of ratio :math:`r = new / old` with probability
        :math:`\exp(-(1 - r) / T)`; T falls from 10 to 0.1 over the steps. ``"published"``: as the published program does,
        :math:`\exp(-r / T)`, which favours worse problems, and T falls by ×0.99 a step, so that 459 steps are made at most.
    seed
        Of all random choices, and of the strategies.
    progress
        Called now and then with a :class:`placelab.base.progress.Progress`; its text has the best value so far.
    cancel
        Called after each step and several times a second; when it returns True, the step under way is given up and the best
        problem so far returned. The first step has a second.

    Returns
    -------
    Adversary
        The problem, both schedules, the value, and the path that led there. The first of equal problems wins. The same for
        the same seed.

    Raises
    ------
    InfeasibleError, UnsupportedError
        One of the strategies gives no result for any beginning.
    FormatError
        An option has no such value.
    PlacelabError
        The search was cancelled before its first step was done.

    Notes
    -----
    Each step places and simulates twice: 2 · restarts · steps runs at most.

    References
    ----------
    Coleman, Krishnamachari (2024), PISA: an adversarial approach to comparing task graph scheduling algorithms,
    arXiv 2403.07120.

    Examples
    --------
    >>> found = adversarial("single", "heft", restarts=1, steps=60, seed=3)
    >>> found.value == found.a.makespan / found.b.makespan > 1
    True
    """
    need("pandas")
    import pandas as pd

    chosen = list(several(equal))
    for one in chosen:
        expect(one, str, "adversarial, in equal,")
    same = frozenset(chosen)
    _check(around, factor, least, same, objective, rule, restarts, steps)
    trial = _Trial(_pair(a), _pair(b), objective, seed)
    random = np.random.default_rng(seed)
    report = progress or silent
    stopped = cancel or never
    begun = monotonic()
    rows: list[tuple] = []
    best: _Found | None = None

    def searches() -> Iterator[tuple[int, tuple, _Found]]:
        for restart in range(restarts):
            begin = SmallInstance.start(random, least, same) if around is None else Variation.of(around, factor, same)
            for row, found in _annealed(trial, begin, random, steps, rule):
                yield restart, row, found

    def stop() -> bool:
        return (best is not None or monotonic() > begun + FIRST) and stopped()

    for restart, row, found in made_apart(
        lambda left: searches(),
        stop,
        lambda: report(Progress(COMPILING, len(rows) / (restarts * (steps + 1)))),
        ahead=100,
    ):
        if best is None or found.value > best.value:
            best = found
        rows.append((restart, *row, best.value))
        report(Progress(f"{best.value:.3g} ×", (restart + row[0] / steps) / restarts))
    if best is None:
        raise PlacelabError(
            "adversarial was cancelled before its strategies had run once; there is no problem to return"
        )
    other = best.b or trial.run_b(best.problem)
    return Adversary(best.problem, best.a, other, best.value, pd.DataFrame(rows, columns=list(COLUMNS)))


class _Found(NamedTuple):
    """A problem, its value, and what the strategies make of it; without `b` where its value needs none."""

    value: float
    problem: Problem
    a: Schedule
    b: Schedule | None


@dataclass(frozen=True)
class _Trial:
    """Two strategies, and how what they make of a problem is valued."""

    a: Pair
    b: Pair
    objective: str
    seed: int

    def run(self, problem: Problem) -> _Found:
        """Value a problem; raises what the strategies raise, NaN is no value."""
        one = simulated(*run_to_solve(problem, *self.a, seed=self.seed))  # not `solve`: it would remember each problem
        other = None
        if self.objective == "efficiency":
            return _Found(2.0 - ordering_efficiency(one), problem, one, other)
        if self.objective == "makespan":
            other = self.run_b(problem)
        least = _bound(problem) if other is None else other.makespan
        return _Found(one.makespan / least if least > 0 else np.nan, problem, one, other)

    def run_b(self, problem: Problem) -> Schedule:
        """What the second strategy makes of a problem."""
        return simulated(*run_to_solve(problem, *self.b, seed=self.seed))


def _bound(problem: Problem) -> float:
    return max(value for value in bounds(problem, inputs=True).values() if np.isfinite(value))


def _annealed(
    trial: _Trial, begin: Instance, random: np.random.Generator, steps: int, rule: str
) -> Iterator[tuple[tuple, _Found]]:
    """Yield per step (step, temperature, value, taken), and what is present then."""
    now = begin
    present = trial.run(begin.problem())
    yield (0, HOT, present.value, True), present
    cooling = PUBLISHED_COOLING if rule == "published" else (COLD / HOT) ** (1 / steps)
    temperature = HOT
    for step in range(1, steps + 1):
        if rule == "published" and temperature < COLD:
            return
        tried = now.moved(random)
        try:
            found = trial.run(tried.problem())
        except (InfeasibleError, UnsupportedError):
            found = present._replace(value=np.nan)
        taken = _taken(found.value, present.value, temperature, rule, random.random())
        if taken:
            now = tried
            present = found
        yield (step, temperature, found.value, taken), present
        temperature *= cooling


def _taken(new: float, old: float, temperature: float, rule: str, chance: float) -> bool:
    if not np.isfinite(new):
        return False
    ratio = new / old
    worse = ratio if rule == "published" else 1 - ratio
    return bool(ratio >= 1 or chance < np.exp(-worse / temperature))


def _pair(given: Strategy) -> Pair:
    partitioner, scheduler = given if isinstance(given, tuple) else (given, None)
    found = find(partitioners(), partitioner, "partitioner")
    return found, None if scheduler is None else find(schedulers(), scheduler, "scheduler")


def _check(
    around: Any, factor: float, least: float, equal: frozenset, objective: str, rule: str, restarts: int, steps: int
) -> None:
    if around is not None:
        expect(around, Problem, "adversarial")
    named = [("objective", objective, OBJECTIVES), ("rule", rule, RULES), *(("equal", one, EQUAL) for one in equal)]
    for label, value, known in named:
        if value not in known:
            raise FormatError(f"{label} is {value!r:.60}; expected {' or '.join(map(repr, known))}")
    if not factor > 1 or not np.isfinite(factor):
        raise FormatError(f"factor is {factor!r:.60}; expected a number above 1")
    if not 0 < least <= LEAST:
        raise FormatError(f"least is {least!r:.60}; expected a number above 0, at most {LEAST}")
    if min(restarts, steps) < 1:
        raise FormatError(f"restarts is {restarts!r:.20} and steps is {steps!r:.20}; expected 1 or more")


# ---------------------------- problems that the search moves through: small ones of any structure, and variations of a given one


class Instance(Protocol):
    """A problem, and the problems next to it."""

    def problem(self) -> Problem:
        """The problem itself."""

    def moved(self, random: np.random.Generator) -> Instance:
        """A neighbour."""


@dataclass(frozen=True)
class SmallInstance:
    """Weights of ops, devices, links and edges, each between `least` and 1, without units.

    Attributes
    ----------
    compute, speed
        Of each op and device.
    link
        Bandwidth between two devices, the same in both directions, shape (n_devices, n_devices); the diagonal means nothing.
    edges
        Bytes by (producer, consumer).
    least
        Below which no move takes a weight.
    equal
        Of ``"devices"`` and ``"links"`` those whose weights are 1 and stay so.
    """

    compute: np.ndarray
    speed: np.ndarray
    link: np.ndarray
    edges: Edges
    least: float = LEAST
    equal: frozenset[str] = frozenset()

    @classmethod
    def start(
        cls, random: np.random.Generator, least: float = LEAST, equal: frozenset[str] = frozenset()
    ) -> SmallInstance:
        """A chain of 3 to 5 ops on 3 to 5 devices, all weights drawn evenly from 0.1 to 1, but those of equal ones."""
        n, k = random.integers(SIZES[0], SIZES[1] + 1, size=2)
        link = np.triu(random.uniform(LEAST, MOST, (k, k)), 1)
        edges = {(v, v + 1): random.uniform(LEAST, MOST) for v in range(n - 1)}
        compute = random.uniform(LEAST, MOST, n)
        speed = random.uniform(LEAST, MOST, k)
        link = link + link.T
        speed = np.ones(k) if "devices" in equal else speed
        return cls(compute, speed, 1 - np.eye(k) if "links" in equal else link, edges, least, equal)

    def problem(self) -> Problem:
        """The problem, in plain numbers; its graph's metadata hold the cluster."""
        bandwidth = self.link + np.eye(len(self.speed))  # the diagonal means nothing
        own = {"speed": self.speed.tolist(), "bandwidth": bandwidth.tolist(), "latency": 0.0}
        metadata = {"name": "adversary", "costs": "units", "cluster": own}
        edges = sorted(self.edges)
        graph = OpGraph.from_arrays(
            [f"t{v}" for v in range(len(self.compute))],
            self.compute,
            edges,
            edge_bytes=[self.edges[edge] for edge in edges],
            metadata=metadata,
        )
        return Problem(graph, Cluster(self.speed, bandwidth=bandwidth, latency=0.0))

    def moved(self, random: np.random.Generator) -> SmallInstance:
        """One of six moves with equal chance: add or drop an edge, change an edge, an op, a device or a link.

        Equal devices and links have none. A move that is not possible, such as dropping the edge of a graph without edges, is
        drawn again.
        """
        moves = [self._added, self._dropped, self._edge, self._op]
        moves += [] if "devices" in self.equal else [self._device]
        moves += [] if "links" in self.equal else [self._link]
        while True:
            if (found := moves[random.integers(len(moves))](random)) is not None:
                return found

    def _added(self, random: np.random.Generator) -> SmallInstance | None:
        n = len(self.compute)
        free = [
            (u, v)
            for u in range(n)
            for v in range(n)
            if u != v and (u, v) not in self.edges and not _reaches(self.edges, v, u)
        ]
        if not free:
            return None
        return replace(self, edges=self.edges | {free[random.integers(len(free))]: random.uniform(self.least, MOST)})

    def _dropped(self, random: np.random.Generator) -> SmallInstance | None:
        if not self.edges:
            return None
        gone = sorted(self.edges)[random.integers(len(self.edges))]
        return replace(self, edges={edge: size for edge, size in self.edges.items() if edge != gone})

    def _edge(self, random: np.random.Generator) -> SmallInstance | None:
        if not self.edges:
            return None
        edge = sorted(self.edges)[random.integers(len(self.edges))]
        return replace(self, edges=self.edges | {edge: self._near(self.edges[edge], random)})

    def _op(self, random: np.random.Generator) -> SmallInstance:
        return replace(self, compute=self._one_changed(self.compute, random))

    def _device(self, random: np.random.Generator) -> SmallInstance:
        return replace(self, speed=self._one_changed(self.speed, random))

    def _link(self, random: np.random.Generator) -> SmallInstance:
        a, b = random.choice(len(self.speed), size=2, replace=False)
        link = self.link.copy()
        link[a, b] = link[b, a] = self._near(link[a, b], random)
        return replace(self, link=link)

    def _near(self, weight: float, random: np.random.Generator) -> float:
        return float(np.clip(weight + random.uniform(-CHANGE, CHANGE), self.least, MOST))

    def _one_changed(self, weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
        weights = weights.copy()
        i = random.integers(len(weights))
        weights[i] = self._near(weights[i], random)
        return weights


def _reaches(edges: Edges, u: int, v: int) -> bool:
    """Whether a path leads from u to v."""
    return u == v or any(_reaches(edges, b, v) for a, b in edges if a == u)


@dataclass(frozen=True)
class Variation:
    """A given problem whose costs, bytes, speeds and bandwidths are multiplied, each within a factor; its structure is kept.

    Attributes
    ----------
    given
        The problem as it was.
    factor
        The greatest number by which anything is multiplied or divided.
    equal
        Of ``"devices"`` and ``"links"`` those that stay as they are.
    op, tensor, device, link
        Logarithms of the multipliers: of an op's compute and times, a tensor's bytes, a device's speed, and the bandwidth of
        a link, shape (n_devices, n_devices), the same in both directions.
    """

    given: Problem
    factor: float
    equal: frozenset[str]
    op: np.ndarray
    tensor: np.ndarray
    device: np.ndarray
    link: np.ndarray

    @classmethod
    def of(cls, problem: Problem, factor: float, equal: frozenset[str] = frozenset()) -> Variation:
        """The problem itself."""
        graph = problem.graph
        k = problem.cluster.n_devices
        none = np.zeros(graph.n_ops), np.zeros(graph.n_tensors), np.zeros(k), np.zeros((k, k))
        return cls(problem, factor, equal, *none)

    def problem(self) -> Problem:
        """The varied problem."""
        graph = self.given.graph
        cluster = self.given.cluster
        costs = np.exp(self.op)
        columns = {"compute": graph.compute * costs, "tensor_bytes": graph.tensor_bytes * np.exp(self.tensor)}
        if graph.time is not None:
            columns["time"] = graph.time * costs[:, None]
        speed = cluster.speed * np.exp(self.device)
        bandwidth = cluster.bandwidth * np.exp(self.link)
        return self.given.replace(
            graph=graph.replace(**columns), cluster=cluster.replace(speed=speed, bandwidth=bandwidth)
        )

    def moved(self, random: np.random.Generator) -> Variation:
        """An op, a tensor, a device or a link, with equal chance of those that may change, is multiplied anew."""
        k = len(self.device)
        sizes = {"op": len(self.op), "tensor": len(self.tensor)}
        sizes["device"] = 0 if "devices" in self.equal else k
        sizes["link"] = 0 if "links" in self.equal else k * (k - 1)
        possible = [label for label, size in sizes.items() if size]
        label = possible[random.integers(len(possible))]
        column = getattr(self, label).copy()
        reach = np.log(self.factor)
        flat = column.reshape(-1)
        at = random.integers(len(flat))
        back = at
        if label == "link":
            i, j = random.choice(k, 2, replace=False)
            at = i * k + j
            back = j * k + i
        flat[[at, back]] = np.clip(flat[at] + random.uniform(-STEP, STEP), -reach, reach)
        return replace(self, **{label: column})
