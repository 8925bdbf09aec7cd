"""The wheel runs beside a minimum of packages, as in a small container."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MINIMUM = ("numpy", "scipy", "pandas", "networkx", "anywidget", "ipywidgets")
ABSENT = ("bokeh", "cvxpy", "jupyterlab", "google.protobuf", "numba", "ortools", "pymetis", "pyarrow")

WALK = """
from importlib.util import find_spec
found = [name for name in sys.argv[1:] if find_spec(name.partition(".")[0])]
assert not found, found
explorer = pl.explore(problem)
assert explorer.settled(120) and explorer.result is not None
menu = explorer.pickers.partitioner
assert "heft" in menu.options
explorer.close()
print(schedule.makespan)
"""


@pytest.mark.slow
def test_the_readme_and_the_explorer_run_beside_a_minimum(tmp_path):
    """README's first block and an explorer work where no other package is; the graph is small, as there is no compiler."""
    block = re.search(r"## In code\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    small = block.replace('pl.load("dynamic_rnn")', "pl.generators.layered(12, seed=1)")
    assert small != block
    run = lambda *command: subprocess.run(  # noqa: E731
        command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    python = str(tmp_path / "bare" / "bin" / "python")
    run(sys.executable, "-m", "venv", "bare")
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", "made", str(ROOT))
    run(*pip, "install", "--constraint", str(ROOT / "constraints.txt"), *MINIMUM)
    run(*pip, "install", "--no-deps", *map(str, (tmp_path / "made").glob("*.whl")))
    (tmp_path / "walk.py").write_text("import sys\n" + small + WALK)
    ran = run(python, "walk.py", *ABSENT)
    assert float(ran.stdout) > 0 and (tmp_path / "step.html").stat().st_size > 10_000
    assert "works on Python" in run(python, str(ROOT / ".ci" / "try_wheel.py")).stdout  # as a release does


def test_the_release_runs_what_there_is():
    """The workflow's scripts and folders exist, and it publishes after the wheel has been tried on three systems."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    scripts = re.findall(r"(?:bash|python) (\.ci/\S+)", commands)
    assert len(scripts) == 2 and all((ROOT / script).is_file() for script in scripts)
    systems = {name.partition("-")[0] for name in jobs["wheel"]["strategy"]["matrix"]["system"]}
    assert systems == {"ubuntu", "macos", "windows"} and {"wheel", "site"} <= set(jobs["publish"]["needs"])
