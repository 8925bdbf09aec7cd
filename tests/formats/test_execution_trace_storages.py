"""Execution traces: tensors in one storage share its memory."""

import placelab as pl
from placelab.formats.task_graphs import execution_trace


def record(data):
    """A record with its length first, below 128 bytes."""
    return bytes([len(data)]) + data


def node(number, name, reads, values):
    """A node of type COMP that lasts 8 µs."""
    text = values.encode()
    outputs = bytes([0x0A, len(text)]) + text
    data = bytes([0x08, number, 0x12, len(name)]) + name.encode() + bytes([0x18, 4])
    data += bytes([0x2A, len(reads), *reads]) if reads else b""
    return record(data + bytes([0x38, 8, 0x4A, len(outputs)]) + outputs)


def trace(*storages):
    """Ops in a chain, each with an output of 1 GB in one of these storages."""
    nodes = [
        node(i + 1, f"op{i}", [i] if i else [], f"[[{10 + i}, {s}, 0, 250000000, 4, 'cuda:0']]")
        for i, s in enumerate(storages)
    ]
    return record(b"\x0a\x050.0.4") + b"".join(nodes)


def peak(data):
    """Peak bytes on one device."""
    problem = pl.Problem(execution_trace.loads(data), pl.Cluster([1e13], memory=1e11), memory="dynamic")
    return pl.simulate(problem, pl.Placement(problem, [0] * problem.graph.n_ops)).peak_memory[0]


def test_views_and_ops_in_place_take_no_memory():
    """Three tensors of one storage are 1 GB; in storages of their own, two are there at once; storage 0 is none."""
    assert peak(trace(5, 5, 5)) == 1e9
    assert peak(trace(5, 6, 7)) == 2e9
    assert peak(trace(0, 0, 0)) == 2e9
    assert execution_trace.loads(trace(5, 5, 6)).tensor_storage.tolist() == [0, 0, 2]
