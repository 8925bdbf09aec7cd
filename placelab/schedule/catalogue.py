"""Catalogues of partitioners, schedulers and transforms, which are plain functions.

A partitioner is ``f(problem, *, options) -> Placement``. A scheduler is either a rule asked at run time,
``f(state, device, ready) -> op``, or, with ``static=True``, ``f(problem, placement, *, options)`` that returns op priorities
(n_ops,), or (op priorities, transfer priorities), or a :class:`placelab.Order`. Larger priorities go first. A transform is
``f(problem, *, options) -> (smaller problem, expand)``, with ``expand`` from a placement of the smaller problem to one of the
problem.

Options are checked against their annotations (:func:`check_options`), by name and when the function is called directly:
``bool``, ``int``, ``float``, ``Literal[…]``, ``Annotated[int, Limits(0)]``, each of them also with ``| None``.
"""

from __future__ import annotations

import functools
import inspect
import typing
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from math import inf
from types import MappingProxyType, NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, Protocol, TypeVar, cast

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, described, is_name, poses_as_number, with_article
from placelab.base.interrupts import enter_now, lacking
from placelab.base.seeds import seed_number
from placelab.kernels.run.memory_in_use import fits
from placelab.kernels.run.simulation_blocks import Arguments
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.whole_costs import in_whole_units


class RunState:
    """The state of a run when a rule is asked for the next op: read-only.

    Attributes
    ----------
    problem, placement
        What is running, and where.
    time : float
        Now [s].
    random : numpy.random.Generator
        Seeded with the simulation's seed.
    """

    def __init__(self, problem: Problem, placement: Placement, view: Arguments, seed: int) -> None:
        self.problem = problem
        self.placement = placement
        self._view = view
        self._seed = seed

    @property
    def time(self) -> float:
        """Now [s]."""
        return float(self._view.clock.now[0])

    @cached_property
    def random(self) -> np.random.Generator:
        """A generator seeded with the simulation's seed."""
        return np.random.default_rng(self._seed)

    def exec_time(self, op: int) -> float:
        """Seconds that op takes on its device."""
        return float(self._view.ops.duration[op])

    def idle(self, device: int) -> bool:
        """Whether nothing runs on that device at the moment."""
        return not self._view.devices.busy[device]

    def missing_inputs(self, op: int) -> int:
        """Number of inputs (edges) of that op that have not arrived yet."""
        return int(self._view.ops.missing[op])

    def executable_since(self, op: int) -> float:
        """Time at which the last input of an executable op arrived [s]; 0 for an op without inputs."""
        graph = self.problem.graph
        view = self._view
        arrival = 0.0
        for e in graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]:
            x = view.copies.of_edge[e]
            came = view.results.transfer_finish[x] if x >= 0 else view.results.finish[graph.producer[e]]
            arrival = max(arrival, came)
        return float(arrival)

    def fits(self, op: int) -> bool:
        """Whether the op's device has room for it now."""
        view = self._view
        return bool(fits(op, view.ops.device[op], view.pred, view.copies.of_edge, view.memory))


class Strategy(Protocol):
    """A decorated function: attributes that the decorators add.

    Attributes
    ----------
    name
        Its key in the catalogue.
    summary
        First line of its docstring.
    source
        Publication.
    options
        Name → (annotation, default) of its options.
    packages
        Modules that it imports when it runs, which may be missing.
    reserved
        Those of ``RESERVED`` among its parameters.
    """

    name: str
    summary: str
    source: str
    packages: tuple[str, ...]
    options: dict[str, tuple[Any, Any]]
    reserved: tuple[str, ...]


class Partitioner(Strategy, Protocol):
    """Choose the device of each op; `slow` for one that searches for seconds by design."""

    slow: bool

    def __call__(self, problem: Problem, **options: Any) -> Placement: ...


