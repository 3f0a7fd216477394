"""How kernels are compiled: all in one way, for numba compiles what it has itself, as np.empty, once more for each other one.

Inner and leaf kernels are called by other kernels only, which saves making machine code of them. Leaf kernels only
borrow the arrays that they are given, so numba's reference counts, one atomic operation for each array of each call, are left
out; they were most of the time. A leaf kernel must therefore not allocate, and what it returns must be scalars, or views that
only leaf kernels use. Division by zero gives inf or nan, as in numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from .inner_library import InnerCompiler

__all__ = ["FALSE", "TRUE", "inlined_kernel", "inner_kernel", "kernel", "kernel_part", "leaf_kernel"]

# Arguments of kernels: for each literal of Python's in a call, numba compiles the kernel that is called once more, for numpy's
# it does not. Where constants are arguments they are numpy's for the same reason.
TRUE, FALSE = np.bool_(True), np.bool_(False)

# An option that is not set, a kernel takes over from the one that it is first compiled for. `forceinline` has to be: of inlined
# kernels, the whole narrow phase took it over.
OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "forceinline": False, "nogil": True}
INNER_OPTIONS: dict[str, Any] = OPTIONS | {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": InnerCompiler,
}
LEAF_OPTIONS: dict[str, Any] = INNER_OPTIONS | {"_nrt": False}
INLINED_OPTIONS: dict[str, Any] = LEAF_OPTIONS | {"forceinline": True}

kernel = njit(**OPTIONS)
inner_kernel = njit(**INNER_OPTIONS)

leaf_kernel = njit(**LEAF_OPTIONS)

# Part of a long kernel, its only caller: it is compiled within that one, and not twice.
kernel_part = njit(**OPTIONS, inline="always")

# A small leaf kernel, or a hot one, that becomes part of its callers: the arrays of a work space go by value, seven words and
# more each, which can take longer than what the kernel does with them.
inlined_kernel = njit(**INLINED_OPTIONS)
