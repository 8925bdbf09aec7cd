"""Read profiles of ONNX Runtime: seconds and bytes by op.

A session writes a profile if ``SessionOptions.enable_profiling`` is set. Its graph optimisations rename and fuse nodes: either
switch them off (``graph_optimization_level = ORT_DISABLE_ALL``), or load the optimised model as the graph, which a session
saves to ``optimized_model_filepath``.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.files import json_of, read_file
from placelab.formats.onnx.node_proto import op_name
from placelab.formats.profiles import Profile, median

EXPECTED = "a profile that ONNX Runtime wrote"
KERNEL = "_kernel_time"
BYTES = {  # of an element, by ONNX Runtime's names
    **dict.fromkeys(("int8", "uint8", "bool", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}
MAX_RANK = 64
LARGEST = 1e18  # µs, bytes or elements
Event = dict[str, Any]


def read_profile(*paths: Any) -> Profile:
    """Median costs over all runs in one or several profiles of ONNX Runtime.

    Parameters
    ----------
    paths
        JSON files as ``InferenceSession.end_profiling`` writes them, gzipped or not.

    Returns
    -------
    Profile
        Seconds by op, summed over its kernels in a run; bytes of outputs; the execution provider (``CPU``, ``CUDA``) as the
        device. Nodes inside ``If``, ``Loop`` and ``Scan`` are included by their own names; the op that runs them includes their
        time.

    Raises
    ------
    FormatError
        A file that does not exist, is not a profile, or in which no node ran.
    """
    runs = [run for path in paths for run in _runs(json_of(read_file(path, EXPECTED), str(path), EXPECTED), str(path))]
    return median(runs)


def loads(data: bytes, where: str = "the upload") -> Profile:
    """The profile in the bytes of a file, gzipped or not; `where` names it in messages."""
    return profile_of(json_of(data, where, EXPECTED), where)


def profile_of(document: Any, where: str) -> Profile:
    """The profile in parsed JSON; `where` names it in messages."""
    return median(_runs(document, where))


def matches(document: Any) -> bool:
    """Whether parsed JSON is a profile of ONNX Runtime: a list of events, some of them of kernels."""
    return isinstance(document, list) and any(_is_kernel(event) for event in document)


def _runs(document: Any, where: str) -> list[Profile]:
    """A profile of each run; a kernel belongs to the last ``model_run`` that began before it."""
    if not matches(document):
        raise FormatError(f"{where} is not {EXPECTED}: expected a list with events named …{KERNEL}")
    events = [event for event in document if isinstance(event, dict)]
    starts = sorted(_number(event, "ts", where) for event in events if event.get("name") == "model_run")
    kernels: dict[int, list[Event]] = {}
    for event in filter(_is_kernel, events):
        kernels.setdefault(bisect_right(starts, _number(event, "ts", where)), []).append(event)
    return [_run(kernels[run], where) for run in sorted(kernels)]


def _run(kernels: list[Event], where: str) -> Profile:
    seconds: dict[str, float] = {}
    outputs: dict[tuple[str, int], float] = {}
    device: dict[str, str] = {}
    for event in kernels:
        name = op_name(event["name"].removesuffix(KERNEL))
        seconds[name] = seconds.get(name, 0.0) + _number(event, "dur", where) * 1e-6
        outputs |= {(name, k): size for k, size in enumerate(_sizes(event, where)) if size is not None}
        provider = _args(event).get("provider")
        if isinstance(provider, str):
            device[name] = provider.removesuffix("ExecutionProvider")
    return Profile(seconds, outputs, device=device, source=f"{PurePath(where).name} (ONNX Runtime)")


def _is_kernel(event: Any) -> bool:
    if not isinstance(event, dict) or event.get("cat") != "Node":
        return False
    name = event.get("name")
    return isinstance(name, str) and name.endswith(KERNEL)


def _args(event: Event) -> Event:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _number(event: Event, key: str, where: str) -> float:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < LARGEST:
        raise FormatError(
            f"{where}: {key!r} of event {event.get('name')!r:.80} is {value!r:.40}; expected microseconds"
        )
    return float(value)


def _sizes(event: Event, where: str) -> Iterator[float | None]:
    """Bytes of each output; None if its type or shape is not recorded."""
    shapes = _args(event).get("output_type_shape")
    for entry in shapes if isinstance(shapes, list) else ():
        yield _size(entry, event, where)


def _size(entry: Any, event: Event, where: str) -> float | None:
    """Bytes of an output that is recorded as ``{"float": [1, 64, 56, 56]}``."""
    if not isinstance(entry, dict) or len(entry) != 1:
        return None
    [(kind, shape)] = entry.items()
    if kind not in BYTES or not isinstance(shape, list):
        return None
    valid = len(shape) <= MAX_RANK and all(type(size) is int and 0 <= size < LARGEST for size in shape)
    if not valid or math.prod(shape) * BYTES[kind] > LARGEST:
        raise FormatError(
            f"{where}: an output of event {event['name']!r:.80} has the shape {shape!r:.60}; expected sizes"
        )
    return float(math.prod(shape) * BYTES[kind])
