"""Kernels that run a placement: the event simulator, batches of runs, training runs with failures."""
