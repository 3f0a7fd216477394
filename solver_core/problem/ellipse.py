# SPDX-License-Identifier: GPL-3.0-or-later
"""Elliptical friction cones as circular ones: a change of the tangential axes, which every solver can then ignore.

Let friction lie in the ellipse (lam_1 / mu_1)^2 + (lam_2 / mu_2)^2 <= lam_n^2, with maximal dissipation: of all impulses in it
the one that takes most energy out of the slip u_t, lam_t in argmin { y . u_t }. With mu = max(mu_1, mu_2), s_i = mu_i / mu and

    lam_i = s_i lam'_i,    u'_i = s_i u_i,    J'_i = s_i J_i,    b'_i = s_i b_i

lam' lies in the disk of radius mu lam_n, y . u_t is the same number in both, and J^T lam is the same momentum. So the problem
with the rows J' is Coulomb's, and its solutions are those of the problem with the ellipse, one to one. Friction is then not
opposed to the slip, but to its image under diag(mu_1^2, mu_2^2). A tangent without friction has s_i = 0, and a row of zeros.

The smaller coefficient scales the slip along its axis, and so what a tolerance says of it: 1e-6 m/s of u' are 1e-6 / s_i m/s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel
from .system import System

__all__ = ["Disks"]

Floats = NDArray[np.float64]


class Disks(NamedTuple):
    """A system in which the ellipses of another one are disks.

    system: with its rows along the tangents scaled. stretch: (m, 2) s of its contacts.
    """

    system: System
    stretch: Floats

    @classmethod
    def of(cls, system: System, stretch: Floats) -> Disks:
        """Make disks of the ellipses of a system whose `mu` are the larger coefficients. stretch: (m, 2) s of its contacts."""
        jacobian_a, jacobian_b, bias = scaled_rows(system, stretch)
        return cls(system._replace(jacobian_a=jacobian_a, jacobian_b=jacobian_b, bias=bias), stretch)

    def impulse(self, impulse: Floats) -> Floats:
        """Impulses (k, 3) lam' of impulses lam; zero along tangents without friction."""
        out, m = impulse.copy(), len(self.stretch)
        np.divide(impulse[:m, 1:], self.stretch, out=out[:m, 1:], where=self.stretch > 0.0)
        out[:m, 1:][self.stretch == 0.0] = 0.0
        return out

    def undone(self, impulse: Floats) -> Floats:
        """Impulses (k, 3) lam of impulses lam'."""
        out = impulse.copy()
        out[: len(self.stretch), 1:] *= self.stretch
        return out


@kernel
def scaled_rows(system, stretch):
    """The Jacobians and the bias of a system, with the tangential rows of its contacts times s, (m, 2)."""
    jacobian_a, jacobian_b, bias = system.jacobian_a.copy(), system.jacobian_b.copy(), system.bias.copy()
    for k in range(len(stretch)):
        for row in range(2):
            s = stretch[k, row]
            if s != 1.0:
                bias[k, 1 + row] *= s
                for i in range(jacobian_a.shape[2]):
                    jacobian_a[k, 1 + row, i] *= s
                    jacobian_b[k, 1 + row, i] *= s
    return jacobian_a, jacobian_b, bias
