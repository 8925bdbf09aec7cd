"""What do ops and tensors cost? Counted from shapes, estimated for a device, measured, or drawn."""

from placelab.costs.mayer import mayer
from placelab.costs.profile import Profile

__all__ = ["Profile", "mayer"]
