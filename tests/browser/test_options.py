"""Options of strategies, in a real browser: sliders and the fields beside them."""

from playwright.sync_api import Page, expect
from support import bare_page

import placelab as pl


def test_an_option_with_two_bounds_is_slid_or_typed(page: Page):
    """The end of the threshold that m-SCT does not take is none of the slider's; what is typed may lie between its steps."""
    explorer = pl.explore("topcuoglu", partitioner="m-sct")
    assert explorer.settled(60)
    bare_page.show(page, explorer)
    page.get_by_title("What this partitioner does").click()
    slider = page.get_by_role("slider", name="threshold")
    field = page.get_by_role("spinbutton", name="threshold")
    expect(field).to_have_value("0.5")
    for key, there in ((None, "0.51"), ("Home", "0.01"), ("End", "1")):
        slider.press(key or "ArrowRight")
        expect(field).to_have_value(there)
    for typed, there in (("0.004", "0.004"), ("0", "0.01"), ("7", "1"), ("0.25", "0.25")):
        field.fill(typed)
        field.press("Enter")
        expect(field).to_have_value(there)
        bare_page.heard(page)
        assert explorer.state.options_of("partitioner") == {"threshold": float(there)}
    explorer.close()


def test_an_option_over_powers_of_ten_has_a_slider_of_them(page: Page):
    """Min-cut's imbalance goes from a thousandth to a thousand, three digits of each."""
    explorer = pl.explore("topcuoglu", partitioner="min-cut")
    assert explorer.settled(60)
    bare_page.show(page, explorer)
    page.get_by_title("What this partitioner does").click()
    slider = page.get_by_role("slider", name="imbalance")
    field = page.get_by_role("spinbutton", name="imbalance")
    for key, there in (("Home", 0.001), ("ArrowRight", 0.00115), ("End", 1000.0)):
        slider.press(key)
        expect(field).to_have_value(f"{there:g}")
        bare_page.heard(page)
        assert explorer.state.options_of("partitioner") == {"imbalance": there}
    explorer.close()
