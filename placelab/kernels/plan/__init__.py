"""Kernels that plan: ranks, list scheduling, and one per partitioner that has its own loop."""
