"""What a user can ask for in words: strategies, models, clusters, values with units, views, ops, and why a device was idle."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from placelab.analysis.idle_time import idle_gaps
from placelab.app.explorer.offered import model_names, preset
from placelab.app.explorer.panels.effects import between, span, written
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.panels.pickers import TRANSFERS
from placelab.app.explorer.session import Session
from placelab.app.explorer.state import State
from placelab.app.widgets.frame import CommandPalette
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.whole import PartComm
from placelab.base.units import PREFIXES, TIMES, counted
from placelab.problem.cluster import Cluster
from placelab.problem.clusters import PRESETS
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS
from placelab.schedule.catalogue import partitioners, schedulers
from placelab.schedule.schedule import Schedule

SHOWN = 8  # offers at a time
LEAST = 2  # letters from which ops are looked for
VALUE = re.compile(r"^(?P<what>.*?)\s*(?P<number>\d+(?:[.,]\d+)?(?:e[+-]?\d+)?)\s*(?P<unit>[a-zµμ/]*)$", re.IGNORECASE)
AGAINST = re.compile(r"\b(?:vs\.?|versus|against|compare|with|and|or|better)\b")
INSTANT = re.compile(r"(?<![\w:/.-])(?P<number>\d+(?:[.,]\d+)?)\s*(?P<unit>[nµum]?s)?$", re.IGNORECASE)
PIN = re.compile(r"(?:pin|tie|fix|put|move)\s+(?P<op>\S+)\s+(?:to|on|onto|at)\s+(?P<device>.+)")
UNITS = {"flop/s": "speed", "flops": "speed", "b/s": "bandwidth", "b": "memory", "s": "latency"}
SYNONYMS = {
    "speed": ("flops", "all"),
    "memory": ("ram", "vram", "all"),
    "bandwidth": ("bus", "link", "links", "network", "rate", "all"),
    "latency": ("bus", "link", "links", "network", "delay", "all"),
}
# Words that say nothing of what is wanted.
FILLING = frozenset(
    "a an and are as at be can could do does for from how i in into is it me my of on please should show so that the there this "
    "to use want what will with would".split()
)
SHORT = 2  # letters of a word that in a sentence counts only where it is a command's whole word
# What newcomers call clusters and strategies, beside their names.
OTHER_WORDS: Mapping[str, str] = {
    "uniform": "equal homogeneous same identical",
    "mayer50": "heterogeneous fifty different",
    "pcie_box": "workstation",
    "nvlink_box": "dgx a100 nvswitch",
    "h100_box": "dgx hopper nvswitch",
    "two_nodes": "multi node servers ethernet hosts dgx",
    "rtx2080ti_box": "geforce consumer gaming cheap",
    "cp-sat": "exact solver optimal optimum constraint",
    "ilp": "exact solver optimal optimum integer linear program",
    "portfolio": "metaheuristic local search annealing genetic evolutionary tabu",
    "policy-gradient": "reinforcement learning rl neural",
    "cem": "cross entropy learning",
    "min-cut": "metis graph partitioning",
    "contiguous": "pipeline stages",
    "single": "one gpu alone sequential",
    "none": "ignore unlimited infinite without off",
}


class Command(NamedTuple):
    """Something to do.

    Attributes
    ----------
    phrase
        What a user types for it.
    says
        What it will do.
    kind
        ``edit``, ``view``, ``file``, ``question``, or ``answer``: it says where to do what has no command.
    act
        Does it.
    words
        More words that it is found by.
    press
        CSS selector of a button in the page that is pressed in place of `act`: what only the page does, as full screen.
    """

    phrase: str
    says: str
    kind: str
    act: Callable[[], object]
    words: str = ""
    press: str = ""


class Commands:
    """The palette, what it offers, and what that acts on.

    Parameters
    ----------
    session, shared
        What is shown now, and how it is changed.
    gantt
        The chart, whose selection is that of all views.
    schedule
        Returns the schedule that is shown; None while there is none.
    load
        Opens a model by its name.
    views
        Commands that the explorer itself offers.
    keep
        Keeps the schedule shown and opens the difference; returns whether it could.

    Attributes
    ----------
    palette
        The widget.
    """

    def __init__(
        self,
        session: Session,
        shared: Shared,
        gantt: Gantt,
        *,
        schedule: Callable[[], Schedule | None],
        load: Callable[[str], None],
        views: tuple[Command, ...],
        keep: Callable[[], bool],
    ) -> None:
        self.session = session
        self.shared = shared
        self.gantt = gantt
        self.schedule = schedule
        self.load = load
        self.views = views
        self.keep = keep
        self._offered: list[Command] = []
        self.palette = CommandPalette(comm=PartComm())
        self.palette.handles = {"choose": self._choose, "undo": shared.undo, "redo": shared.redo}
        self._offer("")
        self.palette.observe(lambda change: self._offer(change["new"]), "typed")

    def _offer(self, text: str) -> None:
        self._offered = suggestions(text, self)
        offers = [dict(phrase=c.phrase, says=c.says, kind=c.kind, press=c.press) for c in self._offered]
        self.palette.take(offers=offers, answers=text)

    def _choose(self, offer: int, typed: str) -> None:
        if typed == self.palette.answers and 0 <= offer < len(self._offered):
            self._offered[offer].act()


def suggestions(text: str, around: Commands) -> list[Command]:
    """The commands that fit what is typed, the best first, at most ``SHOWN``; an empty text fits the explorer's own."""
    text = " ".join(text.lower().split()).rstrip("?!.")
    if not text:
        return list(around.views)[:SHOWN]
    exact = [*_against(text, around), *_values(text, around), *_pins(text, around), *_questions(text, around)]
    named = [*around.views, *_strategies(around), *_models(around), *_problem(around), *_lanes(around)]
    found = [named[i] for i in ranking(text, [(command.phrase, command.words) for command in named])]
    ops = list(_ops(text, around)) if len(text) >= LEAST else []
    few = SHOWN - min(len(ops), 3)
    return [*exact, *found[: max(few - len(exact), 0)], *ops][:SHOWN]


