"""Schedulers: one rule per file. Importing this package enters them into the catalogue."""

from placelab.strategies.scheduling import (  # noqa: F401
    depth_first,
    dualpipe,
    fifo,
    forward_only,
    gpipe,
    interleaved,
    looped_bfs,
    msr,
    one_f_one_b,
    pct,
    planned_order,
    random_order,
    random_reads,
    tac,
    tic,
    zb_auto,
    zb_h,
    zb_v,
)
