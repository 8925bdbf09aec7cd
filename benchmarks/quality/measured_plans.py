"""Predictions of plans beside measured steps of two models on eight B200."""

from __future__ import annotations

from itertools import product

import numpy as np
from markdown_table import table

import placelab as pl
from placelab.models.config import CONFIGS

GIB = 2**30
PLANS = (pl.Plan(dp=4, pp=2, zero=1), pl.Plan(dp=4, tp=2, zero=1), pl.Plan(dp=2, tp=4, zero=1), pl.Plan(tp=8, zero=1))
# model, layers → micro-batches of a replica → milliseconds of each plan; GiB of each plan
MEASURED = {
    ("llama-3.1-70b", 12): (
        {4: (843.0, 725.5, 409.8, 280.9), 8: (1476.8, 1387.0, 765.6, 556.7), 32: (5436.5, 5376.5, 2964.6, 2073.7)},
        (66.55, 60.68, 39.07, 28.29),
    ),
    ("llama-3.1-405b", 4): (
        {4: (1074.6, 907.3, 476.0, 258.8), 8: (1935.4, 1716.8, 899.6, 488.1), 32: (7046.4, 6604.1, 3455.4, 1901.8)},
        (87.08, 81.59, 52.89, 38.57),
    ),
}
SEQUENCE = 4096


def predicted(model: str, layers: int, plan: pl.Plan, microbatches: int) -> pl.PlanResult:
    """The step of a model that is cut to some layers."""
    cut = pl.models.read(CONFIGS[model] | dict(num_hidden_layers=layers))
    cluster = pl.costs.cluster("b200", 8, link="nvlink5")
    return pl.plan(cut, cluster, plan, batch=plan.dp * microbatches, sequence=SEQUENCE)


def rank_correlation(first: list[float], second: list[float]) -> float:
    """Spearman's ρ of values that all differ."""
    ranks = [np.argsort(np.argsort(values)) for values in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


def section() -> str:
    """Tokens per millisecond and bytes, measured and predicted."""
    rows = []
    said = []
    for ((model, layers), (times, sizes)), m in product(MEASURED.items(), (4, 8, 32)):
        found = [predicted(model, layers, plan, m) for plan in PLANS]
        tokens = [plan.dp * m * SEQUENCE / ms for plan, ms in zip(PLANS, times[m], strict=True)]
        ours = [each.tokens_per_second / 1e3 for each in found]
        rho = rank_correlation(tokens, ours)
        said.append(rho)
        for plan, real, here, each, size in zip(PLANS, tokens, ours, found, sizes, strict=True):
            gib = float(each.memory["total"].max()) / GIB
            degrees = f"dp {plan.dp} · tp {plan.tp} · pp {plan.pp}"
            cells = [f"{real:.1f}", f"{here:.1f}", f"{here / real:.2f}", f"{size:.2f}", f"{gib:.2f}"]
            last = f"{rho:.1f}" if plan is PLANS[-1] else ""
            rows.append([f"{model}, {layers} layers", degrees, str(m), *cells, f"{gib / size - 1:+.1%}", last])
    head = ["model", "plan", "micro-batches", "tokens/ms measured", "predicted", "ratio"]
    head += ["GiB measured", "predicted", "difference", "rank correlation"]
    return f"""## Beside measured steps

Public runs on eight B200 (SimuMax v1.2, table of its release; sequences of {SEQUENCE:,}, a sequence per micro-batch, ZeRO 1,
fused cross entropy), and what {{func}}`placelab.plan` says of them from data sheets. *Rank correlation*: Spearman's, of
tokens per millisecond over the four plans of a model and a number of micro-batches.

{table(head, rows)}
What this shows and what it does not: the rule of memory was shaped on these very runs, so that its differences are no
test of it. Step times are not calibrated, and too short by the factor of the kernels' efficiency, which falls as tensor
parallelism makes products narrow. Of {len(said)} rankings of four plans each the correlation is {min(said):.1f} at least and
{np.median(said):.1f} in the median. Four plans are few, and the order of close ones should not be trusted.
"""
