"""Python and TypeScript have the same table of commands, and whatever else a page sends does nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from itertools import product
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

import pytest
from examples import examples
from explorer_hands import look
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.app.explorer import Explorer
from placelab.app.widgets import commands
from placelab.app.widgets.cluster_edit import KINDS

SOURCE = Path(__file__).parents[2] / "widgets" / "shared" / "commands.ts"
LARGE = 1 << 60
WRITTEN = {int: "number", float: "number", str: "string", bool: "boolean", bytes: "ArrayBuffer", commands.Pair: "Pair"}
WRITTEN |= {NoneType: "null"}
WRONG: dict[str, list[Any]] = {  # values that are not of a type, by its name in TypeScript
    "number": [None, "1", True, [], {}, float("nan"), float("inf"), -(10**400)],
    "number | null": ["1", False, [1], float("-inf")],
    "string": [None, 3, ["a"], {}, "x" * 10],
    "string | null": [3, ["a"], True],
    "boolean": [None, 0, 1, "true"],
    "number[]": [None, 3, "12", [1.5], [True], [[1]], ["1"], [LARGE], [0] * 4],
    "Pair[]": [None, [1, 2], [[1]], [[0, 1, 2]], ["01"], [[0, "1"]], [[0, True]], [[0, 1], [-LARGE, 1]], {"0": [0, 1]}],
    '"up" | "down" | "left" | "right"': [None, "sideways", 3, ["up"]],
    '"auto" | "graph" | "grid"': [None, "3d", ["grid"]],
    "ArrayBuffer": [],  # comes beside the message
}
RIGHT: dict[str, Any] = {  # and some that are
    "number": 1,
    "number | null": None,
    "string": "x",
    "string | null": None,
    "boolean": True,
    "number[]": [0, 1],
    "Pair[]": [[0, 1]],
    '"up" | "down" | "left" | "right"': "up",
    '"auto" | "graph" | "grid"': "auto",
}
OUTSIDE = {  # of the range of all that is numbered or named
    "number": [-LARGE // 256, -1, 10**6, LARGE // 256],
    "string": ["", "x", "\x00", "../x"],
    "number[]": [[], [-1], [10**9, 0]],
    "Pair[]": [[], [[0, 0]], [[-1, 10**9]]],
}

# ---------------------------------------------------------------- the two tables


def typescript() -> dict[str, dict[str, str]]:
    """Types of the fields of each command by kind; a name ends in "?" where not all messages of the kind have it."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", SOURCE.read_text(), flags=re.DOTALL)
    declared = dict(re.findall(r"export type (\w+) =(.*?);\n(?=\n|export|$)", text, re.DOTALL))
    declared |= {
        name: f"{{{body}}}" for name, body in re.findall(r"export interface (\w+) \{(.*?)\n\}", text, re.DOTALL)
    }
    found: dict[str, list[dict[str, str]]] = {}
    for fields in alternatives("Command", declared):
        found.setdefault(fields.pop("kind").strip('"'), []).append(fields)
    return {kind: joined(each) for kind, each in found.items()}


def alternatives(written: str, declared: dict[str, str]) -> list[dict[str, str]]:
    """The objects that a type allows: a literal, a name, an intersection or a union of types."""
    written = written.strip().removeprefix("|").strip()
    if len(parts := apart(written, "|")) > 1:
        return [fields for part in parts for fields in alternatives(part, declared)]
    if len(parts := apart(written, "&")) > 1:
        return [reduce(dict.__or__, each) for each in product(*(alternatives(part, declared) for part in parts))]
    if written.startswith("("):
        return alternatives(written[1:-1], declared)
    if not written.startswith("{"):
        return alternatives(declared[written], declared)
    fields = re.findall(r"(\w+\??):\s*(?:readonly )?([^;}]+)", written)
    simple = {name: of.strip() for name, of in declared.items() if of.strip().startswith('"')}
    return [{name: simple.get(of.strip(), of.strip()) for name, of in fields}]


def apart(written: str, sign: str) -> list[str]:
    """A type at the signs that are in no brackets."""
    found = [""]
    depth = 0
    for letter in written:
        depth += (letter in "({") - (letter in ")}")
        if letter == sign and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


def joined(each: list[dict[str, str]]) -> dict[str, str]:
    """The fields of several objects; one that some have not may be absent."""
    names = {name: of for fields in each for name, of in fields.items()}
    return {
        name if all(name in fields for fields in each) else f"{name.rstrip('?')}?": of for name, of in names.items()
    }


def python() -> dict[str, dict[str, str]]:
    return {kind: {name: words(of) for name, of in fields.items()} for kind, fields in commands.COMMANDS.items()}


def words(of: Any) -> str:
    """A type as TypeScript writes it."""
    if names := get_args(of):
        return f"{words(names[0])}[]" if get_origin(of) is list else WRITTEN.get(of) or " | ".join(map(words, names))
    return f'"{of}"' if isinstance(of, str) else WRITTEN[of]


