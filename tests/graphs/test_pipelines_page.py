"""The page *Pipelines of today* says what its pieces of code give."""

import pytest
from pages import run_page


@pytest.fixture(scope="module")
def names():
    """What the page's code defines, and the value of each piece by its last line."""
    return run_page("pipelines")


def test_each_order_is_for_what_the_page_says(names):
    """Bubbles and activations rank as in the table of orders."""
    bubble = names["orders"]["bubble"]
    held = names["orders"]["held"]
    assert bubble["gpipe"] == bubble["1f1b"] > bubble["interleaved"] == bubble["looped-bfs"]
    assert bubble["1f1b"] > bubble["zb-h1"] > 0 and bubble["zb-v"] < bubble["zb-h1"]
    assert held["gpipe"] == held["looped-bfs"] == 16 and held["1f1b"] == held["zb-v"] == 4 < held["interleaved"]


def test_passes_together_are_shorter(names):
    """Both merged orders take less; the table is PyTorch's."""
    shorter, (pairs, apart), _ = (value for text, value in names["values"].items() if "makespan" in text)
    assert shorter < 1 and pairs < apart
    assert names["table"].split()[-1].startswith("3F0,4F0,3F1,4F1,3F2,4F2,3F3,4F3,3F4,4B0,(4F4;3B0)OVERLAP_F_B")


def test_sending_in_order_takes_longer(names):
    """Streams by direction and by peer take less than one, none as little as free transfers; receiving late deadlocks."""
    free, streams = next(value for text, value in names["values"].items() if "lowered" in text)
    assert streams["one"] > streams["direction"] > streams["peer"] > free
    assert "'0SEND_F3', '1F3', '1SEND_F2' wait" in names["message"]
