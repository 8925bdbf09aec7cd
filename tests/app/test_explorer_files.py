"""The explorer's files and costs without a browser: uploads in pieces, profiles, sources, factors, presets of real devices."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from explorer_hands import message, pick, reproduces, upload, wait_for

import placelab as pl
from placelab.app.explorer import session
from placelab.app.explorer.panels import pickers
from placelab.app.explorer.panels.panel import Shared
from placelab.app.explorer.panels.pickers import ModelPicker, Opening, openable_files
from placelab.app.explorer.state import initial_state
from placelab.app.widgets import controls as w
from placelab.app.widgets import frame
from placelab.app.widgets.frame import Files
from placelab.base import leaving
from placelab.base.progress import never
from placelab.problem import graph_json

EVIL = "<img src=x onerror=alert(1)>"


# -------------------------------------------------------------------- pieces


def test_a_file_arrives_in_pieces(explorer):
    """The pieces of a file are joined exactly."""
    data = graph_json.dumps(pl.generators.fork_join(6)).encode()
    upload(explorer, "pieces.json", data, piece=100)
    assert explorer.state.model.title == "pieces.json" and explorer.problem.graph.n_ops == 8


@pytest.mark.parametrize(
    ("piece", "buffers", "reason"),
    [
        (dict(name="a.json", size=5, at=0), [], "a piece of it is missing"),
        (dict(name="a.json", size=50, at=0), [b"x" * 11], "a piece of it is missing"),
        (dict(kind="refuse", name="../../a.json", size=50, why="large"), [], "large"),
    ],
)
def test_what_cannot_be_put_together_is_refused(piece, buffers, reason):
    """The error has the file's name without its folder; the browser may send the next file."""
    refused = []
    sent = []
    files = Files(limit=10)
    files.on_refused = lambda name, why: refused.append((name, why))
    files.on_file = lambda name, data: pytest.fail("nothing is complete")
    files.send = sent.append
    files.obey({"kind": "piece", "id": "one"} | piece, buffers)
    files.obey({"kind": "piece", "id": "one"} | piece, buffers)  # sent again, since the answer was lost
    assert refused == [("a.json", reason)] and sent == [{"id": "one", "have": piece["size"]}] * 2


def test_a_file_goes_on_where_its_pieces_have_come_to():
    """Pieces and answers may be lost, pieces may come twice, and two pages may send at a time."""
    arrived = []
    have = []
    files = Files()
    files.on_file = lambda name, data: arrived.append((name, data))
    files.send = lambda answer: have.append(answer["have"])
    one = dict(kind="piece", id="one", name="a.json", size=6)
    two = dict(kind="piece", id="two", name="b.json", size=2)
    for piece, data in ((0, b"ab"), (0, b"ab"), (4, b"ef"), (2, b"cd")):
        files.obey({**one, "at": piece}, [data])
    files.obey({**two, "at": 0}, [b"xy"])
    files.obey({**one, "at": 4}, [b"ef"])
    files.obey({**one, "at": 4}, [b"ef"])  # its answer was lost
    files.close()
    assert have == [2, 2, 2, 4, 2, 6, 6]
    assert arrived == [("b.json", b"xy"), ("a.json", b"abcdef")]


def test_an_upload_that_stops_says_so_and_may_go_on(explorer, monkeypatch):
    """As when its page was closed; what has arrived is kept for a while."""
    monkeypatch.setattr(frame, "QUIET", 0.2)
    data = graph_json.dumps(pl.generators.fork_join(6)).encode()
    files = explorer.pickers.models.upload
    piece = dict(kind="piece", id="one", name="g.json", size=len(data))
    files.obey({**piece, "at": 0}, [data[:100]])
    wait_for(lambda: "The upload of g.json has stopped at 100 B of" in message(explorer))
    files.obey({**piece, "at": 100}, [data[100:]])
    wait_for(lambda: explorer.state.model.title == "g.json")
    assert message(explorer) == ""


