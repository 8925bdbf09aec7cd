"""Figures of results, for notebooks, papers and the explorer: a Gantt chart in SVG, all others in Bokeh."""

from placelab.pictures.schedule_figures import difference, gantt, memory, sensitivity
from placelab.pictures.study_figures import mean_ranks, performance_profile, ratio_intervals, winners
from placelab.pictures.training_figures import checkpoint_intervals, iterations, learning_curves, plane, training

__all__ = [
    "checkpoint_intervals",
    "difference",
    "gantt",
    "iterations",
    "learning_curves",
    "mean_ranks",
    "memory",
    "performance_profile",
    "plane",
    "ratio_intervals",
    "sensitivity",
    "training",
    "winners",
]
