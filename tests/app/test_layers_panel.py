"""A decoder's layers in the explorer: the strip's numbers are the library's, its steps are undone, its cell makes it again."""

from __future__ import annotations

import json

import numpy as np
import pytest

import placelab as pl
from placelab.app.explorer.panels.effects import said_of_change
from placelab.app.explorer.panels.layers_panel import INVITATION, LayersPanel
from placelab.app.explorer.panels.pickers import decoder_of
from placelab.app.explorer.spreads import CONTEXT, Layers, layers_of, moves
from placelab.app.explorer.state import initial_state
from placelab.base.units import percent, seconds

PATIENCE = 60
TYPES = ("rtx4090", "rtx3090", "t4")
TINY = dict(
    model_type="llama",
    hidden_size=64,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=128,
    vocab_size=1000,
    tie_word_embeddings=True,
)


def uneven(memory: float = 1.0) -> pl.Cluster:
    """Three GPUs of different age."""
    known = [pl.costs.specs()[name] for name in TYPES]
    room = [spec.memory * memory for spec in known]
    return pl.Cluster([spec.speed for spec in known], memory=room, types=TYPES, bandwidth=16e9, latency=1e-5)


@pytest.fixture
def opened():
    explorer = pl.explore(pl.models.read("llama-3-8b"), uneven())
    yield explorer
    explorer.close()


def panel(explorer) -> LayersPanel:
    return explorer.tabs.panels[LayersPanel.title]


def ask(explorer, border: int, to: int, drag: int = 1) -> None:
    """What the browser sends while a hand drags a border."""
    panel(explorer).view.asked = dict(kind="border", border=border, to=to, drag=drag)
    assert explorer.settled(PATIENCE)


def shown(explorer) -> tuple[list[int], list[float], list[float]]:
    """Borders, seconds and bytes of the strip."""
    view = panel(explorer).view
    sizes = [sum(size for _, size in row["parts"]) for row in view.rows]
    return list(view.borders), [row["seconds"] for row in view.rows], sizes


def agrees(explorer, split: pl.LayerSplit) -> None:
    """The strip, the problem and its schedule are those of the library's split."""
    borders, times, sizes = shown(explorer)
    assert borders == list(split.borders)
    np.testing.assert_array_equal(times, split.seconds)
    np.testing.assert_allclose(sizes, split.memory, rtol=1e-12)
    assert explorer.schedule.makespan == split.schedule().makespan


def test_the_strip_opens_on_the_best_split_and_follows_a_border(opened):
    """A Transformer opens its tab; a border moves as `LayerSplit.moved`, and one undo takes a whole drag back."""
    assert opened.tabs.titles.value == "Layers"
    best = pl.split_layers("llama-3-8b", uneven(), context=CONTEXT)
    agrees(opened, best)
    for to in (18, 19, 21):
        ask(opened, 0, to)
    assert len(opened.steps.past) == 1
    agrees(opened, best.moved(0, 21 - best.borders[1]))
    assert "over the best" in panel(opened).view.said
    assert said_of_change(opened.steps.past[0], opened.state) == "decode, layers 20, 10, 2"
    opened.undo()
    assert opened.settled(PATIENCE)
    agrees(opened, best)


@pytest.mark.parametrize(
    "change", [dict(), dict(phase="prefill", batch=2, sequence=128), dict(phase="train", microbatches=6)]
)
@pytest.mark.parametrize(("name", "memory"), [("llama-3-8b", 1.0), ("llama-3-8b", 0.3), ("qwen2.5-0.5b", 1.0)])
def test_the_cell_makes_what_is_shown(name, memory, change):
    """In all phases, with borders moved to and fro, and where nothing fits: the same split and the same times."""
    from placelab.app.explorer.code import cell

    state = initial_state(pl.models.read(name), uneven(memory))
    layers = Layers(**{**vars(state.layers), **change})
    for border, to in ((0, 3), (1, 9), (0, 7)):
        layers = layers.moved(state.cluster, border, to)
    state = state.with_spread(layers)
    names: dict = {}
    exec(cell(state), names)
    assert names["split"].borders == layers.borders
    made = pl.solve(state.problem(), state.partitioner, state.scheduler)
    np.testing.assert_array_equal(names["schedule"].start, made.start)
    assert pl.validate(made) == []