class StaticScheduler(Strategy, Protocol):
    """Choose the order once: op priorities (n_ops,), (op priorities, transfer priorities), or a :class:`placelab.Order`."""

    static: Literal[True]
    needs: str

    def __call__(self, problem: Problem, placement: Placement, **options: Any) -> Any: ...


class Rule(Strategy, Protocol):
    """Choose one of the ops in `ready`; called whenever a device must choose."""

    static: Literal[False]
    needs: str

    def __call__(self, state: RunState, device: int, ready: Sequence[int], **options: Any) -> int: ...


class Transform(Strategy, Protocol):
    """Make a problem smaller before it is placed; return it with a function that expands its placements."""

    def __call__(self, problem: Problem, **options: Any) -> tuple[Problem, Callable[[Placement], Placement]]: ...


Scheduler = StaticScheduler | Rule
AnyStrategy = TypeVar("AnyStrategy", bound=Strategy)
Function = TypeVar("Function", bound=Callable)

_partitioners: dict[str, Partitioner] = {}
_schedulers: dict[str, Scheduler] = {}
_transforms: dict[str, Transform] = {}
on_change: list[Callable[[], None]] = []  # called when an entry is new or replaced, so that pickers can follow
KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool, np.bool_), "True or False"),
    int: ((int, np.integer), "a whole number"),
    float: ((int, float, np.integer, np.floating), "a number"),
    Callable: ((Callable,), "a function"),  # type: ignore[dict-item]
}
NUMBERS = (int, float)
# Keywords that the caller fills in, not options of a strategy. A strategy that names them gets: the seed; whether to record a
# trace; whether a quick approximation is enough (while a user drags); a function to call with Progress now and then; and a
# function to call now and then that returns True to stop, whereupon the strategy returns its best result.
RESERVED = ("seed", "trace", "preview", "progress", "cancel")
PLANNED = "planned"  # the default scheduler of placements with a plan
UNPLANNED = "pct"  # and of those without


def default_scheduler(placement: Placement) -> str:
    """Name of the scheduler where none is asked for: ``planned`` if the placement has a plan, else ``pct``."""
    return UNPLANNED if placement.planned is None else PLANNED


@dataclass(frozen=True)
class Limits:
    """Limits of an option: ``threshold: Annotated[float, Limits(0, 1)] = 0.5``.

    Attributes
    ----------
    least, most
        Both are allowed themselves.
    above
        True where `least` itself is not allowed.
    """

    least: float
    most: float = inf
    above: bool = False

    def hold(self, value: float) -> bool:
        """Whether a number is within the limits."""
        return self.least <= value <= self.most and not (self.above and value == self.least)

    def __str__(self) -> str:
        if self.above:
            return f"above {self.least:,}" + ("" if self.most == inf else f", and {self.most:,} or less")
        return f"{self.least:,} or more" if self.most == inf else f"{self.least:,} to {self.most:,}"


def partitioner(
    function: Callable | None = None,
    *,
    name: str = "",
    source: str = "",
    slow: bool = False,
    packages: tuple[str, ...] = (),
) -> Any:
    """Enter a function into the catalogue of partitioners, under `name` or its own with ``-`` for ``_``.

    `source` names who published it and when, ``"Topcuoglu 2002"``; ``"Baseline"`` where nobody did.
    Entering a name again replaces it, so a notebook cell can be run again; replacing one of placelab's own warns.
    ``slow=True`` for one that searches for seconds by design: it is not called during a drag, and comes last in comparisons.
    `packages` are those that it needs and that may not be installed: it raises UnsupportedError then, and menus show it in grey.
    """
    facts = dict(name=name, source=source, slow=slow, packages=packages)
    return _enter(_partitioners, function, facts, first=("problem",))


