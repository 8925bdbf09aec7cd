"""Run kernels: compiled by numba where possible, else as the same plain Python.

A kernel is a function on flat arrays, numbers and blocks, which are NamedTuples of them (:mod:`placelab.kernels.blocks`), also
nested. Calling it

- runs the compiled machine code when it is in numba's cache on disk, or has been compiled in this process;
- otherwise starts the compiler in a process of low priority, says so once, and meanwhile runs the Python source on lists, which
  gives the same results to the last bit; where callers are :func:`~placelab.base.progress.patient` it waits instead;
- with ``PLACELAB_JIT=0``, or without numba, always runs the Python source.

An index is never below 0: the machine code does not look, and would read or write before the array.

Arrays a kernel writes to must be writable; what it only reads should be read-only. The machine code is called without numba's
look at the types of all arguments, which takes 25 µs for the simulator's blocks: a kernel is called with arguments of the types
of its first call. ``PLACELAB_JIT=check``, which the tests set, waits for the compiler and raises TypeError where that is not so.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from placelab.base.interrupts import need, whole
from placelab.base.progress import THREAD, patience

say_once = functools.cache(logging.getLogger("placelab").warning)
_helpers: dict[FunctionType, Any] = {}
_inlined: set[FunctionType] = set()
_compile_lock = threading.Lock()
_ready: list[str] = []  # kernels whose machine code this process has
LAYOUT = 0x503  # of numpy's flags: contiguous by rows, by columns; aligned; writeable
POLL = 0.1  # seconds between two looks at whether to wait on for the compiler
ANEW = "anew for this process, as neither its folder nor the home can be written (NUMBA_CACHE_DIR names another place)"
only: frozenset[str] = frozenset()  # names of the kernels that are compiled at all; empty: every one


def helper(function: Callable) -> Callable:
    """Mark a function that kernels call; it stays plain Python and is compiled into each kernel."""
    _helpers[function] = None
    return function


def inlined(function: Callable) -> Callable:
    """Mark a helper whose compiled code is put in place of each call.

    A call pushes seven words per array, so one that passes whole blocks costs more than a short helper's work. The compiler
    decides by the helper's length alone.
    """
    _inlined.add(function)
    return helper(function)


class kernel:  # in lower case: a decorator
    """Mark a function as a kernel; see this module's docstring."""

    def __init__(self, function: Callable) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.compiled: Callable | None = None  # the machine code
        self._types: tuple = ()  # of the arguments that it takes
        self._right: set = set()  # kinds of arguments that have these types
        self._started = False
        self._compiler: threading.Thread | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self.compiled is None:
            self._start(arguments)
        setting = mode()
        if self.compiled is None or setting == "plain":
            return self.plain(*arguments)
        if setting == "check":
            self._check(arguments)
        return self.compiled(*arguments)

    def _check(self, arguments: tuple) -> None:
        """Raise TypeError for arguments of other types than those of the first call.

        numba takes 2 ms to tell the types of the simulator's blocks, so it is asked once for arguments that differ in values
        alone.
        """
        kind = _kind(arguments)
        if kind in self._right:
            return
        if (given := _signature(arguments)) != self._types:
            raise TypeError(f"kernel {self.__name__} takes {self._types}; it was called with {given}")
        self._right.add(kind)

    def bind(self, *arguments: Any) -> tuple[Callable[[], Any], list[Any], Callable[[], None]]:
        """Prepare a kernel that is entered again and again: (enter, what it works on, write back the results).

        The arguments are converted once, so that between two entries the caller reads and writes the second value.
        """
        if self.compiled is None:
            self._start(arguments)
        if self.compiled is not None and mode() != "plain":
            compiled = self.compiled
            return (lambda: compiled(*arguments)), list(arguments), lambda: None
        lists = [_listed(a) for a in arguments]
        return (lambda: self.function(*lists)), lists, lambda: _copy_back(arguments, lists)

    def lacks_code(self) -> bool:
        """Whether machine code of this kernel can be kept on disk, and none of these sources has been, for whatever arguments."""
        try:
            file = _dispatcher(self.function)._cache._cache_file
        except RuntimeError:  # of numba, where not even a temporary folder can be written
            return False
        if _temporary_name():
            return False
        with suppress(Exception):  # of an index that cannot be read
            return not file._load_index()
        return True

    def plain(self, *arguments: Any) -> Any:
        """Run the Python source on lists, and copy results back into the writable arrays."""
        lists = [_listed(a) for a in arguments]
        result = self.function(*lists)
        _copy_back(arguments, lists)
        return result

    def compile(self, signature: tuple) -> None:
        """Compile for arguments of these types, or load what is on disk, and wait for it."""
        with _compile_lock, _indices_as_they_are():
            dispatcher = _dispatcher(self.function)
            dispatcher.compile(signature)
        self._types = signature
        self.compiled = dispatcher.overloads[signature].entry_point
        _ready.append(self.__name__)

    def _start(self, arguments: tuple) -> None:
        if not self._started and mode() != "plain" and (not only or self.__name__ in only):
            self._started = True
            whole(lambda: self._begin(_signature(arguments)))
        stop = patience.get()
        while stop is not None and self._compiler is not None and self._compiler.is_alive() and not stop():
            self._compiler.join(POLL)

    def _begin(self, signature: tuple) -> None:
        try:
            cached = self._is_cached(signature)
        except RuntimeError:  # of numba, where not even a temporary folder can be written
            return say_once("placelab's kernels run as plain Python, which is slower: no folder can be written.")
        if cached or mode() in ("wait", "check"):
            return self.compile(signature)
        say_once(
            f"placelab compiles its kernels {ANEW if _temporary_name() else 'once for this machine'}, in the background; "
            "meanwhile long calls wait, and others take the slower plain path."
        )
        name = f"{THREAD}{self.__name__}"
        gently = patience.get() is None
        self._compiler = threading.Thread(target=self._compile_behind, args=(signature, gently), name=name, daemon=True)
        self._compiler.start()

    def _compile_behind(self, signature: tuple, gently: bool) -> None:
        if self.__module__.startswith("placelab.kernels."):
            compile_apart(pickle.dumps((self.__module__, self.__name__, signature)), gently, _temporary_name())
        self.compile(signature)  # loads what the process has put on disk; compiles where it has put nothing

    def _is_cached(self, signature: tuple) -> bool:
        dispatcher = _dispatcher(self.function)
        key = dispatcher._cache._index_key(signature, dispatcher.targetctx.codegen())
        file = dispatcher._cache._cache_file
        try:
            return key in file._load_index()
        except Exception:  # a damaged pickle may raise anything; one of another version names blocks that are no more
            with suppress(OSError):
                file.flush()  # or nothing could ever be added to it
        return False


