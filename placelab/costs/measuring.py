"""Measured costs: a profile's seconds and bytes in a graph, a link fitted to messages, the ops of a PyTorch module.

A module's traced program is run op by op, each in a profiler range named after it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median as middle
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, expect, is_name, poses_as_number
from placelab.base.files import path_of
from placelab.base.index_arrays import LARGEST, floats
from placelab.costs.roofline import with_times
from placelab.formats.profiles import Profile
from placelab.formats.torch.exported_program import Program, names_of, torch_module
from placelab.formats.torch.module import exported, program_of, training_program
from placelab.formats.torch.profiler_trace import read_profile
from placelab.problem.coverage import known_shares, provenance
from placelab.problem.graph import OpGraph
from placelab.problem.tensor_shapes import is_shape, of_tensors

ROUNDING = 1e-9


def measured(
    graph: OpGraph,
    profile: Profile,
    device: str = "cpu",
    *,
    speed: float | None = None,
    reference_speed: float | None = None,
) -> OpGraph:
    """Replace a graph's costs by the seconds and bytes of a profile.

    Parameters
    ----------
    graph
        Its op names are matched with those of the profile.
    profile
        Of one device, or of several of one type.
    device
        Device name or type that the seconds hold for.
    speed
        Operations/s of the device that was measured. If given, the seconds scale with a device's speed, and apply to devices
        whose type has no column, unless the graph has a different default column. If None, they apply unscaled, to `device`
        alone.
    reference_speed
        Set compute to seconds × this speed [operations/s] instead of adding a time column; all time columns are removed, so
        that seconds scale with the speed of every device. The metadata record the reference speed.

    Returns
    -------
    OpGraph
        Ops that the profile lacks take no time. Tensor and temporary bytes are those of the profile where it has them;
        ``memory`` changes with both. ``metadata["costs"]`` counts the ops that were measured, those that were not, and names
        in the profile that the graph lacks.

    Raises
    ------
    FormatError
        No name of the profile is an op of the graph; seconds or bytes that are not finite or below 0; both speeds given.

    Notes
    -----
    A graph keeps the order of an op's outputs, not their numbers. Output bytes of an op are replaced if the profile lists as
    many outputs as the graph has, or fewer and no number beyond them; other ops keep their bytes and are counted under
    ``"bytes"``. O(ops + tensors + entries of the profile).

    Examples
    --------
    >>> g = OpGraph.from_arrays(["a", "b"], [1.0, 2.0], [(0, 1)], edge_bytes=[8.0])
    >>> measured(g, Profile({"a": 0.5}, {("a", 0): 16.0})).time.tolist()
    [[0.5], [0.0]]
    >>> measured(g, Profile({"a": 0.5}), reference_speed=1e12).compute.tolist()
    [500000000000.0, 0.0]
    """
    expect(graph, OpGraph, "costs.measured")
    expect(profile, Profile, "costs.measured")
    _check(device, speed, reference_speed)
    index = {str(name): v for v, name in enumerate(graph.names)}
    seconds = _by_op(np.zeros(graph.n_ops), index, profile.seconds, "seconds")
    counts = _matches(graph, index, profile)
    sized, skipped = _sized(graph, index, profile)
    note = {"how": "measured", "source": profile.source, **counts}
    if skipped:
        note["bytes"] = f"outputs of {skipped} ops could not be told apart and keep their bytes"
    if reference_speed is None:
        default = None if speed is None or graph.time_default else device
        known = {} if speed is None else {device: float(speed)}
        return with_times(sized, {device: seconds}, {device: note}, known, {}, default)
    return _as_compute(sized, seconds * reference_speed, float(reference_speed), note)


def _as_compute(graph: OpGraph, compute: np.ndarray, reference_speed: float, note: dict[str, Any]) -> OpGraph:
    known = {key: value for key, value in provenance(graph).items() if key not in ("columns", "unknown", "scaled")}
    costs = known | {"compute": "measured seconds × reference speed", "measured": note}
    metadata = {**graph.metadata, "costs": costs, "reference_speed": reference_speed}
    if "coverage" in metadata:
        share = note["ops"] / graph.n_ops
        others = dict.fromkeys(("flop_by_rule", "flop_by_file"), 0.0)
        metadata["coverage"] = {
            **known_shares(graph),
            **others,
            "ops": share,
            "flop_by_profile": share,
            "flop_unknown": 1.0 - share,
        }
    return graph.replace(compute=compute, time=None, time_types=(), metadata=metadata)


def _by_op(default: np.ndarray, index: dict[str, int], given: dict[str, float], what: str) -> np.ndarray:
    """Values of the profile by op; those of `default` where it has none."""
    values = default.copy()
    for name, value in given.items():
        if name in index:
            values[index[name]] = _number(value, what, name)
    return values


def _number(value: Any, what: str, name: Any) -> float:
    if poses_as_number(value) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= LARGEST:
        raise FormatError(
            f"{what} of op {name!r} in the profile are {value!r:.80}; expected a finite number, 0 or more"
        )
    return float(value)


def _matches(graph: OpGraph, index: dict[str, int], profile: Profile) -> dict[str, int]:
    found = sum(name in index for name in profile.seconds)
    if not found:
        here = _shown(graph.names.tolist())
        there = _shown(profile.seconds)
        what = f"the profile {profile.source}".rstrip()
        raise FormatError(f"no op of {what} ({there}) is in {graph.title} ({here}); expected a profile of this graph")
    return {"ops": found, "without": graph.n_ops - found, "foreign": len(profile.seconds) - found}


def _shown(names: Iterable[str]) -> str:
    names = list(names)
    shown = ", ".join(repr(name)[:60] for name in names[:3]) + (", …" if len(names) > 3 else "")
    return shown or "it has none"


def _sized(graph: OpGraph, index: dict[str, int], profile: Profile) -> tuple[OpGraph, int]:
    """The graph with the bytes of the profile, and the number of ops whose outputs could not be matched."""
    tensor_bytes, shapes, skipped = _tensors_of(graph, index, profile)
    temporary = _by_op(graph.temporary, index, profile.temporary, "temporary bytes")
    more = np.bincount(graph.tensor_producer, tensor_bytes - graph.tensor_bytes, minlength=graph.n_ops)
    memory = np.maximum(graph.memory + more + temporary - graph.temporary, 0.0)
    made = graph.replace(tensor_bytes=tensor_bytes, temporary=temporary, memory=memory)
    if shapes:
        codes, texts = of_tensors([shapes.get(t) or made.shape_of(t) for t in range(made.n_tensors)], tensor_bytes)
        made = replace(made, tensor_shape=codes, shapes=texts)
    return made, skipped


def _tensors_of(graph: OpGraph, index: dict[str, int], profile: Profile) -> tuple[np.ndarray, dict[int, str], int]:
    """Bytes of all tensors, shapes of those whose shape was recorded, and the number of ops that could not be matched."""
    by_op: dict[int, dict[int, float]] = {}
    for (name, number), size in profile.outputs.items():
        if name in index:
            by_op.setdefault(index[name], {})[number] = _number(size, "bytes", name)
    tensor_bytes = graph.tensor_bytes.copy()
    shapes: dict[int, str] = {}
    skipped = 0
    n_data = np.bincount(graph.tensor_producer[~graph.tensor_control], minlength=graph.n_ops).tolist()
    starts = graph.op_tensor_ptr.tolist()
    for v, sizes in by_op.items():
        tensors = _tensors(starts[v], n_data[v], sizes)
        skipped += tensors is None
        for t, number in (tensors or {}).items():
            tensor_bytes[t] = sizes[number]
            shape = profile.shapes.get((str(graph.names[v]), number))
            if shape is not None and is_shape(shape):
                shapes[t] = shape
    return tensor_bytes, shapes, skipped


def _tensors(first: int, n: int, numbers: Iterable[int]) -> dict[int, int] | None:
    """Tensor → output number, of an op's `n` data tensors, the first of which is `first`; None if they do not match."""
    numbers = sorted(numbers)
    if len(numbers) == n:
        return {first + i: number for i, number in enumerate(numbers)}
    if len(numbers) < n and all(0 <= number < n for number in numbers):
        return {first + number: number for number in numbers}
    return {} if n == 0 else None


