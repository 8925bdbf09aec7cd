"""Fixtures and settings of all tests: data beside the project, and hypothesis."""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from pathlib import Path

import notebook_kernels
import pytest
from costs import Costs
from examples import THOROUGH
from hypothesis import HealthCheck, settings
from shares import share

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"  # beside the project, not in it
NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
# The first a user opens, and lessons of few seconds: cells of every kind that the others have, exercises and checks among them.
QUICK_NOTEBOOKS = {"00_tour", "01_your_own_model", "01_where_and_who_next", "03_who_goes_next", "05_paths_and_clusters"}

CASES = 6  # of a function of many, which are quick
WHOLE = {
    Path(__file__).parent / room for room in ("contract", "house")
}  # what watches over each strategy, and each file

# Doctests are looked for in all files, and these import frameworks.
collect_ignore = [
    "support/tensorflow_child.py",
    "support/torch_models.py",
    "support/jax_functions.py",
    "support/study_script.py",
]

os.environ.setdefault("PLACELAB_JIT", "check")  # tests run the compiled kernels; some ask for the plain path themselves

# The same examples in every run; a first example may wait for a kernel to compile. Examples depend on constants that hypothesis
# finds in the sources, so a test that assumes something rare would fail the check of its share after an unrelated change.
UNCHECKED = [HealthCheck.too_slow, HealthCheck.filter_too_much]
COMMON = settings(deadline=None, derandomize=True, suppress_health_check=UNCHECKED)
settings.register_profile("thorough", COMMON, max_examples=THOROUGH)  # make test SLOW=1/1
settings.register_profile("quick", COMMON, max_examples=THOROUGH // 4)


def pytest_configure(config):
    """Try few examples, unless the command line names a profile, and hear interrupts.

    Not when this file is imported: that happens again when doctests are looked for in it.
    """
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # as a shell's background jobs have it, and programs they start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("quick")
    if config.getoption("--costs") and not config.pluginmanager.has_plugin("costs"):
        config.pluginmanager.register(Costs(config.getoption("--costs")), "costs")
    if not config.pluginmanager.has_plugin("notebook_kernels"):
        # Hooks of this file would see its folder only.
        config.pluginmanager.register(notebook_kernels, "notebook_kernels")


def pytest_addoption(parser):
    """``--share 2/3``: the second of three parts of the files, so that three runs share all tests; ``--costs 20`` measures."""
    parser.addoption("--share", metavar="K/N", default="1/1", help="run the K-th of N parts of the files")
    parser.addoption(
        "--costs", metavar="N", type=int, default=0, help="list the N dearest files and tests by processor time"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """No garbage is looked for among the million objects that tests and their imports are; that took a third of the time."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def many_cases(items):
    """Cases of functions that have many, but the few that are as far from each other as can be."""
    functions = defaultdict(list)
    for item in items:
        if WHOLE.isdisjoint(item.path.parents) and not item.get_closest_marker("slow"):
            functions[item.nodeid.partition("[")[0]].append(item)
    for cases in functions.values():
        last = len(cases) - 1
        kept = {round(last * k / (CASES - 1)) for k in range(CASES)}
        yield from (item for at, item in enumerate(cases) if at not in kept and last >= CASES)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """Most notebooks, and cases of many, are slow; where only notebooks are asked for, this file is not read, and all run."""
    for item in items:
        if NOTEBOOKS in item.path.parents and item.path.stem not in QUICK_NOTEBOOKS:
            item.add_marker(pytest.mark.slow)
    for item in many_cases(items):
        item.add_marker(pytest.mark.slow)
    yield
    again = config.getoption("lf", False)  # of the share that has run; files without a failure are not among the items
    chosen = share({item.path for item in items}, "1/1" if again else config.getoption("--share"))
    config.hook.pytest_deselected(items=[item for item in items if item.path not in chosen])
    items[:] = [item for item in items if item.path in chosen]


def pytest_sessionfinish(session, exitstatus):
    """A share may have none of the tests asked for; without shares, or where failed ones run again, that is an error."""
    option = session.config.getoption
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and option("--share") != "1/1" and not option("lf", False):
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(autouse=True)
def catalogues_stay_as_they_were(monkeypatch):
    """Remove strategies that a test has defined."""
    from placelab.schedule import catalogue

    catalogue.partitioners()  # all are entered at the first look
    for name in ("_partitioners", "_schedulers", "_transforms"):
        monkeypatch.setattr(catalogue, name, dict(getattr(catalogue, name)))


@pytest.fixture(autouse=True)
def nothing_is_known_of_any_problem(monkeypatch):
    """No test knows the schedules of another one."""
    from placelab.schedule import known_schedules

    monkeypatch.setattr(known_schedules, "_records", type(known_schedules._records)())


@pytest.fixture
def shared_data():
    """``shared_data("mayer2017")``: path of that folder of data beside the project; skips where it is absent."""

    def folder(name: str) -> Path:
        if not (SHARED / name).is_dir():
            pytest.skip(f"no folder {SHARED / name}: the published data this test compares with is not here")
        return SHARED / name

    return folder
