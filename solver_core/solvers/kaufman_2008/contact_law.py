# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb's law of one contact, solved exactly, and a sweep over contacts that gives each its law in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, inner_kernel, leaf_kernel
from ...linalg.rows_of_six import weigh_six_rows
from ...problem.system import add_velocity, push_body

__all__ = ["Responses", "one_contact", "respond", "responses", "sweep"]

REGULAR = 1e-12  # of G_kk's trace, added to its diagonal: what nothing moves in a direction is moved by no impulse in it
ROOT_STEPS = 40
ROOT_ERROR = 1e-13  # of the friction force, that the root may be off

Floats = NDArray[np.float64]


class Responses(NamedTuple):
    """What an impulse at a contact does: to the velocities of its bodies, and to its own.

    of_a, of_b: (m, 3, widest) rows of (M^-1 J^T)^T. delassus: (m, 3, 3) G_kk. inverse: (m, 3, 3). slip: (m, 6) of the Schur
    complement of G_nn: its eigenvalues, the first eigenvector, and G_tn in the eigenvectors' axes.
    """

    of_a: Floats
    of_b: Floats
    delassus: Floats
    inverse: Floats
    slip: Floats


@leaf_kernel
def _respond(system, k, body, jacobian, out, delassus):
    """out[k] := (M^-1 J_k^T)^T of one body, delassus += J_k out[k]^T."""
    size = system.offset[body + 1] - system.offset[body]
    inverse, rows, answer = system.inverse_mass[system.block_start[body] :], jacobian[k], out[k]
    for row in range(3):
        if size == 6:
            # M is symmetric: its rows are its columns
            weigh_six_rows(answer[row], rows[row], inverse)
        else:
            for i in range(size):
                s = 0.0
                for j in range(size):
                    s += inverse[i * size + j] * rows[row, j]
                answer[row, i] = s
    for row in range(3):
        for column in range(3):
            for i in range(size):
                delassus[row, column] += rows[row, i] * answer[column, i]


@inlined_kernel
def _half_of(x, y, size):
    """Cosine and sine of half the angle of the vector (x, y) of a size."""
    if size == 0.0:
        return 1.0, 0.0
    if x >= 0.0:
        c = np.sqrt(0.5 + 0.5 * x / size)
        return c, 0.5 * y / (size * c)
    s = np.sqrt(0.5 - 0.5 * x / size) * (1.0 if y >= 0.0 else -1.0)
    return 0.5 * y / (size * s), s


@leaf_kernel
def _decompose(g, inverse, slip):
    """The inverse of G_kk (3, 3), and what the sliding case needs of it."""
    regular = REGULAR * (g[0, 0] + g[1, 1] + g[2, 2]) / 3.0
    for r in range(3):
        g[r, r] += regular
    c0 = g[1, 1] * g[2, 2] - g[1, 2] * g[2, 1]
    c1 = g[1, 2] * g[2, 0] - g[1, 0] * g[2, 2]
    c2 = g[1, 0] * g[2, 1] - g[1, 1] * g[2, 0]
    over = 1.0 / (g[0, 0] * c0 + g[0, 1] * c1 + g[0, 2] * c2)
    inverse[0, 0], inverse[1, 0], inverse[2, 0] = c0 * over, c1 * over, c2 * over
    inverse[0, 1] = (g[0, 2] * g[2, 1] - g[0, 1] * g[2, 2]) * over
    inverse[1, 1] = (g[0, 0] * g[2, 2] - g[0, 2] * g[2, 0]) * over
    inverse[2, 1] = (g[0, 1] * g[2, 0] - g[0, 0] * g[2, 1]) * over
    inverse[0, 2] = (g[0, 1] * g[1, 2] - g[0, 2] * g[1, 1]) * over
    inverse[1, 2] = (g[0, 2] * g[1, 0] - g[0, 0] * g[1, 2]) * over
    inverse[2, 2] = (g[0, 0] * g[1, 1] - g[0, 1] * g[1, 0]) * over
    n = g[0, 0]
    s11, s12, s22 = g[1, 1] - g[1, 0] * g[1, 0] / n, g[1, 2] - g[1, 0] * g[2, 0] / n, g[2, 2] - g[2, 0] * g[2, 0] / n
    half, difference = 0.5 * (s11 + s22), 0.5 * (s11 - s22)
    reach = np.sqrt(difference * difference + s12 * s12)
    c, s = _half_of(difference, s12, reach)
    slip[0], slip[1], slip[2], slip[3] = half + reach, max(half - reach, 0.0), c, s
    slip[4], slip[5] = c * g[1, 0] + s * g[2, 0], c * g[2, 0] - s * g[1, 0]


