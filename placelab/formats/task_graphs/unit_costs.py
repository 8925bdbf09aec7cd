"""Units of plain numbers: a unit of compute takes one second, a unit of data is one byte on a link of one byte/s."""

from __future__ import annotations

from typing import Any

PROCESSORS = 4  # if the file does not give a number
MAX_PROCESSORS = 2_000


def unit_metadata(processors: int | None = None) -> dict[str, Any]:
    """Metadata of a graph whose costs are plain numbers: a cluster on which one unit takes one second.

    The cluster has `processors` equal processors, by default `PROCESSORS`, of one operation/s, and links of one byte/s
    without latency. On other clusters the numbers count as operations and bytes.
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
