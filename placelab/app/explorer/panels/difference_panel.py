"""The tab that tells what differs from the kept schedule: which ops moved, where time was saved or lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from placelab.analysis.measures import metrics
from placelab.analysis.two_schedules import Difference, difference
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.decisions_panel import recording
from placelab.app.explorer.panels.difference_things import Row, things
from placelab.app.explorer.panels.panel import Panel, Shared
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.tab_views import DifferenceTable
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import FormatError, UnsupportedError
from placelab.base.units import counted
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

PAUSE = 0.15  # seconds without a change before two schedules are compared
MOST = 200  # rows of ops, of kinds, of scopes
FEW = 6  # scopes: where there are fewer, deeper ones are shown; matched devices in a sentence
DEEPEST = 6
GROUPS = ["scope", "kind", "op", "device", "link", "number"]
HINT = "Keep a schedule with ◈ Keep, then change something: what differs from it is shown here."
OTHERS = "Another model is kept than is shown: only their numbers compare."
SAME = "This is the schedule that is kept; change something to see what differs."


class DifferencePanel(Panel):
    """A tab.

    Attributes
    ----------
    view
        The widget.
    on_part
        Called with the partitioner of the kept schedule when the first decision that differs is asked for.
    """

    title = "Difference"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.view = DifferenceTable(summary=HINT, comm=PartComm())
        self.on_part: Callable[[str], None] = lambda name: None
        self.view.on_msg(lambda _, content, __: self.on_part(self.view.beside) if self.view.beside else None)
        self.box: w.Widget = self.view
        self._newest: tuple[Schedule | None, str] = (None, "")  # a schedule, and the key of its state
        self._known: tuple[Schedule | None, Schedule | None] | None = None  # before, after: what the rows tell
        self._select_with(self.view)
        shared.observe(self._wake, "kept")

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Mark the rows as stale."""
        schedule = self._schedule
        self.view.stale = bool(self.view.rows) and (schedule is None or dragging or schedule.problem is not problem)

    def result(self, result: Result | None) -> None:
        """Compare a result with the kept schedule, unless it is a preview."""
        done = result is not None and not result.preview and result.whole is None
        self._newest = (result.schedule, result.key) if result is not None and done else (None, "")
        self._wake()

    @property
    def _schedule(self) -> Schedule | None:
        return self._newest[0]

    def columns(self) -> dict[str, Any]:
        """A row per op, of :attr:`placelab.analysis.two_schedules.Difference.ops`; an error while there is nothing to compare."""
        before = self._shared.kept
        after = self._schedule
        if before is None or after is None or before is after:
            raise UnsupportedError(
                "there is no difference to download: keep a schedule with ◈ Keep, then change something"
            )
        ops = difference(before, after).ops
        timed = ("start", "finish", "critical")
        return {f"{name}{' [s]' * name.startswith(timed)}": column.to_numpy() for name, column in ops.items()}

    def close(self) -> None:
        """End the thread."""
        super().close()
        self._shared.unobserve(self._wake, "kept")

    def _wake(self, _: object = None) -> None:
        if self.visible:
            self._worker.wake()

    def _catch_up(self) -> None:
        before = self._shared.kept
        after, of = self._newest
        if (before is not None and after is None) or not self._worker.sleep(PAUSE):
            return
        if self._shared.dragging():
            return self._worker.wake()
        if self._known != (before, after):
            summary, groups, rows, heads = contents(before, after)
            if self._worker.woken:
                return
            self.view.take(
                groups=groups,
                rows=rows,
                heads=heads,
                beside=_beside(before, after),
                summary=summary,
                unitless=after is not None and not after.problem.cluster.units.si,
                group=self.view.group if self.view.group in groups or not groups else groups[0],
            )
            self._known = (before, after)
        self.view.take(result_of=of if before is not None else "", stale=False)


def _beside(before: Schedule | None, after: Schedule | None) -> str:
    """The partitioner of `before` if it and that of `after` record decisions, and they are two; else ""."""
    if before is None or after is None:
        return ""
    one = before.placement.partitioner
    other = after.placement.partitioner
    return one if one != other and {one, other} <= set(recording()) else ""


def contents(before: Schedule | None, after: Schedule | None) -> tuple[str, list[str], list[Row], dict[str, list[str]]]:
    """The sentence above the rows, the groups of rows, the rows, and the heads of what is measured of devices and links."""
    if before is None or after is None:
        return HINT, [], [], {}
    if before is after:
        return SAME, [], [], {}
    figures = list(_numbers(before, after))
    try:
        diff = difference(before, after)
    except FormatError:
        return OTHERS, ["number"], figures, {}
    numbers = {name: i for i, name in enumerate(after.problem.graph.names.tolist())}
    used, heads = things(diff)
    rows = [
        *_scopes(diff, numbers),
        *_groups(diff, "kind", diff.by_kind(), numbers, diff.ops["kind"]),
        *_ops(diff, numbers),
        *used,
        *figures,
    ]
    groups = [group for group in GROUPS if group in heads or group not in ("device", "link")]
    return _summary(diff), groups, rows, heads


