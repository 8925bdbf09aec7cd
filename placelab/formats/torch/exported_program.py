"""Convert the FX graph of a traced PyTorch program to an :class:`OpGraph`.

Some nodes of an FX graph compute nothing: parameters, nodes that select one of several outputs, ``detach``, views of a parameter,
and assertions. They do not become ops; ops that read them read their source instead.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from placelab.base.interrupts import need
from placelab.formats.loops import Control, Value
from placelab.formats.torch.aten_ops import ROWS, Body, CalledBodies, Op, Source, Tensor, assembled, unique
from placelab.problem.graph import OpGraph

if TYPE_CHECKING:
    from torch.fx import Graph, Node


HALVES = ("float16", "bfloat16")  # number types whose products have a speed of their own


class Output(NamedTuple):
    """An output of an op: the source of a node's value."""

    op: Any  # the node that computes it
    number: int


@dataclass(frozen=True)
class Program:
    """A traced program and the meaning of its placeholders.

    Attributes
    ----------
    graph
        FX graph, whose nodes have tensors without data in ``meta["val"]``.
    parameters
        Placeholder → name of the parameter or buffer; parameters that share their memory have one name.
    aliases
        Name of each parameter and buffer → its name in `parameters`.
    inputs
        Placeholder → name of the input.
    forward
        Backward node, or placeholder of a given gradient → forward node.
    values
        Placeholder → its value.
    """

    graph: Graph
    parameters: Mapping[Node, str]
    aliases: Mapping[str, str]
    inputs: Mapping[Node, str]
    forward: Mapping[Node, Node] = field(default_factory=dict)
    values: Mapping[Node, Any] = field(default_factory=dict)


def torch_module() -> Any:
    """The package torch; UnsupportedError if it is not installed."""
    need("torch")
    import torch

    return torch


def op_graph(program: Program, metadata: Mapping[str, Any], trips: int = 1) -> OpGraph:
    """Convert a program to a graph; op names are those of :func:`names_of`; loops of unknown length run `trips` times.

    Returns
    -------
    OpGraph
        ``kind`` is ``aten.…`` in PyTorch's spelling, or ``input``. ``compute`` is counted from shapes. A view has the bytes of
        its tensor, and its storage, as what an op in place makes has (:mod:`placelab.formats.torch.aten_ops`). A parameter's
        bytes are ``persistent`` at the first op that reads it; all ops that read a parameter over 1 KiB share a colocation
        group. ``metadata`` gets ``costs``, ``parameters`` (name → op that holds it, "" if no op reads it) and ``activations``,
        the bytes that forward ops keep for backward ops, shared memory counted once; ``costs`` has the ``precision`` of
        products if most parameters have 16 bits.

    Notes
    -----
    O(nodes and their inputs).
    """
    origin = origins(program)
    names = names_of(program, origin)
    number = {node: v for v, node in enumerate(names)}
    ops = [_op(node, name, origin, number) for node, name in names.items()]
    found: dict[str, Any] = {"activations": _activations(program, names, origin)} if program.forward else {}
    precision = _precision(program)
    found |= {"costs": {"precision": precision}} if precision in HALVES else {}
    return assembled(ops, _sizes(program), program.aliases, {**metadata, **found}, Control(trips), _constants(program))


def _op(node: Node, name: str, origin: Mapping[Node, Any], number: Mapping[Node, int]) -> Op:
    reads = (Source(number[s.op], s.number) if isinstance(s, Output) else s for s in _inputs(node, origin))
    values = [read.meta.get("val") for read in read_by(node)]
    return Op(
        name,
        _kind(node),
        tuple(reads),
        {o: _tensor(value) for o, value in _outputs(node)},
        tuple(_tensor(value).shape for value in values if hasattr(value, "shape")),
        _attributes(node),
        _run(node, origin, number),
    )


def _run(node: Node, origin: Mapping[Node, Any], number: Mapping[Node, int]) -> CalledBodies | None:
    """The programs that a node runs, each a module of the graph's; None if there are none."""
    from torch.fx import Node

    programs = [arg for arg in node.args if isinstance(arg, Node) and arg.op == "get_attr" and arg not in number]
    modules = [getattr(node.graph.owning_module, str(arg.target), None) for arg in programs]
    graphs = [module.graph for module in modules if module is not None and hasattr(module, "graph")]
    if not graphs:
        return None
    last = max(i for i, arg in enumerate(node.args) if arg in programs)
    at = ROWS.get(_kind(node).rpartition(".")[2], 0)
    through = _flat(node.args[at])[:1] if at and at < len(node.args) else []
    shape = _tensor(through[0].meta.get("val")).shape if through and isinstance(through[0], Node) else None
    arguments = [_argument(value, origin, number) for arg in node.args[last + 1 :] for value in _flat(arg)]
    return CalledBodies([_body(graph) for graph in graphs], arguments, shape[0] if shape else None)


