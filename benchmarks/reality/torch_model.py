"""Compare the step time of a PyTorch model with that of its ops, on the GPU if there is one, else on the CPU.

On one device the predicted step is the sum of its measured ops; it is compared with a normal step. The program starts an op's
kernels, so a step on a GPU takes at least the time to start its ops. The roofline's estimates are compared with the measured ops
by rank and by kind. With two GPUs or more, placements are run by device map, as on TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import placelab as pl
from placelab.costs import FittedLink, estimate, fit_link, measured
from placelab.formats.op_kinds import category
from reality.agreement import quiet, spearman
from reality.machines import SPEED

LAYERS = 4
HEADS = 8
LENGTH = 128
WIDTH = {"cpu": 128, "cuda": 1024}
BATCH = {"cpu": 4, "cuda": 16}
RUNS = 30
CHAIN = 1000
# Part of a device's name → spec with its peak figures; the H100's for any other GPU.
SPECS = {"cpu": "xeon_8380_core", "H200": "h200", "A100": "a100_80gb", "V100": "v100", "2080": "rtx2080ti"}


class OneDevice(NamedTuple):
    """A model on one device.

    Attributes
    ----------
    title, spec : str
        Name of the device, and spec whose peak figures the estimates use.
    ops : int
    measured, computing, starting : float
        Seconds of a step, of its ops, of starting them.
    rank : float
        Spearman's correlation of estimated and measured seconds of ops that take time.
    kinds : dict
        Category → number of ops, seconds measured, seconds estimated.
    """

    title: str
    spec: str
    ops: int
    measured: float
    computing: float
    starting: float
    rank: float
    kinds: dict[str, tuple[int, float, float]]

    @property
    def predicted(self) -> float:
        """Predicted seconds; on a CPU one thread starts and runs ops, so their seconds include both."""
        return self.computing if self.title == "cpu" else max(self.computing, self.starting)


class Mapped(NamedTuple):
    """A placement by device map on several GPUs: entries of the map, seconds predicted and measured."""

    partitioner: str
    entries: int
    predicted: float
    measured: float


def devices() -> list[str]:
    """The devices that PyTorch finds: GPUs, or the CPU."""
    import torch

    return [f"cuda:{i}" for i in range(torch.cuda.device_count())] or ["cpu"]


def on_one(device: str) -> OneDevice:
    """Measure the model's ops and its steps, and estimate its ops."""
    import torch

    from placelab.costs.measuring import profile_module
    from placelab.formats.torch.module import from_module

    model, batch = encoder(device)
    graph = from_module(model, (batch,))
    profile = profile_module(model, (batch,), runs=RUNS, warm_up=3)
    title = "cpu" if device == "cpu" else torch.cuda.get_device_name(device)
    spec = next((spec for part, spec in SPECS.items() if part in title), "h100")
    ours = measured(graph, profile, reference_speed=SPEED).compute / SPEED
    theirs = estimate(graph, spec).time[:, 0]
    real = (ours > 0) & (theirs > 0)
    return OneDevice(
        title,
        spec,
        int((ours > 0).sum()),
        step_seconds(model, batch),
        float(ours.sum()),
        float((ours > 0).sum()) * start_seconds(device),
        spearman(ours[real], theirs[real]),
        by_category(graph.kind, ours, theirs),
    )


def by_category(kind: Any, ours: np.ndarray, theirs: np.ndarray) -> dict[str, tuple[int, float, float]]:
    """Category → ops, seconds measured, seconds estimated; the longest first."""
    found: dict[str, tuple[int, float, float]] = {}
    for name, a, b in zip(kind, ours.tolist(), theirs.tolist(), strict=True):
        n, measured, estimated = found.get(category(name), (0, 0.0, 0.0))
        found[category(name)] = (n + 1, measured + a, estimated + b)
    return dict(sorted(found.items(), key=lambda item: -item[1][1]))


