# SPDX-License-Identifier: GPL-3.0-or-later
"""How the inertia of a body changes as it deforms, and what its spin does to it (Shabana 2005).

With displacements u = sum q_i phi_i in a frame that turns with w, all integrals over the mass,

    I(q) = I(0) + tr(C) 1 - C,    C = sum q_i A_i + sum q_i q_j P_ij
    A_i  = int x phi_i^T + phi_i x^T,    P_ij = int phi_i phi_j^T
    L    = I(q) w + sum q_i q'_j G_ij,    G_ij = int phi_i x phi_j
    g_i  = 1/2 w^T dI/dq_i w - sum_j K_ij(w) q_j + 2 sum_j w . G_ij q'_j

g_i is the force of a spin on a mode: the centrifugal force, the force of the geometric stiffness K (`stiffening.py`) and the
Coriolis force. The frame has the momentum of the body, so nothing of first order couples it with the modes. The modes of a body
with pinned vertices have a `momentum` and a `spin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array

__all__ = ["ModalInertia", "angular_momentum", "modal_inertia"]

Array = NDArray[np.float64]


class ModalInertia(NamedTuple):
    """Integrals over the mass of r modes, in the body's axes about its centre of mass.

    momentum, spin: (r, 3) int phi_i and int x x phi_i, zero for a free body. first: (r, 3, 3) A_i. second: (r, r, 3, 3) P_ij.
    gyroscopic: (r, r, 3) G_ij. stiffening: (r, r, 3, 3) K_ij, zero for a pinned body and for large bends, whose energy has it.
    """

    momentum: Array
    spin: Array
    first: Array
    second: Array
    gyroscopic: Array
    stiffening: Array


def modal_inertia(points: Array, mass: csc_array, modes: Array, stiffening: Array) -> ModalInertia:
    """The integrals of modes (v, 3, r) of nodes (v, 3) m with a mass (v, v) kg, and their geometric stiffness (r, r, 3, 3)."""
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
        stiffening,
    )


def angular_momentum(terms: ModalInertia, q: Array, velocity: Array) -> Array:
    """(3,) kg m^2/s, what the modes have beyond I(q) w: sum q_i q'_j G_ij."""
    return np.einsum("i,j,ija->a", q, velocity, terms.gyroscopic)


def _axial(products: Array) -> Array:
    """(..., 3) x x y from x y^T (..., 3, 3)."""
    return np.stack([products[..., a, b] - products[..., b, a] for a, b in ((1, 2), (2, 0), (0, 1))], axis=-1)