def test_both_sides_have_the_same_table():
    """Same kinds, same fields, same types, of which the same may be absent."""
    assert python() == typescript()


def test_what_the_canvas_edits_is_in_the_table():
    """Each edit has a function, but for those that the history answers."""
    assert set(commands.EDITS) == {*KINDS, "undo", "redo", "release"}


# ---------------------------------------------------------------- what parts do with them


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    """The ten tasks, at rest, with bars that a hand may move."""
    explorer = pl.explore("topcuoglu")
    look(explorer)
    explorer.best_known.switch.value = False  # a shorter schedule would be looked for once nothing is done for a while
    assert explorer.settled(60)
    explorer.gantt.by_hand = True
    assert explorer.settled(60) and explorer.comparison.settled(60) and explorer.best_known.settled(60)
    yield explorer
    explorer.close()


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """What is too long is so soon."""
    monkeypatch.setattr(commands, "LONGEST", 9)
    monkeypatch.setattr(commands, "MOST", 3)


def deliver(explorer: Explorer, message: Any, buffers: tuple = ()) -> None:
    """Send a message to the parts that hear its kind, to all where it has none; where the newest counts, as a trait."""
    kind = message.get("kind") if isinstance(message, dict) else None
    known = isinstance(kind, str) and kind in commands.COMMANDS
    for name, part in [*explorer._parts.items()]:
        if not known or kind in getattr(part, "handles", {}):
            content = {"method": "custom", "content": {"to": name, "content": message}}
            explorer._handle_msg({"content": {"data": content}, "buffers": [*buffers]})
    if isinstance(message, dict):
        for part, trait in ((explorer.canvas, "edit"), (explorer.gantt, "hold")):
            part.set_state({trait: {}})
            part.set_state({trait: message})


def shown(explorer: Explorer) -> dict[str, Any]:
    """The state and all that the page shows of it, but the sentence on what was refused."""
    said = {f"{explorer.canvas.model_id}.{name}" for name in ("edit", "error", "ack")} | {
        f"{explorer.gantt.model_id}.hold"
    }
    traits = {name: value for name, value in explorer.get_state().items() if name not in said}
    return traits | {"state": explorer.state, "steps": len(explorer.steps.past)}


def changed(explorer: Explorer, before: dict[str, Any]) -> dict[str, Any]:
    """What is shown that was not."""
    return {name: value for name, value in shown(explorer).items() if value != before.get(name)}


def wrong_fields() -> Iterator[dict[str, Any]]:
    """Each command without each field that it must have, and with each value that a field cannot have."""
    for kind, fields in typescript().items():
        right = {"kind": kind} | {name: RIGHT[of] for name, of in fields.items() if not name.endswith("?")}
        for name, of in fields.items():
            if name in right:
                yield {key: value for key, value in right.items() if key != name}
            for value in WRONG[of]:
                yield right | {name.rstrip("?"): value}


def test_a_wrong_field_is_refused_in_a_sentence():
    """Whatever else the command has; numbers that are whole must be."""
    for message in [*wrong_fields(), {"kind": "pin", "node": 0.5, "device": 1}, {"kind": "plan", "row": LARGE}]:
        with pytest.raises(pl.PlacelabError, match=r" of .* is .*; expected "):
            commands.read(message)


def test_no_part_does_anything_for_a_wrong_field(explorer):
    """No exception, and nothing that is shown is another."""
    before = shown(explorer)
    for message in wrong_fields():
        deliver(explorer, message)
    assert not changed(explorer, before)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from([*commands.COMMANDS]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9) | st.just("kind"), inner, max_size=3)
    ),
    max_leaves=9,
)


@examples(400)
@given(message=ANYTHING)
def test_no_part_does_anything_for_what_is_no_command(explorer, message):
    """Any JSON, beside what happens to be a command."""
    try:
        commands.read(message)
    except pl.PlacelabError:
        before = shown(explorer)
        deliver(explorer, message)
        assert not changed(explorer, before)


@examples(400)
@given(data=st.data())
def test_no_part_fails_where_there_is_nothing_of_a_number(explorer, data):
    """No such op, device, row or name: commands of the right types raise nothing, with buffers or without."""
    kind, fields = data.draw(st.sampled_from(sorted(python().items())))
    message = {"kind": kind}
    for name, of in fields.items():
        if of != "ArrayBuffer" and (not name.endswith("?") or data.draw(st.booleans())):
            message[name.rstrip("?")] = data.draw(st.sampled_from(OUTSIDE.get(of, [RIGHT.get(of)])))
    deliver(explorer, message, data.draw(st.sampled_from([(), (b"x",)])))


def test_every_command_has_a_part_that_hears_it(explorer):
    """And no part hears of another."""
    heard = {kind for part in explorer._parts.values() for kind in getattr(part, "handles", {})}
    assert heard | set(commands.EDITS) == set(commands.COMMANDS)
