"""What a check uses of a lesson's examples, to be run again with it: an answer may give their names another meaning before."""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterable, Iterator
from types import CodeType

SILENT = (ast.Assign, ast.FunctionDef, ast.For)  # statements that show nothing, which Otter's doctests would compare


def examples_for(check: str, cells: Iterable[str]) -> str:
    """The cells before a check that define what it uses, and what these use, in their order; they assert and show nothing."""
    bodies = [ast.parse(source).body for source in cells]
    kept: list[list[ast.stmt]] = [[node for node in body if isinstance(node, SILENT)] for body in bodies]
    defined = [set(_defined(body)) for body in kept]
    used = _used(ast.parse(check).body)
    needed: set[int] = set()
    while new := {i for i, names in enumerate(defined) if names & used} - needed:
        needed |= new
        used |= {name for i in new for name in _used(kept[i])}
    return "\n".join(ast.unparse(ast.Module(kept[i], [])) for i in sorted(needed))


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names that functions and assignments define."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            parts = (part for target in node.targets for part in ast.walk(target))
            yield from (part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def _used(body: list[ast.stmt]) -> set[str]:
    """Names that statements read and that are no function's own."""
    return set(_read(compile(ast.Module(body, []), "cell", "exec")))


def _read(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            yield step.argval
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _read(part)
