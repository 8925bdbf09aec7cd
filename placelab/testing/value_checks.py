"""Check what an exercise asks for: values, tables, errors, properties, accounts of runs."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from math import isclose
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.base.errors import PlacelabError, described
from placelab.base.files import PACKAGE
from placelab.base.interrupts import need
from placelab.problem.problem import Problem
from placelab.testing.answers import (
    SECONDS,
    Forbidden,
    answer,
    apart,
    case_as_code,
    fail,
    fail_empty,
    is_empty,
    judged,
    shown,
    title,
)
from placelab.testing.contracts import size

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9  # relative
PARTS = ("useful", "saving", "lost", "detecting", "restoring")


def check_filled(*found: Any) -> None:
    """Check that answers are filled in, and no more: what students may see where a grader hides its tests."""
    for each in found:
        if callable(each) and is_empty(each):
            fail_empty(title(each))
        if not callable(each):
            answer(each)


def check_value(
    found: Any,
    want: Any,
    tol: float = 0.0,
    hint: str = "",
    *,
    seconds: float = SECONDS,
    forbid: Iterable[Forbidden] = (),
) -> None:
    """Check a number, a name, or several of them.

    Parameters
    ----------
    found
        The answer, or a function without parameters that returns it.
    want
        What is right: a value, a set, sequence or mapping of values; or a function that tells whether an answer is right, where
        there are several or the cell should not show it.
    tol
        How far a number may be off, as a share of the right one; rounding of 1e-9 is always allowed.
    hint
        Where to look, for who is wrong.
    seconds
        Limit of the call.
    forbid
        What of placelab's own the answer must not call, as in :func:`check_partitioner`.

    Raises
    ------
    AssertionError
        One sentence; see :mod:`placelab.testing`.

    Examples
    --------
    >>> check_value(80.0, 80)
    >>> check_value({"a", "b"}, ["b", "a"], hint="look at dev1")
    Traceback (most recent call last):
    placelab.testing.answers.Wrong: the answer is a set; a list is expected
    """
    name = title(found)
    value = answer(found, seconds=seconds, forbid=forbid)
    if isinstance(want, Mapping) and hasattr(value, "to_dict"):  # a Series
        value = value.to_dict()
    if callable(want):
        right = bool(judged(want, value, name=name, value=value))
    elif _kind(value) != _kind(want):
        fail(f"{name} is {described(value)}; {described(want)} is expected")
    else:
        right = _equal(value, want, max(tol, ROUNDING))
    if not right:
        fail(f"{name} gives {shown(value)}, which is not right" + (f": {hint}" if hint else ""))


def check_frame(
    found: Any,
    columns: Sequence[str],
    claims: Mapping[str, Callable[[pd.DataFrame], Any]],
    *,
    seconds: float = SECONDS,
) -> None:
    """Check a table: its columns, and what must hold for it.

    Parameters
    ----------
    found
        A DataFrame, or a function without parameters that returns one.
    columns
        Names that must be among its columns, or levels of its index; others, and any order, are allowed.
    claims
        Sentence → function of the table that returns a truth value, or one per row; then the first row for which it is false
        is shown.
    """
    need("pandas")
    import pandas as pd

    table = answer(found, seconds=seconds)
    if not isinstance(table, pd.DataFrame):
        fail(f"{title(found)} is {described(table)}; a DataFrame is expected")
    if set(columns) & set(table.index.names):  # as groupby leaves them
        table = table.reset_index()
    missing = [column for column in columns if column not in table.columns]
    if missing:
        fail(f"the table has no column {missing[0]!r}; it has {', '.join(map(str, table.columns))}")
    if table.empty:
        fail("the table has no rows")
    for sentence, holds in claims.items():
        true = np.asarray(judged(holds, table, name=title(found), value=table), dtype=bool)
        if not true.all():
            row = f"row = {shown(table.iloc[int(np.argmin(true))].to_dict())}" if true.shape == (len(table),) else ""
            fail(f"the table breaks a claim: {sentence}", row)


def check_error(call: Any, kind: type[Exception], words: str = "", *, seconds: float = SECONDS) -> None:
    """Check that a function without parameters raises an error of a kind, with certain words in its message.

    One of placelab's errors counts only if placelab raises it: an answer that raises it itself has shown nothing.
    """
    name = title(call)
    if not callable(call) or is_empty(call):
        answer(call)
        fail(f"{name} is {described(call)}; a function that raises {kind.__name__} is expected")
    try:
        value = answer(call, seconds=seconds)
    except AssertionError as error:
        cause = error.__cause__
        if not isinstance(cause, kind):
            raise
        if issubclass(kind, PlacelabError) and not _is_placelabs(cause):
            fail(f"{name} raises {kind.__name__} itself; a call of placelab must raise it", cause=cause)
        if words not in str(cause):
            fail(f"{name} raises {kind.__name__} for another reason: {cause}", cause=cause)
        return
    fail(f"{name} raises no error but gives {shown(value)}; {kind.__name__} is expected")


def _is_placelabs(error: BaseException) -> bool:
    """Whether code of placelab has raised an error."""
    return Path(traceback.extract_tb(error.__traceback__)[-1].filename).is_relative_to(PACKAGE)


def check_property(
    f: Any,
    cases: Iterable[Any],
    holds: Callable[[Any, Any], Any],
    words: str,
    *,
    seconds: float = SECONDS,
    forbid: Iterable[Forbidden] = (),
) -> None:
    """Check that what a function of one argument returns has a property, on each of several cases.

    Parameters
    ----------
    f
        The answer.
    cases
        Arguments of `f`, smallest first; problems are sorted by size.
    holds
        ``holds(case, f(case))``: whether the property holds.
    words
        The property as a sentence; it stands in the message.
    forbid
        What of placelab's own the answer must not call, as in :func:`check_partitioner`.
    """
    several = list(cases)
    if all(isinstance(case, Problem) for case in several):
        several.sort(key=size)
    for case in several:
        value = answer(f, apart(case), seconds=seconds, forbid=forbid)
        if not judged(holds, case, value, name=title(f), value=value):
            fail(f"{title(f)} gives {shown(value)}, but {words}", case_as_code(case))


def check_run(found: Any, want: Any, *, seconds: float = SECONDS) -> None:
    """Check an account of a training run with failures, part by part [s].

    Parameters
    ----------
    found
        Mapping with the parts ``useful``, ``saving``, ``lost``, ``detecting`` and ``restoring`` (one left out is 0) and maybe
        their ``total``; an object with these attributes; or a function without parameters that returns either.
    want
        The same of the right run.
    """
    name = title(found) if callable(found) else "the account"
    parts = _parts(answer(found, seconds=seconds), name)
    right = _parts(want, "want")
    for part in PARTS:
        if not isclose(parts[part], right[part], rel_tol=ROUNDING, abs_tol=ROUNDING):
            fail(f"{name} counts {parts[part]:g} s as {part}, which is not right", f"parts = {shown(parts)}")
    if not isclose(parts["total"], sum(parts[part] for part in PARTS), rel_tol=ROUNDING):
        fail(f"{name} has a total of {parts['total']:g} s, which is not the sum of its parts", f"parts = {parts}")


def _parts(run: Any, name: str) -> dict[str, float]:
    given = run if isinstance(run, Mapping) else {part: getattr(run, part, None) for part in (*PARTS, "total")}
    unknown = [str(part) for part in given if part not in (*PARTS, "total")]
    if unknown:
        fail(f"{name} has a part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    known = {
        part: value.item() if np.size(value) == 1 and isinstance(value, np.ndarray) else value
        for part, value in given.items()
        if value is not None
    }
    if not known or not all(isinstance(value, Real) for value in known.values()):
        fail(f"{name} is {shown(run)}; seconds for {', '.join(PARTS)} are expected")
    parts = {part: float(known.get(part, 0.0)) for part in PARTS}
    return parts | {"total": float(known.get("total", sum(parts.values())))}


def _kind(value: Any) -> str:
    """Values of different kinds are never equal, and then saying the kind that is expected helps."""
    if isinstance(value, (bool, np.bool_)):
        return "truth"
    if isinstance(value, (Real, np.number)):
        return "number"
    kinds: dict[str, tuple[type, ...]] = dict(
        text=(str,), mapping=(Mapping,), set=(Set,), sequence=(Sequence, np.ndarray)
    )
    return next((kind for kind, types in kinds.items() if isinstance(value, types)), type(value).__name__)


def _equal(value: Any, want: Any, tol: float) -> bool:
    kind = _kind(want)
    if _kind(value) != kind:
        return False
    if kind == "number":
        return isclose(value, want, rel_tol=0.0, abs_tol=tol * max(abs(float(want)), ROUNDING))
    if kind == "mapping":
        return value.keys() == want.keys() and all(_equal(value[key], want[key], tol) for key in want)
    if kind == "sequence":
        return len(value) == len(want) and all(_equal(a, b, tol) for a, b in zip(value, want, strict=True))
    return bool(value == want)
