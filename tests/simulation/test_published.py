"""Comparison with the results published with Mayer 2017: makespans to the last digit, and the shape of Fig. 3."""

from __future__ import annotations

import published
import pytest

import placelab as pl

# network, strategy → makespan under PCT with 10 operations per Send and Receive, as the published program gives it, and
# with plain transfers.
MAKESPANS = {
    ("convolutional_network", "batch_split"): (182.53499081286245, 169.0842428556658),
    ("convolutional_network", "critical_path"): (104.16233313836665, 98.21689169927046),
    ("convolutional_network", "hash"): (324.9034905186844, 300.7521007659872),
    ("recurrent_network", "batch_split"): (3130.2553306596346, 2934.8108131557137),
    ("recurrent_network", "critical_path"): (2156.4728741443555, 2047.4764297672264),
    ("recurrent_network", "hash"): (4754.69293933651, 4407.672276724293),
}


@pytest.mark.parametrize(("transfer_ops", "column"), [(10, 0), (0, 1)])
@pytest.mark.parametrize(("network", "strategy"), MAKESPANS)
def test_published_placements_take_the_published_time(shared_data, network, strategy, transfer_ops, column):
    """Six placements of the published program, run here, with Send ops and without."""
    folder = shared_data("mayer2017")
    problem = published.problem(folder, network, transfer_ops=transfer_ops)
    schedule = pl.simulate(problem, published.placement(folder, problem, network, strategy), "pct")
    assert schedule.makespan == pytest.approx(MAKESPANS[network, strategy][column], rel=1e-9)
    assert pl.validate(schedule) == []


@pytest.mark.parametrize("network", ["convolutional_network", "recurrent_network"])
def test_shape_of_figure_3(shared_data, network):
    """50 devices: critical-path + PCT takes at most half the time of hash + FIFO, and PCT beats FIFO for all Mayer's six."""
    problem = published.problem(shared_data("mayer2017"), network, transfer_ops=10)
    run = lambda where, when: pl.solve(problem, where, when).makespan  # noqa: E731
    assert run("critical-path", "pct") < run("hash", "fifo") / 2
    for name in ("hash", "batch-split", "critical-path", "mite", "dfs", "heft"):
        assert run(name, "pct") < run(name, "fifo"), name
