"""``placelab inspect | convert | place | compare``: output agrees with the library, and errors are one sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import onnx_models
import pandas as pd
import pytest
import tensorflow_samples

import placelab as pl
from placelab.app.cli import main, model_commands
from placelab.app.cli.arguments import pairs, printable, shortened, table
from placelab.base import units

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
    """The same graph, as a file."""
    graph.save(tmp_path / "diamond.json.gz")
    return str(tmp_path / "diamond.json.gz")


def said(capsys, *arguments: str) -> str:
    """Output of a command."""
    main(arguments)
    return capsys.readouterr().out


def refused(*arguments: str) -> str:
    """The sentence with which a command ends; its status is 1."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, str) and ended.value.code.startswith("placelab: ")
    assert "\n" not in ended.value.code and "Traceback" not in ended.value.code
    return ended.value.code


# -------------------------------------------------------------------- facts


def test_facts_of_a_diamond(graph):
    """Counted by hand."""
    found = model_commands.facts(graph, "uniform", pl.clusters.uniform().replace(types=["gpu"] * 4))
    assert (found["ops"], found["edges"], found["control_edges"], found["depth"]) == (4, 5, 1, 3)
    in_others = {"in_others": 0, "saved": 0.0}  # each has a storage of its own
    assert found["tensors"] == {"tensors": 3, "bytes": 70.0, "largest": 40.0, "largest_of": "c"} | in_others
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
    """The reason is the constraint that the cluster cannot meet; all other facts are shown."""
    found = model_commands.facts(graph, "mayer50", pl.clusters.mayer50())
    assert "may only run on gpu" in found["on"]["error"] and found["ops"] == 4


def test_facts_of_no_ops():
    """An empty graph has no largest tensor and no problem."""
    found = model_commands.facts(pl.OpGraph.from_arrays([], [], []), "uniform", pl.clusters.uniform())
    assert (found["ops"], found["depth"], found["tensors"]["largest_of"]) == (0, 0, None)
    assert "no ops" in found["on"]["error"]


def test_depth_is_the_longest_path_in_ops():
    """The depth of a chain is the number of its ops."""
    chain = pl.OpGraph.from_arrays([f"op{i}" for i in range(9)], [1.0] * 9, [(i, i + 1) for i in range(8)])
    assert model_commands.depth(chain) == 9


# -------------------------------------------------------------------- commands


@pytest.mark.parametrize("name", ["topcuoglu", "dynamic_rnn"])
def test_inspect_says_the_same_in_json(capsys, name):
    """Numbers of the JSON are those of the library; the text has a line for each."""
    found = json.loads(said(capsys, "inspect", name, "--json"))
    graph = pl.load(name)
    assert (found["ops"], found["edges"]) == (graph.n_ops, graph.n_edges)
    assert found["tensors"]["bytes"] == graph.tensor_bytes[~graph.tensor_control].sum()
    text = said(capsys, "inspect", name)
    assert f"{graph.n_ops:,} of" in text and f"{graph.n_edges:,}, of them control" in text
    assert sum(kind["ops"] for kind in found["kinds"]) == graph.n_ops


def test_inspect_lists_all_kinds_on_request(capsys):
    """Without --all it lists the first kinds and the number of the others."""
    few = said(capsys, "inspect", "dynamic_rnn")
    every = said(capsys, "inspect", "dynamic_rnn", "--all")
    kinds = len(np.unique(pl.load("dynamic_rnn").kind))
    assert f"… and {kinds - 15} kinds more" in few and len(every.splitlines()) == len(few.splitlines()) + kinds - 16


def test_what_a_file_says_cannot_steer_a_terminal(capsys, tmp_path):
    """Names, kinds, devices, metadata and errors are escaped; only text reaches the screen."""
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
    sentence = refused("place", str(tmp_path / "evil.json"))
    assert sentence.isprintable() and "may only run on" in sentence


def test_convert_keeps_everything_but_the_name(capsys, path, graph, tmp_path):
    """The converted file holds the same graph."""
    out = tmp_path / "out.json"
    assert said(capsys, "convert", path, str(out), "--name", "other") == f"{out}: 4 ops, 5 edges\n"
    made = pl.load(out)
    assert made.title == "other" and made.names.tolist() == graph.names.tolist()
    assert made.tensor_bytes.tolist() == graph.tensor_bytes.tolist()


