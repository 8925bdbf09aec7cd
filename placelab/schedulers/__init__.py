"""Who runs next on a device? One scheduler per file; importing this package enters them into the catalogue."""

from placelab.schedulers import fifo, msr, pct, planned, random  # noqa: F401
