"""What does it look like? Bokeh figures of results, for notebooks, papers and the explorer; one per file."""

from placelab.plots.comparison import comparison
from placelab.plots.gantt import gantt
from placelab.plots.memory import memory

__all__ = ["comparison", "gantt", "memory"]