def _signature(arguments: tuple) -> tuple:
    need("numba")
    import numba

    return tuple(numba.typeof(a) for a in arguments)


def _kind(argument: Any) -> Any:
    """What numba's type of an argument depends on."""
    if isinstance(argument, np.ndarray):
        return argument.dtype.char, argument.ndim, argument.flags.num & LAYOUT
    if isinstance(argument, tuple):
        return type(argument), *map(_kind, argument)
    return type(argument)


def _listed(argument: Any) -> Any:
    """The argument with a list in place of each array, also of arrays inside blocks."""
    if isinstance(argument, np.ndarray):
        return argument.tolist()
    if isinstance(argument, tuple):
        return argument._make(map(_listed, argument))
    return argument


def _copy_back(arguments: Iterable, lists: Iterable) -> None:
    """Write lists back into the writable arrays that they were made from."""
    for argument, values in zip(arguments, lists, strict=True):
        if isinstance(argument, tuple):
            _copy_back(argument, values)
        elif isinstance(argument, np.ndarray) and argument.flags.writeable:
            argument[:] = values


def ready() -> int:
    """Number of kernels whose machine code this process has; a call during which it grows has loaded or compiled some."""
    return len(_ready)


def mode() -> str:
    """``"background"`` (default), ``"wait"`` for the compiler, ``"check"`` (wait, and check types), or ``"plain"``."""
    setting = os.environ.get("PLACELAB_JIT", "1")
    if setting == "0" or not _has_numba():
        return "plain"
    return setting if setting in ("wait", "check") else "background"


@functools.cache
def _has_numba() -> bool:
    import importlib.util

    return importlib.util.find_spec("numba") is not None