# -------------------------------------------------------------------- strategies, models, problem


def _strategies(around: Commands) -> Iterator[Command]:
    for kind, verb, names in (
        ("partitioner", "place with", partitioners()),
        ("scheduler", "schedule with", schedulers()),
    ):
        for name, function in names.items():
            act = _changes(around, State.with_strategy, kind, name)
            words = f"{kind} strategy use {OTHER_WORDS.get(name, '')}"
            yield Command(f"{verb} {name}", function.summary, "edit", act, words)


def _models(around: Commands) -> Iterator[Command]:
    for name in model_names():
        says = "A model that comes with placelab"
        yield Command(
            f"load {name}", says, "file", partial(around.load, name), "open model graph network examples datasets"
        )
    for name, made in PRESETS.items():
        act = _changes(around, _with_preset, name)
        words = f"machine hardware devices gpus {OTHER_WORDS.get(name, '')}"
        yield Command(f"cluster {name}", _first(made), "edit", act, words)


def _problem(around: Commands) -> Iterator[Command]:
    for name, model in MEMORY_MODELS.items():
        act = _changes(around, _with, ("memory", name))
        yield Command(f"memory {name}", model.about, "edit", act, f"model counts ram {OTHER_WORDS.get(name, '')}")
    for title, (name, duplex) in TRANSFERS.items():
        words = "model network contention" if TRANSFER_MODELS[name].queue else "model network"
        act = _changes(around, _with, ("transfers", name), ("duplex", duplex))
        yield Command(f"transfers {title}", "How transfers share the links", "edit", act, words)
    for name, about in LATENCIES.items():
        act = _changes(around, _with, ("latency", name))
        yield Command(f"latency {name}", f"What a latency keeps from others: {about}", "edit", act, "transfers delay")


