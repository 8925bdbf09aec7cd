"""A decoder's training plan in the explorer: numbers of `pl.plan`, legal degrees, rows of `pl.plan_search`, one history."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from itertools import product

import numpy as np
import pytest

import placelab as pl
from placelab.app.explorer.engine.found_plans import best_over, plan_of, ran
from placelab.app.explorer.offered import decoder_model, preset
from placelab.app.explorer.panels.job_panel import JobPanel
from placelab.app.explorer.panels.plan_page import PlanPage, numbers
from placelab.app.explorer.spreads import Planned, layers_of, planned_of
from placelab.app.explorer.state import initial_state
from placelab.base.units import percent, seconds, si

PATIENCE = 120
READ = "pl.models.read('gpt2')"


def cluster(n: int = 4) -> pl.Cluster:
    """GPUs with a data sheet."""
    return pl.costs.cluster("h100", n)


@pytest.fixture
def opened():
    explorer = pl.explore(pl.models.read("gpt2"), cluster(), tab="Job")
    job = explorer.tabs.panels[JobPanel.title]
    job.to_plan.click()
    assert explorer.settled(PATIENCE)
    yield explorer
    explorer.close()


def page(explorer) -> PlanPage:
    return explorer.tabs.panels[JobPanel.title].plan


def agrees(explorer) -> pl.PlanResult:
    """Bars, numbers, problem and chart are those of `pl.plan`."""
    planned = explorer.state.planned
    board = page(explorer).board
    sizes = dict(batch=planned.batch, sequence=planned.sequence)
    found = pl.plan(planned.model, explorer.state.cluster, planned.plan, **sizes)
    held = [sum(size for _, size in stage["parts"]) for stage in board.stages]
    np.testing.assert_allclose(held, found.memory["total"])
    assert [stage["capacity"] for stage in board.stages] == found.memory["capacity"].tolist()
    assert board.said == numbers(found) and seconds(found.seconds) in board.said
    assert explorer.settled(PATIENCE)
    assert explorer.schedule.makespan == pytest.approx(found.schedule("gradients").makespan, rel=1e-12)
    return found


def slide(explorer, name: str, value: int) -> None:
    """Move a slider to a value."""
    stops = page(explorer)._stops[name]
    page(explorer).sliders[name].value = stops.index(value)
    assert explorer.settled(PATIENCE)


def test_sliders_keep_the_product_and_show_the_plan(opened):
    """Each stop of each slider gives a plan of all devices with the library's numbers; undo leads back to the split."""
    agrees(opened)
    for name in ("pp", "tp", "dp", "microbatch"):
        for value in list(page(opened)._stops[name]):
            slide(opened, name, value)
            plan = opened.state.planned.plan
            assert getattr(plan, name) == value and plan.devices == 4
    slide(opened, "pp", 2)
    agrees(opened)
    assert not page(opened).controls.hidden
    while opened.steps.past:
        opened.undo()
    assert opened.settled(PATIENCE) and opened.state.planned is None and opened.state.layers is not None


def test_every_schedule_is_shown(opened):
    """Those whose passes run together, too; with the stages per device that they need."""
    slide(opened, "pp", 2)
    slide(opened, "tp", 1)
    for schedule in list(page(opened).menus["schedule"].options):
        page(opened).menus["schedule"].value = schedule
        found = agrees(opened)
        assert found.plan.schedule == schedule == opened.schedule.scheduler and not page(opened).board.refused


