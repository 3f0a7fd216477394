"""How leaf kernels are compiled.

They only borrow the arrays that they are given, so numba's reference counts, one atomic operation for each array of each call,
are left out; they were most of the time. A leaf kernel must therefore not allocate, and what it returns must be scalars, or
views that only leaf kernels use. Nothing calls them from Python, which saves compiling that entrance.
"""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["inlined_kernel", "leaf_kernel"]

LEAF_OPTIONS: dict[str, Any] = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

leaf_kernel = njit(cache=True, error_model="numpy", **LEAF_OPTIONS)

# A small leaf kernel that becomes part of its callers: the arrays of a work space go by value, seven words and more each, which
# can take longer than what the kernel does with them.
inlined_kernel = njit(cache=True, error_model="numpy", forceinline=True, **LEAF_OPTIONS)
