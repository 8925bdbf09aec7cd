"""Run a random third of the test files, but their slow tests, each alone in a process of its own.

A file must need neither another one's leftovers nor the thorough profile. ``python .ci/each_alone.py SEED`` draws the same files
again. Browser tests are left out: they start a browser each. After a minute no further file begins.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

LIMIT = 60  # seconds
NONE = 5  # pytest's status where all tests of a file are slow
ROOT = Path(__file__).resolve().parents[1]
BEGUN = monotonic()


def run(path: Path) -> bool:
    """Whether a file passes; prints what pytest says where it does not."""
    if monotonic() > BEGUN + LIMIT:
        print(f"not begun: {path}", flush=True)
        return True
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", path]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    passes = ran.returncode in (0, NONE)
    if not passes:
        print(f"{path} alone fails:\n{ran.stdout}{ran.stderr}", flush=True)
    return passes


if __name__ == "__main__":
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(10**6)
    files = sorted(path.relative_to(ROOT) for path in ROOT.glob("tests/*/test_*.py") if path.parent.name != "browser")
    chosen = random.Random(seed).sample(files, -(-len(files) // 3))
    print(f"{len(chosen)} of {len(files)} test files, each alone; again: python .ci/each_alone.py {seed}", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        sys.exit(not all(list(pool.map(run, chosen))))
