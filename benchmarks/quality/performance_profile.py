"""Compare all quick partitioners on 324 problems of six families, as a performance profile.

    python benchmarks/quality/performance_profile.py [--processes N]

Writes profile.md, profile.svg and, with the least makespan of each problem, profile.json beside this file: the same bytes on
every machine.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from html import escape
from itertools import product
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd
from markdown_table import table

import placelab as pl
from placelab.pictures.study_figures import StrategyTable, profile, strategy_table

PAGE = Path(__file__).with_name("profile.md")
PICTURE = PAGE.with_suffix(".svg")
BEST = PAGE.with_suffix(".json")  # by which a test recomputes a row without the other strategies
SEEDS = 3
RATIOS = (0.1, 1.0, 10.0)
UNEVEN = pl.Cluster([5e12, 1e13, 2e13, 4e13], bandwidth=12e9, latency=0.0)
CLUSTERS = {"4": pl.Cluster.uniform(4, latency=0.0), "16": pl.Cluster.uniform(16, latency=0.0), "4 unequal": UNEVEN}
FAMILIES: dict[str, tuple[Callable[..., pl.OpGraph], tuple, tuple]] = {  # a small and a large size
    "fft": (pl.generators.fft, (8,), (32,)),
    "gaussian elimination": (pl.generators.gaussian_elimination, (8,), (20,)),
    "stencil": (pl.generators.stencil, (6, 6), (15, 15)),
    "fork-join": (pl.generators.fork_join, (8, 4), (16, 12)),
    "series-parallel": (pl.generators.series_parallel, (40,), (200,)),
    "layered": (pl.generators.layered, (40,), (250,)),
}
SLOW = ("ez",)  # of those that search, this one ends soon on these sizes
TAU = (1.0, 1.05, 1.2, 1.5, 2.0)


def problems() -> pl.Problems:
    """All combinations."""
    graphs = {
        f"{name} {make(*size).n_ops}, ccr {ratio:g}, seed {seed}": make(*size, ccr=ratio, seed=seed)
        for name, (make, *sizes) in FAMILIES.items()
        for size, ratio, seed in product(sizes, RATIOS, range(SEEDS))
    }
    return pl.grid(graphs, CLUSTERS)


def strategies() -> list[str]:
    """The partitioners that are compared."""
    return [name for name, function in pl.partitioners().items() if not function.slow or name in SLOW]


def compared(problems: pl.Problems, names: list[str], processes: int = 0) -> StrategyTable:
    """Makespans of plans as planned; of partitioners that plan no order, under ``pct``."""
    frame = pl.study(problems, names, ["planned", "pct"], processes=processes)
    plans = frame.groupby("partitioner")["makespan"].transform(lambda times: times.iloc[::2].notna().all())
    own: pd.DataFrame = frame[frame["scheduler"] == np.where(plans, "planned", "pct")]
    return strategy_table(own.assign(scheduler=""), "the profile")


# -------------------------------------------------------------------- the picture

WIDTH = 400
HEIGHT = 380
LEFT = 46
TOP = 30
LABELS = 120
TICKS = ((1, 1.1, 1.2, 1.5, 2), (1, 1.2, 1.5, 2, 3, 4))  # of each panel
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")


def picture(found: StrategyTable, order: list[int]) -> str:
    """Two panels, the better half of the strategies and the others; each curve has its name where it ends."""
    alike: dict[bytes, list[int]] = {}  # strategies with the same makespans share a curve
    for s in order:
        alike.setdefault(found.relative[:, s].tobytes(), []).append(s)
    curves = list(alike.values())
    half = (len(alike) + 1) // 2
    size = f"{2 * (LEFT + WIDTH + LABELS)} {HEIGHT + TOP + 44}"
    panels = [panel(found, some, left_of(i), TICKS[i]) for i, some in enumerate((curves[:half], curves[half:]))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="11">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{"".join(panels)}</svg>\n'
    )


def left_of(panel: int) -> int:
    """Where the axes of a panel begin."""
    return panel * (LEFT + WIDTH + LABELS) + LEFT


def panel(found: StrategyTable, some: list[list[int]], left: int, ticks: tuple[float, ...]) -> str:
    """Axes and curves; τ is on a logarithmic scale."""
    lines = []
    for share in np.linspace(0, 1, 6).tolist():
        y = high(share)
        lines.append(f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="#ddd"/>')
        lines.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>')
    most = ticks[-1]
    for tau in ticks:
        x = left + across(tau, most)
        lines.append(f'<path d="M{x:.1f} {TOP}v{HEIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{tau:g}</text>')
    middle = left + WIDTH / 2
    lines.append(f'<text x="{middle}" y="{TOP + HEIGHT + 34}" text-anchor="middle">τ: makespan over the best</text>')
    curves = [profile(found, alike[0], most) for alike in some]
    ends = apart([high(share[-1]) for _, share in curves])
    for i, (alike, (tau, share), y) in enumerate(zip(some, curves, ends, strict=True)):
        colour = COLOURS[i % len(COLOURS)]
        dash = ("", "5 2", "2 2")[i // len(COLOURS) % 3]
        style = f'stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}" fill="none"'
        lines.append(f'<path d="{steps(tau, share, left, most)}" {style}/>')
        end = left + WIDTH
        lines.append(
            f'<path d="M{end} {high(share[-1]):.1f}L{end + 10} {y:.1f}" stroke="{colour}" stroke-dasharray="{dash}"/>'
        )
        name = escape(", ".join(found.strategies[s] for s in alike))
        lines.append(f'<text x="{end + 13}" y="{y + 4:.1f}" fill="{colour}" font-weight="600">{name}</text>')
    return "\n".join(lines) + "\n"


def steps(tau: np.ndarray, share: np.ndarray, left: int, most: float) -> str:
    """The path of a curve."""
    corners = (
        f"H{left + across(t, most):.1f}V{high(h):.1f}" for t, h in zip(tau.tolist(), share.tolist(), strict=True)
    )
    return f"M{left} {high(share[0]):.1f}{''.join(corners)}"


def across(tau: float, most: float) -> float:
    return float(np.log(tau) / np.log(most) * WIDTH)


def high(share: float) -> float:
    return TOP + (1 - share) * HEIGHT


def apart(ends: Iterable[float], least: float = 13.0) -> list[float]:
    """Heights of labels, in their order, no two closer than `least`, none below the axis."""
    ends = [*ends]
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    found = dict[int, float]()
    low = -np.inf
    for i in order:
        low = found[i] = max(ends[i], low + least)
    most = TOP + HEIGHT
    for i in reversed(order):
        most = found[i] = min(found[i], most)
        most -= least
    return [found[i] for i in range(len(ends))]


# -------------------------------------------------------------------- the page


def page(found: StrategyTable, order: list[int], n: int) -> str:
    """The picture and its figures."""
    clusters = ", ".join(CLUSTERS)
    sizes = "; ".join(
        f"{name} {' and '.join(str(make(*size).n_ops) for size in sizes)}" for name, (make, *sizes) in FAMILIES.items()
    )
    text = f"""The share of {n} problems on which a partitioner's makespan is within a factor τ of the best of all those below
