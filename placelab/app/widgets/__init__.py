"""The Python side of the browser's views: traits and messages. Their drawing and behaviour is in ``widgets/`` (TypeScript)."""

from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.gantt_chart import Gantt

__all__ = ["ClusterCanvas", "Gantt"]
