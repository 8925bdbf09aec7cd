"""Forks of a prepared process do what programs that are started do."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prepared import Prepared


@pytest.mark.parametrize(
    "words",
    [
        ["-c", "import sys; print(sys.argv[1:], sys.stdin.read().upper())", "a", "b"],
        ["-c", "import os; os.write(1, b'begun'); os.kill(os.getpid(), 9)"],
        ["-c", "import sys; sys.exit('no')"],
        ["-c", "import sys; sys.exit(3)"],
        ["-c", "import os; print(dict(os.environ), os.getcwd())"],
        ["-m", "json.tool", "--help"],
    ],
)
def test_a_program_in_a_fork_is_the_program(words, tmp_path, monkeypatch):
    """Output, status and signal; input, arguments, variables and folder."""
    prepared = Prepared("import numpy")
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, *words]
    given = {"input": b"text " * 100_000, "env": {"LC_ALL": "C.UTF-8", "LONG": "x" * 100_000}}
    ours = prepared.run(command, **given)
    theirs = subprocess.run(command, **given, capture_output=True)
    prepared.close()
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_what_is_prepared_is_there_and_stays_as_it_was():
    """Programs find the modules imported, and none sees what another one did; one that takes too long is ended."""
    prepared = Prepared("import json")
    code = "import sys; assert 'json' in sys.modules and not hasattr(sys, 'seen'); sys.seen = True"
    for _ in range(2):
        prepared.run([sys.executable, "-c", code], check=True)
    with pytest.raises(subprocess.TimeoutExpired):
        prepared.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.1)
    prepared.close()
