"""Fixtures of the tests of formats."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from prepared import Prepared

from placelab.formats.onnx import shape_inference

INFERENCE = "import onnx\nfrom placelab.formats.onnx import shape_completion"


@pytest.fixture(scope="session")
def onnx_process() -> Iterator[Prepared]:
    """A process that has imported onnx."""
    prepared = Prepared(INFERENCE)
    yield prepared
    prepared.close()


@pytest.fixture
def forked_inference(onnx_process: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program that infers shapes, in a fork of a process that has imported onnx: that takes nine tenths of its time."""
    processes = SimpleNamespace(**vars(shape_inference.subprocess) | {"run": onnx_process.run})
    monkeypatch.setattr(shape_inference, "subprocess", processes)