def on_several(names: list[str], partitioners: tuple[str, ...] = ("single", "heft", "m-etf")) -> Iterator[Mapped]:
    """Place the model's blocks on several devices, and run it with its modules on the devices of the map."""
    from placelab.costs.measuring import profile_module
    from placelab.formats.torch.device_map import device_map
    from placelab.formats.torch.module import from_module

    model, batch = encoder(names[0])
    profile = profile_module(model, (batch,), runs=RUNS, warm_up=3)
    graph = measured(from_module(model, (batch,)), profile, reference_speed=SPEED)
    found = link(names)
    cluster = pl.Cluster([SPEED] * len(names), bandwidth=found.bandwidth, latency=found.latency, names=names)
    problem = pl.Problem(graph, cluster)
    for partitioner in partitioners:
        placement = pl.place(problem, partitioner)
        where = device_map(placement, devices=dict(zip(names, names, strict=True)))
        spread, batch = encoder(names[0])
        distribute(spread, where, names[0])
        yield Mapped(
            partitioner, len(where), pl.simulate(problem, placement, "fifo").makespan, step_seconds(spread, batch)
        )


def link(names: list[str]) -> FittedLink:
    """Bandwidth and latency from the first device to the second."""
    import torch

    sizes = (1 << 12, 1 << 18, 1 << 24)
    seconds = []
    for size in sizes:
        tensor = torch.ones(size // 4, device=names[0])
        seconds.append(quiet([_timed(lambda t=tensor: t.to(names[1]), names) for _ in range(RUNS)]))
    return fit_link(sizes, seconds)


def distribute(model: Any, where: Mapping[str, str], default: str) -> None:
    """Move each module to its device; its inputs follow."""
    import torch

    def follow(device: str) -> Any:
        return lambda _, given: tuple(x.to(device) if isinstance(x, torch.Tensor) else x for x in given)

    model.to(default)
    for path, device in where.items():
        if path in dict(model.named_modules()):
            module = model.get_submodule(path).to(device)
            for inner in module.modules():
                inner.register_forward_pre_hook(follow(device))


def encoder(device: str) -> tuple[Any, Any]:
    """A stack of transformer blocks with random weights, and a batch."""
    import torch

    torch.manual_seed(0)
    width, batch = (sizes[device.partition(":")[0]] for sizes in (WIDTH, BATCH))

    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.LayerNorm(width)
            self.second = torch.nn.LayerNorm(width)
            self.heads = torch.nn.Linear(width, 3 * width)
            self.out = torch.nn.Linear(width, width)
            self.grow = torch.nn.Linear(width, 4 * width)
            self.shrink = torch.nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            b, n, w = x.shape
            q, k, v = self.heads(self.first(x)).view(b, n, 3, HEADS, w // HEADS).permute(2, 0, 3, 1, 4)
            attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(attended.transpose(1, 2).reshape(b, n, w))
            return x + self.shrink(torch.nn.functional.gelu(self.grow(self.second(x))))

    model = torch.nn.Sequential(*(Block() for _ in range(LAYERS))).to(device).eval()
    return model, torch.rand(batch, LENGTH, width, device=device)


def step_seconds(model: Any, batch: Any) -> float:
    """Seconds of a forward pass as a user runs it."""
    import torch

    with torch.no_grad():
        names = sorted({str(p.device) for p in model.parameters()})
        return quiet([_timed(lambda: model(batch), names) for _ in range(RUNS + 3)][3:])


def start_seconds(device: str) -> float:
    """Seconds from the start of one op to that of the next, for ops that take almost no time."""
    import torch

    def chain() -> None:
        x = torch.zeros(1, device=device)
        for _ in range(CHAIN):
            x = x + 1

    with torch.no_grad():
        return quiet([_timed(chain, [device]) for _ in range(10)]) / CHAIN


def _timed(run: Any, names: list[str]) -> float:
    _wait(names)
    begin = perf_counter()
    run()
    _wait(names)
    return perf_counter() - begin


def _wait(names: list[str]) -> None:
    import torch

    for name in names:
        if name.startswith("cuda"):
            torch.cuda.synchronize(name)
