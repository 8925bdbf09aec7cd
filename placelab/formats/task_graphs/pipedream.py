"""Read PipeDream's profiles (``graph.txt``): layers with forward and backward times, activations and parameters.

A line ``node3 -- Conv2d(64, …) -- forward_compute_time=1.5, backward_compute_time=3.1, activation_size=…, parameter_size=…``
is a layer: milliseconds and bytes; a list of sizes in brackets is added up; `` -- stage_id=1`` may follow. A line that begins
with a tab, ``node3 -- node4``, is an edge.

By default the graph is a training step: a forward op per layer, named like its node, and a backward op
``gradients/node3_grad/Conv2d`` in the same group. The forward op holds the parameters (``persistent``) and has one output
of the activation's bytes, which the next layers and its own backward op read; the backward op sends each layer before it a
gradient as large as that layer's activation. ``compute`` is seconds × 10¹³ operations/s, so that a device of that speed, as
in the preset ``uniform``, takes the time measured. ``metadata["stages"]`` has the stage of each layer if the file does.

References
----------
Narayanan et al. (2019), *PipeDream: Generalized Pipeline Parallelism for DNN Training*, SOSP;
https://github.com/msr-fiddle/pipedream
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text, read_from, title
from placelab.base.files import MAX_OPS, text_of
from placelab.formats.building import build
from placelab.problem.graph import OpGraph

EXPECTED = "a profile of PipeDream"
SPEED = 1e13  # operations/s of the GPU that was measured
MS = 1e-3
COSTS = ("forward_compute_time", "backward_compute_time", "activation_size", "parameter_size")
SEPARATOR = re.compile(r", ?| -- ")
KIND = re.compile(r"\w*")


@dataclass(frozen=True)
class _Layer:
    name: str
    kind: str
    forward: float  # [s]
    backward: float  # [s]
    activation: float  # [bytes]
    parameters: float  # [bytes]
    stage: int | None


def loads(data: bytes, where: str = "the upload", *, backward: bool = True) -> OpGraph:
    """The graph in the bytes of a PipeDream profile, gzipped or not; `where` names it in messages.

    >>> line = b"node%d -- ReLU(inplace) -- forward_compute_time=2, backward_compute_time=3, activation_size=8, parameter_size=0"
    >>> loads(line % 1 + b"\\n" + line % 2 + b"\\n\\tnode1 -- node2\\n").names.tolist()
    ['node1', 'node2', 'gradients/node2_grad/ReLU', 'gradients/node1_grad/ReLU']
    """
    lines = [(i, line) for i, line in enumerate(text_of(data, where, EXPECTED).split("\n"), 1) if line.strip()]
    with read_from(where):
        layers = [_layer(line, f"line {i}") for i, line in lines if not line.startswith("\t")]
        number = _numbers(layers)
        edges = [_edge(line, f"line {i}", number) for i, line in lines if line.startswith("\t")]
        metadata = _metadata(layers, title(where, "profile"))
        return _step(layers, edges, metadata) if backward else _inference(layers, edges, metadata)


def _layer(line: str, where: str) -> _Layer:
    name, _, rest = line.partition(" -- ")
    described, separator, costs = rest.rpartition(" -- forward_compute_time=")
    if not separator or not name.strip():
        raise FormatError(f"{where} is {line.strip()!r:.60}; expected: name -- layer -- forward_compute_time=…, …")
    fields = (field.partition("=") for field in SEPARATOR.split("forward_compute_time=" + costs))
    given = {key.strip(): value.strip() for key, _, value in fields}
    if missing := [key for key in COSTS if key not in given]:
        raise FormatError(f"{where} has no {missing[0]}")
    ahead, back, activation, parameters = (_sum(given[key], f"{key} of {name.strip()!r:.60}") for key in COSTS)
    found = KIND.match(described.strip())
    kind = found[0] if found and found[0] else "Layer"
    return _Layer(name.strip(), kind, MS * ahead, MS * back, activation, parameters, _stage(given, where))


def _sum(text: str, what: str) -> float:
    """A number, or the sum of several in brackets, separated by ``;``."""
    return sum(cost_of_text(part, what) for part in text.strip("[]").split(";") if part.strip())


def _stage(given: dict[str, str], where: str) -> int | None:
    text = given.get("stage_id")
    if text is None or text == "None":
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 6:
        raise FormatError(f"{where} has stage_id {text!r:.40}; expected a whole number")
    return int(text)


def _numbers(layers: list[_Layer]) -> dict[str, int]:
    number = {layer.name: v for v, layer in enumerate(layers)}
    if len(number) < len(layers):
        twice = next(layer.name for v, layer in enumerate(layers) if number[layer.name] != v)
        raise FormatError(f"two layers are called {twice!r:.80}; names must be unique")
    if not layers:
        raise FormatError("it has no layers: no line of the form name -- layer -- forward_compute_time=…")
    if len(layers) > MAX_OPS // 2:
        raise FormatError(f"it has {len(layers):,} layers; profiles of more than {MAX_OPS // 2:,} are not read")
    return number


def _edge(line: str, where: str, number: dict[str, int]) -> tuple[int, int]:
    ends = line.strip().split(" -- ")
    if len(ends) != 2:
        raise FormatError(f"{where} is {line.strip()!r:.60}; expected two layers: name -- name")
    for end in ends:
        if end.strip() not in number:
            raise FormatError(f"{where} names {end.strip()!r:.60}, which is not a layer of the file")
    return number[ends[0].strip()], number[ends[1].strip()]


def _metadata(layers: list[_Layer], name: str) -> dict[str, Any]:
    stages = {layer.name: layer.stage for layer in layers if layer.stage is not None}
    metadata = {"name": name, "provenance": EXPECTED, "reference_speed": SPEED}
    return metadata | {"costs": {"compute": f"seconds × {SPEED:g}"}} | ({"stages": stages} if stages else {})


def _inference(layers: list[_Layer], edges: list[tuple[int, int]], metadata: dict[str, Any]) -> OpGraph:
    read = {u for u, _ in edges}
    return build(
        [layer.name for layer in layers],
        [SPEED * layer.forward for layer in layers],
        edges,
        edge_bytes=[layers[u].activation for u, _ in edges],
        edge_output=[0] * len(edges),
        outputs=[(v, 0, layer.activation) for v, layer in enumerate(layers) if v not in read],
        persistent=[layer.parameters for layer in layers],
        kind=[layer.kind for layer in layers],
        metadata=metadata,
    )


def _step(layers: list[_Layer], edges: list[tuple[int, int]], metadata: dict[str, Any]) -> OpGraph:
    n = len(layers)
    stored = [(v, n + v) for v in range(n)]
    gradients = [(n + v, n + u) for u, v in edges]
    return build(
        [layer.name for layer in layers] + [f"gradients/{layer.name}_grad/{layer.kind}" for layer in layers],
        [SPEED * layer.forward for layer in layers] + [SPEED * layer.backward for layer in layers],
        [*edges, *stored, *gradients],
        edge_bytes=[layers[u].activation for u, _ in [*edges, *stored, *edges]],
        edge_output=[0] * (len(edges) + n) + list(range(len(gradients))),  # one gradient per input
        persistent=[layer.parameters for layer in layers] + [0.0] * n,
        kind=[layer.kind for layer in layers] + [f"{layer.kind}Backward" for layer in layers],
        groups=[[v, n + v] for v in range(n)],
        group_names=[layer.name for layer in layers],
        metadata=metadata,
    )