def test_place_writes_what_the_name_of_the_file_says(capsys, tmp_path):
    """A placement that can be read, a page, a trace; the makespan is the library's."""
    what = {"p.json": "placement", "p.html": "page", "p.trace.json": "trace", "p.csv": "table of ops"}
    for name, kind in what.items():
        text = said(capsys, "place", "topcuoglu", "--out", str(tmp_path / name))
        assert "makespan       80\n" in text and text.endswith(f"written: {tmp_path / name} ({kind})\n")
    problem = pl.datasets.problem("topcuoglu")
    placement = pl.Placement.load(problem, tmp_path / "p.json")
    assert placement.device.tolist() == pl.place(problem, "heft").device.tolist()
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "p.trace.json").read_text())["traceEvents"]
    assert len(pd.read_csv(tmp_path / "p.csv")) == 10


def test_place_hands_placements_back_to_the_frameworks(capsys, tmp_path):
    """TensorFlow gets its file with devices, PyTorch a device map by module, with a note if a module is split."""
    (tmp_path / "served.pb").write_bytes(tensorflow_samples.training())
    said(capsys, "place", str(tmp_path / "served.pb"), "--cluster", "pcie_box", "--out", str(tmp_path / "placed.pb"))
    assert (tmp_path / "placed.pb").read_bytes() != (tmp_path / "served.pb").read_bytes()
    assert pl.load(tmp_path / "placed.pb").names.tolist() == pl.load(tmp_path / "served.pb").names.tolist()
    said(capsys, "place", "gpt2", "--partitioner", "single", "--out", str(tmp_path / "device_map.json"))
    assert set(json.loads((tmp_path / "device_map.json").read_text()).values()) == {0}
    parts = pl.OpGraph.from_arrays(["m/a", "m/b"], [1e12, 1e12], [], kind="aten", metadata={"parameters": {}})
    parts.save(tmp_path / "parts.json")
    text = said(capsys, "place", str(tmp_path / "parts.json"), "--out", str(tmp_path / "device_map.json.gz"))
    assert "note: the placement splits 'm'" in text
    assert (tmp_path / "device_map.json.gz").read_bytes().startswith(b"\x1f\x8b")


def test_place_takes_rules_and_strategies(capsys):
    """The result equals that of the library's calls with the same arguments."""
    rules = [
        "--cluster",
        "uniform",
        "--memory",
        "reserved",
        "--transfers",
        "sequential",
        "--latency",
        "follows",
        "--seed",
        "3",
    ]
    text = said(capsys, "place", "dynamic_rnn", *rules, "--partitioner", "tf-greedy", "--prepare", "colocate,fuse")
    models = dict(memory="reserved", transfers="sequential", latency="follows")
    problem = pl.Problem(pl.load("dynamic_rnn"), pl.clusters.uniform(), **models)
    placement = pl.place(problem, "tf-greedy", prepare=("colocate", "fuse"), seed=3)
    scheduler = "pct" if placement.planned is None else "planned"
    schedule = pl.simulate(problem, placement, scheduler, seed=3)
    assert f"makespan       {units.seconds(schedule.makespan)}" in text and "rules          all hold" in text


def test_place_takes_options_of_strategies(capsys):
    """Numbers, texts and truth values, for the partitioner and for the scheduler; a wrong one is one sentence."""
    given = ["place", "dynamic_rnn", "--cluster", "uniform", "--scheduler", "fifo"]
    options = ["--partitioner-option", "insertion=false", "--scheduler-option", "ties=random"]
    problem = pl.Problem(pl.load("dynamic_rnn"), pl.clusters.uniform())
    known = dict(partitioner_options={"insertion": False}, scheduler_options={"ties": "random"})
    schedule = pl.solve(problem, "heft", "fifo", **known)
    assert f"makespan       {units.seconds(schedule.makespan)}" in said(capsys, *given, *options)
    assert schedule.makespan not in {pl.solve(problem, "heft", "fifo", **{k: known[k]}).makespan for k in known}
    for wrong, sentence in (
        ("insertion=7", "expected"),
        ("nope=1", "no option"),
        ("seed=1", "no option of a strategy"),
    ):
        with pytest.raises(SystemExit, match=sentence):
            main([*given, "--partitioner-option", wrong])
    with pytest.raises(SystemExit, match="2"):
        main([*given, "--partitioner-option", "insertion"])
    assert "is not NAME=VALUE" in capsys.readouterr().err


