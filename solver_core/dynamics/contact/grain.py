# SPDX-License-Identifier: GPL-3.0-or-later
"""Friction of surfaces with a grain: the disk of Coulomb's law becomes an ellipse.

A grain along a unit vector d with the coefficients mu_d along it and mu_x across it is a tensor in three dimensions,

    T = mu_d^2 d d^T + mu_x^2 (1 - d d^T)

The restriction of T to the plane of a contact is a symmetric 2 by 2 matrix P, and friction lies in the ellipse

    lam_t . P^-1 lam_t <= lam_n^2

Its semi-axes are lam_n times the square roots of the eigenvalues of P. They are mu_d and mu_x if the grain lies in the plane.
If the grain is perpendicular to the plane, as at the end of a log, friction is mu_x in all directions. In between, the axis
along the grain changes continuously.

If one surface has a grain, the rule of the scene combines each of its coefficients with that of the other surface. If both have
one, P and Q are diagonal in a common basis that need not be orthogonal, P = C diag(p) C^T and Q = C diag(q) C^T, and the rule
combines each p with its q: C diag(f(p, q)) C^T, where f(p, q) is the square of the combination of their square roots. For
grains that are parallel or perpendicular, this is the rule for the coefficients along each axis. For the geometric mean it is
the geometric mean of matrices (Kubo and Ando 1980, "Means of positive linear operators"), for the minimum the largest ellipse
inside both, and for the maximum the smallest ellipse around both. The product of coefficients is the square of their geometric
mean, and so is the matrix. f is homogeneous of first degree, so no basis is needed: the result is x P + y Q with f = x p + y q
for both pairs (p, q), and the ratios q / p are the roots of det(Q - z P) = 0.

The tangents of a contact are rotated to the axes of its ellipse. `problem/ellipse.py` scales the ellipse to a disk for the
solver.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import leaf_kernel
from ...linalg.in_order import dots
from ...scene.combine import GEOMETRIC_MEAN, PRODUCT
from .material_rules import combine_in_kernels

__all__ = ["coefficient_along", "coefficient_in_force", "has_all_its_friction"]

Floats = NDArray[np.float64]

STANDS_ON = 1e-20  # squared sine of the angle between a grain and a normal; below it the grain has no direction in the plane
PROPORTIONAL = 1e-24  # squared relative difference of the roots; below it both matrices are proportional
AS_A_DISK = 1e-14  # relative difference of the squared semi-axes; below it an ellipse is a disk
NO_FRICTION = 1e-6  # fraction of the larger coefficient of a contact; a smaller coefficient counts as zero
AT_ITS_LIMIT = 0.999  # fraction of the largest friction, as in `memory.is_at_its_limit`


@leaf_kernel
def coefficient_in_force(rules, mu, rotation, pair, problem, k):
    """Return the coefficient of friction of a contact: the larger one if one of its bodies has a grain.

    In this case the tangential rows and the axes of the contact are rotated to the axes of its ellipse, and its `stretch` is
    written.

    Parameters
    ----------
    rules : Rules
    mu : (n, 2) coefficients of the bodies along their grains
    rotation : (n, 3, 3) of the bodies
    pair : the two bodies, and STATIC or DYNAMIC
    problem : StepProblem, written to
    k : the contact
    """
    a, b, i = pair
    of_pair = rules.pairs[rules.surface[a], rules.surface[b], i]
    if of_pair >= 0.0:
        return of_pair
    if rules.grains.direction.shape[0] == 0:
        return combine_in_kernels(rules.friction, mu[a, i], mu[b, i])
    axes, system = problem.axes[k], problem.system
    c, s, first, second = ellipse_of(rules, mu, rotation, pair, axes)
    if s != 0.0 or c != 1.0:
        _turn_rows(axes, c, s)
        if system.body_a[k] >= 0:
            _turn_rows(system.jacobian_a[k], c, s)
        if system.body_b[k] >= 0:
            _turn_rows(system.jacobian_b[k], c, s)
        bias = system.bias[k]
        bias[1], bias[2] = c * bias[1] + s * bias[2], c * bias[2] - s * bias[1]
    larger = max(first, second)
    if larger > 0.0:
        problem.stretch[k, 0] = first / larger if first > NO_FRICTION * larger else 0.0
        problem.stretch[k, 1] = second / larger if second > NO_FRICTION * larger else 0.0
    return larger


@leaf_kernel
def _turn_rows(rows, c, s):
    """Rotate the second and the third of three rows by the angle with the cosine c and the sine s."""
    for i in range(rows.shape[1]):
        x, y = rows[1, i], rows[2, i]
        rows[1, i], rows[2, i] = c * x + s * y, c * y - s * x


@leaf_kernel
def ellipse_of(rules, mu, rotation, pair, axes):
    """Return the ellipse of a contact.

    Parameters as in `coefficient_in_force`. axes: (3, 3) of the contact.

    Returns
    -------
    the cosine and the sine of the rotation of its tangents, and the coefficients along the rotated tangents
    """
    a, b, i = pair
    at_a, at_b = _in_axes(rules, rotation, a, axes), _in_axes(rules, rotation, b, axes)
    has_a, has_b = _is_any(at_a), _is_any(at_b)
    grain = rules.grains.across
    if has_a and has_b:
        matrix_a = _matrix(at_a, mu[a, i], grain[a, i])
        return _of_two(rules.friction, matrix_a, _matrix(at_b, mu[b, i], grain[b, i]))
    if has_a:
        return _of_one(rules.friction, at_a, mu[a, i], grain[a, i], mu[b, i])
    if has_b:
        return _of_one(rules.friction, at_b, mu[b, i], grain[b, i], mu[a, i])
    both = combine_in_kernels(rules.friction, mu[a, i], mu[b, i])
    return 1.0, 0.0, both, both


@leaf_kernel
def _in_axes(rules, rotation, body, axes):
    """Return the components of a body's grain along the normal and the tangents of a contact; zero without a grain."""
    d, turn = rules.grains.direction[body], rotation[body]
    x = turn[0, 0] * d[0] + turn[0, 1] * d[1] + turn[0, 2] * d[2]
    y = turn[1, 0] * d[0] + turn[1, 1] * d[1] + turn[1, 2] * d[2]
    z = turn[2, 0] * d[0] + turn[2, 1] * d[1] + turn[2, 2] * d[2]
    n = axes[0, 0] * x + axes[0, 1] * y + axes[0, 2] * z
    t1 = axes[1, 0] * x + axes[1, 1] * y + axes[1, 2] * z
    return n, t1, axes[2, 0] * x + axes[2, 1] * y + axes[2, 2] * z