def _summary(diff: Difference) -> str:
    ops = diff.ops
    change = f"{diff.b.problem.cluster.units.time(abs(diff.saved))} {'saved' if diff.saved >= 0 else 'lost'}"
    alone = int(ops["device_a"].isna().sum() + ops["device_b"].isna().sum())
    only = f"; {alone:,} ops are in one of them only" if alone else ""
    return f"{change}; {int(ops['moved'].sum()):,} of {len(ops):,} ops moved{only}{_matched(diff)}"


def _matched(diff: Difference) -> str:
    """How many identical devices stand for one another, to end the sentence; which, on a second line, for its tooltip."""
    pairs = [f"{b} counts as {a}" for b, a in diff.matched.items()]
    more = f" and {len(pairs) - FEW} more" if len(pairs) > FEW else ""
    which = f"identical devices: {', '.join(pairs[:FEW])}{more}"
    return f"; {counted(len(pairs), 'device')} matched\n{which}" if pairs else ""


def _scopes(diff: Difference, numbers: dict[str, int]) -> Iterator[Row]:
    """Rows of scopes, so deep that there are some."""
    for depth in range(1, DEEPEST + 1):
        table = diff.by_scope(depth)
        if len(table) >= FEW:
            break
    mark = "/" if diff.ops["name"].str.contains("/").any() else "."
    keys = [mark.join(name.split(mark)[:-1][:depth]) for name in diff.ops["name"]]
    return _groups(diff, "scope", table, numbers, keys)


def _groups(
    diff: Difference, what: str, table: pd.DataFrame, numbers: dict[str, int], keys: Sequence[str] | pd.Series
) -> Iterator[Row]:
    """Rows of kinds or scopes; a click selects the op in them that changed most."""
    ops = diff.ops
    change = (ops["critical_a"] - ops["critical_b"]).abs().where(ops["name"].isin(numbers), -1.0)
    most = change.groupby(keys).idxmax()
    for row in table.head(MOST).to_dict("records"):
        name = ops["name"][most[row[what]]]
        yield dict(
            what=what,
            name=row[what],
            moved=f"{row['moved']:,} of {row['ops']:,}",
            **_times(diff, row["critical_a"], row["critical_b"]),
            op=numbers.get(name, -1),
        )


def _ops(diff: Difference, numbers: dict[str, int]) -> Iterator[Row]:
    """Rows of the ops whose share of the critical path changed most, then of others that moved."""
    ops = diff.ops
    change = (ops["critical_a"] - ops["critical_b"]).abs()
    order = ops.assign(change=change).sort_values(["change", "moved"], ascending=False).index
    for row in ops.loc[order[:MOST]].to_dict("records"):
        if row["critical_a"] == row["critical_b"] and not row["moved"]:
            return
        devices = [device if isinstance(device, str) else "–" for device in (row["device_a"], row["device_b"])]
        yield dict(
            what="op",
            name=row["name"],
            moved=devices[0] if devices[0] == devices[1] else (" → " if row["moved"] else " = ").join(devices),
            **_times(diff, row["critical_a"], row["critical_b"]),
            op=numbers.get(row["name"], -1),
        )


def _times(diff: Difference, before: float, after: float) -> Row:
    was, now = (s.problem.cluster.units for s in (diff.a, diff.b))
    return dict(before=was.time(before), after=now.time(after), saved=float(before - after))


def _numbers(before: Schedule, after: Schedule) -> Iterator[Row]:
    """Rows of figures that any two schedules have."""
    a = metrics(before)
    b = metrics(after)
    was = before.problem.cluster.units
    now = after.problem.cluster.units

    def row(name: str, was: str, now: str, saved: float | None = None) -> Row:
        return dict(what="number", name=name, moved="", before=was, after=now, saved=saved, op=-1)

    saved = a["makespan"] - b["makespan"] if was is now else None
    yield row("makespan", was.time(a["makespan"]), now.time(b["makespan"]), saved)
    strategies = [" + ".join((s.placement.partitioner or "–", s.scheduler or "–")) for s in (before, after)]
    yield row("model", before.problem.graph.title, after.problem.graph.title)
    yield row("strategies", strategies[0], strategies[1])
    yield row("ops", f"{before.problem.graph.n_ops:,}", f"{after.problem.graph.n_ops:,}")
    yield row("devices", str(before.problem.cluster.n_devices), str(after.problem.cluster.n_devices))
    yield row("transfers", f"{a['transfers']:,}", f"{b['transfers']:,}")
    yield row("bytes moved", was.amount(a["bytes_moved"], "B"), now.amount(b["bytes_moved"], "B"))
    yield row("speed-up", f"× {a['speedup']:.3g}", f"× {b['speedup']:.3g}")
