"""Outputs that live in the memory of an input: what a reader knows of a framework's views and identities, as storages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Out = tuple[int, int]  # op, number of its output


def storages(aliases: Iterable[tuple[Out, Out]], size: Callable[[Out], float]) -> dict[Out, int]:
    """A number for the storage of each output that shares one; the others have a storage of their own.

    Parameters
    ----------
    aliases
        Pairs of an output and the one that lives in it, the pair that makes an output before those that read it.
    size
        Bytes of an output. One that is larger than the storage gets its own: the file is wrong, or the size was not known.

    Examples
    --------
    >>> size = {(0, 0): 8.0, (1, 0): 8.0, (2, 0): 8.0, (3, 0): 9.0}
    >>> storages([((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (3, 0))], size.__getitem__)
    {(0, 0): 0, (1, 0): 0, (2, 0): 0}
    """
    storage: dict[Out, int] = {}
    first: list[Out] = []  # output in each storage
    for source, own in aliases:
        held = first[storage[source]] if source in storage else source
        if not 0.0 < size(own) <= size(held):
            continue
        if source not in storage:
            storage[source] = len(first)
            first.append(source)
        storage[own] = storage[source]
    return storage