(Dolan, Moré 2002). Six families of graphs, a small and a large one each (ops: {sizes}); ratios of communication to
computation 0.1, 1 and 10; {SEEDS} seeds; devices: {clusters} (speeds 1 : 2 : 4 : 8). Plans run as planned, placements without
a plan under `pct`; default options. Partitioners that search for seconds are left out, but `ez`."""
    return f"""# Performance profile

`python benchmarks/quality/performance_profile.py` writes this page and its picture.

{fill(text, 125, break_on_hyphens=False)}

![Curves show for each partitioner the share of problems on which it is within a factor of the best.](profile.svg)

Makespan over the best, geometric mean; percent of the problems within τ of the best:

{table(["partitioner", "mean", *(f"τ = {t:g}" for t in TAU)], [row(found, s) for s in order])}"""


def row(found: StrategyTable, s: int) -> list[str]:
    """Name and figures of a strategy."""
    ratio = found.relative[:, s]
    return [found.strategies[s], f"{mean(ratio):.3f}", *(f"{100 * np.mean(ratio <= t):.1f}" for t in TAU)]


def mean(ratios: np.ndarray) -> float:
    """The geometric mean; infinite where a problem has no result."""
    return float(np.exp(np.log(ratios).mean()))


def main() -> None:
    """Write the page, the picture and what is best."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=0, help="(default: this one)")
    given = problems()
    found = compared(given, strategies(), parser.parse_args().processes)
    order = sorted(range(len(found.strategies)), key=lambda s: (mean(found.relative[:, s]), found.strategies[s]))
    PICTURE.write_text(picture(found, order), encoding="utf-8")
    PAGE.write_text(page(found, order, len(given)), encoding="utf-8")
    best = dict(zip(found.problems, found.makespan.min(axis=1).tolist(), strict=True))
    BEST.write_text(json.dumps(best, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