@pytest.mark.parametrize("zero", [0, 1, 2])
def test_gradients_lie_on_streams_next_to_their_devices(opened, zero):
    """The chart takes the plan's seconds, also after a link is dragged; the bubble is that of the passes alone; without replicas
    nothing is sent, and there are no streams."""
    slide(opened, "pp", 2)
    slide(opened, "tp", 1)
    page(opened).menus["zero"].value = zero
    found = agrees(opened)
    assert opened.schedule.makespan == pytest.approx(found.seconds, rel=1e-12) and found.exposed > 0
    used = opened.state.cluster.names[0], opened.state.cluster.names[2]
    assert list(opened.problem.cluster.names) == [f"{name}{at}" for name in used for at in ("", "/stream")]
    strip = {item["key"]: item for item in opened.gantt.numbers}
    passes = found.schedule()
    alone = pl.metrics(passes)["bubble"] / passes.makespan
    assert strip["bubble"]["value"] == percent(alone) and "do not count" in strip["bubble"]["title"]
    slower = opened.state.cluster.replace(bandwidth=opened.state.cluster.bandwidth / 100)
    opened.change(lambda state: state.with_cluster(slower, state.layout))
    after = agrees(opened)
    assert opened.schedule.makespan == pytest.approx(after.seconds, rel=1e-12) and after.exposed > found.exposed
    slide(opened, "pp", 4)
    assert len(opened.problem.cluster.names) == 4


def test_zero_3_shows_its_gathers(opened):
    """Beside the passes of each layer, in the plan's seconds, under the scheduler that follows; ZeRO 1 has its schedule again."""
    slide(opened, "tp", 1)
    slide(opened, "pp", 1)
    page(opened).menus["zero"].value = 3
    found = agrees(opened)
    assert opened.schedule.makespan == pytest.approx(found.seconds, rel=1e-12)
    assert opened.schedule.scheduler == "fifo" and "the chart runs" not in page(opened).board.said
    kinds = opened.problem.graph.kind.tolist()
    assert set(kinds) == {"F", "B", "gather", "scatter"} and opened.problem.cluster.names[1].endswith("/stream")
    page(opened).menus["zero"].value = 1
    assert agrees(opened).plan.zero == 1 and opened.schedule.scheduler == "1f1b"


def test_load_of_links_is_not_that_of_streams(opened):
    """Two ranks and their streams are four devices, like the cluster, whose links they are not."""
    slide(opened, "pp", 2)
    slide(opened, "tp", 1)
    assert opened.problem.cluster.n_devices == opened.state.cluster.n_devices == 4
    assert opened.canvas.load == []


def test_the_scheduler_picker_moves_the_plan(opened):
    """A schedule of pipelines becomes the plan's; under another scheduler the numbers say that the chart runs it."""
    slide(opened, "pp", 4)
    opened.change(lambda state: state.with_strategy("scheduler", "gpipe"))
    assert opened.state.planned.plan.schedule == "gpipe"
    before = agrees(opened)
    opened.change(lambda state: state.with_strategy("scheduler", "random"))
    assert opened.state.planned.plan == replace(before.plan, layers=None)
    assert page(opened).board.said == f"{numbers(before)} · the chart runs random"
    opened.change(lambda state: state.with_strategy("scheduler", "gpipe"))
    agrees(opened)


def test_ops_of_a_plan_are_not_pinned(opened):
    """A pin to another device is refused in a sentence, and nothing changes."""
    slide(opened, "pp", 4)
    before = opened.state
    op = opened.problem.graph.names[0]
    opened.change(lambda state: state.with_pin([op], "gpu:1"))
    assert opened.state == before and op in unescape(opened.message.text.value)
    agrees(opened)


@pytest.mark.parametrize("name", ["gpt2", "llama-3-8b", "mixtral-8x7b", "qwen2.5-0.5b"])
def test_every_legal_move_is_a_plan(name):
    """From random plans, whichever field is moved: the library allows the answer, which uses all devices."""
    model = pl.models.read(name)
    random = np.random.default_rng(0)
    for n in (6, 8, 16):
        machine = cluster(n)
        planned = planned_of(model, "", machine)
        for _ in range(60):
            field = random.choice(["dp", "tp", "pp", "ep", "microbatch", "chunks", "schedule", "zero", "recompute"])
            values = {
                "schedule": ["1f1b", "interleaved", "zb-v", "gpipe", "looped-bfs", "dualpipe-v"],
                "zero": [0, 1, 2, 3],
                "recompute": ["none", "full"],
            }.get(field) or planned.stops(field, machine)
            value = values[random.integers(len(values))]
            planned = planned.moved(field, value, machine)
            plan = planned.plan
            assert plan.why_not(model.shape, machine, planned.batch) == ""
            assert plan.devices == n, (field, value, plan)


