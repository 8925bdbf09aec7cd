"""Training runs with checkpoints and failures: simulated, and in expectation."""

from placelab.analysis.faults.expectations import (
    checkpoint_interval,
    expected_segment_time,
    expected_training_time,
    over_intervals,
    system_mtbf,
)
from placelab.analysis.faults.training_runs import (
    KINDS,
    Detection,
    TrainingRuns,
    detection,
    disk_time,
    node_times,
    simulate_training,
    step_with_nodes,
)

__all__ = [
    "KINDS",
    "Detection",
    "TrainingRuns",
    "checkpoint_interval",
    "detection",
    "disk_time",
    "expected_segment_time",
    "expected_training_time",
    "node_times",
    "over_intervals",
    "simulate_training",
    "step_with_nodes",
    "system_mtbf",
]
