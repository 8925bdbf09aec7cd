"""Write the kernels that a page needs as JavaScript: ``kernels.generated.ts``, beside this file. Part of ``make build``.

What it writes depends on the kernels' source alone; ``tests/house/test_live_pages.py`` compares it with the committed file.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import record_calls  # beside this file
import translate

import placelab as pl
from placelab.analysis.idle_time import idle_gaps
from placelab.analysis.improving import best_move
from placelab.planning.lower_bounds import best_bound
from placelab.planning.ranks import rounded
from placelab.schedule.critical_steps import critical_steps

TARGET = Path(__file__).with_name("kernels.generated.ts")
WANTED = (  # by what calls them
    *("sum_of", "row_means", "mean_times", "mean_transfer", "total_times", "durations", "delays", "speed_ups"),
    *("add_by", "decimal_places", "longest_time", "decimal_unit", "whole_again", "path_by_means", "device_of_path"),
    *("memory_waits", "queue_bases", "in_sequence"),
    *("upward", "downward", "round_to_steps", "join_across_borders", "precedence_order", "in_order"),
    *("as_ready", "earliest_first", "optimistic_cost", "choose_ready", "choose_least", "one_by_one"),
    *("path_computation_time", "group_transfers", "run_events", "link_items", "walk_back", "idle_gaps"),
    *("memory_changes", "memory_levels", "mark_before_and_behind", "order_all", "heads", "least_span"),
    *("least_times", "least_transfers", "longest_window", "first_gap", "shorter"),
)
HEAD = "// Written by generate.py from placelab/kernels; make build writes it anew.\n// @ts-nocheck\n"


def text() -> str:
    """The module, as it is to be."""
    with record_calls.recording() as calls:
        rounded(np.array([0.5, 1.5, 2.0**40]) / 2.0**40)  # two near a border: few problems have them
        halves = pl.OpGraph.from_arrays(["a", "b"], [0.5, 1.5], [(0, 1)], edge_bytes=[1.0])  # which are whole in tenths
        pl.place(pl.Problem(halves, pl.Cluster([1.0, 1.0], bandwidth=1.0)), "heft")
        pl.place(pl.datasets.problem("topcuoglu"), "heft")  # of measured times
        for transfers in record_calls.TRANSFERS:
            problem = pl.Problem(pl.generators.layered(12, seed=1), pl.clusters.pcie_box(3), transfers=transfers)
            best_bound(problem)
            pl.place(problem.replace(cluster=pl.Cluster.uniform(5)), "min-min")  # many of a kind have another kernel
            for room, partitioner in ((0.7, "heft"), (0.9, "m-etf")):  # too little, and enough
                tight = problem.cluster.replace(memory=[room * float(problem.graph.memory.sum())] * 3)
                with suppress(pl.InfeasibleError):
                    pl.place(problem.replace(cluster=tight, memory="dynamic"), partitioner)
            pl.place(problem, "single")
            for partitioner in ("heft", "tf-greedy", "etf", "cpop", "peft", "min-min"):
                for scheduler in ("fifo", "pct", "msr", "planned"):
                    schedule = pl.solve(problem, partitioner, scheduler)
                    critical_steps(schedule)
                    idle_gaps(schedule)
                    schedule.memory(0)
            plan = pl.by_hand(schedule)
            plan.move(str(problem.graph.names[3]), 0)
            best_move(schedule)
    kernels, types = record_calls.types_of(calls)
    found = {each.__name__: each for each in kernels}
    return HEAD + translate.translate([found[name] for name in WANTED], types)


if __name__ == "__main__":
    os.environ["PLACELAB_JIT"] = "0"  # samples of arguments need plain Python alone
    TARGET.write_text(text(), newline="\n")
