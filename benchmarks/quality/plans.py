"""Plans of training steps: the best of a search beside a rule of thumb, and predictions beside measured steps.

    python benchmarks/quality/plans.py [PATH]

Writes plans.md beside this file, or PATH.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import measured_plans
import numpy as np
from markdown_table import table

import placelab as pl
from placelab.base.units import seconds
from placelab.plans.memory import CATEGORIES

PAGE = Path(__file__).with_name("plans.md")
MODELS = ("llama-3.2-1b", "llama-3-8b", "qwen3-30b-a3b", "mixtral-8x7b", "llama-3.1-70b")
UNEVEN = ("rtx4090", "rtx3090", "t4")
SEQUENCE = 4096
SHOWN = 3  # plans of different degrees per model
PLAN = ("plan", "micro-batch", "schedule", "recompute", "zero")
FIGURES = ("step", "over best", "MFU", "bubble", *(f"{name} GB" for name in CATEGORIES), "of")


def uneven() -> pl.Cluster:
    """Three cards of different age in one box, by PCIe 4."""
    known = [pl.costs.specs()[name] for name in UNEVEN]
    link = pl.costs.links()["pcie4"]
    speed = [spec.speed for spec in known]
    memory = [spec.memory for spec in known]
    return pl.Cluster(speed, memory=memory, types=UNEVEN, bandwidth=link.bandwidth, latency=link.latency)


def hosts(n: int) -> pl.Cluster:
    """Hosts of eight H100."""
    return pl.costs.cluster("h100", 8, link="nvlink4", hosts=n, network="infiniband_ndr")


# Cluster, sequences of a step.
CLUSTERS = {
    "One box: 8 H100": (hosts(1), 64),
    "Two nodes of 8 H100": (hosts(2), 128),
    "Eight nodes of 8 H100": (hosts(8), 256),
    "Three uneven cards: RTX 4090, RTX 3090, T4": (uneven(), 12),
}
HEAD = f"""# Plans of training steps

`python benchmarks/quality/plans.py` writes this page.

Five models on four clusters, sequences of {SEQUENCE:,} tokens, Adam with mixed precision (18 bytes a parameter, gradients in
float32). GPUs of a host are joined by NVLink 4 (450 GB/s, 5 µs), hosts by a link of InfiniBand NDR per GPU (50 GB/s, 5 µs).
*Best* is the fastest plan that {{func}}`placelab.plan_search` finds with its usual space; below it are the next ones of other
degrees. *Rule of thumb*: tensor parallelism as wide as a host allows, then as few pipeline stages as make it fit (with full
recomputation only where nothing fits without), replicas with the rest, micro-batches of one sequence, `1f1b`, ZeRO 1. Bytes
are those of the fullest rank, *of* its memory. Seconds are rooflines of data sheets at full efficiency: what they say is the
order of plans, not the step time that a machine will show. `dualpipe` and `dualpipe-v` hide collectives behind the other pass as
well as they fit there, which takes kernels that share a GPU without loss; other schedules hide none. So their lead is the most
that running passes together can give.
"""


@dataclass(frozen=True)
class Case:
    """A model on a cluster: its best plans, and the rule of thumb's; what says why there is none."""

    model: str
    best: tuple[pl.PlanResult, ...]
    thumb: pl.PlanResult | None
    why_not: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times as long the rule of thumb's plan takes as the best one."""
        return self.thumb.seconds / self.best[0].seconds if self.best and self.thumb else None


def case(model: str, cluster: pl.Cluster, batch: int) -> Case:
    """Search the plans of a model on a cluster."""
    found = pl.plan_search(model, cluster, batch=batch, sequence=SEQUENCE)
    thumb = rule_of_thumb(model, cluster, batch)
    try:
        first = found.best
    except pl.InfeasibleError as error:
        return Case(model, (), thumb, str(error))
    run = found.frame[found.frame["why_not"] == ""].head(20)
    others = run.drop_duplicates(["dp", "tp", "pp", "ep"]).head(SHOWN)
    keys = ("dp", "tp", "pp", "ep", "microbatch", "schedule", "chunks", "recompute", "zero")
    rest = [pl.Plan(**{key: _plain(row[key]) for key in keys}) for _, row in others.iloc[1:].iterrows()]
    results = [pl.plan(model, cluster, plan, batch=batch, sequence=SEQUENCE) for plan in rest]
    return Case(model, (first, *results), thumb)


