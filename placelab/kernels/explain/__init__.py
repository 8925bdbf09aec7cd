"""Kernels that explain a finished schedule: critical path, idle gaps, memory over time."""
