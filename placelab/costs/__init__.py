"""What do ops and tensors cost? Counted from shapes, estimated for a device, measured, or drawn."""

from placelab.costs.estimate import estimate
from placelab.costs.link import fit_link
from placelab.costs.mayer import mayer
from placelab.costs.measured import measured
from placelab.costs.profile import Profile
from placelab.costs.provenance import provenance
from placelab.costs.scale import scale
from placelab.costs.sources import sources
from placelab.costs.specs import Link, Spec, cluster, links, specs
from placelab.costs.told import told

__all__ = [
    "Link",
    "Profile",
    "Spec",
    "cluster",
    "estimate",
    "fit_link",
    "links",
    "mayer",
    "measured",
    "provenance",
    "scale",
    "sources",
    "specs",
    "told",
]