def test_more_devices_than_blocks():
    """A split has no block for each of 64 devices: the explorer opens on a plan, which uses all of them."""
    gpus = pl.costs.cluster("h100", 8, link="nvlink4", hosts=8, network="infiniband_ndr")
    explorer = pl.explore(pl.models.read("llama-3-8b"), gpus, tab="Job")
    assert explorer.state.planned.plan.devices == 64 and explorer.settled(30)
    explorer.change(lambda state: state.with_model(decoder_model(layers_of(pl.models.read("gpt2")))))
    assert explorer.state.planned.model.name == "gpt2"
    explorer.close()


def test_the_moved_degree_wins():
    """dp gives way first, then pp, or tp where pp was moved; ZeRO 3 ends the pipeline, a pipeline ZeRO 3."""
    machine = cluster(16)
    start = Planned(pl.models.read("llama-3-8b"), "", pl.Plan(dp=4, tp=2, pp=2, zero=1))

    def degrees(planned: Planned) -> tuple[int, int, int]:
        return planned.plan.dp, planned.plan.tp, planned.plan.pp

    assert degrees(start.moved("tp", 8, machine)) == (1, 8, 2)
    assert degrees(start.moved("tp", 16, machine)) == (1, 16, 1)
    assert degrees(start.moved("pp", 8, machine)) == (1, 2, 8)
    assert degrees(start.moved("dp", 2, machine)) == (2, 2, 4)
    flat = start.moved("zero", 3, machine)
    assert degrees(flat) == (8, 2, 1) and flat.plan.zero == 3
    assert flat.moved("pp", 4, machine).plan.zero == 1
    assert start.moved("schedule", "interleaved", machine).plan.chunks == 2
    assert planned_of(start.model, "", cluster(11)).plan.devices == 11  # as a pipeline
    assert planned_of(start.model, "", cluster(37)).plan.devices == 36  # which has no 37 stages
    assert start.moved("schedule", "interleaved", machine).moved("schedule", "gpipe", machine).plan.chunks == 1


@pytest.mark.parametrize(
    "plan",
    [
        pl.Plan(dp=4),
        pl.Plan(tp=2, pp=2, zero=1, schedule="zb-h1"),
        pl.Plan(dp=2, pp=2, schedule="interleaved", chunks=2),
        pl.Plan(dp=2, pp=2, zero=2, schedule="dualpipe"),
        pl.Plan(dp=4, zero=3),
    ],
)
def test_the_cell_makes_the_plan(plan):
    """The same pipeline, to the last digit."""
    from placelab.app.explorer.code import cell

    state = initial_state(pl.models.read("gpt2"), cluster())
    state = state.with_spread(Planned(pl.models.read("gpt2"), READ, plan, batch=16, sequence=512))
    names: dict = {}
    exec(cell(state), names)
    made = pl.solve(state.problem(), state.partitioner, state.scheduler)
    np.testing.assert_array_equal(names["schedule"].start, made.start)
    assert list(names["problem"].cluster.names) == list(state.problem().cluster.names)
    assert names["schedule"].makespan == made.makespan == pytest.approx(names["plan"].seconds, rel=1e-12)
    assert names["plan"].plan == replace(plan, layers=names["plan"].plan.layers)


