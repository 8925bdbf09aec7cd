"""Loops and branches of PyTorch programs: stored ones, read without PyTorch, and live ones where it is installed."""

from __future__ import annotations

import io
import json
import zipfile
from importlib.util import find_spec

import pytest

import placelab as pl
from placelab.formats.torch import archive
from placelab.formats.torch.archive import loads

FLOP = 2 * 8 * 16 * 16  # of the product in a body
with_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


def tensor(*sizes, dtype=7):
    """The type of a tensor, of float32 by default."""
    return {"dtype": dtype, "sizes": [{"as_int": size} for size in sizes]}


WHOLE = 5
TRUTH = 12
TYPES = {
    "i": tensor(dtype=WHOLE),
    "x": tensor(8, 16),
    "w": tensor(16, 16),
    "n": tensor(dtype=WHOLE),
    "p": tensor(dtype=TRUTH),
}


def named(*names):
    """Tensors as an argument."""
    return {"as_tensor": {"name": names[0]}} if len(names) == 1 else {"as_tensors": [{"name": name} for name in names]}


def node(target, outputs, *arguments, **others):
    """A node that makes these tensors."""
    given = [{"name": "", "arg": argument} for argument in arguments]
    given += [{"name": name, "arg": {"as_int": value}} for name, value in others.items()]
    return {
        "target": f"torch.ops.{target}",
        "inputs": given,
        "outputs": [named(name) for name in outputs],
        "metadata": {},
    }


def program(inputs, nodes, outputs, **types):
    """A program that a node runs, as an argument."""
    values = {name: TYPES[name] for name in inputs} | types
    graph = {
        "inputs": [named(n) for n in inputs],
        "outputs": [named(n) for n in outputs],
        "nodes": nodes,
        "tensor_values": values,
    }
    return {"as_graph": {"name": "g", "graph": graph}}


