"""Protobuf by tables: classes that preserve unknown fields, iteration without copies, limits on the number of fields."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placelab.base.errors import FormatError
from placelab.formats.protobuf import MAX_FIELDS, fields, messages, parse, tagged, varint

TABLES = {
    "Tree": "string name = 1; repeated Tree kids = 2; map<string, Tree> named = 3; bool yes = 4; repeated int64 many = 5; "
    "Colour colour = 6"
}
Tree = messages("trees", TABLES, {"Colour": {"GREEN": 3}})["Tree"]


def test_bytes_are_those_of_the_wire_format():
    """Encoded by hand from the published description: field 1 "ab", field 4 true, field 5 the numbers 1 and 300, packed."""
    tree = parse(Tree, bytes.fromhex("0a026162 2001 2a0301ac02".replace(" ", "")), "tree.pb")
    assert (tree.name, tree.yes, list(tree.many)) == ("ab", True, [1, 300])


def test_single_fields_know_whether_they_were_given():
    """A written False differs from an absent field: false attributes must survive."""
    assert parse(Tree, b"\x20\x00", "tree.pb").HasField("yes")
    assert not Tree().HasField("yes")
    assert Tree(yes=False).SerializeToString() == b"\x20\x00"


def test_unknown_fields_survive():
    """A field that no table names is written back unchanged."""
    data = b"\x0a\x01a\xf2\x06\x02hi\xf8\x06\x07"
    assert parse(Tree, data, "tree.pb").SerializeToString() == data


def test_unknown_numbers_of_an_enum_survive():
    """A value of a later version is kept."""
    assert parse(Tree, b"\x30\x63", "tree.pb").colour == 99


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a",
        b"\x0a\x05ab",
        b"\x0a\x01\xff",
        b"\x0b",
        b"\xff" * 11,
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x07",
    ],
    ids=["no length", "too short", "not UTF-8", "open group", "long number", "huge length", "no such wire type"],
)
def test_damaged_messages_are_refused(data):
    """The error is one sentence that names the file."""
    with pytest.raises(FormatError, match=r"^tree\.pb is not a protobuf message of the form Tree"):
        parse(Tree, data, "tree.pb")


def test_deep_messages_are_refused():
    """A hundred levels at most."""
    deep = b""
    for _ in range(200):
        deep = tagged(2, deep)
    with pytest.raises(FormatError, match="not a protobuf message"):
        parse(Tree, deep, "tree.pb")


def test_small_files_that_unpack_to_much_are_refused():
    """Two bytes of an empty message take 120 in memory: a million of them are not parsed."""
    with pytest.raises(FormatError, match="more than 1,000,000 fields"):
        parse(Tree, b"\x12\x00" * (MAX_FIELDS + 1), "tree.pb")
    assert len(parse(Tree, b"\x12\x00" * (MAX_FIELDS - 1), "tree.pb").kids) == MAX_FIELDS - 1


trees = st.recursive(
    st.builds(
        Tree, name=st.text(st.characters(exclude_categories=["Cs"])), many=st.lists(st.integers(-(2**63), 2**63 - 1))
    ),
    lambda kids: st.builds(Tree, kids=st.lists(kids, max_size=3), yes=st.booleans()),
    max_leaves=8,
)


@given(trees)
def test_fields_are_the_whole_message(tree):
    """The fields of the walk, joined, are the message, and agree with the parser's values."""
    data = tree.SerializeToString()
    found = list(fields(data, "tree.pb"))
    assert b"".join(data[start:end] for _, _, start, _, end in found) == data
    kids = [data[value:end] for number, _, _, value, end in found if number == 2]
    assert kids == [kid.SerializeToString() for kid in tree.kids]


@given(st.binary(max_size=60))
def test_the_walk_of_any_bytes_ends_well(data):
    """Random bytes give fields or a FormatError, no other exception."""
    with suppress(FormatError):
        assert all(0 <= start < value <= end <= len(data) for _, _, start, value, end in fields(data, "any"))


@given(st.integers(0, 2**63 - 1))
def test_numbers_are_read_as_google_protobuf_writes_them(number):
    """Numbers are read as google.protobuf writes them."""
    data = Tree(many=[number]).SerializeToString()
    assert varint(data, 2) == (number, len(data))


@given(st.integers(1, 2**20), st.binary(max_size=300))
def test_tagged_is_a_field(number, value):
    """`fields` reads the output of `tagged`."""
    data = tagged(number, value)
    assert [(n, data[v:e]) for n, _, _, v, e in fields(data, "x")] == [(number, value)]