def test_the_search_finds_what_the_library_finds_and_a_row_is_applied(opened):
    """The same winners in the same order, none lost; a click is one step, and its numbers are those of the row."""
    tab = page(opened)
    tab.sizes["batch"].value = 8  # of few micro-batches
    assert opened.settled(PATIENCE)
    state = opened.state
    tab.find.click()
    assert tab.pages.value == "winners"
    assert tab.search.settled(PATIENCE) and not tab.search.running
    sizes = dict(batch=state.planned.batch, sequence=state.planned.sequence)
    frame = pl.plan_search(state.planned.model, state.cluster, **sizes).frame
    best = frame.dropna(subset="seconds").head(20)
    found = tab.search.records[: len(best)]
    assert [r["seconds"] for r in found] == best["seconds"].tolist()
    assert len(tab.search.records) == len(frame)
    assert [row["seconds"] for row in tab.board.rows[: len(best)]] == best["seconds"].tolist()
    steps = len(opened.steps.past)
    tab.board.obey(dict(kind="plan", row=1))
    assert opened.settled(PATIENCE) and len(opened.steps.past) == steps + 1
    assert opened.state.planned.plan == plan_of(found[1])
    result = agrees(opened)
    assert result.seconds == found[1]["seconds"]
    assert [row["shown"] for row in tab.board.rows].index(True) == 1
    for nonsense in (dict(row=10**6), dict(row="x"), dict(row=-1)):
        tab.board.obey(dict(kind="plan") | nonsense)
    assert opened.state.planned.plan == plan_of(found[1])


def test_a_row_is_kept():
    """Its schedule is the one to compare with, marked in its row, while another is shown; once more, and it is none."""
    explorer = pl.explore(pl.models.read("gpt2"), cluster(2), tab="Job")
    explorer.tabs.panels[JobPanel.title].to_plan.click()
    tab = page(explorer)
    tab.sizes["batch"].value = 8
    before = explorer.state.planned
    tab.search.start(before, explorer.state.cluster)
    assert tab.search.settled(PATIENCE)
    tab.board.obey(dict(kind="keep", row=3))
    assert explorer.state.planned == before and [row["kept"] for row in tab.board.rows].index(True) == 3
    plan = plan_of(tab.search.records[3])
    found = pl.plan("gpt2", explorer.state.cluster, plan, batch=before.batch, sequence=before.sequence)
    assert explorer.shared.kept.makespan == found.schedule().makespan and explorer.actions.keep.value
    tab.board.obey(dict(kind="keep", row=3))
    assert explorer.shared.kept is None and not any(row["kept"] for row in tab.board.rows)
    explorer.close()


@pytest.mark.slow
def test_the_plane_has_the_best_plan_of_each_pair(opened):
    """By the library's table; a cell without one says why."""
    tab = page(opened)
    tab.sizes["batch"].value = 8  # of few micro-batches
    assert opened.settled(PATIENCE)
    tab.search.start(opened.state.planned, opened.state.cluster)
    assert tab.search.settled(PATIENCE)
    tab.pages.value = "plane"
    records = tab.search.records
    xs, ys, _ = best_over(records, "tp", "pp")
    assert tab.board.plane["x"] == [f"tp {x}" for x in xs]
    for (i, x), (j, y) in product(enumerate(xs), enumerate(ys)):
        shown = tab.board.plane["cells"][j][i]
        here = [r for r in records if (r["tp"], r["pp"]) == (x, y)]
        times = [r["seconds"] for r in here if ran(r)]
        assert shown["seconds"] == (min(times) if times else None)
        assert shown["why"]
        if times:
            tab.board.obey(dict(kind="plan", row=shown["row"]))
            assert (opened.state.planned.plan.tp, opened.state.planned.plan.pp) == (x, y)


def test_a_search_is_stopped_and_keeps_what_it_has(monkeypatch):
    """Stop ends it; another batch says that the rows are of the one before."""
    explorer = pl.explore(pl.models.read("llama-3-8b"), cluster(16), tab="Job")
    explorer.tabs.panels[JobPanel.title].to_plan.click()
    tab = page(explorer)
    tab.find.click()
    assert tab.find.description == "Stop"
    tab.find.click()
    assert tab.search.settled(PATIENCE)
    assert tab.find.description == "Search" and tab.board.status.startswith("stopped: ")
    kept = len(tab.search.records)
    tab.sizes["batch"].value = 32
    assert explorer.state.planned.batch == 32
    assert tab.board.status.startswith("of a different batch") and len(tab.search.records) == kept
    explorer.close()


