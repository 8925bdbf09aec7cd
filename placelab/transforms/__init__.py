"""What can be done to a graph or problem? One transformation per file; importing this package enters them into the catalogue.

Those of :func:`catalogue` prepare a problem for placement: ``small, expand = fuse(problem)``.
"""

from placelab.strategies import transform
from placelab.strategies import transforms as catalogue
from placelab.transforms.colocate import colocate
from placelab.transforms.coplace import coplace
from placelab.transforms.forward_only import expand_backward, forward_only
from placelab.transforms.fuse import fuse
from placelab.transforms.pipeline import pipeline

__all__ = ["catalogue", "colocate", "coplace", "expand_backward", "forward_only", "fuse", "pipeline", "transform"]