@functools.cache
def _sources(folder: Path = Path(__file__).parent) -> str:
    """Hash of every kernel source: numba's cache does not notice a changed helper in another file."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def size(function: Callable) -> int:
    """Length of a kernel's code and its helpers', in proportion to which it takes to compile."""
    return len(function.__code__.co_code) + sum(map(size, _called(function).values()))


def _called(function: Callable) -> dict[str, Callable]:
    """The helpers that a kernel or helper calls, by name."""
    named = {name: function.__globals__.get(name) for name in function.__code__.co_names}
    return {name: value for name, value in named.items() if isinstance(value, FunctionType) and value in _helpers}


@contextmanager
def _indices_as_they_are() -> Iterator[None]:
    """Compile indices without numba's sum of each one that is below 0 and the length: a fifth of the simulator's time."""
    need("numba")
    from numba.core import types
    from numba.core.compiler_lock import global_compiler_lock
    from numba.np import arrayobj

    with global_compiler_lock:  # whoever else compiles gets the usual indices
        usual = getattr(arrayobj, "fix_integer_index", None)
        arrayobj.fix_integer_index = lambda context, builder, kind, i, size: context.cast(builder, i, kind, types.intp)
        try:
            yield
        finally:
            arrayobj.fix_integer_index = usual


def _dispatcher(function: Callable) -> Any:
    """numba's dispatcher for a kernel or helper whose helpers are dispatchers too."""
    need("numba")
    import numba
    from numba.core import caching

    called = {name: _compiled_helper(value) for name, value in _called(function).items()}
    copy = FunctionType(function.__code__, {**function.__globals__, **called}, function.__name__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    # Kernels allocate nothing, so numba's runtime is off: counting references in each call of a helper costs ten times its work.
    # Wrappers for C, and around helpers for Python, would have no caller; they are a third of the time that compiling takes.
    wrappers = {"no_cfunc_wrapper": True, "no_cpython_wrapper": function in _helpers}
    options = {"forceinline": True} if function in _inlined else {}
    dispatcher = numba.njit(nogil=True, error_model="numpy", _nrt=False, **wrappers, **options)(copy)
    if function not in _helpers:
        dispatcher._cache = _cache(caching)(copy)
    return dispatcher


def _compiled_helper(function: FunctionType) -> Any:
    if _helpers[function] is None:
        _helpers[function] = _dispatcher(function)
    return _helpers[function]


@functools.cache
def _cache(caching: Any) -> type:
    """numba's function cache, keyed by the hash of all kernel sources instead of one file's time stamp.

    It has one more place, for those who can write neither placelab's folder nor their home, and files that cannot be read or
    written do no harm.
    """

    class Temporary(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
        def __init__(self, function: Callable, path: str) -> None:
            self._py_file = path
            self._lineno = function.__code__.co_firstlineno

        def get_cache_path(self) -> str:  # as numba has it in a process with this folder as NUMBA_CACHE_DIR
            return os.path.join(_temporary().name, self.get_suitable_cache_subpath(self._py_file))

    def stamped(locator: type) -> type:
        return type(locator.__name__, (locator,), {"get_source_stamp": lambda self: _sources()})

    locators = [stamped(locator) for locator in (*caching.CacheImpl._locator_classes, Temporary)]

    class Impl(caching.CompileResultCacheImpl):
        _locator_classes = locators

    class SourceCache(caching.FunctionCache):
        _impl_class = Impl

        def load_overload(self, *asked: Any) -> Any:
            with suppress(Exception):
                return super().load_overload(*asked)

        def save_overload(self, *given: Any) -> None:
            with suppress(Exception):
                super().save_overload(*given)

    return SourceCache


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory:
    """A folder for this process and those that it starts, removed at its end."""
    return tempfile.TemporaryDirectory(prefix="placelab-", ignore_cleanup_errors=True)


def _temporary_name() -> str | None:
    return _temporary().name if _temporary.cache_info().currsize else None


def compile_asked(asked: bytes) -> None:
    """Compile the kernel that :func:`placelab.kernels.jit.compile_apart` was asked for."""
    module, name, signature = pickle.loads(asked)
    getattr(import_module(module), name).compile(signature)


# --------------------- a process of its own to compile in: within this one, numba's compiler would hold up all other Python code

AT_ONCE = 2  # processes
PROGRAM = "import sys; from placelab.kernels.jit import compile_asked; compile_asked(sys.stdin.buffer.read())"
GENTLY = "import os; getattr(os, 'nice', int)(19); "
_turn = threading.Semaphore(AT_ONCE)
_running: set[subprocess.Popen] = set()


def compile_apart(asked: bytes, gently: bool, folder: str | None) -> None:
    """Have a kernel compiled and put on disk; nothing happens where there can be no such process.

    Parameters
    ----------
    asked
        The kernel's module, its name and the types of its arguments, pickled.
    gently
        Whether at low priority, as nobody waits for it.
    folder
        Where to put it; None: where this process would.
    """
    quiet = subprocess.DEVNULL
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder} if folder else None
    with _turn:
        try:
            command = [sys.executable, "-c", (GENTLY if gently else "") + PROGRAM]
            process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        except OSError:
            return
        _running.add(process)
        process.communicate(asked)
        _running.discard(process)


@atexit.register
def _end() -> None:
    for process in list(_running):
        process.terminate()
