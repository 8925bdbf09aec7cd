"""What the tests of the lessons share."""

from __future__ import annotations

import pytest

from placelab.schedule import catalogue as strategies


@pytest.fixture
def own_catalogues(monkeypatch):
    """Strategies that a lesson enters are gone after the test."""
    for name in ("_partitioners", "_schedulers", "_transforms"):
        monkeypatch.setattr(strategies, name, dict(getattr(strategies, name)))