def test_a_comparison_without_a_schedule_fails(capsys):
    """The table says why, and the exit status is 1."""
    with pytest.raises(SystemExit, match="no pair gave a schedule"):
        main(["compare", "topcuoglu", "--partitioners", "layers", "--schedulers", "planned"])
    assert "layers" in capsys.readouterr().out


def test_compare_sorts_the_best_first(capsys, tmp_path):
    """The printed table is sorted; the file holds the table of `compare`."""
    arguments = ["--partitioners", "heft,single", "--schedulers", "planned,fifo", "--out", str(tmp_path / "c.csv")]
    lines = said(capsys, "compare", "topcuoglu", *arguments).splitlines()
    assert lines[2].split()[:4] == ["heft", "planned", "80", "29"]
    frame = pd.read_csv(tmp_path / "c.csv")
    assert frame["makespan"].dropna().is_monotonic_increasing and len(frame) == 4
    assert lines[-2] == "best: 2 pairs tie, heft + planned, heft + fifo" or frame["makespan"][0] < frame["makespan"][1]


def test_compare_says_which_pairs_tie(capsys):
    """One best pair is named; of several, how many they are and the first of them; where none counts, that."""
    ends = [
        said(capsys, "compare", "topcuoglu", "--partitioners", names, "--schedulers", "fifo").splitlines()[-1]
        for names in ("heft,single", "single", "heft,peft,cpop,single,etf,hash")
    ]
    frame = pl.compare(pl.datasets.problem("topcuoglu"), ["heft", "peft", "cpop", "single", "etf", "hash"], ["fifo"])
    best = (pl.best_pairs(frame)["partitioner"] + " + fifo").tolist()
    assert ends[:2] == ["best: heft + fifo", "best: single + fifo"]
    assert ends[2] == (f"best: {len(best)} pairs tie, {', '.join(best)}" if len(best) > 1 else f"best: {best[0]}")


@pytest.mark.parametrize("suffix", ["dot", "gv"])
def test_convert_writes_other_formats(capsys, graph, tmp_path, suffix):
    """A written file loads again with what its format can hold."""
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
        (("place", "topcuoglu", "--out", "x.pb"), ".pb can only be written for a GraphDef that was loaded from a file"),
        (("place", "topcuoglu", "--out", "x.pbtxt"), ".pbtxt can only be written for a GraphDef"),
        (("place", "dynamic_rnn", "--out", "device_map.json"), "has no PyTorch modules"),
        (
            ("place", "topcuoglu", "--out", "no/p.json"),
            "no/p.json cannot be written: no is not a folder; make it first",
        ),
        (("compare", "topcuoglu", "--out", "no/p.csv"), "no is not a folder; make it first"),
        (("compare", "topcuoglu", "--out", "p.xyz"), "has no format to write; files end in .csv"),
        (
            ("inspect", "topcuoglu", "--batch", "4"),
            "topcuoglu: --batch is an option of TensorFlow files; datasets have none",
        ),
    ],
)
def test_errors_are_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    """The sentence says what was found, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.pb", "device_map.json", "no/p.json", "x.xyz"])
def test_what_cannot_be_written_is_refused_before_the_work(name, tmp_path, monkeypatch):
    """An error in `--out` is raised before anything is computed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("placelab.app.cli.strategy_commands.solve", lambda *_, **__: pytest.fail("it was placed"))
    monkeypatch.setattr(
        "placelab.app.cli.strategy_commands.compare_pairs", lambda *_, **__: pytest.fail("it was compared")
    )
    refused("place", "dynamic_rnn", "--out", name)
    refused("compare", "dynamic_rnn", "--out", name)


def test_a_graph_def_is_written_in_the_form_it_had(tmp_path, monkeypatch):
    """A text GraphDef stays text; a converted graph has no file to write devices into."""
    (tmp_path / "g.pb").write_bytes(tensorflow_samples.training())
    pl.load(tmp_path / "g.pb").save(tmp_path / "g.json")
    monkeypatch.setattr("placelab.app.cli.strategy_commands.solve", lambda *_, **__: pytest.fail("it was placed"))
    sentence = refused("place", str(tmp_path / "g.pb"), "--out", str(tmp_path / "x.pbtxt"))
    assert sentence.endswith("is a GraphDef in .pb's form; write .pb instead")
    sentence = refused("place", str(tmp_path / "g.json"), "--out", str(tmp_path / "x.pb"))
    assert sentence.endswith("g.json is none; write .json instead")


