"""Fixtures of the explorer's tests: a small explorer, restored catalogues, a folder for each test."""

from __future__ import annotations

import pytest
from explorer_hands import CLUSTER

import placelab as pl
from placelab.schedule import catalogue as strategies


@pytest.fixture(autouse=True)
def _catalogues_stay_as_they_were(monkeypatch):
    """Remove strategies that a test has defined."""
    monkeypatch.setattr(strategies, "_partitioners", dict(strategies._partitioners))
    monkeypatch.setattr(strategies, "_schedulers", dict(strategies._schedulers))
    monkeypatch.setattr(strategies, "_transforms", dict(strategies._transforms))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Files are written to a folder for this test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def explorer():
    """A small graph on two hosts."""
    opened = pl.explore(pl.generators.layered(60, seed=3), CLUSTER)
    yield opened
    opened.close()
