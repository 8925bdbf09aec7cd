"""The makespan over the value that a hand drags or has chosen, for the pair shown, and the best of the quick pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from placelab.app.explorer.engine.solving import function_of, place_state, simulate_state
from placelab.app.explorer.state import State
from placelab.app.widgets.cluster_edit import apply
from placelab.base.errors import PlacelabError
from placelab.base.leaving import Caller
from placelab.base.threads import Background, Worker
from placelab.problem.cluster import Cluster
from placelab.schedule.catalogue import PLANNED, partitioners

VALUES = 33  # on the curve, from a thirtieth of the value before the drag to thirty times it
REACH = 1.5  # powers of ten to either side
COARSE = 8  # every so many values first, and for the other pairs
PAUSE = 0.15  # seconds of a drag before the curve is computed, so that short ones cost nothing
LIMIT = 0.3  # seconds for a value; where they take longer, there is no curve, which would slow what the hand sees
LATE = 2  # values in succession that may take longer: a busy machine makes one late now and then
REST = 0.01  # seconds at least between two values, and between two looks whether it may go on
STILL = 0.4  # seconds without a move after which the hand rests
EVERY = 0.1  # seconds between two messages with the values found meanwhile
QUICK = (("heft", PLANNED), ("m-etf", "pct"), ("tf-greedy", "pct"), ("critical-path", "pct"), ("single", "fifo"))


class Asked(NamedTuple):
    """What a curve is of: a state, what names a value in it, and the key of the state or the number of the drag."""

    state: State
    value: Mapping[str, Any]
    of: str = ""
    gesture: int | None = None


class Curve(Background):
    """Computes the curve of a drag, once, while it lasts, and that of a value that has been chosen, for as long as it is.

    Parameters
    ----------
    show
        Called during a drag with what there is so far: ``values`` (SI, ascending), ``makespans`` [s] of the pair shown, ``best``:
        [value, pair, makespan] where another quick pair is better, ``preview``: whether a preview stands in, ``gesture``: the
        number of the drag; {} when it ends.
    keep
        Called likewise for a chosen value, with ``now``, that value, its ``unit``, and ``of``, the key of its state; ``missing``:
        how many values are still to be tried; ``none`` says why there is no curve; {} before one is known.
    busy
        Whether the picture that the hand waits for is being made.

    Notes
    -----
    While the hand moves, one value is computed after each of its pictures; while it rests, the curve takes half of the time. Its
    Python code would hold up the code that makes the pictures.
    """

    def __init__(
        self,
        show: Callable[[dict[str, Any]], None],
        keep: Callable[[dict[str, Any]], None] = lambda _: None,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._show = show
        self._keep = keep
        self._busy = busy
        self._moved = 0.0  # when the hand moved last
        self._may = False  # whether a value has not been computed since
        self._drag: Asked | None = None
        self._gesture: int | None = None
        self._chosen: Asked | None = None
        self._last: Mapping[str, Any] = {}  # the value whose curve stands in the drawer, perhaps of a state before
        self._worker = Worker(self._compute, "curve")
        self._caller = Caller()

    def follow(self, before: State, message: Mapping[str, Any], gesture: int | None) -> None:
        """Take the newest message of drag number `gesture`, which began at the state `before`; None: the drag has ended."""
        self._moved = monotonic()
        self._may = True
        if gesture == self._gesture:
            return
        self._gesture = gesture
        self._chosen = None
        self._drag = (
            Asked(before, message, gesture=gesture) if gesture is not None and message.get("kind") in COLUMNS else None
        )
        self._show({})
        self._worker.wake()

    def rest_on(self, state: State, value: Mapping[str, Any], of: str = "") -> None:
        """Compute the curve of a value that has been chosen (``ClusterCanvas.chosen``), in a state with this key; {}: of none."""
        chosen = Asked(state, value, of) if is_there(state.cluster, value) else None
        before = self._chosen
        same = chosen is before or (chosen and before and before.state is state and before.value == value)
        if same or self._gesture is not None:
            return
        self._chosen = chosen
        if chosen is None or value != self._last:  # else the curve of the state before stays, and the page greys it
            self._keep({})
        self._last = {} if chosen is None else value
        self._worker.wake()

    def close(self) -> None:
        """End the threads."""
        super().close()
        self._caller.close()

    def _compute(self) -> None:
        asked = self._drag or self._chosen
        if asked is None or not self._worker.sleep(PAUSE):
            return
        state, message, *_ = asked
        start = dragged_value(state.cluster, message)
        if why := _why_none(state, start):
            return self._tell(asked, {"none": why})
        factors = np.logspace(-REACH, REACH, VALUES)
        coarse = np.arange(0, VALUES, COARSE)
        makespans: dict[int, float] = {}
        best: list[list[Any]] = []
        reported = monotonic()
        late = 0
        for i in [*coarse, *np.setdiff1d(np.arange(VALUES), coarse)]:
            makespans[int(i)], took = self._makespan(at(state, message, factors[i]))
            late = late + 1 if took > LIMIT else 0
            if self._worker.woken:
                return
            if late > LATE:
                return self._tell(asked, {"none": f"No curve: a value of it takes more than {LIMIT:g} s."})
            if late:
                continue
            if len(makespans) == len(coarse) or monotonic() - reported > EVERY:
                self._report(asked, start * factors, makespans, best)
                reported = monotonic()
        self._report(asked, start * factors, makespans, best)
        for i in coarse:
            others = [(self._makespan(changed)[0], name) for name, changed in pairs(at(state, message, factors[i]))]
            if self._worker.woken:
                return
            least, name = min(others, default=(np.inf, ""))
            if least < makespans[int(i)] * 0.999:
                best.append([float(start * factors[i]), name, least])
                self._report(asked, start * factors, makespans, best)

    def _makespan(self, state: State) -> tuple[float, float]:
        """The makespan of a state [s], NaN where its strategies fail or take too long; and the seconds this took."""
        while self._waits() and self._worker.sleep(REST):
            pass
        self._may = False
        begun = monotonic()
        value = float("nan")
        with suppress(BaseException):  # a user's strategy may raise anything, an exit, too
            late = lambda: self._worker.woken or monotonic() - begun > LIMIT  # noqa: E731
            value = self._caller.run(partial(makespan, state), late)
        took = monotonic() - begun
        self._worker.sleep(min(max(took, REST), LIMIT))
        return value, took

    def _waits(self) -> bool:
        """Whether the next value must wait: for the picture of the drag, or for its next move."""
        return self._busy() or (not self._may and monotonic() - self._moved < STILL)

    def _report(self, asked: Asked, values: np.ndarray, makespans: dict[int, float], best: list[list[Any]]) -> None:
        known = sorted(i for i, value in makespans.items() if np.isfinite(value))
        self._tell(
            asked,
            {
                "values": [float(values[i]) for i in known],
                "makespans": [makespans[i] for i in known],
                "best": list(best),
                "preview": "preview" in function_of(asked.state).reserved,
                "missing": VALUES - len(makespans),
            },
        )

    def _tell(self, asked: Asked, curve: dict[str, Any]) -> None:
        """Hand on a curve, unless something else has been asked for meanwhile."""
        if asked is self._drag and "none" not in curve:
            self._show(curve | {"gesture": asked.gesture})
        elif asked is self._chosen:
            state, value, of, _ = asked
            unit = UNITS[value["kind"]] if state.cluster.units.si else ""
            self._keep(curve | {"now": dragged_value(state.cluster, value), "unit": unit, "of": of})


def _why_none(state: State, value: float) -> str:
    """Why there is no curve over a value; "" where there is one."""
    if not 0 < value < np.inf:
        return "No curve: the scale of powers of ten has no place for this value."
    function = function_of(state)
    if function.slow and "preview" not in function.reserved:
        return f"No curve: {state.partitioner} takes too long for one."
    return ""


# What is dragged, and where.
COLUMNS = {"speed": "device", "memory": "device", "bandwidth": "pairs", "latency": "pairs", "shared": "link"}
UNITS = {"speed": "FLOP/s", "memory": "B", "bandwidth": "B/s", "latency": "s", "shared": "B/s"}


def is_there(cluster: Cluster, value: Mapping[str, Any]) -> bool:
    """Whether a cluster has the device, the pairs of devices or the shared link that a value names."""
    match COLUMNS.get(value.get("kind", "")):
        case "device":
            return 0 <= value.get("device", -1) < cluster.n_devices
        case "pairs":
            pairs = value.get("pairs", ())
            return len(pairs) > 0 and all(0 <= end < cluster.n_devices for pair in pairs for end in pair)
        case "link":
            return any(link.name == value.get("link") for link in cluster.links)
    return False


def dragged_value(cluster: Cluster, message: Mapping[str, Any]) -> float:
    """The value that a drag's message changes, in a cluster [SI]: the least of its links."""
    if message["kind"] == "shared":
        return next(link.bandwidth for link in cluster.links if link.name == message["link"])
    values = getattr(cluster, message["kind"])
    if COLUMNS[message["kind"]] == "device":
        return float(values[message["device"]])
    return float(min(values[i, j] for i, j in message["pairs"]))


def at(state: State, message: Mapping[str, Any], factor: float) -> State:
    """The state with the dragged value at `factor` times what it was."""
    scaled = {key: message[key] for key in ("kind", "device", "pairs", "link") if key in message}
    of_device = COLUMNS[message["kind"]] == "device"
    scaled |= {"value": factor * dragged_value(state.cluster, message)} if of_device else {"factor": factor}
    return state.with_cluster(*apply(state.cluster, state.layout, scaled))


def pairs(state: State) -> list[tuple[str, State]]:
    """The quick pairs of strategies, with default options, each as a state and with its name."""
    known = [(p, s) for p, s in QUICK if p in partitioners() and (p, s) != (state.partitioner, state.scheduler)]
    return [(f"{p} + {s}", replace(state, partitioner=p, scheduler=s, options={}, hand=None)) for p, s in known]


def makespan(state: State) -> float:
    """The makespan of a state [s]; NaN where it cannot be placed or simulated."""
    extra = {"preview": True} if "preview" in function_of(state).reserved else {}
    try:
        placement, _ = place_state(state, state.problem(), **extra)
        return simulate_state(state, placement).makespan
    except PlacelabError:
        return float("nan")
