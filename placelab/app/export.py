"""Export a schedule as a page, a trace or tables, a placement for its framework, a graph as a file.

Every function writes one file, whole or not at all, and returns its path.
"""

from placelab.app.page import html
from placelab.formats.exports import chrome_trace, csv, graph, placement, tensorflow, torch_device_map, torch_schedule

__all__ = ["chrome_trace", "csv", "graph", "html", "placement", "tensorflow", "torch_device_map", "torch_schedule"]


def __dir__() -> list[str]:
    return list(__all__)
