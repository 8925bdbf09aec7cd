"""What can be done to a graph or problem? One transformation per file; importing this package enters them into the catalogue.

Those of :func:`catalogue` prepare a problem for placement: ``small, expand = fuse(problem)`` gives a smaller problem, and the way
from its placements to those of the full one. ``placelab.place(problem, "heft", prepare=("coplace", "fuse"))`` goes both ways.
"""

from placelab.preparing.chain import pipeline
from placelab.preparing.coarsening import coarsen
from placelab.preparing.colocation import colocate
from placelab.preparing.coplacement import coplace
from placelab.preparing.forward_pass import expand_backward, forward_only
from placelab.preparing.fusion import fuse
from placelab.preparing.post_adjustment import post_adjust
from placelab.strategies import transform
from placelab.strategies import transforms as catalogue
from placelab.transforms.backward_graph import backward
from placelab.transforms.perturbation import perturb
from placelab.transforms.schedule_reversal import backward_schedule, proportionality
from placelab.transforms.send_receive import send_recv

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
