"""Try an installed placelab from an empty folder: solve, write a page that recomputes, open the explorer, ask the command line.

``python .ci/try_wheel.py`` runs in the environment into which the wheel was installed; the checkout is not imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]


def command(*words: str) -> str:
    """What the command line prints."""
    line = [sys.executable, "-c", "from placelab.app.cli import main; main()", *words]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Fail at the first thing that does not work."""
    os.chdir(tempfile.mkdtemp())
    os.environ["PLACELAB_JIT"] = "wait"  # what numba compiles is tried, too
    import placelab as pl

    assert CHECKOUT not in Path(pl.__file__).resolve().parents, f"{pl.__file__} is the checkout's, not the wheel's"
    problem = pl.datasets.problem("topcuoglu")
    assert pl.solve(problem, "heft").makespan == 80
    schedule = pl.solve(pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4)), "m-etf", "pct")
    assert pl.validate(schedule) == []
    page = pl.export.html(schedule, "page.html", live=True).read_text(encoding="utf-8")
    assert "cannot recompute" not in page and len(page) > 50_000
    os.environ["PLACELAB_JIT"] = "0"  # the explorer compares all pairs: to compile their kernels takes minutes
    explorer = pl.explore(problem)
    assert explorer.settled(300) and explorer.result is not None
    explorer.close()
    assert "367" in command("inspect", "convolutional_network")
    assert "answers.md" in command("lessons", "course", "--instructor") and Path("course", "puzzles.ipynb").exists()
    print(f"placelab {pl.__version__} from {Path(pl.__file__).parent} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