def _lanes(around: Commands) -> Iterator[Command]:
    """Order, idle and folded lanes of the chart."""
    gantt = around.gantt
    put = lambda **choice: partial(setattr, gantt, "lanes", {**gantt.lanes, **choice})  # noqa: E731
    words = "lanes chart devices sort order"
    yield Command("busiest lanes first", "The chart's lanes by busy time", "view", put(order="busy"), words)
    yield Command("lanes by number", "The chart's lanes as devices are numbered", "view", put(order="number"), words)
    hides = bool(gantt.lanes.get("hides"))
    what = "show idle lanes" if hides else "hide idle lanes"
    yield Command(what, "Lanes of devices that run nothing", "view", put(hides=not hides), f"{words} unused empty")
    hosts = sorted(set(gantt.hosts))
    if len(hosts) > 1:
        says = "A lane per host, which shows how many of its devices are busy"
        yield Command("fold hosts", says, "view", put(folded=hosts), f"{words} collapse group machines nodes")
        yield Command("unfold hosts", "A lane per device", "view", put(folded=[]), f"{words} expand")


def _first(made: object) -> str:
    """The first line of a docstring."""
    return (made.__doc__ or "").strip().partition("\n")[0].replace("`", "")


def _changes(around: Commands, change: Callable[..., State], *given: Any) -> Callable[[], None]:
    """Changes the state to ``change(state, *given)``."""
    return lambda: around.shared.change(lambda state: change(state, *given))


def _with_preset(state: State, name: str) -> State:
    return state.with_preset(preset(name))


def _with(state: State, *values: tuple[str, Any]) -> State:
    return replace(state, **dict(values))


def _with_columns(state: State, columns: Mapping[str, np.ndarray]) -> State:
    return state.with_cluster(state.cluster.replace(**columns), state.layout)


# -------------------------------------------------------------------- values


def _values(text: str, around: Commands) -> Iterator[Command]:
    """``gpu:1 speed 20 TFLOP/s``, ``bus 300 GB/s``, ``memory 8 GB``: of what is named, else of all."""
    if not (match := VALUE.match(text)):
        return
    cluster = around.session.state.cluster
    number = float(match["number"].replace(",", "."))
    known = _quantity(number, match["unit"]) if match["unit"] else _bare(number, match["what"].split(), cluster)
    if known is None:
        return
    column, value = known
    words = [word for word in match["what"].split() if not _means(word, column)]
    devices = np.array([_named(words, name, host) for name, host in zip(cluster.names, cluster.hosts, strict=True)])
    if words and not devices.any():
        return
    if not words:
        devices[:] = True
    whom = "all devices" if devices.all() else ", ".join(np.array(cluster.names)[devices][:3])
    says = f"{column} of {whom}"
    if column in ("speed", "memory"):
        before = getattr(cluster, column)
        after = np.where(devices, value, before)
        old = span(before[devices], column, cluster.units)
        made = {column: after}
    else:
        both = devices[:, None] & devices[None, :] if devices.sum() > 1 else devices[:, None] | devices[None, :]
        both &= ~np.eye(len(devices), dtype=bool)
        if not both.any():
            return
        before = getattr(cluster, column)
        old = span(before[both], column, cluster.units)
        made = {column: np.where(both, value, before)}
        says = f"{column} of the links of {whom}"
    new = written(value, column, cluster.units)
    act = _changes(around, _with_columns, made)
    yield Command(f"{match['what']} {new}".strip(), f"{says}: {between(old, new)}", "edit", act)


def _means(word: str, column: str) -> bool:
    """Whether a word only says which column is meant."""
    return (len(word) >= LEAST and column.startswith(word)) or word in SYNONYMS[column]


def _quantity(number: float, unit: str) -> tuple[str, float] | None:
    """What a number with a unit is: its column, and its value in SI units."""
    unit = unit.replace("μ", "µ").lower()
    scales = {prefix.lower(): scale for scale, prefix in PREFIXES} | {"": 1.0}
    small = {name.lower(): scale for scale, name in TIMES} | {"us": 1e-6}
    if unit in small:
        return "latency", number * small[unit]
    for ending in sorted(UNITS, key=len, reverse=True):
        if unit.endswith(ending) and unit.removesuffix(ending) in scales and ending != "s":
            return UNITS[ending], number * scales[unit.removesuffix(ending)]
    return None


