"""Which shapes do a model's tensors have? ONNX's own shape inference, in a process of its own.

A model of a kilobyte can make the inference take any memory (``Concat`` of a shape with itself, 30 times) or time, or end
the process it runs in. So it runs in another one, which may take little of both; what it does not finish stays unknown.
This file is also that other process's program, and imports nothing of placelab there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

MEMORY = 160 << 20, 16  # bytes that inference may take, and more of them per byte of the model
SECONDS = 1.0, 2e-6  # of processor time, likewise
PATIENCE = 120  # seconds by the clock, where a process's own time cannot be limited
MAX_GROWTH = 4 << 20, 16  # bytes of what comes back, likewise
LENGTH = 8  # bytes of the length before each model that comes back


def inferred(model: bytes) -> tuple[bytes, str]:
    """The model with its functions inlined and the shapes of its values, as bytes, and what went wrong ("": nothing).

    Parameters
    ----------
    model
        An onnx.ModelProto, best without weights.

    Returns
    -------
    bytes, str
        As far as it was possible: the model as it was given when even its functions could not be inlined.
    """
    command = [sys.executable, "-P", os.path.abspath(__file__)]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(command, input=model, capture_output=True, timeout=PATIENCE, env=environment, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return model, f"shape inference did not run: {type(error).__name__}"
    models = [part for part in _parts(run.stdout) if len(part) <= MAX_GROWTH[0] + MAX_GROWTH[1] * len(model)]
    problem = "" if len(models) == 2 else _reason(run.returncode, run.stderr)
    return (models or [model])[-1], problem


def _parts(data: bytes) -> list[bytes]:
    """The models a process has written before it ended, each after its length."""
    parts, at = [], 0
    while at + LENGTH <= len(data):
        start, at = at + LENGTH, at + LENGTH + int.from_bytes(data[at : at + LENGTH], "little")
        parts += [data[start:at]] if at <= len(data) else []
    return parts


def _reason(code: int, said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    what = lines[-1] if lines else f"its process ended with {code}, out of memory or time"
    return f"shape inference failed: {what:.200}"


# -------------------------------------------------------------------- the other process


def _main() -> None:
    import onnx.inliner
    import onnx.shape_inference

    data = sys.stdin.buffer.read()
    _limit(len(data))
    model = onnx.ModelProto.FromString(data)
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    _send(model)
    _send(onnx.shape_inference.infer_shapes(model, data_prop=True))


def _send(model: Any) -> None:
    data = model.SerializeToString()
    sys.stdout.buffer.write(len(data).to_bytes(LENGTH, "little") + data)
    sys.stdout.buffer.flush()


def _limit(size: int) -> None:
    """Bounds what this process may still take for a model of that many bytes, as far as the system can."""
    try:
        import resource
        import signal

        signal.setitimer(signal.ITIMER_PROF, SECONDS[0] + SECONDS[1] * size)  # whose signal ends the process
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        most = used + MEMORY[0] + MEMORY[1] * size
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    except (ImportError, OSError, ValueError):  # Windows has neither, macOS no /proc
        pass


if __name__ == "__main__":
    try:
        _main()
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}")
