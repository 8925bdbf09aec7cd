"""PipeDream's profiles: the training step, the forward pass, stages; all published files; invalid files."""

from __future__ import annotations

import pytest
import samples
import workloads

import placelab as pl
from placelab.formats.task_graphs import pipedream
from placelab.strategies.preparing.gradients import forward_ops

(SAMPLE,) = samples.pipedream()
LINE = "n -- ReLU(x) -- forward_compute_time=1, backward_compute_time=2, activation_size=3, parameter_size=4"


def test_a_layer_is_a_forward_and_a_backward_op_in_one_group():
    """Forward in the edges' direction, backward against it, each backward op after its own forward op."""
    graph = pipedream.loads(SAMPLE)
    named = {(graph.names[u], graph.names[v]) for u, v in graph.edges}
    back = {f"node{i}": f"gradients/node{i}_grad/{kind}" for i, kind in ((1, "Input0"), (2, "Conv2d"), (3, "LSTM"))}
    forward = {("node1", "node2"), ("node2", "node3")}
    assert named == forward | {(back[v], back[u]) for u, v in forward} | set(back.items())
    assert [graph.names[f] if f >= 0 else "" for f in forward_ops(graph)].count("node2") == 1
    assert (forward_ops(graph) >= 0).sum() == 3 and len(graph.group_names) == 3


def test_costs_in_si_units():
    """Milliseconds × 10¹³ operations/s, bytes; a gradient is as large as its activation."""
    graph = pipedream.loads(SAMPLE)
    v = graph.index("node2")
    w = graph.index("gradients/node3_grad/LSTM")
    assert graph.compute[[v, w]] / 1e13 == pytest.approx([1.5e-3, 4e-3]) and graph.persistent[[v, w]].tolist() == [
        12,
        0,
    ]
    assert graph.outputs[[v, graph.index("node3"), w]].tolist() == [100, 24, 100]  # two outputs are added up
    assert graph.metadata["stages"] == {"node1": 0, "node2": 0, "node3": 1}


def test_the_forward_pass_alone():
    """It has half the ops; no op reads the last layer's output."""
    graph = pipedream.loads(SAMPLE, backward=False)
    assert graph.names.tolist() == ["node1", "node2", "node3"] and graph.outputs.tolist() == [0, 100, 24]


def test_all_published_profiles_are_read(shared_data):
    """Two ops per layer, and per edge one forward and one backward; other programs' test files, too."""
    folder = shared_data("pipedream")
    paths = workloads.pipedream(folder) + sorted(folder.glob("graph/test_graphs/*.txt"))
    for path in paths:
        data = path.read_bytes()
        layers = data.count(b"forward_compute_time")
        edges = data.count(b"\n\t")
        graph = pl.load(path)
        assert (graph.n_ops, graph.n_edges) == (2 * layers, 2 * edges + layers)
        assert pl.load(path, backward=False).n_ops == layers
    assert len(paths) == 19
    assert len(set(pl.load(paths[-1]).metadata["stages"].values())) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it has no layers"),
        ("\tn -- m\n", "it has no layers|no layer of the file"),
        ("hello\n", "line 1 is 'hello'; expected: name -- layer --"),
        (LINE + "\n" + LINE, "two layers are called 'n'"),
        (LINE + "\n\tn -- m", "line 2 names 'm', which is not a layer"),
        (LINE + "\n\tn", "line 2 is 'n'; expected two layers"),
        (LINE + "\n\tn -- n", "consumes its own output"),
        (LINE + "\n" + LINE.replace("n --", "m --", 1) + "\n\tn -- m\n\tm -- n", "has a cycle"),
        (LINE.replace("parameter_size=4", "size=4"), "line 1 has no parameter_size"),
        (LINE.replace("=2", "=-2"), "backward_compute_time of 'n' is -2; expected a finite number"),
        (LINE.replace("=3", "=nan"), "activation_size of 'n' is nan"),
        (LINE.replace("=3", "=[1;x]"), "activation_size of 'n' is 'x'; expected a number"),
        (LINE.replace("=1", "=1e400"), "forward_compute_time of 'n' is 1e400"),
        (LINE + " -- stage_id=x", "line 1 has stage_id 'x'"),
        (" -- " + LINE, "expected: name"),
        ("\x00\ufffe", "line 1 is"),
    ],
)
def test_files_that_are_none_say_what_was_found(text, words):
    """The error is one line that begins with the file's name."""
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        pipedream.loads(text.encode(), "bad.txt")
    assert str(caught.value).startswith("bad.txt") and "\n" not in str(caught.value)


def test_long_lines_take_time_in_proportion():
    """A megabyte of one letter in any field is refused or read at once, not in minutes."""
    for where in ("n", "ReLU", "activation_size", "3"):
        with pytest.raises(pl.FormatError):
            pipedream.loads(f"{LINE.replace(where, where[0] * 10**6)}\n\tx -- y".encode())