def _bare(number: float, words: list[str], cluster: Cluster) -> tuple[str, float] | None:
    """What a number without a unit is: of the column that a word means, in the unit in which its values are written now."""
    column = next(
        (column for column in SYNONYMS if any(word != "all" and _means(word, column) for word in words)), None
    )
    if column is None:
        return None
    values = getattr(cluster, column)
    if values.ndim == 2:
        values = values[~np.eye(len(values), dtype=bool)]
    finite = values[np.isfinite(values) & (values > 0)]
    if not cluster.units.si:
        return column, number
    if not len(finite):
        return None
    return _quantity(number, written(float(np.median(finite)), column, cluster.units).partition(" ")[2])


def _named(words: list[str], name: str, host: str) -> bool:
    """Whether all words are in the name of a device or of its host."""
    return bool(words) and all(word in name.lower() or word == host.lower() for word in words)


# -------------------------------------------------------------------- ops and questions


def _ops(text: str, around: Commands) -> Iterator[Command]:
    """Ops with the text in their name."""
    graph = around.session.state.graph
    wanted = text.removeprefix("find ").removeprefix("why ")
    if len(wanted) < LEAST:
        return
    found = 0
    for v, name in enumerate(graph.names):
        if wanted in name.lower():
            yield Command(
                f"find {name}", "Select it in all views, and say why it is there", "view", _selects(around, op=v)
            )
            found += 1
            if found == 3:
                return


def _against(text: str, around: Commands) -> Iterator[Command]:
    """``compare heft with etf``: keeps what the first makes, shows what the second makes, and opens the difference."""
    names = [word for word in AGAINST.sub(" ", text).split() if word in partitioners()]
    if len(names) != 2 or not AGAINST.search(text):
        return
    a, b = names

    def compare() -> None:
        around.shared.change(lambda state: state.with_strategy("partitioner", a))
        if around.keep():
            around.shared.change(lambda state: state.with_strategy("partitioner", b))

    says = f"Keep the schedule of {a}, show that of {b}, and open their difference"
    yield Command(f"compare {a} with {b}", says, "view", compare)


def _pins(text: str, around: Commands) -> Iterator[Command]:
    """``pin conv1 to gpu:1``: ops or scopes by their whole names, each to the devices whose names end so."""
    state = around.session.state
    if not (match := PIN.match(text)) or state.spread is not None:
        return
    wanted = match["op"].strip("/*")
    ops = [name for name in state.graph.names.tolist() if f"{name.lower()}/".startswith(f"{wanted}/")]
    for device in state.cluster.names if ops else ():
        if match["device"] in _called(device):
            many = counted(len(state.with_groups(ops)), "op")
            says = f"Tied to it: {many}, colocated ones among them" if many != "1 op" else "It may run nowhere else"
            yield Command(f"pin {wanted} to {device}", says, "edit", _changes(around, State.with_pin, ops, device))


def _called(device: str) -> tuple[str, str]:
    """What a device is called: its name, and the name without its host's."""
    name = device.lower()
    return name, name.rpartition("/")[2]


def _questions(text: str, around: Commands) -> Iterator[Command]:
    """``why is gpu:1 idle at 60 ms?`` selects that gap and opens the details; without a device, those that are idle longest."""
    schedule = around.schedule()
    if schedule is None or not ("idle" in text or "why" in text):
        return
    names = schedule.problem.cluster.names
    meant = [d for d, name in enumerate(names) if any(_says(text, called) for called in _called(name))]
    at = INSTANT.search(text)
    if meant:
        yield from (_idle(around, schedule, d, at) for d in meant)
    elif _says(text, "why") and _says(text, "idle"):
        busy = np.bincount(schedule.device, schedule.finish - schedule.start, minlength=len(names))
        yield from (_idle(around, schedule, int(d), at) for d in np.argsort(busy, kind="stable")[:3])


def _says(text: str, name: str) -> bool:
    """Whether a name is in a text, and no part of a longer one."""
    return re.search(rf"(?<![\w:/]){re.escape(name)}(?![\w:/])", text) is not None


