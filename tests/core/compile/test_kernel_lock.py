# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that want the same kernel compile it once, whatever they want it for, and all find what was compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

KERNELS = """
import numpy as np
from solver_core.compile.kernel import inner_kernel
from solver_core.compile.kernel import kernel as kernel_for_python

@inner_kernel
def called(x):
    return np.sort(x)[0] + x.sum()

@kernel_for_python
def kernel(x):
    return called(x) + called(x[::-1].copy())
"""
# Says what it compiled itself, once it was told to begin. Between reading an index and writing it, numba takes its time here.
USE = """
import json, sys, time
from pathlib import Path
from solver_core.compile import folders, kernel_cache
folders.PACKAGE = kernel_cache.PACKAGE = Path(sys.argv[2])
import solver_core.compile.kernel
import numpy as np
from numba.core import event
from numba.core.caching import IndexDataCacheFile
import shared_kernels
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
read = IndexDataCacheFile._load_index
def read_slowly(self):
    index = read(self)
    time.sleep(0.5)
    return index
IndexDataCacheFile._load_index = read_slowly
x = np.array([2.0, 1.0, 3.0], dtype=sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
value = shared_kernels.kernel(x)
print(json.dumps([float(value), sorted(set(compiled) & {"called", "kernel"})]))
"""


@pytest.fixture
def run_at_once(tmp_path):
    """Runs the kernel in several processes that begin together: the value and the names compiled, of each."""
    (tmp_path / "shared_kernels.py").write_text(KERNELS)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}

    def run(*types):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        commands = ([sys.executable, "-c", USE, kind, str(tmp_path)] for kind in types)
        processes = [subprocess.Popen(command, env=environment, **pipes) for command in commands]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        return [json.loads(process.communicate()[0]) for process in processes]

    return run


@pytest.mark.slow
def test_a_kernel_that_two_want_is_compiled_once(run_at_once, tmp_path):
    said = run_at_once("f8", "f8")
    assert sorted(names for _, names in said) == [[], ["called", "kernel"]]
    assert [value for value, _ in said] == [14.0, 14.0]
    assert list(tmp_path.rglob("*.lock")) == []


@pytest.mark.long
def test_kernels_for_different_types_that_are_compiled_at_once_are_all_kept(run_at_once):
    """numba reads a kernel's index, adds to it and writes it back: what another process adds meanwhile would be lost."""
    assert run_at_once("f8", "i8") == [[14.0, ["called", "kernel"]]] * 2
    assert run_at_once("f8", "i8") == [[14.0, []]] * 2
