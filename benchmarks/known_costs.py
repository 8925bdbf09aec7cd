"""Count how much readers know of the models that frameworks bring along or make: ops, tensors with sizes, kinds without a rule.

    python benchmarks/known_costs.py [--only onnx onnxruntime tensorflow torch jax]

Sources are those that are installed: onnx's own test models, the same as ONNX Runtime optimises and quantises them, small
programs of TensorFlow and PyTorch as the tests make them, and the functions of JAX in tests/support as StableHLO. Shares are of
all ops and all tensors of a source together.
"""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import placelab as pl

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
Load = Callable[[], pl.OpGraph]


def onnx_files() -> list[Path]:
    """The models of ``onnx.backend.test`` that are in the installed package."""
    import onnx.backend.test

    return sorted((Path(onnx.backend.test.__file__).parent / "data").rglob("*.onnx"))


def onnx_models() -> Iterator[Load]:
    """These models as they are."""
    for path in onnx_files():
        yield lambda path=path: pl.load(path)


def runtime_models() -> Iterator[Load]:
    """These models as ONNX Runtime writes them for the processor: optimised at two levels, and with weights of 8 bits."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    logging.disable(logging.WARNING)  # the quantiser advises on each model
    levels = onnxruntime.GraphOptimizationLevel
    with TemporaryDirectory() as folder:
        for i, source in enumerate(onnx_files()):
            for level in (levels.ORT_ENABLE_EXTENDED, levels.ORT_ENABLE_ALL, None):
                made = Path(folder) / f"{i}.onnx"
                with suppress(Exception):  # test models with ops, types or sizes that it does not run
                    write_by_runtime(source, made, level)
                if made.exists():
                    yield lambda made=made: pl.load(made)
                    made.unlink()


def write_by_runtime(source: Path, made: Path, level: Any) -> None:
    """Write a model as ONNX Runtime optimises it at a level; None: as it quantises it."""
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic

    if level is None:
        return quantize_dynamic(source, made)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(made)
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def tensorflow_programs() -> Iterator[Load]:
    """A training graph, a SavedModel, loops and branches; in processes of their own, as OR-tools crashes beside TensorFlow."""
    for task in ("build", "loops"):
        with TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, str(SUPPORT / "tensorflow_child.py"), task, folder], check=True, capture_output=True
            )
            for path in sorted(Path(folder).rglob("*.pb")):
                if path.name != "fingerprint.pb":  # of a SavedModel, which has no graph
                    yield lambda path=path: pl.load(path)


def torch_programs() -> Iterator[Load]:
    """Exported programs of the modules in tests/support."""
    import torch
    from torch_models import Convolutions, Model, called, images

    with TemporaryDirectory() as folder:
        for name, module, arguments in (("model", Model(), called()), ("convolutions", Convolutions(), images())):
            path = Path(folder) / f"{name}.pt2"
            torch.export.save(torch.export.export(module, arguments), path)
            yield lambda path=path: pl.load(path)


def jax_programs() -> Iterator[Load]:
    """StableHLO of the functions in tests/support, with and without loops."""
    import jax
    import jax_functions

    from placelab.formats.xla import stablehlo_text

    functions = list(jax_functions.STRAIGHT.values())
    functions += [(function, *arguments) for function, arguments, _ in jax_functions.LOOPS.values()]
    for function, *arguments in functions:
        text = jax.jit(function).lower(*arguments).as_text().encode()
        yield lambda text=text: stablehlo_text.loads(text)


SOURCES = {
    "onnx": onnx_models,
    "onnxruntime": runtime_models,
    "tensorflow": tensorflow_programs,
    "torch": torch_programs,
    "jax": jax_programs,
}


def measure(loads: Iterator[Load]) -> dict:
    """Files, ops and tensors of a source, how many of them are known, and the kinds that are not."""
    total: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for load in loads:
        total["files"] += 1
        try:
            graph = load()
        except pl.PlacelabError as error:
            print(f"refused: {error}", file=sys.stderr)
            total["refused"] += 1
            continue
        shares = graph.metadata["coverage"]
        tensors = int((~graph.tensor_control).sum())
        unknown = shares["flop_unknown"] * graph.n_ops
        total.update(ops=graph.n_ops, unknown=round(unknown), tensors=tensors, sized=round(shares["bytes"] * tensors))
        kinds.update(graph.metadata["costs"].get("unknown") or {})
    return {**{key: total[key] for key in ("files", "refused", "ops", "unknown", "tensors", "sized")}, "kinds": kinds}


def line(name: str) -> str:
    """A source's line of the table."""
    row = measure(SOURCES[name]())
    lacking = row["unknown"] / max(row["ops"], 1)
    shares = (1 - lacking, row["sized"] / max(row["tensors"], 1), lacking)
    often = ", ".join(f"{kind} ({count})" for kind, count in row["kinds"].most_common(4))
    known = " | ".join(f"{100 * share:.1f} %" for share in shares)
    return f"| {name} | {row['files']} | {row['refused']} | {row['ops']:,} | {known} | {often} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES))
    asked = parser.parse_args()
    sys.path.insert(0, str(SUPPORT))
    print("| source | files | refused | ops | ops known | bytes known | FLOP unknown | most frequent unknown kinds |")
    print("| --- |" + " ---: |" * 6 + " --- |")
    for name in filter(find_spec, asked.only):
        print(line(name), flush=True)


if __name__ == "__main__":
    main()
