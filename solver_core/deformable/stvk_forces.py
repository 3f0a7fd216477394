# SPDX-License-Identifier: GPL-3.0-or-later
"""The forces of Saint Venant and Kirchhoff's law over a step, from the Gram matrix Q of `stvk.py`."""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel, leaf_kernel

__all__ = ["interval_force", "tangents"]


@kernel
def interval_force(gram, q, velocity, h, late, slack):
    """(r,) N/sqrt(kg) of a material over an interval of h seconds that begins at q with a velocity, both (r,).

    The discrete gradient, with `late` s times the rate of the strains, and slack (r,) s^3 times what the rate of the stresses
    has along each axis of q.
    """
    middle, out = q + 0.5 * h * velocity, np.empty(len(q))
    m, stress = np.empty(len(gram)), np.zeros(len(gram))
    _monomials(q, q + h * velocity, middle, velocity, late, m)
    for a in range(len(q)):
        if slack[a] != 0.0:
            _pulled(gram[a], middle, out)
            m[a] += slack[a] * np.sum(out * velocity)
    for a in range(len(gram)):
        stress += m[a] * gram[a]
    _pulled(stress, middle, out)
    return out


@kernel
def tangents(gram, q, velocity, h, late, slack):
    """The same; how it changes with the velocity, (r, r); and the part of that which is symmetric and never negative, (r, r):
    what the strains do without their directions."""
    r, k = len(q), len(gram)
    middle, after = q + 0.5 * h * velocity, q + h * velocity
    m = np.empty(k)
    _monomials(q, after, middle, velocity, late, m)
    stress, along = np.zeros(k), np.zeros((r, k))
    for a in range(r):
        along[a] += gram[a]
    row = r
    for i in range(r):
        for j in range(i, r):
            for c in range(k):
                one = gram[row, c]
                stress[c] += m[row] * one
                along[i, c] += middle[j] * one
                along[j, c] += middle[i] * one
            row += 1
    force, of_velocity, of_strains, to_after = np.empty(r), np.empty((r, r)), np.empty((r, r)), np.zeros((r, r))
    own = along[:, :r].copy()
    for a in range(r):
        if slack[a] != 0.0:
            m[a] += slack[a] * np.sum(own[:, a] * velocity)
            _pulled(gram[a], after, to_after[a])
        stress += m[a] * gram[a]
        _pulled(along[a], middle, of_strains[a])
        _pulled(along[a], after, of_velocity[a])
    _pulled(stress, middle, force)
    by_slack = own * slack
    of_strains = 0.5 * (0.5 * h + late) * (of_strains + of_strains.T)
    of_velocity = (0.5 * h + late) * of_velocity
    for i in range(r):
        for a in range(r):
            for j in range(r):
                of_strains[i, j] += by_slack[i, a] * own[j, a]
                of_velocity[i, j] += by_slack[i, a] * to_after[a, j]
    row = r
    for i in range(r):
        of_velocity[i, i] += h * stress[row]
        row += 1
        for j in range(i + 1, r):
            of_velocity[i, j] += 0.5 * h * stress[row]
            of_velocity[j, i] += 0.5 * h * stress[row]
            row += 1
    return force, of_velocity, of_strains


@leaf_kernel
def _monomials(before, after, middle, velocity, late, out):
    """out := the mean of m at two places, and `late` times its rate at the middle."""
    r = len(before)
    row = r
    for i in range(r):
        out[i] = middle[i] + late * velocity[i]
        for j in range(i, r):
            rate = middle[i] * velocity[j] + middle[j] * velocity[i]
            out[row] = 0.5 * (before[i] * before[j] + after[i] * after[j]) + late * rate
            row += 1


@leaf_kernel
def _pulled(stress, q, out):
    """out := D^T stress at q, (r,)."""
    r = len(q)
    row = r
    for i in range(r):
        out[i] = stress[i]
    for i in range(r):
        for j in range(i, r):
            out[i] += stress[row] * q[j]
            out[j] += stress[row] * q[i]
            row += 1
