"""Accelerate's ``device_map`` and ``max_memory``, as transformers' ``from_pretrained`` takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.files import json_of
from placelab.models import Transformer
from placelab.models.shape import attention_matrices, mlp_matrices, norms
from placelab.plans.launchers.split_stages import modules_of, modules_of_stages, stages_of, written
from placelab.plans.layer_split import LayerSplit
from placelab.problem.hardware import hardware

GIB = 1 << 30
UNITS = {"GIB": GIB, "MIB": 1 << 20, "KIB": 1 << 10, "GB": 10**9, "MB": 10**6, "KB": 10**3}
EXPECTED = "a device_map and a max_memory of Accelerate"


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


def read_map(text: str, model: Transformer) -> dict[str, int | str]:
    """The device of each parameter, by the longest key that its name begins with.

    Raises
    ------
    FormatError
        JSON of a different kind; a parameter without a device; a layer that is cut; a shared table on two devices; a wrong size.
    """
    document = json_of(text.encode(), "the device map", EXPECTED)
    if not isinstance(document, dict) or not isinstance(document.get("device_map"), dict):
        raise FormatError(f"the device map is JSON of a different kind; expected {EXPECTED}")
    keys = document["device_map"]
    for size in document.get("max_memory", {}).values():
        bytes_of(size)
    for key in keys:
        if re.search(r"(layers|h)\.\d+\.", key):
            raise FormatError(f"the device map cuts a layer at {key!r:.80}")
    found = {name: keys[_key(name, keys)] for name in parameters(model)}
    first = modules_of(model.shape)[0]
    if model.shape.tied and found[f"{first}.weight"] != found["lm_head.weight"]:
        raise FormatError(f"lm_head and {first} share a table but are on different devices")
    return found


def _key(name: str, keys: Iterable[str]) -> str:
    good = [key for key in keys if key == "" or name == key or name.startswith(f"{key}.")]
    if not good:
        raise FormatError(f"the device map has no device for {name!r:.80}")
    return max(good, key=len)


def bytes_of(size: Any) -> int:
    """Bytes of a size of ``max_memory``: an int, or a number and a unit.

    >>> bytes_of("22GiB"), bytes_of("1GB"), bytes_of(5)
    (23622320128, 1000000000, 5)
    """
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    found = re.fullmatch(r"(\d{1,12})([KMG]I?B)", size.upper()) if isinstance(size, str) else None
    if not found:
        raise FormatError(f"a size of max_memory is {size!r:.60}; expected bytes, or a whole number of GiB or GB")
    return int(found[1]) * UNITS[found[2]]


def parameters(model: Transformer) -> Iterator[str]:
    """Names of the weights of the model's modules; experts of a layer under one name."""
    shape = model.shape
    first, *blocks, norm, head = modules_of(shape)
    yield f"{first}.weight"
    for i, block in enumerate(blocks[-shape.layers :]):
        own = [m.module for m in (*attention_matrices(shape), *mlp_matrices(shape, shape.sparse[i]))]
        yield from (f"{block}.{module}.weight" for module in (*own, *norms(shape)))
    yield from (f"{module}.weight" for module in (*blocks[: -shape.layers], norm, head))
