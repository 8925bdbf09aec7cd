"""The four kinds of errors. Each message names the file, op or device, what was found and what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST = 1000  # characters of a message: a stranger's file may call an op by a megabyte
LONGEST_LIST = 4000  # of one that says what is wrong device by device


class PlacelabError(ValueError):
    """Anything a user of placelab can do something about, said on one line of bounded length, whatever a file holds.

    >>> len(str(PlacelabError("an op called " + "a" * 10**6)))
    1000
    >>> str(PlacelabError("job 'a\\nb' is there twice"))
    "job 'a b' is there twice"
    """

    longest = LONGEST

    def __init__(self, *message: Any) -> None:
        super().__init__(*(_one_line(part, self.longest) if isinstance(part, str) else part for part in message))


class FormatError(PlacelabError):
    """A file, graph or array does not have the form it should have."""


class CycleError(PlacelabError):
    """A graph has a cycle, so its ops have no order."""


class InfeasibleError(PlacelabError):
    """No device, or no device with enough memory, is left for an op or a group.

    Attributes
    ----------
    op, group : str
        The op that was to be placed, and its colocation group; "" where no single one is the cause.
    devices : dict of str
        Why each device rejected it, the one that came closest first; empty where that is not known by device.
    short : dict of float
        Missing bytes of the devices that lack memory.
    """

    longest = LONGEST_LIST

    def __init__(
        self,
        *message: Any,
        op: str = "",
        group: str = "",
        devices: Mapping[str, str] | None = None,
        short: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(*message)
        self.op, self.group = op, group
        self.devices, self.short = dict(devices or {}), dict(short or {})


class UnsupportedError(PlacelabError):
    """Two things that are fine alone do not fit together."""


def expect(value: Any, kind: type, who: str) -> None:
    """Raise FormatError unless `value`, an argument of `who`, is a `kind`."""
    if not isinstance(value, kind):
        raise FormatError(f"{who} needs {_a(kind)}, found {_a(type(value))}")


def _one_line(text: str, longest: int) -> str:
    """Its beginning and its end, which says what to do, with a space for each line break."""
    end = longest // 3
    short = text if len(text) <= longest else f"{text[: longest - end - 3]} … {text[-end:]}"
    return " ".join(short.splitlines())


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}"
