"""A search for training plans in the background, and its records: in their order, in a table, over two degrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from time import monotonic
from typing import Any

from placelab.app.explorer.spreads import Planned
from placelab.base.errors import PlacelabError
from placelab.base.progress import Progress
from placelab.base.threads import Background, Worker
from placelab.base.units import percent, seconds
from placelab.plans.all_plans import COLUMNS, plan_search
from placelab.plans.degrees import Plan
from placelab.plans.memory import CATEGORIES
from placelab.problem.cluster import Cluster

OFTEN = 0.2  # seconds between two messages
TOP = 20  # plans whose seconds are certain
REFUSED = 40  # plans listed that cannot run: those that lack memory, the least first
Record = dict[str, Any]
Question = tuple[Any, Cluster, int, int]


class PlanSearch(Background):
    """A search at a time, whose rows are kept until the next one begins.

    Parameters
    ----------
    changed
        Called when there is more to show, from the search's thread.

    Attributes
    ----------
    records
        What was found: fields of a plan, ``seconds``, ``mfu``, ``bubble``, bytes by category, ``why_not``; fastest first.
    status
        What it does, or has found, in a sentence.
    running
        Whether it is under way.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._asked: tuple[Planned, Cluster] | None = None
        self._of: Question | None = None  # what the records are of
        self._stopped = False
        self.records: list[Record] = []
        self.status = "Search looks for the fastest plans that use all devices."
        self.running = False
        self._worker = Worker(self._search, "search of plans")

    def start(self, planned: Planned, cluster: Cluster) -> None:
        """Begin a search; one that is under way ends."""
        self._asked = (planned, cluster)
        self._stopped = False
        self.running = True
        self._worker.wake()

    def stop(self) -> None:
        """End the search; what it has found stays."""
        self._stopped = True

    def stale(self, planned: Planned, cluster: Cluster) -> bool:
        """Whether the records are of another model, cluster or batch."""
        return self._of is not None and self._of != question(planned, cluster)

    def close(self) -> None:
        """End the thread."""
        self.stop()
        super().close()

    def _search(self) -> None:
        asked = self._asked
        if asked is None:
            return
        planned, cluster = asked
        found: dict[tuple, Record] = {}
        sent = monotonic()
        self._of = question(planned, cluster)
        self.records = []
        self.status = "searching …"

        def report(progress: Progress) -> None:
            nonlocal sent
            if progress.row is not None:
                found[tuple(progress.row[key] for key in COLUMNS)] = dict(progress.row)
            if monotonic() - sent > OFTEN:
                sent = monotonic()
                best = "" if progress.makespan is None else f", fastest {seconds(progress.makespan)}"
                self.status = f"{progress.doing} {percent(progress.fraction or 0.0)}{best}"
                self.records = ordered(found.values())
                self._changed()

        def cancel() -> bool:
            return self._stopped or self._worker.woken

        sizes: Record = dict(batch=planned.batch, sequence=planned.sequence, top=TOP)
        try:
            plans = plan_search(planned.model, cluster, **sizes, progress=report, cancel=cancel)
            self.records = ordered(plans.frame.to_dict("records"))
            self.status = said(self.records, self._stopped)
            if not any(ran(record) for record in self.records) and not self._stopped:
                plans.best  # noqa: B018  raises the sentence of the plan that lacks least
        except PlacelabError as error:
            self.status = str(error)
        self.running = self._worker.woken
        self._changed()


def question(planned: Planned, cluster: Cluster) -> Question:
    """What a search depends on."""
    return planned.model, cluster, planned.batch, planned.sequence


def ran(record: Mapping[str, Any]) -> bool:
    """Whether a plan has seconds."""
    took = record.get("seconds")
    return took is not None and not isnan(took)


def bytes_of(record: Mapping[str, Any]) -> float | None:
    """Bytes of its fullest rank; None where they were not counted."""
    sizes = [record.get(name) for name in CATEGORIES]
    return None if any(size is None or isnan(size) for size in sizes) else sum(sizes)  # type: ignore[arg-type]


def ordered(records: Any) -> list[Record]:
    """Fastest first, those that did not run after them by bytes, those without any last."""
    return sorted(
        records,
        key=lambda r: (
            not ran(r),
            r["seconds"] if ran(r) else 0.0,
            (size := bytes_of(r)) is None,
            size or 0.0,
            r["tp"],
            r["pp"],
        ),
    )


def said(records: Sequence[Record], stopped: bool) -> str:
    """How many plans ran, and how many did not."""
    run = sum(map(ran, records))
    fit = sum(bytes_of(r) is not None and not _lacks(r) for r in records)
    head = f"stopped: {run:,}" if stopped else f"{run:,}"
    return f"{head} of {len(records):,} plans run, {fit:,} fit"


def _lacks(record: Mapping[str, Any]) -> bool:
    return " lacks " in record["why_not"]


def plan_of(record: Mapping[str, Any]) -> Plan:
    """The plan of a record."""
    fields: Record = {key: record[key] if isinstance(record[key], str) else int(record[key]) for key in COLUMNS}
    return Plan(**fields)


def listed(records: Sequence[Record]) -> list[Record]:
    """Records for the table: the best, then those that lack memory, the least first."""
    best = [r for r in records if ran(r)][:TOP]
    return best + [r for r in records if not ran(r) and _lacks(r)][:REFUSED]


def best_over(records: Sequence[Record], x: str, y: str) -> tuple[list[int], list[int], dict[tuple[int, int], Record]]:
    """Values of two fields, and for each pair of them the fastest record, else the first that says why there is none."""
    xs, ys = (sorted({int(r[name]) for r in records}) for name in (x, y))
    cells: dict[tuple[int, int], Record] = {}
    for record in records:  # fastest first
        cells.setdefault((int(record[x]), int(record[y])), record)
    return xs, ys, cells
