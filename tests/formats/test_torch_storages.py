"""PyTorch programs: views and ops in place live in the storage of what they read."""

import numpy as np
import pytest

import placelab as pl
from placelab.formats.torch.aten_ops import Op, Source, Tensor, storages

torch = pytest.importorskip("torch")

SIZE = Tensor((4, 8), 4)


def program(*kinds, made=SIZE):
    """Numbers of the storages of a chain of ops of these kinds, each of which reads the one before; of one output each."""
    ops = [Op("x", "input", (), {0: SIZE})]
    ops += [Op(f"op{i}", kind, (Source(i, 0),), {0: made}) for i, kind in enumerate(kinds)]
    return list(storages(ops).values())


@pytest.mark.parametrize(
    ("kinds", "numbers"),
    [
        (["aten.view.default", "aten.unsqueeze.default", "aten.detach.default"], [0, 0, 0, 0]),
        (["aten.relu.default", "aten.add_.Tensor", "aten.relu_.default"], [0, 1, 1, 1]),
        (["aten.transpose.int", "aten.view.default"], [0, 0, 0]),
        (["aten.reshape.default"], [0, 0]),
        (["aten.transpose.int", "aten.reshape.default", "aten.reshape.default"], [0, 0, 1, 1]),  # the first copies
        (["aten.transpose.int", "aten.unsqueeze.default", "aten.flatten.using_ints"], [0, 0, 0, 1]),
        (["aten.contiguous.default", "aten.clone.default", "aten.to.dtype"], [0, 1, 2, 3]),
        (["aten.add.Tensor", "aten.__and__.Tensor", "aten.empty_like.default"], [0, 1, 2, 3]),
        (["mine.view.default", "add_", "getitem"], [0, 1, 2, 3]),  # not PyTorch's
    ],
)
def test_kinds_that_share(kinds, numbers):
    """By name, as in PyTorch's schemas; reshape copies what was transposed."""
    assert program(*kinds) == numbers


def test_a_view_larger_than_its_storage_counts_itself():
    """What expand makes has more bytes than it takes; the storage does not grow by them."""
    assert program("aten.expand.default", made=Tensor((3, 4, 8), 4)) == [0, 1]
    assert program("aten.slice.Tensor", made=Tensor((2, 8), 4)) == [0, 0]


def test_all_schemas_of_pytorch_agree():
    """Each op in the tables returns an alias of its first tensor, in PyTorch's own words."""
    from placelab.formats.torch.aten_ops import PLAIN_VIEWS, VIEWS

    alike: dict[str, list[bool]] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.partition("::")[2]
        if schema.name.startswith("aten::") and schema.arguments and str(schema.arguments[0].type) == "Tensor":
            given = schema.arguments[0].alias_info
            alike.setdefault(name, []).append(given is not None and not given.is_write)
    wrong = sorted(name for name in PLAIN_VIEWS | VIEWS if not any(alike.get(name, [])))
    assert wrong == ["_unsafe_view", "view_of"]  # PyTorch says that these return new tensors, though they do not copy


class Block(torch.nn.Module):
    """Views, parts and ops in place."""

    def forward(self, x):
        """Of what relu makes: a view, two parts, one of them changed in place, and a copy."""
        y = x.relu()
        a, b = y.view(8, 4).split(4)
        return b.mul_(2.0) + a, y.transpose(0, 1).reshape(32)


def test_programs_traced_and_saved(tmp_path):
    """Both have the same storages; on one device only those are held."""
    exported = torch.export.export(Block(), (torch.zeros(4, 8),))
    torch.export.save(exported, tmp_path / "block.pt2")
    traced = pl.load(exported)
    saved = pl.load(tmp_path / "block.pt2")
    made = traced.names[traced.tensor_producer]
    shared = np.bincount(traced.tensor_storage, minlength=traced.n_tensors)[traced.tensor_storage] > 1
    assert made[shared].tolist() == ["relu", "view", "split", "split", "mul_", "transpose"]
    assert saved.tensor_storage.tolist() == traced.tensor_storage.tolist()
    problem = pl.Problem(traced, pl.Cluster([1.0]), memory="dynamic")
    own = traced.tensor_bytes.sum()
    peak = pl.simulate(problem, pl.Placement(problem, [0] * traced.n_ops)).peak_memory[0]
    assert peak <= 4 * 128.0 < own
