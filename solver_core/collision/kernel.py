"""How the leaf kernels of the narrow phase are compiled.

They only borrow the arrays that they are given, so numba's reference counts, one atomic operation for each array of each call,
are left out; they were most of the time. A leaf kernel must therefore not allocate, and what it returns must be scalars or
views that are used by leaf kernels only.
"""

from __future__ import annotations

from numba import njit

__all__ = ["leaf_kernel"]

leaf_kernel = njit(cache=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
