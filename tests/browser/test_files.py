"""Files in JupyterLab: dropped on the explorer, chosen, large, damaged; the largest model."""

from __future__ import annotations

import base64
import json
import re

import onnx_models
import pytest
import tensorflow_samples
from browser.test_explorer import FRAMES, RESTING, Hand, explore, played  # noqa: F401
from playwright.sync_api import expect

import placelab as pl
from placelab.graphs.loading import opened
from placelab.problem import graph_json

LARGEST = next(name for name in ("gnmt_50", "gnmt_40", "llama_7b") if name in pl.datasets.names())
TRANSFER = """files => {
  const transfer = new DataTransfer();
  for (const [name, text] of files) {
    transfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
  }
  return transfer;
}"""


def drop(hand: Hand, onto: str, **files: bytes) -> None:
    """Drop files, named with ``__`` for a point, on a part of the explorer."""
    named = [(name.replace("__", "."), base64.b64encode(data).decode()) for name, data in files.items()]
    transfer = hand.page.evaluate_handle(TRANSFER, named)
    target = hand.root.locator(onto).first
    target.dispatch_event("dragover", {"dataTransfer": transfer})
    expect(hand.page.locator(".placelab-explorer.pl-drop")).to_have_count(1)
    target.dispatch_event("drop", {"dataTransfer": transfer})
    expect(hand.page.locator(".placelab-explorer.pl-drop")).to_have_count(0)


def test_models_dropped_anywhere_open(explore, screenshot):  # noqa: F811
    """ONNX and TensorFlow, on canvas, chart and tabs; an invalid file gives an error and changes nothing; undo works."""
    hand = explore('"topcuoglu"', tab=RESTING)
    drop(hand, ".cluster", linear__onnx=onnx_models.model(onnx_models.LINEAR).SerializeToString())
    hand.becomes("explorer.state.model.title", "linear.onnx")
    expect(hand.menu("Model")).to_have_value("linear.onnx")
    hand.seldom()
    hand.button("Details…").click()
    expect(hand.root.locator(".pl-sources")).to_contain_text("FLOP, counted from shapes")
    expect(hand.root.locator(".pl-sources")).to_contain_text("roofline")
    screenshot("onnx")
    drop(hand, ".pl-gantt", served__pb=tensorflow_samples.served())
    hand.becomes("explorer.state.model.title", "served.pb")
    drop(hand, ".pl-tabs", broken__onnx=b"\x08\x07\xff\xff\xff")
    expect(hand.root.get_by_role("alert")).to_contain_text("broken.onnx")
    assert hand.notebook.value("explorer.state.model.title") == "served.pb"
    hand.button("↶").click()
    hand.becomes("explorer.state.model.title", "linear.onnx")


@pytest.mark.slow
def test_a_large_file_arrives_whole(explore):  # noqa: F811
    """A file larger than a message of the notebook's socket arrives; one above the limit is refused in place."""
    graph = pl.generators.fork_join(6)
    graph = graph.replace(metadata={"name": "large", "padding": "x" * 12_000_000})
    hand = explore('"topcuoglu"')
    drop(hand, ".cluster", large__json=graph_json.dumps(graph).encode())
    hand.becomes(
        "[explorer.state.model.title, len(explorer.problem.graph.metadata.get('padding', ''))]",
        ["large.json", 12_000_000],
    )
    hand.notebook.execute("explorer.pickers.models.upload.limit = 1000")
    drop(hand, ".cluster", larger__json=b" " * 1001)
    expect(hand.root.get_by_role("alert")).to_contain_text("larger.json has more than the 1 kB")


HEARD = """
pieces = []
upload = explorer.pickers.models.upload
told = upload.on_piece
upload.on_piece = lambda name, have, size: (pieces.append([have, size]), told(name, have, size))
"""
PADDED = """([begin, zeros, end, name]) => {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes(begin), new Uint8Array(zeros), bytes(end)], name));
  return transfer;
}"""


@pytest.mark.slow
def test_weights_of_an_onnx_file_are_not_sent(explore):  # noqa: F811
    """Of 64 MB some hundred bytes are, and it is the model that the whole file is."""
    wide = onnx_models.LINEAR.replace("128", "100000").replace("64", "160")
    whole = onnx_models.model(wide).SerializeToString()
    zeros = max(re.finditer(rb"\0{1000,}", whole), key=lambda found: len(found[0]))
    assert len(whole) > 60e6
    hand = explore('"topcuoglu"')
    hand.notebook.execute(HEARD)
    ends = [base64.b64encode(part).decode() for part in (whole[: zeros.start()], whole[zeros.end() :])]
    given = [ends[0], zeros.end() - zeros.start(), ends[1], "wide.onnx"]
    transfer = hand.page.evaluate_handle(PADDED, given)
    hand.root.locator(".pl-gantt").dispatch_event("drop", {"dataTransfer": transfer})
    hand.becomes("explorer.state.model.title", "wide.onnx")
    ((have, size),) = hand.notebook.value("pieces")
    assert have == size < 10_000
    graph = opened(whole, "wide.onnx")
    assert hand.notebook.value("explorer.problem.graph.persistent.tolist()") == graph.persistent.tolist()


