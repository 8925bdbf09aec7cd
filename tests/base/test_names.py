"""What is not seen in a name, or turns the text around it, is shown as an escape, and files of others have it so."""

from __future__ import annotations

import onnx_models
import pytest

import placelab as pl
from placelab.app.cli import main
from placelab.app.explorer.panels.panel import Message
from placelab.app.explorer.panels.pickers import Opening
from placelab.base.errors import escaped
from placelab.base.fields import one_line, title

CONTROLS = [*"\t\r\v\x00\x1b\x7f\x85\x9b\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufeff"]
NAMES = ["conv", "a b", "גיבוי", "نموذج", "می\u200cخواهم", "模型", "👩\u200d💻", "\u00a0", "e\u0301"]


def is_seen(text: str) -> bool:
    return text.isprintable() and "\u202e" not in text


@pytest.mark.parametrize("character", CONTROLS, ids=ascii)
def test_a_control_is_shown_as_an_escape(character, tmp_path):
    """In messages and titles; a graph that is made in Python, and its own file, keep it in names."""
    bad = f"a{character}b"
    assert all(map(is_seen, (escaped(bad), one_line(bad), title(f"{bad}.dot", ""))))
    graph = pl.OpGraph.from_arrays([bad], [1.0], [], kind=[bad], metadata={"name": bad})
    assert is_seen(graph.title) and is_seen(str(pl.FormatError(f"{bad} cannot be read")))
    graph.save(tmp_path / "own.json")
    assert pl.load(tmp_path / "own.json").names.tolist() == [bad]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_letters_of_all_scripts_are_names(name):
    """From right to left, too, with their joiners; nothing of them is escaped."""
    assert escaped(name) == name
    assert pl.OpGraph.from_arrays([name], [1.0], [], kind=name).names.tolist() == [name]
    assert pl.Cluster([1.0], names=[name]).names == (name,)


def test_a_file_keeps_its_ops_where_a_name_has_a_control(tmp_path):
    """The character becomes its escape in names and kinds, by which the op is found."""
    (tmp_path / "odd.dot").write_text(
        'digraph { "a\u202eb\t" [compute=1, kind="k\x1b[2J\nl"]; "a\u202eb\t" -> c; c [compute=2] }'
    )
    graph = pl.load(tmp_path / "odd.dot")
    assert graph.names.tolist() == [r"a\u202eb\t", "c"] and graph.kind.tolist() == [r"k\x1b[2J l", ""]
    text = '<ir_version: 9, opset_import: ["": 18]> g (float[1] x) => (float[1] y) { y = Relu(x) }'
    model = onnx_models.model(text)
    model.graph.node[0].name = "a\u202eb"
    (tmp_path / "odd.onnx").write_bytes(model.SerializeToString())
    assert r"a\u202eb" in pl.load(tmp_path / "odd.onnx").names.tolist()


def test_a_name_of_a_file_does_not_turn_the_sentence_around_it():
    """The explorer's messages, and the line on what is read, show escapes: these names come from the browser's machine."""
    message = Message()
    message.say("odd\u202egnp.onnx has no ops", "bad")
    opening = Opening(print, print)
    opening.say("Reading odd\u202egnp.onnx")
    for shown in (message.text.value, opening.text.value):
        assert r"odd\u202egnp.onnx" in shown


@pytest.mark.parametrize(
    "address", ["https://example.org/a.onnx", "http://example.org/a", "s3://a/b.onnx", "file:///a.dot"]
)
def test_an_address_is_no_path(address):
    """Nothing is fetched: the sentence says to download the file, from a cell and on the command line."""
    with pytest.raises(pl.FormatError, match=f"'{address}' is an address.*; download the file and give its path"):
        pl.load(address)
    with pytest.raises(SystemExit, match="is an address, and nothing is fetched"):
        main(["inspect", address])


def test_a_cluster_that_is_no_file_is_named_once(tmp_path):
    """As a folder, whose name says .json."""
    (tmp_path / "c.json").mkdir()
    with pytest.raises(SystemExit, match=r"^placelab: [^:]*c\.json is not a file; expected a JSON file"):
        main(["place", "topcuoglu", "--cluster", str(tmp_path / "c.json")])


def test_what_the_command_line_writes_is_printed_with_escapes(tmp_path, capsys):
    """A name that turns the text around it, which a shell completes, is printed like those in files."""
    main(["convert", "topcuoglu", str(tmp_path / "odd\u202e.json")])
    said = capsys.readouterr().out
    assert r"odd\u202e.json: 10 ops" in said and said.replace("\n", "").isprintable()
