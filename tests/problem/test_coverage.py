"""Coverage: every reader says how much is known, and what is known of less than half is noted where it is used."""

import onnx_models
import pytest
import samples
import tensorflow_samples

import placelab as pl
from placelab.app.cli.model_commands import facts
from placelab.app.explorer.panels.numbers import strip
from placelab.costs.descriptions import sources
from placelab.formats import placelab_json
from placelab.formats.catalogue import GRAPH, module_of, readers
from placelab.problem.coverage import coverage, known_shares, little_known

OWN = "placelab JSON"  # of which the metadata are read as they were written
WAYS = ("flop_by_rule", "flop_by_profile", "flop_by_file", "flop_unknown")


def graph(unknown, n=4, **costs):
    """A chain of `n` ops, some of them of an unknown kind."""
    found = {"compute": "FLOP", "unknown": {"Mystery": unknown}} | costs
    edges = [(i, i + 1) for i in range(n - 1)]
    names = [f"op{i}" for i in range(n)]
    made = pl.OpGraph.from_arrays(names, [1.0] * n, edges, edge_bytes=[8.0] * (n - 1), metadata={"costs": found})
    return made.replace(metadata=made.metadata | {"coverage": coverage(made)})


@pytest.mark.parametrize("row", [row for row in readers(GRAPH) if row.title != OWN], ids=lambda row: row.title)
def test_every_reader_leaves_its_coverage(row):
    """Shares of ops, of tensors, and of the ways in which costs are known, which add up to 1."""
    name = row.reader.rpartition(".")[2]
    make = {
        "graph_def": tensorflow_samples.graphs,
        "model_proto": onnx_models.seeds,
        "archive": samples.torch_archive,
    }.get(name, getattr(samples, name, None))
    if make is None:
        pytest.skip("this reader's sample is elsewhere")
    try:
        data = make()[0]
    except ImportError:
        pytest.skip("its framework is not installed")
    read = module_of(row).loads(data)
    shares = read.metadata["coverage"]
    assert set(shares) == {"ops", "bytes", *WAYS} and known_shares(read) == shares
    assert sum(shares[way] for way in WAYS) == pytest.approx(1) and shares["ops"] == 1 - shares["flop_unknown"]


def test_shares_are_counted_by_hand():
    """One of four ops is of an unknown kind, one of four tensors has no size; a job without a runtime is unknown, too."""
    assert coverage(graph(1, unsized=1)) == {
        "ops": 0.75,
        "bytes": pytest.approx(1 - 1 / (graph(1).n_tensors)),
        "flop_by_rule": 0.75,
        "flop_by_profile": 0.0,
        "flop_by_file": 0.0,
        "flop_unknown": 0.25,
    }
    assert coverage(graph(0, compute="seconds × 1e9", untimed=2))["flop_by_profile"] == 0.5


@pytest.mark.parametrize(
    "broken", [None, 7, {"ops": "x", "bytes": -1}, {"ops": float("nan")}, {"ops": 2, "bytes": True}]
)
def test_what_a_file_says_of_itself_is_not_trusted(broken):
    """Malformed shares are left out, and say nothing."""
    made = graph(1)
    made = made.replace(metadata=made.metadata | {"coverage": broken})
    assert known_shares(made) == {} and little_known(made, 0.9) == "" and "known" not in dict(sources(made))


def test_little_known_costs_are_said_where_they_are_used():
    """Below half a placement has a note, below nine tenths the explorer's numbers a warning; never both."""
    sentence = "only 25 % of the ops have known costs; the others count as 0"
    cluster = pl.Cluster.uniform(2)
    schedule = pl.solve(pl.Problem(graph(3), cluster), "heft")
    assert sentence in schedule.placement.notes and sentence[1:] not in strip(schedule, [])[1]
    schedule = pl.solve(pl.Problem(graph(1), cluster), "heft")
    assert not any("known" in note for note in schedule.placement.notes)
    assert "Only 75 % of the ops have known costs; the others count as 0." in strip(schedule, [])[1]
    schedule = pl.solve(pl.Problem(graph(0), cluster), "heft")
    assert "known" not in strip(schedule, [])[1]


def test_what_placelab_writes_is_read_as_it_was(tmp_path):
    """A saved graph keeps the coverage that it was read with, and one without gets none."""
    whole = graph(3)
    for made in (whole, whole.replace(metadata={"costs": whole.metadata["costs"]})):
        made.save(tmp_path / "g.json")
        assert placelab_json.read(tmp_path / "g.json").metadata == made.metadata


def test_inspect_lists_the_coverage():
    """Rounded down, so that only all is 100 %; a profile's share is what it measured."""
    said = facts(graph(1, n=400), "c", pl.Cluster.uniform(2))["costs"]["known"]
    assert said == "costs of 99 % of the ops, sizes of 100 % of the tensors"
    profile = pl.costs.Profile({"op0": 1.0}, source="here")
    shares = known_shares(pl.costs.measured(graph(2), profile, reference_speed=1e9))
    assert (shares["ops"], shares["flop_by_profile"], shares["flop_unknown"]) == (0.25, 0.25, 0.75)


def test_what_was_saved_without_coverage_has_it_from_its_counts():
    """Graphs that come with placelab, and files of before."""
    graph = pl.load("inception_v3")
    assert "coverage" not in graph.metadata and 0.98 < known_shares(graph)["bytes"] < 1 == known_shares(graph)["ops"]
    assert dict(sources(graph))["known"] == "costs of 100 % of the ops, sizes of 98 % of the tensors"
    assert known_shares(graph.replace(metadata=graph.metadata | {"coverage": {"ops": 0.5}})) == {"ops": 0.5}