def _idle(around: Commands, schedule: Schedule, device: int, at: re.Match[str] | None) -> Command:
    """Why a device was idle at an instant, or at all."""
    name = schedule.problem.cluster.names[device]
    if at is None:
        says = "Its idle time by reason, and its longest gaps"
        return Command(f"why is {name} idle", says, "question", _selects(around, lane=device))
    units = schedule.problem.cluster.units
    instant = float(at["number"].replace(",", ".")) * _unit_of_time(at["unit"], schedule)
    gaps = idle_gaps(schedule)
    rows = np.flatnonzero((gaps["device"] == device) & (gaps["start"] <= instant) & (instant < gaps["finish"]))
    phrase = f"why is {name} idle at {units.time(instant)}"
    if not len(rows):
        says = "At that time it runs an op" if instant < schedule.makespan else "By then all has ended"
        return Command(phrase, says, "question", _selects(around, lane=device))
    row = int(rows[0])
    says = f"Idle from {units.time(gaps['start'][row])} to {units.time(gaps['finish'][row])}: the chain of causes"
    return Command(phrase, says, "question", _selects(around, op=int(gaps["op"][row]), gap=row))


def _unit_of_time(unit: str | None, schedule: Schedule) -> float:
    """Seconds of a unit that is typed; without one it is that of the makespan, where problems have units."""
    units = schedule.problem.cluster.units
    scale = {name: scale for scale, name in TIMES} | {"us": 1e-6}
    if not units.si:
        return units.second
    return scale.get((unit or units.time(schedule.makespan).rpartition(" ")[2]).replace("μ", "µ"), 1.0)


def _selects(around: Commands, op: int = -1, gap: int = -1, lane: int = -1) -> Callable[[], None]:
    """Selects in all views and opens the details."""
    return partial(around.gantt.take, drawer=True, gap=gap, transfer=-1, lane=lane, selection=op)


# -------------------------------------------------------------------- which fit what is typed, and which of them best


def ranking(text: str, entries: Sequence[tuple[str, str]]) -> list[int]:
    """The numbers of the entries that fit a text, the best first.

    Parameters
    ----------
    text
        What is typed, in small letters.
    entries
        The phrase of each command, and more words that it is found by.

    Notes
    -----
    Where each word typed begins a word of some entries, these fit. Else, as in a sentence, those fit in which most of the words
    that tell something are, each counted by how few entries have it.

    Examples
    --------
    >>> entries = [("keep", "compare"), ("pin an op", "tie lock"), ("unpin everything", "free op")]
    >>> ranking("pin", entries), ranking("how do i lock an op?", entries), ranking("such a thing", entries)
    ([1], [1], [])
    """
    words = [(_words(phrase), _words(more)) for phrase, more in entries]
    tokens = text.rstrip("?!.").split()
    fits = [i for i, each in enumerate(words) if all(_quality(token, each) for token in tokens)]
    whole = bool(fits)
    if not whole:
        tokens = [token for token in tokens if token not in FILLING]
    quality = {token: [_quality(token, each, not whole and len(token) <= SHORT) for each in words] for token in tokens}
    if not whole and not any(any(found) for token, found in quality.items() if len(token) > SHORT):
        return []
    rarity = {token: 1 / sqrt(sum(q > 0 for q in found) or 1) for token, found in quality.items()}
    score = [sum(rarity[token] * found[i] for token, found in quality.items()) for i in range(len(entries))]
    if not whole:
        fits = [i for i, value in enumerate(score) if value > max(score) / 2]

    def order(i: int) -> tuple[bool, bool, float]:
        phrase = entries[i][0]
        return text not in phrase, not phrase.startswith(text), -score[i]

    return sorted(fits, key=order)


def _words(text: str) -> set[str]:
    """The words of a text, parts of those with a hyphen among them."""
    text = text.lower()
    return {*text.split(), *text.replace("-", " ").split()}


def _quality(token: str, words: tuple[set[str], set[str]], exact: bool = False) -> float:
    """How well a word typed fits an entry: one of its phrase counts more, a whole one more than a beginning, 0 for none."""
    single = token[:-1] if len(token) > 3 and token.endswith("s") and not token.endswith("ss") else token
    for group, most in zip(words, (4.0, 3.0), strict=True):
        if token in group or single in group or f"{single}s" in group:
            return most
        if not exact and any(word.startswith(single) for word in group):
            return most - 1.0
    return 0.0
