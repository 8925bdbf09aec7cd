"""Infer the shapes of a model's tensors by ONNX's own shape inference, in a separate process.

A model of a kilobyte can make the inference take any memory (``Concat`` of a shape with itself, 30 times) or time, or crash
its process. So it runs in a child process with limits on both; shapes that it does not reach stay unknown. This file is also
the program of the child process, where it imports nothing of placelab.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

MEMORY = 160 << 20, 16  # limit on the memory of inference: bytes, and bytes per byte of the model
SECONDS = 1.0, 2e-6  # limit on its processor time: seconds, and seconds per byte
TIMEOUT = 120  # seconds by the clock, for systems that cannot limit processor time
MAX_RESULT = 4 << 20, 16  # limit on a returned model: bytes, and bytes per byte
LENGTH = 8  # bytes of the length before each returned model


def inferred(model: bytes, functions: bool = False) -> tuple[bytes, str]:
    """Inline a model's functions and infer the shapes of its values.

    Parameters
    ----------
    model
        A serialized onnx.ModelProto, best without weights.
    functions
        Whether the model has functions.

    Returns
    -------
    bytes, str
        The model with shapes, and "". If inference fails, the model with functions inlined, or `model` itself, and the reason.
    """
    models, problem = _run("functions" if functions else "plain", model)
    return (models or [model])[-1], "" if len(models) == 2 else f"shape inference {problem}"


def completed(model: bytes, dimensions: Mapping[str, int], close: bool) -> tuple[bytes, dict[str, dict[str, int]], str]:
    """Add the shapes that ONNX's inference does not find; see :mod:`placelab.formats.onnx.shape_completion`.

    With `close`, dimensions that are still open get a size.

    Returns
    -------
    bytes, dict, str
        The model with shapes, what was ``assumed`` (dimension → size) and ``kept`` (kind → ops whose output counts as their
        first input), and "". If that fails, `model` itself, nothing, and the reason.
    """
    parts, problem = _run("complete", model, json.dumps(dict(dimensions)), "close" * close)
    if len(parts) != 2:
        return model, {"assumed": {}, "kept": {}}, f"completion of shapes {problem}"
    return parts[0], json.loads(parts[1]), ""


def _run(task: str, model: bytes, *arguments: str) -> tuple[list[bytes], str]:
    """Run a task in a child process: the models it returns, and why it ended."""
    command = [sys.executable, "-P", os.path.abspath(__file__), task, *arguments]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(command, input=model, capture_output=True, timeout=TIMEOUT, env=environment, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return [], f"did not run: {type(error).__name__}"
    models = [part for part in _parts(run.stdout) if len(part) <= MAX_RESULT[0] + MAX_RESULT[1] * len(model)]
    return models, _reason(run.returncode, run.stderr)


def _parts(data: bytes) -> list[bytes]:
    """The models that a process has written before it ended, each preceded by its length."""
    parts = []
    at = 0
    while at + LENGTH <= len(data):
        start = at + LENGTH
        at = at + LENGTH + int.from_bytes(data[at : at + LENGTH], "little")
        parts += [data[start:at]] if at <= len(data) else []
    return parts


def _reason(code: int, stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").strip().splitlines()
    what = lines[-1] if lines else f"its process ended with {code}, out of memory or time"
    return f"failed: {what:.200}"


# -------------------------------------------------------------------- the child process


def _main(task: str, *arguments: str) -> None:
    if task == "complete":
        return _complete(json.loads(arguments[0]), bool(arguments[1]))
    inline, infer = _quick() or _slow()
    data = sys.stdin.buffer.read()
    _limit(len(data))
    if task == "functions":
        data = inline(data)
    _send(data)
    _send(infer(data))


def _complete(dimensions: dict[str, int], close: bool) -> None:
    package = ModuleType("placelab")  # without what the package imports
    package.__path__ = [str(Path(__file__).parents[2])]
    sys.modules["placelab"] = package
    from placelab.formats.onnx import shape_completion

    data = sys.stdin.buffer.read()
    _limit(len(data))
    for part in shape_completion.main(data, dimensions, close):
        _send(part)


Step = Callable[[bytes], bytes]


def _quick() -> tuple[Step, Step] | None:
    """Inlining and inference by onnx's compiled module alone, which imports in a fifth of the time of onnx; None if not found."""
    spec = find_spec("onnx")
    package = ModuleType("onnx")
    package.__path__ = list(spec.submodule_search_locations or []) if spec else []
    sys.modules["onnx"] = package
    try:
        from onnx.onnx_cpp2py_export import inliner, shape_inference

        empty = b"\x08\x08\x3a\x00B\x02\x10\x11"  # a model of IR version 8, opset 17
        shape_inference.infer_shapes(inliner.inline_local_functions(empty, False), False, False, True)
    except Exception:  # another version of onnx, with other internals
        del sys.modules["onnx"]
        return None
    return (
        lambda data: inliner.inline_local_functions(data, False),
        lambda data: shape_inference.infer_shapes(data, False, False, True),
    )


def _slow() -> tuple[Step, Step]:
    """Inlining and inference by onnx's public functions."""
    import onnx.inliner
    import onnx.shape_inference

    def inline(data: bytes) -> bytes:
        return onnx.inliner.inline_local_functions(onnx.ModelProto.FromString(data)).SerializeToString()

    return inline, lambda data: onnx.shape_inference.infer_shapes(data, data_prop=True).SerializeToString()


def _send(data: bytes) -> None:
    sys.stdout.buffer.write(len(data).to_bytes(LENGTH, "little") + data)
    sys.stdout.buffer.flush()


def _limit(size: int) -> None:
    """Limit the time and memory of this process for a model of `size` bytes, as far as the system can."""
    try:
        import resource
        import signal

        signal.setitimer(signal.ITIMER_PROF, SECONDS[0] + SECONDS[1] * size)  # its signal ends the process
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        most = used + MEMORY[0] + MEMORY[1] * size
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):  # Windows has neither, macOS no /proc
        pass


if __name__ == "__main__":
    try:
        _main(*sys.argv[1:])
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")
