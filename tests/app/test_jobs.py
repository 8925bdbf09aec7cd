"""Jobs in the explorer: made of one step and back, reproduced by the copied cell, with their numbers, and a run with failures."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from explorer_hands import edit, press, reproduces, wait_for

import placelab as pl
from placelab.app.explorer.jobs import one_step, with_job
from placelab.app.explorer.offered import ALL_REDUCE, PIPELINE, SERVERS, Job, preset
from placelab.app.explorer.panels.job_panel import JobPanel, distribution
from placelab.app.explorer.panels.numbers import job_details, job_items, numbers, strip
from placelab.app.explorer.panels.training_run import TrainingRun, lasting, shares
from placelab.app.explorer.state import initial_state
from placelab.app.widgets.gantt_wire import job_ways, pack_job
from placelab.base.units import SI

PATIENCE = 120
JOBS = [
    Job(),
    Job(servers=2, sync=False, barrier=False, iterations=2),
    Job(training=False),
    Job(ALL_REDUCE, workers=4, hosts=2),
    Job(PIPELINE),
    Job(PIPELINE, stages=3, split=True, blocking=True),
    Job(PIPELINE, stages=6, microbatches=3),
    Job(ALL_REDUCE, workers=2, bucket_bytes=float("inf")),
    Job(PIPELINE, replicas=2),
    Job(PIPELINE, stages=3, replicas=3, split=True, recompute=True, algorithm="tree", bucket_bytes=float("inf")),
]


@pytest.fixture(scope="module")
def step():
    """One step of a small model on two machines."""
    return initial_state("alexnet").with_preset(preset("two_nodes")).with_preset(preset("rtx2080ti_box"))


@pytest.fixture
def opened():
    explorer = pl.explore("alexnet", pl.clusters.two_nodes(2))
    yield explorer
    explorer.close()


def panel(explorer) -> JobPanel:
    return explorer.tabs.panels[JobPanel.title]


def choose(explorer, text: str) -> None:
    """Press a button of the tab, and wait for the job and its schedule."""
    press(panel(explorer).box, text)
    assert panel(explorer).settled(PATIENCE)
    assert explorer.settled(PATIENCE)


@pytest.mark.parametrize("job", JOBS)
def test_a_job_is_legal_and_its_cell_makes_it(step, job):
    """Every kind; the cell gives the same times, the validator finds nothing."""
    from placelab.app.explorer.code import cell

    state = with_job(step, job)
    schedule = pl.solve(state.problem(), state.partitioner, state.scheduler)
    names = {}
    exec(cell(state), names)
    np.testing.assert_array_equal(names["schedule"].start, schedule.start)
    assert pl.validate(schedule) == []
    assert state.model.title.startswith("alexnet × ")
    assert state.scheduler == job.scheduler
    assert job_items(schedule)
    assert one_step(state) == step


def test_devices_carry_over(step):
    """Speed and memory of the present devices; links between machines are theirs, of a single machine at most Ethernet's."""
    slow = step.with_cluster(step.cluster.replace(speed=[1e12, 2e12, 3e12, 4e12]), step.layout)
    made = with_job(slow, Job(workers=5, servers=1)).cluster
    assert made.speed[1:].tolist() == [1e12, 2e12, 3e12, 4e12, 1e12]
    assert (made.memory[1:] == 11e9).all()
    assert made.bandwidth[0, 1] == 1.25e9
    pair = with_job(step.with_preset(preset("two_nodes")), Job(ALL_REDUCE, workers=4, hosts=2)).cluster
    assert (pair.bandwidth[0, 1], pair.bandwidth[0, 2]) == (300e9, 12.5e9)


def test_edits_of_a_job_stay_when_it_changes(step):
    """A worker that was made slower stays slower with more workers; the step's own devices are as they were."""
    state = with_job(step, Job(workers=2))
    speed = state.cluster.speed.copy()
    speed[2] /= 4
    edited = state.with_cluster(state.cluster.replace(speed=speed), state.layout)
    more = with_job(edited, Job(workers=3))
    assert more.cluster.speed[2] == speed[2]
    assert more.cluster.speed[3] == state.cluster.speed[1]
    assert one_step(more).cluster is step.cluster


def test_a_dragged_shared_link_of_a_job_stays_when_it_changes(step):
    """Of a pipeline: the link has the dragged bandwidth with other micro-batches, too."""
    shared = step.with_cluster(step.cluster.replace(links={"bus": (9e9, [("*", "*")])}), step.layout)
    state = with_job(shared, Job(PIPELINE, stages=4, microbatches=2))
    (bus,) = state.cluster.links
    edited = state.with_cluster(state.cluster.replace(links=[replace(bus, bandwidth=3e9)]), state.layout)
    assert with_job(edited, Job(PIPELINE, stages=4, microbatches=4)).cluster.links == edited.cluster.links


