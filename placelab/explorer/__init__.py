"""The explorer: pickers, cluster canvas, comparison and Gantt chart of one problem, recomputed under the dragging hand."""

from placelab.explorer.application import Explorer, explore

__all__ = ["Explorer", "explore"]
