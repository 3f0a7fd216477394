# SPDX-License-Identifier: GPL-3.0-or-later
"""The memory of a worker's arrays is not given back to the system between steps."""

import subprocess
import sys

import pytest

# arrays of 2 MB, made and freed as those of a step are; the faults of pages that this takes
STEPS = """
import resource
import numpy as np
from solver_core.process.memory import keep_freed_memory
{keep}
def step():
    return [np.ones(1 << 18) for _ in range(10)]
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(keep: str) -> int:
    run = subprocess.run([sys.executable, "-c", STEPS.format(keep=keep)], capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's")
def test_steps_take_the_pages_of_the_step_before():
    assert faults("assert keep_freed_memory()") < 0.1 * faults("")
