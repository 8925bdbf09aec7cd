"""Costs of ops and tensors: counted from shapes, estimated for a device, measured, or drawn at random."""

from placelab.costs.descriptions import describe_op, sources
from placelab.costs.measuring import FittedLink, fit_link, measured
from placelab.costs.new_costs import in_seconds, mayer, scale
from placelab.costs.roofline import estimate
from placelab.formats.profiles import Profile
from placelab.problem.coverage import provenance
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
]
