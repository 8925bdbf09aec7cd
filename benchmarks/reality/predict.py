"""Predict step time and start order of a placement with the simulator and with the model of shared cores."""

from __future__ import annotations

from dataclasses import dataclass

import placelab as pl
from reality import cores
from reality.machines import Machine
from reality.measure import Costs
from reality.networks import Step, problem

RULES = {"simulated": "parallel", "sequential": "sequential"}  # model → the simulator's transfers


@dataclass(frozen=True)
class Prediction:
    """Predictions for one placement.

    Attributes
    ----------
    step : dict
        Model → seconds of a step, its start and end included: ``simulated`` and ``sequential`` are the simulator's with
        transfers of that kind, ``cores`` the same devices on few cores.
    start : dict
        Model (``simulated``, ``cores``) → op → start [s].
    device : dict
        Op → device.
    transfers : int
        Tensors sent between devices.
    """

    step: dict[str, float]
    start: dict[str, dict[str, float]]
    device: dict[str, str]
    transfers: int


def problem_on(machine: Machine, step: Step, costs: Costs) -> pl.Problem:
    """The step with measured costs on this machine."""
    cluster = machine.cluster(costs.link.seconds, costs.link.bandwidth)
    return problem(step, costs.graph(step.graph), cluster)


def predict(machine: Machine, costs: Costs, placement: pl.Placement, n_cores: int) -> Prediction:
    """Predict step time and order of a placement, first come, first served, as in TensorFlow's executor."""
    on = placement.problem
    runs = {model: pl.simulate(on.replace(transfers=rule), placement, "fifo") for model, rule in RULES.items()}
    schedule = runs["simulated"]
    work = costs.work(on.graph.tensor_bytes[schedule.transfers["tensor"]])
    shared = cores.run(schedule, n_cores, work, machine.exclusive)
    names = on.graph.names.tolist()
    return Prediction(
        {model: costs.call + run.makespan for model, run in (runs | {"cores": shared}).items()},
        {
            "simulated": dict(zip(names, schedule.start.tolist(), strict=True)),
            "cores": dict(zip(names, shared.start.tolist(), strict=True)),
        },
        {name: on.cluster.names[d] for name, d in zip(names, placement.device, strict=True)},
        len(schedule.transfers),
    )
