"""The views of the browser: what they are told and what they tell. How they look and behave is in ``widgets/`` (TypeScript)."""

from placelab.widgets.cluster.canvas import ClusterCanvas
from placelab.widgets.gantt.gantt_chart import Gantt

__all__ = ["ClusterCanvas", "Gantt"]