def _body(graph: Graph) -> Body:
    """The ops of a program that a node runs, its inputs first."""
    program = Program(graph, {}, {}, {node: node.name for node in graph.nodes if node.op == "placeholder"})
    origin = origins(program)
    names = names_of(program, origin)
    number = {node: v for v, node in enumerate(names)}
    returned = next((node.args[0] for node in graph.nodes if node.op == "output"), ())
    ops = [_op(node, name, origin, number) for node, name in names.items()]
    return Body(ops, [_argument(value, origin, number) for value in _flat(returned)])


def _flat(value: Any) -> list[Any]:
    return [one for entry in value for one in _flat(entry)] if isinstance(value, (tuple, list)) else [value]


def _argument(value: Any, origin: Mapping[Node, Any], number: Mapping[Node, int]) -> Source | str | int | None:
    """A node's value as what a program gets."""
    if isinstance(value, int):
        return value
    source = origin.get(value)
    return Source(number[source.op], source.number) if isinstance(source, Output) else source


def _constants(program: Program) -> dict[str, Value]:
    """Values of the tensors of the program that are one whole number or truth value."""
    found: dict[str, Value] = {}
    for node, name in program.parameters.items():
        value = program.values.get(node)
        if getattr(value, "shape", None) == () and _is_whole(value) and type(value).__name__ == "Tensor":
            found[name] = value.item()  # type: ignore[union-attr]
    return found


def _is_whole(value: Any) -> bool:
    """Whether a tensor has whole numbers or truth values."""
    kind = getattr(value, "dtype", None)
    return kind is not None and not (kind.is_floating_point or kind.is_complex)


def origins(program: Program) -> dict[Node, Output | str | None]:
    """Source of each node's value: an op's output, a parameter's name, or None if it is not a tensor of the program."""
    origin: dict[Node, Output | str | None] = {}
    for node in program.graph.nodes:
        origin[node] = _origin(node, program, origin)
    return origin


def _origin(node: Node, program: Program, origin: Mapping[Node, Any]) -> Output | str | None:
    if node.op in ("placeholder", "get_attr"):
        if node in program.inputs:
            return Output(node, 0)
        return program.parameters.get(node)
    if node.op != "call_function" or _short(node, program).startswith("_assert"):
        return None
    source = origin.get(_first_input(node))
    if node.target is operator.getitem and isinstance(source, Output) and isinstance(node.args[1], int):
        return Output(source.op, node.args[1])
    if _kind(node) == "aten.detach.default" or (isinstance(source, str) and _is_view(node)):
        return source
    return Output(node, 0)


def _first_input(node: Node) -> Any:
    """The node that is the first argument; None for an argument of another type."""
    from torch.fx import Node

    return node.args[0] if node.args and isinstance(node.args[0], Node) else None


def _is_view(node: Node) -> bool:
    """Whether an op, whose first argument is a node, returns its memory as a tensor of the same type."""
    given, made = (n.meta.get("val") for n in (_first_input(node), node))
    return getattr(node.target, "is_view", False) and getattr(given, "dtype", None) == getattr(made, "dtype", given)


def names_of(program: Program, origin: Mapping[Node, Any] | None = None) -> dict[Node, str]:
    """The op name of each node that is an op, in the order of the program.

    The name of a forward op is its module's path and its own name, as in ``h/0/q/addmm``; that of a backward op contains its
    forward op's, as in TensorFlow: ``gradients/h/0/q/addmm_grad/mm``. Duplicates are numbered: ``mm_1``.
    """
    origin = origins(program) if origin is None else origin
    ops = [node for node, source in origin.items() if source == Output(node, 0)]
    taken: dict[str, int] = {}
    named = {node: unique(_forward_name(node, program), taken) for node in ops if node not in program.forward}
    for node in ops:
        if node in program.forward:
            under = f"gradients/{named[program.forward[node]]}_grad"
            named[node] = unique(f"{under}/{_short(node, program)}", taken)
    return {node: named[node] for node in ops}