@pytest.mark.parametrize(
    ("name", "flags", "sentence"),
    [
        ("g.dot", ("--batch", "4"), "--batch is an option of TensorFlow files; .dot files have none"),
        ("g.json.gz", ("--dimension", "n=4"), "--dimension is an option of ONNX files; .json files have none"),
        ("g.onnx", ("--batch", "32"), "--batch is an option of TensorFlow files; use --dimension batch=32"),
        ("onnx.pb", ("--batch", "32"), "--batch is an option of TensorFlow files; use --dimension batch=32"),
        ("g.pb", ("--dimension", "batch=8"), "--dimension is an option of ONNX files; use --batch 8"),
    ],
)
def test_an_option_of_another_format_is_refused_with_the_file_and_the_flag(name, flags, sentence, graph, tmp_path):
    """The sentence names the equivalent flag of the other format, if there is one."""
    model = onnx_models.model(onnx_models.LINEAR).SerializeToString()
    made = {"g.onnx": model, "onnx.pb": model, "g.pb": tensorflow_samples.training()}
    path = tmp_path / name
    path.write_bytes(made[name]) if name in made else pl.export.graph(graph, path)
    assert refused("inspect", str(path), *flags) == f"placelab: {path}: {sentence}"


def test_inspect_lists_open_dimensions_and_their_flag(capsys, tmp_path):
    """Output names the format's flag until all unknown dimensions have sizes."""
    onnx_file = str(tmp_path / "m.onnx")
    tf_file = str(tmp_path / "g.pb")
    (tmp_path / "m.onnx").write_bytes(onnx_models.model(onnx_models.LINEAR).SerializeToString())
    (tmp_path / "g.pb").write_bytes(tensorflow_samples.training())
    row = r"\nopen dimension +"
    assert re.search(row + "batch taken as 1; --dimension batch=N\n", said(capsys, "inspect", onnx_file))
    assert re.search(row + "batch taken as 8\n", said(capsys, "inspect", onnx_file, "--dimension", "batch=8"))
    costs = json.loads(said(capsys, "inspect", onnx_file, "--json"))["costs"]
    assert costs["open dimension"] == "batch taken as 1"
    assert re.search(row + r"batch taken as 1, the first .* outputs; --batch N\n", said(capsys, "inspect", tf_file))
    assert re.search(
        row + r"batch taken as 4, the first .* outputs\n", said(capsys, "inspect", tf_file, "--batch", "4")
    )


def test_convert_says_what_the_file_does_not_hold(capsys, tmp_path):
    """One line per loss; none if all is kept; one if placelab could not read the file again."""
    stg = tmp_path / "d.stg"
    lines = said(capsys, "convert", "dynamic_rnn", str(stg)).splitlines()
    assert len(lines) == 2 and lines[1] == (
        f"note: {stg} does not hold names, kinds, the unit of operations, memory, control edges, shared tensors, groups, "
        "metadata (provenance, licence)"
    )
    assert len(said(capsys, "convert", str(stg), str(tmp_path / "again.stg")).splitlines()) == 1
    for name in ("d.json", "d.dot"):
        assert len(said(capsys, "convert", "dynamic_rnn", str(tmp_path / name)).splitlines()) == 1


def test_a_converted_file_that_is_not_read_again_is_noted(capsys, path, tmp_path, monkeypatch):
    """Some formats have limits that graphs do not have, so their files may not be readable."""
    monkeypatch.setattr("placelab.formats.task_graphs.dot.MAX_NODES", 3)
    text = said(capsys, "convert", path, str(tmp_path / "d.dot"))
    assert "note: it cannot be read again: " in text and "over 3 nodes" in text


@pytest.mark.parametrize("command", [("place",), ("compare", "--partitioners", "heft", "--schedulers", "fifo")])
def test_times_for_other_devices_are_noted(capsys, command):
    """On a cluster without any of these devices, an op takes operations / speed, and a note says so."""
    note = "its times are for P1, P2, P3; pcie_box has none of these, so an op takes its operations / speed"
    assert note in said(capsys, *command, "topcuoglu", "--cluster", "pcie_box")
    assert "its times are for" not in said(capsys, *command, "topcuoglu")
    assert "its times are for" not in said(capsys, *command, "dynamic_rnn")


