"""Build the training graphs of PyTorch models: forward and backward pass, traced and, if the model fits, measured op by op.

    pip install "placelab[torch]"
    OMP_NUM_THREADS=1 python datasets/pytorch_models.py            # minutes; or name some

The models are in ``torch_*.py``, with the shapes of the papers and random weights.
"""

from __future__ import annotations

import argparse
import importlib
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from shapes_anew import HELP, with_shapes_of
from torch._subclasses import FakeTensorMode

from placelab import OpGraph, costs
from placelab.costs.measuring import profile_training
from placelab.formats.torch.module import from_training

HERE = Path(__file__).parent
RUNS = 3
DIGITS = 3


@dataclass(frozen=True)
class Network:
    """A model, its batch, and whether it is measured.

    Attributes
    ----------
    file, model
        File name, and arguments of the file's function ``model``.
    batch
        Arguments of the file's function ``batch``.
    fed
        The batch in words.
    runs
        Whether it is measured; else it is traced with tensors without data.
    dtype
        Type of its weights.
    """

    file: str
    batch: tuple[int, ...]
    fed: str
    model: tuple[str, ...] = ()
    runs: bool = True
    dtype: torch.dtype = torch.float32


NETWORKS = {
    "bert_base": Network("torch_bert", (4, 128), "4 sequences of 128 tokens"),
    "gpt2": Network("torch_gpt2", (1, 512), "1 sequence of 512 tokens"),
    "t5_small": Network("torch_t5", (4, 128), "4 sequences of 128 tokens in and out"),
    "resnet50": Network("torch_resnet", (8,), "8 images of 224 × 224"),
    "llama_8": Network("torch_llama", (1, 512), "1 sequence of 512 tokens", ("8 layers",)),
    "llama_7b": Network(
        "torch_llama", (1, 2048), "1 sequence of 2,048 tokens", ("7b",), runs=False, dtype=torch.bfloat16
    ),
}


def built(network: Network) -> tuple[Any, tuple[Any, ...]]:
    """The model in training mode and its batch, from a fixed seed."""
    torch.manual_seed(0)
    file = importlib.import_module(network.file)
    before = torch.get_default_dtype()
    with nullcontext() if network.runs else FakeTensorMode():
        torch.set_default_dtype(network.dtype)
        model = file.model(*network.model).train()
        torch.set_default_dtype(before)
        return model, file.batch(*network.batch)


def graph_of(name: str) -> OpGraph:
    """A network's training graph, with measured seconds for type ``cpu`` if it is run."""
    network = NETWORKS[name]
    model, batch = built(network)
    graph = from_training(model, batch, name=name)
    if network.runs:
        profile = profile_training(model, batch, runs=RUNS, processor=True)
        graph = costs.measured(graph, replace(profile, seconds=rounded(profile.seconds)), "cpu")
    how = f"seconds: processor time, median of {RUNS} runs" if network.runs else "never run"
    provenance = f"datasets/pytorch_models.py, PyTorch {torch.__version__}, {network.fed}, {how}"
    return graph.replace(
        metadata={
            **graph.metadata,
            "provenance": provenance,
            "licence": "MIT",
            "weights": sum(parameter.numel() for parameter in model.parameters()),
        }
    )


def rounded(seconds: dict[str, float]) -> dict[str, float]:
    """Seconds rounded to the digits that are significant."""
    return {name: float(f"{value:.{DIGITS}g}") for name, value in seconds.items()}


def main(names: list[str], shapes: bool) -> None:
    torch.set_num_threads(1)
    for name in names:
        began = time.monotonic()
        path = HERE / f"{name}.json.gz"
        graph = with_shapes_of(from_training(*built(NETWORKS[name]), name=name), path) if shapes else graph_of(name)
        graph.save(path)
        step = graph.time.sum() if graph.time is not None else float("nan")
        print(
            f"{name}: {graph.n_ops:,} ops, {graph.n_edges:,} edges, {graph.metadata['weights']:,} weights of"
            f" {graph.persistent.sum() / 1e6:,.1f} MB, activations {graph.metadata['activations'] / 1e6:,.1f} MB,"
            f" {graph.compute.sum() / 1e9:,.1f} GFLOP, a step {step:.3g} s; {path.stat().st_size:,} bytes,"
            f" {time.monotonic() - began:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NETWORKS)}; default all")
    parser.add_argument("--shapes", action="store_true", help=HELP)
    given = parser.parse_args()
    main(given.names or list(NETWORKS), given.shapes)
