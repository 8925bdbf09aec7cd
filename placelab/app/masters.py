"""Write lessons as masters for nbgrader and for Otter-Grader, from which these make students' copies and grade them.

Both take solutions and hidden tests out of what students get. An exercise and its solution become one cell, in which markers
enclose the body; a check becomes public tests, whose answers stand in the lesson's text, and hidden ones, which bring the
examples that they use.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from textwrap import indent
from typing import Any

from placelab.app.grading import brought

POINTS = 1  # of an exercise
Cell = dict[str, Any]


def nbgrader_master(notebook: str) -> str:
    """The source of an assignment for ``nbgrader generate_assignment``, with metadata of its schema 3."""
    cells: list[Cell] = []
    content = json.loads(notebook)
    examples = _examples(content["cells"])
    for cell, answer, names in _merged(content["cells"]):
        name = next(iter(names), "")
        tags = cell["metadata"].get("tags", ())
        if answer:
            cell["source"] = _lines(answer.replace(BEGIN, "### BEGIN SOLUTION").replace(END, "### END SOLUTION"))
            facts = dict(grade_id=name, solution=True)
        elif "check" in tags:
            shown, hidden = _tests(cell, names)
            hidden = f"{examples[cell['id']]}\n{hidden}".strip()
            cell["source"] = _lines(f"{shown}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS")
            facts = dict(grade_id=f"check-{name}", grade=True, locked=True, points=POINTS)
        elif cell["cell_type"] == "code" and "explorer" not in tags:
            facts = dict(grade_id=cell["id"], locked=True)
        else:
            facts = {}
        if facts:
            least = dict(grade=False, locked=False, solution=False, task=False, schema_version=3)
            cell["metadata"]["nbgrader"] = least | facts
        cells.append(cell)
    return _notebook(content, cells)


def otter_master(notebook: str, name: str) -> str:
    """The master of an assignment for ``otter assign``: questions between raw cells, tests with their configuration."""
    content = json.loads(notebook)
    examples = _examples(content["cells"])
    config = (
        f"# ASSIGNMENT CONFIG\nname: {name}\ninit_cell: true\nexport_cell: false\ncheck_all_cell: false\ngenerate: true"
    )
    cells = [_raw("config", config)]
    for cell, answer, names in _merged(content["cells"]):
        question = next(iter(names), "")
        if answer:
            whole = all(isinstance(part, ast.FunctionDef) for part in ast.parse(answer).body)
            begin = "# BEGIN SOLUTION" if whole else "# BEGIN SOLUTION NO PROMPT"
            cell["source"] = _lines(answer.replace(BEGIN, begin).replace(END, "# END SOLUTION"))
            begun = f"# BEGIN QUESTION\nname: {question}\npoints: {POINTS}\nall_or_nothing: true"
            cells += [
                _raw(f"{question}-begin", begun),
                _raw(f"{question}-solution", "# BEGIN SOLUTION"),
                cell,
                _raw(f"{question}-solved", "# END SOLUTION"),
            ]
        elif "check" in cell["metadata"].get("tags", ()):
            cells += [_raw(f"{question}-tests", "# BEGIN TESTS"), *_otter_tests(cell, names, examples[cell["id"]])]
            cells += [_raw(f"{question}-tested", "# END TESTS"), _raw(f"{question}-end", "# END QUESTION")]
        else:
            cells.append(cell)
    return _notebook(content, cells)


BEGIN = "# <solution>"
END = "# </solution>"


def _merged(cells: list[Cell]) -> Iterator[tuple[Cell, str, list[str]]]:
    """Each cell but solutions; of an exercise, its text with the solution between markers; what the exercise at hand defines."""
    names: list[str] = []
    solutions = iter([_text(cell) for cell in cells if "solution" in _tags(cell)])
    for cell in cells:
        if "solution" in _tags(cell):
            continue
        if cell["cell_type"] == "code":
            cell["outputs"] = []
            cell["execution_count"] = None
        answer = ""
        if "exercise" in _tags(cell):
            answer = _with_solution(_text(cell), next(solutions))
            names = _names(ast.parse(_text(cell)))
        yield cell, answer, names


def _examples(cells: list[Cell]) -> dict[str, str]:
    """What each check uses of the cells before it, by the check's id."""
    return {cell["id"]: brought(cell, cells[:i]) for i, cell in enumerate(cells) if "check" in _tags(cell)}


