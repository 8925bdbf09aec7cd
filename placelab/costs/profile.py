"""What did a run of the model take, op by op? What the profile of any framework comes down to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median as middle
from typing import Any

from placelab.errors import FormatError, expect


@dataclass(frozen=True)
class Profile:
    """Measured costs by op name.

    Attributes
    ----------
    seconds : dict of float
        Op name → seconds of one step; several kernels of one op summed.
    outputs : dict of float
        (op name, output number) → bytes.
    temporary : dict of float
        Op name → bytes it holds while it runs, outputs not included.
    device : dict of str
        Op name → device it ran on.
    source : str
        Where the numbers come from, for the graph's provenance: file, framework, number of steps.
    """

    seconds: dict[str, float]
    outputs: dict[tuple[str, int], float] = field(default_factory=dict)
    temporary: dict[str, float] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)
    source: str = ""

    @classmethod
    def load(cls, *paths: Any, graph: Any = None) -> Profile:
        """The profile in files of ``torch.profiler``, ONNX Runtime or TensorFlow, each op's median over them.

        `graph` is the one whose ops the seconds are for; traces of PyTorch may not tell without. Errors and formats:
        :func:`placelab.formats.profiles.read_profile`.
        """
        from placelab.formats.profiles import read_profile

        return read_profile(*paths, graph=graph)


def median(profiles: Iterable[Profile]) -> Profile:
    """One profile of several steps or files: each op's median over the profiles that have it, its first device.

    Raises
    ------
    FormatError
        No profile at all.

    Examples
    --------
    >>> median([Profile({"a": 1.0}), Profile({"a": 9.0, "b": 2.0}), Profile({"a": 2.0})]).seconds
    {'a': 2.0, 'b': 2.0}
    """
    profiles = list(profiles)
    for profile in profiles:
        expect(profile, Profile, "costs.profile.median")
    if not profiles:
        raise FormatError("there is no profile to take the median of; expected one at least")
    device: dict[str, str] = {}
    for profile in reversed(profiles):
        device |= profile.device
    return Profile(
        seconds=_each(profiles, lambda profile: profile.seconds),
        outputs=_each(profiles, lambda profile: profile.outputs),
        temporary=_each(profiles, lambda profile: profile.temporary),
        device=device,
        source=_sources(profiles),
    )


def _each(profiles: list[Profile], column: Callable[[Profile], dict[Any, float]]) -> dict[Any, float]:
    found: dict[Any, list[float]] = {}
    for profile in profiles:
        for key, value in column(profile).items():
            found.setdefault(key, []).append(value)
    return {key: middle(values) for key, values in found.items()}


def _sources(profiles: list[Profile]) -> str:
    named = list(dict.fromkeys(profile.source for profile in profiles if profile.source))
    if len(profiles) == 1:
        return "".join(named)
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    return f"median of {len(profiles)} profiles: {shown}".removesuffix(": ")
