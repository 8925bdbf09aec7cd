"""Pipelines of real models: which schedule wins, by how much, at which memory."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_table import table

import placelab as pl
from placelab.base.units import seconds, si

MODELS = ("bert_base", "gpt2", "llama_8", "gnmt_40")
PARTITIONERS = ("layers", "contiguous", "min-cut")
PREPARE = (("forward-only",), ("forward-only", "coplace"))  # the first that gives stages in one direction
MICRO_BATCHES = (8, 16)
DEVICES = 4
SCHEDULES = {  # name → (scheduler, options, whether gradients of weights are ops of their own)
    "gpipe": ("gpipe", {}, False),
    "1f1b": ("1f1b", {}, False),
    "zb-h1": ("zb-h1", {}, True),
    "zb-auto, cap p": ("zb-auto", {"cap": DEVICES, "objective": "makespan"}, True),
    "zb-h2": ("zb-h2", {}, True),
    "zb-auto": ("zb-auto", {"objective": "makespan"}, True),
}
BASE = "1f1b"
LIMITS = DEVICES, 2 * DEVICES - 1  # activations


def pipelines() -> str:
    """Schedules of BERT-base, GPT-2, a Llama of eight layers and GNMT."""
    runs = [*results()]
    few, many = (span(runs, limit) for limit in LIMITS)
    return f"""## Pipelines of real models

Training steps of four models on {DEVICES} RTX 2080 Ti (PCIe 3, one transfer per port and direction at a time), placed by the
partitioner and folded by `transforms.microbatches` into stages; ops timed by the roofline, whose overheads do not shrink with
the micro-batch.
Colocation groups are left out, as the first and last layers of BERT and GPT-2 share a weight. *Placed with*
`forward-only`, and with `coplace` where the stages would be a circle without it; –: they are one with it, too. *Whole*: the step
without micro-batches on the same placement. Cells: makespan, bubble (of the makespan, beyond the busiest device's work), most
activations of a device, peak bytes of a device. `interleaved` and `zb-v` are for several stages per device,
which a placement does not have.

{all_of(runs)}
*Which wins*: the least makespan at the activations of `{BASE}` (p, the number of devices), and at those of `zb-h2` (2p − 1).
*Gain*: of throughput over `{BASE}`; *bytes*: peak beyond that of `{BASE}`.

{winners(runs)}
- *Zero-bubble schedules win everywhere*: by {few} at the activations of `{BASE}`, by {many} at 2p − 1, where
  the peak grows by 50 MB at most.
- *BERT and GPT-2* end with a transfer: the last stage sends its gradient of the shared weight (94 and 154 MB, 6 and 10 ms) to
  the first one, when all micro-batches are in it. A schedule in which the last stage ends early hides more of it; this is
  how `gpipe` keeps up with `{BASE}` there.
- `zb-auto` compares its candidates, of which `zb-h2` is one, with transfers that do not queue; where they do, it may choose a
  worse one.
- *GNMT* gains nothing from micro-batches: each of its 18,879 small ops costs its overhead for every micro-batch. `layers` and
  `min-cut` cut its unrolled steps so that tensors go forth and back between devices.
"""


Runs = tuple[str, str, str, int, float, dict[str, pl.Schedule]]


def results() -> Iterator[Runs]:
    """Model, partitioner, preparation, micro-batches, makespan of the whole step, schedules by name."""
    for name in MODELS:
        problem = pl.Problem(
            apart(pl.load(name)), pl.clusters.rtx2080ti_box(DEVICES), transfers="sequential", duplex=True
        )
        for partitioner in PARTITIONERS:
            prepared, placement = staged(problem, partitioner)
            whole = pl.simulate(problem, placement, "fifo").makespan if placement else 0.0
            for m in MICRO_BATCHES if placement else (0,):
                yield name, partitioner, prepared, m, whole, schedules(placement, m) if placement else {}


def apart(graph: pl.OpGraph) -> pl.OpGraph:
    """The graph without colocation groups."""
    whole = graph.to_networkx()
    for _, attributes in whole.nodes(data=True):
        attributes.pop("group", None)
    return pl.OpGraph.from_networkx(whole)


def staged(problem: pl.Problem, partitioner: str) -> tuple[str, pl.Placement | None]:
    """The first preparation with which stages pass tensors in one direction, and the placement."""
    for prepare in PREPARE:
        placement = pl.place(problem, partitioner, prepare=prepare)
        try:
            pl.transforms.microbatches(placement, 1)
        except pl.UnsupportedError:
            continue
        return prepare[-1], placement
    return "–", None


def schedules(placement: pl.Placement, m: int) -> dict[str, pl.Schedule]:
    """A legal schedule for each of `SCHEDULES`."""
    folded = {split: pl.transforms.microbatches(placement, m, split=split) for split in (False, True)}
    made = {}
    for name, (scheduler, options, split) in SCHEDULES.items():
        made[name] = pl.simulate(folded[split], pl.place(folded[split], "hash"), scheduler, **options)
        assert pl.validate(made[name]) == [] and not len(made[name].oom)
    return made


def activations(schedule: pl.Schedule) -> int:
    """The most that a device holds."""
    return int(pl.stages(schedule)["activations"].max())


def cell(schedule: pl.Schedule) -> str:
    """Makespan, bubble, activations, bytes."""
    share = pl.metrics(schedule)["bubble"] / schedule.makespan
    memory = si(float(schedule.peak_memory.max()), "B")
    return f"{seconds(schedule.makespan)}, {100 * share:.1f} %, {activations(schedule)}, {memory}"


def all_of(runs: list[Runs]) -> str:
    """A row per placement and number of micro-batches."""
    rows = []
    for name, partitioner, prepared, m, whole, made in runs:
        cells = [cell(schedule) for schedule in made.values()] or ["–"] * len(SCHEDULES)
        rows.append([name, partitioner, prepared, *((str(m), seconds(whole)) if made else "––"), *cells])
    return table(["model", "placement", "placed with", "m", "whole", *SCHEDULES], rows)


def winners(runs: list[Runs]) -> str:
    """The best schedule within each number of activations, against 1F1B."""
    rows = []
    for name, partitioner, _, m, _, made in runs:
        if made:
            cells = [part for limit in LIMITS for part in best(made, limit)]
            rows.append([name, partitioner, str(m), *cells])
    head = ["model", "placement", "m", "at p activations", "gain", "bytes", "at 2p − 1", "gain", "bytes"]
    return table(head, rows)


def best(made: dict[str, pl.Schedule], limit: int) -> tuple[str, str, str]:
    """Name, gain of throughput and bytes beyond those of 1F1B."""
    name = least(made, limit)
    more = float(made[name].peak_memory.max() - made[BASE].peak_memory.max())
    return name, f"{100 * gain(made, name):.1f} %", f"{'−' if more < 0 else '+'}{si(abs(more), 'B')}"


def least(made: dict[str, pl.Schedule], limit: int) -> str:
    """The schedule of least makespan within a number of activations; ties: the earlier in `SCHEDULES`."""
    return min((name for name in made if activations(made[name]) <= limit), key=lambda name: made[name].makespan)


def gain(made: dict[str, pl.Schedule], name: str) -> float:
    """Throughput beyond that of 1F1B, over it."""
    return made[BASE].makespan / made[name].makespan - 1


def span(runs: list[Runs], limit: int) -> str:
    """Least and largest gain of the best schedules."""
    gains = [100 * gain(made, least(made, limit)) for *_, made in runs if made]
    return f"{min(gains):.1f} to {max(gains):.1f} %"