def test_what_does_not_fit_says_so_in_a_sentence():
    """The stage, what is missing, and the category that has most; the row that was refused says the library's reason."""
    machine = cluster(4).replace(memory=[2e8] * 4)
    explorer = pl.explore(pl.models.read("gpt2"), machine, tab="Job")
    explorer.tabs.panels[JobPanel.title].to_plan.click()
    tab = page(explorer)
    assert tab.board.refused.startswith("stage 0 lacks ") and "most of it has" in tab.board.refused
    assert tab.board.stages[0]["lacks"] > 0
    assert explorer.settled(PATIENCE) and explorer.schedule.makespan > 0
    tab.search.start(explorer.state.planned, machine.replace(memory=[1e6] * 4))
    assert tab.search.settled(PATIENCE)
    assert "gpt2 does not fit; the plan that lacks least is" in tab.search.status
    explorer.close()


def test_what_would_make_it_fit():
    """Two choices at most, each of which alone makes the plan fit; one of them by the browser's wish; none where it fits."""
    gpus = pl.costs.cluster("h100", 8, link="nvlink4")
    explorer = pl.explore(pl.models.read("llama-3-8b"), gpus, tab="Job")
    explorer.tabs.panels[JobPanel.title].to_plan.click()
    full = pl.Plan(tp=2, pp=4, microbatch=8, zero=1)
    explorer.change(lambda s: s.with_spread(replace(s.planned, plan=full, batch=64, sequence=8192)))
    board = page(explorer).board
    assert board.refused and [words.partition(" (")[0] for words in board.remedies] == [
        "micro-batch 2",
        "recompute full",
    ]
    for n, words in enumerate(board.remedies):
        other = explorer.state.planned.remedies(gpus)[n][1]
        found = pl.plan("llama-3-8b", gpus, other.plan, batch=64, sequence=8192)
        assert found.fits and si(float(found.memory["total"].max()), "B") in words
    for wrong in (2, -1, "0", None):
        board.obey(dict(kind="remedy", remedy=wrong))
        assert explorer.state.planned.plan == full
    board.obey(dict(kind="remedy", remedy=1))
    assert explorer.state.planned.plan == replace(full, recompute="full")
    assert board.remedies == [] and not board.refused
    explorer.close()


def test_devices_without_a_data_sheet_are_refused():
    """One sentence; nothing changes. A model that is no decoder has no plan."""
    explorer = pl.explore(pl.models.read("gpt2"), preset("pcie_box").cluster, tab="Job")
    explorer.tabs.panels[JobPanel.title].to_plan.click()
    assert "no data sheet of device type 'gpu'" in unescape(explorer.message.text.value)
    assert explorer.state.planned is None
    explorer.change(lambda state: state.with_model(initial_state("topcuoglu").model))
    assert explorer.tabs.panels[JobPanel.title].to_plan.disabled
    explorer.close()


def test_a_plan_follows_the_devices(opened):
    """With other devices its degrees use all of them; each device of the canvas holds what its stage holds."""
    slide(opened, "pp", 2)
    opened.change(lambda state: state.with_preset(replace(state.preset, cluster=cluster(8))))
    assert opened.settled(PATIENCE)
    assert opened.state.planned.plan.devices == 8
    total = agrees(opened).memory["total"].tolist()
    each = 8 // opened.state.planned.plan.pp
    assert opened.canvas.peak == pytest.approx([size for size in total for _ in range(each)])


def test_a_plan_that_does_not_fit_is_not_called_legal():
    """Peak and memory above the chart are those of the fullest rank, as its card has them, not of the pipeline drawn."""
    small = cluster().replace(memory=[5e8] * 4)
    explorer = pl.explore(pl.models.read("gpt2"), small, tab="Job")
    try:
        explorer.tabs.panels[JobPanel.title].to_plan.click()
        assert explorer.settled(PATIENCE)
        shown = {item["key"]: item for item in explorer.gantt.numbers}
        held = explorer.state.planned.used(explorer.state.cluster)
        share = percent(held.max() / 5e8)
        assert held.max() > 5e8 and explorer.canvas.peak == held.tolist()
        assert shown["memory"]["value"] == f"{si(held.max(), 'B')} · {share}"
        assert (shown["legal"]["value"], shown["legal"]["tone"]) == (f"✓ legal · ✗ memory {share}", "bad")
    finally:
        explorer.close()
