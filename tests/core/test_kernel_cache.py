"""Compiled kernels are never older than any of the sources."""

import shutil
import subprocess
import sys
from pathlib import Path

from solver_core import kernel_cache


def test_a_change_in_any_source_gives_another_folder(tmp_path, monkeypatch):
    copy = tmp_path / "solver_core"
    shutil.copytree(kernel_cache.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = kernel_cache.kernel_folder(tmp_path)
    monkeypatch.setattr(kernel_cache, "PACKAGE", copy)
    assert kernel_cache.kernel_folder(tmp_path) == before
    with (copy / "cones.py").open("a") as source:
        source.write("\n# changed\n")
    assert kernel_cache.kernel_folder(tmp_path) != before


def test_kernels_go_below_the_folder_that_the_environment_names(tmp_path):
    code = (
        "from solver_core.kernel_cache import use_kernel_cache; use_kernel_cache()\n"
        "import numpy as np\n"
        "from solver_core.dynamics.rotation import write_matrix; write_matrix(np.ones(4), np.empty((3, 3)))"
    )
    root = Path(kernel_cache.PACKAGE).parent
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root), "PATH": "", "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(kernel_cache.kernel_folder(tmp_path).rglob("rotation.write_matrix*.nbi"))
