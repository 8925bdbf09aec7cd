"""A placement: the device of each op, where it comes from, and its form as JSON.

::

    {"format": "placelab-placement", "version": 1, "graph": "bert", "partitioner": "heft", "estimate": 0.012,
     "devices": ["gpu:0", "gpu:1"], "placement": {"embed": "gpu:0", …}, "planned": ["embed", …] or null}

``estimate`` is in seconds or null; ``planned`` is the order the partitioner planned. Version 2 has the key ``not_before``, the
seconds before which ops of that order do not start, ``{"embed": 0.002, …}``; a placement without is written as version 1.
What is read may also be the object under ``placement`` alone, as a hand or another program writes it; members of a group may be
left out then. Or it is a device map of PyTorch modules, see ``placelab/schedule/placement.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, expect
from placelab.base.fields import cost, read_from, record, text, texts
from placelab.base.files import json_of, path_for, read_file, save
from placelab.base.index_arrays import frozen
from placelab.base.units import bundle
from placelab.problem import graph_json
from placelab.problem.cluster import Cluster
from placelab.problem.hardware import hardware
from placelab.problem.problem import Problem
from placelab.schedule.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


FORMAT = "placelab-placement"
VERSIONS = (1, 2)
EXPECTED = "a placement: an object of op name → device name"
PROVEN = 1e-6  # relative; what solvers' rounding of times may leave between an optimum and its bound


@dataclass(frozen=True, eq=False)
class Placement:
    """One device for each op of a problem.

    Attributes
    ----------
    problem : Problem
    device : ndarray of int32, shape (n_ops,)
    planned : ndarray of int32, shape (n_ops,), or None
        Ops in the order the partitioner planned, for the ``planned`` scheduler.
    not_before : ndarray of float64, shape (n_ops,), or None
        Times [s] before which ``planned`` starts no op, 0 where nothing is asked; of plans in which an op waited for memory, or
        waits for it in their run. They stay as they are when the placement is run with other costs.
    estimate : float or None
        Makespan the partitioner expects [s].
    trace : Trace or None
    partitioner : str
        Name of the partitioner that made it, "" for a placement by hand.
    bound : float or None
        Lower bound on the makespan of every schedule of the problem that the partitioner proved [s].
    notes : tuple of str
        Sentences that belong to the result: what was assumed, that it is a preview, which approximation ratio holds.
    table : DataFrame or None
        What the partitioner tried, for those that try several.
    """

    problem: Problem
    device: np.ndarray
    planned: np.ndarray | None = None
    estimate: float | None = None
    trace: Trace | None = None
    partitioner: str = ""
    bound: float | None = None
    notes: tuple[str, ...] = ()
    table: pd.DataFrame | None = None
    not_before: np.ndarray | None = None

    def __post_init__(self) -> None:
        expect(self.problem, Problem, "a placement")
        object.__setattr__(self, "device", _numbers(self.device, "devices"))
        if self.planned is not None:
            object.__setattr__(self, "planned", _numbers(self.planned, "ops in the planned order"))
        if self.not_before is not None:
            object.__setattr__(self, "not_before", checked_times(self.not_before, self.device))
        for label in ("estimate", "bound"):
            object.__setattr__(self, label, _seconds(getattr(self, label), label))
        text(self.partitioner, "the partitioner of a placement")
        _check_placement(self)

    @classmethod
    def from_mapping(cls, problem: Problem, where: Mapping[str, Any]) -> Placement:
        """A placement from op name → device name; members of a group may be left out, all others must be there."""
        expect(problem, Problem, "Placement.from_mapping")
        expect(where, Mapping, "Placement.from_mapping")
        device = np.full(problem.graph.n_ops, -1, dtype=np.int32)
        for name, where_to in where.items():
            device[problem.graph.index(name)] = problem.cluster.index(where_to)
        for v in np.flatnonzero(device < 0).tolist():
            placed = problem.members(v)[device[problem.members(v)] >= 0]
            if not len(placed):
                raise FormatError(
                    f"op {problem.graph.names[v]!r} has no device; the mapping must name one for every op"
                )
            device[v] = device[placed[0]]
        return cls(problem, device)

    @classmethod
    def load(cls, problem: Problem, path: Any) -> Placement:
        """A placement from a JSON file, as :meth:`save` or a person writes it: ``{"op": "device", …}``, or a device map.

        Parameters
        ----------
        problem
            Whose ops and devices the file names.
        path
            The file, gzipped or not; also a device map of PyTorch modules (``placelab/schedule/py``).

        Raises
        ------
        FormatError
            Not such a file; an op or a device that the problem does not have, or an op without a device.
        """
        expect(problem, Problem, "Placement.load(problem, path)")
        return cls._of(problem, read(path), str(path))

    @classmethod
    def loads(cls, problem: Problem, data: bytes, where: str = "the upload") -> Placement:
        """A placement from the bytes of such a file; `where` names it in messages. Errors: as :meth:`load`."""
        expect(problem, Problem, "Placement.loads(problem, data)")
        return cls._of(problem, loads(data, where), where)

    @classmethod
    def _of(cls, problem: Problem, stored: PlacementColumns, where: str) -> Placement:
        with read_from(where):
            order = (
                None if stored.planned is None else np.array([problem.graph.index(op) for op in stored.planned], "i4")
            )
            if stored.partitioner is None and is_device_map(problem, stored.device):
                device, notes = placed_by_map(problem, stored.device)
                return cls(problem, device, notes=notes)
            placement = cls.from_mapping(problem, stored.device)
            times = None
            if stored.not_before is not None:
                times = np.zeros(problem.graph.n_ops)
                times[[problem.graph.index(op) for op in stored.not_before]] = list(stored.not_before.values())
            placement = replace(placement, planned=order, not_before=times)
            return replace(placement, estimate=stored.estimate, partitioner=stored.partitioner or "")

    def save(self, path: Any) -> Path:
        """Write the placement as JSON, op name → device name, to a file ``.json`` or ``.json.gz``, gzipped."""
        path = path_for(path, "a placement", "JSON", ".json")
        return save(dumps(self), path)

    def to_mapping(self) -> dict[str, str]:
        """Op name → device name."""
        return {
            name: self.problem.cluster.names[d] for name, d in zip(self.problem.graph.names, self.device, strict=True)
        }

    @property
    def optimal(self) -> bool:
        """Whether `bound` proves that no schedule of the problem is shorter than `estimate`.

        The two may differ by 1e-6 of the bound: ``cp-sat`` rounds each time to 2⁻³⁰ of the makespan, ``ilp`` has a tolerance.
        False without an estimate or without a bound. Notes that say "proven optimal" go by this.
        """
        if self.estimate is None or self.bound is None:
            return False
        return self.estimate <= self.bound * (1 + PROVEN)

    def proven(self, makespan: float) -> float:
        """`bound` [s], or 0 where there is none, or where a schedule that takes `makespan` [s] refutes it.

        Examples
        --------
        >>> import placelab as pl
        >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
        >>> claimed = pl.Placement(problem, [0] * 5, bound=4.0)
        >>> claimed.proven(5.0), claimed.proven(3.0)
        (4.0, 0.0)
        """
        return self.bound if self.bound is not None and self.bound <= makespan * (1 + PROVEN) else 0.0

    def __repr__(self) -> str:
        used = len(np.unique(self.device))
        k = self.problem.cluster.n_devices
        return f"Placement({self.problem.graph.n_ops} ops on {used} of {k} devices)"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle(self)


def signed(placement: Placement, partitioner: str, notes: tuple[str, ...]) -> Placement:
    """The placement under a partitioner's name and with these notes; the rest holds, and is not checked again."""
    text(partitioner, "the partitioner of a placement")
    made = object.__new__(Placement)
    vars(made).update({label: getattr(placement, label) for label in Placement.__dataclass_fields__})
    vars(made).update(partitioner=partitioner, notes=notes)
    return made


