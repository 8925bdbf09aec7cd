"""Answers of students: called within a time limit, and watched, where the exercise is to write what placelab has.

One that is empty, fails, takes too long or calls what it must not is one sentence.
"""

from __future__ import annotations

import dis
import functools
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic, process_time
from types import CodeType, FrameType
from typing import Any, NoReturn, TypeVar

import numpy as np

from placelab.base.errors import FormatError, described
from placelab.base.files import PACKAGE
from placelab.base.index_arrays import frozen
from placelab.base.leaving import Abandoned, run_abandonable
from placelab.base.progress import compiling
from placelab.formats.python_code import as_code
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioners, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

SECONDS = 20.0  # default limit of one call
WARMING = 300.0  # seconds for which kernels may be compiled besides
WAITING = 5.0  # times its limit that a call may take where it has no processor
LONGEST = 300  # characters of a value that is shown
RAISES = {"LOAD_GLOBAL", "PUSH_NULL", "PRECALL", "CALL", "RAISE_VARARGS"}  # raise NotImplementedError()
RETURNS = {"RESUME", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE", "NOP"}
COMPARED_BY = {"builtins", "numpy", "pandas", "placelab", "scipy", "networkx", "fractions", "decimal", "collections"}


class Wrong(AssertionError):
    """What a check says of an answer, and not an ``assert`` of the answer itself."""


def answer(found: Any, *arguments: Any, seconds: float | None = SECONDS, forbid: Iterable[Forbidden] = ()) -> Any:
    """What was answered: `found` itself, or what it returns if it is a function.

    Parameters
    ----------
    found
        A value, a function of `arguments`, or one without parameters.
    seconds
        How long a call may compute; None: as long as it likes, in the caller's own thread.
    forbid
        What of placelab's own the function must not call: see :class:`placelab.testing.answers.Watch`.

    Raises
    ------
    AssertionError
        The answer is ``None`` or ``...``, the function raises an error, takes too long or calls what is forbidden.
    """
    if not callable(found):
        _expect_filled(found, "the answer")
        return found
    name = title(found)
    if is_empty(found):
        fail_empty(name)
    result = _called(found, arguments if _takes_any(found) else (), seconds, Watch(forbid))
    _expect_filled(result, name)
    return result


def apart(thing: Any) -> Any:
    """A copy for an answer, which may change it: the check goes on with the original.

    A container is copied with all that it holds; what is neither that nor placelab's is handed over as it is. Arrays that cannot
    be written to cannot be in the copy either, which kernels rely on.
    """
    if not isinstance(thing, (OpGraph, Cluster, Problem, Placement, Schedule, np.ndarray, list, tuple, dict, set)):
        return thing
    memo: dict[int, Any] = {}
    _copy_read_only_arrays(thing, memo, set())
    return deepcopy(thing, memo)


def _copy_read_only_arrays(thing: Any, copies: dict[int, Any], seen: set[int]) -> None:
    """Enter a read-only copy of each read-only array inside a thing, by the array's id, as :func:`copy.deepcopy` looks it up."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        if not thing.flags.writeable:
            copies[id(thing)] = frozen(thing.copy(order="K"))
        return
    inside = thing if isinstance(thing, Mapping) else getattr(thing, "__dict__", {})
    for part in thing if isinstance(thing, (list, tuple)) else inside.values():
        _copy_read_only_arrays(part, copies, seen)


def of_original(problem: Problem, placement: Placement) -> Placement:
    """A placement of a copy of the problem as one of the problem itself."""
    return replace(placement, problem=problem)


def fail(sentence: str, code: str = "", cause: BaseException | None = None) -> NoReturn:
    """Raise AssertionError with a sentence and, below it, the counter-example as code.

    IPython shows these, and the lines of the student's own code that failed, instead of the calls inside placelab.
    """
    error = Wrong(f"{sentence}\n\n{code}" if code else sentence)
    vars(error).update(_render_traceback_=lambda: [str(error), *_own_lines(cause)])
    raise error from cause


def fail_empty(name: str, cause: BaseException | None = None) -> NoReturn:
    """Raise AssertionError for a function whose body is not written yet."""
    fail(f"{name} is still empty: fill in its body and run its cell again", cause=cause)


def fail_called(name: str, called: Called) -> NoReturn:
    """Raise AssertionError for a function that leaves to placelab what it should do itself."""
    fail(f"{name} calls placelab's own {str(called)!r}, which this exercise forbids: write it yourself", cause=called)


def _own_lines(cause: BaseException | None) -> list[str]:
    """Where an answer failed: each call outside placelab, with its line."""
    calls = [] if cause is None else traceback.extract_tb(cause.__traceback__)
    own = [call for call in calls if not Path(call.filename).is_relative_to(PACKAGE)]
    return [f"in {call.name}, line {call.lineno}: {call.line}" for call in own]


def title(found: Any) -> str:
    """Name of a function that was written with def; "the answer" for all others."""
    name = getattr(found, "__name__", "<")
    return "the answer" if name.startswith("<") else name


def is_empty(function: Any) -> bool:
    """Whether the body of a function does nothing but return None: ``...``, ``pass``, a docstring; or is nbgrader's stub."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return False
    steps = list(dis.get_instructions(code))
    if code.co_names == ("NotImplementedError",) and not code.co_varnames[code.co_argcount :]:
        return {step.opname for step in steps} <= RETURNS | RAISES
    returned = [step.argval for step in steps if step.opname in ("LOAD_CONST", "RETURN_CONST")]
    return {step.opname for step in steps} <= RETURNS and set(map(repr, returned)) <= {"None", "Ellipsis"}


def shown(value: Any) -> str:
    """A value as code, cut where it is long."""
    text = repr(_plain(value))
    if "\n" in text:  # of an array or a table
        text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def case_as_code(case: Any) -> str:
    """A case that an answer fails, as code; in a tuple, a graph, problem, placement or schedule comes first."""
    if isinstance(case, tuple) and case and isinstance(case[0], (Problem, Placement, Schedule)):
        name = type(case[0]).__name__.lower()
        return f"{case_as_code(case[0])}\ncase = ({', '.join([name, *map(shown, case[1:])])})"
    if isinstance(case, Schedule):
        return f"{case_as_code(case.placement)}\nschedule = pl.simulate(problem, placement, {case.scheduler!r})"
    if isinstance(case, Placement):
        planned = "" if case.planned is None else f", {shown(case.planned.tolist())}"
        return f"{as_code(case.problem)}\nplacement = pl.Placement(problem, {shown(case.device.tolist())}{planned})"
    return as_code(case) if isinstance(case, Problem) else f"case = {shown(case)}"


def judged(holds: Callable, *arguments: Any, name: str, value: Any) -> Any:
    """What a check's own function says of an answer; one that it cannot read fails in a sentence, too."""
    try:
        return holds(*arguments)
    except Exception as error:
        fail(
            f"{name} gives {shown(value)}, which is not of the form that the exercise asks for "
            f"({type(error).__name__}: {' '.join(str(error).split())})",
            cause=error,
        )


def _plain(value: Any) -> Any:
    """The value with Python's own numbers in place of NumPy's."""
    if isinstance(value, dict):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _takes_any(function: Callable) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return True


def _expect_filled(value: Any, name: str) -> None:
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    if value is None or value is ... or any(part is ... for part in inside):
        fail(f"{name} is not filled in yet: put your own in place of the three dots and run its cell again")
    strangers = [part for part in _parts_of(value) if not _is_compared_by_us(part)]
    if strangers:
        fail(
            f"{name} has {described(strangers[0])} in it; numbers, texts, containers and what placelab makes are expected"
        )


def _parts_of(value: Any) -> Iterator[Any]:
    """The value and, of a container, what is in it."""
    yield value
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    elif isinstance(value, np.ndarray) and value.dtype == object:
        value = value.ravel().tolist()
    if isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _parts_of(part)


def _is_compared_by_us(value: Any) -> bool:
    """Whether == asks no class of the answer's own, such as one that equals everything."""
    owner = next(kind for kind in type(value).__mro__ if "__eq__" in vars(kind))
    return owner.__module__.partition(".")[0] in COMPARED_BY


class _Limit:
    """Seconds of a call, without those in which kernels are compiled and slower plain Python serves, at most `WARMING` s.

    On a machine that other programs keep busy, as where a hundred copies are graded side by side, seconds in which this process
    has no processor do not count, up to `WAITING` times the limit in all; that is also how long a call may sleep.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._longest = WAITING * seconds
        self._warming = WARMING
        self._last = monotonic()
        self._last_busy = process_time()

    def is_over(self) -> bool:
        """Whether the time is over; called again and again."""
        now = monotonic()
        busy = process_time()
        spent = now - self._last
        computed = busy - self._last_busy
        self._last = now
        self._last_busy = busy
        if self._warming > 0 and compiling():
            self._warming -= spent
        else:
            self._longest -= spent
            self._left -= min(spent, computed)  # several threads of a solver compute more seconds than pass
        return min(self._left, self._longest) < 0


def _called(function: Callable, arguments: tuple, seconds: float | None, watch: Watch) -> Any:
    """The result of a call, made in a thread that is left, and ended, when it takes too long."""
    name = title(function)
    call = partial(watch.run, partial(function, *arguments))
    try:
        return call() if seconds is None else run_abandonable(call, _Limit(seconds).is_over)
    except Abandoned:
        fail(f"{name} takes longer than {seconds:g} s: look for a loop that does not end, or search less")
    except BaseException as error:
        _report(name, error)


def _report(name: str, error: BaseException) -> NoReturn:
    if isinstance(error, NotImplementedError):
        fail_empty(name, error)
    if isinstance(error, Called):
        fail_called(name, error)
    if isinstance(error, Wrong):  # of a check that runs within its limit
        raise error
    if not isinstance(error, Exception):
        raise error
    fail(f"{name} fails with {type(error).__name__}: {error}", cause=error)


# -------------------------------------------------------------------- what runs while an answer is called

T = TypeVar("T")
Forbidden = str | Callable
# Studies run strategies in other processes, where these cannot be seen.
ROOMS = {
    "partitioners": (PACKAGE / "strategies" / "partitioning", PACKAGE / "analysis" / "studies"),
    "schedulers": (PACKAGE / "strategies" / "scheduling", PACKAGE / "analysis" / "studies"),
    "simulation": (PACKAGE / "simulation", PACKAGE / "analysis" / "studies"),
}


_watching: ContextVar[Watch | None] = ContextVar("watching", default=None)


class Called(Exception):
    """An answer has called what it must not; the text is the name of that."""


class Watch:
    """Find out whether a call runs what is forbidden, under whatever name it is called and however it was imported.

    Parameters
    ----------
    forbid
        ``"partitioners"``, ``"schedulers"`` or ``"simulation"``, which stand for all that placelab has; the name of one of its
        strategies; or a function, such as ``pl.best_known``.

    Notes
    -----
    Python's profiler hook tells each call in the thread of the answer, and in those that placelab starts for it, which have its
    context; the threads of an explorer have not. An answer that takes the hook away, or starts a thread or process of its own, is
    not found: this finds shortcuts, and is no lock. Calls take up to twice as long.
    """

    def __init__(self, forbid: Iterable[Forbidden]) -> None:
        self._codes: dict[CodeType, str] = {}
        self._folders: list[str] = []
        for what in (forbid,) if isinstance(forbid, str) else forbid:
            self._add(what)
        self._verdicts: dict[CodeType, str] = {}
        self._seen = ""

    def __bool__(self) -> bool:
        return bool(self._codes or self._folders)

    def run(self, call: Callable[[], T]) -> T:
        """What a call returns; Called, if it runs what is forbidden, even if it catches errors or raises one."""
        if not self:
            return call()
        self._seen = ""
        before = sys.getprofile()
        of_threads = threading.getprofile()
        context = _watching.set(self)
        sys.setprofile(self._look)
        threading.setprofile(self._look)  # of threads that start from now on
        try:
            result = call()
        except Exception as error:
            if self._seen:
                raise Called(self._seen) from error
            raise
        finally:
            sys.setprofile(before)
            threading.setprofile(of_threads)  # type: ignore[arg-type]
            _watching.reset(context)
        if self._seen:
            raise Called(self._seen)
        return result

    def around(self, function: Callable) -> Any:
        """The function, watched at each call; a strategy keeps its attributes."""

        @functools.wraps(function)
        def watched(*arguments: Any, **options: Any) -> Any:
            return self.run(partial(function, *arguments, **options))

        return watched if self else function

    def _add(self, what: Forbidden) -> None:
        if isinstance(what, str) and what in ROOMS:
            self._folders += map(str, ROOMS[what])
            return
        name = getattr(what, "__name__", what)
        entry = (partitioners().get(what) or schedulers().get(what)) if isinstance(what, str) else what
        code = getattr(inspect.unwrap(entry), "__code__", None) if callable(entry) else None
        if code is None:
            raise FormatError(
                f"forbid has {described(what) if not isinstance(what, str) else repr(what)}; expected {', '.join(ROOMS)}, "
                "the name of a strategy or a function"
            )
        self._codes[code] = str(name)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or self._seen or _watching.get() is not self:
            return
        code = frame.f_code
        verdict = self._verdicts.get(code)
        if verdict is None:
            verdict = self._verdicts[code] = self._name(code)
        self._seen = verdict

    def _name(self, code: CodeType) -> str:
        """What the code is called, if it is forbidden, else ""."""
        if code in self._codes:
            return self._codes[code]
        inside = code.co_filename.startswith(tuple(self._folders))
        return code.co_name.strip("_").replace("_", "-") if inside and not code.co_name.startswith("<") else ""
