"""Who runs next on a device? One scheduler per file; importing this package enters them into the catalogue."""

from placelab.scheduling import fifo, msr, pct, planned_order, random_order  # noqa: F401