def scheduler(
    function: Callable | None = None, *, static: bool = False, name: str = "", source: str = "", needs: str = ""
) -> Any:
    """Enter a function into the catalogue of schedulers; ``static=True`` for one that gives priorities once.

    `source` is as for :func:`partitioner`.
    `needs` is a key of ``graph.metadata`` without which it raises UnsupportedError, such as ``"pipeline"``. Entering a name again
    replaces it.
    """
    first = ("problem", "placement") if static else ("state", "device", "ready")
    return _enter(
        _schedulers, function, dict(name=name, source=source, static=static, needs=needs, packages=()), first=first
    )


def transform(
    function: Callable | None = None, *, name: str = "", source: str = "", packages: tuple[str, ...] = ()
) -> Any:
    """Enter a function into the catalogue of transformations that :func:`placelab.place` can apply before placing.

    Entering a name again replaces it. `packages` as for :func:`placelab.partitioner`.
    """
    return _enter(_transforms, function, dict(name=name, source=source, packages=packages), first=("problem",))


def partitioners() -> Mapping[str, Partitioner]:
    """The catalogue of partitioners: name → function with ``summary``, ``source``, ``options``."""
    enter_now()
    return MappingProxyType(_partitioners)


def schedulers() -> Mapping[str, Scheduler]:
    """The catalogue of schedulers: name → function with ``summary``, ``source``, ``options``, ``static``."""
    enter_now()
    return MappingProxyType(_schedulers)


def transforms() -> Mapping[str, Transform]:
    """The catalogue of transformations: name → function with ``summary``, ``source``, ``options``."""
    enter_now()
    return MappingProxyType(_transforms)


def find(catalogue: Mapping[str, AnyStrategy], strategy: str | AnyStrategy, what: str) -> AnyStrategy:
    """The entry of that name (``_`` and ``-`` alike), or the function itself; UnsupportedError names what there is."""
    if not isinstance(strategy, str):
        if not callable(strategy):
            expected = f"the name of a {what}, or a function decorated with @placelab.{what}"
            raise FormatError(f"expected {expected}, found {described(strategy)}")
        if not hasattr(strategy, "options") or not hasattr(strategy, "static") == (what == "scheduler"):
            raise UnsupportedError(
                f"{getattr(strategy, '__name__', strategy)!r} is not decorated with @placelab.{what}; decorate it"
            )
        return strategy
    name = strategy.replace("_", "-")
    if name not in catalogue:
        for other, entries in (("partitioner", _partitioners), ("scheduler", _schedulers), ("transform", _transforms)):
            if name in entries:
                raise UnsupportedError(
                    f"{strategy!r} is a {other}; expected a {what}, of which there are {', '.join(catalogue)}"
                )
        close = get_close_matches(name, catalogue, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(catalogue)}"
        raise UnsupportedError(f"no {what} is called {strategy!r}; {hint}")
    return catalogue[name]


def keywords(strategy: Strategy, options: Mapping[str, Any], **reserved: Any) -> dict[str, Any]:
    """The keyword arguments to call a strategy with: its options, checked, and the reserved ones it asks for."""
    check_options(strategy.name, strategy.options, options)
    reserved |= {"seed": seed_number(reserved["seed"])} if "seed" in reserved else {}
    return {**options, **{name: value for name, value in reserved.items() if name in strategy.reserved}}


def check_options(who: str, known: Mapping[str, tuple[Any, Any]], options: Mapping[str, Any]) -> None:
    """UnsupportedError for options that `who` does not have, and for values that their annotations rule out."""
    if not options:
        return
    if unknown := sorted(set(options) - set(known)):
        raise UnsupportedError(
            f"{who!r} has no option {', '.join(unknown)!r}; its options: {', '.join(known) or 'none'}"
        )
    for name, value in options.items():
        if wanted := _wanted(known[name][0], value):
            raise UnsupportedError(f"{who}: {name} is {value!r}; expected {wanted}")


