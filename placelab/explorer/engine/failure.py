"""Write an exception as one sentence for the explorer."""

from __future__ import annotations

import inspect
import traceback

from placelab import strategies
from placelab.errors import PlacelabError
from placelab.explorer.state import State


def sentence(error: BaseException) -> str:
    """The message of an error, with its class unless it is a PlacelabError."""
    return str(error) if isinstance(error, PlacelabError) else f"{type(error).__name__}: {error}"


def blame(error: Exception, state: State) -> str:
    """The sentence of a strategy's exception; for a bug in the strategy also the line where it happened."""
    if isinstance(error, PlacelabError):
        return sentence(error)
    files = {}
    for catalogue, name in ((strategies.partitioners(), state.partitioner), (strategies.schedulers(), state.scheduler)):
        if name in catalogue:
            files[inspect.unwrap(catalogue[name]).__code__.co_filename] = name
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    where = f" in line {frames[-1].lineno} of {files[frames[-1].filename]}" if frames else ""
    return f"{state.partitioner} + {state.scheduler}: {sentence(error)}{where}; explorer.schedule in a cell shows the traceback"
