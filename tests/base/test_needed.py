"""What :func:`placelab.base.interrupts.need` imports, and what it leaves alone."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

# To import it here takes all processes that collect tests two seconds.
pytestmark = pytest.mark.skipif(not find_spec("cvxpy"), reason="cvxpy is not installed")

PROGRAM = """
import sys, threading
from importlib import import_module
from placelab.base.interrupts import need

found = []
other = threading.Thread(target=lambda: found.append(import_module("jax").Array))
class Watch:  # as cvxpy begins, another thread wants JAX
    def find_spec(self, name, path=None, target=None):
        if name == "cvxpy.settings":
            other.start()
            other.join(1)  # it is held up by Python until this returns, and goes on beside cvxpy's import
if sys.argv[1] == "beside":
    sys.meta_path.insert(0, Watch())
need("cvxpy")
if other.ident:
    other.join(20)
print("cvxpy" in sys.modules, "jax" in sys.modules, found, any(type(f).__name__ == "_Hidden" for f in sys.meta_path))
"""


@pytest.mark.parametrize(
    ("when", "said"),
    [pytest.param("alone", "True False [] False", marks=pytest.mark.slow), ("beside", "True True [7] False")],
)
@pytest.mark.slow
def test_cvxpy_does_not_bring_jax(when, said, tmp_path):
    """Half of JAX makes scipy fail in other threads; a thread that wants JAX itself gets it, in the same moment, too."""
    (tmp_path / "jax.py").write_text("Array = 7\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-c", PROGRAM, when]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == said, done.stderr
