"""Search, in the background, for a small problem on which one pair of strategies loses to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from placelab.analysis.studies.adversary_search import Adversary, adversarial
from placelab.app.explorer.engine.failure import sentence
from placelab.base.leaving import Abandoned, run_abandonable
from placelab.base.progress import Progress
from placelab.base.threads import Background, Worker
from placelab.schedule.catalogue import partitioners

QUICK = dict(restarts=5, steps=400)  # some seconds
SLOW = dict(restarts=1, steps=60)  # with partitioners that search; less than half a minute with those of placelab

Pair = tuple[str, str]


class RivalSearch(Background):
    """One search at a time; another one ends it.

    Parameters
    ----------
    adopt
        Takes the problem that was found, and the Python expression that finds it again ("" if the search was ended early).
    changed
        Called when `status` or `fraction` has changed.

    Attributes
    ----------
    status
        What is searched and the best so far; why there is no result; or "".
    fraction
        Share of the search that is done.
    running
        Whether a search is under way.
    """

    def __init__(self, adopt: Callable[[Adversary, str], None], changed: Callable[[], None]) -> None:
        self._adopt, self._changed = adopt, changed
        self._asked: tuple[Pair, Pair, int] | None = None
        self._halted = False
        self.status, self.fraction, self.running = "", 1.0, False
        self._worker = Worker(self._run, "rival")

    def start(self, a: Pair, b: Pair, seed: int) -> None:
        """Search for a problem on which `a` loses to `b`."""
        self._asked, self._halted = (a, b, seed), False
        self._worker.wake()

    def halt(self) -> None:
        """End the search with the best problem so far."""
        self._halted = True

    def _run(self) -> None:
        assert self._asked is not None
        a, b, seed = self._asked
        catalogue = partitioners()
        size = SLOW if any(name in catalogue and catalogue[name].slow for name, _ in (a, b)) else QUICK
        self.running = True
        self._say(f"{' + '.join(a)} against {' + '.join(b)}", 0.0)
        try:
            adversary = run_abandonable(lambda: self._search(a, b, size | dict(seed=seed)), lambda: self._worker.woken)
        except Abandoned:
            return
        except (Exception, SystemExit) as error:  # a user's strategy may raise anything
            self.running = False
            self._say(sentence(error), 1.0)
            return
        self.running = False
        self._say("", 1.0)
        code = f"pl.adversarial({a!r}, {b!r}, restarts={size['restarts']}, steps={size['steps']}, seed={seed}).problem.graph"
        self._adopt(adversary, "" if self._halted else code)

    def _search(self, a: Pair, b: Pair, size: dict[str, Any]) -> Adversary:
        shown = 0

        def report(progress: Progress) -> None:
            nonlocal shown
            done = int(50 * (progress.fraction or 0.0))
            if done > shown:
                shown = done
                self._say(f"{progress.doing} {' + '.join(b)}", done / 50)

        stop = lambda: self._halted or self._worker.woken  # noqa: E731
        return adversarial(a, b, progress=report, cancel=stop, **size)

    def _say(self, status: str, fraction: float) -> None:
        self.status, self.fraction = status, fraction
        self._changed()
