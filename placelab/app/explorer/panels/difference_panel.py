"""The tab that tells what differs from the kept schedule: which ops moved, where time was saved or lost, how use differs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from placelab.analysis.measures import LinkUse, device_use, link_use, metrics
from placelab.analysis.two_schedules import Difference, difference
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.decisions_panel import recording
from placelab.app.explorer.panels.panel import Panel, Shared
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.tab_views import DifferenceTable
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import FormatError, UnsupportedError
from placelab.base.units import PREFIXES, TIMES, Units, counted
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

PAUSE = 0.15  # seconds without a change before two schedules are compared
MOST = 200  # rows of ops, of kinds, of scopes, of links
FEW = 6  # scopes: where there are fewer, deeper ones are shown; matched devices in a sentence
DEEPEST = 6
LEAST = 1e-9  # of the largest value; what differs by less is rounding
GROUPS = ["scope", "kind", "op", "device", "link", "number"]
HINT = "Keep a schedule with ◈ Keep, then change something: what differs from it is shown here."
OTHERS = "Another model is kept than is shown: only their numbers compare."
SAME = "This is the schedule that is kept; change something to see what differs."
Row = dict[str, Any]
Values = tuple[float, ...]
Pair = tuple[str, Values | None, Values | None]  # name, kept, now


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
        self.view.handles = {"beside": lambda: self.on_part(self.view.beside) if self.view.beside else None}
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
    used, heads = _things(diff)
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


# -------------------------------------------------------------------- what differs in the use of devices and links


def _things(diff: Difference) -> tuple[list[Row], dict[str, list[str]]]:
    """Rows of devices and of links that carry something, and the heads of their measures with units, by the name of their group.

    A device of `b` stands beside that of `a` for which it counts (:attr:`Difference.matched`), and links with their devices.
    Nothing where one of the two clusters has no units.
    """
    units = diff.a.problem.cluster.units
    if units is not diff.b.problem.cluster.units:
        return [], {}
    devices = list(_devices(diff))
    links = list(_links(diff))[:MOST]
    counted = "none" not in (diff.a.problem.memory, diff.b.problem.memory)
    measures = [("busy", "s"), ("idle", "s"), *([("peak memory", "B")] if counted else [])]
    rows: list[Row] = []
    heads: dict[str, list[str]] = {}
    for what, pairs, told in (("device", devices, measures), ("link", links, [("busy", "s"), ("carried", "B")])):
        if pairs:
            cells, heads[what] = _written(pairs, told, units)
            rows += [dict(what=what, name=pair[0], cells=row, op=-1) for pair, row in zip(pairs, cells, strict=True)]
    return rows, heads


def _devices(diff: Difference) -> Iterable[Pair]:
    """Use of each device, the one whose busy time has changed most first."""
    before = device_use(diff.a)
    after = {diff.matched.get(name, name): (name, use) for name, use in device_use(diff.b).items()}
    found = []
    for name in dict.fromkeys([*before, *after]):
        own, now = after.get(name, (name, None))
        found.append((_both(name, own) if name in before else own, before.get(name), now))
    return sorted(found, key=_change)


def _links(diff: Difference) -> Iterable[Pair]:
    """Use of each link, the one whose busy time has changed most first.

    A shared link of `b` counts as that of `a` between the same devices, else as the one of its name.
    """
    kept = link_use(diff.a)
    shared = {link.pairs: link.name for link in kept if link.name}
    before = {link.name or link.pairs: link for link in kept}
    after = {}
    for link in link_use(diff.b):
        ends = frozenset((diff.matched.get(i, i), diff.matched.get(j, j)) for i, j in link.pairs)
        after[shared.get(ends, link.name) if link.name else ends] = link
    found = []
    for key in dict.fromkeys([*before, *after]):
        was = before.get(key)
        now = after.get(key)
        names = [_name(link) for link in (was, now) if link]
        found.append((_both(names[0], names[-1]), was and (was.busy, was.carried), now and (now.busy, now.carried)))
    return sorted(found, key=_change)


def _name(link: LinkUse) -> str:
    return link.name or " → ".join(next(iter(link.pairs)))


def _both(name: str, own: str) -> str:
    return name if own == name else f"{name} (now {own})"


def _change(pair: Pair) -> float:
    was, now = ((values or (0.0,))[0] for values in pair[1:])
    return -abs(now - was)


def _written(pairs: Sequence[Pair], told: Sequence[tuple[str, str]], units: Units) -> tuple[list[list[str]], list[str]]:
    """The cells of each row, of each measure kept, now and difference; the heads of the measures, with their unit."""
    cells: list[list[str]] = [[] for _ in pairs]
    heads = []
    for i, (measure, unit) in enumerate(told):
        before = [was[i] if was else None for _, was, _ in pairs]
        after = [now[i] if now else None for _, _, now in pairs]
        most = max(value for value in (*before, *after) if value is not None)
        size, written = _scale(most, unit, units)
        heads.append(f"{measure} [{written}]" if written else measure)
        for row, was, now in zip(cells, before, after, strict=True):
            row += [_text(was, size, most), _text(now, size, most), _moved(was, now, size, most)]
    return cells, heads


def _scale(most: float, unit: str, units: Units) -> tuple[float, str]:
    """The unit in which a column is written whose largest value is this; its size, and "" for plain numbers."""
    if not units.si:
        return (units.second if unit == "s" else 1.0), ""
    sizes = TIMES if unit == "s" else [(size, f"{prefix}{unit}") for size, prefix in PREFIXES]
    least = TIMES[-1] if unit == "s" and most else (1.0, unit)
    return next(((size, name) for size, name in sizes if most >= 0.9995 * size), least)


def _text(value: float | None, size: float, most: float) -> str:
    """A value of a column in which the largest has three digits."""
    if value is None:
        return "–"
    largest = most / size
    rounded = round(value / size, 0 if largest >= 99.95 else 1 if largest >= 9.995 else 2)
    return f"{rounded:,.15g}" if rounded or not value else "≈ 0"


def _moved(was: float | None, now: float | None, size: float, most: float) -> str:
    """The difference with its sign."""
    change = (now or 0.0) - (was or 0.0)
    if abs(change) <= LEAST * most:
        return "0"
    text = _text(abs(change), size, most)
    return text if text == "≈ 0" else f"{'+' if change > 0 else '−'}{text}"
