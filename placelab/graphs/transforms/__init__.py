"""Transform graphs and prepare problems for placement; importing this package enters its transformations into the catalogue.

Those of :func:`catalogue` prepare a problem for placement: ``small, expand = fuse(problem)`` returns a smaller problem and a
function from its placements to those of `problem`. ``placelab.place(problem, "heft", prepare=("coplace", "fuse"))`` calls both.
"""

from placelab.costs.new_costs import perturb
from placelab.graphs.transforms.backward_graph import backward, backward_schedule, proportionality
from placelab.graphs.transforms.expert_parallelism import expert_parallel
from placelab.graphs.transforms.micro_batching import microbatches
from placelab.graphs.transforms.ordered_streams import communication_streams
from placelab.graphs.transforms.passes_together import together
from placelab.graphs.transforms.pipeline_replication import pipeline_replica
from placelab.graphs.transforms.replication import model_replica
from placelab.graphs.transforms.send_receive import send_recv
from placelab.graphs.transforms.sharding import sharded
from placelab.graphs.transforms.tensor_parallelism import tensor_parallel
from placelab.schedule.catalogue import transform
from placelab.schedule.catalogue import transforms as catalogue
from placelab.strategies.preparing.chain import chain
from placelab.strategies.preparing.checkpoint_ops import checkpoint_nodes
from placelab.strategies.preparing.coarsening import coarsen
from placelab.strategies.preparing.colocation import colocate, post_adjust
from placelab.strategies.preparing.contraction import contract
from placelab.strategies.preparing.coplacement import coplace
from placelab.strategies.preparing.forward_pass import expand_backward, forward_only
from placelab.strategies.preparing.fusion import fuse

__all__ = [
    "backward",
    "backward_schedule",
    "catalogue",
    "chain",
    "checkpoint_nodes",
    "coarsen",
    "colocate",
    "communication_streams",
    "contract",
    "coplace",
    "expand_backward",
    "expert_parallel",
    "forward_only",
    "fuse",
    "microbatches",
    "model_replica",
    "perturb",
    "pipeline_replica",
    "post_adjust",
    "proportionality",
    "send_recv",
    "sharded",
    "tensor_parallel",
    "together",
    "transform",
]
