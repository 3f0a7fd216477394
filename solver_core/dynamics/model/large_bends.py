# SPDX-License-Identifier: GPL-3.0-or-later
"""A body in large bends over a step: the rule that modes of small ones swing by, for forces that are not linear.

The force F of an interval between two places is the discrete gradient, which does exactly the work between them, with `late`
times the rate of the strains for the damping. A step takes the mean of the interval before it and its own:

    (1 + T h b omega^2) v+ + T/2 F(q, q + h v+) = (1 + T h' b omega^2) v - T/2 F(q - h' v, q) + T g,    b = a - 1/4

with a of small bends (`bending.py`), whose rule this is where W is linear: frequencies are exact. Without a contact

    1/2 p.(1 + h^2 b omega^2) p + W(q),    p = v - h/2 F

stays as it is, and falls by what damps. b is 0 of shapes that are no modes: these go along with the bends of others, and have
to have their own mass in that, or a beam's swing gets faster with the length of the steps.

Strains along axes of q that are too fast for the steps are damped critically. It is the rate of the strain that is, not of q,
for what goes along with a bend is not strained by it: backward Euler for such axes takes three quarters of a swing of a
hundredth of the length in ten seconds. A body none of whose modes swings has backward Euler, as in small bends.

F about velocities w is F(w) + F'(w) (v+ - w), of which the symmetric part stands in the block that contacts push against; the
step is solved again about its answer (`solve/bent_further.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...deformable.stvk_forces import interval_force, tangents
from .predict import Bend

__all__ = ["Curve", "LargeBend", "LargeBends", "later_weight"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Of the mass of a mode at the least, whatever the steps: two radians a step leave so much.
LEAST_MASS = 0.4
FREE_SOLVES = 20
# Of the largest modal velocity: a change so small leaves the square of it, which is nothing.
NEARLY = 1e-6
# Of a step by Newton's method, if it leads away.
SHORTENED = 6


@dataclass(frozen=True)
class Curve:
    """A step's motion about some modal velocities: block (r, r), which impulses push against, and velocities (r,) without."""

    block: Floats
    velocity: Floats


@dataclass(frozen=True)
class LargeBends(Bend):
    """The same as `Bend`, with the steps of bodies in large bends, and these about the motion without contacts."""

    steps: tuple[LargeBend, ...]
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class LargeBend:
    """The step of a body in large bends.

    unknown: (r,) among the degrees of freedom. gram: (k, k). q: (r,) as the step begins. known: (r,) the right side. inertia:
    (r,) 1 + T h b omega^2. share: of the step's own interval in the force. slack: (r,) s^3, see `interval_force`. h, time:
    s, the step and how long forces act. late: s. mass: kg.
    """

    unknown: Ints
    gram: Floats
    q: Floats
    known: Floats
    inertia: Floats
    share: float
    slack: Floats
    h: float
    time: float
    late: float
    mass: float

    @classmethod
    def begun(
        cls, body: ReducedBody, unknown: Ints, state: tuple[Floats, Floats], step: tuple[float, float, float], other: Floats
    ) -> LargeBend:
        """state: q and its velocities (r,). step: s, h, the one before, and how long forces act. other: (r,) N/sqrt(kg), what
        pulls besides."""
        (q, v), (h, before, time), large = state, step, body.large
        assert large is not None
        omega, square = body.omega, body.omega**2
        late = float(body.damping[0] / square[0])
        if h * omega[0] > MOST_A_STEP:
            # none swings
            slack = 0.5 * h / square
            return cls(unknown, large.gram, q, v + time * other, np.ones_like(q), 1.0, slack, h, time, late, body.mass)
        followed = (h * omega <= MOST_A_STEP) & (time * late * square <= MOST_A_STEP)
        slack = np.where(followed, 0.0, (2.0 / omega - late) / square)
        swings = followed & (np.arange(len(q)) < large.modes)
        weight = later_weight(np.minimum(h * omega, MOST_A_STEP)) - 0.25
        # a short step after a long one
        weight = np.maximum(weight, (LEAST_MASS - 1.0) / (time * max(h, before) * square))
        heavier = time * np.where(swings, weight, 0.0) * square
        last = interval_force(large.gram, q - before * v, v, before, late, slack)
        known = (1.0 + before * heavier) * v + time * (other - 0.5 * last)
        return cls(unknown, large.gram, q, known, 1.0 + h * heavier, 0.5, slack, h, time, late, body.mass)

    def about(self, velocity: Floats) -> Curve:
        """The motion about velocities (r,)."""
        residual, slopes, of_strains = self._slopes(velocity)
        block = self._block(slopes, of_strains)
        return Curve(block, velocity - np.linalg.solve(block, residual))

    def free(self, velocity: Floats) -> Curve:
        """The motion without contacts, looked for from velocities (r,) by Newton's method: about itself."""
        residual, slopes, of_strains = self._slopes(velocity)
        for _ in range(FREE_SOLVES):
            change, size, begin = np.linalg.solve(slopes, residual), np.abs(residual).max(), velocity
            if np.abs(change).max() <= NEARLY * np.abs(velocity).max():
                velocity = velocity - change
                break
            for halvings in range(SHORTENED):
                velocity = begin - 0.5**halvings * change
                residual, slopes, of_strains = self._slopes(velocity)
                if np.abs(residual).max() <= size:
                    break
        return Curve(self._block(slopes, of_strains), velocity)

    def _slopes(self, velocity: Floats) -> tuple[Floats, Floats, Floats]:
        """(r,) how far velocities are from the rule, in momenta; (r, r) by how much that changes with them; and what of it is
        symmetric and positive definite whatever the stresses."""
        force, of_velocity, of_strains = tangents(self.gram, self.q, velocity, self.h, self.late, self.slack)
        inertia, time = np.diag(self.inertia), self.share * self.time
        residual = self.inertia * velocity + time * force - self.known
        return residual, inertia + time * of_velocity, inertia + time * of_strains

    def _block(self, slopes: Floats, of_strains: Floats) -> Floats:
        """(r, r) symmetric and positive definite."""
        block = 0.5 * (slopes + slopes.T)
        try:
            np.linalg.cholesky(block)
        except np.linalg.LinAlgError:
            # pressed flat: the stresses would let it move off by itself
            return of_strains
        return block


def later_weight(angle: Floats) -> Floats:
    """a of modes that turn by an angle in rad, up to pi, in a step: the weight of the force at either end of two steps."""
    return 0.5 / (1.0 - np.cos(angle)) - 1.0 / angle**2