@leaf_kernel
def _is_any(vector):
    return vector[0] != 0.0 or vector[1] != 0.0 or vector[2] != 0.0


@leaf_kernel
def _of_one(rule, grain, along, across, other):
    """Return `ellipse_of` for a grain (n, t1, t2) and a surface with the coefficient `other` in all directions."""
    n, t1, t2 = grain
    square = t1 * t1 + t2 * t2
    if square <= STANDS_ON:
        both = combine_in_kernels(rule, across, other)
        return 1.0, 0.0, both, both
    seen = math.sqrt(along * along * square + across * across * n * n)
    length = math.sqrt(square)
    return t1 / length, t2 / length, combine_in_kernels(rule, seen, other), combine_in_kernels(rule, across, other)


@leaf_kernel
def _matrix(grain, along, across):
    """Return the entries (1, 1), (1, 2) and (2, 2) of P for a grain (n, t1, t2)."""
    n, t1, t2 = grain
    p, q = along * along, across * across
    return p * t1 * t1 + q * (t2 * t2 + n * n), (p - q) * t1 * t2, p * t2 * t2 + q * (t1 * t1 + n * n)


@leaf_kernel
def _combined(rule, p, q):
    """Return the squared combination of the square roots of p and q by a rule; the geometric mean for the product."""
    both = combine_in_kernels(GEOMETRIC_MEAN if rule == PRODUCT else rule, math.sqrt(p), math.sqrt(q))
    return both * both