def test_presets_by_one_click(opened):
    """Each is shown with its scheduler and its numbers; sliders change it; One step and undo lead back."""
    choose(opened, "Parameter server")
    assert (opened.state.scheduler, opened.state.job.kind) == ("tic", SERVERS)
    assert reproduces(opened)
    before = opened.problem.graph.n_ops
    panel(opened).controls.fields["workers"].value = 2
    assert panel(opened).settled(PATIENCE)
    assert opened.problem.graph.n_ops < before
    choose(opened, "4-stage pipeline")
    assert (opened.state.scheduler, opened.state.base.job) == ("1f1b", None)
    assert opened.schedule.problem.graph.metadata["pipeline"]
    assert [item["key"] for item in opened.gantt.numbers if item["key"] in ("bubble", "activations")] == [
        "bubble",
        "activations",
    ]
    choose(opened, "2 × 4 data-parallel")
    assert opened.problem.cluster.n_devices == 16
    choose(opened, "One step")
    assert (opened.state.job, opened.state.model.title) == (None, "alexnet")
    assert reproduces(opened)
    opened.undo()
    assert opened.state.job.kind == ALL_REDUCE
    assert panel(opened).controls.kind.value == ALL_REDUCE


def test_a_job_follows_the_canvas(opened):
    """An edited link of a job changes its time, and the copied cell has it."""
    choose(opened, "Parameter server")
    before = opened.schedule.makespan
    edit(opened, "bandwidth", pairs=[[0, 1], [1, 0]], value=1e8, gesture=1, final=True)
    assert opened.schedule.makespan > before
    assert reproduces(opened)
    opened.change(lambda s: s.with_model(initial_state("topcuoglu").model))
    assert (opened.state.job, opened.state.base) == (None, None)


def test_a_model_that_no_job_can_be_made_of(explorer):
    """Refused in one sentence; the step stays."""
    before = explorer.state
    choose(explorer, "Parameter server")
    assert "no reads of parameters" in explorer.message.text.value
    assert explorer.state is before


def test_numbers_of_jobs(step):
    """E, straggling, skew, bubble and held activations are those of the functions that measure them; one step has none."""

    def run(job):
        state = with_job(step, job)
        return pl.solve(state.problem(), state.partitioner, state.scheduler)

    served = run(Job())
    assert job_items(served)[0]["value"] == f"{pl.worker_metrics(served)['efficiency'].min():.2f}"
    reduced = {item["key"]: item["value"] for item in job_details(run(Job(ALL_REDUCE)))}
    assert reduced["skew"].startswith("≤ ")
    piped = run(Job(PIPELINE))
    held = next(item["value"] for item in job_details(piped) if item["key"] == "held")
    assert held == "4 3 2 1"
    copied = {item["key"]: item for item in job_details(run(Job(PIPELINE, replicas=2, microbatches=4)))}
    assert copied["held"]["value"] == "4 3 2 1"
    assert re.search(r"replica:0/\S+ 4, .*replica:1/\S+ 4", copied["held"]["title"])
    assert re.fullmatch(r"([\d.]+ ){4}[kM]B", copied["peaks"]["value"])
    assert (copied["buckets"]["value"], copied["skew"]["value"]) != ("0", "")
    one = pl.solve(step.problem())
    assert job_items(one) == job_details(one) == []
    assert "bubble" in [item["key"] for item in numbers(piped, pl.metrics(piped), [])]


def test_colours_of_replicated_pipelines(step):
    """By micro-batch, replica and phase; all-reduces are a phase."""
    graph = with_job(step, Job(PIPELINE, stages=2, replicas=2)).model.graph
    assert job_ways(graph) == ["micro-batch", "replica", "phase"]
    index, names = pack_job("replica", graph)
    assert names[:2] == ["replica 0", "replica 1"] and set(index) == {0, 1}
    assert pack_job("phase", graph)[1] == ["forward", "backward", "once, before", "all-reduce"]


def test_numbers_of_jobs_in_plain_numbers_have_no_units():
    """A pipeline on a cluster in plain numbers: no seconds, no bytes."""
    schedule = pl.solve(
        pl.generators.pipeline_training(1.0, 2.0, stages=3, microbatches=4, activation=5.0), "hash", "1f1b"
    )
    told = [item[part] for item in [*job_items(schedule), *job_details(schedule)] for part in ("value", "title")]
    assert "6" in told  # the longest span: (p - 1)(F + B)
    assert not any(re.search(r"\d (s|ms|µs|k?B)\b", text) for text in told)