def _numbers(value: Any, what: str) -> np.ndarray:
    """Numbers of `what` as int32; fractions and numbers beyond int32 are refused."""
    given = np.asarray(value)
    if given.dtype.kind not in "iu" or (given.size and max(-int(given.min()), int(given.max())) >= 2**31):
        raise FormatError(f"{what} must be whole numbers, one per op; from_mapping takes names")
    return frozen(given.astype(np.int32, copy=False))


def _seconds(value: Any, label: str) -> float | None:
    """A time as a float or None; FormatError unless it is finite, 0 or more."""
    return None if value is None else cost(value.item() if isinstance(value, np.generic) else value, label)


def checked_times(value: Any, ops: Any) -> np.ndarray:
    """Times before which no op starts as a frozen array; FormatError unless they are finite, 0 or more, one for each of `ops`."""
    times = np.array(value, dtype=np.float64)
    if times.shape != np.shape(ops) or not (np.isfinite(times) & (times >= 0)).all():
        raise FormatError(f"not_before must be finite times of 0 or more, one for each of {np.size(ops)} ops")
    return frozen(times)


def _check_placement(placement: Placement) -> None:
    problem = placement.problem
    device = placement.device
    names = problem.graph.names
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    if device.shape != (n,):
        raise FormatError(f"the placement has {device.shape} devices; expected one for each of {n} ops")
    if device.min() < 0 or device.max() >= k:
        v = int(np.flatnonzero((device < 0) | (device >= k))[0])
        raise FormatError(f"op {names[v]!r} is on device {device[v]}; the cluster has devices 0 to {k - 1}")
    if problem.restricted and not problem.runs_on(device).all():
        v = int(np.argmin(problem.runs_on(device)))
        raise InfeasibleError(
            f"op {names[v]!r} is on {problem.cluster.names[device[v]]!r}, but may only run on "
            f"{', '.join(problem.cluster.names[d] for d in problem.feasible(v))}"
        )
    if problem.n_groups:
        first = problem.group_ops[problem.group_ptr[:-1]]
        apart = np.flatnonzero(device[problem.group_ops] != device[first][problem.group[problem.group_ops]])
        if len(apart):
            v = problem.group_ops[apart[0]]
            raise InfeasibleError(
                f"op {names[v]!r} is not on the device of {names[first[problem.group[v]]]!r}, but both are in colocation group "
                f"{problem.group_names[problem.group[v]]!r}"
            )
    if placement.planned is not None and not np.array_equal(np.sort(placement.planned), np.arange(n)):
        raise FormatError(f"the planned order must name each of the {n} ops once")
    if placement.not_before is not None and placement.planned is None:
        raise FormatError("not_before times belong to a planned order, and the placement has none")


