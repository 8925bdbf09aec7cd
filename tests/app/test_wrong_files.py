"""The command line answers odd paths, texts and full disks with one sentence, before it works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import placelab as pl
from placelab.app.cli import main, strategy_commands

STUDY = "partitioners = ['heft']\nschedulers = ['planned']\n{more}\n[grid]\ngraph = 'topcuoglu'\ndevices = 2\n"
LONG = "a" * 5000


def refused(words: str, *arguments: str) -> str:
    """What a refused command line says: one line of bounded length, with these words."""
    with pytest.raises(SystemExit) as caught:
        main([*arguments])
    said = str(caught.value)
    assert said.startswith("placelab: ") and "Errno" not in said and "\n" not in said and len(said) < 1200
    assert words in said
    return said


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (f"path = '{LONG}'", "path: 'aaa"),
        (f"seeds = {'9' * 5000}", "has a number of more than 4,300 digits"),
        ("seeds = { a = 1 }", "seeds is {'a': 1}"),
    ],
)
def test_values_of_a_study(more, words, tmp_path):
    """The file, the key and what is wrong."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(more=more))
    refused(words, "study", str(path), "--processes", "0")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_study_of_an_editor_that_marks_its_files(encoding, tmp_path, capsys):
    """As Notepad does."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(more=""), encoding)
    main(["study", str(path), "--processes", "0"])
    assert "1 rows of 1 problem" in capsys.readouterr().out


def test_a_study_whose_rows_all_failed_is_an_error(tmp_path, capsys):
    """As a comparison is: the status is 1, and the rows are written."""
    path = tmp_path / "study.toml"
    path.write_text(
        STUDY.format(more="").replace("devices = 2", "devices = 2\nmemory = 1.0\nmemory_model = 'reserved'")
    )
    path.write_text(path.read_text().replace("'topcuoglu'", "'inception_v3'"))
    out = tmp_path / "rows.csv"
    refused("no row has a schedule", "study", str(path), "--processes", "0", "--out", str(out))
    assert out.exists() and "heft" in capsys.readouterr().out


def test_numbers_of_very_many_digits_in_json(tmp_path):
    """In a graph and in a cluster."""
    graph = tmp_path / "graph.json"
    graph.write_text('{"format": "placelab-graph", "version": ' + "9" * 5000 + "}")
    refused("graph.json has a number of more than 4,300 digits", "inspect", str(graph))
    cluster = tmp_path / "cluster.json"
    cluster.write_text('{"speed": [' + "9" * 5000 + "]}")
    refused("cluster.json has a number of more than", "place", "topcuoglu", "--cluster", str(cluster))


def test_clusters_are_told_apart_from_graphs(tmp_path):
    """A file nested too deeply, a wrong key, none for the speed."""
    path = tmp_path / "cluster.json"
    path.write_text("[" * 200 + "]" * 200)
    said = refused("is nested too deeply", "place", "topcuoglu", "--cluster", str(path))
    assert "arguments of placelab.Cluster" in said and "graph" not in said
    path.write_text(json.dumps({"speed": [1.0], "speeed": [1.0]}))
    refused("its key 'speeed' is unknown; there are bandwidth", "place", "topcuoglu", "--cluster", str(path))
    path.write_text(json.dumps({"memory": [1.0]}))
    refused("it has no 'speed'", "place", "topcuoglu", "--cluster", str(path))


@pytest.mark.parametrize(("directory", "words"), [(LONG, "more than 255 bytes"), ("/dev/null/x", "cannot be made")])
def test_folders_of_lessons_that_cannot_be(directory, words):
    """A name that is too long, and a folder below a file."""
    refused(words, "lessons", directory)


@pytest.mark.parametrize("out", [f"{LONG}.json", "a\0.json", "/nope/a.json"])
def test_where_a_placement_cannot_be_is_found_before_planning(out, monkeypatch):
    """Nothing is read."""
    monkeypatch.setattr(strategy_commands, "problem_of", lambda options: pytest.fail("it has begun"))
    refused("", "place", "topcuoglu", "--out", out)


@pytest.mark.parametrize("out", ["/nope/g.csv", f"{LONG}.csv", "a\0.csv", "."])
def test_where_grades_cannot_be_is_found_before_grading(out, tmp_path, monkeypatch):
    """No copy is run."""
    monkeypatch.setattr("placelab.app.cli.course_commands.copies_in", lambda folder: pytest.fail("it has begun"))
    refused("", "grade", str(tmp_path), "-o", out)


def test_a_study_file_that_is_no_path():
    """With a NUL."""
    refused("is not the path of a file", "study", "a\0.toml")


@pytest.mark.parametrize("option", ["--partitioners", "--schedulers"])
def test_no_strategies_are_not_all(option, capsys):
    """An empty list is a wrong command line."""
    for text in ("", ","):
        with pytest.raises(SystemExit, match=r"^2$"):
            main(["compare", "topcuoglu", option, text])
        assert f"argument {option}: {text!r} has no names" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_disk_is_said_once():
    """And the status is 1."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "placelab", "inspect", "topcuoglu"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "placelab: the output cannot be written: No space left on device\n"


def test_a_long_path_is_refused_in_python():
    """When it is read and when it is written."""
    for call in (lambda: pl.load(f"{LONG}.json"), lambda: pl.generators.fork_join(3).save(f"{LONG}.json")):
        with pytest.raises(pl.FormatError, match="more than 255 bytes"):
            call()