@inner_kernel
def responses(count, widest):
    """Room for the `Responses` of so many contacts."""
    return Responses(
        np.zeros((count, 3, widest)),
        np.zeros((count, 3, widest)),
        np.zeros((count, 3, 3)),
        np.zeros((count, 3, 3)),
        np.zeros((count, 6)),
    )


@leaf_kernel
def respond(system, first, last, out):
    """`Responses` of triples first <= k < last of a `System`."""
    for k in range(first, last):
        if system.body_a[k] >= 0:
            _respond(system, k, system.body_a[k], system.jacobian_a, out.of_a, out.delassus[k])
        if system.body_b[k] >= 0:
            _respond(system, k, system.body_b[k], system.jacobian_b, out.of_b, out.delassus[k])
        if out.delassus[k, 0, 0] > 0.0 and k < system.mu.size:
            _decompose(out.delassus[k], out.inverse[k], out.slip[k])


@leaf_kernel
def _slide(g, slip, mu, g0, g1, g2):
    """The impulse that slides: |lam_t| = mu lam_n, against u_t, and u_n + c = 0.

    With S the Schur complement of G_nn, h = g_t - G_tn g_n / G_nn and eta >= 0 the ratio of |u_t| and |lam_t|, (S + eta) lam_t
    = -h; what is left is one equation in eta, |lam_t| = mu lam_n, for Newton's method within a bracket.
    """
    nn = g[0, 0]
    h1, h2 = g1 - g[1, 0] * g0 / nn, g2 - g[2, 0] * g0 / nn
    c, s = slip[2], slip[3]
    a1, a2 = c * h1 + s * h2, c * h2 - s * h1
    s1, s2, q1, q2 = slip[0], slip[1], slip[4], slip[5]
    low, high = 0.0, -1.0
    eta = max(np.sqrt(a1 * a1 + a2 * a2) * nn / (mu * -g0) - 0.5 * (s1 + s2), 1e-3 * s1)
    n = 0.0
    for _ in range(ROOT_STEPS):
        d1, d2 = s1 + eta, s2 + eta
        y1, y2 = a1 / d1, a2 / d2
        n = (-g0 + q1 * y1 + q2 * y2) / nn
        size = np.sqrt(y1 * y1 + y2 * y2)
        excess = size - mu * n
        if abs(excess) <= ROOT_ERROR * (size + mu * abs(n)):
            break
        if excess > 0.0:
            low = eta
        else:
            high = eta
        slope = mu * (q1 * y1 / d1 + q2 * y2 / d2) / nn - (y1 * y1 / d1 + y2 * y2 / d2) / size
        after = eta - excess / slope
        if not (after > low and (high < 0.0 or after < high)):
            after = 2.0 * eta + s1 if high < 0.0 else 0.5 * (low + high)
        if abs(after - eta) <= 1e-15 * eta:
            break
        eta = after
    y1, y2 = -a1 / (s1 + eta), -a2 / (s2 + eta)
    n = max(n, 0.0)
    t1, t2 = c * y1 - s * y2, s * y1 + c * y2
    size, bound = np.sqrt(t1 * t1 + t2 * t2), mu * n
    if size > bound:
        t1, t2 = t1 * bound / size, t2 * bound / size
    return n, t1, t2