def _wanted(hint: Any, value: Any) -> str:
    """What an annotation expects instead of a value; "" where the value is allowed, or where the annotation does not tell."""
    if typing.get_origin(hint) in (typing.Union, UnionType):
        kinds = [kind for kind in typing.get_args(hint) if kind is not NoneType]
        none = len(kinds) < len(typing.get_args(hint))
        if (none and value is None) or (len(kinds) > 1 and not _is_class(hint)):
            return ""
        wanted = [_wanted(kind, value) for kind in kinds]
        return " or ".join(wanted) + ", or None" * none if all(wanted) else ""
    hint, limits = typing.get_args(hint)[:2] if typing.get_origin(hint) is Annotated else (hint, None)
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        return "" if isinstance(value, Hashable) and value in choices else ", ".join(map(str, choices))
    hint = typing.get_origin(hint) or hint  # Callable[…], Mapping[…]
    if isinstance(hint, Hashable) and hint in KINDS:
        types, words = KINDS[hint]
    elif isinstance(hint, type) and _is_own(hint):
        types = (hint,)
        words = with_article(hint)
    else:
        return ""
    limits = limits_of(limits)
    good = isinstance(value, types) and not (hint in NUMBERS and poses_as_number(value))
    good = good and not (hint is float and value != value)
    good = good and (limits is None or limits.hold(value))
    return "" if good else words if limits is None else f"{words}, {limits}"


def limits_of(extra: Any) -> Limits | None:
    """The limits that an annotation's metadata means, of which a pair is (least, most); None where it means none."""
    if isinstance(extra, tuple) and len(extra) == 2 and all(isinstance(x, (int, float)) for x in extra):
        return Limits(*extra)
    return extra if isinstance(extra, Limits) else None


def options_of(function: Callable) -> dict[str, tuple[Any, Any]]:
    """Name → (annotation, default) of a function's keyword-only parameters but those in ``RESERVED``."""
    hints = _hints(function)
    return {
        p.name: (hints.get(p.name, type(p.default)), p.default)
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in RESERVED
    }


def checked(
    function: Function,
    kinds: Sequence[type] = (),
    packages: tuple[str, ...] = (),
    then: Callable | None = None,
) -> Function:
    """Wrap a function so that it checks its arguments against their annotations when it is called.

    What is no option, or must be of one of placelab's classes, raises FormatError; options raise UnsupportedError, as
    :func:`keywords` does for options by name. The first arguments must be of `kinds`, whatever their annotations. Keywords that
    the function does not have are its own affair where it has a ``**`` parameter. Where one of `packages` is
    missing, UnsupportedError names it. With `then`, that is called instead of the function.
    """
    parameters = inspect.signature(function).parameters
    hands_on = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    hints: dict[str, Any] = {}  # read at the first call, since annotations may name what is defined later
    passed: dict[tuple, list[str]] = {}  # types of arguments that have passed, and the keywords whose values tell more

    def check(label: str, value: Any) -> bool:
        """Raise what is wrong with an argument; whether its type alone tells that nothing is."""
        if label == "seed" and label in parameters:
            seed_number(value)
            return False
        who = getattr(call, "name", function.__name__)
        if label not in parameters and not hands_on:
            check_options(who, options_of(function), {label: value})
        if not hints:
            hints.update({"return": Any} | _hints(function) | dict(zip(positional, kinds, strict=False)))
        hint = hints.get(label, Any)
        if wanted := _wanted(hint, value):
            if _is_class(hint):
                raise FormatError(f"{who} needs {wanted.removesuffix(', or None')}, found {described(value)}")
            kind = FormatError if label in positional else UnsupportedError
            raise kind(f"{who}: {label} is {value!r}; expected {wanted}")
        return _type_tells(hint)

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        types = (*map(type, args), *given, *map(type, given.values()))
        if types in passed:
            for label in passed[types]:
                check(label, given[label])
        else:
            told = [check(label, value) for label, value in zip(positional, args, strict=False)]
            more = [label for label, value in given.items() if not check(label, value)]
            if all(told):
                passed[types] = more
        if packages and (what := lacking(*packages)):
            raise UnsupportedError(f"{getattr(call, 'name', function.__name__)!r} needs {what}")
        return (then or function)(*args, **given)

    return cast(Function, call)


