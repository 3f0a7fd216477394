# SPDX-License-Identifier: GPL-3.0-or-later
"""Friction arguments of a contact problem: coefficients, sliding contacts and their directions, and bounds of moments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .given_arrays import coefficients, finite_array

__all__ = ["Friction", "FrictionArrays", "friction_of"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Friction:
    """Friction of m contacts. Coefficients and bounds are a scalar or (m,).

    mu: coefficient of static friction, at least 0; inf for a contact that cannot slip.
    mu_dynamic: coefficient of dynamic friction; None for mu.
    sliding: (m,) bool, contacts that use the dynamic coefficient.
    sliding_direction: (m, dim - 1) vectors of nonzero length along the sliding velocity, used where `sliding` is True. With the
        unit vector d, friction there is -mu_dynamic lam_n d for any u (Baraff 1994, (24)).
    rolling, torsion: bounds of moments, relative to the normal impulse [m] (`problem/rolling.py`). Each contact then has
        additional rows of angular velocities: about n with torsion, and about t1 and t2 (one row if dim is 2) with rolling.
    """

    mu: ArrayLike
    mu_dynamic: ArrayLike | None = None
    sliding: ArrayLike | None = None
    sliding_direction: ArrayLike | None = None
    rolling: ArrayLike | None = None
    torsion: ArrayLike | None = None

    @classmethod
    def of(cls, mu: ArrayLike | Friction) -> Friction:
        """Return the argument if it is a `Friction`, else the `Friction` with this coefficient."""
        return mu if isinstance(mu, Friction) else cls(mu)


class FrictionArrays(NamedTuple):
    """Fields of a `ContactProblem`: mu, mu_dynamic and sliding (m,), and direction (m, dim - 1), unit vectors or zero."""

    mu: Floats
    mu_dynamic: Floats
    sliding: Flags
    direction: Floats


def friction_of(given: Friction, m: int, dim: int) -> FrictionArrays:
    """Return the arrays of the friction of m contacts. Raises ValueError with the name of the argument and the index."""
    static = coefficients("mu", given.mu, m)
    dynamic = static if given.mu_dynamic is None else coefficients("mu_dynamic", given.mu_dynamic, m)
    slides = np.zeros(m, dtype=bool) if given.sliding is None else np.asarray(given.sliding)
    if slides.shape != (m,) or not (slides.dtype == bool or np.isin(slides, (0, 1)).all()):
        raise ValueError(f"sliding must be {m} truth values, not {slides.dtype} of shape {slides.shape}")
    slides = slides.astype(bool)
    direction = np.zeros((m, dim - 1))
    if given.sliding_direction is not None:
        along = finite_array("sliding_direction", given.sliding_direction)
        if along.shape != (m, dim - 1) and (dim != 2 or along.shape != (m,)):
            raise ValueError(f"sliding_direction must have shape ({m}, {dim - 1}), not {along.shape}")
        direction[slides] = along.reshape(m, dim - 1)[slides]
        largest = np.abs(direction).max(axis=1, initial=0.0)
        standing = np.flatnonzero(slides & (largest == 0.0))
        if standing.size:
            raise ValueError(
                f"sliding_direction[{standing[0]}] has length zero: give the direction in which contact {standing[0]} "
                "slides, or leave it out of `sliding`"
            )
        # Scale by a power of two first, which is exact, because the square of a length may overflow or underflow.
        direction[slides] = np.ldexp(direction[slides], -np.frexp(largest[slides, None])[1])
        direction[slides] /= np.linalg.norm(direction[slides], axis=1, keepdims=True)
        tied = np.flatnonzero(slides & np.isinf(dynamic))
        if tied.size:
            raise ValueError(
                f"sliding_direction[{tied[0]}] is given where mu is inf: contact {tied[0]} slides, or it cannot slip; "
                "give one of both"
            )
    return FrictionArrays(static, dynamic, slides, direction)
