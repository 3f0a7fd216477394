# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment of the numeric libraries of a bake: one thread, and the same kernels on every computer.

OpenBLAS chooses its kernels by the processor, and they round differently. Time steps do not use OpenBLAS, but LAPACK and
SuperLU do, which compute the modes of flexible bodies. All present x86-64 processors can run the kernels of one old processor.
With these kernels, the modes are the same on all of them.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping

__all__ = ["with_fixed_kernels"]

# the matrices of a step are small: threads for them wait for each other most of the time
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
# SSE 4.2, which Blender needs as well
KERNELS = {"x86_64": "Nehalem", "amd64": "Nehalem", "arm64": "ARMV8", "aarch64": "ARMV8"}


def with_fixed_kernels(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a process, with these settings unless it sets them itself."""
    fixed: dict[str, str] = dict.fromkeys(THREADS, "1")
    kernels = KERNELS.get(platform.machine().lower())
    if kernels is not None:
        fixed["OPENBLAS_CORETYPE"] = kernels
    return {**fixed, **environment}
