"""Measure the agreement of predictions with measurements: ranks, errors, orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import kendalltau, spearmanr

Starts = Mapping[str, float]
QUIET = 0.1


def quiet(seconds: Sequence[float]) -> float:
    """First decile: on a shared machine, other programs only add time."""
    return float(np.quantile(seconds, QUIET))


def kendall(a: Sequence[float], b: Sequence[float]) -> float:
    """Kendall's tau-b: 1 same order, 0 unrelated, -1 reversed; NaN where one side is all the same."""
    return float(kendalltau(a, b).statistic) if len(a) > 1 else float("nan")


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Correlation of ranks; NaN where one side is all the same."""
    if min(len(set(a)), len(set(b))) < 2:
        return float("nan")
    return float(spearmanr(a, b).statistic)


def error(predicted: float, measured: float) -> float:
    """Signed error relative to the measured value."""
    return predicted / measured - 1


def order(predicted: Starts, measured: Starts) -> float:
    """Kendall's tau of the start times of the ops that both sides have."""
    both = [op for op in predicted if op in measured]
    return kendall([predicted[op] for op in both], [measured[op] for op in both])


def order_by_device(predicted: Starts, measured: Starts, device: Mapping[str, str]) -> dict[str, float]:
    """Like `order`, for the ops of each device; devices with fewer than two such ops are absent."""
    found: dict[str, dict[str, float]] = {}
    for op, start in predicted.items():
        if op in measured:
            found.setdefault(device[op], {})[op] = start
    return {name: order(starts, measured) for name, starts in sorted(found.items()) if len(starts) > 1}


def typical(steps: Sequence[Starts]) -> dict[str, float]:
    """Median start of each op over the steps that ran it."""
    found: dict[str, list[float]] = {}
    for step in steps:
        for op, start in step.items():
            found.setdefault(op, []).append(start)
    return {op: float(np.median(starts)) for op, starts in found.items()}


def repeatability(steps: Sequence[Starts]) -> float:
    """Tau between the typical starts of even and of odd steps, which no prediction can be expected to exceed."""
    return order(typical(steps[::2]), typical(steps[1::2]))
