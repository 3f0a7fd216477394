# SPDX-License-Identifier: GPL-3.0-or-later
"""Elliptical friction cones as circular ones: a change of the tangential axes, so that all solvers can treat them.

Let friction be in the ellipse (lam_1 / mu_1)^2 + (lam_2 / mu_2)^2 <= lam_n^2, with maximal dissipation. Of all impulses in it,
friction is the one that removes the most energy from the slip u_t, lam_t in argmin { y . u_t }. With mu = max(mu_1, mu_2),
s_i = mu_i / mu and

    lam_i = s_i lam'_i,    u'_i = s_i u_i,    J'_i = s_i J_i,    b'_i = s_i b_i

lam' is in the disk of radius mu lam_n, y . u_t is the same number in both, and J^T lam is the same momentum. So the problem
with the rows J' is Coulomb's, and its solutions correspond one to one to those of the problem with the ellipse. Friction then
opposes not the slip, but its image under diag(mu_1^2, mu_2^2). A tangent without friction has s_i = 0, and a row of zeros.

The smaller coefficient scales the slip along its axis, and so the meaning of a tolerance: 1e-6 m/s of u' are 1e-6 / s_i m/s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .contact_problem import ContactProblem
from .given_arrays import per_contact
from .result import Result
from .system import System, relative_velocities

__all__ = ["Disks", "EllipticProblem"]

Floats = NDArray[np.float64]


class Disks(NamedTuple):
    """A system whose friction ellipses were transformed to disks.

    system: the transformed system, with scaled tangent rows. stretch: (m, 2) s of each contact.
    """

    system: System
    stretch: Floats

    @classmethod
    def of(cls, system: System, stretch: Floats) -> Disks:
        """Return the disks of a system whose `mu` are the larger coefficients. stretch: (m, 2) s of each contact."""
        m, rows = len(stretch), (system.jacobian_a.copy(), system.jacobian_b.copy(), system.bias.copy())
        rows[0][:m, 1:] *= stretch[:, :, None]
        rows[1][:m, 1:] *= stretch[:, :, None]
        rows[2][:m, 1:] *= stretch
        return cls(system._replace(jacobian_a=rows[0], jacobian_b=rows[1], bias=rows[2]), stretch)

    def impulse(self, impulse: Floats) -> Floats:
        """Return impulses lam' (k, 3) for impulses lam, zero along tangents without friction."""
        out, m = impulse.copy(), len(self.stretch)
        np.divide(impulse[:m, 1:], self.stretch, out=out[:m, 1:], where=self.stretch > 0.0)
        out[:m, 1:][self.stretch == 0.0] = 0.0
        return out

    def undone(self, impulse: Floats) -> Floats:
        """Return impulses lam (k, 3) for impulses lam'."""
        out = impulse.copy()
        out[: len(self.stretch), 1:] *= self.stretch
        return out


@dataclass(frozen=True)
class EllipticProblem:
    """A contact problem in three dimensions whose contacts have two coefficients of friction.

    given: the problem with its original rows.
    problem: the transformed problem with Coulomb's law, for `solve` and `residuals`.
    stretch: (m, 2) s of each contact.
    """

    given: ContactProblem
    problem: ContactProblem
    stretch: Floats

    @classmethod
    def of(cls, problem: ContactProblem, mu_1: ArrayLike, mu_2: ArrayLike) -> EllipticProblem:
        """Replace the coefficients of the c contacts of a problem.

        Parameters
        ----------
        problem : ContactProblem
            Its own coefficients are ignored. Friction along a prescribed sliding direction follows from the ellipse.
        mu_1, mu_2 : float or (c,)
            Coefficients along the first and the second tangent, at least 0 and finite.

        Raises
        ------
        ValueError
            If the problem is two-dimensional or given as a sparse or repaired matrix, or a coefficient is invalid, with its
            index.
        """
        if problem.dim != 3:
            raise ValueError("problem is in two dimensions, where friction has one coefficient; use three dimensions")
        if problem.matrix is not None or problem.rounded is not None:
            raise ValueError("problem is given as a sparse or repaired matrix; give it by its bodies (from_bodies)")
        m = problem.system.mu.size
        both = np.stack([coefficients_of(name, mu, m) for name, mu in (("mu_1", mu_1), ("mu_2", mu_2))], axis=1)
        larger = both.max(axis=1, initial=0.0)
        stretch = np.divide(both, larger[:, None], out=np.ones_like(both), where=larger[:, None] > 0.0)
        along = problem.direction.copy()
        along[:m] *= stretch
        size = np.linalg.norm(along, axis=1)
        slides = problem.slides_along_given
        # A contact that slides along a tangent without friction has none.
        larger = np.where(slides[:m] & (size[:m] == 0.0), 0.0, larger)
        along[size > 0.0] /= size[size > 0.0, None]
        along[slides & (size == 0.0)] = problem.direction[slides & (size == 0.0)]
        system = Disks.of(problem.system._replace(mu=larger), stretch).system
        coulomb = replace(problem, system=system, mu=larger, mu_dynamic=larger, direction=along)
        return cls(problem, coulomb, stretch)

    def start(self, impulse: Floats) -> Floats:
        """Return impulses (k, 3) of the problem with ellipses as a `warm_start` of the transformed problem."""
        return Disks(self.problem.system, self.stretch).impulse(np.asarray(impulse, dtype=np.float64))

    def result(self, result: Result) -> Result:
        """Return the result of the problem with ellipses from a result of the transformed problem."""
        disks = Disks(self.problem.system, self.stretch)
        return replace(
            result,
            impulse=disks.undone(result.impulse),
            velocity=relative_velocities(self.given.system, result.body_velocity),
            ray=None if result.ray is None else disks.undone(result.ray),
        )


def coefficients_of(name: str, values: ArrayLike, m: int) -> Floats:
    """Return coefficients of friction (m,). Raises ValueError with the name of the argument and the index."""
    coefficients = per_contact(name, values, m)
    wrong = np.flatnonzero(coefficients < 0.0)
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}] = {coefficients[wrong[0]]} is negative; a coefficient of friction is at least 0")
    return coefficients