def test_an_empty_file_is_a_sentence(explorer):
    """An empty file, one piece of no bytes, gives one sentence."""
    upload(explorer, "empty.json", b"")
    assert "empty.json is empty" in message(explorer)


def test_reading_can_be_stopped_and_the_next_file_is_read():
    """An abandoned reader's result is discarded."""
    failures = []
    taken = []
    going = threading.Event()
    opening = Opening(taken.append, failures.append)
    opening.read("slow", lambda: going.wait(30))
    assert opening.text.value == '<span role="status">Reading slow …</span>'
    opening.stop()
    opening.read("quick", lambda: 7)
    assert opening.settled(120) and taken == [7] and failures == [""] and opening.text.value == ""
    going.set()
    opening.close()


@pytest.mark.parametrize("way", ["menu", "path", "example", "the model shown"])
def test_the_newest_choice_does_not_wait_for_what_is_being_read(explorer, monkeypatch, way):
    """A model that takes long to read is left for the next one, without a word; so is it where the one shown is chosen again."""
    monkeypatch.setattr(leaving, "GRACE", 0.1)
    going = threading.Event()
    models = explorer.pickers.models
    before = models.menu.value
    real = pickers.model_of
    monkeypatch.setattr(pickers, "model_of", lambda name: going.wait(60) if name == "vgg16" else real(name))
    pick(explorer, "Model", "vgg16")
    wait_for(lambda: "Reading vgg16" in models.opening.text.value)
    if way == "menu":
        pick(explorer, "Model", "topcuoglu")
    elif way == "path":
        models.path.value = "topcuoglu"
    elif way == "example":
        next(made for made in models.examples if made.description == "Ten tasks, HEFT").click()
    else:
        pick(explorer, "Model", before)
    assert models.opening.settled(5)
    wanted = before if way == "the model shown" else "topcuoglu"
    assert explorer.state.model.title == models.menu.value == wanted
    assert message(explorer) == "" and models.opening.text.value == ""
    going.set()


def test_files_that_arrive_together_are_read_one_after_the_other(explorer):
    """A model and a profile of it, say: neither takes the other's place."""
    taken: list[int] = []
    opening = Opening(taken.append, lambda reason: None)
    going = threading.Event()
    opening.read("first", lambda: going.wait(60) and 1)
    opening.read("second", lambda: 2)
    going.set()
    assert opening.settled(60) and taken == [1, 2]
    opening.close()


def test_names_of_files_are_text(explorer):
    """Markup in a name is escaped in the line of the file being read and in messages."""
    explorer.pickers.models.opening.say(f"Reading {EVIL}")
    assert "<img" not in explorer.pickers.models.opening.text.value
    upload(explorer, f"{EVIL}.json", b"{}")
    assert "<img" not in message(explorer) and "&lt;img" in message(explorer)


def test_the_path_field_offers_what_can_be_opened(here):
    """It completes files of every known suffix, and folders of SavedModels."""
    for name in ("a.onnx", "b.JSON.GZ", "c.py", "d.pbtxt"):
        Path(name).touch()
    Path("saved").mkdir()
    Path("saved/saved_model.pb").touch()
    assert openable_files(Path()) == ["a.onnx", "b.JSON.GZ", "d.pbtxt", "saved"]


def test_the_path_field_passes_over_what_may_not_be_read(here, monkeypatch):
    """A folder of somebody else's beside the notebook, or none that could be listed, does not keep the panel shut."""
    Path("a.onnx").touch()
    Path("secret").mkdir()
    stat = os.stat

    def refused(path, *arguments, **options):
        if "secret" in str(path):
            raise PermissionError(13, "Permission denied")
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refused)
    assert openable_files(Path()) == ["a.onnx"] and openable_files(Path("gone")) == []


