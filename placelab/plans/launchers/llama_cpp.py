r"""llama.cpp's flags: ``-ngl 33 -sm layer -ts 9,9,8,7``, and ``-ot`` for experts that stay on the CPU.

The output counts as one more layer, on the last device; the embedding is always on the CPU, as are the first layers where
``-ngl`` is lower. What ``-ot`` has, ``regex=buffer`` after ``regex=buffer``, overrides both: the first regex that is found in a
tensor's name wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count
from placelab.models import Transformer
from placelab.plans.launchers.split_stages import stages_of, written
from placelab.plans.layer_split import LayerSplit
from placelab.problem.hardware import hardware

CPU = -1  # in place of a device's number
EXPERTS = ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")


def llama_cpp(split: LayerSplit, path: str | Path | None = None, *, cpu_experts: Iterable[int] = ()) -> str:
    r"""Flags of llama.cpp that put layers on devices.

    Parameters
    ----------
    split
        Layers over devices: the devices of llama.cpp are those that are not idle, in their order. A CPU may be the first.
    path
        File to write them to, too.
    cpu_experts
        Layers whose routed experts stay on the CPU.

    Returns
    -------
    str
        ``-ngl``, ``-sm layer`` and ``-ts``, then ``-ot`` if there are `cpu_experts`.

    Raises
    ------
    UnsupportedError
        A CPU that is not the first device; experts of a layer that has none.

    Notes
    -----
    llama.cpp gives layer i the first device whose cumulative share of ``-ts`` is above i / (L + 1), in float32. With these whole
    numbers both are quotients of the same numbers, so that rounding changes nothing.

    Examples
    --------
    >>> import placelab as pl
    >>> cluster = pl.costs.cluster("h100")
    >>> llama_cpp(pl.split_layers("llama-3-8b", cluster, fixed={0: 9, 1: 18, 2: 26}))
    '-ngl 33 -sm layer -ts 9,9,8,7'
    >>> split = pl.split_layers("qwen3-30b-a3b", cluster, fixed={0: 12, 1: 24, 2: 36})
    >>> print(llama_cpp(split, cpu_experts=range(16, 30)))
    -ngl 49 -sm layer -ts 12,12,12,13 -ot "blk\.(1[6-9]|2[0-9])\.ffn_(gate|up|down)_exps\.=CPU"
    """
    stages = stages_of(split, "export.llama_cpp")
    kinds = hardware(split.cluster)
    late = [split.cluster.names[s.device] for s in stages[1:] if kinds[s.device] == "cpu"]
    if late:
        raise UnsupportedError(
            f"{late[0]!r} is a CPU; llama.cpp runs the first layers there, so put it first in the cluster"
        )
    on_cpu = len(stages[0].layers) + stages[0].head if kinds[stages[0].device] == "cpu" else 0
    counts = [len(s.layers) + s.head for s in (stages[1:] if kinds[stages[0].device] == "cpu" else stages)]
    flags = [f"-ngl {split.model.layers + 1 - on_cpu}"]
    flags += [f"-sm layer -ts {','.join(map(str, counts))}"] if counts else []
    if experts := sorted({count(i, "a layer of cpu_experts", 0, split.model.layers - 1) for i in cpu_experts}):
        flags.append(_overrides(split.model, experts))
    return written(" ".join(flags), path)


def _overrides(model: Transformer, layers: list[int]) -> str:
    for i in layers:
        if not model.shape.sparse[i]:
            raise UnsupportedError(f"layer {i} of {model.name} has no experts; it cannot leave them on the CPU")
    return rf'-ot "blk\.({"|".join(_digits(layers))})\.ffn_(gate|up|down)_exps\.=CPU"'


def _digits(numbers: Sequence[int]) -> Iterator[str]:
    """Regular expressions of numbers, one for those that differ in consecutive last digits."""
    runs: list[list[int]] = []
    for i in numbers:
        if runs and runs[-1][-1] == i - 1 and i % 10:
            runs[-1].append(i)
        else:
            runs.append([i])
    for run in runs:
        tens = str(run[0] // 10) if run[0] >= 10 else ""
        yield str(run[0]) if len(run) == 1 else f"{tens}[{run[0] % 10}-{run[-1] % 10}]"


def devices_of_layers(shares: Sequence[float], layers: int, offloaded: int) -> list[int]:
    """The device of each layer and of the output by llama.cpp's rule; :data:`CPU` for the first ones.

    Parameters
    ----------
    shares
        What ``-ts`` says.
    offloaded
        What ``-ngl`` says.
    """
    summed = np.zeros(len(shares), np.float32)
    total = np.float32(0)
    for d, share in enumerate(shares):
        total = np.float32(total + np.float32(share))
        summed[d] = total
    if not total > 0:
        raise FormatError(f"-ts is {list(shares)!r:.200}; expected shares of 0 or more, one above 0")
    summed = (summed / total).astype(np.float32)
    first = max(layers + 1 - offloaded, 0)
    most = min(offloaded, layers + 1)
    found = []
    for i in range(layers + 1):
        at = np.float32(i - first) / np.float32(most) if most else 0
        found.append(CPU if i < first else min(int(np.searchsorted(summed, at, side="right")), len(shares) - 1))
    return found


def read_flags(text: str, model: Transformer) -> dict[str, int]:
    """The device of each tensor of a GGUF file under flags, by llama.cpp's rules.

    Raises
    ------
    FormatError
        Flags of another form; a regular expression that is none.
    """
    found = re.fullmatch(r'-ngl (\d{1,6})(?: -sm layer -ts ([\d.,]+))?(?: -ot "([^"]+)")?', text)
    if not found:
        raise FormatError(f"flags {text!r:.200}; expected -ngl N -sm layer -ts N,N and -ot, in this order")
    shares = [float(part) for part in (found[2] or "1").split(",")]
    layers = devices_of_layers(shares, model.layers, int(found[1]))
    device = {}
    for name in tensors(model):
        block = re.match(r"blk\.(\d+)\.", name)
        device[name] = CPU if name == "token_embd.weight" else layers[int(block[1]) if block else model.layers]
        for override in found[3].split(",") if found[3] else []:
            pattern, _, buffer = override.rpartition("=")
            if _searches(pattern, name):
                device[name] = CPU if buffer == "CPU" else int(re.sub(r"\D", "", buffer) or 0)
                break
    return device


def _searches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error as error:
        raise FormatError(f"-ot has {pattern!r:.200}, which is no regular expression: {error}") from None


def tensors(model: Transformer) -> list[str]:
    """Names of the tensors in a GGUF file of the model, its matrices and main norms."""
    shape = model.shape
    attention = (
        ["attn_norm", "attn_qkv", "attn_output"]
        if shape.gpt
        else ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output"]
    )
    if shape.latent:
        query = ["attn_q_a", "attn_q_a_norm", "attn_q_b"] if shape.latent.query else ["attn_q"]
        attention = ["attn_norm", *query, "attn_kv_a_mqa", "attn_kv_a_norm", "attn_kv_b", "attn_output"]
    names = ["token_embd.weight", *(["position_embd.weight"] if shape.gpt else [])]
    for i, sparse in enumerate(shape.sparse):
        dense = ["ffn_up", "ffn_down"] if shape.gpt else ["ffn_gate", "ffn_up", "ffn_down"]
        shared = ["ffn_gate_shexp", "ffn_up_shexp", "ffn_down_shexp"] if shape.shared_width else []
        mlp = ["ffn_gate_inp", *EXPERTS, *shared] if sparse else dense
        names += [f"blk.{i}.{part}.weight" for part in (*attention, "ffn_norm", *mlp)]
    return [*names, "output_norm.weight", *([] if shape.tied else ["output.weight"])]
