# SPDX-License-Identifier: GPL-3.0-or-later
"""The friction of contacts as it is given to a contact problem: coefficients, what slides and where to, bounds of moments."""

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
    """Friction of m contacts; each field but the flags and vectors is a number for all or (m,).

    mu, mu_dynamic: coefficients of static and dynamic friction, at least 0; inf where nothing may slip; the dynamic one is mu
    if it is None. sliding: (m,) bool, contacts at which the dynamic one is in force. sliding_direction: (m, dim - 1) vectors
    of any length but zero along the sliding velocity, read where `sliding` is set: friction there is -mu_dynamic lam_n d,
    whatever u becomes (Baraff 1994, (24)). rolling, torsion: m, the bounds of moments over the normal impulse
    (`problem/rolling.py`): each contact then has more rows, after its own, of angular velocities: about n with torsion, about
    t1 and t2 (for dim 2 one) with rolling.
    """

    mu: ArrayLike
    mu_dynamic: ArrayLike | None = None
    sliding: ArrayLike | None = None
    sliding_direction: ArrayLike | None = None
    rolling: ArrayLike | None = None
    torsion: ArrayLike | None = None

    @classmethod
    def of(cls, mu: ArrayLike | Friction) -> Friction:
        """The friction that is given whole, or by its coefficient alone."""
        return mu if isinstance(mu, Friction) else cls(mu)


class FrictionArrays(NamedTuple):
    """Fields of a `ContactProblem`: mu, mu_dynamic (m,), sliding (m,), direction (m, dim - 1) unit vectors or zero."""

    mu: Floats
    mu_dynamic: Floats
    sliding: Flags
    direction: Floats


def friction_of(given: Friction, m: int, dim: int) -> FrictionArrays:
    """The friction of m contacts. Raises ValueError naming the argument and the index."""
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
        # first by a power of two, which is exact: the square of a length may overflow, or vanish
        direction[slides] = np.ldexp(direction[slides], -np.frexp(largest[slides, None])[1])
        direction[slides] /= np.linalg.norm(direction[slides], axis=1, keepdims=True)
        tied = np.flatnonzero(slides & np.isinf(dynamic))
        if tied.size:
            raise ValueError(
                f"sliding_direction[{tied[0]}] is given where mu is inf: contact {tied[0]} slides, or it cannot slip; "
                "give one of both"
            )
    return FrictionArrays(static, dynamic, slides, direction)
