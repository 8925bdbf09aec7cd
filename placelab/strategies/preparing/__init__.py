"""Make a problem smaller before it is placed; importing this package enters its transformations into the catalogue.

Each transformation also returns the function that expands its placements.
"""

from placelab.strategies.preparing import (  # noqa: F401
    coarsening,
    colocation,
    coplacement,
    forward_pass,
    fusion,
)