def test_an_optimum_is_called_one_by_both_commands(capsys, tmp_path):
    """Both call the plan proven optimal; a gap due to rounding counts as 0."""
    pl.OpGraph.from_arrays(["a", "b"], [1e9, 1e9], [(0, 1)], edge_bytes=[8.0]).save(tmp_path / "g.json")
    call = (str(tmp_path / "g.json"), "--cluster", "uniform")
    assert "proven optimal" in said(capsys, "place", *call)
    row = said(capsys, "compare", *call, "--partitioners", "heft", "--schedulers", "fifo").splitlines()[2]
    assert row.endswith("proven optimal")


def test_one_transfer_is_one(capsys, tmp_path):
    """Nouns agree with their numbers in singular and plural."""
    for n in (1, 2):
        where = {0: ("gpu:0",)} | {v: ("gpu:1", "gpu:2")[v - 1 : v] for v in range(1, n + 1)}
        edges = [(0, v) for v in range(1, n + 1)]
        star = pl.OpGraph.from_arrays(list("abc")[: n + 1], [1.0] * (n + 1), edges, edge_bytes=[8.0] * n, devices=where)
        star.save(tmp_path / f"{n}.json")
    call = ("--cluster", "pcie_box")
    assert "moved          8 B in 1 transfer\n" in said(capsys, "place", str(tmp_path / "1.json"), *call)
    assert "moved          16 B in 2 transfers\n" in said(capsys, "place", str(tmp_path / "2.json"), *call)


@pytest.mark.parametrize(
    ("flag", "text", "sentence"),
    [
        ("--dimension", "x", "'x' is not NAME=N"),
        ("--dimension", "batch=abc", "'batch=abc' is not NAME=N: N must be a whole number of 1 or more"),
        ("--dimension", "batch=0", "N must be a whole number of 1 or more"),
        ("--batch", "0", "'0' is not a size: N must be a whole number of 1 or more"),
        ("--batch", "9" * 5000, "N must be a whole number of 1 or more"),
    ],
)
def test_sizes_are_whole_numbers_of_one_or_more(capsys, flag, text, sentence):
    """Any other size is a wrong command line."""
    with pytest.raises(SystemExit) as ended:
        main(["inspect", "m.onnx", flag, text])
    assert ended.value.code == 2 and sentence in capsys.readouterr().err


def test_help_says_which_name_gives_which_file(capsys):
    """The help distinguishes device map and placement, whose names both end in .json."""
    with pytest.raises(SystemExit):
        main(["place", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "device_map.json: device map of PyTorch modules; .json: placement" in text


@pytest.mark.parametrize("arguments", [(), ("nope",), ("inspect",), ("inspect", "x", "--dimension", "x")])
def test_a_wrong_command_line_is_status_2(arguments):
    """A wrong command line prints the usage and returns status 2."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize("name", ["lab", "inspect", "convert", "place", "compare", "study"])
def test_every_command_has_help(capsys, name):
    """Each has a sentence on its purpose; all but one show examples."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0 and text.startswith(f"usage: placelab {name}")
    assert name == "lab" or f"examples:\n  placelab {name} " in text


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(path):
    """A pipe that is closed early and a terminal limited to ASCII cause no error."""
    call = [sys.executable, "-c", "from placelab.app.cli import main; main()", "inspect", path, "--cluster", "pcie_box"]
    ascii_only = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    done = subprocess.run(call, capture_output=True, env=os.environ | ascii_only, check=True)
    assert rb"\u03c1" in done.stdout and not done.stderr
    with subprocess.Popen([*call, "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 0


@pytest.mark.slow
def test_streams_that_the_shell_has_closed_are_left_out(path, tmp_path):
    """The work is done, files are whole, and nothing else is said."""
    out = tmp_path / "p.json"
    call = f'"{sys.executable}" -m placelab place "{path}" --cluster pcie_box --out'
    for closed in ("", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(f'{call} "{out}" {closed}', shell=True, capture_output=True, check=True)
        assert bool(done.stdout) == (">&-" not in closed.replace("2>&-", "")) and not done.stderr
        assert json.loads(out.read_text())
        out.unlink()


# -------------------------------------------------------------------- terminal


def test_text_for_a_terminal():
    """Escapes, cuts and columns."""
    assert printable("ok ρ 日本\t\r\n") == "ok ρ 日本\\t\\r\\n"
    assert printable("\ud800") == "\\ud800"
    assert len(shortened("x" * 10_000)) < 101 and shortened("abc") == "abc"
    assert pairs([("a", "1"), ("long", "2")]) == "a     1\nlong  2"
    assert table([("kind", "n"), ("x", "10")], numbers=(1,)) == "kind   n\nx     10"
