"""Kernels: the same source, compiled or as plain Python, gives the same result to the last bit."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from problems import many

import placelab as pl
from placelab.base.index_arrays import frozen
from placelab.kernels import jit

# Options of searches that take long: one in plain Python, the other in a solver, so that it need not prove anything here.
FEWER = {
    "portfolio": {"moves": 100, "time_limit": 1e9},  # plain Python takes long on a busy machine
    "cem": {"samples": 20},
    "policy-gradient": {"samples": 20},
    "cp-sat": {"effort": 0.2},
}


class Inner(NamedTuple):
    """A block with something to read and something to write."""

    weight: np.ndarray
    total: np.ndarray


class Outer(NamedTuple):
    """A block with a block in it."""

    scale: float
    inner: Inner


class FromZero(list):
    """A list without Python's indices from the end, which compiled kernels do not have."""

    def __getitem__(self, i):
        assert isinstance(i, slice) or i >= 0
        return super().__getitem__(i)

    def __setitem__(self, i, value):
        assert isinstance(i, slice) or i >= 0
        super().__setitem__(i, value)


def from_zero(argument):
    """As `jit._listed`, of such lists."""
    if isinstance(argument, tuple):
        return argument._make(map(from_zero, argument))
    return FromZero(argument.tolist()) if isinstance(argument, np.ndarray) else argument


@jit.kernel
def before(values, i, found):
    """The value at i, which may be below 0."""
    found[0] = values[i]


@jit.kernel
def add_weights(outer, n):
    """Add the first n weights, times the scale; returns their number."""
    for i in range(n):
        outer.inner.total[0] += outer.scale * outer.inner.weight[i]
    return len(outer.inner.weight)


def runs(problem, seed):
    """All results of every partitioner, with a trace for odd seeds, and scheduler for a problem, as bytes; errors as text."""
    result = []
    for partitioner, function in pl.partitioners().items():
        try:
            recording = {"trace": True} if seed % 2 and "trace" in function.reserved else {}
            placement = pl.place(problem, partitioner, seed=seed, **recording, **FEWER.get(partitioner, {}))
        except pl.PlacelabError as error:
            result.append(str(error))
            continue
        result.append((partitioner, placement.device.tobytes(), placement.estimate, bits(placement.trace)))
        for scheduler in pl.schedulers():
            for oom in ("mark", "wait"):
                try:
                    s = pl.simulate(problem, placement, scheduler, seed=seed, oom=oom)
                except pl.PlacelabError as error:
                    result.append(str(error))
                else:
                    result.append(
                        (
                            scheduler,
                            oom,
                            s.start.tobytes(),
                            s.finish.tobytes(),
                            s.transfers.tobytes(),
                            s.sends.tobytes(),
                        )
                    )
    return result


def bits(trace):
    """The arrays of a trace, as bytes; None without one."""
    return trace and [trace.op.tobytes(), trace.device.tobytes(), trace.score.tobytes()]


@pytest.mark.slow
def test_compiled_is_plain_bit_for_bit(monkeypatch):
    """Every partitioner × scheduler × memory handling, over random problems of all models."""
    monkeypatch.setattr(jit, "_listed", from_zero)
    for i, problem in enumerate(many(25, seed=3, ops=14)):
        monkeypatch.setenv("PLACELAB_JIT", "check")
        compiled = runs(problem, seed=i)
        monkeypatch.setenv("PLACELAB_JIT", "0")
        assert runs(problem, seed=i) == compiled


@pytest.mark.slow
def test_compiled_is_plain_on_a_real_graph(monkeypatch):
    """The same on a network of 367 ops with its groups."""
    monkeypatch.setattr(jit, "_listed", from_zero)
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(), transfers="sequential")
    monkeypatch.setenv("PLACELAB_JIT", "check")
    compiled = runs(problem, seed=0)
    monkeypatch.setenv("PLACELAB_JIT", "0")
    assert runs(problem, seed=0) == compiled


def test_compiled_indices_are_as_they_are(monkeypatch):
    """One below 0 is the place before the array, and not its end: a sum less at each access. Other code of numba has it."""
    monkeypatch.setenv("PLACELAB_JIT", "check")
    values = frozen(np.arange(3.0))
    found = np.empty(1)
    before(values[1:], -1, found)
    assert found == [0.0]
    assert numba.njit(lambda values, i: values[i])(values[1:], -1) == 2.0


@pytest.mark.slow
def test_a_kernel_is_called_with_the_types_of_its_first_call(monkeypatch):
    """Machine code is entered without a look at the types: read-only and writable arrays always stand at the same places."""
    monkeypatch.setenv("PLACELAB_JIT", "check")
    for problem in many(5, seed=4):
        runs(problem, seed=0)


class OfAnotherVersion(NamedTuple):
    """A block that is no more when the index that names it is read."""

    values: np.ndarray


