"""When placelab's own strategies are imported: at the first look into a catalogue, which knows nothing of them before."""

from __future__ import annotations

from importlib import import_module

from placelab.base.interrupts import need

_awaited: list[str] = []


def enter_later(*modules: str) -> None:
    """Have modules that enter strategies imported by :func:`enter_now`, in this order."""
    _awaited.extend(modules)


def enter_now() -> None:
    """Import what :func:`enter_later` named; a thread that comes meanwhile waits until all is entered.

    No module of placelab may get here while it is imported itself: the import may run in another thread, which would wait for it.
    """
    for module in tuple(_awaited):
        need(module)
        import_module(module)  # another thread may be at it: the module is there, and not yet whole
    _awaited.clear()
