"""Search the plans of a training step: which degrees and schedule are fastest, and why the others are not."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from placelab.base.errors import FormatError, InfeasibleError, PlacelabError, count, expect
from placelab.base.interrupts import need
from placelab.base.progress import Progress, never, silent
from placelab.base.units import si
from placelab.models import Transformer
from placelab.plans.degrees import Plan
from placelab.plans.memory import CATEGORIES
from placelab.plans.plan_steps import Planner, PlanResult
from placelab.problem.cluster import Cluster
from placelab.schedule.catalogue import checked

if TYPE_CHECKING:
    import pandas as pd

SCHEDULES = ("1f1b", "gpipe", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v")
MOST = 10**9  # sequences of a step, and tokens of each
LEFT = "fits, and was not run: the search was stopped"
COLUMNS = ("dp", "tp", "pp", "ep", "microbatch", "schedule", "chunks", "recompute", "zero")


@dataclass(frozen=True, eq=False)
class Plans:
    """Plans that were searched: made by :func:`placelab.plan_search`.

    Attributes
    ----------
    frame : DataFrame
        A row per plan, fastest first: its degrees, ``seconds``, ``tokens_per_second``, ``mfu``, ``bubble``, bytes of its fullest
        rank by category, ``why_not``: "" for a plan that has seconds. With ``over``, its columns before them, cell by cell.
    """

    frame: pd.DataFrame
    _best: PlanResult | None
    _nearest: tuple[float, str] | None

    @property
    def best(self) -> PlanResult:
        """The plan of most tokens per second; InfeasibleError where none fits, with the plan that lacks least."""
        if self._best is not None:
            return self._best
        raise InfeasibleError(
            self._nearest[1] if self._nearest else "no plan fits the model, the batch and the devices"
        )

    def plane(self, x: str, y: str, value: str = "seconds") -> pd.DataFrame:
        """The best plan for each pair of values of two columns, such as ``"tp"`` and ``"pp"``, or of `over`.

        Parameters
        ----------
        x, y
            Columns of the frame: across, and down.
        value
            The column that is shown of the plan of most tokens per second in a cell, or ``"plan"``, its degrees in words.

        Returns
        -------
        DataFrame
            Values of `y` down, of `x` across; NaN where no plan has run. :func:`placelab.plots.plane` draws it.

        Raises
        ------
        FormatError
            A column that the frame does not have.
        """
        frame = self.frame.assign(plan=[_degrees(row) for row in self.frame.to_dict("records")])
        for column in (x, y, value):
            if column not in frame:
                raise FormatError(f"the plans have no column {column!r:.60}; they have {', '.join(frame.columns)}")
        run = frame[frame["why_not"] == ""].sort_values("tokens_per_second", ascending=False, kind="stable")
        first = run.drop_duplicates([x, y]).set_index([y, x])[value]
        rows, columns = (sorted(frame[label].unique().tolist()) for label in (y, x))
        return first.unstack(x).reindex(index=rows, columns=columns).rename_axis(index=y, columns=x)


@checked
def plan_search(
    model: Transformer | str,
    cluster: Cluster,
    *,
    batch: int,
    sequence: int,
    space: Mapping[str, Sequence[Any]] | None = None,
    over: Mapping[str, Sequence[int]] | None = None,
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
    over
        Search for each pair of ``"devices"``, the first ones of the cluster, ``"batch"`` and ``"sequence"``, not those given,
        as columns of the frame: ``{"devices": [8, 16], "sequence": [4096, 32768]}``.
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
    Selective recomputation is tried if `space` has it: it needs eager attention, which takes longer than flash attention and
    keeps hardly less.

    Examples
    --------
    >>> import placelab as pl
    >>> found = plan_search("gpt2", pl.costs.cluster("h100", 2), batch=8, sequence=1024)
    >>> found.best.fits
    True
    """
    top = count(top, "top")
    sizes = {"devices": cluster.n_devices, "batch": batch, "sequence": sequence}
    cells = _cells(over or {}, sizes)
    found = []
    for k, cell in enumerate(cells):
        part = cell.get("devices", cluster.n_devices)
        planner = Planner(model, _first(cluster, part), cell.get("batch", batch), cell.get("sequence", sequence))
        search = _Search(planner, top, tp_across_hosts)
        found.append(_searched(search, space, cell, (k / len(cells), 1 / len(cells)), progress, cancel))
        if cancel():
            break
    return found[0] if over is None else _together(found)


def _searched(
    search: _Search,
    space: Mapping[str, Sequence[Any]] | None,
    cell: Mapping[str, int],
    span: tuple[float, float],
    progress: Callable[[Progress], None],
    cancel: Callable[[], bool],
) -> Plans:
    """The plans of one cell; its reports cover a `span` of the whole search: from where, and how much of it."""
    begin, share = span
    plans = list(_plans(search.planner, space))
    for k, each in enumerate(plans):
        if cancel():
            break
        row = search.admitted(each)
        if row["why_not"] != LEFT:
            done = begin + share * (k + 1) / len(plans)
            progress(Progress("plans that fit", done, row={**cell, **row}))
    search.left.sort(key=lambda entry: entry[0])
    for k, (bound, each, row) in enumerate(search.left):
        if cancel():
            break
        row["why_not"] = search.run(each, row, bound)
        done = begin + share * (k + 1) / len(search.left)
        progress(Progress("plans", done, search.least, row={**cell, **row}))
    return search.answer(cell)


