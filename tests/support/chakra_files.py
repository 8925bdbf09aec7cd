"""Small Chakra traces for tests, encoded with the field numbers of Chakra's et_def.proto."""

from __future__ import annotations

import json

from placelab.formats.protobuf import tagged


def varint(number):
    """A whole number in protobuf's encoding."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    return bytes([*parts, number])


def number(field, value):
    """Encode a field with a whole number."""
    return varint(field << 3) + varint(value)


def attribute(name, value, field=13):
    return tagged(10, tagged(1, name.encode()) + number(field, value))


def node(id, name, type=4, data=(), control=(), micros=0, *parts):
    """Encode a node."""
    data, control = (b"".join(map(varint, deps)) for deps in (data, control))
    known = number(1, id) + tagged(2, name.encode()) + number(3, type) + tagged(4, control) + tagged(5, data)
    return known + number(7, micros) + b"".join(parts)


def trace(*nodes):
    """A ``.et`` file: metadata, then nodes, each preceded by its length."""
    records = [tagged(1, b"0.0.4"), *nodes]
    return b"".join(varint(len(record)) + record for record in records)


ET = trace(
    node(7, "load", 2, (), (), 5, attribute("tensor_size", 4096)),
    node(8, "layer", 4, (7,), (), 250, attribute("num_ops", 1000), attribute("tensor_size", 512, 9)),
    node(9, "sum", 7, (8,), (7, 1), 100, attribute("comm_type", 0), attribute("comm_size", 2048)),
    node(10, "layer", 4, (9, 8), (), 0, attribute("num_ops", 3, 11)),
)

OUTPUTS = "[[62, 63, 0, 512, 4, 'cuda:0'], [62, 63, 0, 512, 4, 'cuda:0'], [[64, 65, 0, 10, 2, 'cpu']], True, 'text']"

WORKLOAD = {
    "workload_graph": [
        {"Id": 3, "Name": "a", "NodeType": 4, "data_deps": [], "ctrlDeps": [99], "runtime": 10, "is_cpu_op": True},
        {"Id": 4, "Name": "b", "NodeType": 5, "data_deps": [3], "ctrl_deps": [3], "comm_size": 64},
        {"Id": 5, "Name": "", "NodeType": 7, "data_deps": [3, 4], "comm_type": 2, "comm_size": 8, "runtime": 2.5},
    ]
}


def tensor(id, storage, elements=4):
    return [id, storage, 0, elements, 4, "cpu"]


def call(id, name, caller, reads=(), writes=(), shapes=((), ())):
    sides = {
        key: {"values": list(values), "shapes": [list(s) for s in shape], "types": []}
        for key, values, shape in (("inputs", reads, shapes[0]), ("outputs", writes, shapes[1]))
    }
    return {"id": id, "name": name, "ctrl_deps": caller, **sides}


MATRIX = ([[2, 2], [2, 2]], [[2, 2]])
HOST = {
    "schema": "1.1.1-chakra.0.0.4",
    "nodes": [
        call(1, "[pytorch|profiler|execution_trace|process]", 1),
        call(2, "[pytorch|profiler|execution_trace|thread]", 1),
        call(4, "aten::addmm", 3, [tensor(1, 1), tensor(2, 2)], [tensor(3, 3)], MATRIX),
        call(3, "aten::linear", 2, [tensor(1, 1), tensor(2, 2)], [tensor(3, 3)], MATRIX),
        call(6, "aten::mm", 5, [tensor(3, 3), tensor(2, 2)], [tensor(4, 4)], MATRIX),
        call(5, "AddmmBackward0", 2, [tensor(3, 3)]),
        call(7, "record_param_comms", 2, [[tensor(4, 4)], 1, "allreduce"], [[tensor(4, 4)]]),
        call(8, "aten::add_", 2, [tensor(2, 2), tensor(9, 4)], [tensor(2, 2)], MATRIX),
    ],
}


def seeds() -> list[bytes]:
    """A trace in each format."""
    return [ET, *(json.dumps(document).encode() for document in (WORKLOAD, HOST))]
