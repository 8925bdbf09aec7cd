"""What did a run of the model take, op by op? What the profile of any framework comes down to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from placelab.errors import FormatError, expect
from placelab.formats.profile_columns import median_columns
from placelab.formats.profiles import read_profile


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
        return cls(*read_profile(*paths, graph=graph))


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
    return Profile(*median_columns(profiles))
