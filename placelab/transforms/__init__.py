"""Transform graphs and prepare problems for placement; importing this package enters its transformations into the catalogue.

Those of :func:`catalogue` prepare a problem for placement: ``small, expand = fuse(problem)`` returns a smaller problem and a
function from its placements to those of `problem`. ``placelab.place(problem, "heft", prepare=("coplace", "fuse"))`` calls both.
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
from placelab.transforms.checkpoint_ops import checkpoint_nodes
from placelab.transforms.micro_batching import microbatches
from placelab.transforms.perturbation import perturb
from placelab.transforms.pipeline_replication import pipeline_replica
from placelab.transforms.replication import model_replica
from placelab.transforms.schedule_reversal import backward_schedule, proportionality
from placelab.transforms.send_receive import send_recv

__all__ = [
    "backward",
    "backward_schedule",
    "catalogue",
    "checkpoint_nodes",
    "coarsen",
    "colocate",
    "coplace",
    "expand_backward",
    "forward_only",
    "fuse",
    "microbatches",
    "model_replica",
    "perturb",
    "pipeline",
    "pipeline_replica",
    "post_adjust",
    "proportionality",
    "send_recv",
    "transform",
]
