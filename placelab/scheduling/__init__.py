"""Schedulers: one rule per file. Importing this package enters them into the catalogue."""

from placelab.scheduling import fifo, msr, pct, planned_order, random_order, random_reads, tac, tic  # noqa: F401
