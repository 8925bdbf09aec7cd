"""Device maps: a device for each module, and exactly one entry that covers each parameter."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.formats.torch.device_map import device_map, write

NAMES = [
    "x",
    "token/embedding",
    "h/0/norm/layer_norm",
    "h/0/q/addmm",
    "h/0/add",
    "h/1/norm/layer_norm",
    "h/1/q/addmm",
    "h/1/add",
    "loss",
]
NAMES += ["gradients/h/1/q/addmm_grad/mm", "gradients/h/0/q/addmm_grad/mm"]
PARAMETERS = {
    "token.weight": "token/embedding",
    "h.0.norm.weight": "h/0/norm/layer_norm",
    "h.0.q.weight": "h/0/q/addmm",
    "h.0.q.bias": "h/0/q/addmm",
    "h.0.scale": "h/0/add",
    "h.1.norm.weight": "h/1/norm/layer_norm",
    "h.1.q.weight": "h/1/q/addmm",
    "h.1.spare": "",
    "head.weight": "token/embedding",
    "unused.weight": "",
}  # fmt: skip


def placed(devices: list[int], cluster: pl.Cluster | None = None, parameters: object = PARAMETERS) -> pl.Placement:
    """Those ops in a chain, on these devices."""
    edges = [(i, i + 1) for i in range(len(NAMES) - 1)]
    kind = ["input", *["aten"] * (len(NAMES) - 1)]
    graph = pl.OpGraph.from_arrays(NAMES, np.arange(1.0, 12), edges, kind=kind, metadata={"parameters": parameters})
    problem = pl.Problem(graph, cluster or pl.Cluster.uniform(2, speed=1.0, bandwidth=1.0, latency=0.0))
    return pl.Placement(problem, np.array(devices, dtype=np.int32))


def covering(entries: dict, name: str) -> list[str]:
    """The entries that cover a parameter, as Accelerate reads them."""
    return [path for path in entries if path in ("", name) or name.startswith(f"{path}.")]


def test_one_device_is_one_entry():
    """A model on one device has one entry, the empty path."""
    assert device_map(placed([1] * 11)) == {"": 1}


def test_modules_together_are_one_entry_others_are_split_to_their_children():
    """h.0 stays whole, h.1 is split; additions inside h.1 itself are not part of a map."""
    found = device_map(placed([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]))
    assert found == {"token": 0, "h.0": 0, "h.1.spare": 0, "h.1.norm": 0, "h.1.q": 1, "head": 0, "unused": 0}


def test_a_backward_pass_elsewhere_changes_nothing():
    """PyTorch runs a gradient where the forward op ran."""
    assert device_map(placed([0] * 9 + [1, 1])) == {"": 0}


@given(st.lists(st.integers(0, 1), min_size=11, max_size=11))
@examples(60)
def test_each_parameter_is_below_exactly_one_entry(devices):
    """For any placement; the parameter goes to the device of the op that holds it, unless its module was split."""
    placement = placed(devices)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entries = device_map(placement)
    for name, holder in PARAMETERS.items():
        (path,) = covering(entries, name)
        if holder and not name.startswith("head"):
            assert entries[path] == placement.device[placement.problem.graph.index(holder)]


def test_a_module_split_inside_is_named_and_goes_where_its_time_is():
    """`q` runs addmm for 4 s on one device and norms hold a parameter on another."""
    with pytest.warns(UserWarning, match="splits 'h.0.q'; each goes where it spends most time"):
        found = device_map(
            placed([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], parameters={**PARAMETERS, "h.0.q.bias": "token/embedding"})
        )
    assert found["h.0.q"] == 1


def test_devices_are_called_as_pytorch_calls_them():
    """A CPU is "cpu", other devices are numbered; other names can be given for all devices."""
    cluster = pl.Cluster([1, 1, 1], bandwidth=1.0, latency=0.0, names=["host cpu", "a", "b"])
    devices = [0] * 2 + [2] * 9
    assert set(device_map(placed(devices, cluster), devices={"host cpu": "disk", "a": 7, "b": 9}).values()) == {
        "disk",
        9,
    }
    assert set(device_map(placed(devices, cluster)).values()) == {"cpu", 1}
    assert device_map(placed([0] * 11, pl.costs.cluster("xeon_8380", 1))) == {"": "cpu"}
    assert device_map(placed([1] * 11, pl.costs.cluster("v100", 2))) == {"": 1}
    with pytest.raises(pl.FormatError, match="does not say what PyTorch calls 'b'"):
        device_map(placed(devices, cluster), devices={"host cpu": "cpu", "a": 0})


def test_two_hosts_are_no_device_map():
    """Accelerate's map is for one machine."""
    cluster = pl.Cluster.from_hosts({"left": 1, "right": 1}, speed=1.0, inside=(1.0, 0.0), between=(1.0, 0.0))
    with pytest.raises(pl.UnsupportedError, match="the placement is on 'left' and 'right'"):
        device_map(placed([0] * 5 + [1] * 6, cluster))


def test_a_graph_without_modules_has_no_device_map(tmp_path):
    """Slashes in names do not make modules; nothing is written."""
    graph = pl.OpGraph.from_arrays(["scope/a", "scope/b"], [1, 1], [(0, 1)], metadata={"name": "tf"})
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0, 1.0])), "single")
    with pytest.raises(pl.UnsupportedError, match=r"tf has no PyTorch modules, .* write its placement instead"):
        write(placement, tmp_path / "map.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("parameters", [3, {"a": 3}, [1]])
def test_metadata_that_are_no_parameters_are_refused(parameters):
    """Metadata come from untrusted files."""
    with pytest.raises(pl.FormatError, match="expected parameter → op that holds it"):
        device_map(placed([0] * 11, parameters=parameters))


def test_the_file_holds_the_map(tmp_path):
    """The file is JSON; a missing folder gives one sentence."""
    placement = placed([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])
    assert json.loads(write(placement, tmp_path / "map.json").read_text()) == device_map(placement)
    with pytest.raises(pl.FormatError, match="cannot be written: No such file"):
        write(placement, tmp_path / "no" / "map.json")
