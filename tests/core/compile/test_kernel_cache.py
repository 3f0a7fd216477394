# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled kernels are kept in a folder for each source file, and what all of them are made of is known."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from solver_core.compile import sources
from solver_core.compile.folders import PACKAGE, kernel_folder
from solver_core.compile.sources import imported_sources, sources_digest


def test_each_source_file_has_a_folder_of_its_own(tmp_path):
    named = [kernel_folder(tmp_path, source) for source in PACKAGE.rglob("*.py")]
    assert len(set(named)) == len(named)
    assert kernel_folder(tmp_path, PACKAGE / "problem" / "cones.py") == tmp_path / "problem.cones"


def test_the_digest_of_all_sources_changes_with_each_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for file in files:
        file.write_text("x = 1\n")
    before = sources_digest(files)
    assert sources_digest(reversed(files)) == before
    files[1].write_text("x = 2\n")
    assert sources_digest(files) != before


def environment_of(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps its kernels in a folder of this test."""
    return {"NUMBA_CACHE_DIR": str(folder / "kernels"), "PYTHONPATH": str(PACKAGE.parent), "PATH": "", "HOME": str(folder)}


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
    environment = environment_of(tmp_path)
    for name in ("Former", "Present"):
        record = f"class {name}(NamedTuple):\n    body_a: object\n    body_b: object\n    gap: object\n"
        module.write_text(f"from typing import NamedTuple\n\n{record}")
        command = [sys.executable, "-c", code.format(name=name), str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "-1"


# A kernel reads the two fields of a named tuple that it is given, and names no class.
FIELDS = """
import sys; sys.path.insert(0, sys.argv[1])
import records
from pathlib import Path
from solver_core.compile import folders, kernel, kernel_cache
folders.PACKAGE = kernel_cache.PACKAGE = Path(sys.argv[1])
import reading
print(reading.first(records.Pair(1.0, 2.0)), sum(reading.first.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_a_kernel_that_reads_a_named_tuple_is_compiled_again_when_the_fields_change_places(tmp_path):
    """The class is in a file that the kernel's file does not import, and its types stay the same."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "reading.py").write_text(
        "from solver_core.compile.kernel import kernel\n\n\n@kernel\ndef first(pair):\n    return 10.0 * pair.a + pair.b\n"
    )
    environment = environment_of(tmp_path)

    def run(*fields: str) -> list[str]:
        text = "".join(f"    {field}: float\n" for field in fields)
        (folder / "records.py").write_text(f"from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n{text}")
        command = [sys.executable, "-B", "-c", FIELDS, str(folder)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert run("a", "b") == ["12.0", "0"]
    assert run("a", "b") == ["12.0", "1"]
    assert run("b", "a") == ["21.0", "0"]
    assert run("a", "b") == ["12.0", "1"]


# An extension that is reloaded is imported anew, while the first copy of its modules stays with numba.
COPIES = """
import sys
import numpy as np
from solver_core.dynamics.motion.rotation import write_matrix as first
for name in [name for name in sys.modules if name.partition(".")[0] == "solver_core"]:
    del sys.modules[name]
from solver_core.dynamics.motion.rotation import write_matrix as second
assert first is not second
for write_matrix in (second, first):
    matrix = np.empty((3, 3))
    write_matrix(np.array([0.0, 0.0, 0.0, 1.0]), matrix)
    print(*matrix.diagonal())
"""


@pytest.mark.slow
def test_each_copy_of_the_package_in_a_process_keeps_its_kernels_under_keys(tmp_path):
    """Kernels of the second copy were kept by their names alone, a kernel and the inner kernel of its name in one file, and
    Python crashed when it called the inner one."""
    command = [sys.executable, "-c", COPIES]
    done = subprocess.run(command, env=environment_of(tmp_path), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-1.0 -1.0 1.0"] * 2
    names = [file.name for file in (tmp_path / "kernels").glob("*/*.nbi")]
    assert names and all(re.search(r"-[0-9a-f]{20}\.py", name) for name in names), names


def test_what_a_file_imports_at_run_time_is_among_its_sources():
    """Python itself is asked which files it loads with the narrow phase."""
    code = (
        "import sys, solver_core.collision.detect\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('solver_core')), sep='\\n')"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True).stdout
    files = {Path(line).resolve() for line in loaded.split()}
    known = imported_sources(PACKAGE / "collision" / "detect.py")
    assert len(files) > 20
    # a folder's __init__ that only documents it holds no kernel
    assert {file for file in files - known if file.name != "__init__.py"} == set()


def test_imports_are_found_in_the_text_as_a_parser_finds_them():
    """Python's own parser, over all files of the package: as well within functions, in brackets, over lines."""
    for source in PACKAGE.rglob("*.py"):
        parsed = set()
        for node in ast.walk(ast.parse(source.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.level > 0:
                folder = source.parents[node.level - 1].joinpath(*(node.module or "").split("."))
                places = [folder, *(folder / alias.name for alias in node.names)]
                parsed |= {place.with_suffix(".py") for place in places} | {folder / "__init__.py"}
        assert sources._imports(source) == {file for file in parsed if file.is_file()}, source


@pytest.mark.slow
def test_kernels_go_below_the_folder_that_the_environment_names(tmp_path):
    code = (
        "import numpy as np\n"
        "from solver_core.dynamics.motion.rotation import write_matrix; write_matrix(np.ones(4), np.empty((3, 3)))"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE.parent), "PATH": "", "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    folder = kernel_folder(tmp_path, PACKAGE / "dynamics" / "motion" / "rotation.py")
    assert list(folder.glob("rotation.write_matrix*.nbi"))


def test_where_kernels_are_kept_is_known_without_loading_numba():
    code = "import sys; from solver_core.compile import folders, sources, stock; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=PACKAGE.parent, check=False).returncode == 0
