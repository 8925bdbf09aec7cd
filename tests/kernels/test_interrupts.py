"""An interrupt during the first call leaves a process in which the next call succeeds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Interrupts itself in the midst of the import of `sys.argv[1]`, runs the call again, and prints how the first one ended.
SCRIPT = """
import os, signal, sys, time
import placelab as pl

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1] and os.environ.pop("INTERRUPT", ""):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

sys.meta_path.insert(0, Interrupt())
problem = pl.Problem(pl.generators.fork_join(5), pl.Cluster.uniform(2))
try:
    eval(sys.argv[2])
    print("went on")
except KeyboardInterrupt:
    print("interrupted")
eval(sys.argv[2])
"""
CALLS = {
    "numba.core.types": "pl.solve(problem, 'heft')",
    "numba.core.dispatcher": "pl.solve(problem, 'heft')",
    "numba.cpython.builtins": "pl.solve(problem, 'heft')",  # tables of the compiler, which the first compilation fills
    "pandas.core.api": "pl.compare(problem, 'heft', 'fifo')",
    "networkx.utils.misc": "problem.graph.to_networkx()",
    "cvxpy.atoms": "pl.place(problem, 'ilp')",
    "ortools.sat.python.cp_model_helper": "pl.place(problem, 'cp-sat')",
    "bokeh.core.enums": "pl.plots.memory(pl.solve(problem, 'heft'))",
    "ipywidgets.widgets": "pl.explore(problem).close()",
    "scipy.sparse._base": "pl.place(problem, 'min-cut')",
    "pyarrow.lib": "pl.study([problem], 'heft', 'fifo', processes=0, path=sys.argv[3])",
}


@pytest.mark.slow
@pytest.mark.parametrize("module", CALLS)
def test_an_import_is_interrupted(module, tmp_path):
    """The interrupt is heard at once, and the same call succeeds afterwards."""
    command = [sys.executable, "-c", SCRIPT, module, CALLS[module], str(tmp_path / "study")]
    environment = {**os.environ, "INTERRUPT": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout == "interrupted\n"
