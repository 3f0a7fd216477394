# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled kernels are never older than any of the sources that they are made of, and are kept where nothing of that
changed."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from solver_core.compile import kernel_cache
from solver_core.compile.kernel_cache import imported_sources, kernel_folder


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package, to be changed."""
    copy = tmp_path / "solver_core"
    shutil.copytree(kernel_cache.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernel_cache, "PACKAGE", copy)
    return copy


def change(source: Path) -> None:
    with source.open("a") as text:
        text.write("\n# changed\n")
    look_again()


def look_again() -> None:
    """A process reads each source once."""
    for known in (kernel_cache.kernel_folder, kernel_cache._digest_of, kernel_cache._imports):
        known.cache_clear()


def test_the_same_sources_give_the_same_folder(package, tmp_path, monkeypatch):
    copied = kernel_folder(tmp_path, package / "problem" / "cones.py")
    monkeypatch.undo()
    assert kernel_folder(tmp_path, kernel_cache.PACKAGE / "problem" / "cones.py") == copied


@pytest.mark.parametrize(
    "changed", ["problem/cones.py", "compile/kernel.py", "linalg/block_cholesky.py", "solvers/kaufman_2008/projection.py"]
)
def test_a_change_in_what_a_kernel_is_made_of_gives_its_file_another_folder(package, tmp_path, changed):
    before = kernel_folder(tmp_path, package / "solvers" / "kaufman_2008" / "projection.py")
    change(package / changed)
    assert kernel_folder(tmp_path, package / "solvers" / "kaufman_2008" / "projection.py") != before


@pytest.mark.parametrize(
    "changed", ["worker.py", "dynamics/simulation.py", "collision/detect.py", "solvers/kaufman_2008/staggered.py"]
)
def test_a_change_elsewhere_compiles_nothing_anew(package, tmp_path, changed):
    before = kernel_folder(tmp_path, package / "solvers" / "kaufman_2008" / "projection.py")
    change(package / changed)
    assert kernel_folder(tmp_path, package / "solvers" / "kaufman_2008" / "projection.py") == before


@pytest.mark.parametrize("name", ["kernel_lock.py", "trust.py", "ahead.py", "kernel_cache.py"])
def test_a_message_about_locks_or_folders_recompiles_nothing(package, tmp_path, name):
    before = kernel_folder(tmp_path, package / "problem" / "cones.py")
    change(package / "compile" / name)
    assert kernel_folder(tmp_path, package / "problem" / "cones.py") == before


def test_a_change_of_the_processor_level_recompiles_everything(package, tmp_path):
    before = kernel_folder(tmp_path, package / "problem" / "cones.py")
    change(package / "compile" / "processor.py")
    assert kernel_folder(tmp_path, package / "problem" / "cones.py") != before


@pytest.mark.slow
def test_a_kernel_whose_index_names_a_type_that_is_gone_is_compiled_again(tmp_path):
    """Its argument was a named tuple of a module that no longer has it."""
    module = tmp_path / "records.py"
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, records\n"
        "from solver_core.collision.contact_set import deepest_row\n"
        "print(deepest_row(records.{name}(*[np.zeros(0, np.int64)] * 2, np.zeros(0)), np.zeros(0))[0])"
    )
    root = str(kernel_cache.PACKAGE.parent)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": root, "PATH": "", "HOME": str(tmp_path)}
    for name in ("Former", "Present"):
        record = f"class {name}(NamedTuple):\n    body_a: object\n    body_b: object\n    gap: object\n"
        module.write_text(f"from typing import NamedTuple\n\n{record}")
        command = [sys.executable, "-c", code.format(name=name), str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "-1"


def test_what_a_file_imports_at_run_time_is_among_what_its_folder_is_named_after():
    """Python itself is asked which files it loads with the narrow phase."""
    root = kernel_cache.PACKAGE.parent
    code = (
        "import sys, solver_core.collision.detect\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('solver_core')), sep='\\n')"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True).stdout
    files = {Path(line).resolve() for line in loaded.split()}
    # no kernel is in what the files of locks and folders import
    for name in (*kernel_cache.WITHOUT_CODE, kernel_cache.PROCESSOR):
        files -= imported_sources(kernel_cache.PACKAGE / name)
    known = imported_sources(kernel_cache.PACKAGE / "collision" / "detect.py")
    assert len(files) > 20
    # a folder's __init__ that only documents it holds no kernel
    assert {file for file in files - known if file.name != "__init__.py"} == set()


def test_imports_are_found_in_the_text_as_a_parser_finds_them():
    """Python's own parser, over all files of the package: as well within functions, in brackets, over lines."""
    for source in kernel_cache.PACKAGE.rglob("*.py"):
        parsed = set()
        for node in ast.walk(ast.parse(source.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.level > 0:
                folder = source.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                places = [folder, *(folder / alias.name for alias in node.names)]
                parsed |= {place.with_suffix(".py") for place in places} | {folder / "__init__.py"}
        assert kernel_cache._imports(source) == {file for file in parsed if file.is_file()}, source


@pytest.mark.slow
def test_kernels_go_below_the_folder_that_the_environment_names(tmp_path):
    code = (
        "import numpy as np\n"
        "from solver_core.dynamics.motion.rotation import write_matrix; write_matrix(np.ones(4), np.empty((3, 3)))"
    )
    root = Path(kernel_cache.PACKAGE).parent
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root), "PATH": "", "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    folder = kernel_folder(tmp_path, kernel_cache.PACKAGE / "dynamics" / "motion" / "rotation.py")
    assert list(folder.glob("rotation.write_matrix*.nbi"))
