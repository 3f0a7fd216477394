# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of the imports: arrows between folders, and between the files of each, go one way only."""

from __future__ import annotations

import ast
import subprocess
import sys
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


# Programs that bake, play, settle and check scenes: the engine. Programs that compile kernels or solve files may use all parts.
ENGINE_PROGRAMS = (
    "worker.py",
    "warm_worker.py",
    "live.py",
    "settle_file.py",
    "check.py",
    "certificate.py",
    "dynamics/simulation.py",
)
PARTS = ("published", "laboratory")


def reached(sources: set[Path]) -> set[Path]:
    """The files that some files import, directly or not. The front door of the package loads by name, so it ends here."""
    found, left = set(), list(sources)
    while left:
        source = left.pop()
        if source not in found and source != CORE / "__init__.py":
            found.add(source)
            left += imports(source)
    return found


def part_of(source: Path) -> str:
    """The folder of the core that a file is in."""
    return source.relative_to(CORE).parts[0]


def test_the_engine_imports_no_published_method_and_no_laboratory():
    engine = reached({CORE / program for program in ENGINE_PROGRAMS})
    assert CORE / "solvers" / "coulomb" / "cascade.py" in engine
    assert {str(source.relative_to(CORE)) for source in engine if part_of(source) in PARTS} == set()


def test_published_methods_do_without_the_laboratory():
    published = reached(set((CORE / "published").rglob("*.py")))
    assert {str(source.relative_to(CORE)) for source in published if part_of(source) == "laboratory"} == set()


def test_every_registered_method_of_a_step_is_loaded_by_its_name():
    from solver_core.dynamics.solve.step_methods import STEP_METHODS, step_method
    from solver_core.scene.spec import ContactMethod

    assert set(STEP_METHODS) == set(ContactMethod) - {ContactMethod.STAGGERED}
    assert all(callable(step_method(method)) for method in STEP_METHODS)


LOADED_BY_A_BAKE = """
import sys
from solver_core.scenes.plain import slope
from solver_core.dynamics.simulation import Simulation
import solver_core.worker
Simulation(slope(), method=sys.argv[1]).advance()
print(*sorted(name for name in sys.modules if name.startswith("solver_core.")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "parts"), [("staggered", set()), pytest.param("pivot", {"published"}, marks=pytest.mark.long)]
)
def test_a_simulation_loads_the_part_of_its_method_alone(method, parts):
    command = [sys.executable, "-c", LOADED_BY_A_BAKE, method]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.split(".")[1] for name in run.stdout.split()}
    assert "dynamics" in loaded
    assert loaded & set(PARTS) == parts


MOST_VALUES = 8  # that a function may receive; a tuple that it unpacks counts by its elements, a record once


def values_received(function: ast.FunctionDef) -> int:
    """How many values a function gets: its parameters, those that it unpacks as tuples counted by their elements.

    A parameter of a named type is one value. Kernels have no annotations, so each parameter that they unpack counts.
    """
    given = function.args
    types = {
        one.arg: one.annotation
        for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)
        if one.arg not in ("self", "cls")
    }
    values = dict.fromkeys(types, 1)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            target, value = node.targets[0], node.value
            is_each = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            pairs = zip(target.elts, value.elts, strict=True) if is_each else [(target, value)]
            for left, right in pairs:
                if isinstance(left, ast.Tuple) and isinstance(right, ast.Name) and right.id in types:
                    kind = types[right.id]
                    if kind is None or ast.unparse(kind).startswith("tuple["):
                        values[right.id] = max(values[right.id], sum(isinstance(one, ast.Name) for one in ast.walk(left)))
    return sum(values.values())


def test_no_function_receives_too_many_values():
    found = {
        f"{source.relative_to(CORE).as_posix()}: {function.name}"
        for source in CORE.rglob("*.py")
        for function in ast.walk(ast.parse(source.read_text()))
        if isinstance(function, ast.FunctionDef) and values_received(function) > MOST_VALUES
    }
    assert found == set(), "make a record of each tuple that these unpack"


def test_values_in_tuples_are_counted():
    source = "def f(a, limits, known: tuple[int, int], of: Record): (h, u), (x, y), (p, q, r) = limits, known, of"
    assert values_received(ast.parse(source).body[0]) == 1 + 2 + 2 + 1
