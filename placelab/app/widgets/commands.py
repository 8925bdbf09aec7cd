"""The commands: all that the page asks of a part, beside the traits that it sets.

``widgets/shared/commands.ts`` has the same table and says what each is for; ``tests/app/test_command_table.py`` compares the two.
What comes may be anything, as notebooks come from strangers: a part hears only of commands that are in the table, with fields of
these types. Whether there is an op, a device or a row of that number, the part says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from reprlib import repr as short
from types import NoneType
from typing import Any, Literal, get_args

from placelab.base.errors import PlacelabError

LONGEST = 1 << 14  # characters of a text
MOST = 1 << 20  # entries of a list
WHOLE = 1 << 53  # the numbers below it are exact in a page

Fields = dict[str, Any]  # types by name; a name that ends in "?" may be absent
Pair = tuple[int, int]

_BLOCK: Fields = {"grip": int, "op": int, "ops?": list[int]}
_HOLD: Fields = {**_BLOCK, "device?": int, "time?": float, "swap?": bool}
_CHANGE: Fields = {"value?": float | None, "factor?": float}
_FILE: Fields = {"id": str, "name": str, "size": int}
_PAIR: Fields = {"partitioner": str, "scheduler": str}
DRAG: Fields = {"seq?": int, "gesture?": int, "final?": bool}

EDITS: dict[str, Fields] = {
    "speed": {"device": int, "value": float},
    "memory": {"device": int, "value": float | None},
    "bandwidth": {"pairs": list[Pair], **_CHANGE},
    "latency": {"pairs": list[Pair], **_CHANGE},
    "shared": {"link": str, **_CHANGE},
    "move": {"device": int, "slot": int},
    "host": {"device": int, "host": str | None, "slot?": int},
    "add": {"host": str | None},
    "copy": {"device": int},
    "remove": {"device": int},
    "rename": {"device": int, "name": str},
    "rename_host": {"host": str, "name": str},
    "view": {"view": Literal["auto", "graph", "grid"]},
    **{kind: {} for kind in ("release", "undo", "redo")},
}

COMMANDS: dict[str, Fields] = {
    **{kind: {} for kind in ("click", "submit", "stop", "stale", "beside", "compare")},
    "choose": {"offer": int, "typed": str},
    "piece": {**_FILE, "at": int, "data?": bytes},
    "refuse": {**_FILE, "why": str},
    "pin": {"node": int, "device": int},
    **{kind: {"node": int} for kind in ("unpin", "reveal")},
    **dict.fromkeys(("show", "against"), _PAIR),
    **{kind: {"partitioner?": str} for kind in ("search", "halt")},
    **{kind: {"row": int} for kind in ("plan", "keep")},
    "remedy": {"remedy": int},
    "border": {"border": int, "to": int, "drag": int},
    "split": {"objective": str, "drag": int},
    **dict.fromkeys(("hold", "set"), _HOLD),
    "step": {**_BLOCK, "way": Literal["up", "down", "left", "right"], "swap?": bool},
    "return": _BLOCK,
    **{kind: {"grip": int} for kind in ("best", "finish", "empty")},
    **{kind: {**fields, **DRAG} for kind, fields in EDITS.items()},
}


def read(message: Any, buffers: Sequence[Any] = ()) -> tuple[str, Fields]:
    """The kind and the fields of a command; raise PlacelabError, in a sentence, for what is none."""
    kind = message.get("kind") if isinstance(message, dict) else None
    if not isinstance(kind, str) or kind not in COMMANDS:
        raise PlacelabError(f"there is no command {short(kind)}")
    given = {**message, "data": buffers[0]} if buffers else message
    fields = {}
    for name, wanted in COMMANDS[kind].items():
        key = name.rstrip("?")
        if key in given or key == name:
            value = given.get(key, ...)
            if not _fits(value, wanted):
                raise PlacelabError(
                    f"{key} of {kind!r} is {short(value)}; expected {getattr(wanted, '__name__', wanted)}"
                )
            fields[key] = float(value) if type(value) is int and wanted is not int else value
    return kind, fields


def _fits(value: Any, wanted: Any) -> bool:
    if wanted in _CHECKS:
        return _CHECKS[wanted](value)
    return value == wanted if isinstance(wanted, str) else any(_fits(value, one) for one in get_args(wanted))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _are_whole(values: Any) -> bool:
    """Whether it is a list of integers; links are thousands, many times a second."""
    if not isinstance(values, (list, tuple)) or len(values) > MOST:
        return False
    return not values or (set(map(type, values)) == {int} and -WHOLE < min(values) and max(values) < WHOLE)


def _are_pairs(values: Any) -> bool:
    lists = (
        isinstance(values, (list, tuple)) and set(map(type, values)) <= {list, tuple} and set(map(len, values)) <= {2}
    )
    return lists and _are_whole([end for pair in values for end in pair])


_CHECKS: dict[Any, Callable[[Any], bool]] = {
    int: lambda value: _are_whole([value]),
    float: _is_number,
    str: lambda value: isinstance(value, str) and len(value) <= LONGEST,
    bool: lambda value: isinstance(value, bool),
    bytes: lambda value: isinstance(value, (bytes, memoryview)),
    NoneType: lambda value: value is None,
    list[int]: _are_whole,
    list[Pair]: _are_pairs,
}
