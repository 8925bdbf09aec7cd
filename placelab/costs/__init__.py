"""Costs of ops and tensors: counted from shapes, estimated for a device, measured, or drawn at random."""

from placelab.costs.link import FittedLink, fit_link
from placelab.costs.measuring import measured
from placelab.costs.op_cost import describe_op, told
from placelab.costs.origin import provenance
from placelab.costs.profile import Profile
from placelab.costs.roofline import estimate
from placelab.costs.scaling import scale
from placelab.costs.source_table import sources
from placelab.costs.synthetic import mayer
from placelab.costs.time_units import in_seconds
from placelab.problem.hardware import Link, Spec, cluster, links, specs

__all__ = [
    "FittedLink",
    "Link",
    "Profile",
    "Spec",
    "cluster",
    "describe_op",
    "estimate",
    "fit_link",
    "in_seconds",
    "links",
    "mayer",
    "measured",
    "provenance",
    "scale",
    "sources",
    "specs",
    "told",
]
