"""Names from right to left turn nothing around them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from placelab.base.directions import all_isolated, all_joined, isolated, joined

NAMES = st.text(st.sampled_from("ab\u05d0\u05d1\u0628 /.-_:(3\u202e\u2067\u05b0é"), max_size=12)


@given(NAMES)
def test_each_letter_from_right_to_left_is_inside_a_pair_of_marks(text):
    """Nothing else opens or closes, what turns a text is an escape, and a second time changes nothing."""
    found = isolated(text)
    depth = 0
    for letter in found:
        depth += (letter == "\u2068") - (letter == "\u2069")
        assert depth in (0, 1)
        assert depth == 1 or letter not in "\u05d0\u05d1\u0628"
        assert letter not in "\u202e\u2067"
    assert depth == 0 and isolated(found) == found
    assert joined(found) == text.replace("\u202e", "\\u202e").replace("\u2067", "\\u2067")


def test_parts_of_a_path_are_isolated_one_by_one():
    """So that an isolated scope is the beginning of the isolated names in it."""
    scope, name = isolated("\u05d0\u05d1"), isolated("\u05d0\u05d1/relu \u05d0")
    assert name.startswith(f"{scope}/") and name == "\u2068\u05d0\u05d1\u2069/relu \u2068\u05d0\u2069"
    assert isolated("\u05d0 \u05d1 c") == "\u2068\u05d0 \u05d1\u2069 c"


def test_values_keep_their_form():
    """Texts in lists and dictionaries are isolated, keys included; numbers and bytes stay."""
    value = {"\u05d0": [1, 2.5, None, b"\xd7", ("\u05d0", True)]}
    found = all_isolated(value)
    assert found == {"\u2068\u05d0\u2069": [1, 2.5, None, b"\xd7", ["\u2068\u05d0\u2069", True]]}
    assert all_joined(found) == {"\u05d0": [1, 2.5, None, b"\xd7", ["\u05d0", True]]}
