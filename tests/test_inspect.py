"""``placelab inspect | convert | place | compare``: what they say is what the library says, and errors are one sentence."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import tensorflow_samples

import placelab as pl
from placelab.cli import facts, main
from placelab.cli.terminal import pairs, printable, shortened, table
from placelab.formats import placement_json

HOSTILE = "\x1b]0;owned\x07\u202e\x9b2J"


@pytest.fixture
def graph():
    """Two kinds on a diamond with control edges, groups, devices and parameters."""
    return pl.OpGraph.from_arrays(
        ["a", "b", "c", "d"],
        [1e9, 2e9, 3e9, 0.0],
        [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)],
        edge_bytes=[10.0, 10.0, 20.0, 40.0, 0.0],
        edge_output=[0, 0, 0, 0, 1],
        edge_control=[False, False, False, False, True],
        persistent=[100.0, 0.0, 0.0, 0.0],
        kind=["MatMul", "MatMul", "Add", "NoOp"],
        groups=[[0, 1]],
        devices={3: ("gpu",)},
        metadata={"name": "diamond", "costs": {"compute": "FLOP", "unknown": {"Foo": 3}}},
    )


@pytest.fixture
def path(graph, tmp_path):
    """The same, as a file."""
    graph.save(tmp_path / "diamond.json.gz")
    return str(tmp_path / "diamond.json.gz")


def said(capsys, *arguments: str) -> str:
    """What a command prints."""
    main(arguments)
    return capsys.readouterr().out


def refused(*arguments: str) -> str:
    """The sentence a command ends with; its status is 1."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, str) and ended.value.code.startswith("placelab: ")
    assert "\n" not in ended.value.code and "Traceback" not in ended.value.code
    return ended.value.code


# -------------------------------------------------------------------- facts


def test_facts_of_a_diamond(graph):
    """Counted by hand."""
    found = facts.facts(graph, "uniform", pl.clusters.uniform().replace(types=["gpu"] * 4))
    assert (found["ops"], found["edges"], found["control_edges"], found["depth"]) == (4, 5, 1, 3)
    assert found["tensors"] == {"tensors": 3, "bytes": 70.0, "largest": 40.0, "largest_of": "c"}
    assert found["parameters"] == {"bytes": 100.0, "ops": 1}
    assert found["kinds"] == [
        {"kind": "MatMul", "ops": 2, "share": 0.5},
        {"kind": "Add", "ops": 1, "share": 0.5},
        {"kind": "NoOp", "ops": 1, "share": 0.0},
    ]
    assert found["groups"] == {"groups": 1, "ops": 2}
    assert found["devices"] == [{"devices": ["gpu"], "ops": 1}]
    assert found["costs"]["unknown kind"].endswith("3 ops: Foo × 3")
    on = found["on"]
    assert (on["one_device"], on["longest_path"]) == pytest.approx((6e-4, 4e-4))
    assert on["parallelism"] == pytest.approx(1.5)
    assert on["rho"] is None and on["shortest_op"] == 0.0


def test_facts_where_the_graph_cannot_run(graph):
    """A constraint that the cluster cannot meet is the reason, and the rest is told all the same."""
    found = facts.facts(graph, "mayer50", pl.clusters.mayer50())
    assert "may only run on gpu" in found["on"]["error"] and found["ops"] == 4


def test_facts_of_no_ops():
    """An empty graph has no largest tensor and no problem."""
    found = facts.facts(pl.OpGraph.from_arrays([], [], []), "uniform", pl.clusters.uniform())
    assert (found["ops"], found["depth"], found["tensors"]["largest_of"]) == (0, 0, None)
    assert "no ops" in found["on"]["error"]


def test_depth_is_the_longest_path_in_ops():
    """Of a chain all of them."""
    chain = pl.OpGraph.from_arrays([f"op{i}" for i in range(9)], [1.0] * 9, [(i, i + 1) for i in range(8)])
    assert facts.depth(chain) == 9


# -------------------------------------------------------------------- commands


