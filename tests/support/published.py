"""Read the data published with Mayer 2017, stored beside the project (NOTES.md there describes content and source)."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

import placelab as pl


def problem(folder: Path, network: str, **rules) -> pl.Problem:
    """A published network on the 50 published devices; ops are named by their number there. Memory is not checked."""
    graph = pl.load(folder / f"{network}.csv")
    return pl.Problem(graph, _cluster(folder), memory="none", **rules)


def placement(folder: Path, on: pl.Problem, network: str, strategy: str) -> pl.Placement:
    """The published program's placement."""
    where = {op: f"dev{device}" for op, device in _rows(folder / f"placement_{network}_{strategy}_50.csv")}
    return pl.Placement.from_mapping(on, where)


def _cluster(folder: Path) -> pl.Cluster:
    rows = sorted(_rows(folder / "devices_50.csv"), key=lambda row: int(row[0]))
    k = len(rows)
    rate = np.eye(k)
    for i, row in enumerate(rows):
        for j, value in enumerate((x for x in row[3].split(";") if x), start=i + 1):
            rate[i, j] = rate[j, i] = float(value)
    speed = [float(row[2]) for row in rows]
    memory = [float(row[1]) for row in rows]
    return pl.Cluster(speed, memory=memory, bandwidth=rate, types=[row[4] for row in rows])


def _rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return [row for row in list(csv.reader(file))[1:] if row]