def stored(*nodes, inputs=("x", "w"), constants=None, **types):
    """An archive with these nodes."""
    specs = [{"user_input": {"arg": named(name)}} for name in inputs]
    config = {}
    for name in constants or ():
        specs.append({"tensor_constant": {"arg": {"name": name}, "tensor_constant_name": name}})
        config[name] = {"path_name": f"t_{name}", "use_pickle": False, "tensor_meta": TYPES[name]}
    values = {name: TYPES[name] for name in (*inputs, *(constants or ()))} | types
    document = {
        "torch_version": "2.13",
        "graph_module": {"graph": {"nodes": list(nodes), "tensor_values": values}, "signature": {"input_specs": specs}},
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("m/models/model.json", json.dumps(document))
        packed.writestr("m/data/constants/config.json", json.dumps({"config": config}))
        for name, data in (constants or {}).items():
            packed.writestr(f"m/data/constants/t_{name}", data)
    return file.getvalue()


def while_loop(compare, limit, change, step, *before, **options):
    """A loop over a counter, an image and a weight that stays the same."""
    condition = program(
        ("i", "x", "w"), [node(f"aten.{compare}.Scalar", ["c"], named("i"), other=limit)], ["c"], c=TYPES["p"]
    )
    nodes = [
        node(f"aten.{change}.Tensor", ["i_"], named("i"), other=step),
        node("aten.mm.default", ["x_"], named("x"), named("w")),
    ]
    body = program(("i", "x", "w"), nodes, ["i_", "x_"], i_=TYPES["i"], x_=TYPES["x"])
    looped = node(
        "higher_order.while_loop", ["a", "b"], condition, body, named("i", "x"), {"as_tensors": [{"name": "w"}]}
    )
    after = node("aten.relu.default", ["r"], named("b"))
    types = {"a": TYPES["i"], "b": TYPES["x"], "r": TYPES["x"]}
    return stored(*before, looped, after, **{**types, **options})


def column(graph):
    """Operations by name."""
    return dict(zip(graph.names.tolist(), graph.compute.tolist(), strict=True))


@pytest.mark.parametrize(
    ("data", "trips"),
    [
        (while_loop("lt", 10, "add", 3, constants={"i": (0).to_bytes(8, "little")}), 4),
        (while_loop("le", 9, "add", 3, constants={"i": (0).to_bytes(8, "little")}), 4),
        (while_loop("gt", -2, "sub", 1, constants={"i": (3).to_bytes(8, "little")}), 5),
        (while_loop("ge", -2, "sub", 2, constants={"i": (-1).to_bytes(8, "little", signed=True)}), 1),
        (while_loop("ne", 6, "add", 2, node("aten.zeros.default", ["i"]), i=TYPES["i"]), 3),
        (while_loop("lt", 10, "add", 1, node("aten.full.default", ["i"], fill_value=4), i=TYPES["i"]), 6),
        (while_loop("lt", 0, "add", 1, node("aten.ones.default", ["i"]), i=TYPES["i"]), 0),
    ],
)
def test_a_while_loop_counts_as_often_as_its_counter_says(data, trips):
    """It starts at a stored number or at a filled one; the option changes nothing."""
    graph = loads(data, trips=33)
    assert graph.metadata["loops"] == [{"op": "while_loop", "trips": trips, "known": True}]
    assert column(graph)["while_loop"] == trips * FLOP and graph.metadata["costs"]["unknown"] == {}
    assert graph.edge_bytes[-1] == 4 * 8 * 16


@pytest.mark.parametrize("trips", [1, 12])
def test_a_while_loop_that_data_end_counts_as_the_option_says(trips):
    """A counter that starts at an input."""
    graph = loads(while_loop("lt", 10, "add", 1, inputs=("i", "x", "w")), trips=trips)
    assert graph.metadata["loops"] == [{"op": "while_loop", "trips": trips, "known": False}]
    assert column(graph)["while_loop"] == trips * FLOP


def test_of_a_branch_the_dearer_side_counts():
    """A product against a copy, whichever comes first; a branch in a branch is listed by its path."""
    large = program(("x", "w"), [node("aten.mm.default", ["y"], named("x"), named("w"))], ["y"], y=TYPES["x"])
    small = program(("x", "w"), [node("aten.relu.default", ["y"], named("x"))], ["y"], y=TYPES["x"])
    for k, sides in enumerate([(large, small), (small, large)]):
        choice = node("higher_order.cond", ["y"], named("p"), *sides, named("x", "w"))
        graph = loads(stored(choice, inputs=("x", "w", "p"), y=TYPES["x"]))
        assert (
            graph.metadata["branches"] == [{"op": "cond", "branches": 2, "taken": k}] and column(graph)["cond"] == FLOP
        )
    inner = node("higher_order.cond", ["y"], named("p"), large, small, named("x", "w"))
    outer = program(("x", "w", "p"), [inner], ["y"], y=TYPES["x"])
    choice = node("higher_order.cond", ["y"], named("p"), outer, outer, named("x", "w", "p"))
    graph = loads(stored(choice, inputs=("x", "w", "p"), y=TYPES["x"]))
    assert [row["op"] for row in graph.metadata["branches"]] == ["cond/cond", "cond/cond", "cond"]
    assert column(graph)["cond"] == FLOP


def test_bad_programs_in_programs_are_refused(monkeypatch):
    """One sentence for a damaged one, and for programs that are nested too deep."""
    for broken in ({"as_graph": 3}, {"as_graph": {"graph": {"nodes": 4, "tensor_values": {}}}}):
        with pytest.raises(pl.FormatError, match="cond"):
            loads(stored(node("higher_order.cond", ["y"], named("p"), broken), inputs=("x", "p"), y=TYPES["x"]))
    monkeypatch.setattr(archive, "MAX_DEPTH", 0)
    with pytest.raises(pl.FormatError, match="programs in programs more than 0 deep"):
        loads(while_loop("lt", 10, "add", 1, inputs=("i", "x", "w")))


def modules():
    """Name → module, its argument, and how often its product of 8 × 16 and 16 × 16 runs."""
    import torch
    from torch._higher_order_ops.map import map as mapped
    from torch._higher_order_ops.scan import scan
    from torch._higher_order_ops.while_loop import while_loop

    class Layer(torch.nn.Module):
        def __init__(self, function):
            super().__init__()
            self.layer = torch.nn.Linear(16, 16, bias=False)
            self.function = function

        def forward(self, x):
            return self.function(self.layer, x)

    def counted(layer, x):
        return while_loop(lambda i, x: i < 9, lambda i, x: (i + 2, layer(x)), (torch.tensor(0), x))

    def unknown(layer, x):
        return while_loop(lambda i, x: i < x.sum(), lambda i, x: (i + 1, layer(x)), (torch.tensor(0), x))

    def chosen(layer, x):
        return torch.cond(x.sum() > 0, lambda x: x.relu(), lambda x: layer(x), (x,))

    def scanned(layer, x):
        return scan(lambda c, e: (layer(c), c + e), torch.zeros(8, 16) + x.sum(), x)

    image = torch.zeros(8, 16)
    many = torch.zeros(7, 8, 16)
    return {
        "counted": (Layer(counted), image, 5),
        "unknown": (Layer(unknown), image, 3),
        "chosen": (Layer(chosen), image, 1),
        "scanned": (Layer(scanned), many, 7),
        "mapped": (Layer(lambda layer, x: mapped(lambda e: layer(e), x)), many, 7),
    }


@with_torch
@pytest.mark.parametrize(
    "name",
    ["counted", "chosen", *(pytest.param(name, marks=pytest.mark.slow) for name in ("unknown", "scanned", "mapped"))],
)
def test_pytorchs_own_programs_count_the_same_live_and_stored(name, tmp_path):
    """``while_loop``, ``cond``, ``scan`` and ``map``, exported, and read from ``torch.export.save``'s file."""
    import torch

    module, image, n = modules()[name]
    exported = torch.export.export(module, (image,))
    torch.export.save(exported, str(tmp_path / "m.pt2"))
    live = pl.load(module, args=(image,), trips=3)
    read = pl.load(tmp_path / "m.pt2", trips=3)
    assert live.compute.max() == read.compute.max()
    for graph in (live, read, pl.load(exported, trips=3)):
        rows = graph.metadata["branches" if name == "chosen" else "loops"]
        assert [row.get("known") for row in rows] == [{"chosen": None, "unknown": False}.get(name, True)]
        assert n * FLOP <= graph.compute.max() <= n * (FLOP + 200) and graph.metadata["costs"]["unknown"] == {}
