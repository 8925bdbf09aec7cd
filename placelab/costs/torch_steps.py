"""Measure the ops of a PyTorch module: run its traced program op by op, each in a profiler range named after it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median as middle
from time import thread_time
from typing import Any

from placelab.base.errors import FormatError, UnsupportedError
from placelab.base.files import path_of
from placelab.formats.profiles import Profile
from placelab.formats.torch.exported_program import Program, names_of, torch_module
from placelab.formats.torch.module import exported, program_of, training_program
from placelab.formats.torch.profiler_trace import read_profile


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
