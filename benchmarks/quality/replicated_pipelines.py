"""Pipelines of real models with recomputation, and as replicas that sum their gradients."""

from __future__ import annotations

from markdown_table import table
from pipelined_models import DEVICES, apart

import placelab as pl
from placelab.base.units import seconds, si

MODELS = ("bert_base", "gpt2", "llama_8")
SCHEDULES = (("1f1b", False), ("zb-h2", True))  # and whether gradients of weights are ops of their own
MICRO_BATCHES = 8
REPLICAS = (2, 4, 8)
ETHERNET = dict(bandwidth=12.5e9, latency=20e-6)  # 100 Gbit/s between machines
BUCKET = 25e6


def replicated_pipelines() -> str:
    """Recomputation, and replicas with all-reduces stage by stage."""
    links = f"{si(ETHERNET['bandwidth'], 'B/s')} and {seconds(ETHERNET['latency'])} apart"
    return f"""## Recomputation and replicas

The models and machine of the section above, placed by `contiguous`, {MICRO_BATCHES} micro-batches. *Recomputing*:
`microbatches(recompute=True)`; cells: makespan, and the peak bytes of all devices together.

{recomputing()}
*Replicas* of the same pipelines on machines of their own, {links}: `pipeline_replica` with
rings and buckets of {si(BUCKET, "B")}. Cells: makespan, and how much of it the all-reduces add; *gradients* are those that are
summed on the stage with the most, *bound* is the closed form of its ring of {REPLICAS[-1]}. A stage's sum begins when its last
backward op ends; the first stage, which ends last, also has the largest embeddings, so that little is hidden. The two parts of
the gradient of the weight that BERT's and GPT-2's first and last layers share are added before, and summed once.

{replicas()}"""


def placed(name: str) -> pl.Placement:
    """The stages of a model."""
    cluster = pl.clusters.rtx2080ti_box(DEVICES)
    problem = pl.Problem(apart(pl.load(name)), cluster, transfers="sequential", duplex=True)
    return pl.place(problem, "contiguous", prepare=("forward-only",))


def run(problem: pl.Problem, scheduler: str) -> pl.Schedule:
    """A legal schedule of the only placement."""
    schedule = pl.simulate(problem, pl.place(problem, "hash"), scheduler)
    assert pl.validate(schedule) == [] and not len(schedule.oom)
    return schedule


def recomputing() -> str:
    """A row per model."""
    rows = []
    for name in MODELS:
        cells = []
        placement = placed(name)
        for scheduler, split in SCHEDULES:
            for recompute in (False, True):
                folded = pl.transforms.microbatches(placement, MICRO_BATCHES, split=split, recompute=recompute)
                schedule = run(folded, scheduler)
                cells.append(f"{seconds(schedule.makespan)}, {si(float(schedule.peak_memory.sum()), 'B')}")
        rows.append([name, *cells])
    head = [text for scheduler, _ in SCHEDULES for text in (scheduler, "recomputing")]
    return table(["model", *head], rows)


def replicas() -> str:
    """A row per model and schedule."""
    rows = []
    for name in MODELS:
        placement = placed(name)
        for scheduler, split in SCHEDULES:
            step = pl.transforms.microbatches(placement, MICRO_BATCHES, split=split)
            alone = run(step, scheduler).makespan
            cells = []
            for r in REPLICAS:
                job = pl.transforms.pipeline_replica(step, r, bucket_bytes=BUCKET, **ETHERNET)
                made = run(job, scheduler).makespan
                cells.append(f"{seconds(made)}, + {seconds(made - alone)}")
            most = largest(step)
            bound = pl.allreduce_time(most, REPLICAS[-1], **ETHERNET)
            rows.append([name, scheduler, seconds(alone), *cells, si(most, "B"), seconds(bound)])
    return table(["model", "schedule", "alone", *map(str, REPLICAS), "gradients", "bound"], rows)


def largest(step: pl.Problem) -> float:
    """Bytes of gradients of the stage that has the most."""
    graph = step.graph
    once = step.graph.kind == "U"
    read = once[graph.consumer] & ~(graph.kind == "P")[graph.producer] & ~once[graph.producer]
    size: dict[int, dict[int, float]] = {}
    for v, t in zip(graph.consumer[read].tolist(), graph.edge_tensor[read].tolist(), strict=True):
        size.setdefault(v, {})[t] = float(graph.tensor_bytes[t])
    added = graph.metadata["pipeline"].get("added", [0.0] * graph.n_ops)  # parts of one gradient
    return max(sum(each.values()) - added[v] for v, each in size.items())