def _plain(value: object) -> object:
    return value if isinstance(value, str) else int(value)


def rule_of_thumb(model: str, cluster: pl.Cluster, batch: int) -> pl.PlanResult | None:
    """Tensor parallelism inside the host, pipeline across, replicas with the rest; None where that does not fit."""
    n = cluster.n_devices
    inside = n // len(set(cluster.hosts))
    for t in (t for t in range(inside, 0, -1) if inside % t == 0):
        for again, p in product(("none", "full"), (p for p in range(1, n // t + 1) if n // t % p == 0)):
            plan = pl.Plan(dp=n // t // p, tp=t, pp=p, recompute=again, zero=1)
            try:
                found = pl.plan(model, cluster, plan, batch=batch, sequence=SEQUENCE)
            except pl.PlacelabError:
                continue
            if found.fits:
                return found
    return None


def row(label: str, found: pl.PlanResult, best: float) -> list[str]:
    """Cells of one plan."""
    p = found.plan
    degrees = " · ".join(f"{key} {getattr(p, key)}" for key in ("dp", "tp", "pp", "ep") if getattr(p, key) > 1)
    schedule = f"{p.schedule}, {p.chunks} chunks" if p.chunks > 1 else p.schedule if p.pp > 1 else "–"
    full = found.memory.iloc[int((found.memory["total"] / found.memory["capacity"]).to_numpy().argmax())]
    sizes = [f"{full[name] / 1e9:.3g}" for name in (*CATEGORIES, "capacity")]
    times = [seconds(found.seconds), f"{found.seconds / best:.2f}", f"{found.mfu:.1%}", f"{found.bubble:.1%}"]
    return [label, degrees or "one device", str(p.microbatch), schedule, p.recompute, str(p.zero), *times, *sizes]


def rows(found: Case) -> Iterator[list[str]]:
    """Rows of a model: best, next ones, rule of thumb."""
    best = found.best[0].seconds if found.best else np.nan
    for k, each in enumerate(found.best):
        yield row(f"**{found.model}**, best" if k == 0 else f"{k + 1}", each, best)
    if not found.best:
        yield [f"**{found.model}**", "nothing fits, see below", *[""] * (len(PLAN) + len(FIGURES) - 1)]
    elif found.thumb is None:
        yield ["rule of thumb", "does not fit", *[""] * (len(PLAN) + len(FIGURES) - 1)]
    else:
        yield row("rule of thumb", found.thumb, best)


def section(name: str, cases: list[Case], batch: int) -> str:
    """The plans of one cluster."""
    lines = table(["", *PLAN, *FIGURES], [line for each in cases for line in rows(each)])
    notes = "".join(f"\n- {each.why_not}.\n" for each in cases if each.why_not)
    return f"## {name}\n\n{batch} sequences a step.\n\n{lines}{notes}"


def summary(found: dict[str, list[Case]]) -> str:
    """How many times as long the rule of thumb takes, by model and cluster."""
    lines = []
    for k, model in enumerate(MODELS):
        cells = []
        for cases in found.values():
            ratio = cases[k].ratio
            cells.append(f"{ratio:.2f}" if ratio else "does not fit" if cases[k].best else "nothing fits")
        lines.append([model, *cells])
    ratios = [each.ratio for cases in found.values() for each in cases if each.ratio]
    words = f"Of {len(ratios)} pairs in which both fit, the rule takes {np.median(ratios):.2f} times as long in the median, "
    return (
        "## The rule of thumb over the best plan\n\n<!-- summary -->\n\n"
        f"{table(['model', *(name.partition(':')[0] for name in found)], lines)}\n{words}{max(ratios):.2f} times at most.\n\n"
        "<!-- end of summary -->\n"
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=PAGE)
    path = parser.parse_args().path
    found: dict[str, list[Case]] = {}
    for name, (cluster, batch) in CLUSTERS.items():
        for model in MODELS:
            print(f"{model} on {name}", file=sys.stderr)
            found.setdefault(name, []).append(case(model, cluster, batch))
    sections = [section(name, cases, CLUSTERS[name][1]) for name, cases in found.items()]
    path.write_text("\n".join([HEAD, summary(found), *sections, measured_plans.section()]))


if __name__ == "__main__":
    main()
