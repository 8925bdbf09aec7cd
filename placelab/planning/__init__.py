"""Share what partitioners need: ranks, earliest finish times, capacity with and without times."""
