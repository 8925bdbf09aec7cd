"""Policy gradient: a softmax over devices from features of ops, trained on the makespans of its samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from placelab.base.progress import Report, never, silent
from placelab.planning.ranks import downward_rank, mean_exec, upward_rank
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.searches.sampled_search import SampledSearch, Samples, Start, tied_by

KINDS = 16  # op kinds that have a feature each, those that take most time
KEPT = 0.9  # share of the baseline that a round leaves
STUCK = 15  # rounds without a better sample after which the policy forgets some of what it has learned
TINY = 1e-300  # against division by 0


@partitioner(
    source="Williams 1992; for placement: Mirhoseini et al. 2017, Addanki et al. 2019", slow=True, packages=("pandas",)
)
def policy_gradient(
    problem: Problem,
    *,
    start: Start = "m-etf",
    units: str = "",
    samples: Samples = 3_000,
    batch: Annotated[int, Limits(1)] = 20,
    rate: Annotated[float, Limits(0, above=True)] = 0.5,
    seed: int = 0,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    r"""REINFORCE: a linear softmax decides unit by unit (an op, or a colocation group), and learns from the makespans.

    .. math:: π(d \mid u) \propto P_{ud} \exp(φ_u \cdot w_d + ψ_{ud} \cdot θ), \qquad
              (w, θ) \leftarrow (w, θ) + \frac{η}{N \sqrt{U}} \sum_{i=1}^N \frac{R_i - b}{σ}
              \sum_u \nabla \log π(x_u^{(i)} \mid u), \qquad R = -\sqrt{makespan}

    φ are features of a unit: its shares of the 16 op kinds that take most time, its time, input and output bytes, depth and
    ranks. ψ is what is known when its turn comes: the share of all work, and of the bytes it exchanges with units before it, that
    is on d already. P are the probabilities of the start, b a moving mean of the rewards, σ the deviation of a round's, U the
    number of units.

    Parameters
    ----------
    start, units, samples
        As in ``cem``.
    batch, rate
        N and η.

    Returns
    -------
    Placement
        As of :func:`~placelab.strategies.partitioning.cem.cem`: the best of all samples and the start; ``table`` is the
        learning curve.

    Raises
    ------
    InfeasibleError
        The start finds no room, or from ``"uniform"`` no sample fits.

    Notes
    -----
    What the papers train on the machine for hours is simulated here. Their networks are larger: Mirhoseini (2017, 2018) and
    Placeto (2019) have recurrent and graph networks; this is their rule of learning on features of the kind they embed. Memory,
    ties and the end are those of ``cem``. After 15 rounds without a better sample the policy moves towards an even one, by 8 / U
    of the way, for U up to 8 all of it. O(samples · (units · devices · features + ops log ops)).

    Measured on Inception-V3 and four GPUs on PCIe (benchmarks/README.md): started from uniform it learns to put everything on
    one GPU, 166 ms, the mean of its last rounds. Its best sample on the way takes 163 ms, where ``m-etf`` has 157 ms.

    References
    ----------
    Williams (1992), "Simple statistical gradient-following algorithms for connectionist reinforcement learning"; Mirhoseini et
    al. (2017), "Device placement optimization with reinforcement learning"; Addanki et al. (2019), "Placeto"; Baechi (2020) §1,
    §5 compares with this family.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(4), pl.Cluster.uniform(2))
    >>> placed = pl.place(problem, "policy-gradient", samples=200)
    >>> bool(placed.estimate <= pl.place(problem, "m-etf").estimate)
    True
    """
    search = SampledSearch(tied_by(problem, units), start, samples, seed, progress, cancel)
    policy = _Policy(search)
    baseline = None
    while search.goes_on:
        places = policy.draw(min(batch, search.left))
        reward = -np.sqrt(search.costs(places))
        mean = float(reward.mean())
        baseline = mean if baseline is None else baseline
        policy.learn((reward - baseline) / (reward.std() or 1.0), rate / np.sqrt(search.units.n))
        baseline = KEPT * baseline + (1 - KEPT) * mean
        if again := search.again(STUCK):
            policy.forget(again)
            baseline = None
    return search.placement(problem)


class _Policy:
    """Weights, and what was drawn in the last round."""

    def __init__(self, search: SampledSearch) -> None:
        time = search.units.total(mean_exec(search.problem))
        k = search.problem.cluster.n_devices
        self.random = search.random
        self.chance = search.chances
        self.even = search.even
        self.feature = _features(search)
        self.neighbours = _neighbours(search)
        self.work = time / max(time.sum(), TINY)
        self.of_unit = np.zeros((self.feature.shape[1], k))
        self.of_device = np.zeros(2)

    def draw(self, n: int) -> np.ndarray:
        """Device numbers of `n` samples, shape (n, n_units), one unit after the other."""
        n_units, k = self.chance.shape
        sample = np.arange(n)
        with np.errstate(divide="ignore"):
            score = np.log(self.chance) + self.feature @ self.of_unit
        places = np.empty((n, n_units), dtype=np.int32)
        number = self.random.random((n_units, n, 1))
        self.seen = np.zeros((n_units, n, k, 2))
        self.surprise = np.empty((n_units, n, k))
        load = np.zeros((n, k))
        for u in range(n_units):
            self.seen[u, :, :, 0] = load
            for before, share in self.neighbours[u]:
                self.seen[u, sample, places[:, before], 1] += share
            chance = _softmax(score[u] + self.seen[u] @ self.of_device)
            reached = np.cumsum(chance, axis=1)
            place = (number[u] * reached[:, -1:] >= reached).sum(axis=1)
            places[:, u] = place
            load[sample, place] += self.work[u]
            self.surprise[u] = -chance
            self.surprise[u, sample, place] += 1.0
        return places

    def learn(self, advantage: np.ndarray, rate: float) -> None:
        """A step along the gradient; the surprise, 1 for what was drawn minus its probability, is that of the scores."""
        weighted = self.surprise * (rate / len(advantage) * advantage)[:, None]
        self.of_unit += self.feature.T @ weighted.sum(axis=1)
        self.of_device += (weighted[..., None] * self.seen).sum(axis=(0, 1, 2))

    def forget(self, share: float) -> None:
        """Go this share of the way to a policy that draws evenly."""
        self.chance = (1 - share) * self.chance + share * self.even
        self.of_unit *= 1 - share
        self.of_device *= 1 - share


def _softmax(score: np.ndarray) -> np.ndarray:
    power = np.exp(score - score.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def _features(search: SampledSearch) -> np.ndarray:
    """What is known of each unit in advance, each 0 to 1, shape (n_units, features); the first is 1."""
    problem = search.problem
    units = search.units
    graph = search.problem.graph
    time = mean_exec(problem)
    names, kind = np.unique(graph.kind.astype(str), return_inverse=True)
    spent = np.bincount(kind.reshape(-1), time, minlength=len(names))
    common = np.argsort(-spent, kind="stable")[: KINDS if len(names) > 1 else 0]
    size = units.total(np.ones(graph.n_ops))
    kinds = [units.total((kind.reshape(-1) == i).astype(np.float64)) / size for i in common]
    inputs = np.bincount(graph.consumer, graph.edge_bytes, minlength=graph.n_ops)
    sums = [units.total(column) for column in (time, inputs, graph.outputs)]
    places = [column[units.first] for column in (_depth(search), upward_rank(problem), downward_rank(problem))]
    return np.stack(
        [np.ones(units.n), *kinds, *(column / max(column.max(), TINY) for column in (*sums, *places))], axis=1
    )


def _depth(search: SampledSearch) -> np.ndarray:
    """Edges on the longest path to each op, shape (n_ops,)."""
    depth = [0.0] * search.problem.graph.n_ops
    for u, v in search.problem.graph.edges.tolist():  # by producer, and ops are numbered topologically
        depth[v] = max(depth[v], depth[u] + 1)
    return np.array(depth)


def _neighbours(search: SampledSearch) -> list[list[tuple[int, float]]]:
    """Of each unit, the units of lower number that it exchanges tensors with, and their shares of the bytes."""
    graph = search.problem.graph
    of = search.units.of.astype(np.int64)
    n = search.units.n
    u = of[graph.producer]
    v = of[graph.consumer]
    apart = u != v
    pair, index = np.unique((np.maximum(u, v) * n + np.minimum(u, v))[apart], return_inverse=True)
    size = np.bincount(index.reshape(-1), graph.edge_bytes[apart], minlength=len(pair))
    total = np.bincount(pair // n, size, minlength=n)
    shares: list[list[tuple[int, float]]] = [[] for _ in range(n)]
    for p, share in zip(pair.tolist(), (size / np.maximum(total[pair // n], TINY)).tolist(), strict=True):
        shares[p // n].append((p % n, share))
    return shares
