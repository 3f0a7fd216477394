# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of arrays of one shape, in kernels.

An assignment to a slice (a[:] = b) gives the same. But numba compiles its check of the shapes, and the formatting of its error
message, once for each kind of kernel: some twenty functions of strings, which took a tenth of the time of a first solve.
"""

from __future__ import annotations

from ..compile.kernel import inlined_kernel

__all__ = ["copy_blocks", "copy_rows", "copy_vector"]


@inlined_kernel
def copy_vector(source, out):
    """out (n,) := source."""
    for i in range(out.shape[0]):
        out[i] = source[i]


@inlined_kernel
def copy_rows(source, out):
    """out (m, n) := source."""
    for k in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[k, i] = source[k, i]


@inlined_kernel
def copy_blocks(source, out):
    """out (m, n, l) := source."""
    for k in range(out.shape[0]):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                out[k, i, j] = source[k, i, j]
