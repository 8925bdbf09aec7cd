"""What to type for a split: the text of each launcher, or why it cannot run the split."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from placelab.base.errors import PlacelabError
from placelab.plans.launchers.accelerate import accelerate
from placelab.plans.launchers.llama_cpp import llama_cpp
from placelab.plans.launchers.megatron import megatron_layout
from placelab.plans.launchers.torch_points import torch_split_points
from placelab.plans.launchers.vllm import default, vllm_partition
from placelab.plans.layer_split import LayerSplit


class Launcher(NamedTuple):
    """A launcher: its name, where its text goes, the function that writes it, and what else there is to say of a split."""

    name: str
    where: str
    write: Callable[[LayerSplit], str]
    more: Callable[[LayerSplit], str] = lambda split: ""


def _vllms_own(split: LayerSplit) -> str:
    ranks = len(split.stages)
    if ranks > split.model.layers:
        return ""
    return f"its default would be {','.join(map(str, default(split.model.layers, ranks)))}"


LAUNCHERS = (
    Launcher("Megatron-LM", "--pipeline-model-parallel-layout", megatron_layout),
    Launcher("vLLM", "environment", vllm_partition, _vllms_own),
    Launcher("llama.cpp", "arguments", llama_cpp, lambda split: "the head counts as a layer of the last device"),
    Launcher("Accelerate", "device_map and max_memory, JSON", accelerate),
    Launcher("PyTorch", "split points of a pipeline", torch_split_points, lambda split: "each begins a stage"),
)


def launch_lines(split: LayerSplit) -> list[dict[str, str]]:
    """Of each launcher ``name``, ``where``, ``text``, and ``why`` there is none, "" where there is one."""
    return [_line(launcher, split) for launcher in LAUNCHERS]


def _line(launcher: Launcher, split: LayerSplit) -> dict[str, str]:
    line = dict(name=launcher.name, where=launcher.where, text="", why="")
    try:
        text = launcher.write(split)
    except PlacelabError as error:
        return line | dict(why=str(error))
    more = launcher.more(split)
    return line | dict(text=text, where=f"{launcher.where} · {more}" if more else launcher.where)
