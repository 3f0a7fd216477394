# SPDX-License-Identifier: GPL-3.0-or-later
"""Whoever imports the package, from wherever, has the kernels that bakes have, and leaves kernels of others alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from solver_core.compile import ahead
from solver_core.worker import main

from ..worker_runs import snapshot

ROOT = Path(__file__).resolve().parents[3]

# Prints the kernels that numba compiles and does not load.
USE = """
import json, sys
import solver_core as sc
assert "numba" not in sys.modules
from solver_core.io.snapshot import read_snapshot
spec, settings = read_snapshot(sys.argv[1])
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
frames = sc.Simulation(spec, settings).run(spec.frame_end)
print(json.dumps([len(frames), compiled]))
"""

# One's own kernels beside two of the package, with and without vectors: with which setting each is compiled, and where kept.
BESIDE = """
import json, sys
from pathlib import Path
import numpy as np
from solver_core.compile import ahead
ahead.CLONE = Path(sys.argv[1])
from numba import njit
from numba.core import config, event
first = njit(lambda x: x + 1.0)
from solver_core.dynamics.look_ahead.impacts import reaches
from solver_core.dynamics.motion.rotation import write_matrix
import theirs
vectors = {}
class Listener(event.Listener):
    def on_start(self, event):
        vectors[event.data["dispatcher"].py_func.__name__] = config.SLP_VECTORIZE
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
theirs.own(1.0)
reaches(np.ones((1, 6)), np.ones(1), 0.1, np.zeros(1, dtype=np.bool_))
theirs.other(1.0)
write_matrix(np.ones(4), np.empty((3, 3)))
places = {kernel.py_func.__name__: str(kernel.stats.cache_path) for kernel in (theirs.own, reaches, write_matrix)}
print(json.dumps([vectors, places, config.SLP_VECTORIZE]))
"""
THEIRS = """
from numba import njit
@njit(cache=True)
def own(x):
    return x + 1.0
@njit
def other(x):
    return x + 2.0
"""

OWN_FOLDER = ("HOME", "LOCALAPPDATA", "XDG_CACHE_HOME")


def run(code: str, folder: Path, *arguments: str, **environment: str):
    without = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    path = os.pathsep.join((str(ROOT), str(folder)))
    command = [sys.executable, "-c", code, *arguments]
    environment = without | {"PYTHONPATH": path} | environment
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_what_a_worker_has_compiled_no_program_compiles_again_wherever_it_runs(tmp_path):
    file = snapshot(tmp_path)
    assert main([file, str(tmp_path / "cache")]) in (0, 3)
    frames, compiled = run(USE, tmp_path, file)
    assert frames > 1 and compiled == []


@pytest.mark.slow
def test_kernels_of_the_package_are_compiled_as_in_a_bake_and_those_of_others_as_before(tmp_path):
    (tmp_path / "theirs.py").write_text(THEIRS)
    vectors, places, after = run(BESIDE, tmp_path, str(tmp_path), **dict.fromkeys(OWN_FOLDER, str(tmp_path)))
    assert {name: vectors[name] for name in ("reaches", "write_matrix")} == {"reaches": 0, "write_matrix": 1}
    assert vectors["own"] == vectors["other"] == after == 0
    kept = Path(places["reaches"]).parent
    assert kept == Path(places["write_matrix"]).parent and kept.name == "stiction" and kept.is_relative_to(tmp_path)
    assert Path(places["own"]) == tmp_path / "__pycache__"


def test_a_clone_keeps_its_kernels_where_its_makefile_has_them_compiled(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert ahead.named_folder() == ROOT / "build" / "numba"
    # a package that was installed has no Makefile beside it
    monkeypatch.setattr(ahead, "CLONE", tmp_path)
    assert ahead.named_folder() is None
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    assert ahead.named_folder() is not None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert ahead.named_folder() == tmp_path
