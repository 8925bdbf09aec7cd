"""``--costs N`` lists the N files and tests that took most of the processor's time, whatever else the machine did meanwhile."""

from __future__ import annotations

import os
from collections import Counter

import pytest

NAME = "processor"  # of the property of a report that carries the seconds from a worker to the process that prints


def spent() -> float:
    """Processor seconds of this process, and of those it has started and seen end."""
    return sum(os.times()[:4])


class Costs:
    """A plugin that measures each test with its fixtures; servers and kernels count where they end."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._begun = 0.0
        self._seconds: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> object:
        """Begin a test."""
        self._begun = spent()
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> None:
        """Give the test's last report what it took."""
        if call.when == "teardown":
            item.user_properties.append((NAME, spent() - self._begun))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test took, here or in a worker."""
        if report.when == "teardown":
            self._seconds[report.nodeid] += dict(report.user_properties).get(NAME, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the dearest."""
        files: Counter[str] = Counter()
        for test, seconds in self._seconds.items():
            files[test.partition("::")[0]] += seconds
        terminalreporter.section(f"{self._seconds.total():.0f} processor seconds")
        for name, seconds in files.most_common(self._number) + self._seconds.most_common(self._number):
            terminalreporter.line(f"{seconds:8.2f} s  {name}")
