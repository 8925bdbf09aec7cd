"""Whether two placements are equal to the last bit."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

import placelab as pl


def same(a: pl.Placement, b: pl.Placement) -> bool:
    """Whether both are equal to the last bit, traces included."""
    if a.trace is not None:
        for field in fields(a.trace):
            x = getattr(a.trace, field.name)
            y = getattr(b.trace, field.name)
            if field.name == "reason":
                x, y = [a.trace.reasons[i] for i in x], [b.trace.reasons[i] for i in y]
            if field.name not in ("reasons", "ranks") and not np.array_equal(x, y, equal_nan=field.name == "score"):
                return False
    columns = ("device", "planned", "not_before")
    return all(np.array_equal(getattr(a, c), getattr(b, c)) for c in columns) and a.estimate == b.estimate
