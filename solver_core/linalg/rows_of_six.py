# SPDX-License-Identifier: GPL-3.0-or-later
"""Operations on rows of six numbers, such as those of rigid bodies, without inner loops.

The compiler vectorizes operations that treat six contiguous numbers alike and read all of them before writing any
(`compile/processor.py`). No sum changes its order, so the bits are those of a scalar loop. Arrays are sliced so that they start
at a row: numba tests whether an index that is a sum is negative, which takes as long as the product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.kernel import inlined_kernel

__all__ = ["SIX", "RowOfSix", "add_three_rows", "minus_rows", "product_of_six", "subtract_rows", "weigh_rows", "weigh_six_rows"]

SIX = np.int64(6)


class RowOfSix(NamedTuple):
    """Six numbers of a rigid body, such as a twist or a row of a Jacobian: the linear part, then the angular part."""

    linear_x: float
    linear_y: float
    linear_z: float
    angular_x: float
    angular_y: float
    angular_z: float


@inlined_kernel
def minus_rows(x, y, rows, count):
    """Return x minus the sum of `count` rows, each times its number in y. x: a `RowOfSix`. rows: (6 count,)."""
    x0, x1, x2 = x.linear_x, x.linear_y, x.linear_z
    x3, x4, x5 = x.angular_x, x.angular_y, x.angular_z
    for k in range(count):
        f, row = y[k], rows[6 * k :]
        x0 -= f * row[0]
        x1 -= f * row[1]
        x2 -= f * row[2]
        x3 -= f * row[3]
        x4 -= f * row[4]
        x5 -= f * row[5]
    return RowOfSix(x0, x1, x2, x3, x4, x5)


@inlined_kernel
def subtract_rows(out, y, rows, count):
    """Set out := out minus the sum of `count` rows, each times its number in y."""
    x = minus_rows(RowOfSix(out[0], out[1], out[2], out[3], out[4], out[5]), y, rows, count)
    out[0], out[1], out[2], out[3], out[4], out[5] = x


@inlined_kernel
def weigh_six_rows(out, y, rows):
    """Set out := the sum of six rows, each times its number in y."""
    x0, x1, x2, x3, x4, x5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(6):
        f, row = y[k], rows[6 * k :]
        x0 += f * row[0]
        x1 += f * row[1]
        x2 += f * row[2]
        x3 += f * row[3]
        x4 += f * row[4]
        x5 += f * row[5]
    out[0], out[1], out[2], out[3], out[4], out[5] = x0, x1, x2, x3, x4, x5


@inlined_kernel
def add_three_rows(out, y0, y1, y2, rows):
    """Set out := out plus the sum of three rows (3, >= 6) times y0, y1 and y2."""
    a, b, c = rows[0], rows[1], rows[2]
    x0 = out[0] + y0 * a[0] + y1 * b[0] + y2 * c[0]
    x1 = out[1] + y0 * a[1] + y1 * b[1] + y2 * c[1]
    x2 = out[2] + y0 * a[2] + y1 * b[2] + y2 * c[2]
    x3 = out[3] + y0 * a[3] + y1 * b[3] + y2 * c[3]
    x4 = out[4] + y0 * a[4] + y1 * b[4] + y2 * c[4]
    x5 = out[5] + y0 * a[5] + y1 * b[5] + y2 * c[5]
    out[0], out[1], out[2], out[3], out[4], out[5] = x0, x1, x2, x3, x4, x5


@inlined_kernel
def weigh_rows(out, y0, y1, y2, rows):
    """Set out := the sum of three rows (3, >= 6) times y0, y1 and y2."""
    a, b, c = rows[0], rows[1], rows[2]
    x0 = y0 * a[0] + y1 * b[0] + y2 * c[0]
    x1 = y0 * a[1] + y1 * b[1] + y2 * c[1]
    x2 = y0 * a[2] + y1 * b[2] + y2 * c[2]
    x3 = y0 * a[3] + y1 * b[3] + y2 * c[3]
    x4 = y0 * a[4] + y1 * b[4] + y2 * c[4]
    x5 = y0 * a[5] + y1 * b[5] + y2 * c[5]
    out[0], out[1], out[2], out[3], out[4], out[5] = x0, x1, x2, x3, x4, x5


@inlined_kernel
def product_of_six(row, x):
    """Return the scalar product of a row and x, six numbers each."""
    even = row[0] * x[0] + row[2] * x[2] + row[4] * x[4]
    odd = row[1] * x[1] + row[3] * x[3] + row[5] * x[5]
    return even + odd