@pytest.mark.parametrize("name", ["topcuoglu", "dynamic_rnn"])
def test_inspect_says_the_same_in_json(capsys, name):
    """Numbers of JSON are those of the library; the text has a line for each."""
    found = json.loads(said(capsys, "inspect", name, "--json"))
    graph = pl.load(name)
    assert (found["ops"], found["edges"]) == (graph.n_ops, graph.n_edges)
    assert found["tensors"]["bytes"] == graph.tensor_bytes[~graph.tensor_control].sum()
    text = said(capsys, "inspect", name)
    assert f"{graph.n_ops:,} of" in text and f"{graph.n_edges:,}, of them control" in text
    assert sum(kind["ops"] for kind in found["kinds"]) == graph.n_ops


def test_inspect_lists_all_kinds_on_request(capsys):
    """Else the first, and how many there are more."""
    few, every = said(capsys, "inspect", "dynamic_rnn"), said(capsys, "inspect", "dynamic_rnn", "--all")
    kinds = len(np.unique(pl.load("dynamic_rnn").kind))
    assert f"… and {kinds - 15} kinds more" in few and len(every.splitlines()) == len(few.splitlines()) + kinds - 16


def test_what_a_file_says_cannot_steer_a_terminal(capsys, tmp_path):
    """Names, kinds, devices, metadata and errors are escaped; nothing but text reaches the screen."""
    graph = pl.OpGraph.from_arrays(
        [HOSTILE, "b"],
        [1.0, 1.0],
        [(0, 1)],
        edge_bytes=[8.0],
        kind=[HOSTILE, ""],
        devices={1: (HOSTILE,)},
        metadata={"name": HOSTILE, "provenance": HOSTILE, "costs": {"unknown": {HOSTILE: 1}, "compute": HOSTILE}},
    )
    graph.save(tmp_path / "evil.json")
    text = said(capsys, "inspect", str(tmp_path / "evil.json"))
    assert all(c.isprintable() or c == "\n" for c in text) and r"\x1b]0;owned\x07\u202e\x9b2J" in text
    told = refused("place", str(tmp_path / "evil.json"))
    assert told.isprintable() and "may only run on" in told


def test_convert_keeps_everything_but_the_name(capsys, path, graph, tmp_path):
    """A graph in, the same graph out; the file says what is in it."""
    out = tmp_path / "out.json"
    assert said(capsys, "convert", path, str(out), "--name", "other") == f"{out}: 4 ops, 5 edges\n"
    made = pl.load(out)
    assert made.title == "other" and made.names.tolist() == graph.names.tolist()
    assert made.tensor_bytes.tolist() == graph.tensor_bytes.tolist()


def test_place_writes_what_the_name_of_the_file_says(capsys, tmp_path):
    """A placement that can be read back, a page, a trace; the makespan is the library's."""
    for name in ("p.json", "p.html", "p.trace.json", "p.csv"):
        assert "makespan       80 s\n" in said(capsys, "place", "topcuoglu", "--out", str(tmp_path / name))
    problem = pl.datasets.problem("topcuoglu")
    placement = placement_json.read(tmp_path / "p.json", problem)
    assert placement.device.tolist() == pl.place(problem, "heft").device.tolist()
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "p.trace.json").read_text())["traceEvents"]
    assert len(pd.read_csv(tmp_path / "p.csv")) == 10


def test_place_hands_placements_back_to_the_frameworks(capsys, tmp_path):
    """TensorFlow gets its own file with devices, PyTorch a device map by module, with a note where one is split."""
    (tmp_path / "served.pb").write_bytes(tensorflow_samples.training())
    said(capsys, "place", str(tmp_path / "served.pb"), "--cluster", "pcie_box", "--out", str(tmp_path / "placed.pb"))
    assert (tmp_path / "placed.pb").read_bytes() != (tmp_path / "served.pb").read_bytes()
    assert pl.load(tmp_path / "placed.pb").names.tolist() == pl.load(tmp_path / "served.pb").names.tolist()
    said(capsys, "place", "gpt2", "--partitioner", "single", "--out", str(tmp_path / "device_map.json"))
    assert set(json.loads((tmp_path / "device_map.json").read_text()).values()) == {0}
    assert "note: the placement splits" in said(
        capsys, "place", "topcuoglu", "--out", str(tmp_path / "device_map.json")
    )


