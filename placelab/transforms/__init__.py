"""What can be done to a graph or problem? One transformation per file; importing this package enters them into the catalogue.

Those of :func:`catalogue` prepare a problem for placement: ``small, expand = fuse(problem)`` gives a smaller problem, and the way
from its placements to those of the full one. ``placelab.place(problem, "heft", prepare=("coplace", "fuse"))`` goes both ways.
"""

from placelab.strategies import transform
from placelab.strategies import transforms as catalogue
from placelab.transforms.backward import backward
from placelab.transforms.backward_schedule import backward_schedule, proportionality
from placelab.transforms.coarsen import coarsen
from placelab.transforms.colocate import colocate
from placelab.transforms.coplace import coplace
from placelab.transforms.forward_only import expand_backward, forward_only
from placelab.transforms.fuse import fuse
from placelab.transforms.perturb import perturb
from placelab.transforms.pipeline import pipeline
from placelab.transforms.post_adjust import post_adjust
from placelab.transforms.send_recv import send_recv

__all__ = [
    "backward",
    "backward_schedule",
    "catalogue",
    "coarsen",
    "colocate",
    "coplace",
    "expand_backward",
    "forward_only",
    "fuse",
    "perturb",
    "pipeline",
    "post_adjust",
    "proportionality",
    "send_recv",
    "transform",
]
