# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies between arrays of equal shape, in kernels.

An assignment to a slice (a[:] = b) gives the same result. But for each kind of kernel numba compiles its check of the shapes
and the formatting of its error message, about twenty string functions, which took a tenth of the time of a first solve.
"""

from __future__ import annotations

from ..compile.kernel import inlined_kernel

__all__ = ["copy_blocks", "copy_rows", "copy_vector"]


@inlined_kernel
def copy_vector(source, out):
    """Set out (n,) := source."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@inlined_kernel
def copy_rows(source, out):
    """Set out (m, n) := source."""
    for k in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[k, i] = source[k, i]


@inlined_kernel
def copy_blocks(source, out):
    """Set out (m, n, l) := source."""
    for k in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                out[k, i, j] = source[k, i, j]
