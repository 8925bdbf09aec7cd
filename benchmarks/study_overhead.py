"""Measure what a study costs beside the work it does: 10,000 rows of `pl.study` against a plain loop over the same cells.

    python benchmarks/study_overhead.py [--rows N] [--ops N …]

Prints Markdown tables of

- processor time in one process: the loop and the study in turns, of each problem the least of three rounds;
- processor time of the process that hands out the tasks to two others;
- processor time of Dask's client and scheduler, in one process, with two workers;
- peak memory of a process with a tenth of the rows, and with all.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

import placelab as pl

STRATEGIES = ("heft", "cpop", "etf", "dls", "peft", "min-min", "tf-greedy", "dfs", "critical-path", "hash")
SCHEDULERS = ("fifo", "pct")
EACH = len(STRATEGIES) * len(SCHEDULERS)  # rows of a problem
ROUNDS = 3


def problems(rows: int, ops: int) -> pl.Problems:
    """So many that all strategies make the number of rows."""
    return pl.grid({f"layered {seed}": pl.generators.layered(ops, seed=seed) for seed in range(rows // EACH)}, 4)


def plain(given: pl.Problems) -> list[float]:
    """The work alone: place, simulate, check and bound. Processor time at the beginning and after each problem [s]."""
    times = [process_time()]
    for problem in given.values():
        pl.bounds(problem)
        for name in STRATEGIES:
            placement = pl.place(problem, name)
            for scheduler in SCHEDULERS:
                assert not pl.validate(pl.simulate(problem, placement, scheduler), memory=False)
        times.append(process_time())
    return times


def whole(given: pl.Problems, **options: Any) -> list[float]:
    """A study with its folder, in this process unless the options say otherwise. The same times, and one at the end [s]."""
    times = [process_time()]
    with TemporaryDirectory() as folder:
        common = dict(path=Path(folder) / "study.parquet", processes=0, progress=lambda _: times.append(process_time()))
        frame = pl.study(given, STRATEGIES, SCHEDULERS, **common | options)
    assert len(frame) == len(given) * EACH * options.get("seeds", 1) and not frame["error"].any()
    return [*times[::EACH], process_time()]


def took(call: Callable[[], Any]) -> float:
    """Processor time of a call [s]."""
    began = process_time()
    call()
    return process_time() - began


def on_dask(given: pl.Problems, ops: int) -> float:
    """Processor time of a client and a scheduler with two workers [s]."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        whole(problems(EACH, ops), client=client)  # workers have imported placelab
        return took(lambda: whole(given, client=client))


def peak(rows: int, seeds: int, ops: int) -> float:
    """Most memory of a process with such a study [MB]."""
    command = [sys.executable, __file__, "--rows", str(rows), "--ops", str(ops), "--memory", str(seeds)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--ops", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)  # the number of seeds
    options = parser.parse_args()
    if options.memory:
        whole(problems(options.rows, options.ops[0]), seeds=options.memory)
        # getrusage would count what the parent held when it started this process
        print(int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) / 1e3)
        return
    print("| rows | ops | work, s | study, s | ratio | at most | handing out, s | ratio | at most | Dask, s | ratio |")
    print("| ---: |" + " ---: |" * 10)
    for ops in options.ops:
        given = problems(options.rows, ops)
        for call in (plain, whole):  # kernels are compiled
            call(problems(EACH, ops))
        rounds = zip(*((np.diff(plain(given)), np.diff(whole(given))) for _ in range(ROUNDS)), strict=True)
        work, study = (np.min(times, axis=0).sum() for times in rounds)
        handing = took(lambda: whole(given, processes=2))  # noqa: B023
        dask = on_dask(given, ops)
        figures = f"{work:.2f} | {study:.2f} | {study / work:.3f} | 1.10 | {handing:.2f} | {handing / work:.3f} | 0.10"
        figures += f" | {dask:.2f} | {dask / work:.3f}"
        print(f"| {options.rows:,} | {ops} | {figures} |", flush=True)
    print("\n| rows | most memory, MB |\n| ---: | ---: |")
    for seeds in (1, 10):
        print(f"| {options.rows // 10 * seeds:,} | {peak(options.rows // 10, seeds, options.ops[0]):.0f} |")


if __name__ == "__main__":
    main()
