"""Search the plans of a training step: which degrees and schedule are fastest, and why the others are not."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from placelab.base.errors import FormatError, InfeasibleError, PlacelabError, count
from placelab.base.interrupts import need
from placelab.base.progress import Progress, never, silent
from placelab.base.units import si
from placelab.models import Transformer
from placelab.plans.degrees import Plan
from placelab.plans.memory import CATEGORIES
from placelab.plans.plan_steps import Planner, PlanResult
from placelab.problem.cluster import Cluster

if TYPE_CHECKING:
    import pandas as pd

SCHEDULES = ("1f1b", "gpipe", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v")
LEFT = "fits, and was not run: the search was stopped"
COLUMNS = ("dp", "tp", "pp", "ep", "microbatch", "schedule", "chunks", "recompute", "zero")


@dataclass(frozen=True, eq=False)
class Plans:
    """Plans that were searched: made by :func:`placelab.plan_search`.

    Attributes
    ----------
    frame : DataFrame
        A row per plan, fastest first: its degrees, ``seconds``, ``tokens_per_second``, ``mfu``, ``bubble``, bytes of its fullest
        rank by category, ``why_not``: "" for a plan that has seconds.
    """

    frame: pd.DataFrame
    _best: PlanResult | None
    _nearest: tuple[float, str] | None

    @property
    def best(self) -> PlanResult:
        """The fastest plan; InfeasibleError where none fits, with the plan that lacks least."""
        if self._best is not None:
            return self._best
        raise InfeasibleError(
            self._nearest[1] if self._nearest else "no plan fits the model, the batch and the devices"
        )


def plan_search(
    model: Transformer | str,
    cluster: Cluster,
    *,
    batch: int,
    sequence: int,
    space: Mapping[str, Sequence[Any]] | None = None,
    top: int = 20,
    tp_across_hosts: bool = False,
    progress: Callable[[Progress], None] = silent,
    cancel: Callable[[], bool] = never,
) -> Plans:
    """Search the plans that use all devices of a cluster for the fastest training step.

    Parameters
    ----------
    model, cluster, batch, sequence
        As for :func:`placelab.plan`.
    space
        Fields of :class:`placelab.Plan` → values to try, instead of: dp, tp, pp that multiply to the devices; ep that divide the
        experts; micro-batches of 1, 2, 4, 8; chunks 1, 2, 4; recompute none and full; zero 0, 1, 3; all schedulers of pipelines
        but ``zb-auto``, which takes seconds per plan.
    top
        Plans whose seconds are certain: others are given up once a lower bound, m(F + B) of their slowest rank, reaches the
        top-th best.
    tp_across_hosts
        Whether tensor groups may span hosts.
    progress, cancel
        Gets a report per plan; asked before each.

    Returns
    -------
    Plans
        Their table and the best one.

    Raises
    ------
    FormatError
        A field that plans do not have, or a number out of range.

    Notes
    -----
    Plans are ruled out by their degrees, tensor groups across hosts, and memory; the others run by rising bound, so that it
    rules out most. Ties: less memory, then lower tp, pp, ep, chunks. Equal pipelines are simulated once.
    Left out: selective recomputation, unless `space` has it; ``over`` and planes of two columns.

    Examples
    --------
    >>> import placelab as pl
    >>> found = plan_search("gpt2", pl.costs.cluster("h100", 2), batch=8, sequence=1024)
    >>> found.best.fits
    True
    """
    top = count(top, "top")
    search = _Search(Planner(model, cluster, batch, sequence), top, tp_across_hosts)
    plans = list(_plans(search.planner, space))
    for k, each in enumerate(plans):
        if cancel():
            break
        row = search.admitted(each)
        if row["why_not"] != LEFT:
            progress(Progress("plans that fit", (k + 1) / len(plans), row=row))
    search.left.sort(key=lambda entry: entry[0])
    for k, (bound, each, row) in enumerate(search.left):
        if cancel():
            break
        row["why_not"] = search.run(each, row, bound)
        progress(Progress("plans", (k + 1) / len(search.left), search.least, row=row))
    return search.answer()


def _plans(planner: Planner, space: Mapping[str, Sequence[Any]] | None) -> Iterator[Plan]:
    """All plans of a space; of pp = 1 one schedule, chunks where the schedule has them."""
    n, shape = planner.cluster.n_devices, planner.model.shape
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    experts = [e for e in divisors if shape.experts and shape.experts % e == 0] or [1]
    usual: dict[str, Sequence[Any]] = dict(
        dp=divisors, tp=divisors, pp=divisors, ep=experts, microbatch=(1, 2, 4, 8), schedule=SCHEDULES,
        chunks=(1, 2, 4), recompute=("none", "full"), zero=(0, 1, 3),
    )  # fmt: skip
    given = dict(space or {})
    if unknown := [key for key in given if key not in usual]:
        raise FormatError(f"space has {unknown[0]!r:.60}; a plan has {', '.join(usual)}")
    for values in product(*(given.get(key, usual[key]) for key in COLUMNS)):
        found = dict(zip(COLUMNS, values, strict=True))
        if found["dp"] * found["tp"] * found["pp"] == n and ("schedule" in given or _makes_sense(found)):
            yield Plan(**found)


def _makes_sense(found: Mapping[str, Any]) -> bool:
    schedule, chunks, p = found["schedule"], found["chunks"], found["pp"]
    if p == 1:
        return schedule == "1f1b" and chunks == 1
    chunked = {"interleaved": chunks > 1, "looped-bfs": chunks > 1, "zb-v": chunks == 2, "dualpipe-v": chunks == 2}
    several = chunked.get(schedule, chunks == 1)
    return several and found["zero"] != 3


class _Search:
    """What was tried so far."""

    def __init__(self, planner: Planner, top: int, tp_across_hosts: bool) -> None:
        self.planner, self.top, self.across = planner, top, tp_across_hosts
        self.rows: list[dict[str, Any]] = []
        self.worst_first: list[float] = []  # negated seconds of the best `top`
        self.left: list[tuple[float, Plan, dict[str, Any]]] = []  # lower bound [s], plan that fits, its row
        self.best: tuple[tuple, PlanResult] | None = None
        self.nearest: tuple[float, str] | None = None

    @property
    def least(self) -> float | None:
        return self.best[1].seconds if self.best else None

    def admitted(self, plan: Plan) -> dict[str, Any]:
        """The plan's row: why it cannot run, or that it is left to be run."""
        row: dict[str, Any] = {key: getattr(plan, key) for key in COLUMNS}
        try:
            row["why_not"] = self._why_not(plan, row)
        except PlacelabError as error:
            row["why_not"] = str(error)
        self.rows.append(row)
        return row

    def _why_not(self, plan: Plan, row: dict[str, Any]) -> str:
        planner = self.planner
        hosts = planner.cluster.hosts
        if sentence := plan.why_not(planner.model.shape, planner.cluster, planner.batch):
            return sentence
        groups = range(0, plan.devices, plan.tp)
        if not self.across and any(len(set(hosts[g : g + plan.tp])) > 1 for g in groups):
            return f"tp {plan.tp} would span hosts"
        plan = planner.checked(plan)
        memory = planner.memory(plan)
        lacks = memory["total"] - memory["capacity"]
        full = int(lacks.to_numpy().argmax())
        row |= {name: float(memory[name].iloc[full]) for name in CATEGORIES}
        if lacks.iloc[full] > 0:
            return self._lacking(plan, row, float(lacks.iloc[full]), full)
        self.left.append((planner.bound(plan, planner.step(plan)), plan, row))
        return LEFT

    def run(self, plan: Plan, row: dict[str, Any], bound: float) -> str:
        """Why a plan that fits is not run: its bound [s] says that enough others take less; "" once it has run."""
        if len(self.worst_first) == self.top and bound >= -self.worst_first[0]:
            return f"takes {bound:.4g} s at least, and {self.top} plans take less"
        try:
            self._keep(self.planner.result(plan), row)
        except PlacelabError as error:
            return str(error)
        return ""

    def _lacking(self, plan: Plan, row: dict[str, Any], bytes_: float, rank: int) -> str:
        most = max(CATEGORIES, key=lambda name: row[name])
        said = f"stage {rank} lacks {si(bytes_, 'B')}, most of it has {most}, {si(row[most], 'B')}"
        if self.nearest is None or bytes_ < self.nearest[0]:
            shown = ", ".join(f"{key} {getattr(plan, key)}" for key in COLUMNS)
            self.nearest = (
                bytes_,
                f"{self.planner.model.name} does not fit; the plan that lacks least is {shown}: {said}",
            )
        return said

    def _keep(self, found: PlanResult, row: dict[str, Any]) -> None:
        p = found.plan
        row |= {key: getattr(found, key) for key in ("seconds", "tokens_per_second", "mfu", "bubble")}
        key = (found.seconds, float(found.memory["total"].max()), p.tp, p.pp, p.ep, p.chunks)
        if self.best is None or key < self.best[0]:
            self.best = key, found
        heapq.heappush(self.worst_first, -found.seconds)
        if len(self.worst_first) > self.top:
            heapq.heappop(self.worst_first)

    def answer(self) -> Plans:
        need("pandas")
        import pandas as pd

        names = [*COLUMNS, "seconds", "tokens_per_second", "mfu", "bubble", *CATEGORIES, "why_not"]
        frame = pd.DataFrame(self.rows, columns=names)
        frame["total"] = frame[list(CATEGORIES)].sum(axis=1)
        frame = frame.sort_values(["seconds", "total", "tp", "pp", "ep", "chunks"], kind="stable").drop(columns="total")
        return Plans(frame.reset_index(drop=True), self.best and self.best[1], self.nearest)