def _with_solution(stub: str, solution: str) -> str:
    """The stub with the solution between markers: in the body of each function, or below values."""
    wanted = ast.parse(stub)
    given = ast.parse(solution)
    functions = {node.name: node for node in given.body if isinstance(node, ast.FunctionDef)}
    if not all(isinstance(node, ast.FunctionDef) for node in wanted.body):
        return f"{stub}\n{BEGIN}\n{solution}\n{END}"
    before = [node for node in given.body if getattr(node, "name", "") not in _names(wanted)]
    parts = []
    for node in wanted.body:
        assert isinstance(node, ast.FunctionDef)
        head = _part(stub, node, node.body[0])
        body = functions[node.name].body
        inner = "\n".join(_part(solution, part, part) for part in before)
        text = _part(solution, body[1], body[-1], whole_lines=True)
        parts.append(
            "\n".join(filter(None, [head, f"    {BEGIN}", inner and indent(inner, "    "), text, f"    {END}"]))
        )
    return "\n\n\n".join(parts)


def _part(text: str, first: Any, last: Any, whole_lines: bool = False) -> str:
    """The lines from one node to the end of another, with decorators and, above a body, its comments."""
    lines = text.splitlines()
    start = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))])
    while whole_lines and lines[start - 2].strip().startswith("#"):
        start -= 1
    return "\n".join(lines[start - 1 : last.end_lineno])


def _tests(cell: Cell, names: list[str]) -> tuple[str, str]:
    """Public tests, as many statements of the check as its metadata say, and the hidden rest."""
    text = _text(cell)
    body = ast.parse(text).body
    public = cell["metadata"].get("public", 0)
    shown = _part(text, body[0], body[public - 1]) if public else ""
    filled = f"pl.testing.check_filled({', '.join(names)})"
    return f"{filled}\n{shown}".rstrip(), "\n".join(text.splitlines()[body[public - 1].end_lineno if public else 0 :])


def _otter_tests(cell: Cell, names: list[str], examples: str) -> Iterator[Cell]:
    hidden = f"{examples}\n\n{_text(cell)}".strip()
    for kind, text in (("public", _tests(cell, names)[0]), ("hidden", hidden)):  # each has names of its own
        config = f'""" # BEGIN TEST CONFIG\nhidden: {str(kind == "hidden").lower()}\n""" # END TEST CONFIG\n'
        source = config + _without_shown_values(text)
        yield {
            "cell_type": "code",
            "id": f"{names[0]}-{kind}"[:64],
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        } | {"source": _lines(source)}


def _without_shown_values(text: str) -> str:
    """The tests as a doctest can run them: it compares values that statements show, and a leaderboard is none of the answer's."""
    return re.sub(r"^pl\.testing\.check_strategy\(", "board = pl.testing.check_strategy(", text, flags=re.MULTILINE)


def _names(tree: ast.Module) -> list[str]:
    """Names that a cell defines."""
    stored = (part for node in tree.body if isinstance(node, ast.Assign) for part in node.targets)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return functions + [part.id for part in stored if isinstance(part, ast.Name)]


def _tags(cell: Cell) -> list[str]:
    return cell["metadata"].get("tags", [])


def _text(cell: Cell) -> str:
    return "".join(cell["source"])


def _lines(text: str) -> list[str]:
    return text.strip("\n").splitlines(keepends=True)


def _raw(name: str, text: str) -> Cell:
    return {"cell_type": "raw", "id": f"otter-{name}"[:64], "metadata": {}, "source": _lines(text)}


def _notebook(content: dict[str, Any], cells: list[Cell]) -> str:
    return json.dumps(content | {"cells": cells}, indent=1, ensure_ascii=False) + "\n"
