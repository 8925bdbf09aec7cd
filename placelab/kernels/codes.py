"""Numbers by which kernels know the models of a problem; each stands here alone.

:mod:`placelab.problem.resource_models` says which model has which.
"""

# Contention between transfers.
PARALLEL = 0  # none
PORTS = 1  # one at a time per port of a device; in the simulator in the order of requests
CHANNEL = 2  # one at a time per queue, of which each transfer has one: in planners, that of its ordered pair of devices
PORTS_BY_PRIORITY = 3  # of the simulator alone: as PORTS, in the order of priorities that a scheduler gives
FAIR = 4  # of the simulator alone: all at once, links shared max-min fairly

# What holds memory.
FREE = 0  # nothing that is looked at
EDGES = 1  # tensors, from their producer's or transfer's finish to their last consumer's start
DYNAMIC = 2  # weights always, temporary bytes while an op runs, tensors from the start of what makes them to the last use's end
RESERVED = 3  # one number per op, for the whole run
