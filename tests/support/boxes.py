"""Where elements lie on a page."""

from __future__ import annotations

from time import monotonic

from playwright.sync_api import FloatRect, Locator

PATIENCE = 30  # seconds


def box_of(element: Locator) -> FloatRect:
    """Return where an element lies, once two frames agree on it: in between, a view that draws anew may have replaced it."""
    end = monotonic() + PATIENCE
    before = None
    while monotonic() < end:
        now = element.bounding_box()
        if now is not None and now == before:
            return now
        before = now
        element.page.evaluate("() => new Promise(requestAnimationFrame)")
    raise AssertionError(f"{element} has no place on the page, or does not rest")
