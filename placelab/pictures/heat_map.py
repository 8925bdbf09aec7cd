"""Heat map of a study as HTML: problems × strategies, each cell the makespan over the best one of the problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

MOST_ROWS = 48  # more problems share rows, neighbours together
EDGES = (1.016, 1.156, 1.495, 2.2, 3.68)  # between colours, as many steps of the comparison's scale
LIGHT = ("#0c2c84", "#225ea8", "#1d91c0", "#7fcdbb", "#d3eeca", "#f7fbe6")
DARK = ("#e3f5c3", "#8fd3bd", "#3fa6c4", "#2470a8", "#22447c", "#1c2a4a")
INKS = {
    "light": ("#fff", "#fff", "#000", "#000", "#000", "#000"),
    "dark": ("#000", "#000", "#000", "#fff", "#fff", "#fff"),
}


class Cells:
    """Rows of a study, as they come.

    A problem and a strategy have one number per seed: the makespan, infinite where there is no legal result within memory. Of
    two rows for one seed, as after a change of the problem, the later one holds.
    """

    def __init__(self) -> None:
        self.problems: dict[str, int] = {}
        self.strategies: dict[tuple[str, str], int] = {}
        self._makespan: dict[tuple[int, int], dict[int, float]] = {}
        self._reason: dict[tuple[int, int], str] = {}

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows over."""
        for row in rows:
            at = (
                self.problems.setdefault(str(row["problem"]), len(self.problems)),
                self.strategies.setdefault((row["partitioner"], row["scheduler"]), len(self.strategies)),
            )
            reason = str(row["error"] or "out of memory" * row["oom"] or "no legal schedule" * (not row["valid"]))
            self._makespan.setdefault(at, {})[row["seed"]] = np.inf if reason else row["makespan"]
            if reason:
                self._reason[at] = reason

    def __len__(self) -> int:
        return sum(map(len, self._makespan.values()))

    @property
    def ratios(self) -> np.ndarray:
        """Mean makespan over the least of the problem, shape (problems, strategies); infinite without a result, NaN before it."""
        mean = np.full((len(self.problems), len(self.strategies)), np.nan)
        for at, seeds in self._makespan.items():
            mean[at] = sum(seeds.values()) / len(seeds)
        least = np.min(np.where(np.isnan(mean), np.inf, mean), axis=1, keepdims=True, initial=np.inf)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(np.isinf(mean), np.inf, np.where(mean == least, 1.0, mean / least))

    @property
    def labels(self) -> list[str]:
        """Names of the strategies; the partitioner alone where there is one scheduler."""
        alone = len({scheduler for _, scheduler in self.strategies}) == 1
        return [partitioner if alone else f"{partitioner} + {scheduler}" for partitioner, scheduler in self.strategies]

    def reason(self, problems: Iterable[int], strategy: int) -> str:
        """Why one of the problems has no result; "" where all have one."""
        return next((self._reason[at] for p in problems if (at := (p, strategy)) in self._reason), "")


def means(ratios: np.ndarray) -> np.ndarray:
    """Geometric mean of each column over its results; NaN where there is none, infinite where all failed."""
    good = np.isfinite(ratios)
    total = np.log(np.where(good, ratios, 1.0)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        mean = np.exp(total / good.sum(axis=0))
    return np.where(np.isnan(mean) & np.isinf(ratios).any(axis=0), np.inf, mean)


def heat_map(cells: Cells) -> str:
    """The table, its first row the means over all problems; what stands for several problems is a mean over them."""
    ratios = cells.ratios
    labels = cells.labels
    parts = np.array_split(np.arange(len(ratios)), min(MOST_ROWS, max(len(ratios), 1)))
    names = list(cells.problems)
    head = "".join(f'<th scope="col" title="{escape(label)}"><span>{escape(label)}</span></th>' for label in labels)
    rows = [_row("all: mean", f"all {len(names):,} problems", ratios, labels, cells, range(len(ratios)))]
    for part in parts:
        if len(part):
            some = names[part[0]] if len(part) == 1 else f"({len(part)}) {names[part[0]]} …"
            every = ", ".join(names[p] for p in part[:9]) + ", …" * (len(part) > 9)
            rows.append(_row(some, every, ratios[part], labels, cells, part.tolist()))
    scale = "".join(f"<i class=h{i}></i>" for i in range(len(LIGHT)))
    corner = f'<th><span class="scale">1 ×{scale}{EDGES[-1]:.1f} ×</span></th>'
    caption = "Makespans over the best one of each problem"
    return (
        f'{STYLE}<div class="pl-study"><table aria-label="{caption}"><thead><tr>{corner}{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _row(
    name: str, every: str, ratios: np.ndarray, labels: Sequence[str], cells: Cells, problems: Sequence[int]
) -> str:
    done = (~np.isnan(ratios)).sum(axis=0)
    inside = [
        _cell(
            label,
            mean,
            f"{done[i]:,} of {len(ratios):,} problems" if len(ratios) > 1 else "",
            cells.reason(problems, i),
        )
        for i, (label, mean) in enumerate(zip(labels, means(ratios).tolist(), strict=True))
    ]
    return f'<tr><th scope="row" title="{escape(every)}">{escape(name)}</th>{"".join(inside)}</tr>'


def _cell(label: str, mean: float, done: str, reason: str) -> str:
    if np.isnan(mean):
        return "<td></td>"
    said = "" if np.isinf(mean) else f"{mean:.4g} × the best"
    title = escape(f"{label}: {', '.join(filter(None, (said, done, reason)))}")
    if np.isinf(mean):
        return f'<td class="none" title="{title}">–</td>'
    colour = int(np.searchsorted(EDGES, mean))
    mark = "*" if reason else ""
    return f'<td class=h{colour} title="{title}">{_short(mean)}{mark}</td>'


def _short(ratio: float) -> str:
    """Three digits, or fewer for what is no longer close."""
    return f"{ratio:.2f}" if ratio < 9.995 else f"{min(ratio, 9999):.0f}"


def _colours(theme: str, colours: Sequence[str]) -> str:
    return "".join(
        f"--h{i}:{fill};--i{i}:{ink};" for i, (fill, ink) in enumerate(zip(colours, INKS[theme], strict=True))
    )


CSS = Path(__file__).with_name("heat_map.css").read_text()
STYLE = "<style>" + CSS.replace("/* light */", _colours("light", LIGHT)).replace("/* dark */", _colours("dark", DARK))
STYLE += (
    "".join(f".pl-study .h{i} {{background: var(--h{i}); color: var(--i{i})}}" for i in range(len(LIGHT))) + "</style>"
)
