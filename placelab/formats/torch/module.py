"""Trace the forward pass of a PyTorch module with ``torch.export`` and convert it to a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from placelab.base.errors import FormatError, UnsupportedError
from placelab.formats.torch.exported_program import Program, op_graph, torch_module
from placelab.problem.graph import OpGraph


def from_module(
    module: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, name: str | None = None
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
    return from_exported(exported(module, args, kwargs), name=name or type(module).__name__)


def is_exported(value: Any) -> bool:
    """Whether a value is a ``torch.export.ExportedProgram``; does not import torch."""
    return type(value).__name__ == "ExportedProgram" and type(value).__module__.startswith("torch.export")


def is_module(value: Any) -> bool:
    """Whether a value is a ``torch.nn.Module``; does not import torch."""
    return any(
        kind.__name__ == "Module" and kind.__module__ == "torch.nn.modules.module" for kind in type(value).__mro__
    )


def from_exported(program: Any, *, name: str = "exported program") -> OpGraph:
    """Convert a ``torch.export.ExportedProgram`` to a graph, as described for :func:`from_module`.

    Raises
    ------
    FormatError
        Another kind of object.
    """
    version = torch_module().__version__
    return op_graph(program_of(program), {"name": name, "provenance": f"torch.export, PyTorch {version}"})


def program_of(exported_program: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Program:
    """An ExportedProgram with the meaning of its placeholders; only running it takes `args` and `kwargs`."""
    if not is_exported(exported_program):
        raise FormatError(f"expected a torch.export.ExportedProgram, found a {type(exported_program).__name__}")
    from torch.utils._pytree import tree_leaves

    given = iter(tree_leaves((tuple(args), dict(kwargs or {}))))
    state = {**exported_program.state_dict, **exported_program.constants}
    shared = shared_names(state)
    parameters, inputs, values = {}, {}, {}
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
