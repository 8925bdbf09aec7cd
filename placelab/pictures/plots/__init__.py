"""Bokeh figures of results, for notebooks, papers and the explorer; one per file."""

from placelab.pictures.plots.checkpoints_figure import checkpoint_intervals
from placelab.pictures.plots.comparison_figure import comparison
from placelab.pictures.plots.difference_figure import difference
from placelab.pictures.plots.gantt_figure import gantt
from placelab.pictures.plots.iterations_figure import iterations
from placelab.pictures.plots.learning_figure import learning_curves
from placelab.pictures.plots.mean_ranks_figure import mean_ranks
from placelab.pictures.plots.memory_figure import memory
from placelab.pictures.plots.performance_profile_figure import performance_profile
from placelab.pictures.plots.ratio_intervals_figure import ratio_intervals
from placelab.pictures.plots.sensitivity_figure import sensitivity
from placelab.pictures.plots.training_figure import training
from placelab.pictures.plots.winners_figure import winners

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
