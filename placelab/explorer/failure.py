"""What went wrong, in words, for the place where it did."""

from __future__ import annotations

import inspect
import traceback

from placelab import strategies
from placelab.errors import PlacelabError
from placelab.explorer.state import State


def sentence(error: BaseException) -> str:
    """What an error says; with its kind, when it is not one of the library's own."""
    return str(error) if isinstance(error, PlacelabError) else f"{type(error).__name__}: {error}"


def blame(error: Exception, state: State) -> str:
    """What a strategy's exception says; for one that is its own bug, the line of the strategy that it came through."""
    if isinstance(error, PlacelabError):
        return sentence(error)
    files = {}
    for catalogue, name in ((strategies.partitioners(), state.partitioner), (strategies.schedulers(), state.scheduler)):
        if name in catalogue:
            files[inspect.unwrap(catalogue[name]).__code__.co_filename] = name
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    where = f" in line {frames[-1].lineno} of {files[frames[-1].filename]}" if frames else ""
    return f"{state.partitioner} + {state.scheduler}: {sentence(error)}{where}; explorer.schedule in a cell shows the traceback"