def _check(device: Any, speed: Any, reference_speed: Any) -> None:
    if not is_name(device):
        raise FormatError(f"device is {device!r:.80}; expected the name or type of the device that was measured")
    if speed is not None and reference_speed is not None:
        raise FormatError("speed and reference_speed are both given; expected one: a time column, or compute")
    for label, value in (("speed", speed), ("reference_speed", reference_speed)):
        if value is not None and not (isinstance(value, (int, float)) and 0 < value <= LARGEST):
            raise FormatError(f"{label} is {value!r:.80}; expected operations/s above 0")


class FittedLink(NamedTuple):
    """Bandwidth [bytes/s] and latency [s] of one direction of a link, in the order that ``Cluster.from_hosts`` takes."""

    bandwidth: float
    latency: float


def fit_link(bytes: Any, seconds: Any) -> FittedLink:
    """Bandwidth and latency of a link by least squares: ``seconds ≈ latency + bytes / bandwidth``.

    Parameters
    ----------
    bytes, seconds
        Size and duration of each measured transfer, shape (n,); two sizes at least.

    Returns
    -------
    FittedLink
        ``bandwidth`` in bytes per second, ``latency`` in seconds, 0 or more; a pair in this order.

    Raises
    ------
    FormatError
        Fewer than two sizes; numbers that are not finite, negative bytes, seconds not above 0; larger transfers that
        are not slower, so that no bandwidth fits.

    Notes
    -----
    Minimizes squared relative errors: durations spread over many powers of ten, and with absolute errors the longest alone
    would determine the fit and leave the latency to chance. A negative latency is clipped to 0 and the bandwidth fitted
    alone. O(n).

    References
    ----------
    Jeon et al. (2020), Baechi, §4.1: the communication cost as a linear function of size.

    Examples
    --------
    >>> link = fit_link([1e3, 1e6, 1e9], [50e-6 + size / 12e9 for size in (1e3, 1e6, 1e9)])
    >>> round(link.bandwidth / 1e9), round(link.latency * 1e6)
    (12, 50)
    >>> import placelab as pl
    >>> pl.Cluster.from_hosts({"host": 2}, inside=link).bandwidth[0, 1] == link.bandwidth
    np.True_
    """
    size, duration = _measured(bytes, seconds)
    longest = duration.max()
    scale = size.max()
    with np.errstate(over="ignore"):
        weight = longest / duration
    if not np.isfinite(weight).all():
        raise FormatError(
            f"transfers take {duration.min():g} to {longest:g} s, too far apart for one link; expected closer ones"
        )
    slopes = weight * (size / scale)
    (latency, slope), *_ = np.linalg.lstsq(np.stack([weight, slopes], axis=1), np.ones(len(size)), rcond=None)
    if latency < 0:
        latency = 0.0
        slope = slopes.sum() / (slopes**2).sum()
    # Both are relative to the longest duration; a slope below ROUNDING is 0 up to rounding errors.
    if not slope > ROUNDING or not scale / slope / longest < np.inf:
        raise FormatError(
            "larger transfers take no longer than smaller ones, so no bandwidth fits; expected slower ones"
        )
    return FittedLink(bandwidth=float(scale / slope / longest), latency=float(latency * longest))


