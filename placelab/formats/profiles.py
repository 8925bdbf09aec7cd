"""Profiles: measured seconds and bytes of each op, from PyTorch, ONNX Runtime and TensorFlow; content tells the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median as middle
from typing import Any

from placelab.base.errors import FormatError, expect
from placelab.base.files import is_json, json_of, read_file, unzipped
from placelab.formats.catalogue import PROFILE, module_of, readers
from placelab.problem.graph import OpGraph

EXPECTED = "a profile: a trace of PyTorch, ONNX Runtime or TensorFlow as JSON, or TensorFlow's RunMetadata"


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
    shapes : dict of str
        (op name, output number) → element type and sizes, as ``float32 [64, 3]``, where they were the same in all steps.
    """

    seconds: dict[str, float]
    outputs: dict[tuple[str, int], float] = field(default_factory=dict)
    temporary: dict[str, float] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)
    source: str = ""
    shapes: dict[tuple[str, int], str] = field(default_factory=dict)

    @classmethod
    def load(cls, *paths: Any, graph: OpGraph | None = None) -> Profile:
        """Read one or more profiles: each op's median over the files.

        Parameters
        ----------
        paths
            Files of ``torch.profiler``, ``onnxruntime`` (``end_profiling``), TensorFlow (timeline, RunMetadata), gzipped or not.
        graph
            Graph of the profiled model; some traces of PyTorch can only be matched with ops if it is given.

        Raises
        ------
        FormatError
            A file that does not exist, or is not a profile.

        Examples
        --------
        >>> import placelab as pl
        >>> graph = pl.load("model.onnx")                                                          # doctest: +SKIP
        >>> pl.costs.measured(graph, Profile.load("profile.json", graph=graph), speed=1e12)        # doctest: +SKIP
        """
        if not paths:
            raise FormatError("Profile.load needs the path of a profile, or of several")
        return median(loads(read_file(path, EXPECTED), str(path), graph) for path in paths)


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
        expect(profile, Profile, "median")
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
        shapes=_alike(profiles),
    )


def loads(data: bytes, where: str = "the upload", graph: OpGraph | None = None) -> Profile:
    """The profile in the bytes of a file; `where` names it in messages."""
    data = unzipped(data, where)
    if not is_json(data):
        return module_of(readers(PROFILE, suffix=".pb")[0]).loads(data, where)
    return profile_of(json_of(data, where, EXPECTED), where, graph)


def profile_of(document: Any, where: str, graph: OpGraph | None = None) -> Profile:
    """The profile in parsed JSON; `where` names it in messages."""
    for row in readers(PROFILE):
        reader = module_of(row)
        if reader.matches(document):
            return reader.profile_of(document, where, **({"graph": graph} if "graph" in row.options else {}))
    raise FormatError(f"{where} is not {EXPECTED}")


def matches(document: Any) -> bool:
    """Whether parsed JSON is a profile of one of these frameworks."""
    return any(module_of(row).matches(document) for row in readers(PROFILE))


def _each(profiles: list[Profile], column: Callable[[Profile], dict[Any, float]]) -> dict[Any, float]:
    found: dict[Any, list[float]] = {}
    for profile in profiles:
        for key, value in column(profile).items():
            found.setdefault(key, []).append(value)
    return {key: middle(values) for key, values in found.items()}


def _alike(profiles: list[Profile]) -> dict[tuple[str, int], str]:
    """Shapes of the outputs that have one shape in all profiles that have them."""
    found: dict[tuple[str, int], set[str | None]] = {}
    for profile in profiles:
        for key in profile.outputs:
            found.setdefault(key, set()).add(profile.shapes.get(key))
    only = ((key, next(iter(shapes))) for key, shapes in found.items() if len(shapes) == 1)
    return {key: shape for key, shape in only if shape is not None}


def _sources(profiles: list[Profile]) -> str:
    named = list(dict.fromkeys(profile.source for profile in profiles if profile.source))
    if len(profiles) == 1:
        return "".join(named)
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    return f"median of {len(profiles)} profiles: {shown}".removesuffix(": ")
