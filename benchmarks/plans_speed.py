"""Measure plans, splits of layers, graphs of ranks and what the explorer's kernel does with them against budgets.

    python benchmarks/plans_speed.py

Processor time of one public call in a warm process, the least of three; of the explorer, of all its threads, from a hand's move
until strip and bars have been sent, the least of ten. `python benchmarks/hand.py decoder` has the browser, too. Exits with 1 if
a budget is exceeded.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

import placelab as pl
from placelab.app.explorer.application import Explorer
from placelab.models.config import CONFIGS
from placelab.plans.all_plans import _plans
from placelab.plans.plan_steps import Planner

TIMES = 3
MOVES = 10
PLANS = 500


def spent(call: Callable[[], object]) -> float:
    """Least processor time of some calls, in seconds; the first one only warms up."""
    call()
    found = []
    for _ in range(TIMES):
        begun = time.process_time()
        call()
        found.append(time.process_time() - begun)
    return min(found)


def first_plans() -> None:
    """The first plans of a 32-layer model on 64 devices that fit, each with its seconds."""
    nodes = pl.costs.cluster("h100", 8, link="nvlink4", hosts=8, network="infiniband_ndr")
    planner = Planner("llama-3-8b", nodes, 256, 4096)
    known = (plan for plan in _plans(planner, {"schedule": ["1f1b", "gpipe", "interleaved", "zb-h1"]}))
    fitting = (plan for plan in known if not plan.why_not(planner.model.shape, nodes, planner.batch))
    for plan in islice(fitting, PLANS):
        try:
            planner.result(plan)
        except pl.PlacelabError:  # a schedule's own rule
            continue


def first_rows() -> None:
    """A search of plans until its first rows are there."""
    nodes = pl.costs.cluster("h100", 8, link="nvlink4", hosts=8, network="infiniband_ndr")
    seen: list[object] = []
    pl.plan_search(
        "llama-3-8b", nodes, batch=256, sequence=4096,
        progress=lambda step: seen.append(step.row), cancel=lambda: any(row is not None for row in seen),
    )  # fmt: skip
    assert any(row is not None for row in seen)


def dragged() -> Iterator[tuple[str, float, float]]:
    """The explorer's strip of 80 layers on eight devices, and its plan's sliders."""
    model = pl.models.read("llama-3.1-70b")
    explorer = pl.explore(model, pl.costs.cluster("h200", 8))
    assert explorer.settled(60)
    strip = explorer.tabs.panels["Layers"]
    to = iter(range(10**6))

    def border() -> None:
        n = next(to)
        strip.view.asked = dict(kind="border", border=3, to=38 + n % 5, drag=n)

    what = "a border of 80 layers on 8 devices, to the strip"
    yield what, sent_after(explorer, f"{strip.view.model_id}.rows", border), 0.045
    job = explorer.tabs.panels["Job"]
    explorer.tabs.titles.value = "Job"
    job.to_plan.click()
    assert explorer.settled(60)
    sliders = job.plan.sliders["pp"], job.plan.sliders["tp"]

    def slider() -> None:
        moved = sliders[next(to) % 2]
        moved.value = (moved.value + 1) % (moved.max + 1)

    yield "a plan's slider, to the bars", sent_after(explorer, f"{job.plan.board.model_id}.stages", slider), 0.06
    explorer.close()


def sent_after(explorer: Explorer, trait: str, move: Callable[[], None]) -> float:
    """Least processor time of all threads from a hand's move until the trait has been sent, of moves that wait for each other."""
    found = []
    send = explorer._send

    def told(message: dict[str, Any], buffers: Any = None) -> None:
        send(message, buffers)
        if trait in message.get("state", ()):
            found.append(time.process_time() - begun)

    explorer._send = told
    for _ in range(1 + MOVES):
        begun = time.process_time()
        move()
        assert explorer.settled(60)
    explorer._send = send
    return min(found[1:])


def rows() -> Iterator[tuple[str, float, float]]:
    """What is measured, its seconds, its budget."""
    yield "models.read", spent(lambda: pl.models.read(dict(CONFIGS["llama-3.1-405b"]))), 0.005
    sixteen = pl.Cluster(
        np.tile([3e14, 1e14], 8), memory=[8e10] * 16, bandwidth=1e11, types=["h100", "a100"] * 8, latency=1e-5
    )
    model = pl.models.read("llama-3.1-405b")
    yield (
        "split_layers, 126 layers on 16 devices",
        spent(lambda: pl.split_layers(model, sixteen, objective="memory")),
        0.02,
    )
    graph = pl.models.read("llama-3-8b").graph("train")
    yield "tensor_parallel, 32 layers on 8 ranks", spent(lambda: pl.transforms.tensor_parallel(graph, 8)), 1.0
    yield f"{PLANS} plans of 32 layers on 64 devices", spent(first_plans), 10.0
    yield "first rows of a search on 64 devices", spent(first_rows), 1.0
    even = pl.costs.cluster("h200", 8)
    yield "split_layers, 80 layers on 8 devices", spent(lambda: pl.split_layers("llama-3.1-70b", even)), 0.005
    yield from dragged()


def main() -> int:
    """Print a line per measurement; whether a budget is exceeded."""
    over = False
    for what, seconds, budget in rows():
        over |= seconds > budget
        print(
            f"{what:48s} {seconds * 1e3:10.2f} ms of {budget * 1e3:8.0f} ms{'  OVER' if seconds > budget else ''}",
            flush=True,
        )
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
