"""What does a cost without a unit mean? One unit is one second, or one byte over a link of one byte per second."""

from __future__ import annotations

from typing import Any

PROCESSORS = 4  # where a file does not say how many
MAX_PROCESSORS = 2_000


def unit_metadata(processors: int | None = None) -> dict[str, Any]:
    """Metadata of a graph whose costs are plain numbers: a cluster on which one unit takes one second.

    Equal processors of one operation/s and links of one byte/s without latency; `PROCESSORS` of them where the file does
    not say. On any other cluster the numbers are operations and bytes.
    """
    k = processors or PROCESSORS
    return {
        "reference_speed": 1.0,
        "costs": {"compute": "units", "unit": "1 s on a processor, or 1 byte over a link of 1 byte/s"},
        "cluster": {
            "speed": [1.0] * k,
            "bandwidth": 1.0,
            "names": [f"P{i + 1}" for i in range(k)],
            "types": ["processor"] * k,
        },
    }