def _measured(bytes: Any, seconds: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        size = floats(bytes)
        duration = floats(seconds)
    except (TypeError, ValueError, OverflowError):
        raise FormatError("bytes and seconds must be numbers, one of each per transfer") from None
    if size.ndim != 1 or size.shape != duration.shape:
        raise FormatError(
            f"bytes has shape {size.shape} and seconds {duration.shape}; expected one of each per transfer"
        )
    for label, values, enough, least in (
        ("bytes", size, size >= 0, "0 or more"),
        ("seconds", duration, duration > 0, "above 0"),
    ):
        wrong = values[~(enough & np.isfinite(values))]
        if len(wrong):
            raise FormatError(f"{label} of a transfer are {wrong[0]:g}; expected a finite number {least}")
    if len(np.unique(size)) < 2:
        raise FormatError(
            f"transfers of {len(np.unique(size))} sizes cannot tell latency from bandwidth; expected two at least"
        )
    return size, duration


def profile_module(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    runs: int = 5,
    warm_up: int = 1,
    trace: Any = None,
    processor: bool = False,
) -> Profile:
    """Measure the seconds of the ops of ``from_module(module, args, kwargs)`` on this machine.

    Parameters
    ----------
    module, args, kwargs
        As for :func:`placelab.formats.torch.module.from_module`, with real data, on the CPU or on a GPU.
    runs, warm_up
        Number of measured runs, and of unmeasured runs before them.
    trace
        Path to write the Chrome trace of ``torch.profiler`` to; default: not kept. ``Profile.load`` reads it.
    processor
        Measure the processor time of one thread, PyTorch's dispatch from Python included, without a profiler: for a CPU that
        runs other programs, too.

    Returns
    -------
    Profile
        Each op's median over the runs: the seconds of its kernels on a GPU, of the op without Python's overhead on the CPU.

    Raises
    ------
    FormatError, UnsupportedError
        As ``from_module``; tensors of the module hold no data.

    Notes
    -----
    Ops run one after the other in the order of the graph, and nothing is fused. A module in ``train()`` mode updates its
    running statistics.
    """
    return _profile(program_of(exported(module, args, kwargs), args, kwargs), runs, warm_up, trace, processor)


def profile_training(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    loss: Any = None,
    runs: int = 5,
    warm_up: int = 1,
    trace: Any = None,
    processor: bool = False,
) -> Profile:
    """Measure the ops of ``from_training(module, args, kwargs, loss=loss)`` as :func:`profile_module` does.

    The module is not changed: gradients and running statistics are results of the program and are discarded.
    """
    return _profile(training_program(module, args, kwargs, loss), runs, warm_up, trace, processor)


def _profile(program: Program, runs: int, warm_up: int, trace: Any, processor: bool) -> Profile:
    torch = torch_module()
    for label, value, least in (("runs", runs, 1), ("warm_up", warm_up, 0)):
        if type(value) is not int or value < least:
            raise FormatError(f"{label} is {value!r:.40}; expected a whole number, {least} or more")
    values = [_value(node, program, torch) for node in program.graph.nodes if node.op == "placeholder"]
    return (_processor if processor else _traced)(program, values, runs, warm_up, trace)


def _traced(program: Program, values: list[Any], runs: int, warm_up: int, trace: Any) -> Profile:
    torch = torch_module()
    runner = _runner(program)
    with torch.no_grad():
        for _ in range(warm_up):
            runner.run(*values)
        with torch.profiler.profile(activities=_activities(torch)) as profiler:
            for _ in range(runs):
                runner.run(*values)
            if torch.cuda.is_available():
                torch.cuda.synchronize()
    with _path(trace) as path:
        profiler.export_chrome_trace(str(path))
        measured = read_profile(path)
    return replace(measured, source=f"torch.profiler, PyTorch {torch.__version__}, median of {runs} runs")


def _processor(program: Program, values: list[Any], runs: int, warm_up: int, trace: Any) -> Profile:
    torch = torch_module()
    runner, spent = _timer(program)
    if trace is not None or torch.get_num_threads() > 1:
        raise UnsupportedError(
            "processor time has no trace and needs one thread; leave out `trace` and call torch.set_num_threads(1) first"
        )
    with torch.no_grad():
        for _ in range(warm_up + runs):
            runner.run(*values)
    seconds = {name: middle(times[warm_up:]) for name, times in spent.items()}
    source = f"processor time, PyTorch {torch.__version__}, median of {runs} runs"
    return Profile(seconds, device=dict.fromkeys(seconds, "cpu"), source=source)


def _value(node: Any, program: Program, torch: Any) -> Any:
    """The value of a placeholder; ones for the gradient that the backward pass starts from."""
    value = program.values.get(node)
    if value is None and node in program.inputs:
        made = node.meta["val"]
        return torch.ones(made.shape, dtype=made.dtype, device=made.device)
    if isinstance(value, torch.Tensor) and (value.is_meta or hasattr(value, "fake_mode")):
        raise UnsupportedError(f"{node.name} is a tensor without data; measuring needs a module that can run")
    return value


def _runner(program: Program) -> Any:
    """An interpreter of the program that runs each op in a profiler range of its name."""
    torch = torch_module()
    names = names_of(program)
    from torch.fx import Interpreter

    class Runner(Interpreter):
        def run_node(self, node: Any) -> Any:
            if node.op != "call_function" or node not in names:
                return super().run_node(node)
            with torch.profiler.record_function(names[node]):
                return super().run_node(node)

    owner: Any = program.graph.owning_module
    return Runner(owner)


def _timer(program: Program) -> tuple[Any, dict[str, list[float]]]:
    """An interpreter of the program, and a dict that it fills with each op's processor times."""
    from torch.fx import Interpreter

    names = names_of(program)
    spent = dict[str, list[float]]()

    class Timer(Interpreter):
        def run_node(self, node: Any) -> Any:
            self.op = names.get(node)
            return super().run_node(node)

        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            begun = thread_time()
            result = target(*args, **kwargs)
            if self.op is not None:
                spent.setdefault(self.op, []).append(thread_time() - begun)
            return result

    owner: Any = program.graph.owning_module
    return Timer(owner), spent


def _activities(torch: Any) -> list[Any]:
    on_gpu = [torch.profiler.ProfilerActivity.CUDA] if torch.cuda.is_available() else []
    return [torch.profiler.ProfilerActivity.CPU, *on_gpu]


@contextmanager
def _path(trace: Any) -> Iterator[Path]:
    """Path to write the trace to: the one given, or a file that is removed afterwards."""
    if trace is not None:
        yield path_of(trace)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "trace.json.gz"
