"""Optimisation through solvers: the linear program of SCT and the exact models. Each solver is imported when it is needed."""
