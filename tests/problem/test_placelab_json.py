"""placelab JSON: exact round trips, and hostile files."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from problems import many

import placelab as pl
from placelab.formats import placelab_json
from placelab.problem import graph_json


def document(**changes):
    """A small valid file as an object, with some keys changed; ``a__b`` is key b of a."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1, 2], [(0, 1)], edge_bytes=3, kind="K", metadata={"name": "small"})
    result = json.loads(graph_json.dumps(graph))
    for path, value in changes.items():
        *parents, key = path.split("__")
        target = result
        for parent in parents:
            target = target[parent]
        target[key] = value
    return json.dumps(result).encode()


def test_round_trip_is_exact(tmp_path):
    """Every column comes back bit for bit, plain or gzipped."""
    for i, problem in enumerate(many(200, seed=2)):
        path = tmp_path / ("g.json.gz" if i % 2 else "g.json")
        problem.graph.save(path)
        again = pl.load(path)
        for label in problem.graph.__dataclass_fields__:
            read = getattr(again, label)
            written = getattr(problem.graph, label)
            if isinstance(written, np.ndarray):
                np.testing.assert_array_equal(read, written, err_msg=label)
            else:
                assert read == written


def test_the_same_graph_gives_the_same_bytes(tmp_path):
    """In every process, for any hash seed."""
    code = "import placelab as pl, sys; pl.load('convolutional_network').save(sys.argv[1])"
    files = [tmp_path / f"{seed}.json.gz" for seed in (1, 2)]
    for seed, file in enumerate(files, 1):
        environment = {"PYTHONHASHSEED": str(seed), "PLACELAB_JIT": "0"}
        subprocess.run([sys.executable, "-c", code, file], env=environment, check=True)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(format="other"), "is not a placelab graph"),
        (dict(version=9), "has version 9"),
        (dict(ops=[]), "'ops' is list; expected an object"),
        (dict(ops__name=["a", "a"]), "two ops are called 'a'"),
        (dict(ops__name=["a", 3]), "'name' must be a list of texts"),
        (dict(ops__compute=[1]), "'compute' has 1 entries, expected 2"),
        (dict(ops__compute=[1, "2"]), "'compute' must be a list of numbers"),
        (dict(ops__compute=[1, True]), "'compute' must be a list of numbers"),
        (dict(ops__compute=[1, -2]), "compute of op 'b' is -2"),
        (dict(ops__compute=[1, 10**400]), "a number that is too large"),
        (dict(ops__kind=[0, 5]), "'kind' holds 5; expected 0 to 0"),
        (dict(ops__group=[0, -1]), "'group' holds 0; expected -1 to -1"),
        (dict(ops__outputs=[1, 1]), "'outputs' add up to 2, but there are 1 tensors"),
        (dict(tensors__consumers=[0]), "'consumers' add up to 0, but there are 1 edges"),
        (dict(edges__consumer=[0]), "consumes its own output"),
        (dict(edges__consumer=[7]), "'consumer' holds 7; expected 0 to 1"),
        (dict(edges__consumer=[1.0]), "'consumer' must be a list of whole numbers"),
        (dict(metadata=3), "'metadata' is int"),
        (dict(device_sets=[[1]]), "'device_sets' must be lists of names or types"),
    ],
)
def test_files_that_are_not_graphs_say_what_was_found(changes, words):
    """One sentence that begins with the file's name."""
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        placelab_json.loads(document(**changes), "bad.json")
    assert str(caught.value).startswith("bad.json")


def test_a_cycle_in_a_file_is_a_cycle_error():
    """The file and the ops on the cycle are named."""
    cyclic = document(ops__outputs=[1, 1], tensors__bytes=[1, 1], tensors__consumers=[1, 1], edges__consumer=[1, 0])
    with pytest.raises(pl.CycleError, match=r"bad.json: the graph has a cycle: '[ab]' → '[ab]'"):
        placelab_json.loads(cyclic, "bad.json")


def test_only_files_are_read(tmp_path):
    """Reading a pipe might never end, and a directory has no bytes."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    for name in ("pipe.json", "folder.json", "loop.json"):
        with pytest.raises(pl.FormatError, match=name):
            pl.load(tmp_path / name)


def test_a_link_in_the_way_does_not_lead_to_another_file(tmp_path):
    """Another user with write access to the folder may guess the name of the temporary file."""
    other = tmp_path / "other"
    other.write_text("precious")
    (tmp_path / ".out.json.partial").symlink_to(other)
    graph_json.write(pl.OpGraph.from_arrays(["a"], 1, []), tmp_path / "out.json")
    assert other.read_text() == "precious"
    assert not (tmp_path / "out.json").is_symlink() and placelab_json.read(tmp_path / "out.json").n_ops == 1


def test_a_graph_is_not_taken_for_a_placement(tmp_path):
    """The sentence names the function that reads the file, also in the reverse case; problem and path cannot be swapped."""
    problem = pl.Problem(pl.generators.fork_join(2), pl.Cluster.uniform(2))
    pl.export.graph(problem.graph, tmp_path / "g.json")
    pl.place(problem).save(tmp_path / "p.json")
    with pytest.raises(pl.FormatError, match=r"g\.json is a graph, which pl\.load reads"):
        pl.Placement.load(problem, tmp_path / "g.json")
    with pytest.raises(pl.FormatError, match=r"p\.json is a placement, which Placement\.load reads"):
        pl.load(tmp_path / "p.json")
    with pytest.raises(pl.FormatError, match=r"Placement\.load\(problem, path\) needs a Problem"):
        pl.Placement.load(tmp_path / "p.json", problem)


def test_completion_offers_what_is_public():
    """Completion lists all public names, and no imported module."""
    assert set(dir(pl)) == set(pl.__all__) and all(hasattr(pl, name) for name in dir(pl))
    assert set(dir(pl.export)) == set(pl.export.__all__) and all(
        callable(getattr(pl.export, n)) for n in dir(pl.export)
    )
