# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene has one result, whatever processor bakes it.

OpenBLAS and numpy are told to take the kernels of other processors, by their environment. The hashes stand in a file, so that
another machine is compared with the one that wrote it. `python -m tests.core.same_everywhere --write` rewrites the file.
"""

from __future__ import annotations

import ast
import platform
from pathlib import Path

import pytest

from ..same_everywhere import ARITHMETIC, FILE, LIBRARIES, PREPARED, SCENES, known, run_with

CORE = Path(__file__).resolve().parents[3] / "solver_core"
# Nehalem has SSE 4.2, Haswell fused multiplication and addition.
PROCESSORS = {
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX"},
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
}
# What time steps and the shapes of bodies are made of. `dense_newton` is of `sc.solve`. Modes come from
# LAPACK, and so do proofs that there is no solution.
STEPS = ("collision", "dynamics", "geometry", "linalg", "threads", "solvers/kaufman_2008", "solvers/coulomb")
NOT_IN_STEPS = {"dense_newton.py"}
ELEMENTARY = {"sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "exp", "expm1", "log", "log2", "power", "hypot"}
ELEMENTARY |= {"acos", "asin", "atan", "atan2", "pow"}
PRODUCTS = {"dot", "vdot", "inner", "matmul", "tensordot", "einsum", "kron"}


@pytest.fixture(scope="module")
def modes(tmp_path_factory):
    return tmp_path_factory.mktemp("modes")


def expected(names):
    """The hashes in the file; without those that depend on other versions of libraries."""
    file = known()
    left_out = () if file["libraries"] == LIBRARIES else PREPARED
    return {name: value for name, value in file["hashes"].items() if name in names and name not in left_out}


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="the settings are those of x86-64")
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(PROCESSORS["Nehalem"], marks=pytest.mark.slow, id="Nehalem"),
        pytest.param(PROCESSORS["Haswell"], marks=pytest.mark.long, id="Haswell"),
    ],
)
def test_every_scene_has_the_result_that_the_file_has(settings, modes):
    names = [*SCENES, ARITHMETIC]
    found, wanted = run_with(settings, names, modes), expected(names)
    assert {name: found[name] for name in wanted} == wanted, f"if that is intended, rewrite {FILE.name}"


@pytest.mark.slow
@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="the settings are those of x86-64")
def test_kernels_without_any_vectors_compute_the_same(modes):
    """Of what is compiled in seconds; the command without a name does it for all scenes, in minutes."""
    found = run_with({"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}, [ARITHMETIC], modes)
    assert found == expected([ARITHMETIC])


def calls(source: Path):
    """The line, the name and the keywords of every call, and of the operator @, in a file."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@", set()
        elif isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func), {word.arg for word in node.keywords}


def rounds_by_processor(name: str, keywords: set[str | None]) -> bool:
    """Whether what is called may have another result on another processor."""
    if name == "np.linalg.norm":
        # along an axis it is a sum of squares, and calls no BLAS
        return "axis" not in keywords
    if name == "np.argsort":
        # vectors of several lengths sort equal values in several orders
        return "kind" not in keywords
    module, _, function = name.rpartition(".")
    is_library = module in ("np.linalg", "scipy.linalg", "linalg") or (module == "np" and function in PRODUCTS)
    return name == "@" or is_library or (module in ("np", "math") and function in ELEMENTARY)


@pytest.mark.parametrize("folder", STEPS)
def test_time_steps_call_nothing_that_rounds_by_processor(folder):
    files = [file for file in (CORE / folder).rglob("*.py") if file.name not in NOT_IN_STEPS]
    assert files
    found = [
        f"{file.relative_to(CORE)}:{line} {name}"
        for file in files
        for line, name, words in calls(file)
        if rounds_by_processor(name, words)
    ]
    assert found == []


def test_the_file_has_every_scene():
    assert set(known()["hashes"]) == {*SCENES, ARITHMETIC}
