"""What can go wrong, in four kinds. Each message names the file, op or device, what was found and what was expected."""

from __future__ import annotations

from typing import Any


class PlacelabError(ValueError):
    """Anything a user of placelab can do something about."""


class FormatError(PlacelabError):
    """A file, graph or array does not have the form it should have."""


class CycleError(PlacelabError):
    """A graph has a cycle, so its ops have no order."""


class InfeasibleError(PlacelabError):
    """No device (or no room on any device) is left for an op or a group."""


class UnsupportedError(PlacelabError):
    """Two things that are fine alone do not fit together."""


def expect(value: Any, kind: type, who: str) -> None:
    """FormatError unless `value`, which `who` was given, is a `kind`."""
    if not isinstance(value, kind):
        raise FormatError(f"{who} needs {_a(kind)}, found {_a(type(value))}")


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}"
