"""Plans of a model on machines: memory by category, which device runs which layers, passes that run together."""

from placelab.graphs.transforms.passes_together import Overlap, overlap_seconds

__all__ = ["Overlap", "overlap_seconds"]
