# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that only kernels call, as functions of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from solver_core.compile.kernel import LEAF_OPTIONS

# For a test's own kernels: numba would keep them, and not know when a kernel that they call has changed.
own_leaf_kernel = njit(**(LEAF_OPTIONS | {"cache": False}))


def callable_from_python(kernel: Any) -> Callable[..., Any]:
    """The kernel behind an entrance from Python; a part of a kernel has one of its own."""
    if kernel.targetoptions.get("inline") == "always":
        return kernel

    @njit
    def entrance(*arguments):
        return kernel(*arguments)

    return entrance
