"""Every strategy's placements and schedules on thirteen problems equal the recorded ones, byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import hashes


def test_the_record_is_in_order_of_names():
    """Problems as listed, strategies by name: a new strategy adds lines and moves none, whatever imports it first."""
    recorded = [tuple(map(str.strip, line.split("|")[:3])) for line in hashes.RECORD.read_text().splitlines()]
    place = {label: i for i, label in enumerate(hashes.thirteen())}
    assert recorded == sorted(recorded, key=lambda line: (place[line[0]], *line[1:]))


@pytest.mark.slow
def test_results_are_those_on_record():
    """After an intended change of results, record them: ``python tests/golden/hashes.py --write``."""
    assert hashes.differences() == []
