"""The picture of a training run, as SVG: what it does over time, and its expected time over the interval between checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from placelab.faults import KINDS, TrainingRuns

COLOURS = {"useful": "#009E73", "saving": "#0072B2", "lost": "#D55E00", "detecting": "#CC79A7", "restoring": "#E69F00"}
WIDTH, BAR, TOP = 340, 26, 11  # of the picture, of the bar over time, above it for the marks of failures
CURVE = (54, 100)  # top and foot of the curve
COLUMNS = 170  # of the bar over time
MARKS = 400  # failures that are marked
STEEP = 2.0  # the curve is cut at so many times its least overhead, or at what the interval shown takes

Text = Callable[[float], str]


def picture(runs: TrainingRuns, curve: np.ndarray, *, interval: float, optimum: float, text: Text, share: Text) -> str:
    """The picture of the first run, and the curve of :func:`placelab.faults.over_intervals`.

    Parameters
    ----------
    interval, optimum
        Seconds between checkpoints: those shown and the best ones.
    text, share
        Write a time [s], and a share.
    """
    total = float(runs.total[0])
    parts = [
        _over_time(runs, total),
        _failures(runs, total),
        _over_intervals(runs, curve, interval, optimum, text, share),
    ]
    legend = " ".join(
        f'<span><i style="background:{COLOURS[kind]}"></i>{kind} {share(float(getattr(runs, kind)[0]) / total)}</span>'
        for kind in KINDS
    )
    n = int(runs.failures[0])
    said = f"{runs.iterations:,} steps in {text(total)}, {n:,} failure{'s' * (n != 1)}"
    drawing = f'<svg viewBox="0 0 {WIDTH} 114" role="img" aria-label="{escape(said)}">{"".join(parts)}</svg>'
    return f'<div class="pl-run-legend"><b>{escape(said)}</b> {legend}</div>{drawing}'


def shares(runs: TrainingRuns, columns: int = COLUMNS) -> np.ndarray:
    """Share of each kind in each of the columns that the first run is divided into; shape (kinds, columns)."""
    rows, total = runs.intervals, float(runs.total[0])
    edges = np.linspace(0.0, total, columns + 1)
    took = rows["finish"] - rows["start"]
    at = np.concatenate([[0.0], rows["finish"]])
    found = np.empty((len(KINDS), columns))
    for kind in range(len(KINDS)):
        spent = np.concatenate([[0.0], np.cumsum(np.where(rows["kind"] == kind, took, 0.0))])
        found[kind] = np.diff(np.interp(edges, at, spent))
    return found / (total / columns)


def _over_time(runs: TrainingRuns, total: float) -> str:
    """Columns of what is done, useful work at the foot."""
    stacked = np.cumsum(shares(runs), axis=0)
    foot, wide = TOP + BAR, WIDTH / COLUMNS
    drawn = []
    for kind in reversed(range(len(KINDS))):
        heights = foot - BAR * np.minimum(stacked[kind], 1.0)
        steps = "".join(f"V{y:.1f}h{wide:.4g}" for y in heights)
        drawn.append(
            f'<path d="M0 {foot}{steps}V{foot}z" fill="{COLOURS[KINDS[kind]]}"><title>{KINDS[kind]}</title></path>'
        )
    return "".join(drawn)


def _failures(runs: TrainingRuns, total: float) -> str:
    x = np.unique(np.round(runs.failed / total * WIDTH, 1))[:MARKS]
    marks = "".join(f"M{at - 3:.1f} 2h6l-3 8z" for at in x)
    return f'<path class="pl-failures" d="{marks}" fill="#e0343a"><title>failures</title></path>' if len(x) else ""


def _over_intervals(
    runs: TrainingRuns, curve: np.ndarray, interval: float, optimum: float, text: Text, share: Text
) -> str:
    """Expected time beyond the useful one over the interval, both where they matter."""
    useful = runs.step * runs.iterations
    over = curve["expected"] / useful - 1
    finite = np.isfinite(over)
    seconds, over = curve["seconds"][finite], over[finite]
    if not len(over):
        return '<text x="2" y="100">No interval makes this run end in reasonable time.</text>'
    left, right = np.log(seconds[0]), max(np.log(seconds[-1]), np.log(seconds[0]) + 1e-9)
    here = float(np.interp(interval, seconds, over))
    least = float(over.min())
    most = max(STEEP * least, min(1.1 * here, 20 * least), 1e-12)
    top, foot = CURVE

    def x(at: float | np.ndarray) -> np.ndarray:
        return np.clip((np.log(at) - left) / (right - left), 0, 1) * WIDTH

    def y(value: float | np.ndarray) -> np.ndarray:
        return foot - (foot - top) * np.clip(value / most, 0, 1)

    pick = np.unique(np.linspace(0, len(over) - 1, 160).astype(int))
    pick = pick[over[pick] <= most]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x(seconds[pick]), y(over[pick]), strict=True))
    best, at, level = float(x(optimum)), float(x(interval)), float(y(least))
    at_right = best > WIDTH / 2
    says, shown = f"optimum {text(optimum)}: + {share(least)}", f"interval {text(interval)}: + {share(here)} expected"
    return (
        f'<path d="M0 {foot}H{WIDTH}" class="pl-axis"/><polyline class="pl-curve" points="{line}"/>'
        f'<path d="M{at:.1f} {top - 6}V{foot}" class="pl-here"><title>interval shown</title></path>'
        f'<circle class="pl-optimum" cx="{best:.1f}" cy="{level:.1f}" r="4" data-seconds="{optimum:.6g}"/>'
        + _label(best + (-8 if at_right else 8), level - 8, says, "end" if at_right else "start")
        + _label(0, foot + 12, text(float(seconds[0])))
        + _label(WIDTH, foot + 12, text(float(seconds[-1])), "end")
        + _label(WIDTH / 2, foot + 12, shown, "middle")
    )


def _label(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
