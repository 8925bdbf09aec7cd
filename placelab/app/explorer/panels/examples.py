"""Three examples to begin with, smallest first, each in a picture, a sentence and a change of the state."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from placelab.app.explorer.offered import CLUSTER, model_of, preset
from placelab.app.explorer.planned import pipelined
from placelab.app.explorer.state import Change, State

DECODER = "llama-3.2-1b"  # the smallest Llama: each of four cards of 11 GB holds a stage


class Example(NamedTuple):
    """What stands on its button, what it is, its source in two words, and what reads it."""

    name: str
    title: str
    says: str
    tag: str
    read: Callable[[], Change]


def dataset(name: str) -> Change:
    """Read a dataset and return the change that shows it."""
    model = model_of(name)
    return lambda state: state.with_model(model)


def pipeline() -> Change:
    """A training step of a Llama as a pipeline, a stage on each of four devices."""
    model = model_of(DECODER)
    assert model.layers is not None
    transformer = model.layers.model
    source = model.layers.source

    def change(state: State) -> State:
        changed = state.with_model(model).with_preset(preset(CLUSTER))
        return changed.with_spread(pipelined(transformer, source, changed.cluster))

    return change


EXAMPLES = (
    Example(
        "topcuoglu",
        "Ten tasks, HEFT",
        "10 ops on 3 processors; check every number",
        "textbook",
        partial(dataset, "topcuoglu"),
    ),
    Example("pipeline", "Llama pipeline", "4 stages × 8 micro-batches; where is the bubble?", "1F1B", pipeline),
    Example(
        "inception_v3",
        "Inception v3",
        "5,230 ops on 4 GPUs; a training step",
        "real graph",
        partial(dataset, "inception_v3"),
    ),
)
