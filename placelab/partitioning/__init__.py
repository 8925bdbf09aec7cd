"""Partitioners: one algorithm per file. Importing this package enters them into the catalogue."""

from placelab.partitioning import (  # noqa: F401
    batch_split,
    contiguous,
    cp_sat,
    cpop,
    critical_path,
    dfs,
    etf,
    hashing,
    heft,
    ilp,
    layers,
    m_topo,
    min_cut,
    mite,
    portfolio,
    random_devices,
    round_robin,
    sct,
    single,
    tf_greedy,
)
