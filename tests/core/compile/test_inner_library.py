# SPDX-License-Identifier: GPL-3.0-or-later
"""Inner kernels work within their callers: freshly compiled, and loaded from the cache into a caller that is compiled later."""

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
from solver_core.compile.kernel import inner_kernel, kernel, leaf_kernel

@leaf_kernel
def total(x):
    s = 0.0
    for i in range(x.size):
        s += x[i]
    return s

@inner_kernel
def mean(count):
    if count < 1:
        raise ValueError("nothing to take the mean of")
    return total(np.arange(count)) / count

@kernel
def first(count):
    return mean(count)

@kernel
def second(count):
    return 2.0 * mean(count) + total(np.ones(count))
"""

USE = """
import json, sys
from pathlib import Path
from solver_core.compile import folders, kernel_cache
folders.PACKAGE = kernel_cache.PACKAGE = Path(sys.argv[2])
import three_levels
caller = getattr(three_levels, sys.argv[1])
try:
    caller(0)
    message = ""
except ValueError as error:
    message = str(error)
loaded = sum(three_levels.mean.stats.cache_hits.values())
print(json.dumps([caller(5), message, loaded, sum(caller.stats.cache_hits.values())]))
"""


@pytest.fixture
def use(tmp_path):
    (tmp_path / "three_levels.py").write_text(KERNELS)

    def run(caller, plain=""):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
        environment["STICTION_PLAIN_KERNELS"] = plain
        command = [sys.executable, "-c", USE, caller, str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert ("kernels are compiled plainly" in done.stderr) == bool(plain)
        return json.loads(done.stdout)

    return run


@pytest.mark.slow
def test_an_inner_kernel_works_in_callers_of_this_and_of_later_processes(use):
    message = "nothing to take the mean of"
    assert use("first") == [2.0, message, 0, 0]
    assert use("second") == [9.0, message, 1, 0]
    assert use("first") == [2.0, message, 0, 1]
    assert use("second") == [9.0, message, 0, 1]


@pytest.mark.slow
def test_without_numbas_insides_kernels_do_the_same_and_it_is_said(use):
    message = "nothing to take the mean of"
    assert use("first", plain="1") == [2.0, message, 0, 0]
    assert use("second", plain="1") == [9.0, message, 1, 0]


LITERALS = """
from solver_core.compile.kernel import kernel, leaf_kernel

@leaf_kernel
def entry(pair, row, exchanged):
    return -pair[row] if exchanged else pair[row]

@kernel
def all_of(pair):
    total = 0.0
    for row in range(2):
        total += entry(pair, row, row == 0)
    return total + entry(pair, 0, False) + 10.0 * entry(pair, 1, True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("plain", "kernels"), [("", 1), ("1", None)])
def test_a_literal_in_a_call_has_no_kernel_of_its_own(tmp_path, plain, kernels):
    (tmp_path / "literals.py").write_text(LITERALS)
    use = "import literals; print(literals.all_of((2.0, 3.0)), len(literals.entry.signatures))"
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "STICTION_PLAIN_KERNELS": plain}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", use], env=environment, capture_output=True, text=True, check=True
    )
    value, number = done.stdout.split()
    assert float(value) == -27.0  # -2 + 3 + 2 - 30
    assert kernels is None or int(number) == kernels
