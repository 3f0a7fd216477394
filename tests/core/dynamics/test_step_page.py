# SPDX-License-Identifier: GPL-3.0-or-later
"""The time step on one page of `docs/design/dynamics.md` agrees with the code: names, files and order."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "design" / "dynamics.md"


class Stage(NamedTuple):
    """A line of the page: its depth in spaces, the function, and its file in `solver_core/`."""

    depth: int
    name: str
    file: str


def stages(text: str) -> list[Stage]:
    """Return the lines of the page between the fences."""
    table = text.split("### A step calls down")[1].split("```")[1]
    rows = re.findall(r"^( *)([\w.]+) +(\w+/[\w/]+\.py) ", table, re.MULTILINE)
    return [Stage(len(indent), name, file) for indent, name, file in rows]


@cache
def definition(stage: Stage) -> ast.FunctionDef | None:
    """Return the function or method of a stage; None if its file does not define it."""
    scope: list[ast.stmt] = ast.parse((ROOT / "solver_core" / stage.file).read_text()).body
    *classes, function = stage.name.split(".")
    for name in classes:
        scope = [one for node in scope if isinstance(node, ast.ClassDef) and node.name == name for one in node.body]
    return next((node for node in scope if isinstance(node, ast.FunctionDef) and node.name == function), None)


def calls(function: ast.FunctionDef, name: str) -> list[int]:
    """Return the lines in which a function calls something by its last name."""
    found = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    named = [(getattr(node.func, "attr", getattr(node.func, "id", "")), node.func.end_lineno) for node in found]
    return sorted(line for last, line in named if last == name and line is not None)


def children(rows: list[Stage], parent: int) -> list[Stage]:
    """Return the stages that are one level below a stage."""
    found = []
    for row in rows[parent + 1 :]:
        if row.depth <= rows[parent].depth:
            break
        if row.depth == rows[parent].depth + 2:
            found.append(row)
    return found


ROWS = stages(PAGE.read_text())


def test_the_page_is_read():
    assert len(ROWS) > 40
    assert ROWS[0] == Stage(0, "Stepper.advance", "dynamics/stepper.py")
    assert len(children(ROWS, 0)) == 4


def test_each_stage_is_in_the_file_that_the_page_names():
    assert [stage for stage in ROWS if definition(stage) is None] == []


def test_functions_call_their_stages_in_the_order_of_the_page():
    """Stages that a function calls through another function are not compared."""
    compared, misplaced = 0, []
    for parent, row in enumerate(ROWS):
        function, last = definition(row), 0
        assert function is not None
        for stage in children(ROWS, parent):
            lines = calls(function, stage.name.split(".")[-1])
            later = [line for line in lines if line >= last]
            if lines and not later:
                misplaced.append((row.name, stage.name))
            compared += bool(lines)
            last = min(later, default=last)
    assert misplaced == []
    assert compared > 30
