"""Imports that an interrupt does not end half-way: of packages, which may be missing, and of placelab's own strategies."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple, TypeVar

from placelab.base.errors import UnsupportedError

T = TypeVar("T")

# The extra of placelab that brings a package; the others are installed with placelab itself, or under another name.
EXTRAS = {
    "ortools": "solvers",
    "highspy": "solvers",
    "pymetis": "metis",
    "voila": "page",
    "cloudpickle": "studies",
    "distributed": "studies",
    "pyarrow": "studies",
    "onnx": "onnx",
    "torch": "torch",
    "yaml": "yaml",
}
GOOGLE = "google.protobuf"  # in a namespace that other packages share


def whole(call: Callable[[], T]) -> T:
    """Return what `call` returns; an interrupt is raised here at once, and the call runs on to its end in a thread of its own.

    Python raises KeyboardInterrupt anywhere in the main thread. In the midst of an import or a compilation it would leave modules
    and tables half made, on which every later call fails.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome: Future[T] = Future()
    try:
        # No thread of base/threads.py, which this file must not import: a plain `import placelab` runs it.
        threading.Thread(target=copy_context().run, args=(_settle, outcome, call), daemon=True).start()
    except RuntimeError:  # no thread can start, as in Pyodide
        return call()
    return outcome.result()


def _settle(outcome: Future, call: Callable) -> None:
    try:
        outcome.set_result(call())
    except BaseException as error:
        outcome.set_exception(error)


def need(*modules: str) -> None:
    """Import modules whole, so that the import statement that follows finds them.

    Raises
    ------
    UnsupportedError
        A package is missing or broken.
    """
    for name in modules:
        if sys.modules.get(name) is None:
            try:
                whole(lambda: _import(name))  # noqa: B023
            except ImportError as error:
                raise UnsupportedError(f"this needs {_remedy(name, error)}") from None


def _import(module: str) -> None:
    """Import a module; cvxpy without JAX, of which it only asks whether the solver MPAX could run.

    While a thread imports JAX, scipy fails in all others: it looks for ``jax.Array`` in a module that is half made.
    """
    if module != "cvxpy" or is_installed("mpax"):
        import_module(module)
        return
    hidden = _Hidden("jax", threading.get_ident())
    sys.meta_path.insert(0, hidden)
    try:
        import_module(module)
    finally:
        sys.meta_path.remove(hidden)


class _Hidden(NamedTuple):
    """A finder by which a thread does not find a module."""

    module: str
    thread: int

    def find_spec(self, module: str, path: object = None, target: object = None) -> None:
        if module == self.module and threading.get_ident() == self.thread:
            raise ModuleNotFoundError(f"{module} is left out", name=module)


def lacking(*packages: str) -> str:
    """What to install of these packages, as in ``pymetis, which is not installed: run …``; "" where all are there."""
    return next((missing(package) for package in packages if not is_installed(package)), "")


def is_installed(package: str) -> bool:
    """Whether a package can be found; it is not imported."""
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # it was replaced by something that is no module
        return False


def missing(package: str) -> str:
    """That a package is not installed, and how to install it: by placelab's extra where there is one."""
    title = "protobuf" if package == GOOGLE else package
    wanted = f"'placelab[{EXTRAS[package]}]'" if package in EXTRAS else title
    return f"{title}, which is not installed: run pip install {wanted}"


def _remedy(module: str, error: ImportError) -> str:
    """What to do about a module that cannot be imported: the package that it lacks, itself or another one, or what it says."""
    name = error.name or module
    package = GOOGLE if name.startswith("google") else name.partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and not is_installed(package):
        return missing(package)
    return f"{module.partition('.')[0]}, which cannot be imported here: {error}"


# -------------------------------------------------------------------- placelab's own strategies, at the first look

_awaited: list[str] = []


def enter_later(*modules: str) -> None:
    """Have modules that enter strategies imported by :func:`enter_now`, in this order."""
    _awaited.extend(modules)


def enter_now() -> None:
    """Import what :func:`enter_later` named; a thread that comes meanwhile waits until all is entered.

    An interrupt may end it half-way, but for numpy: the next call goes on, in the same order.
    """
    if _awaited:
        need("numpy")
        for module in tuple(_awaited):
            import_module(module)
        _awaited.clear()
