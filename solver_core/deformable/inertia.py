# SPDX-License-Identifier: GPL-3.0-or-later
"""How the inertia of a body changes as it deforms, and what its spin does to it (Shabana 2005).

With displacements u = sum q_i phi_i in a frame that turns with w, all integrals over the mass,

    I(q) = I(0) + tr(C) 1 - C,    C = sum q_i A_i + sum q_i q_j P_ij
    A_i  = int x phi_i^T + phi_i x^T,    P_ij = int phi_i phi_j^T
    L    = I(q) w + sum q_i q'_j G_ij,    G_ij = int phi_i x phi_j
    g_i  = 1/2 w^T dI/dq_i w + 2 sum_j w . G_ij q'_j

g being the centrifugal and the Coriolis force on a mode. The frame is the one that has the body's momentum, so nothing of
first order couples it with the modes; of a body with pinned vertices `momentum` and `spin` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel

if TYPE_CHECKING:
    from scipy.sparse import csc_array

__all__ = ["ModalInertia", "angular_momentum", "inertia_change", "inertia_slopes", "modal_inertia", "quadratic_forces"]

Array = NDArray[np.float64]


class ModalInertia(NamedTuple):
    """Integrals over the mass of r modes, in the body's axes about its centre of mass.

    momentum, spin: (r, 3) int phi_i and int x x phi_i, zero for a free body. first: (r, 3, 3) A_i. second: (r, r, 3, 3) P_ij.
    gyroscopic: (r, r, 3) G_ij.
    """

    momentum: Array
    spin: Array
    first: Array
    second: Array
    gyroscopic: Array


def modal_inertia(points: Array, mass: csc_array, modes: Array) -> ModalInertia:
    """Of nodes (v, 3) m, their mass (v, v) kg, and modes (v, 3, r)."""
    count = modes.shape[2]
    share = mass.sum(axis=1)
    arms = points - share @ points / share.sum()
    weighed = (mass @ modes.reshape(len(points), -1)).reshape(modes.shape)
    crossed = np.einsum("va,vbr->rab", arms, weighed)
    second = np.empty((count, count, 3, 3))
    for k in range(3):
        second[:, :, k] = np.einsum("vi,vbj->ijb", modes[:, k], weighed, optimize=True)
    return ModalInertia(
        weighed.sum(axis=0).T,
        _axial(crossed),
        crossed + crossed.transpose(0, 2, 1),
        second,
        _axial(second),
    )


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


def angular_momentum(terms: ModalInertia, q: Array, velocity: Array) -> Array:
    """(3,) kg m^2/s, what the modes have beyond I(q) w: sum q_i q'_j G_ij."""
    return np.einsum("i,j,ija->a", q, velocity, terms.gyroscopic)


@kernel
def quadratic_forces(terms, q, velocity, turning):
    """(r,) g: what a spin `turning` (3,) rad/s, in the body's axes, drives modes (r,) q with velocities (r,) with."""
    force, slopes = np.zeros(len(q)), inertia_slopes(terms, q)
    for i in range(len(q)):
        for a in range(3):
            for b in range(3):
                force[i] += 0.5 * turning[a] * slopes[i, a, b] * turning[b]
            for j in range(len(q)):
                force[i] += 2.0 * turning[a] * terms.gyroscopic[i, j, a] * velocity[j]
    return force


def _axial(products: Array) -> Array:
    """(..., 3) x x y from x y^T (..., 3, 3)."""
    return np.stack([products[..., a, b] - products[..., b, a] for a, b in ((1, 2), (2, 0), (0, 1))], axis=-1)
