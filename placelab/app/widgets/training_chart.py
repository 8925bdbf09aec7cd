"""A training run as a picture, with its expected overhead by the interval between checkpoints. Traits only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets


class TrainingChart(anywidget.AnyWidget):
    """A bar of what a run does over time, and a curve on which a hand drags the interval.

    Attributes
    ----------
    run
        ``said``, a sentence; ``kinds``: of each kind of time ``name``, ``share`` as a text and ``columns``, shares of each column
        of the bar; ``failures``: shares of the run at which one struck.
    curve
        ``seconds`` between checkpoints, rising, and ``over``, the expected time beyond the useful one over it.
    interval
        Seconds between checkpoints, set by the browser, too.
    optimum
        The best ones.
    limits
        Least and largest interval that a hand may choose.

    Examples
    --------
    >>> TrainingChart()
    TrainingChart(interval 1.0 s)
    """

    _esm = Path(__file__).parent / "static" / "job.js"

    run = traitlets.Dict({"said": "", "kinds": [], "failures": []}).tag(sync=True)
    curve: traitlets.Dict = traitlets.Dict({"seconds": [], "over": []}).tag(sync=True)
    interval = traitlets.Float(1.0).tag(sync=True)
    optimum = traitlets.Float(1.0).tag(sync=True)
    limits = traitlets.List([1.0, 1.0]).tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)  # why there is no picture; "" when there is one

    def __init__(self, **traits: Any) -> None:
        super().__init__(**{"layout": w.Layout(height="100%", min_height="0", min_width="0"), **traits})

    def __repr__(self) -> str:
        return f"TrainingChart(interval {self.interval} s)"
