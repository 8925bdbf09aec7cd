"""Write the comparison as Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reality.agreement import error, kendall, order, order_by_device, quiet, repeatability, spearman, typical

MODELS = {"simulated": "simulator", "sequential": "simulator, sequential transfers", "cores": "shared cores"}
HEAD = """# Simulated against real

`python benchmarks/reality.py` writes this file: models placed on devices by placelab, simulated and run. See
[README.md](README.md#simulated-against-real) for what is measured and what it shows.
"""
NO_GPU = "**No GPU was found: the comparison on GPUs was skipped.** The CPU stands in, as a check of the program."
PYTORCH = "\n\n## PyTorch\n\n"


def save(path: Path, tensorflow: str = "", pytorch: str = "") -> None:
    """Write the given part; the other part of the file stays unchanged."""
    old = path.read_text() if path.exists() else HEAD
    before, mark, after = old.partition(PYTORCH)
    parts = [tensorflow or before, pytorch or after] if mark or pytorch else [tensorflow or before]
    path.write_text(PYTORCH.join(part.strip() for part in parts) + "\n")


def tensorflow(cases: Sequence[Any], rounds: int, traced_every: int, cores: int) -> str:
    """The TensorFlow part of the file."""
    how = (
        f"{rounds} steps of each placement, in turns with the others, and {-(-rounds // traced_every)} traced ones for "
        f"the order; {cores} cores. Times are first deciles over the steps, as other programs only ever add to them; the "
        "load is the system's mean of runnable tasks at the end."
    )
    parts = [HEAD, how, "## Agreement", summary(cases), "## Costs, measured beforehand on one device", costs(cases)]
    for case in cases:
        parts += [f"## {case.network}, {case.machine.title}", placements(case)]
    return "\n\n".join(part.strip() for part in parts)


def pytorch(one: Any, several: Sequence[Any]) -> str:
    """A model on one device, and on several if there are several."""
    on = f"On {one.title}." if one.title != "cpu" else NO_GPU
    step = (
        f"A forward step of {one.ops} ops that take time takes {1e3 * one.measured:.3g} ms. Its ops, each by itself, add up to "
        f"{1e3 * one.computing:.3g} ms, starting them to {1e3 * one.starting:.3g} ms; predicted: {1e3 * one.predicted:.3g} ms "
        f"({error(one.predicted, one.measured):+.0%}). Estimates by the roofline of {one.spec}: Spearman's ρ over the ops "
        f"is {one.rank:.2f}; by kind:"
    )
    kinds = [[kind, f"{n}", f"{1e3 * m:.3g}", f"{1e3 * e:.3g}"] for kind, (n, m, e) in one.kinds.items()]
    found = [on, step, table(["kind", "ops", "measured, ms", "estimated, ms"], kinds, texts=1)]
    if not several:
        return "\n\n".join([*found, "Placements on several GPUs were skipped: there are not two."])
    rows = [[m.partitioner, f"{m.entries}", f"{1e3 * m.measured:.3g}", f"{1e3 * m.predicted:.3g}"] for m in several]
    return "\n\n".join(
        [*found, table(["partitioner", "entries of the map", "measured, ms", "simulated, ms"], rows, texts=1)]
    )


def summary(cases: Sequence[Any]) -> str:
    """Agreement of step times and of orders, by model."""
    heads = ["network", "devices", "model", "τ", "ρ", "error", "error next to single"]
    order_heads = ["network", "devices", "simulator", "shared cores", "by number", "repeatable"]
    rows = [row for case in cases for row in step_rows(case)]
    return "\n\n".join(
        [
            "Step times over all placements: Kendall's τ and Spearman's ρ of predicted and measured ones; median of the "
            "absolute error, as they are and as multiples of the step on a single device.",
            table(heads, rows, texts=3),
            "Order in which ops start: median over the placements of Kendall's τ between predicted and typical measured "
            "starts; *by number*, of the order in which the file lists the ops; *repeatable*, between half of the traced "
            "steps and the other half.",
            table(order_heads, [order_row(case) for case in cases], texts=2),
        ]
    )


def step_rows(case: Any) -> list[list[str]]:
    measured = [quiet(result.seconds) for result in case.results]
    names = [result.partitioner for result in case.results]
    rows = []
    for model, title in MODELS.items():
        predicted = [result.predicted.step[model] for result in case.results]
        rows.append([case.network, case.machine.title, title, *agreed(names, predicted, measured)])
    return rows


def agreed(names: Sequence[str], predicted: Sequence[float], measured: Sequence[float]) -> list[str]:
    """Ranks and errors of the step times of placements by these partitioners."""
    pairs = list(zip(predicted, measured, strict=True))
    plain = median_error(pairs)
    base = dict(zip(names, pairs, strict=True)).get("single", (float("nan"),) * 2)
    others = [(p / base[0], m / base[1]) for name, (p, m) in zip(names, pairs, strict=True) if name != "single"]
    return [
        number(kendall(predicted, measured)),
        number(spearman(predicted, measured)),
        *("–" if np.isnan(value) else f"{value:.0%}" for value in (plain, median_error(others))),
    ]


def median_error(pairs: Sequence[tuple[float, float]]) -> float:
    return float(np.median([abs(error(p, m)) for p, m in pairs])) if pairs else float("nan")


def order_row(case: Any) -> list[str]:
    found = [
        *(median(case, lambda r, m=m: order(r.predicted.start[m], typical(r.starts))) for m in ("simulated", "cores")),
        median(case, lambda r: order(by_number(r.predicted), typical(r.starts))),
        median(case, lambda r: repeatability(r.starts)),
    ]
    return [case.network, case.machine.title, *(number(value) for value in found)]


def by_number(predicted: Any) -> dict[str, float]:
    """Order in which the file lists the ops, as far as their inputs allow; it needs no simulator."""
    return {op: v for v, op in enumerate(predicted.device)}


def median(case: Any, of: Callable[[Any], float]) -> float:
    return float(np.median([of(result) for result in case.results]))


def costs(cases: Sequence[Any]) -> str:
    heads = ["network", "devices", "ops", "step, ms", "computing", "start and end", "overhead per op, µs"]
    heads += ["transfer, µs", "GB/s", "its processor time, µs", "GB/s", "load"]
    return table(heads, [costs_row(case) for case in cases], texts=2)


def costs_row(case: Any) -> list[str]:
    c = case.costs
    shares = (sum(c.seconds.values()) / c.step, c.call / c.step)
    lines = [f"{x:.3g}" for line in (c.link, c.work) for x in (1e6 * line.seconds, 1e-9 * line.bandwidth)]
    head = [
        case.network,
        case.machine.title,
        f"{case.ops:,}",
        f"{1e3 * c.step:.1f}",
        *(f"{share:.0%}" for share in shares),
    ]
    return [*head, f"{1e6 * c.overhead:.2f}", *lines, f"{case.load:.1f}"]


def placements(case: Any) -> str:
    heads = ["partitioner", "transfers", "measured, ms", "quartiles", *(f"{model}, ms" for model in MODELS)]
    heads += [
        *(f"error {model}" for model in MODELS),
        "order",
        "by device",
        "by number",
        "repeatable",
        "at once",
        "moved",
    ]
    return table(heads, [placement_row(result) for result in case.results], texts=1)


def placement_row(result: Any) -> list[str]:
    measured = quiet(result.seconds)
    expected = result.predicted
    seen = typical(result.starts)
    by_device = order_by_device(expected.start["simulated"], seen, expected.device).values()
    return [
        result.partitioner,
        f"{expected.transfers:,}",
        f"{1e3 * measured:.1f}",
        " – ".join(f"{1e3 * q:.1f}" for q in np.quantile(result.seconds, [0.25, 0.5, 0.75])),
        *(f"{1e3 * expected.step[model]:.1f}" for model in MODELS),
        *(f"{error(expected.step[model], measured):+.0%}" for model in MODELS),
        number(order(expected.start["simulated"], seen)),
        " ".join(number(tau) for tau in by_device),
        number(order(by_number(expected), seen)),
        number(repeatability(result.starts)),
        f"{result.at_once}",
        f"{len(result.elsewhere)}",
    ]


def number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def table(heads: list[str], rows: list[list[str]], texts: int) -> str:
    """Markdown; all but the first `texts` columns are numbers."""
    rule = ["---"] * texts + ["---:"] * (len(heads) - texts)
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])