def test_place_takes_rules_and_strategies(capsys):
    """As a problem and the library's own calls do."""
    rules = ["--cluster", "uniform", "--memory", "reserved", "--transfers", "sequential", "--seed", "3"]
    text = said(capsys, "place", "dynamic_rnn", *rules, "--partitioner", "tf-greedy", "--prepare", "colocate,fuse")
    problem = pl.Problem(pl.load("dynamic_rnn"), pl.clusters.uniform(), memory="reserved", transfers="sequential")
    placement = pl.place(problem, "tf-greedy", prepare=("colocate", "fuse"), seed=3)
    scheduler = "pct" if placement.planned is None else "planned"
    schedule = pl.simulate(problem, placement, scheduler, seed=3)
    assert f"makespan       {pl.units.seconds(schedule.makespan)}" in text and "rules          all hold" in text


def test_compare_sorts_the_best_first(capsys, tmp_path):
    """And writes the library's table."""
    arguments = ["--partitioners", "heft,single", "--schedulers", "planned,fifo", "--out", str(tmp_path / "c.csv")]
    lines = said(capsys, "compare", "topcuoglu", *arguments).splitlines()
    assert lines[2].split()[:4] == ["heft", "planned", "80", "s"]
    frame = pd.read_csv(tmp_path / "c.csv")
    assert frame["makespan"].dropna().is_monotonic_increasing and len(frame) == 4


@pytest.mark.parametrize("suffix", ["dot", "gv"])
def test_convert_writes_other_formats(capsys, graph, tmp_path, suffix):
    """What they hold comes back."""
    graph.save(tmp_path / "g.json")
    said(capsys, "convert", str(tmp_path / "g.json"), str(tmp_path / f"g.{suffix}"))
    made = pl.load(tmp_path / f"g.{suffix}")
    assert made.names.tolist() == graph.names.tolist() and made.compute.tolist() == graph.compute.tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("convert", "topcuoglu", "out.stg"), "have no place for"),
        (("inspect", "nope"), "neither a dataset"),
        (("inspect", "nope.onnx"), "nope.onnx"),
        (("inspect", "topcuoglu", "--cluster", "nope"), "no cluster preset is called"),
        (("inspect", "dynamic_rnn", "--cluster", "own"), "comes without processors"),
        (("convert", "topcuoglu", "out.xyz"), "has no format to write"),
        (("convert", "topcuoglu", "no/such/folder/out.json"), "cannot be written"),
        (("convert", "topcuoglu", "out.json", "--name", "a\nb"), "is not a name"),
        (("place", "topcuoglu", "--partitioner", "nope"), "nope"),
        (("place", "topcuoglu", "--scheduler", "nope"), "nope"),
        (("place", "topcuoglu", "--prepare", "nope"), "nope"),
        (("place", "topcuoglu", "--out", "x.xyz"), "has no format to write"),
        (("compare", "topcuoglu", "--partitioners", "nope"), "nope"),
    ],
)
def test_errors_are_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    """Which says what was found; nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [(), ("nope",), ("inspect",), ("inspect", "x", "--dimension", "x")])
def test_a_wrong_command_line_is_status_2(arguments):
    """With its usage."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize("name", ["lab", "inspect", "convert", "place", "compare"])
def test_every_command_has_help(capsys, name):
    """A sentence on what it does; all but one show examples."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0 and text.startswith(f"usage: placelab {name}")
    assert name == "lab" or f"examples:\n  placelab {name} " in text


def test_who_reads_may_stop(path):
    """A pipe that is closed early, and a terminal that knows ASCII only, are no error."""
    call = [sys.executable, "-c", "from placelab.cli import main; main()", "inspect", path, "--cluster", "pcie_box"]
    ascii_only = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(call, capture_output=True, env=ascii_only, check=True)
    assert rb"\u03c1" in done.stdout and not done.stderr
    with subprocess.Popen([*call, "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 0


# -------------------------------------------------------------------- terminal


def test_text_for_a_terminal():
    """Escapes, cuts and columns."""
    assert printable("ok ρ 日本\t\r\n") == "ok ρ 日本\\t\\r\\n"
    assert printable("\ud800") == "\\ud800"
    assert len(shortened("x" * 10_000)) < 101 and shortened("abc") == "abc"
    assert pairs([("a", "1"), ("long", "2")]) == "a     1\nlong  2"
    assert table([("kind", "n"), ("x", "10")], numbers=(1,)) == "kind   n\nx     10"