def test_enter_reads_again_what_could_not_be_read(here):
    """If reading failed, Enter reads the path again, as the file may have changed; a file that was read is not read twice."""
    picked = []
    sentences = []
    state = initial_state("topcuoglu")
    picker = ModelPicker(
        Shared(lambda change, key: picked.append(change(state)), lambda text, tone: sentences.append(text), never)
    )
    picker.show(state.model)
    picker.path.value = "later.json"
    assert picker.opening.settled(120) and "later.json" in sentences[-1]
    Path("later.json").write_text(graph_json.dumps(pl.generators.fork_join(3)))
    for _ in range(2):
        press_enter(picker.path)
        assert picker.opening.settled(120)
    assert [state.model.title for state in picked] == ["later.json"] and sentences[-1] == ""
    picker.close()


def press_enter(field: w.Combobox) -> None:
    """Send what the browser sends on Enter, for which ipywidgets has no public name."""
    field._handle_msg({"content": {"data": {"method": "custom", "content": {"kind": "submit"}}}, "buffers": []})


# -------------------------------------------------------------------- profiles


def timeline(**seconds: float) -> bytes:
    """A timeline of TensorFlow."""
    events = [dict(ph="X", pid=1, ts=1, dur=1e6 * s, args={"name": op, "op": "X"}) for op, s in seconds.items()]
    return json.dumps({"traceEvents": events}).encode()


def test_a_profile_measures_the_model_that_is_shown(explorer):
    """The times hold for a device of the cluster's speed; the copied cell has them, and undo removes them."""
    before = explorer.state
    names = explorer.problem.graph.names.tolist()
    upload(explorer, "step.json", timeline(**{name: 0.5 for name in names[1:]}))
    assert explorer.problem.exec_times(0).tolist() == [0.0] + [0.5] * (len(names) - 1)
    assert "step.json (TensorFlow); 1 op not measured" in sources(explorer)
    explorer.actions.save_graph()
    assert reproduces(explorer)
    explorer.undo()
    assert explorer.state is before


def test_a_profile_of_another_model_changes_nothing(explorer):
    """A profile without an op of the model gives one sentence."""
    before = explorer.state
    upload(explorer, "step.json", timeline(other=1.0))
    assert "no op of the profile step.json" in message(explorer) and explorer.state is before


# -------------------------------------------------------------------- costs


def sources(explorer) -> str:
    """The table of the sources in the panel."""
    costs = explorer.pickers.costs
    costs.toggle.value = True
    return "\n".join(" ".join(row["cells"]) for row in costs.sources.rows)


def test_sources_are_text_and_follow_the_model(explorer):
    """The table changes with the model; it has what a file says, as text."""
    assert "as the model has them" in sources(explorer)
    metadata = {"costs": {"compute": "FLOP", "unknown": {EVIL: 2}}}
    graph = pl.OpGraph.from_arrays(["a"], [1e9], [], kind=["MatMul"], metadata=metadata)
    upload(explorer, "g.json", graph_json.dumps(graph).encode())
    assert "FLOP, counted from shapes" in sources(explorer) and "estimated: roofline" in sources(explorer)
    assert EVIL in sources(explorer)
    pick(explorer, "Costs", "Mayer 2017")
    assert "mayer, seed 0" in sources(explorer)


def test_the_panel_marks_the_times_that_apply():
    """Times of the cluster's type of devices are marked, and others after the cluster has changed."""
    graph = pl.costs.estimate(pl.generators.layered(30, seed=0), ["h100", "rtx2080ti"])
    shown = pl.explore(graph, pl.clusters.h100_box(2))
    assert "✓ time on h100" in sources(shown) and "✓ time on rtx2080ti" not in sources(shown)
    pick(shown, "Cluster", "rtx2080ti_box")
    assert "✓ time on h100" not in sources(shown) and "✓ time on rtx2080ti" in sources(shown)
    shown.close()


def test_threads_that_scale_costs_get_their_own():
    """A thread that asks for one factor never gets the graph that another one has scaled in the midst of it."""
    model = initial_state("topcuoglu").model
    twice = model.with_scaled_costs("model", 2.0, 1.0)

    class Interrupted(str):
        """While it is compared, another thread asks for another factor."""

        __hash__ = str.__hash__

        def __eq__(self, other):
            model.with_scaled_costs("model", 4.0, 1.0)
            return str.__eq__(self, other)

    assert model.with_scaled_costs(Interrupted("model"), 2.0, 1.0) is twice


