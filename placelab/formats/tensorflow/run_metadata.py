"""Read profiles of TensorFlow: RunMetadata and StepStats (``.pb``), and the JSON of TensorFlow's timeline.

Seconds of an op are the time it occupies its thread, including the handling of inputs and outputs, as the timeline draws it; of
an op on a GPU, the time of its kernels. Copies between host and device are transfers and do not count. Kernels of one op, and
the iterations of a loop, are summed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from placelab.base.errors import FormatError
from placelab.base.files import MAX_OPS, is_json, json_of, read_file, unzipped
from placelab.formats.profiles import Profile, median
from placelab.formats.protobuf import BYTES, MessageType, fields, messages, parse, spans_of
from placelab.formats.tensorflow.nodes import REFERENCE, size_of, type_name
from placelab.problem.tensor_shapes import shape_text

EXPECTED = "RunMetadata or StepStats of a TensorFlow step, or its timeline as JSON"
TABLES = {
    "Run": "string node_name = 1; int64 all_end_rel_micros = 5; repeated Output output = 7; Memory memory_stats = 12; "
    "int64 all_end_rel_nanos = 16",
    "Output": "int32 slot = 1; Tensor tensor_description = 3",
    "Tensor": "int32 dtype = 1; Shape shape = 2; Allocation allocation_description = 4",
    "Shape": "repeated Dim dim = 2; bool unknown_rank = 3",
    "Dim": "int64 size = 1",
    "Allocation": "int64 requested_bytes = 1",
    "Memory": "int64 temp_memory_size = 1",
}
STEP_STATS = 1  # field of RunMetadata
DEVICE_STATS = 1  # of StepStats
# Fields of DeviceStepStats
DEVICE = 1
RUN = 2
STREAM = "/stream:"
EVERY_STREAM = "/stream:all"
COPIES = ("/memcpy", ":MEMCPY")  # in names of devices and of kernels
MAX_SECONDS = 1e9
MAX_BYTES = 1e18


class KernelRun(NamedTuple):
    """One kernel that ran for an op."""

    name: str
    device: str
    seconds: float
    temporary: float = 0.0
    outputs: tuple[tuple[int, float, str | None], ...] = ()  # number, bytes, element type and sizes


def read_profile(*paths: Any) -> Profile:
    """Read the profiles of one or more steps, a file for each: each op's median over the steps that ran it.

    Parameters
    ----------
    paths
        RunMetadata or StepStats (``.pb``), timeline (``.json``), gzipped or not.

    Returns
    -------
    Profile
        Seconds, bytes, scratch bytes and device of each op. A timeline has no bytes.

    Raises
    ------
    FormatError
        Another format, a damaged file, or one without ops.
    """
    return median(loads(read_file(path, EXPECTED), str(path)) for path in paths)


def loads(data: bytes, where: str = "the upload") -> Profile:
    """The profile in the bytes of one file; `where` names it in messages."""
    data = unzipped(data, where)
    if is_json(data):
        return profile_of(json_of(data, where, EXPECTED), where)
    return _profile(_runs(data, where), where)


def matches(document: Any) -> bool:
    """Whether parsed JSON is a timeline of TensorFlow: a trace with events that have an op and its type."""
    return any(_op_of(event) for event in islice(_events(document), 10_000))


def profile_of(document: Any, where: str) -> Profile:
    """The profile in a parsed timeline."""
    events = list(_events(document))
    device = {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") == "process_name" and isinstance(event.get("args"), dict):
            device[str(event.get("pid"))] = str(event["args"].get("name", "")).removesuffix(" Compute")
    return _profile((_drawn(event, device, where) for event in events if _op_of(event)), where)


# -------------------------------------------------------------------- what ran


def _runs(data: bytes, where: str) -> Iterator[KernelRun]:
    """The kernels in a RunMetadata or a StepStats."""
    kind = _schema()["Run"]
    count = 0
    for start, end in _device_stats(data, where):
        device = ""
        for number, wire, _, value, stop in fields(data, where, start, end):
            if (number, wire) == (DEVICE, BYTES):
                device = data[value:stop].decode(errors="replace")
            elif (number, wire) == (RUN, BYTES):
                count += 1
                if count > MAX_OPS:
                    raise FormatError(f"{where} has more than {MAX_OPS:,} kernels; such profiles are not read")
                yield _run(parse(kind, data[value:stop], where), device, where)


def _device_stats(data: bytes, where: str) -> list[tuple[int, int]]:
    """Start and end of each DeviceStepStats: directly in StepStats, one level deeper in RunMetadata."""
    outer = spans_of(STEP_STATS, data, where)
    if any(number == RUN for span in outer for number, *_ in fields(data, where, *span)):
        return outer
    return [inner for span in outer for inner in spans_of(DEVICE_STATS, data, where, *span)]


def _run(message: Any, device: str, where: str) -> KernelRun:
    nanos = message.all_end_rel_nanos or 1000 * message.all_end_rel_micros
    made = ((output.slot, output.tensor_description) for output in message.output)
    outputs = tuple((slot, _bytes(tensor, where), _shape(tensor)) for slot, tensor in made)
    scratch = _checked(message.memory_stats.temp_memory_size, MAX_BYTES, "bytes", message.node_name, where)
    return KernelRun(
        message.node_name, device, _checked(nanos / 1e9, MAX_SECONDS, "s", message.node_name, where), scratch, outputs
    )


def _bytes(tensor: Any, where: str) -> float:
    size = size_of(tensor.dtype % REFERENCE)
    sizes = _sizes(tensor)
    if size and sizes is not None and min(sizes, default=0) >= 0:
        return _checked(size * prod(map(float, sizes)), MAX_BYTES, "bytes", "a tensor", where)
    return _checked(tensor.allocation_description.requested_bytes, MAX_BYTES, "bytes", "a tensor", where)


def _shape(tensor: Any) -> str | None:
    return shape_text(type_name(tensor.dtype % REFERENCE), _sizes(tensor))


def _sizes(tensor: Any) -> tuple[int, ...] | None:
    """Its sizes, below 0 where unknown; None where their number is: a tensor without a shape is no scalar."""
    known = tensor.HasField("shape") and not tensor.shape.unknown_rank
    return tuple(dim.size for dim in tensor.shape.dim) if known else None


def _events(document: Any) -> Iterator[dict]:
    events = document.get("traceEvents") if isinstance(document, dict) else document
    return (event for event in events if isinstance(event, dict)) if isinstance(events, list) else iter(())


def _op_of(event: dict) -> bool:
    args = event.get("args")
    named = isinstance(args, dict) and isinstance(args.get("name"), str) and isinstance(args.get("op"), str)
    return named and event.get("ph") == "X"


def _drawn(event: dict, device: dict[str, str], where: str) -> KernelRun:
    name = event["args"]["name"]
    seconds = event.get("dur")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise FormatError(f"{where}: op {name!r:.200} takes {seconds!r:.40} µs; expected a number")
    copy = ":MEMCPY" if event["args"]["op"].startswith("MEMCPY") else ""
    took = _checked(float(min(seconds, 1e300)) * 1e-6, MAX_SECONDS, "s", name, where)
    return KernelRun(name + copy, device.get(str(event.get("pid")), ""), took)


def _checked(value: float, limit: float, unit: str, name: str, where: str) -> float:
    if not 0 <= value <= limit:
        raise FormatError(f"{where}: {name!r:.200} takes {value:g} {unit}; expected a number from 0 to {limit:g}")
    return float(value)


# -------------------------------------------------------------------- sums


def _profile(runs: Iterable[KernelRun], where: str) -> Profile:
    """The runs, summed by op."""
    launched = dict[str, float]()
    kernels = dict[str, float]()
    streams = dict[str, float]()
    device = dict[str, str]()
    temporary = dict[str, float]()
    outputs = dict[tuple[str, int], float]()
    shapes = dict[tuple[str, int], set[str | None]]()
    for run in runs:
        if any(copy in run.device or copy in run.name for copy in COPIES):
            continue
        on_stream = STREAM in run.device
        name = run.name.partition(":")[0] if on_stream else run.name
        times = kernels if EVERY_STREAM in run.device else streams if on_stream else launched
        times[name] = times.get(name, 0.0) + run.seconds
        device[name] = run.device.partition(STREAM)[0]
        temporary[name] = max(temporary.get(name, 0.0), run.temporary)
        for slot, size, shape in run.outputs:
            outputs[name, slot] = max(outputs.get((name, slot), 0.0), size)
            shapes.setdefault((name, slot), set()).add(shape)
    seconds = {name: took for name, took in (launched | streams | kernels).items() if name}
    if not seconds:
        raise FormatError(f"{where} has no op that ran; expected {EXPECTED}")
    return Profile(
        seconds,
        outputs,
        {k: v for k, v in temporary.items() if v},
        device,
        f"{Path(where).name} (TensorFlow)",
        {key: shape for key, found in shapes.items() if len(found) == 1 for shape in found if shape},
    )


@cache
def _schema() -> dict[str, MessageType]:
    return messages("tensorflow_profile", TABLES)
