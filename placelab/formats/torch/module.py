"""Trace a PyTorch module with ``torch.export`` and convert it to a graph: its forward pass, or forward and backward as one.

The joint graph is the one that ``torch.compile`` passes to its partitioner, without decompositions: the ATen ops of eager
PyTorch. A backward op has the autograd sequence number of its forward op.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from placelab.base.errors import FormatError, UnsupportedError
from placelab.formats.loops import Trips
from placelab.formats.torch.exported_program import Output, Program, op_graph, origins, read_by, torch_module
from placelab.problem.graph import OpGraph

if TYPE_CHECKING:
    from torch.fx import Node


def from_module(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    trips: Trips = 1,
) -> OpGraph:
    """Convert the forward pass of a module to a graph.

    Parameters
    ----------
    module
        A ``torch.nn.Module``. If built under ``torch._subclasses.FakeTensorMode``, its tensors take no memory.
    args, kwargs
        Arguments of its call: tensors of the sizes to cost, in the same mode as the module.
    name
        Name of the graph; default the class of the module.
    trips
        Iterations of a ``while_loop`` of which the program does not say how many; ``metadata["loops"]`` lists all.

    Returns
    -------
    OpGraph
        An op per ATen op, named by module path and op, ``h/0/attn/linear``, and an op of kind ``input`` per input. Compute is
        in FLOP, tensors and parameters in bytes. A parameter's bytes are ``persistent`` at the first op that reads it; all ops
        that read a parameter over 1 KiB share a colocation group.

    Raises
    ------
    FormatError
        `module` is not a module.
    UnsupportedError
        PyTorch is not installed, or its tracer cannot follow the module.

    Examples
    --------
    >>> import torch                                                                              # doctest: +SKIP
    >>> from_module(torch.nn.Linear(3, 2), (torch.zeros(1, 3),)).names.tolist()                   # doctest: +SKIP
    ['input', 'linear']
    """
    return from_exported(exported(module, args, kwargs), name=name or type(module).__name__, trips=trips)


def is_exported(value: Any) -> bool:
    """Whether a value is a ``torch.export.ExportedProgram``; does not import torch."""
    return type(value).__name__ == "ExportedProgram" and type(value).__module__.startswith("torch.export")


def is_module(value: Any) -> bool:
    """Whether a value is a ``torch.nn.Module``; does not import torch."""
    return any(
        kind.__name__ == "Module" and kind.__module__ == "torch.nn.modules.module" for kind in type(value).__mro__
    )


def from_exported(program: Any, *, name: str = "exported program", trips: Trips = 1) -> OpGraph:
    """Convert a ``torch.export.ExportedProgram`` to a graph, as described for :func:`from_module`.

    Raises
    ------
    FormatError
        Another kind of object.
    """
    version = torch_module().__version__
    return op_graph(program_of(program), {"name": name, "provenance": f"torch.export, PyTorch {version}"}, trips)


def program_of(exported_program: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Program:
    """An ExportedProgram with the meaning of its placeholders; only running it takes `args` and `kwargs`."""
    if not is_exported(exported_program):
        raise FormatError(f"expected a torch.export.ExportedProgram, found a {type(exported_program).__name__}")
    from torch.utils._pytree import tree_leaves

    given = iter(tree_leaves((tuple(args), dict(kwargs or {}))))
    state = {**exported_program.state_dict, **exported_program.constants}
    shared = shared_names(state)
    parameters = {}
    inputs = {}
    values = {}
    placeholders = (node for node in exported_program.graph.nodes if node.op == "placeholder")
    for node, spec in zip(placeholders, exported_program.graph_signature.input_specs, strict=True):
        own = spec.kind.name == "USER_INPUT"
        values[node] = next(given, None) if own else state.get(spec.target)
        if hasattr(node.meta.get("val"), "shape") and own:
            inputs[node] = node.name
        elif hasattr(node.meta.get("val"), "shape"):
            parameters[node] = shared.get(spec.target, spec.target)
    return Program(exported_program.graph, parameters, shared, inputs, values=values)


def exported(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> Any:
    """The module's ExportedProgram; UnsupportedError if PyTorch cannot trace it."""
    torch = torch_module()
    if not isinstance(module, torch.nn.Module):
        raise FormatError(f"expected a torch.nn.Module, found a {type(module).__name__}")
    if not isinstance(args, (tuple, list)):
        raise FormatError(f"args is a {type(args).__name__}; expected a tuple of what the module is called with")
    try:
        return torch.export.export(module, tuple(args), dict(kwargs or {}))
    except Exception as error:
        raise UnsupportedError(f"torch.export cannot trace {type(module).__name__}: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Class and first line of an error of PyTorch."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason given")
    return f"{type(error).__name__}: {text:.300}"


def shared_names(state: Mapping[str, Any]) -> dict[str, str]:
    """Name of each parameter and buffer → first name of the same tensor; they differ for tied weights."""
    first: dict[int, str] = {}
    return {name: first.setdefault(id(tensor), name) for name, tensor in state.items()}


def from_training(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    loss: Any = None,
    name: str | None = None,
    trips: Trips = 1,
) -> OpGraph:
    """Convert the forward and backward pass of a module to a graph.

    Parameters
    ----------
    module
        A ``torch.nn.Module`` in the mode to trace (``train()`` or ``eval()``). If built under
        ``torch._subclasses.FakeTensorMode``, its tensors take no memory.
    args, kwargs
        Arguments of its call, in the same mode as the module.
    loss
        Function of the module's output that returns one number, such as ``lambda output: output.sum()``; default: the module
        returns one number itself.
    name
        Name of the graph; default the class of the module and ``training``.
    trips
        As for :func:`from_module`.

    Returns
    -------
    OpGraph
        As described for :func:`placelab.formats.torch.module.from_module`, with the ops of eager PyTorch; in-place ops are out
        of place. Backward ops are named ``gradients/<forward op>_grad/<op>``. The sum of several gradients of a tensor belongs
        to the op that made the tensor. There is no optimiser: no op updates a weight.

    Raises
    ------
    FormatError
        `module` is not a module, or its output is not one number.
    UnsupportedError
        PyTorch is not installed, or its tracer cannot follow the module.

    Notes
    -----
    Uses ``aot_export_joint_with_descriptors`` of ``torch._functorch``, which PyTorch does not document; tested with 2.13.
    """
    program = training_program(module, args, kwargs, loss)
    version = torch_module().__version__
    provenance = f"torch.export and AOTAutograd, PyTorch {version}, forward and backward"
    return op_graph(program, {"name": name or f"{type(module).__name__} training", "provenance": provenance}, trips)


def training_program(
    module: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, loss: Any = None
) -> Program:
    """The joint graph of a module's forward and backward pass, with names of placeholders and forward ops of backward ones."""
    from torch.fx.traceback import preserve_node_meta

    with _returning(module, loss):
        traced = exported(module, args, kwargs)
    _check_loss(traced, type(module).__name__)
    inner = traced.module()
    try:
        from torch._functorch.aot_autograd import aot_export_joint_with_descriptors

        with contextlib.ExitStack() as stack, preserve_node_meta():
            joint = aot_export_joint_with_descriptors(stack, inner, tuple(args), dict(kwargs or {})).graph_module
    except Exception as error:
        raise UnsupportedError(f"AOTAutograd cannot trace {type(module).__name__}: {first_line(error)}") from error
    return _program(joint.graph, inner, traced.graph_signature.user_inputs, (args, kwargs or {}))


@contextlib.contextmanager
def _returning(module: Any, loss: Any) -> Iterator[None]:
    """Make the module return `loss` of its output, while the context is open."""
    if loss is None or not hasattr(module, "register_forward_hook"):
        yield
        return
    hook = module.register_forward_hook(lambda _module, _args, output: loss(output))
    try:
        yield
    finally:
        hook.remove()


def _check_loss(traced: Any, title: str) -> None:
    results = next(node for node in traced.graph.nodes if node.op == "output").args[0]
    outputs = results[len(results) - len(traced.graph_signature.user_outputs) :]
    values = [getattr(node, "meta", {}).get("val") for node in outputs]
    if len(values) != 1 or not _is_number(values[0]):
        raise FormatError(
            f"{title} returns {', '.join(_described(value) for value in values) or 'nothing'}; training needs one number to"
            " minimise: give loss="
        )


def _is_number(value: Any) -> bool:
    """Whether a value is a tensor of one floating-point number."""
    return getattr(value, "numel", lambda: 0)() == 1 and value.dtype.is_floating_point


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"a tensor of shape {tuple(shape)}"


def _program(graph: Any, module: Any, names: Sequence[Any], call: tuple[Any, Any]) -> Program:
    """The program of a joint graph; PyTorch describes placeholders and outputs in ``meta["desc"]``."""
    from torch.utils._pytree import tree_leaves

    state = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    shared = shared_names(state)
    given = tree_leaves(call)
    made = next(node for node in graph.nodes if node.op == "output")
    outputs = dict(zip(made.meta["desc"], made.args[0], strict=True))
    parameters = {}
    inputs = {}
    values = {}
    tangents = {}
    for node in graph.nodes:
        if node.op != "placeholder":
            continue
        described = node.meta["desc"]
        if hasattr(described, "target"):
            parameters[node] = shared[described.target]
            values[node] = state[described.target]
        elif hasattr(described, "idx"):
            inputs[node] = str(names[described.idx])
            values[node] = given[described.idx]
        elif hasattr(described, "output"):
            inputs[node] = "input"
            tangents[node] = outputs[described.output]
    program = Program(graph, parameters, shared, inputs, values=values)
    origin = origins(program)
    forward = _pairs(graph, origin)
    sources = {node: origin[result] for node, result in tangents.items()}
    forward |= {node: source.op for node, source in sources.items() if isinstance(source, Output)}
    return Program(graph, parameters, shared, inputs, forward, values)


def _is_backward(node: Node) -> bool:
    return node.op == "call_function" and node.meta.get("partitioner_tag") == "is_backward"


def _pairs(graph: Any, origin: Mapping[Node, Any]) -> dict[Node, Node]:
    """Forward op of each backward op: the first forward node of the same sequence number, which made the autograd function."""
    first: dict[int, Node] = {}
    for node in graph.nodes:
        if node.op == "call_function" and not _is_backward(node):
            first.setdefault(node.meta.get("seq_nr"), node)
    position = {node: i for i, node in enumerate(graph.nodes)}
    forward: dict[Node, Node] = {}
    for node in filter(_is_backward, graph.nodes):
        summed = node.meta.get("is_gradient_acc", False)
        found = None if summed else first.get(node.meta.get("seq_nr"))
        found = _summed_for(node, forward, origin, position) if found is None else _op(found, origin)
        if found is not None:
            forward[node] = found
    return forward


def _op(node: Node, origin: Mapping[Node, Any]) -> Node | None:
    """The op of a forward node: itself, or its first reader that is an op if the node is not (a transposed parameter)."""
    while isinstance(origin[node], str) and node.users:
        node = next(iter(node.users))
    return origin[node].op if isinstance(origin[node], Output) else None


def _summed_for(node: Node, forward: Mapping[Node, Node], origin: Mapping[Node, Any], position: Any) -> Node | None:
    """The op whose output a sum of gradients belongs to.

    Of the ops whose backward passes made the gradients, the earliest one read that output itself; later ones may have read it
    through ops that pass gradients on unchanged, such as additions. Gradients that are sums themselves are used only if there
    are no others, as they may belong to the same output or to one that was passed on.
    """
    paired = [origin[read].op for read in read_by(node) if _is_paired(read, forward, origin)]
    plain = [op for op in paired if not op.meta.get("is_gradient_acc", False)]
    if not paired:
        return None
    reader = min((forward[op] for op in plain or paired), key=position.__getitem__)
    shape = node.meta["val"].shape
    made = [origin[read] for read in read_by(reader) if getattr(read.meta.get("val"), "shape", None) == shape]
    fitting = [source.op for source in made if isinstance(source, Output) and source.op.op == "call_function"]
    return max(fitting, key=position.__getitem__, default=reader)


def _is_paired(read: Node, forward: Mapping[Node, Node], origin: Mapping[Node, Any]) -> bool:
    return isinstance(origin[read], Output) and origin[read].op in forward