def _is_class(hint: Any) -> bool:
    """Whether an annotation is a class of placelab, or several; a protocol, as of strategies, is none."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)
    return all(kind is NoneType or (isinstance(kind, type) and _is_own(kind)) for kind in kinds)


def _is_own(kind: Any) -> bool:
    return kind.__module__.startswith("placelab.") and not getattr(kind, "_is_protocol", False)


def _type_tells(hint: Any) -> bool:
    """Whether a value fits an annotation if another one of its type did."""
    kinds = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)
    return all(typing.get_origin(kind) not in (Annotated, Literal) and kind is not float for kind in kinds)


def _enter(catalogue: dict, function: Callable | None, facts: dict[str, Any], first: tuple[str, ...]) -> Any:
    if function is None:
        return lambda f: _enter(catalogue, f, facts, first)
    if not inspect.isfunction(function):
        raise UnsupportedError(f"{function!r} is not a function written with def; wrap it in one")
    function.__module__ = function.__module__ or "__main__"  # exec gives none where its names have no __name__
    parameters = list(inspect.signature(function).parameters.values())
    _check_parameters(function, parameters, first)
    rule = first[0] == "state"  # called too often to check each time
    own = function.__module__.startswith("placelab.")
    if not own:
        enter_now()  # placelab's own come first
    kinds = (Problem, Placement)[: len(first)]
    then = in_whole_units(function) if own and catalogue is _partitioners else None
    strategy: Any = function if rule else checked(function, kinds, facts["packages"], then)
    for label, value in facts.items():
        setattr(strategy, label, value)
    strategy.name = facts["name"] or function.__name__.replace("_", "-")
    if not is_name(strategy.name):
        raise UnsupportedError(f"{strategy.name!r} is no name of a strategy: expected text on one line")
    strategy.summary = (inspect.getdoc(function) or strategy.name).splitlines()[0]
    strategy.reserved = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in RESERVED)
    strategy.options = options_of(function)
    _warn_of_replaced(catalogue.get(strategy.name), function)
    catalogue[strategy.name] = strategy
    for follow in list(on_change):
        follow()
    return strategy


def _warn_of_replaced(old: Any, function: Callable) -> None:
    """Warn where a function takes the name of one of placelab's own: what asks for the name gets the new one from now on."""
    if old is not None and _is_own(old) and not _is_own(function):
        own, new = (f"{f.__module__}.{f.__qualname__}" for f in (inspect.unwrap(old), function))
        warnings.warn(
            f"{old.name!r} is now {new}, and no longer placelab's own, {own}; name= gives it another name",
            UserWarning,
            stacklevel=4,
        )


def _check_parameters(function: Callable, parameters: list[inspect.Parameter], first: tuple[str, ...]) -> None:
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if len(positional) != len(first):
        raise UnsupportedError(
            f"{function.__name__} takes ({', '.join(p.name for p in positional)}); expected ({', '.join(first)}, *, options)"
            + "; one that takes (problem, placement) needs static=True" * (first[0] == "state")
        )
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (p.kind is p.KEYWORD_ONLY and p.default is p.empty):
            if p.name not in RESERVED or p.kind is not p.KEYWORD_ONLY:
                raise UnsupportedError(
                    f"option {p.name!r} of {function.__name__} has no default; write {p.name}: kind = value"
                )


def _hints(function: Callable) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for name, annotation in function.__annotations__.items():
        with suppress(NameError):  # an annotation that only a type checker can resolve
            one = SimpleNamespace(__annotations__={name: annotation})
            hints |= typing.get_type_hints(one, function.__globals__, include_extras=True)
    return hints