@pytest.mark.parametrize("index", [b"", b"x", pickle.dumps((None, OfAnotherVersion(np.zeros(1))))])
def test_an_index_that_cannot_be_read_is_begun_anew(tmp_path, monkeypatch, index):
    """A damaged one, and one of another version, whose blocks are gone: the kernel runs compiled, and is kept on disk."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PLACELAB_JIT", "wait")
    values = frozen(np.arange(3.0))
    found = np.empty(1)
    first = jit.kernel(before.function)
    first(values, 1, found)
    (path,) = tmp_path.rglob("*.nbi")
    path.write_bytes(pickle.dumps(numba.__version__) + index)
    monkeypatch.delattr(sys.modules[__name__], "OfAnotherVersion")
    again = jit.kernel(before.function)
    again(values, 2, found)
    assert found == [2.0] and jit.kernel(before.function)._is_cached(again._types)


def test_changed_sources_are_compiled_anew(tmp_path):
    """The cache is keyed by the hash of all kernel sources, helpers in other files included."""
    for path in Path(jit.__file__).parent.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    before = jit._sources.__wrapped__(tmp_path)
    with (tmp_path / "heap.py").open("a") as file:
        file.write("# changed")
    assert jit._sources.__wrapped__(tmp_path) != before


def test_the_first_call_compiles_in_the_background_and_says_so_once(tmp_path):
    """With an empty cache the plain path serves at once, with the same result, and the log gives the reason."""
    code = (
        "import logging, time, placelab as pl; logging.basicConfig();"
        "p = pl.Problem(pl.generators.fork_join(5), pl.Cluster.uniform(2));"
        "pl.upward_rank(p); t = time.time(); s = pl.simulate(p, pl.Placement(p, [0, 1, 0, 1, 0, 1, 0]), 'fifo');"
        "print(time.time() - t, s.makespan)"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "compiles its kernels once for this machine, in the background" in run.stderr
    assert run.stderr.count("WARNING") == 1  # for two kernels
    problem = pl.Problem(pl.generators.fork_join(5), pl.Cluster.uniform(2))
    assert (
        float(run.stdout.split()[1])
        == pl.simulate(problem, pl.Placement(problem, [0, 1, 0, 1, 0, 1, 0]), "fifo").makespan
    )


@pytest.mark.slow
def test_a_comparison_waits_for_the_compiler(tmp_path):
    """Its progress says so, and it can be cancelled meanwhile."""
    code = (
        "import placelab as pl; from placelab.base.progress import compiling\n"
        "p, said = pl.Problem(pl.generators.fork_join(5), pl.Cluster.uniform(2)), []\n"
        "ended = pl.compare(p, 'single', 'fifo', progress=said.append, cancel=lambda: len(said) == 3)\n"
        "print(len(ended), said[-1].doing, said[-1].row, compiling())"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PLACELAB_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "0 compiling kernels, once for this machine None True\n"


def test_views_of_a_bound_kernel_are_what_it_works_on(monkeypatch):
    """A kernel that is called repeatedly converts its arguments once; results are written back on request."""

    @jit.kernel
    def add_one(values):
        values[0] += 1
        return values[0]

    monkeypatch.setenv("PLACELAB_JIT", "0")
    values = np.zeros(1)
    enter, views, write_back = add_one.bind(values)
    views[0][0] = 5.0
    assert (enter(), enter()) == (6.0, 7.0)
    assert values[0] == 0.0
    write_back()
    assert values[0] == 7.0


def weights():
    """A block of three read-only weights, and a total of 0."""
    return Outer(2.0, Inner(frozen(np.arange(1.0, 4.0)), np.zeros(1)))


@pytest.mark.parametrize(
    ("weight", "n"),
    [
        (weights().inner.weight, 3.0),
        (np.arange(1.0, 4.0), 3),  # not read-only
        (frozen(np.arange(1.0, 4.0, dtype=np.float32)), 3),
        (frozen(np.arange(1, 4)), 3),
        (frozen(np.arange(1.0, 7.0))[::2], 3),
        (frozen(np.ones((3, 1))), 3),
        ([1.0, 2.0, 3.0], 3),
    ],
)
def test_arguments_of_other_types_are_refused(monkeypatch, weight, n):
    """Machine code does not look at them: it would read what is not there, or write what is read-only."""
    monkeypatch.setenv("PLACELAB_JIT", "check")
    right = weights()
    assert add_weights(right, 3) == 3
    with pytest.raises(TypeError, match="kernel add_weights takes"):
        add_weights(right._replace(inner=right.inner._replace(weight=weight)), n)


@pytest.mark.parametrize("setting", ["0", "check"])
def test_arrays_in_nested_blocks_are_read_and_written(monkeypatch, setting):
    """Results inside blocks reach the caller's arrays, from plain Python as from compiled code."""
    monkeypatch.setenv("PLACELAB_JIT", setting)
    outer = weights()
    assert add_weights(outer, 3) == 3
    assert outer.inner.total[0] == 12.0


def test_blocks_of_a_bound_kernel_are_what_it_works_on(monkeypatch):
    """Blocks are converted once, so the caller can read and set their content between two calls."""
    monkeypatch.setenv("PLACELAB_JIT", "0")
    outer = weights()
    enter, (view, _), write_back = add_weights.bind(outer, 1)
    view.inner.total[0] = 5.0
    assert (enter(), enter()) == (3, 3)
    assert (view.inner.total[0], outer.inner.total[0]) == (9.0, 0.0)
    write_back()
    assert outer.inner.total[0] == 9.0


@pytest.mark.slow
def test_blocks_are_found_in_the_cache(monkeypatch, tmp_path):
    """The next process finds the compiled code of a kernel on blocks under the same key."""
    code = "import placelab as pl;p = pl.Problem(pl.generators.fork_join(5), pl.Cluster.uniform(2)); pl.place(p, 'etf')"
    environment = {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "PLACELAB_JIT": "wait",
        "HOME": str(tmp_path),
    }
    written = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        written.append({path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb[ci]")})
    assert any("earliest_first" in name for name in written[0])
    assert written[0] == written[1]  # the second process has compiled nothing
