"""A study that a test starts as a program of its own, to kill it: folder, scheduler's address or "", strategies."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from time import sleep

import placelab as pl

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()


@pl.partitioner
def sluggish(problem):
    """One device, after a while."""
    sleep(0.05)
    return pl.Placement(problem, [0] * problem.graph.n_ops)


@pl.partitioner
def endless(problem):
    """One device, at once for the problems of two devices; else after a minute, in which no Python runs."""
    if problem.cluster.n_devices == 3:
        (FOLDER / "asleep").touch()
        sleep(60)
    return pl.Placement(problem, [0] * problem.graph.n_ops)


@pl.partitioner
def deadly(problem):
    """The end of the process it runs in, for the problems of three devices."""
    if problem.cluster.n_devices == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return pl.Placement(problem, [0] * problem.graph.n_ops)


@pl.partitioner
def deadly_once(problem):
    """The end of the process it runs in, the first time it is called."""
    marker = FOLDER / "marker"
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return pl.Placement(problem, [0] * problem.graph.n_ops)


def problems(values: int) -> pl.Problems:
    """Small problems that differ in a bandwidth."""
    return pl.grid(pl.generators.fork_join(3), [2, 3], bandwidth=[1e9 * (i + 1) for i in range(values)])


if __name__ == "__main__":
    address, values, *names = sys.argv[2:]
    own = {"sluggish": sluggish, "endless": endless, "deadly": deadly, "deadly-once": deadly_once}
    computed = []
    frame = pl.study(
        problems(int(values)),
        [own.get(name, name) for name in names],
        ["fifo", "planned"],
        path=FOLDER / "study.parquet",
        client=address or None,
        processes=2,
        progress=computed.append,
    )
    frame.to_json(FOLDER / "frame.json", orient="records")
    print(len(computed))
