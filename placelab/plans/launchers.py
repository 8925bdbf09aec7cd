"""What launchers are told of a split: Megatron-LM, vLLM, PyTorch's pipelines, Accelerate and llama.cpp."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from placelab.base.errors import UnsupportedError, count, expect
from placelab.base.files import save
from placelab.models import Transformer
from placelab.models.shape import Shape
from placelab.plans.layer_split import LayerSplit
from placelab.problem.hardware import hardware

GIB = 1 << 30
MOST_RANKS = 10_000
VARIABLE = "VLLM_PP_LAYER_PARTITION"


class Stage(NamedTuple):
    """A device that is not idle: its number in the cluster, its layers, and whether it has embedding and head."""

    device: int
    layers: range
    embedding: bool
    head: bool


def stages_of(split: LayerSplit, who: str) -> list[Stage]:
    """The stages of a split in their order; `who` names the caller in messages."""
    expect(split, LayerSplit, who)
    n = split.model.layers
    return [
        Stage(d, range(max(first - 1, 0), min(last - 1, n)), first == 0, last == n + 2)
        for d, first, last in split.stages
    ]


def modules_of(shape: Shape) -> list[str]:
    """Module paths of the blocks in the order in which they run, the final norm apart from the head."""
    root = "transformer" if shape.gpt else "model"
    first = ["transformer.wte", "transformer.wpe"] if shape.gpt else ["model.embed_tokens"]
    layers = [f"{root}.{'h' if shape.gpt else 'layers'}.{i}" for i in range(shape.layers)]
    return [*first, *layers, "transformer.ln_f" if shape.gpt else "model.norm", "lm_head"]


def modules_of_stages(split: LayerSplit, stages: list[Stage]) -> list[list[str]]:
    """The module paths of each stage."""
    modules = modules_of(split.model.shape)
    before = len(modules) - 2 - split.model.layers
    found = []
    for stage in stages:
        first = 0 if stage.embedding else before + stage.layers.start
        last = len(modules) if stage.head else before + stage.layers.stop
        found.append(modules[first:last])
    return found


def written(text: str, path: str | Path | None) -> str:
    """The text, which is also written to a file if there is a path."""
    if path is not None:
        save(text + "\n", path)
    return text


def megatron_layout(split: LayerSplit, path: str | Path | None = None) -> str:
    """The value of Megatron-LM's ``--pipeline-model-parallel-layout``; rank k is the k-th device that is not idle.

    Parameters
    ----------
    split
        Layers over devices.
    path
        File to write it to, too.

    Returns
    -------
    str
        The layout, a stage per ``|``: E is the embedding, t a layer, L the loss, and ``t*n`` n layers. It excludes
        ``--decoder-first-pipeline-num-layers``, ``--decoder-last-pipeline-num-layers`` and
        ``--num-layers-per-virtual-pipeline-stage``. O(devices).

    Examples
    --------
    >>> import placelab as pl
    >>> megatron_layout(pl.split_layers("llama-3-8b", pl.costs.cluster("h100"), fixed={0: 9, 1: 18, 2: 26}))
    'Et*9|t*9|t*8|t*6L'
    """
    stages = stages_of(split, "export.megatron_layout")
    return written("|".join(_stage(len(s.layers), s.embedding, s.head) for s in stages), path)


def _stage(layers: int, embedding: bool, head: bool) -> str:
    middle = f"t*{layers}" if layers > 2 else "t" * layers
    return f"{'E' * embedding}{middle}{'L' * head}"


def vllm_partition(split: LayerSplit, path: str | Path | None = None) -> str:
    """The environment variable that tells vLLM how many layers each rank of its pipeline runs.

    Parameters
    ----------
    split
        Layers over devices; rank k is the k-th device that is not idle.
    path
        File to write it to, too.

    Returns
    -------
    str
        ``VLLM_PP_LAYER_PARTITION=9,9,8,6``; without it vLLM makes equal parts, and gives what is left to the last ranks but one.

    Raises
    ------
    UnsupportedError
        A rank without a layer, which vLLM does not run.

    Examples
    --------
    >>> import placelab as pl
    >>> vllm_partition(pl.split_layers("llama-3-8b", pl.costs.cluster("h100"), fixed={0: 9, 1: 18, 2: 26}))
    'VLLM_PP_LAYER_PARTITION=9,9,8,6'
    """
    stages = stages_of(split, "export.vllm_partition")
    for stage in stages:
        if not stage.layers:
            name = split.cluster.names[stage.device]
            raise UnsupportedError(f"{name!r} has no layer of {split.model.name}; vLLM runs one on each rank at least")
    return written(f"{VARIABLE}={','.join(str(len(s.layers)) for s in stages)}", path)


def vllm_default(layers: int, ranks: int) -> list[int]:
    """Layers of each rank if nobody says: equal parts, what is left goes to the last ranks but one.

    >>> vllm_default(32, 6), vllm_default(61, 4)
    ([5, 5, 5, 6, 6, 5], [15, 15, 16, 15])
    """
    ranks = count(ranks, "ranks", 1, MOST_RANKS)
    each, left = divmod(count(layers, "layers", ranks), ranks)
    return [each + (ranks - 1 - left <= rank < ranks - 1) for rank in range(ranks)]


def torch_split_points(split: LayerSplit, path: str | Path | None = None, *, parts: bool = False) -> str:
    """Where PyTorch's pipelines begin their stages: each name becomes ``split_spec={name: SplitPoint.BEGINNING}``.

    Parameters
    ----------
    split
        Layers over devices; stage k is the k-th device that is not idle.
    path
        JSON file to write them to, too.
    parts
        List all modules of each stage instead, as torchtitan's ``module_fqns_per_model_part``, with transformers' names.

    Returns
    -------
    str
        A list in JSON. The order of micro-batches is written by :func:`placelab.export.torch_schedule`.

    Examples
    --------
    >>> import placelab as pl
    >>> torch_split_points(pl.split_layers("llama-3-8b", pl.costs.cluster("h100"), fixed={0: 9, 1: 18, 2: 26}))
    '["model.layers.9", "model.layers.18", "model.layers.26"]'
    """
    expect(parts, bool, "parts")
    modules = modules_of_stages(split, stages_of(split, "export.torch_split_points"))
    return written(json.dumps(modules if parts else [stage[0] for stage in modules[1:]]), path)


def accelerate(split: LayerSplit, path: str | Path | None = None) -> str:
    """The ``device_map`` and ``max_memory`` of a split, for Accelerate and transformers.

    Parameters
    ----------
    split
        Layers over devices. CPUs are ``"cpu"``, all others have numbers from 0 in the order of the cluster.
    path
        JSON file to write them to, too.

    Returns
    -------
    str
        ``{"device_map": …, "max_memory": …}`` in JSON. Its keys are text: turn the numbers in ``max_memory`` into ints.

    Notes
    -----
    Sizes are whole GiB, or bytes where whole ones would not hold what the split needs; devices without a limit are left out. A
    head that shares the embedding's table goes to the embedding's device: Accelerate holds it once. Layers are never cut, as
    ``no_split_module_classes`` asks.

    Examples
    --------
    >>> import placelab as pl
    >>> text = accelerate(pl.split_layers("llama-3-8b", pl.costs.cluster("h100"), fixed={0: 9, 1: 18, 2: 26}))
    >>> json.loads(text)["device_map"]["model.layers.9"], json.loads(text)["max_memory"]["3"]
    (1, '74GiB')
    """
    stages = stages_of(split, "export.accelerate")
    numbers = _numbers(split)
    device_map = {
        module: numbers[stage.device]
        for stage, modules in zip(stages, modules_of_stages(split, stages), strict=True)
        for module in modules
    }
    if split.model.shape.tied:
        device_map["lm_head"] = device_map[modules_of(split.model.shape)[0]]
    needed = dict(zip(split.order, split.memory.tolist(), strict=True))
    sizes = [(d, float(room) * (1 - split.wanted.headroom)) for d, room in enumerate(split.cluster.memory)]
    memory = {str(numbers[d]): _size(room, needed[d]) for d, room in sizes if room < float("inf")}
    return written(json.dumps({"device_map": device_map, "max_memory": memory}), path)


def _numbers(split: LayerSplit) -> list[int | str]:
    kinds = hardware(split.cluster)
    return ["cpu" if kind == "cpu" else sum(k != "cpu" for k in kinds[:d]) for d, kind in enumerate(kinds)]


def _size(room: float, needed: float) -> int | str:
    whole = int(room // GIB)
    return f"{whole}GiB" if whole and whole * GIB >= needed else int(room)


def llama_cpp(split: LayerSplit, path: str | Path | None = None, *, cpu_experts: Iterable[int] = ()) -> str:
    r"""Flags of llama.cpp that put layers on devices: ``-ngl 33 -sm layer -ts 9,9,8,7``.

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
    The output counts as one more layer, on the last device; the embedding is always on the CPU, as are the first layers where
    ``-ngl`` is lower. What ``-ot`` has, ``regex=buffer``, overrides both: the first regex that is found in a tensor's name wins.
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
