"""Every strategy's placements and schedules on thirteen problems equal the recorded ones, byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import hashes


@pytest.mark.slow
def test_results_are_those_on_record():
    """After an intended change of results, record them: ``python tests/golden/hashes.py --write``."""
    assert hashes.differences() == []
