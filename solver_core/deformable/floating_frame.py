# SPDX-License-Identifier: GPL-3.0-or-later
"""What of `inertia.py` every step asks: kernels, apart from what reads a scene, which loads no compiler."""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel

__all__ = ["coriolis_forces", "inertia_change", "inertia_slopes", "quadratic_forces"]


@kernel
def inertia_change(terms, q):
    """(3, 3) kg m^2, I(q) - I(0), for (r,) q."""
    change = np.zeros((3, 3))
    for a in range(3):
        for b in range(3):
            for i in range(len(q)):
                part = terms.first[i, a, b]
                for j in range(len(q)):
                    part += q[j] * terms.second[i, j, a, b]
                change[a, b] -= q[i] * part
    trace = change[0, 0] + change[1, 1] + change[2, 2]
    for a in range(3):
        change[a, a] -= trace
    return change


@kernel
def inertia_slopes(terms, q):
    """(r, 3, 3) dI/dq_i, for (r,) q."""
    slopes, half = np.empty((len(q), 3, 3)), np.empty((3, 3))
    for i in range(len(q)):
        half[:] = 0.0
        for j in range(len(q)):
            for a in range(3):
                for b in range(3):
                    half[a, b] += q[j] * terms.second[i, j, a, b]
        trace = 0.0
        for a in range(3):
            trace += terms.first[i, a, a] + 2.0 * half[a, a]
            for b in range(3):
                slopes[i, a, b] = -(terms.first[i, a, b] + half[a, b] + half[b, a])
        for a in range(3):
            slopes[i, a, a] += trace
    return slopes


@kernel
def coriolis_forces(terms, velocity, turning):
    """(r,) the Coriolis force on modes with velocities (r,) of a spin (3,) rad/s in the body's axes."""
    force = np.zeros(len(velocity))
    for i in range(len(velocity)):
        for j in range(len(velocity)):
            for a in range(3):
                force[i] += 2.0 * turning[a] * terms.gyroscopic[i, j, a] * velocity[j]
    return force


@kernel
def quadratic_forces(terms, q, velocity, turning):
    """(r,) g: the force of a spin (3,) rad/s in the body's axes on modes (r,) q with velocities (r,)."""
    force, slopes = coriolis_forces(terms, velocity, turning), inertia_slopes(terms, q)
    for i in range(len(q)):
        for a in range(3):
            for b in range(3):
                pulled = 0.5 * slopes[i, a, b]
                for j in range(len(q)):
                    pulled -= terms.stiffening[i, j, a, b] * q[j]
                force[i] += turning[a] * turning[b] * pulled
    return force
