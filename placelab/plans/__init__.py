"""Plans of a model on machines: memory by category, which device runs which layers, passes that run together."""

from placelab.plans.overlap import Overlap, overlap_seconds

__all__ = ["Overlap", "overlap_seconds"]
