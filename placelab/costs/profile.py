"""Profiles: measured seconds and bytes of each op, from any framework."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from placelab.base.errors import FormatError, expect
from placelab.formats.profile_columns import median_columns
from placelab.formats.profiles import read_profile


@dataclass(frozen=True)
class Profile:
    """Measured costs by op name.

    Attributes
    ----------
    seconds : dict of float
        Op name → seconds in one step, summed over the op's kernels.
    outputs : dict of float
        (op name, output number) → bytes.
    temporary : dict of float
        Op name → bytes held while it runs, outputs excluded.
    device : dict of str
        Op name → device it ran on.
    source : str
        Origin of the numbers, for the graph's provenance: file, framework, number of steps.
    """

    seconds: dict[str, float]
    outputs: dict[tuple[str, int], float] = field(default_factory=dict)
    temporary: dict[str, float] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)
    source: str = ""

    @classmethod
    def load(cls, *paths: Any, graph: Any = None) -> Profile:
        """Read files of ``torch.profiler``, ONNX Runtime or TensorFlow: each op's median over them.

        Some traces of PyTorch can only be matched with ops if `graph` is given. Errors and formats:
        :func:`placelab.formats.profiles.read_profile`.
        """
        return cls(*read_profile(*paths, graph=graph))


def median(profiles: Iterable[Profile]) -> Profile:
    """Combine profiles of several steps or files: each op's median over the profiles that have it, and its first device.

    Raises
    ------
    FormatError
        No profiles.

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
    return Profile(*median_columns(profiles))
