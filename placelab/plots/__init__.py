"""Bokeh figures of results, for notebooks, papers and the explorer; one per file."""

from placelab.plots.comparison_figure import comparison
from placelab.plots.gantt_figure import gantt
from placelab.plots.memory_figure import memory

__all__ = ["comparison", "gantt", "memory"]