def _forward_name(node: Node, program: Program) -> str:
    scope = module_path(node).replace(".", "/")
    return f"{scope}/{_short(node, program)}" if scope else _short(node, program)


def module_path(node: Node) -> str:
    """Dotted path of the innermost module that called the node; ``""`` for the outermost one."""
    stack = node.meta.get("nn_module_stack") or {}
    path = next(reversed(stack.values()))[0] if stack else ""
    return path.partition("@")[0]


def _short(node: Node, program: Program) -> str:
    if node in program.inputs:
        return program.inputs[node]
    target = node.target
    return getattr(getattr(target, "overloadpacket", target), "__name__", str(target))


def _kind(node: Node) -> str:
    if node.op in ("placeholder", "get_attr"):
        return "input"
    return str(node.target if hasattr(node.target, "overloadpacket") else getattr(node.target, "__name__", node.target))


# ---------------------------------------------------------------- tensors


def read_by(node: Node) -> list[Node]:
    """The nodes that a node reads, with repetitions."""
    from torch.fx.node import map_arg

    found: list[Node] = []
    map_arg((node.args, node.kwargs), found.append)
    return found


def _inputs(node: Node, origin: Mapping[Node, Any]) -> Iterator[Output | str]:
    yield from (source for source in (origin.get(read) for read in read_by(node)) if source is not None)


def _outputs(node: Node) -> list[tuple[int, Any]]:
    """(number, value) of each output of an op; outputs that are not computed are left out."""
    value = node.meta.get("val")
    values = value if isinstance(value, (tuple, list)) else [value]
    return [(o, v) for o, v in enumerate(values) if v is not None]


def _value(source: Output) -> Any:
    value = source.op.meta.get("val")
    return value[source.number] if isinstance(value, (tuple, list)) else value


def _tensor(value: Any) -> Tensor:
    """Shape with the sizes of the traced call, and bytes of an element."""
    sizes = [getattr(getattr(size, "node", None), "hint", size) for size in getattr(value, "shape", ())]
    item = value.element_size() if hasattr(value, "element_size") else 0
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    return Tensor(None if None in sizes else tuple(int(size) for size in sizes), item, _is_whole(value), kind)


def _attributes(node: Node) -> dict[str, Any]:
    """Arguments that are not tensors, by their names in the op's declaration."""
    declared = getattr(getattr(node.target, "_schema", None), "arguments", ())
    given = dict(zip((argument.name for argument in declared), node.args, strict=False)) | dict(node.kwargs)
    return {name: value for name, value in given.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(_is_plain(item) for item in value)
    return isinstance(value, (bool, int, float, str)) or value is None


# ---------------------------------------------------------------- parameters and activations


def _precision(program: Program) -> str:
    """Number type of most bytes of the parameters."""
    size: dict[str, float] = {}
    for node in program.parameters:
        value = node.meta.get("val")
        kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
        size[kind] = size.get(kind, 0.0) + _tensor(value).bytes
    return max(size, key=size.__getitem__, default="")


def _sizes(program: Program) -> dict[str, float]:
    sizes: dict[str, float] = {}
    for node, name in program.parameters.items():
        sizes[name] = max(sizes.get(name, 0.0), _tensor(node.meta.get("val")).bytes)
    return sizes


def _activations(program: Program, names: Mapping[Node, str], origin: Mapping[Node, Any]) -> float:
    """Bytes that forward ops make and backward ops read; memory that views share counts once."""
    memory: dict[Output, Output | str] = {}
    for node in names:
        source = next(iter(_inputs(node, origin)), None) if getattr(node.target, "is_view", False) else None
        for o, _ in _outputs(node):
            own = Output(node, o)
            memory[own] = _memory(source, memory) if source is not None and _same(source, own) else own
    kept = {
        memory[source]
        for node in names
        if node in program.forward
        for source in _inputs(node, origin)
        if isinstance(source, Output) and source.op not in program.forward
    }
    return sum(_tensor(_value(s)).bytes for s in kept if isinstance(s, Output) and s.op not in program.inputs)


def _memory(source: Output | str, memory: Mapping[Output, Output | str]) -> Output | str:
    """The output or parameter whose memory `source` shares."""
    return source if isinstance(source, str) else memory.get(source, source)


def _same(source: Output | str, own: Output) -> bool:
    """Whether a view keeps its source's type; ops such as ``to`` copy if it differs."""
    return isinstance(source, str) or getattr(_value(source), "dtype", None) == getattr(_value(own), "dtype", None)