class PlacementColumns(NamedTuple):
    """A placement in names, as a file stores it; :meth:`Placement.load` makes the placement of a problem from it."""

    device: dict[str, Any]  # names; in a device map of modules also numbers
    planned: list[str] | None
    not_before: dict[str, float] | None
    estimate: float | None
    partitioner: str | None  # None: a mapping alone, as a hand or another program writes it


def dumps(placement: Placement) -> str:
    """A placement as JSON text, an op per line."""
    names = placement.problem.graph.names
    not_before = placement.not_before
    document = {
        "format": FORMAT,
        "version": 1 if not_before is None else 2,
        "graph": placement.problem.graph.title,
        "partitioner": placement.partitioner,
        "estimate": placement.estimate,
        "devices": list(placement.problem.cluster.names),
        "placement": placement.to_mapping(),
        "planned": None if placement.planned is None else names[placement.planned].tolist(),
    }
    if not_before is not None:
        document["not_before"] = {names[v]: float(not_before[v]) for v in np.flatnonzero(not_before)}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read(path: Any) -> PlacementColumns:
    """What a file says of a placement.

    Raises
    ------
    FormatError
        Not such a file.
    """
    return loads(read_file(path, EXPECTED), str(path))


def loads(data: bytes, where: str = "the upload") -> PlacementColumns:
    """Parse the bytes of a placement file, gzipped or not; `where` names it in messages."""
    document = json_of(data, where, EXPECTED)
    if not isinstance(document, dict):
        raise FormatError(f"{where} is not {EXPECTED}")
    if graph_json.is_one(document):
        raise FormatError(f"{where} is a graph, which pl.load reads; expected {EXPECTED}")
    stored = document if is_one(document) else {"version": 1, "placement": document, "partitioner": None}
    if type(stored.get("version")) is not int or stored["version"] not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise FormatError(f"{where} has version {stored.get('version')!r:.40}; this placelab reads versions {known}")
    with read_from(where):
        return _columns(stored)


def is_one(document: Any) -> bool:
    """Whether parsed JSON says that it is a placement."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def _columns(stored: dict[str, Any]) -> PlacementColumns:
    device = record(stored.get("placement"), "placement")
    alone = "partitioner" in stored and stored["partitioner"] is None
    for op, name in device.items():
        if not alone or type(name) is not int or name < 0:
            text(name, f"the device of op {op!r:.80}")
    planned = stored.get("planned")
    estimate = stored.get("estimate")
    times = record(stored.get("not_before"), "not_before") if stored["version"] == 2 else None
    return PlacementColumns(
        device,
        planned=None if planned is None else texts(planned, "planned"),
        not_before=times and {op: cost(time, f"not_before of op {op!r:.80}") for op, time in times.items()},
        estimate=None if estimate is None else cost(estimate, "estimate"),
        partitioner=None if alone else text(stored.get("partitioner", ""), "partitioner"),
    )


# ------------------------------------------------------------- device maps of modules, as Accelerate and transformers write them

ACCELERATOR = re.compile(
    r"(?:(?:cuda|xpu|npu|mlu|musa|hpu|mps|tpu|xla):)?(\d{1,6})|(?:cuda|xpu|npu|mlu|musa|hpu|mps|tpu|xla)"
)
HOST = ("cpu", "disk")
BACKWARD = "gradients."


def is_device_map(problem: Problem, given: Mapping[str, Any]) -> bool:
    """Whether op or module → device is a device map: a device is called as in PyTorch, or a name is a module's with ops in it."""
    devices = set(problem.cluster.names)
    if any(
        isinstance(d, int) or (d not in devices and (d in HOST or ACCELERATOR.fullmatch(d))) for d in given.values()
    ):
        return True
    ops = set(problem.graph.names.tolist())
    modules = {prefix for name in ops for prefix in _around(_path(name))} if given.keys() - ops else set()
    return any(name not in ops and _path(name) in modules for name in given)


