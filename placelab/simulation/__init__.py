"""Simulate placements: one run, and many in one call of the kernel."""
