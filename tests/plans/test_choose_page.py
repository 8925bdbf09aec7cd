"""The page *Choose a parallelism* says what its pieces of code give."""

import pytest
from pages import run_page

pytestmark = pytest.mark.slow  # as what the site says of other pages


@pytest.fixture(scope="module")
def names():
    """What the page's code defines, and the value of each piece by its last line."""
    return run_page("choose_parallelism")


def test_the_rule_of_thumb_is_slower_and_holds_less(names):
    """The best plan fits; a tensor group of all devices takes longer, in less memory."""
    longer, less = names["values"][
        "(rule.seconds / found.best.seconds, rule.memory['total'].max() / found.best.memory['total'].max())"
    ]
    assert names["found"].best.fits and longer > 1 > less


def test_bubbles_shrink_as_the_page_says(names):
    """More micro-batches shrink each bubble, and zb-h1 has less than 1f1b, which has gpipe's."""
    bubble = next(value for value in names["values"].values() if isinstance(value, dict))
    for schedule in ("gpipe", "1f1b", "zb-h1"):
        assert bubble[schedule, 32] < bubble[schedule, 8]
    assert bubble["zb-h1", 8] < bubble["1f1b", 8] == pytest.approx(bubble["gpipe", 8], abs=0.01)


def test_one_rank_its_streams_and_all_ranks(names):
    """They take the plan's seconds; the schedule that fills the bubble is shorter by more than a tenth."""
    took = next(value for key, value in names["values"].items() if key.startswith("(small.seconds"))
    assert took == pytest.approx([took[0]] * 4)
    saved = names["pipeline"].schedule().makespan - names["delayed"].schedule().makespan
    assert saved > 0.1 * names["pipeline"].schedule().makespan


def test_simulated_memory_is_as_the_page_says(names):
    """Within a few percent of the formula for 1f1b; far above it for a schedule that holds what was computed again."""
    close = next(value for key, value in names["values"].items() if "simulated.memory" in key)
    assert close == pytest.approx([1.0] * 4, abs=0.06)
    how = next(value for value in names["values"].values() if isinstance(value, dict) and "formula" in value)
    assert all(seen > 1.1 * rule for seen, rule in zip(how["simulated"], how["formula"], strict=True))


def test_what_does_not_fit_has_a_sentence(names):
    """It names the plan that lacks least, its stage and what fills it."""
    assert names["message"].startswith("llama-3.1-70b does not fit; the plan that lacks least is dp 1, tp 8, pp 1")
    assert "lacks 80.2 GB, most of it has optimizer" in names["message"]


def test_gathering_ahead_helps(names):
    """Two units at a time take less than one, and a tensor group's step is legal."""
    step = next(value for value in names["values"].values() if isinstance(value, dict) and 1 in value)
    assert step[1] > step[2] >= step[3]