def test_a_ghost_jumps_to_its_split(opened):
    """The three objectives' values are the library's; asking for one is one step, and the cell asks for it, too."""
    tab = panel(opened)
    library = {
        kind: pl.split_layers("llama-3-8b", uneven(), objective=kind, context=CONTEXT)
        for kind in ("stage", "memory", "sum")
    }
    assert {ghost["objective"]: tuple(ghost["borders"]) for ghost in tab.view.ghosts} == {
        k: s.borders for k, s in library.items()
    }
    values = [seconds(library["stage"].value), percent(library["memory"].value), seconds(library["sum"].value)]
    assert [ghost["value"] for ghost in tab.view.ghosts] == values
    ask(opened, 0, 9)
    for objective in ("memory", "sum"):
        tab.view.asked = dict(kind="split", objective=objective, drag=7)
        assert opened.settled(PATIENCE)
        agrees(opened, library[objective])
        assert f"objective={objective!r}" in opened.code and "moved" not in opened.code
    assert len(opened.steps.past) == 3
    assert [ghost["objective"] for ghost in unlimited().view.ghosts] == ["stage", "sum"]


def unlimited() -> LayersPanel:
    """The tab on devices without a capacity."""
    explorer = pl.explore(pl.models.read("gpt2"), pl.Cluster([1e13, 1e13], bandwidth=1e10))
    explorer.close()
    return panel(explorer)


def test_what_to_type_follows_the_border(opened):
    """The five exports of the split shown, and a sentence where a launcher cannot run it; nothing while the panel is closed."""
    tab = panel(opened)
    assert tab.view.launch == []
    tab.launch.value = True
    write = [
        pl.export.megatron_layout,
        pl.export.vllm_partition,
        pl.export.llama_cpp,
        pl.export.accelerate,
        pl.export.torch_split_points,
    ]
    best = pl.split_layers("llama-3-8b", uneven(), context=CONTEXT)
    assert [line["text"] for line in tab.view.launch] == [each(best) for each in write]
    assert "its default would be 11,11,10" in tab.view.launch[1]["where"]
    ask(opened, 1, 33)
    moved = best.moved(1, 33 - best.borders[2])
    assert tab.view.launch[0]["text"] == pl.export.megatron_layout(moved)
    assert tab.view.launch[1]["text"] == "" and "vLLM runs one on each rank" in tab.view.launch[1]["why"]
    tab.view.launching = False
    assert not tab.launch.value and tab.view.launch == []


def test_limits_are_the_last_borders_that_fit(opened):
    """One layer further some device has too little."""
    split = pl.split_layers("llama-3-8b", uneven(), context=CONTEXT)
    for border, (least, most) in enumerate(panel(opened).view.limits):
        at = split.borders[border + 1]
        ends = split.borders[border] + 1, split.borders[border + 2] - 1
        for block in range(ends[0], ends[1] + 1):
            assert split.moved(border, block - at).fits == (least <= block <= most)


def test_what_does_not_fit_is_shown_with_what_is_missing(opened):
    """Training does not fit: each bar says how much it lacks, the library's sum; the schedule is shown all the same."""
    panel(opened).phase.value = "train"
    assert opened.settled(PATIENCE)
    rows = panel(opened).view.rows
    split = opened.state.layers.split(opened.state.cluster)
    np.testing.assert_allclose([row["lacks"] for row in rows], np.maximum(split.memory - split.capacity, 0))
    assert panel(opened).view.said.startswith("does not fit: ")
    assert opened.state.scheduler == "1f1b"
    assert opened.schedule.makespan > 0


def test_an_edited_cluster_is_split_anew_but_a_hand_set_border_stays(opened):
    """A slower device gets fewer layers, unless a hand has said otherwise; with a device more, all borders are found anew."""
    cluster = opened.state.cluster
    slower = cluster.replace(types=("rtx3090", "rtx3090", "t4"))
    layout = opened.state.layout
    opened.change(lambda state: state.with_cluster(slower, layout))
    assert shown(opened)[0] == list(pl.split_layers("llama-3-8b", slower, context=CONTEXT).borders)
    ask(opened, 1, 30)
    here = shown(opened)[0]
    opened.change(lambda state: state.with_cluster(cluster, layout))
    assert shown(opened)[0] == here
    two = pl.Cluster([1e13, 1e13], memory=[4e10, 4e10], bandwidth=1e10)
    opened.change(lambda state: state.with_preset(initial_state("topcuoglu", two).preset))
    assert shown(opened)[0] == list(pl.split_layers("llama-3-8b", two, context=CONTEXT).borders)