def _cells(over: Mapping[str, Sequence[int]], sizes: Mapping[str, int]) -> list[dict[str, int]]:
    """Sizes of each search that differ from those given."""
    expect(over, Mapping, "over")
    axes = []
    for label, values in over.items():
        if label not in sizes:
            raise FormatError(f"over has {label!r:.60}; expected some of {', '.join(sizes)}")
        expect(values, (list, tuple, range), f"over[{label!r}]")
        most = sizes["devices"] if label == "devices" else MOST
        axes.append([(label, count(value, label, 1, most)) for value in values])
    cells = [dict(cell) for cell in product(*axes)]
    if not cells:
        raise FormatError("over has no values to search for")
    return cells


def _first(cluster: Cluster, n: int) -> Cluster:
    """The first devices of a cluster."""
    if n == cluster.n_devices:
        return cluster
    return Cluster(
        cluster.speed[:n],
        memory=cluster.memory[:n],
        bandwidth=cluster.bandwidth[:n, :n],
        latency=cluster.latency[:n, :n],
        names=list(cluster.names[:n]),
        types=list(cluster.types[:n]),
        hosts=list(cluster.hosts[:n]),
    )


def _together(found: Sequence[Plans]) -> Plans:
    """The plans of all cells."""
    need("pandas")
    import pandas as pd

    bests = [each._best for each in found if each._best is not None]
    nearest = [each._nearest for each in found if each._nearest is not None]
    best = max(bests, key=lambda result: result.tokens_per_second, default=None)
    frame = pd.concat([each.frame for each in found], ignore_index=True)
    return Plans(frame, best, min(nearest, default=None))


def _degrees(row: Mapping[str, Any]) -> str:
    """A plan in words."""
    degrees = [f"{key} {row[key]}" for key in ("dp", "tp", "pp", "ep") if row[key] > 1]
    return " · ".join([*degrees, row["schedule"]] if row["pp"] > 1 else degrees) or "one device"


def _plans(planner: Planner, space: Mapping[str, Sequence[Any]] | None) -> Iterator[Plan]:
    """All plans of a space; of pp = 1 one schedule, chunks where the schedule has them."""
    n = planner.cluster.n_devices
    shape = planner.model.shape
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    experts = [e for e in divisors if shape.experts and shape.experts % e == 0] or [1]
    usual: dict[str, Sequence[Any]] = dict(
        dp=divisors, tp=divisors, pp=divisors, ep=experts, microbatch=(1, 2, 4, 8), schedule=SCHEDULES,
        chunks=(1, 2, 4), recompute=("none", "full"), zero=(0, 1, 3),
    )  # fmt: skip
    given = _given(space or {}, usual)
    for values in product(*(given.get(key, usual[key]) for key in COLUMNS)):
        found = dict(zip(COLUMNS, values, strict=True))
        if found["dp"] * found["tp"] * found["pp"] != n or (found["zero"] == 3 and found["pp"] > 1):
            continue
        if "schedule" in given or _makes_sense(found):
            yield Plan(**found)


def _given(space: Mapping[str, Sequence[Any]], usual: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """The values of a space; FormatError for a field that plans do not have, or values that it cannot have."""
    expect(space, Mapping, "space")
    for key, values in space.items():
        if key not in usual:
            raise FormatError(f"space has {key!r:.60}; a plan has {', '.join(usual)}")
        expect(values, (list, tuple, range), f"space[{key!r}]")
        if isinstance(usual[key][0], int):
            for value in values:
                count(value, f"space[{key!r}]", 0)
    return dict(space)


def _makes_sense(found: Mapping[str, Any]) -> bool:
    schedule = found["schedule"]
    chunks = found["chunks"]
    p = found["pp"]
    if p == 1:
        return schedule == "1f1b" and chunks == 1
    chunked = {"interleaved": chunks > 1, "looped-bfs": chunks > 1, "zb-v": chunks == 2, "dualpipe-v": chunks == 2}
    return chunked.get(schedule, chunks == 1)


class _Search:
    """What was tried so far."""

    def __init__(self, planner: Planner, top: int, tp_across_hosts: bool) -> None:
        self.planner = planner
        self.top = top
        self.across = tp_across_hosts
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
        held = planner.bytes(plan)
        lacks = held.sum(axis=1) - planner.capacity(plan)
        full = int(lacks.argmax())
        row |= dict(zip(CATEGORIES, held[full].tolist(), strict=True))
        if lacks[full] > 0:
            return self._lacking(plan, row, float(lacks[full]), full)
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

    def answer(self, cell: Mapping[str, int]) -> Plans:
        """All plans, those that ran first; `cell` has columns that are the same for all of them."""
        need("pandas")
        import pandas as pd

        names = [*COLUMNS, "seconds", "tokens_per_second", "mfu", "bubble", *CATEGORIES, "why_not"]
        frame = pd.DataFrame(self.rows, columns=names)
        frame["total"] = frame[list(CATEGORIES)].sum(axis=1)
        frame = frame.sort_values(["seconds", "total", "tp", "pp", "ep", "chunks"], kind="stable").drop(columns="total")
        frame = frame.reset_index(drop=True)
        for k, (label, value) in enumerate(cell.items()):
            frame.insert(k, label, value)
        return Plans(frame, self.best and self.best[1], self.nearest)
