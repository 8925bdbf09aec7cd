"""What launchers make of a split, by their own rules: the second opinions on placelab's forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, count, expect
from placelab.base.files import json_of
from placelab.models import Transformer
from placelab.models.shape import attention_matrices, mlp_matrices, norms
from placelab.plans.launchers import GIB, VARIABLE, modules_of

GROUP = re.compile(r"\(([^()]*)\)\*(\d{1,6})")
LETTER = re.compile(r"([^()*\d])\*(\d{1,6})")
MOST_LETTERS = 100_000
EXPECTED_POINTS = "a list of module paths"
EXPECTED_MAP = "a device_map and a max_memory of Accelerate"
UNITS = {"GIB": GIB, "MIB": 1 << 20, "KIB": 1 << 10, "GB": 10**9, "MB": 10**6, "KB": 10**3}
CPU = -1  # in place of a device's number
EXPERTS = ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")


def read_layout(text: str, ranks: int | None = None) -> list[str]:
    """The stages of a layout by Megatron's rule, chunk by chunk: stage = chunk · ranks + rank.

    Raises
    ------
    FormatError
        Letters other than E, t, m, L; no single E at the very start or no single L at the very end, an m before a t; a number of
        stages that the ranks do not divide.

    Examples
    --------
    >>> read_layout("E|(t|)*3,m|m||L")
    ['E', 't', 't', 't', 'm', 'm', '', 'L']
    """
    expect(text, str, "a layout")
    spread = _unrolled(_unrolled(text.replace(",", ""), GROUP), LETTER)
    if wrong := re.search(r"[^EtmL|]", spread):
        raise FormatError(f"layout {text!r:.200} has {wrong[0]!r}; expected E, t, m, L and |, x*n and (…)*n")
    letters = spread.replace("|", "")
    if not re.fullmatch("Et*m*L", letters):
        raise FormatError(
            f"layout {text!r:.200} has {letters!r:.60}; expected one E, layers t, then m, and one L at the end"
        )
    stages = spread.split("|")
    if ranks is not None and len(stages) % count(ranks, "ranks"):
        raise FormatError(f"layout {text!r:.200} has {len(stages)} stages, which {ranks} ranks do not divide")
    return stages


def _unrolled(text: str, pattern: re.Pattern[str]) -> str:
    if sum(len(m[1]) * int(m[2]) for m in pattern.finditer(text)) + len(text) > MOST_LETTERS:
        raise FormatError(f"layout {text!r:.200} has more than {MOST_LETTERS:,} letters when it is written out")
    return pattern.sub(lambda m: m[1] * int(m[2]), text)


def read_partition(text: str, layers: int, ranks: int) -> list[int]:
    """Layers of each rank by vLLM's rule.

    Raises
    ------
    FormatError
        Another variable; not as many whole numbers of 1 or more as ranks; a sum that is not the layers.
    """
    expect(text, str, "a partition")
    found = re.fullmatch(rf"{VARIABLE}=(\d{{1,9}}(?:,\d{{1,9}})*)", text.strip())
    counts = [int(part) for part in found[1].split(",")] if found else []
    if len(counts) != ranks or min(counts, default=0) < 1 or sum(counts) != layers:
        raise FormatError(
            f"partition {text!r:.200}; expected {VARIABLE}=, {ranks} whole numbers of 1 or more, {layers} in all"
        )
    return counts


def read_points(text: str, model: Transformer) -> list[list[str]]:
    """The modules of each stage that begins at the points, in the order in which they run.

    Raises
    ------
    FormatError
        JSON of a different kind; a name that is no module, or not behind the one before.
    """
    points = json_of(text.encode(), "the split points", EXPECTED_POINTS)
    modules = modules_of(model.shape)
    if not isinstance(points, list) or not all(isinstance(point, str) for point in points):
        raise FormatError(f"the split points are {points!r:.80}; expected {EXPECTED_POINTS}")
    at = [0]
    for point in points:
        if point not in modules[at[-1] + 1 :]:
            raise FormatError(f"split point {point!r:.80} is no module of {model.name} behind {modules[at[-1]]!r}")
        at.append(modules.index(point))
    return [modules[a:b] for a, b in zip(at, [*at[1:], len(modules)], strict=True)]


def read_map(text: str, model: Transformer) -> dict[str, int | str]:
    """The device of each parameter, by the longest key that its name begins with.

    Raises
    ------
    FormatError
        JSON of a different kind; a parameter without a device; a layer that is cut; a shared table on two devices; a wrong size.
    """
    document = json_of(text.encode(), "the device map", EXPECTED_MAP)
    if not isinstance(document, dict) or not isinstance(document.get("device_map"), dict):
        raise FormatError(f"the device map is JSON of a different kind; expected {EXPECTED_MAP}")
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
