"""Beyond one step: read orders, pipelines of real models, and what checkpoints and failures make of a training run.

    python benchmarks/quality/steps.py [PATH]

Writes steps.md beside this file, or PATH: the same bytes on every machine. Each section is a function of `SECTIONS`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from markdown_table import table
from pipelined_models import pipelines
from replicated_models import read_orders
from replicated_pipelines import replicated_pipelines

import placelab as pl
from placelab.analysis import faults
from placelab.base.units import seconds, si

PAGE = Path(__file__).with_name("steps.md")
HEAD = """# Beyond one step

`python benchmarks/quality/steps.py` writes this page.
"""

HOUR = 3600.0
DAY = 86_400.0
COSTS = ((2.0, 200.0), (60.0, 10 * HOUR), (600.0, DAY), (600.0, 2 * HOUR), (600.0, 20 * 60.0))  # save, MTBF
METHODS = ("young", "daly", "exact")
MODELS = ("inception_v3", "gnmt_40", "bert_base", "llama_8")
DISK = 200e6
RESTART = 60.0
DETECT = 10.0
JOB = 7 * DAY  # seconds of steps
RUNS = 200
MACHINES = (1, 100, 1000)
PER_DEVICE = 1000 * DAY  # mean time between failures


def checkpoint_intervals() -> str:
    """Closed forms for the interval, and jobs of real models with it."""
    return f"""## Checkpoint intervals

The work between two checkpoints for which the expected time is least, by three formulas, and the expected overhead: time
beyond the work, in percent of it. A save takes C, and the mean time between failures of the system is μ.

{formulas()}
*Jobs.* {JOB / DAY:g} days of training steps on a machine of four RTX 2080 Ti (`m-etf`, or `m-topo` where it finds no room), one
of so many that train together and fail together. A device fails every {PER_DEVICE / DAY:,.0f} days, writes and
reads {si(DISK, "B/s")}; a restart takes {RESTART:g} s and the restore, and a failure is noticed after {DETECT:g} s. *Save* is the
time of the device with the most variables, *in the step* what Save ops add to a step. The interval is the exact one in whole
steps.
*Expected* overheads are closed forms, *simulated* ones the mean of {RUNS} simulated runs with its standard error; *never* is the
expected overhead without checkpoints.

{jobs()}"""


def formulas() -> str:
    """Intervals and overheads over costs."""
    rows = []
    for save, mtbf in COSTS:
        found = [pl.checkpoint_interval(save, mtbf, method=name) for name in METHODS]
        over = [faults.expected_segment_time(w, save=save, restore=0.0, mtbf=mtbf) / w - 1 for w in found]
        cells = [f"{w:,.1f} s, {100 * o:.4g} %" for w, o in zip(found, over, strict=True)]
        rows.append([f"{save:g} s", f"{mtbf:,.0f} s", *cells])
    return table(["C", "μ", "Young", "Daly", "exact"], rows)


def jobs() -> str:
    """Real models: save time, interval, expected and simulated overhead."""
    rows = []
    for model in MODELS:
        schedule = step_of(model)
        save, (added, _) = faults.disk_time(schedule, disk=DISK), faults.node_times(schedule, disk=DISK)
        for machines in MACHINES:
            rows.append([*facts(model, schedule, save, added), *job(schedule.makespan, save, machines)])
    head = [
        "model",
        "step",
        "save",
        "in the step",
        "machines",
        "μ",
        "every",
        "interval",
        "expected",
        "measured",
        "never",
    ]
    return table(head, rows)


def facts(model: str, schedule: pl.Schedule, save: float, added: float) -> list[str]:
    """Name, step and save times of a model."""
    return [model, seconds(schedule.makespan), seconds(save), seconds(added)]


def job(step: float, save: float, machines: int) -> list[str]:
    """The rest of a row: a job on so many machines of four devices."""
    mtbf = faults.system_mtbf([PER_DEVICE] * (4 * machines))
    interval = pl.checkpoint_interval(save, mtbf)
    steps = round(JOB / step)
    every = max(1, round(interval / step))
    costs = dict(save=save, restore=RESTART + save, start=RESTART, mtbf=mtbf, detect=DETECT)
    expected = faults.expected_training_time(step, steps, every=np.array([every, steps]), **costs)
    runs = faults.simulate_training(step, steps, every=every, **costs, runs=RUNS)
    over, never = (overhead(t / (step * steps) - 1) for t in expected)
    simulated = f"{100 * (runs.mean / (step * steps) - 1):.3g} ± {100 * runs.error / (step * steps):.1g} %"
    size = f"{mtbf / HOUR:,.1f} h"
    return [f"{machines:,}", size, f"{every:,}", seconds(every * step), over, simulated, never]


def overhead(share: float) -> str:
    """Percent with three digits."""
    return f"{100 * share:.3g} %" if share < 100 else "> 10,000 %"


def step_of(model: str) -> pl.Schedule:
    """A step on four RTX 2080 Ti."""
    problem = pl.Problem(pl.load(model), pl.clusters.pcie_box(4), transfers="sequential")
    try:
        return pl.solve(problem, "m-etf", "planned")
    except pl.InfeasibleError:
        return pl.solve(problem, "m-topo", "pct")


SECTIONS: tuple[Callable[[], str], ...] = (read_orders, pipelines, replicated_pipelines, checkpoint_intervals)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", nargs="?", type=Path, default=PAGE)
    path = parser.parse_args().path
    path.write_text("\n".join([HEAD, *(section() for section in SECTIONS)]))


if __name__ == "__main__":
    main()