# Sockets that can be cut: what is sent meanwhile is lost.
SOCKETS = """() => {
  const send = WebSocket.prototype.send;
  WebSocket.prototype.send = function (...given) {
    (window.sockets ??= new Set()).add(this);
    if (!window.cut) send.apply(this, given);
  };
}"""


@pytest.mark.own_page
@pytest.mark.slow
def test_an_upload_whose_connection_is_cut_goes_on(explore, page, screenshot):  # noqa: F811
    """It says that it waits, and when the kernel is there again, it goes on where it was."""
    page.add_init_script(f"({SOCKETS})()")
    graph = pl.generators.fork_join(6)
    graph = graph.replace(metadata={"name": "large", "padding": "x" * 20_000_000})
    begin, end = graph_json.dumps(graph).split("x" * 20_000_000)
    hand = explore('"topcuoglu"')
    hand.notebook.execute(HEARD)
    ends = [base64.b64encode(part.encode()).decode() for part in (begin, end)]
    transfer = page.evaluate_handle(
        PADDED.replace("Array(zeros)", "Array(zeros).fill(120)"), [ends[0], 20_000_000, ends[1], "g.json"]
    )
    page.evaluate(
        "() => setTimeout(() => { window.cut = true; for (const each of window.sockets) each.close(); }, 150)"
    )
    hand.root.locator(".pl-gantt").dispatch_event("drop", {"dataTransfer": transfer})
    waits = hand.root.locator(".pl-waits")
    expect(waits).to_contain_text(
        re.compile(r"g.json waits for the kernel: .* of 20 MB have arrived. It goes on by itself")
    )
    screenshot("waits")
    page.evaluate("() => { window.cut = false; }")
    hand.becomes("explorer.state.model.title", "g.json")
    expect(waits).to_have_count(0)
    assert hand.notebook.value("len(explorer.problem.graph.metadata['padding'])") == 20_000_000
    assert hand.notebook.value("sum(have == size for have, size in pieces)") == 1


@pytest.mark.slow
def test_a_profile_gives_times(explore, screenshot):  # noqa: F811
    """A timeline dropped on a model measures its ops, and the copied numbers name its source."""
    graph = pl.load("dynamic_rnn")
    names = [(name, kind) for name, kind in zip(graph.names.tolist(), graph.kind.tolist(), strict=True)]
    events = [dict(ph="X", pid=1, ts=1, dur=3, name=kind, args={"name": name, "op": kind}) for name, kind in names]
    hand = explore("'dynamic_rnn'")
    drop(hand, ".cluster", timeline__json=json.dumps({"traceEvents": events}).encode())
    hand.becomes("explorer.state.model.title", "dynamic_rnn, timeline.json")
    assert hand.notebook.value("explorer.problem.exec_time(7, 0)") == pytest.approx(3e-6)
    hand.seldom()
    hand.button("Details…").click()
    expect(hand.root.locator(".pl-sources")).to_contain_text("measured seconds × reference speed")
    screenshot("measured")


@pytest.mark.slow
def test_costs_can_be_multiplied(explore):  # noqa: F811
    """A slider, moved by keyboard, makes all ops take longer; undo reverts it."""
    hand = explore('"topcuoglu", pl.clusters.uniform()')
    before = hand.notebook.value("explorer.schedule.makespan")
    hand.seldom()
    hand.button("Details…").click()
    slider = hand.root.locator(".pl-costs input[type=range]").first
    for _ in range(20):  # until the kernel hears the key: the slider may just have been drawn
        slider.press("End")
        if hand.notebook.value("explorer.state.compute") == 10:
            break
    hand.becomes("[explorer.state.compute, explorer.state.transfer]", [10, 1])
    assert hand.notebook.value("explorer.schedule.makespan") > 5 * before
    expect(hand.root.get_by_role("button", name="× 10 · × 1")).to_be_visible()
    hand.button("↶").click()
    hand.becomes("explorer.state.compute", 1)
    assert hand.notebook.value("explorer.schedule.makespan") == before


@pytest.mark.alone
@pytest.mark.slow
def test_the_largest_model_loads_and_plays(explore, screenshot):  # noqa: F811
    """From the menu to a chart that plays, with pictures in both themes."""
    hand = explore('"topcuoglu"')
    hand.menu("Model").select_option(LARGEST)
    hand.becomes("explorer.state.model.title", LARGEST)
    hand.menu("Cluster").select_option("h100_box")
    hand.becomes("explorer.problem.cluster.n_devices", 8)
    expect(hand.root.locator(".pl-figures [data-key=legal] b")).to_have_text("✓ legal")
    assert played(hand) > FRAMES
    screenshot("light")
    hand.notebook.set_theme("JupyterLab Dark")
    screenshot("dark")
