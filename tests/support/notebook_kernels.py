"""A plugin: kernels of notebooks are forks of one process, with what they import; without it each begins anew."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support import forked_kernels

ALSO = ("cvxpy", "highspy", "ortools.sat.python.cp_model", "scipy.stats")  # what takes long to import in some of them
OPENED = pytest.StashKey[ExitStack]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have the first notebook start the process, and nbval ask it for all kernels."""
    if item.path.suffix != ".ipynb" or OPENED in item.config.stash:
        return
    item.config.stash[OPENED] = opened = ExitStack()
    home = opened.enter_context(TemporaryDirectory())
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [home, os.environ.get("JUPYTER_PATH")]))
    opened.enter_context(forked_kernels.offered(Path(home), os.environ | {"JUPYTER_DATA_DIR": home}, ALSO))
    item.config.option.nbval_current_env = False
    item.config.option.nbval_kernel_name = forked_kernels.NAME


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the process, if there is one."""
    config.stash.get(OPENED, ExitStack()).close()
