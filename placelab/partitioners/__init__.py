"""Where does each op go? One algorithm per file; importing this package enters them into the catalogue."""

from placelab.partitioners import (  # noqa: F401
    batch_split,
    contiguous,
    critical_path,
    dfs,
    hashing,
    mite,
    random,
    round_robin,
    single,
)
