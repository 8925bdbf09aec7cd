"""What strategies share: ranks, list scheduling, capacity, the linear program of SCT, lower bounds."""