def test_other_models_have_no_strip():
    """The tab invites to choose a decoder, and choosing one opens it; another model takes it away with its strategies."""
    explorer = pl.explore("topcuoglu", pl.clusters.rtx2080ti_box(2))
    tab = panel(explorer)
    explorer.tabs.open("Layers")
    assert tab.view.message == INVITATION and tab.view.rows == [] and not tab.decoders.hidden
    ask(explorer, 0, 3)
    tab.decoders.value = "gpt2"
    assert explorer.settled(PATIENCE)
    agrees(explorer, pl.split_layers("gpt2", pl.clusters.rtx2080ti_box(2), context=1023))
    explorer.change(lambda state: state.with_model(initial_state("topcuoglu").model))
    assert (explorer.state.partitioner, explorer.state.scheduler, explorer.state.layers) == ("heft", "planned", None)
    assert tab.view.rows == []
    explorer.close()


def test_a_config_is_opened_from_a_path_and_from_an_upload(tmp_path):
    """By its file, by its folder, and by the bytes that a browser sends; the cell reads it again."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps(TINY))
    for what in (file, str(tmp_path)):
        assert initial_state(what).layers.model.layers == 6
    model = decoder_of(file.read_bytes(), "config.json")
    assert model.layers.model == pl.models.read(TINY)
    assert eval(model.layers.source, dict(pl=pl)) == model.layers.model
    assert decoder_of(b"{}", "graph.json") is None and decoder_of(b"\x00", "model.onnx") is None


def test_nonsense_of_a_browser_changes_nothing(opened):
    """Borders that do not exist, and places beyond the neighbours."""
    before = shown(opened)[0]
    for asked in (dict(border=7, to=3, drag=1), dict(border="a", to=3, drag=2), dict(to=None)):
        panel(opened).view.asked = dict(kind="border") | asked
    assert shown(opened)[0] == before
    ask(opened, 0, 10**9, 5)
    assert shown(opened)[0] == [0, before[2] - 1, *before[2:]]


def test_moves_lead_from_any_borders_to_any_others():
    """One after the other, none passes its neighbour."""
    random = np.random.default_rng(0)
    for _ in range(200):
        start, end = (sorted(random.choice(np.arange(1, 30), 5, replace=False).tolist()) for _ in range(2))
        now = [0, *start, 30]
        for border, by in moves(now, [0, *end, 30]):
            now[border + 1] += by
            assert (np.diff(now) > 0).all()
        assert now == [0, *end, 30]


def test_a_given_decoder_is_written_by_its_name_if_it_is_bundled():
    """Another one is read from the file that it came from."""
    assert layers_of(pl.models.read("gpt2", dtype="float32")).source == "pl.models.read('gpt2', dtype='float32')"
    assert layers_of(pl.models.read(TINY)).source.startswith("pl.models.read('config.json')  # of ")


@pytest.mark.parametrize("phase", ["decode", "train"])
def test_a_split_is_explored(phase):
    """It is shown with its cluster, question and borders; one with idle devices, or in another order, is refused."""
    split = pl.split_layers(pl.models.read(TINY), uneven(), phase=phase, sequence=64, objective="memory", headroom=0.25)
    split = split.moved(1, 1 if split.counts[2] > 1 else -1)
    explorer = pl.explore(split)
    assert shown(explorer)[0] == list(split.borders) and panel(explorer).headroom.value == 25
    assert explorer.state.layers.split(explorer.state.cluster).seconds.tolist() == split.seconds.tolist()
    assert explorer.settled(PATIENCE) and explorer.schedule.makespan == split.schedule().makespan
    explorer.close()
    for wrong in (dict(empty=True), dict(order="free")):
        with pytest.raises(pl.UnsupportedError, match="all devices in the cluster's order"):
            pl.explore(pl.split_layers("gpt2", uneven().replace(memory=1e12), objective="sum", sequence=64, **wrong))


def test_memory_stays_free(opened):
    """The best split and what fits follow the percent; it is in the code, and undone."""
    panel(opened).headroom.value = 70
    want = pl.split_layers("llama-3-8b", uneven(), context=CONTEXT, headroom=0.7)
    assert shown(opened)[0] == list(want.borders) and opened.state.layers.headroom == 0.7
    from placelab.app.explorer.code import cell

    assert "headroom=0.7" in cell(opened.state)
    opened.undo()
    assert panel(opened).headroom.value == 0
