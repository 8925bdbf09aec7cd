"""Measured costs by op, the result of all readers of profiles, and their median."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median as middle
from typing import Any, NamedTuple


class ProfileColumns(NamedTuple):
    """The attributes of a :class:`placelab.costs.profile.Profile`, which documents them."""

    seconds: dict[str, float]
    outputs: dict[tuple[str, int], float] = {}  # noqa: RUF012  (never written to)
    temporary: dict[str, float] = {}  # noqa: RUF012
    device: dict[str, str] = {}  # noqa: RUF012
    source: str = ""


def median_columns(profiles: Iterable[Any]) -> ProfileColumns:
    """Combine profiles of several steps or files: each op's median over the profiles that have it, and its first device."""
    profiles = list(profiles)
    device: dict[str, str] = {}
    for profile in reversed(profiles):
        device |= profile.device
    return ProfileColumns(
        seconds=_each(profiles, lambda profile: profile.seconds),
        outputs=_each(profiles, lambda profile: profile.outputs),
        temporary=_each(profiles, lambda profile: profile.temporary),
        device=device,
        source=_sources(profiles),
    )


def _each(profiles: list[Any], column: Callable[[Any], dict[Any, float]]) -> dict[Any, float]:
    found: dict[Any, list[float]] = {}
    for profile in profiles:
        for key, value in column(profile).items():
            found.setdefault(key, []).append(value)
    return {key: middle(values) for key, values in found.items()}


def _sources(profiles: list[Any]) -> str:
    named = list(dict.fromkeys(profile.source for profile in profiles if profile.source))
    if len(profiles) == 1:
        return "".join(named)
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    return f"median of {len(profiles)} profiles: {shown}".removesuffix(": ")