def test_a_run_shows_where_time_goes_and_the_optimum_moves():
    """Shares of each column add up to one; a longer MTBF moves the optimum to the right; the button goes there."""
    runs = pl.faults.simulate_training(10, 10, every=3, save=2, restore=5, failures=[47], detect=1)
    found = shares(runs, 20)
    np.testing.assert_allclose(found.sum(axis=0), 1)
    np.testing.assert_allclose(found.sum(axis=1) * runs.total[0] / 20, [100, 6, 15, 1, 5])
    page = TrainingRun()
    schedule = pl.solve(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2)))
    page.follow(schedule, True)
    first = optimum(page)
    assert first == pytest.approx(pl.checkpoint_interval(page.run.save, page.run.mtbf), rel=1e-4)
    page.sliders["mtbf"].value += 1
    assert optimum(page) > 2 * first
    press(page.box, "To the optimum")
    assert page.run.interval == pytest.approx(optimum(page), rel=0.03)
    page.sliders["interval"].value = 5.0
    page.sliders["mtbf"].value = 1.0
    assert "failures" in page.chart.message and page.chart.run["kinds"] == []
    assert page.chart.curve["seconds"]  # to drag back on


@pytest.mark.parametrize("iterations", [0, -1, 10**400, 2.5, "x", None])
def test_a_number_of_iterations_that_a_file_has_wrong_counts_as_one(iterations):
    """The run has the time of the whole schedule for its step."""
    graph = pl.generators.fork_join(3)
    graph = graph.replace(metadata={**graph.metadata, "replica": {"iterations": iterations}})
    page = TrainingRun()
    schedule = pl.solve(pl.Problem(graph, pl.Cluster.uniform(2)))
    page.follow(schedule, True)
    assert page.run.step == schedule.makespan


def test_the_interval_is_dragged_on_the_curve():
    """What the picture says moves the slider and the run, in whole steps; the limits are those of the slider."""
    page = TrainingRun()
    page.follow(pl.solve(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))), True)
    before = page.chart.run
    page.chart.interval = 50.4 * page.run.step
    assert page.run.interval == pytest.approx(50.4 * page.run.step)
    assert page.chart.interval == pytest.approx(50 * page.run.step)
    assert page.values["interval"].value == lasting(50 * page.run.step)  # the slider tells what the picture does
    assert page.chart.run != before
    assert 10.0 ** page.sliders["interval"].value == pytest.approx(50.4)
    page.chart.interval = 1e9
    assert page.sliders["interval"].value == page.sliders["interval"].max
    assert page.chart.limits == pytest.approx([page.run.step, 1e5 * page.run.step])
    page.sliders["interval"].value = 2.0
    assert page.chart.interval == pytest.approx(100 * page.run.step)
    curve = page.chart.curve
    assert min(curve["over"]) == pytest.approx(np.interp(page.chart.optimum, curve["seconds"], curve["over"]), rel=0.05)


def test_a_step_of_no_time_has_no_run():
    """A sentence instead of a picture; the sliders stay."""
    page = TrainingRun()
    page.follow(pl.solve(pl.Problem(pl.OpGraph.from_arrays(["a"], [0.0], []), pl.Cluster.uniform(2))), True)
    assert page.chart.message == "A step that takes no time makes no run."
    assert page.chart.run["kinds"] == [] and page.chart.curve["seconds"] == []


def optimum(page: TrainingRun) -> float:
    return page.chart.optimum


def test_orders_that_are_alike_have_no_deviation():
    """Rounding is none: the mean of three times 0.1 s is not 0.1 s."""
    step = np.full(3, 0.1)
    assert step.std() > 0
    assert "100 ms ± 0 s," in distribution(step, np.ones(3), np.zeros(3), makespan=0.1, units=SI)


@pytest.mark.slow
def test_random_orders_on_request(opened):
    """A distribution on a thread, with the step shown as a line; another schedule takes it away."""
    choose(opened, "Parameter server")
    tab = panel(opened)
    tab.visible = True
    tab.result(opened.result)
    press(tab.box, "1,000 random orders")
    assert tab.orders.settled(PATIENCE)
    assert "random orders: " in tab.orders.shown.value
    opened.change(lambda s: replace(s, seed=1))
    wait_for(lambda: tab.orders.shown.value == "")


@pytest.mark.parametrize(("transfers", "said"), [("channel", ["≤ 9.1 %"]), ("parallel", [])])
def test_a_busy_channel_bounds_what_another_order_saves(transfers, said):
    """Twice ten seconds on one channel of a makespan of 22; transfers that do not queue are no bound."""
    graph = pl.OpGraph.from_arrays(list("abcd"), [1.0] * 4, [(0, 2), (1, 3)], edge_bytes=[10.0, 10.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0), transfers=transfers)
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 0, 1, 1]), "fifo")
    found = [each for each in strip(schedule, [])[0] if each["key"] == "reorder"]
    assert [each["value"] for each in found] == said
    assert all(
        "no order of ops and transfers is faster than 20: so long is the busiest channel" in each["title"]
        for each in found
    )