def test_factors_are_undone_and_copied(explorer, monkeypatch):
    """Moving a slider is one step; the graph is that of `costs.scale`; the button shows the factors."""
    # What follows within a second is one step, on a busy machine, too.
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=lambda: 0.0))
    graph = explorer.problem.graph
    costs = explorer.pickers.costs
    for value in (1.2589254117941673, 1.4125375446227544, 1.9952623149688795):
        costs.sliders["compute"].value = value
    costs.sliders["transfer"].value = 0.5011872336272722
    assert (explorer.state.compute, explorer.state.transfer) == (2.0, 0.501)
    made = pl.costs.scale(graph, compute=2.0, transfer=0.501)
    assert explorer.problem.graph.compute.tolist() == made.compute.tolist()
    assert explorer.problem.graph.tensor_bytes.tolist() == made.tensor_bytes.tolist()
    assert costs.toggle.description == "× 2 · × 0.501"
    assert "compute × 2, bytes × 0.501" in costs.toggle.tooltip
    explorer.actions.save_graph()
    assert "pl.costs.scale(graph, compute=2, transfer=0.501)" in explorer.code and reproduces(explorer)
    explorer.undo()
    assert (explorer.state.compute, explorer.state.transfer) == (2.0, 1.0)
    explorer.undo()
    assert (
        explorer.problem.graph is graph
        and costs.sliders["compute"].value == 1
        and costs.toggle.description == "Details…"
    )


def test_the_button_takes_both_factors_back(explorer):
    """One undo restores both factors."""
    costs = explorer.pickers.costs
    costs.sliders["compute"].value = 10
    costs.sliders["transfer"].value = 0.1
    costs.reset.click()
    assert (explorer.state.compute, explorer.state.transfer) == (1.0, 1.0)
    explorer.undo()
    assert (explorer.state.compute, explorer.state.transfer) == (10.0, 0.1)


def test_the_same_factors_are_the_same_graph():
    """Equal factors return the same object, so that nothing is computed again."""
    state = initial_state("topcuoglu")
    assert state.model.with_scaled_costs("model", 2.0, 1.0) is state.model.with_scaled_costs("model", 2.0, 1.0)
    assert state.model.with_scaled_costs("model", 1.0, 1.0) is state.model.graph


def test_the_selected_op_says_where_its_time_comes_from(explorer):
    """The line below the chart has the source of the op's time on its device."""
    metadata = {"costs": {"compute": "FLOP"}}
    graph = pl.OpGraph.from_arrays(["a"], [1e12], [], kind=["MatMul"], metadata=metadata)
    upload(explorer, "g.json", graph_json.dumps(graph).encode())
    pick(explorer, "Cluster", "h100_box")
    assert explorer.schedule.makespan > 0
    explorer.gantt.selection = 0
    wait_for(lambda: "Its time: estimated for h100: 1 TFLOP at 66.9 TFLOP/s" in explorer.gantt.detail)


# -------------------------------------------------------------------- strategies


def test_a_plan_is_followed_again_where_there_is_one(explorer):
    """`planned`, replaced by pct for want of a plan, returns with the next partitioner that makes one."""
    pick(explorer, "Partitioner", "hash")
    wait_for(lambda: explorer.state.scheduler == "pct")
    pick(explorer, "Partitioner", "m-etf")
    assert explorer.schedule.scheduler == "planned"
    pick(explorer, "Partitioner", "hash")
    wait_for(lambda: explorer.state.scheduler == "pct")
    pick(explorer, "Scheduler", "fifo")
    pick(explorer, "Partitioner", "m-etf")
    assert explorer.schedule.scheduler == "fifo"


def test_a_live_program_has_a_short_title():
    """A live program has no expression that loads it, so it is saved when its cell is copied."""
    torch = pytest.importorskip("torch")
    program = torch.export.export(torch.nn.Linear(3, 2), (torch.zeros(1, 3),))
    model = initial_state(program).model
    assert (model.title, model.code) == ("exported program, given", "")
