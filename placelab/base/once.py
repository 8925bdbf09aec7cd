"""Compute a function of a frozen object once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def once(function: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Compute `function` once for each object and further arguments; the object keeps the results, as those of cached properties.

    The first argument is a graph, problem, placement or schedule, which never changes; the others can be hashed.
    """
    name = _name(function)

    @wraps(function)
    def kept(owner: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        results: dict[Any, T] = vars(owner).setdefault(name, {})
        key = args, tuple(kwargs.items())
        if key not in results:
            results[key] = function(owner, *args, **kwargs)
        return results[key]

    return kept


def computed(function: Callable[Concatenate[Any, P], T], owner: Any, *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What `function` has computed once for these arguments, None where it has not yet; nothing is computed."""
    return vars(owner).get(_name(function), {}).get((args, tuple(kwargs.items())))


def handed_on(function: Callable, owner: Any, to: Any) -> None:
    """Let `to` have what `function` has computed once for `owner`, because it is the same for both."""
    name = _name(function)
    vars(to).setdefault(name, {}).update(vars(owner).get(name, {}))


def _name(function: Callable) -> str:
    return f"_once_{function.__module__}.{function.__name__}"
