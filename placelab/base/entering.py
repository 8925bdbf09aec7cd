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

    An interrupt may end it half-way, but for numpy: the next call goes on, in the same order.
    """
    if _awaited:
        need("numpy")
        for module in tuple(_awaited):
            import_module(module)
        _awaited.clear()
