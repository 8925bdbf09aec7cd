"""Fixtures of the explorer's tests: a small explorer, a folder for each test."""

from __future__ import annotations

import pytest
from explorer_hands import CLUSTER

import placelab as pl
from placelab.app.explorer import computation
from placelab.app.explorer.engine import curve
from placelab.app.explorer.panels import known_best


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Files are written to a folder for this test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True, scope="module")
def no_search():
    """No explorer looks for better schedules by itself, one of a module's fixture neither: what is known, and what is shown of
    the search, would depend on how long a test takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_best, "REST", 3600.0)
        yield


@pytest.fixture(autouse=True)
def no_late_value(monkeypatch):
    """No value of a curve comes too late: on a busy machine one of a small graph would, and some that do end the curve."""
    monkeypatch.setattr(curve, "LIMIT", 60.0)


@pytest.fixture
def patient(monkeypatch):
    """A message waits for its result, however long that takes: on a busy machine the next one would come before it."""
    monkeypatch.setattr(computation, "PATIENCE", 60.0)


@pytest.fixture
def explorer():
    """A small graph on two hosts."""
    opened = pl.explore(pl.generators.layered(60, seed=3), CLUSTER)
    yield opened
    opened.close()
