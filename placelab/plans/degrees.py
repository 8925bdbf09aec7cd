"""A plan: degrees of parallelism of a training step, its schedule, what is recomputed, what ZeRO divides; stages of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from placelab.base.errors import FormatError, UnsupportedError, count
from placelab.models.shape import Shape
from placelab.plans.memory import Training
from placelab.problem.cluster import Cluster
from placelab.schedule.catalogue import find, schedulers

DEGREES = ("dp", "tp", "pp", "ep", "microbatch", "chunks")
MOST = 4096
MOST_OPS = 1_000_000  # of a step that is written out, some seconds of work
V_SHAPED = ("zb-v", "zb-auto", "dualpipe-v")  # with several chunks they go down the devices and up again
MERGED = ("dualpipe", "dualpipe-v")  # run forward and backward passes together


@dataclass(frozen=True)
class Plan:
    """How a training step is spread over devices.

    Attributes
    ----------
    dp, tp, pp, ep : int
        Degrees: data, tensor, pipeline, expert. Replica i, stage j, tensor rank q is device q + tp (i + dp j), as in Megatron.
    microbatch : int
        Sequences of a micro-batch.
    schedule : str
        Scheduler of pipelines.
    chunks : int
        Stages per device.
    recompute : str
        ``"none"``; ``"selective"``: scores and probabilities of eager attention; ``"full"``: all but the input of a layer.
    zero : int
        Stage of ZeRO; 3 only without a pipeline.
    sequence_parallel : bool
        Whether tensor parallelism also divides norms and sums.
    layers : tuple of int or None
        Layers of each stage in the order of the model, pp · chunks of them; None: the split with the fastest slowest stage.

    Examples
    --------
    >>> Plan(dp=2, tp=4).devices
    8
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    ep: int = 1
    microbatch: int = 1
    schedule: str = "1f1b"
    chunks: int = 1
    recompute: Literal["none", "selective", "full"] = "none"
    zero: int = 0
    sequence_parallel: bool = True
    layers: Sequence[int] | None = None

    def __post_init__(self) -> None:
        for label in DEGREES:
            object.__setattr__(self, label, count(getattr(self, label), label, 1, MOST))
        if getattr(find(schedulers(), self.schedule, "scheduler"), "needs", "") != "pipeline":
            raise UnsupportedError(f"{self.schedule!r} is no scheduler of pipelines; gpipe, 1f1b and others are")
        self.training()
        if self.zero == 3 and self.pp > 1:
            raise UnsupportedError(f"zero is 3 and pp is {self.pp}; stage 3 is modelled without a pipeline only")
        if self.layers is not None:
            if isinstance(self.layers, str) or not isinstance(self.layers, Sequence):
                raise FormatError(f"layers is {self.layers!r:.60}; expected a number per stage, or None")
            given = tuple(count(n, "layers of a stage", 0) for n in self.layers)
            object.__setattr__(self, "layers", given)
            if len(given) != self.pp * self.chunks:
                raise FormatError(f"layers has {len(given)} entries; expected pp · chunks, {self.pp * self.chunks}")

    @property
    def devices(self) -> int:
        """Devices that it uses."""
        return self.dp * self.tp * self.pp

    @property
    def twins(self) -> bool:
        """Whether two replicas of the pipeline share the devices, as in DualPipe."""
        return layout_of(self.schedule, self.chunks) == "dual"

    def training(self) -> Training:
        """What tells the bytes of a device."""
        attention: Any = "eager" if self.recompute == "selective" else "flash"
        return Training(
            self.dp, self.tp, self.ep, self.zero, self.recompute, self.sequence_parallel, attention=attention
        )

    def microbatches(self, batch: int) -> int:
        """Micro-batches of each replica."""
        return batch // (self.dp * self.microbatch)

    def why_not(self, shape: Shape, cluster: Cluster, batch: int) -> str:
        """The first relation that the plan breaks, in a sentence; "" for none. Memory is another question."""
        t = self.tp
        k = shape.kv_heads
        widths = {w for w in (shape.width, shape.expert_width if shape.experts else 0) if w}
        wrong = next((w for w in sorted(widths) if w % t), 0)
        rest = batch % (self.dp * self.microbatch)
        rules = (
            (shape.heads % t, f"tp {t} does not divide {shape.heads} heads"),
            (wrong, f"tp {t} does not divide the width of the MLP, {wrong}"),
            (k % t and t % k, f"tp {t} and {k} KV heads do not divide"),
            (self.ep > 1 and not shape.experts, f"ep is {self.ep}, and the model has no experts"),
            (self.ep > 1 and shape.experts % self.ep, f"ep {self.ep} does not divide {shape.experts} experts"),
            ((self.dp * t) % self.ep, f"ep {self.ep} does not divide dp · tp, {self.dp * t}"),
            (
                self.devices > cluster.n_devices,
                f"dp · tp · pp is {self.devices}, and there are {cluster.n_devices} devices",
            ),
            (rest, f"dp · microbatch, {self.dp * self.microbatch}, does not divide the batch, {batch}"),
            (
                self.layers is not None and sum(self.layers) != shape.layers,
                f"layers sum to {sum(self.layers or ())}, not to {shape.layers}",
            ),
            (
                self.pp * self.chunks > shape.layers + 2,
                f"{self.pp * self.chunks} stages, and {shape.layers + 2} blocks",
            ),
        )
        return next((sentence for broken, sentence in rules if broken), "")


def layout_of(schedule: str, chunks: int) -> Literal["loop", "v", "dual"]:
    """The layout of :func:`placelab.generators.pipeline_training` that a schedule needs."""
    if schedule == "dualpipe":
        return "dual"
    return "v" if schedule in V_SHAPED and chunks > 1 else "loop"


def splits(schedule: str) -> bool:
    """Whether gradients of weights are ops of their own."""
    return schedule.startswith(("zb", "dualpipe"))


def rank_of(schedule: str, stage: int, p: int, chunks: int) -> int:
    """The rank of a stage; of DualPipe's twins, of the first one.

    >>> [rank_of("zb-v", stage, 2, 2) for stage in range(4)]
    [0, 1, 1, 0]
    """
    chunk, rank = divmod(stage, p)
    return p - 1 - rank if layout_of(schedule, chunks) == "v" and chunk % 2 else rank


def stages_of(schedule: str, rank: int, p: int, chunks: int) -> list[int]:
    """The stages of a rank; of DualPipe, its own and that of the twin that comes the other way.

    >>> stages_of("dualpipe", 0, 4, 1), stages_of("interleaved", 0, 4, 2)
    ([0, 3], [0, 4])
    """
    if layout_of(schedule, chunks) == "dual":
        return sorted({rank, p - 1 - rank})
    return [s for s in range(p * chunks) if rank_of(schedule, s, p, chunks) == rank]


def ranks_with(schedule: str, stage: int, p: int, chunks: int) -> list[int]:
    """The ranks that have a stage: two of DualPipe."""
    first = rank_of(schedule, stage, p, chunks)
    return sorted({first, p - 1 - stage}) if layout_of(schedule, chunks) == "dual" else [first]
