"""Write ``topcuoglu.json.gz``: the ten tasks and the time table of Topcuoglu's example, common to papers on list scheduling.

Topcuoglu, Hariri, Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing", IEEE TPDS
13(3), 2002, Fig. 2. Times in the paper have no unit; here one unit is 1 s of computing and 1 byte of data, and
``placelab.datasets.problem("topcuoglu")`` joins the processors P1, P2, P3 by links of 1 byte/s without latency::

    python datasets/topcuoglu.py
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # a checkout need not be installed

from placelab import OpGraph  # noqa: E402

PROCESSORS = ("P1", "P2", "P3")
TIMES = (  # seconds of task 1 … 10 on each processor
    (14, 16, 9),
    (13, 19, 18),
    (11, 13, 19),
    (13, 8, 17),
    (12, 13, 10),
    (13, 16, 9),
    (7, 15, 11),
    (5, 11, 14),
    (18, 12, 20),
    (21, 7, 16),
)
TRANSFERS = {  # bytes from task to task
    (1, 2): 18,
    (1, 3): 12,
    (1, 4): 9,
    (1, 5): 11,
    (1, 6): 14,
    (2, 8): 19,
    (2, 9): 16,
    (3, 7): 23,
    (4, 8): 27,
    (4, 9): 23,
    (5, 9): 13,
    (6, 8): 15,
    (7, 10): 17,
    (8, 10): 11,
    (9, 10): 13,
}


def topcuoglu() -> OpGraph:
    """The graph; compute is the mean over the processors, for clusters with other devices than P1, P2, P3."""
    return OpGraph.from_arrays(
        [f"T{i}" for i in range(1, len(TIMES) + 1)],
        [sum(row) / len(row) for row in TIMES],
        [(u - 1, v - 1) for u, v in TRANSFERS],
        edge_bytes=list(TRANSFERS.values()),
        time=dict(zip(PROCESSORS, zip(*TIMES, strict=True), strict=True)),
        metadata={
            "name": "topcuoglu",
            "cluster": {"speed": [1.0] * 3, "bandwidth": 1.0, "names": list(PROCESSORS), "types": list(PROCESSORS)},
            "provenance": "Topcuoglu, Hariri, Wu (2002), Fig. 2",
            "licence": "MIT",
        },
    )


if __name__ == "__main__":
    topcuoglu().save(HERE / "topcuoglu.json.gz")
