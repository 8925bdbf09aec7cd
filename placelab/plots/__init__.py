"""Bokeh figures of results, for notebooks, papers and the explorer; one per file."""

from placelab.plots.checkpoints_figure import checkpoint_intervals
from placelab.plots.comparison_figure import comparison
from placelab.plots.difference_figure import difference
from placelab.plots.gantt_figure import gantt
from placelab.plots.iterations_figure import iterations
from placelab.plots.learning_figure import learning_curves
from placelab.plots.mean_ranks_figure import mean_ranks
from placelab.plots.memory_figure import memory
from placelab.plots.performance_profile_figure import performance_profile
from placelab.plots.ratio_intervals_figure import ratio_intervals
from placelab.plots.sensitivity_figure import sensitivity
from placelab.plots.training_figure import training
from placelab.plots.winners_figure import winners

__all__ = [
    "checkpoint_intervals",
    "comparison",
    "difference",
    "gantt",
    "iterations",
    "learning_curves",
    "mean_ranks",
    "memory",
    "performance_profile",
    "ratio_intervals",
    "sensitivity",
    "training",
    "winners",
]