@leaf_kernel
def _of_two(rule, first, second):
    """Return `ellipse_of` for two matrices, given by their entries (1, 1), (1, 2) and (2, 2)."""
    (p11, p12, p22), (q11, q12, q22) = first, second
    det_p, det_q = max(0.0, p11 * p22 - p12 * p12), max(0.0, q11 * q22 - q12 * q12)
    mixed = p11 * q22 + p22 * q11 - 2.0 * p12 * q12
    difference = p11 * q22 - p22 * q11
    discriminant = difference * difference - 4.0 * (p11 * q12 - p12 * q11) * (p12 * q22 - p22 * q12)
    if discriminant <= PROPORTIONAL * mixed * mixed:
        trace_p, trace_q = p11 + p22, q11 + q22
        both = trace_p + trace_q
        x = y = _combined(rule, trace_p, trace_q) / both if both > 0.0 else 0.0
    else:
        # The pairs (p, q) are (2 det P, root) and (root, 2 det Q), each up to a factor.
        root = mixed + math.sqrt(discriminant)
        f, g = _combined(rule, 2.0 * det_p, root), _combined(rule, root, 2.0 * det_q)
        denominator = 4.0 * det_p * det_q - root * root
        x, y = (2.0 * f * det_q - g * root) / denominator, (2.0 * g * det_p - f * root) / denominator
    xx, xy, yy = x * p11 + y * q11, x * p12 + y * q12, x * p22 + y * q22
    mean, half = 0.5 * (xx + yy), 0.5 * (xx - yy)
    radius = math.sqrt(half * half + xy * xy)
    large, small = mean + radius, max(0.0, mean - radius)
    if rule != PRODUCT:
        large, small = math.sqrt(large), math.sqrt(small)
    if radius <= AS_A_DISK * mean:
        return 1.0, 0.0, large, large
    # For the half angle, the larger of sine and cosine is computed first, which loses no digits.
    if half >= 0.0:
        c = math.sqrt(0.5 * (1.0 + half / radius))
        return c, 0.5 * xy / (radius * c), large, small
    s = math.sqrt(0.5 * (1.0 - half / radius))
    return 0.5 * xy / (radius * s), s, large, small


@leaf_kernel
def has_all_its_friction(remembered, axes, stretch, mu):
    """Return whether a stored impulse (4,) has all the friction that the ellipse of a contact allows.

    axes: (3, 3) and stretch: (2,) of the contact. mu: the larger coefficient.
    """
    least = AT_ITS_LIMIT * mu * remembered[0]
    total = 0.0
    for row in range(2):
        along = axes[row + 1, 0] * remembered[1] + axes[row + 1, 1] * remembered[2] + axes[row + 1, 2] * remembered[3]
        if stretch[row] > 0.0:
            total += (along / stretch[row]) ** 2
    return least > 0.0 and total > least * least


def coefficient_along(friction: Floats, axes: Floats, stretch: Floats, mu: Floats) -> Floats:
    """Return (m,) the coefficients of contacts in the directions of their friction; the larger ones without friction.

    Parameters
    ----------
    friction : (m, 3) N s or N, world
    axes : (m, 3, 3) of the contacts
    stretch : (m, 2) and mu : (m,) of the contacts, as of `StepProblem`
    """
    along = dots(axes[:, 1:], friction[:, None])
    size = np.sqrt(dots(along, along))
    in_disk = np.divide(along, stretch, out=np.zeros_like(along), where=stretch > 0.0)
    needed = np.sqrt(dots(in_disk, in_disk))
    return mu * np.divide(size, needed, out=np.ones_like(mu), where=needed > 0.0)
