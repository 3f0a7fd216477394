# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of the imports: arrows between folders, and between the files of each, go one way only."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "solver_core"
FOLDERS = sorted(file.parent for top in (CORE, ROOT / "addon") for file in top.rglob("__init__.py"))


@cache
def imports(source: Path) -> set[Path]:
    """The files of the repository that a file names in its relative imports, wherever in it they stand."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            place = source.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for file in (place, *(place / alias.name for alias in node.names)):
                found |= {path for path in (file.with_suffix(".py"), file / "__init__.py") if path.is_file()}
    return found


def arrows(folder: Path) -> dict[str, set[str]]:
    """For each file and folder in a folder, which others in it are imported by what is in it."""
    rooms = defaultdict(set)
    for source in folder.rglob("*.py"):
        room = source.relative_to(folder).parts[0]
        for file in imports(source):
            if file.is_relative_to(folder) and file.relative_to(folder).parts[0] not in (room, "__init__.py"):
                rooms[room].add(file.relative_to(folder).parts[0])
    rooms.pop("__init__.py", None)  # the front door of a folder opens on what is in it
    return rooms


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_imports_go_one_way(folder):
    try:
        TopologicalSorter(arrows(folder)).prepare()
    except CycleError as circle:
        raise AssertionError(f"in {folder.name}: {' <- '.join(circle.args[1])}") from None


def test_the_arrows_are_seen():
    assert "collision" in arrows(CORE)["dynamics"]
    assert "polyhedra" in arrows(CORE / "collision")["mesh"]
    assert "bake" in arrows(ROOT / "addon")["output"]
    assert sum(map(len, map(arrows, FOLDERS))) > 50


@pytest.mark.parametrize(
    ("below", "above"),
    [
        ("problem", {"collision", "dynamics", "geometry", "scene", "solvers", "io"}),
        ("solvers", {"collision", "dynamics", "geometry", "scene", "io"}),
        ("collision", {"dynamics", "problem", "solvers", "io"}),
        ("scene", {"collision", "dynamics", "geometry", "problem", "solvers", "io"}),
    ],
)
def test_what_a_folder_knows_nothing_of(below, above):
    """A solver sees a contact problem and no body; collision sees shapes and no impulse."""
    assert not arrows(CORE)[below] & above


def test_no_file_of_the_core_knows_the_addon():
    assert not {file for source in CORE.rglob("*.py") for file in imports(source) if file.is_relative_to(ROOT / "addon")}


def test_the_outside_measures_come_before_all_solvers():
    assert not imports(CORE / "problem" / "residuals.py") & set((CORE / "solvers").rglob("*.py"))


def constants(source: Path) -> dict[str, str]:
    """The constants of a file with their values as they are written; of several that are set at once, with their places."""
    found = {}
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Assign):
            names = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else [node.targets[0]]
            value = ast.unparse(node.value)
            for place, name in enumerate(names):
                if isinstance(name, ast.Name) and name.id.isupper():
                    found[name.id] = f"{value}, {place}" if len(names) > 1 else value
    return found


def test_no_constant_has_two_values():
    values = defaultdict(dict)
    for source in CORE.rglob("*.py"):
        for name, value in constants(source).items():
            values[name].setdefault(value, source.relative_to(CORE).as_posix())
    assert len(values) > 150
    assert {name: different for name, different in values.items() if len(different) > 1} == {}
