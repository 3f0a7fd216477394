# SPDX-License-Identifier: GPL-3.0-or-later
"""3 x 3 matrices in kernels, in closed form, as a replacement of LAPACK.

LAPACK and BLAS have different kernels for different processors, which round differently. Here the order of all sums is fixed.
Products with vectors, `rotated` and `rotated_back`, are in `vec3.py`.

A symmetric positive definite matrix is factorized as L D L^T, without square roots or pivoting. Eigenvectors are computed by
Jacobi rotations (Golub and Van Loan, Matrix Computations, 8.5), which converge to full precision.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel, kernel, leaf_kernel
from .vec3 import cross, set_vec, vec

__all__ = ["eigen", "eigen_of_each", "inverses", "invert", "principal_axes_of_points", "relative_eigen", "solve"]

JACOBI_SWEEPS = 30  # upper limit; five to eight are enough


@inlined_kernel
def _factors(a):
    """Return 1 / D and the three off-diagonal entries of L, for a symmetric positive definite matrix (3, 3)."""
    first = 1.0 / a[0, 0]
    l10, l20 = a[1, 0] * first, a[2, 0] * first
    second = 1.0 / (a[1, 1] - l10 * a[1, 0])
    rest = a[2, 1] - l20 * a[1, 0]
    l21 = rest * second
    return (first, second, 1.0 / (a[2, 2] - l20 * a[2, 0] - l21 * rest)), (l10, l20, l21)


@leaf_kernel
def solve(a, b):
    """Return the solution x of a x = b, three numbers. a: (3, 3), symmetric positive definite. b: (3,)."""
    (first, second, third), (l10, l20, l21) = _factors(a)
    y = b[1] - l10 * b[0]
    z = (b[2] - l20 * b[0] - l21 * y) * third
    y = y * second - l21 * z
    return b[0] * first - l10 * y - l20 * z, y, z


@leaf_kernel
def invert(a, out):
    """Set out := a^-1. Both are (3, 3), symmetric positive definite."""
    (first, second, third), (l10, l20, l21) = _factors(a)
    # Entry (2, 0) of the inverse of L.
    m20 = l10 * l21 - l20
    out[2, 2] = third
    out[2, 1] = out[1, 2] = -l21 * third
    out[2, 0] = out[0, 2] = m20 * third
    out[1, 1] = second + l21 * l21 * third
    out[1, 0] = out[0, 1] = -l10 * second - l21 * m20 * third
    out[0, 0] = first + l10 * l10 * second + m20 * m20 * third


@kernel
def inverses(matrices):
    """Return the inverses (n, 3, 3) of symmetric positive definite matrices (n, 3, 3)."""
    out = np.empty((len(matrices), 3, 3))
    for k in range(len(matrices)):
        invert(matrices[k], out[k])
    return out


@inlined_kernel
def _jacobi_rotation(p, q, off):
    """Return the cosine and the sine of the rotation that diagonalizes a symmetric matrix with diagonal p, q and off-diagonal
    `off`.
    """
    ratio = 0.5 * (q - p) / off
    tangent = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        tangent = -tangent
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    return cosine, cosine * tangent


@inlined_kernel
def _rotate(rows, p, q, cosine, sine):
    """Rotate columns p and q of rows (n, 3)."""
    for i in range(len(rows)):
        u, v = rows[i, p], rows[i, q]
        rows[i, p], rows[i, q] = cosine * u - sine * v, sine * u + cosine * v


@inlined_kernel
def _swap(values, axes, i):
    """Swap value i of (3,) and its column of axes (3, 3) with the next one."""
    values[i], values[i + 1] = values[i + 1], values[i]
    for j in range(3):
        axes[j, i], axes[j, i + 1] = axes[j, i + 1], axes[j, i]


@leaf_kernel
def eigen(a, values, axes):
    """Compute the eigenvalues of a symmetric matrix a (3, 3), which becomes diagonal.

    values: (3,) output, ascending. axes: (3, 3) output, eigenvectors in columns. Entries that are not finite give values that
        are not finite.
    """
    axes[:] = 0.0
    axes[0, 0] = axes[1, 1] = axes[2, 2] = 1.0
    for _ in range(JACOBI_SWEEPS):
        is_diagonal = True
        for p in range(2):
            for q in range(p + 1, 3):
                off = a[p, q]
                if abs(off) <= 1e-17 * np.sqrt(abs(a[p, p]) * abs(a[q, q])):
                    continue
                is_diagonal = False
                r = 3 - p - q
                cosine, sine = _jacobi_rotation(a[p, p], a[q, q], off)
                change = sine / cosine * off
                a[p, p], a[q, q] = a[p, p] - change, a[q, q] + change
                a[p, q], a[q, p] = 0.0, 0.0
                u, v = a[p, r], a[q, r]
                a[p, r] = a[r, p] = cosine * u - sine * v
                a[q, r] = a[r, q] = sine * u + cosine * v
                _rotate(axes, p, q, cosine, sine)
        if is_diagonal:
            break
    for i in range(3):
        values[i] = a[i, i]
    # A bubble sort of three values, which is stable.
    for i in (0, 1, 0):
        if values[i] > values[i + 1]:
            _swap(values, axes, i)


@kernel
def eigen_of_each(matrices):
    """Return the eigenvalues (n, 3), ascending, and the eigenvectors (n, 3, 3), in columns, of symmetric matrices (n, 3, 3)."""
    values, axes, work = np.empty((len(matrices), 3)), np.empty((len(matrices), 3, 3)), np.empty((3, 3))
    for k in range(len(matrices)):
        for i in range(3):
            for j in range(3):
                work[i, j] = 0.5 * (matrices[k, i, j] + matrices[k, j, i])
        eigen(work, values[k], axes[k])
    return values, axes


@leaf_kernel
def _cholesky(a, root):
    """Write the Cholesky factor L of a symmetric positive definite matrix a (3, 3) to root (3, 3)."""
    root[0, 0] = np.sqrt(a[0, 0])
    root[1, 0], root[2, 0] = a[1, 0] / root[0, 0], a[2, 0] / root[0, 0]
    root[1, 1] = np.sqrt(a[1, 1] - root[1, 0] * root[1, 0])
    root[2, 1] = (a[2, 1] - root[2, 0] * root[1, 0]) / root[1, 1]
    root[2, 2] = np.sqrt(a[2, 2] - root[2, 0] * root[2, 0] - root[2, 1] * root[2, 1])


@leaf_kernel
def _forward(root, right, out):
    """Set out := L^-1 right, both (3,). root: (3, 3) L."""
    out[0] = right[0] / root[0, 0]
    out[1] = (right[1] - root[1, 0] * out[0]) / root[1, 1]
    out[2] = (right[2] - root[2, 0] * out[0] - root[2, 1] * out[1]) / root[2, 2]


@kernel
def relative_eigen(matrices, measures):
    """Solve the generalized eigenproblems K x = w M x.

    matrices: (n, 3, 3) K, symmetric. measures: (n, 3, 3) M, symmetric positive definite.

    Returns w (n, 3), ascending, and M x (n, 3, 3) in columns, scaled so that sum_k (M x_k) (M x_k)^T = M.
    """
    count = len(matrices)
    values, axes = np.empty((count, 3)), np.empty((count, 3, 3))
    root, work, turned = np.zeros((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for k in range(count):
        _cholesky(measures[k], root)
        # L^-1 K, then L^-1 (L^-1 K)^T.
        for j in range(3):
            _forward(root, matrices[k, :, j], turned[:, j])
        for i in range(3):
            _forward(root, turned[i], work[i])
        for i in range(3):
            for j in range(i):
                work[i, j] = work[j, i] = 0.5 * (work[i, j] + work[j, i])
        eigen(work, values[k], turned)
        for j in range(3):
            x, y, z = turned[0, j], turned[1, j], turned[2, j]
            axes[k, 0, j] = root[0, 0] * x
            axes[k, 1, j] = root[1, 0] * x + root[1, 1] * y
            axes[k, 2, j] = root[2, 0] * x + root[2, 1] * y + root[2, 2] * z
    return values, axes


@inlined_kernel
def _products(rows, p, q):
    """Return the scalar products p . p, q . q and p . q of columns p and q of rows (n, 3)."""
    first, second, both = 0.0, 0.0, 0.0
    for i in range(len(rows)):
        first += rows[i, p] * rows[i, p]
        second += rows[i, q] * rows[i, q]
        both += rows[i, p] * rows[i, q]
    return first, second, both


@kernel
def principal_axes_of_points(points):
    """Return the right-handed principal axes (3, 3) of points (n, 3) about their mean, in rows, the direction of largest spread
    first.

    One-sided Jacobi rotations of the columns (Golub and Van Loan, Matrix Computations, 8.6.3) keep digits for thin bodies that
    the second moments of the points have lost.
    """
    turned, columns, size, axes = points.copy(), np.eye(3), np.zeros(3), np.empty((3, 3))
    for _ in range(JACOBI_SWEEPS):
        is_orthogonal = True
        for p in range(2):
            for q in range(p + 1, 3):
                first, second, off = _products(turned, p, q)
                if abs(off) <= 1e-16 * np.sqrt(first) * np.sqrt(second):
                    continue
                is_orthogonal = False
                cosine, sine = _jacobi_rotation(first, second, off)
                _rotate(turned, p, q, cosine, sine)
                _rotate(columns, p, q, cosine, sine)
        if is_orthogonal:
            break
    for j in range(3):
        size[j] = -_products(turned, j, j)[0]
    # Equal spreads keep their order.
    for i in (0, 1, 0):
        if size[i] > size[i + 1]:
            _swap(size, columns, i)
    for j in range(2):
        set_vec(axes, j, (columns[0, j], columns[1, j], columns[2, j]))
    set_vec(axes, 2, cross(vec(axes, 0), vec(axes, 1)))
    return axes
