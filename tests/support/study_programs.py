"""Studies as programs of their own, which tests start and kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pandas as pd

SCRIPT = Path(__file__).with_name("study_script.py")


def start(folder: Path, *arguments: str) -> subprocess.Popen:
    """The script as a program in a session of its own, on plain Python, which starts at once."""
    command = [sys.executable, str(SCRIPT), str(folder), *arguments]
    return subprocess.Popen(
        command, env=os.environ | {"PLACELAB_JIT": "0"}, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(folder: Path, *arguments: str) -> tuple[int, pd.DataFrame]:
    """Run the script to its end; how many rows it computed, and its table."""
    with start(folder, *arguments) as program:
        out, _ = program.communicate(timeout=240)
    assert program.returncode == 0
    return int(out), pd.DataFrame(json.loads((folder / "frame.json").read_text()))


def stored(folder: Path) -> pd.DataFrame:
    """All rows on disk, as users read them."""
    return pd.read_parquet(folder / "study.parquet")


def wait_for(condition, seconds: float = 120.0) -> None:
    """Until it holds."""
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, "waited in vain"
        sleep(0.02)