def placed_by_map(problem: Problem, given: Mapping[str, Any]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The device of each op, and notes on what the map leaves open; FormatError if it has a device that the cluster lacks."""
    graph = problem.graph
    where = {_path(name): _device(problem.cluster, name, d) for name, d in given.items()}
    device = np.full(graph.n_ops, -1, dtype=np.int32)
    used = set[str]()
    for v, name in enumerate(graph.names.tolist()):
        module = next((prefix for prefix in _around(_path(name)) if prefix in where), None)
        if module is not None:
            device[v] = where[module]
            used.add(module)
    if not used:
        raise FormatError(f"no op of {graph.title} is in a module of the map, such as {next(iter(given), '')!r:.80}")
    open_ops = np.flatnonzero(device < 0)
    _follow(problem, device)
    notes = [f"{len(open_ops):,} ops are in no module of the map: they run where their inputs are"] * bool(
        len(open_ops)
    )
    unused = [name for name in given if _path(name) not in used]
    shown = ", ".join(repr(name)[:60] for name in unused[:3]) + ", …" * (len(unused) > 3)
    notes += [f"{len(unused):,} modules of the map have no op of their own: {shown}"] * bool(unused)
    return device, tuple(notes)


def _path(name: str) -> str:
    """A name with dots between its parts."""
    return name.lstrip("/").replace("/", ".").removeprefix(BACKWARD)


def _around(path: str) -> list[str]:
    """A path and what is around it, the longest first, "" last."""
    cuts = [i for i, mark in enumerate(path) if mark == "."]
    return [path, *(path[:i] for i in reversed(cuts)), *[""] * bool(path)]


def _device(cluster: Cluster, module: str, given: Any) -> int:
    if isinstance(given, str) and given in cluster.names:
        return cluster.names.index(given)
    on_cpu = [kind == "cpu" for kind in hardware(cluster)]
    found = ACCELERATOR.fullmatch(given) if isinstance(given, str) else None
    if given in HOST:
        devices = [d for d, cpu in enumerate(on_cpu) if cpu]
        number = 0
    elif found or (isinstance(given, int) and given >= 0):
        devices = [d for d, cpu in enumerate(on_cpu) if not cpu]
        number = int(found[1] or 0) if found else given
    else:
        raise FormatError(
            f"module {module!r:.80} is on {given!r:.60}; expected a number, cuda:N, cpu, disk or a device's name"
        )
    if number >= len(devices):
        kind = "CPUs" if given in HOST else "devices beside CPUs"
        raise FormatError(f"module {module!r:.80} is on {given!r:.60}; the cluster has {len(devices)} {kind}")
    return devices[number]


def _follow(problem: Problem, device: np.ndarray) -> None:
    """Place the ops that are left with another of their group, their first producer, or, where none is placed, a consumer."""
    graph = problem.graph
    inputs: list[list[int]] = [[] for _ in range(graph.n_ops)]
    readers: list[list[int]] = [[] for _ in range(graph.n_ops)]
    for u, v in graph.edges.tolist():
        inputs[v].append(u)
        readers[u].append(v)
    for near, order in (
        (inputs, range(graph.n_ops)),
        (readers, range(graph.n_ops - 1, -1, -1)),
        (inputs, range(graph.n_ops)),
    ):
        for v in order:
            if device[v] < 0:
                placed = [u for u in (*problem.members(v).tolist(), *near[v]) if device[u] >= 0]
                device[v] = device[placed[0]] if placed else -1
    if (device < 0).any():
        v = int(np.argmin(device))
        raise FormatError(
            f"op {graph.names[v]!r} is in no module of the map, and neither are its inputs nor its readers; add ''"
        )