@leaf_kernel
def one_contact(g, inverse, slip, mu, g0, g1, g2):
    """The impulse of one contact by Coulomb's law, u + c = G_kk lam + g: it parts, sticks or slides."""
    if g0 >= 0.0:
        return 0.0, 0.0, 0.0
    n = -(inverse[0, 0] * g0 + inverse[0, 1] * g1 + inverse[0, 2] * g2)
    t1 = -(inverse[1, 0] * g0 + inverse[1, 1] * g1 + inverse[1, 2] * g2)
    t2 = -(inverse[2, 0] * g0 + inverse[2, 1] * g1 + inverse[2, 2] * g2)
    if n >= 0.0 and t1 * t1 + t2 * t2 <= mu * mu * n * n:
        return n, t1, t2
    if mu == 0.0:
        return -g0 / g[0, 0], 0.0, 0.0
    return _slide(g, slip, mu, g0, g1, g2)


@leaf_kernel
def _one_joint(g, box, joint, impulse, velocity):
    """The impulses of the rows of a joint, one after the other, from those before and the velocities with them, both (3,)."""
    changes = (0.0, 0.0, 0.0)
    for r in range(3):
        if not g[r, r] > 0.0:
            continue
        low, high, gamma = box[joint, r, 0], box[joint, r, 1], box[joint, r, 2]
        u = velocity[r] + g[r, 0] * changes[0] + g[r, 1] * changes[1] + g[r, 2] * changes[2]
        after = min(max(impulse[r] - (u + gamma * impulse[r]) / (g[r, r] + gamma), low), high)
        change = after - impulse[r]
        changes = (
            change if r == 0 else changes[0],
            change if r == 1 else changes[1],
            change if r == 2 else changes[2],
        )
    return impulse[0] + changes[0], impulse[1] + changes[1], impulse[2] + changes[2]


@leaf_kernel
def sweep(system, responses, first, last, backwards, impulse, v):
    """One sweep over the triples first <= k < last; v (n,) follows the impulses (m, 3)."""
    contacts = system.mu.size
    for i in range(first, last):
        k = first + last - 1 - i if backwards else i
        g = responses.delassus[k]
        if not g[0, 0] > 0.0 and k < contacts:
            continue
        a, b = system.body_a[k], system.body_b[k]
        first_a, first_b, size_a, size_b = 0, 0, 0, 0
        u0, u1, u2 = system.bias[k, 0], system.bias[k, 1], system.bias[k, 2]
        if k < contacts:
            u0 += system.slack[k]
        if a >= 0:
            first_a = system.offset[a]
            size_a = system.offset[a + 1] - first_a
            u0, u1, u2 = add_velocity(system.jacobian_a, k, v, first_a, size_a, u0, u1, u2)
        if b >= 0:
            first_b = system.offset[b]
            size_b = system.offset[b + 1] - first_b
            u0, u1, u2 = add_velocity(system.jacobian_b, k, v, first_b, size_b, u0, u1, u2)
        l0, l1, l2 = impulse[k, 0], impulse[k, 1], impulse[k, 2]
        if k < contacts:
            n, t1, t2 = one_contact(
                g,
                responses.inverse[k],
                responses.slip[k],
                system.mu[k],
                u0 - (g[0, 0] * l0 + g[0, 1] * l1 + g[0, 2] * l2),
                u1 - (g[1, 0] * l0 + g[1, 1] * l1 + g[1, 2] * l2),
                u2 - (g[2, 0] * l0 + g[2, 1] * l1 + g[2, 2] * l2),
            )
        else:
            n, t1, t2 = _one_joint(g, system.box, k - contacts, (l0, l1, l2), (u0, u1, u2))
        d0, d1, d2 = n - l0, t1 - l1, t2 - l2
        if d0 == 0.0 and d1 == 0.0 and d2 == 0.0:
            continue
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = n, t1, t2
        if a >= 0:
            push_body(responses.of_a, k, d0, d1, d2, v, first_a, size_a)
        if b >= 0:
            push_body(responses.of_b, k, d0, d1, d2, v, first_b, size_b)
