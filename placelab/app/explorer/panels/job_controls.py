"""The controls of a training job, of which those are seen that its kind has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ipywidgets as w

from placelab.app.explorer.jobs import STAGES
from placelab.app.explorer.state import ALL_REDUCE, KINDS, PIPELINE, SERVERS, Job

PRESETS = {
    "Parameter server": (Job(SERVERS), "Four workers share parameters through a server, read in the order of tic"),
    "2 × 4 data-parallel": (
        Job(ALL_REDUCE, workers=8, hosts=2),
        "Two machines of four GPUs sum gradients by ring all-reduces",
    ),
    "4-stage pipeline": (Job(PIPELINE), "Four stages, eight micro-batches, one forward and one backward pass in turn"),
}
BUCKETS = {"1 MB": 1e6, "5 MB": 5e6, "25 MB": 25e6, "100 MB": 100e6, "all": float("inf")}
REPLICAS = (SERVERS, ALL_REDUCE)
SUMMING = ("algorithm", "bucket_bytes")  # of replicas alone


def _slider(low: int, high: int) -> Callable[[], w.Widget]:
    return lambda: w.IntSlider(min=low, max=high, readout=False, layout=w.Layout(width="auto"))


def _menu(options: Any) -> Callable[[], w.Widget]:
    return lambda: w.Dropdown(options=options, layout=w.Layout(width="auto"))


def _box() -> w.Widget:
    return w.Checkbox(indent=False, layout=w.Layout(width="auto"))


# field of Job: label, kinds that have it, what it means, control
FIELDS: dict[str, tuple[str, tuple[str, ...], str, Callable[[], w.Widget]]] = {
    "workers": ("workers", REPLICAS, "Copies of the model", _slider(1, 16)),
    "servers": ("servers", (SERVERS,), "Machines that hold the parameters, dealt out in turn", _slider(1, 8)),
    "hosts": (
        "machines",
        (ALL_REDUCE,),
        "Workers are shared equally by so many machines, else all are on one",
        _slider(1, 8),
    ),
    "stages": ("stages", (PIPELINE,), "Devices in a row, each with a part of the model", _slider(2, 16)),
    "microbatches": ("micro-batches", (PIPELINE,), "Parts that a batch is divided into", _slider(1, 32)),
    "replicas": (
        "replicas",
        (PIPELINE,),
        "Copies of the pipeline, whose gradients are summed by all-reduces",
        _slider(1, 8),
    ),
    "iterations": ("iterations", REPLICAS, "Steps in the graph, one after the other", _slider(1, 4)),
    "algorithm": (
        "all-reduce",
        (ALL_REDUCE, PIPELINE),
        "ring, tree, or recursive halving for a power of two workers",
        _menu(["ring", "tree", "halving"]),
    ),
    "bucket_bytes": (
        "bucket",
        (ALL_REDUCE, PIPELINE),
        "Gradients are summed together up to so many bytes",
        _menu(list(BUCKETS.items())),
    ),
    "partitioner": ("stages by", (PIPELINE,), "The partitioner that cuts the model into stages", _menu(STAGES)),
    "training": ("backward pass", (SERVERS,), "With gradients that are sent to the servers", _box),
    "sync": ("synchronous", (SERVERS,), "An update waits for all workers; else for each worker alone", _box),
    "barrier": (
        "barrier",
        (SERVERS,),
        "Reads wait for all updates of the iteration before; else for their own parameter's",
        _box,
    ),
    "split": (
        "split backward",
        (PIPELINE,),
        "Gradients of weights are ops of their own, which zero-bubble schedulers delay",
        _box,
    ),
    "recompute": (
        "recompute",
        (PIPELINE,),
        "A stage keeps only what comes from other stages, and runs its forward pass again before the backward pass",
        _box,
    ),
    "blocking": ("blocking receives", (PIPELINE,), "A stage does not compute while it receives", _box),
}


def _has(job: Job, name: str) -> bool:
    """Whether a field changes the job."""
    reduces = job.kind != PIPELINE or job.replicas > 1
    return job.kind in FIELDS[name][1] and (reduces or name not in SUMMING)


class JobControls:
    """A grid of controls, each under its label, and a row of boxes to tick.

    Parameters
    ----------
    change
        Called with the job that is asked for, and the field that a hand has moved.
    """

    def __init__(self, change: Callable[[Job, str], None]) -> None:
        self._change, self._quiet, self.job = change, False, Job()
        self.kind = w.Dropdown(options=KINDS, description="job", layout=w.Layout(width="auto"), tooltip="Kind of job")
        self.fields = {name: self._control(name) for name in FIELDS}
        self.kind.observe(lambda c: self._moved("kind", c["new"]), "value")
        ticked = [field for field in self.fields.values() if isinstance(field, w.Checkbox)]
        others = [field for field in self.fields.values() if not isinstance(field, w.Checkbox)]
        grid = w.Box([self.kind, *others]).add_class("pl-options").add_class("pl-job-grid")
        row = w.Box(ticked).add_class("pl-options").add_class("pl-job-ticks")
        self.box = w.VBox([grid, row]).add_class("pl-job-controls")

    def show(self, job: Job) -> None:
        """Show a job, without calling `change`."""
        self._quiet, self.job = True, job
        try:
            self.kind.value = job.kind
            for name, field in self.fields.items():
                value = getattr(job, name)
                if isinstance(field, w.IntSlider):
                    field.max = max(field.max, value)
                field.value = value
                self._label(name)
                field.layout.display = "" if _has(job, name) else "none"
        finally:
            self._quiet = False

    def _control(self, name: str) -> w.Widget:
        label, _, tip, make = FIELDS[name]
        field = make()
        field.description, field.tooltip = label, f"{label}: {tip}"
        field.observe(lambda c: self._moved(name, c["new"]), "value")
        return field

    def _label(self, name: str) -> None:
        """Write a slider's value beside its name."""
        field = self.fields[name]
        if isinstance(field, w.IntSlider):
            field.description = f"{FIELDS[name][0]}: {field.value}"

    def _moved(self, name: str, value: Any) -> None:
        if not self._quiet and value is not None:
            if name != "kind":
                self._label(name)
            self.job = replace(self.job, **{name: value})
            self._change(self.job, name)
