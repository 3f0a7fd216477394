# SPDX-License-Identifier: GPL-3.0-or-later
"""A body in large bends over a step: the rule that modes of small ones swing by, for forces that are not linear.

The force F of an interval between two places is the discrete gradient, which does exactly the work between them, with `late`
times the rate of the strains for the damping. A step takes the mean of the interval before it and its own:

    (1 + T h b omega^2) v+ + h/2 F(q, q + h v+) = (1 + T h' b omega^2) v - h'/2 F(q - h' v, q) + T g,    b = a - 1/4

with a of small bends (`bending.py`), whose rule this is where W is linear: frequencies are exact. Without a contact

    1/2 p.(1 + h^2 b omega^2) p + W(q),    p = v - h/2 F

stays as it is, where steps are cut but for b, and falls by what damps. b is 0 of shapes that are no modes: these go along with
the bends of others, and have to have their own mass in that, or a beam's swing gets faster with the length of the steps.

Strains along axes of q that are too fast for the steps are damped critically. It is the rate of the strain that is, not of q,
for what goes along with a bend is not strained by it: backward Euler for such axes takes three quarters of a swing of a
hundredth of the length in ten seconds.

p holds what F gives in half a step. Along an axis that is too fast this is more than the motion, and as energy (h omega / 2)^2
times what is stored there: nothing while something bears it, and set free where that lets go. So a step in which strains along
such axes would change by more than a hundredth of the body's energy is taken by backward Euler, and one whose last interval had
so much more force than the strains at its end; as all are of a body none of whose modes swings. With the strains at the end

    v+ + h F(q, q + h v+) = v + T g,    and    1/2 v.v + W(q)

never rises, however far the body is strained.

Backward Euler takes most of a bounce, in which strains along such axes hold much of the energy. A shorter step follows more
axes. So such a step is first cut into two, four or eight parts, the fewest in which the axes that are still too fast hold less
than that hundredth (`parts`); backward Euler is for what eight parts do not follow.

F about velocities w is F(w) + F'(w) (v+ - w), of which the symmetric part stands in the block that contacts push against; the
step is solved again about its answer (`solve/bent_further.py`). There is always one, for F does no more work than W holds; but
where stresses make F' indefinite Newton's method may go astray. Pseudo-transient continuation (Kelley and Keyes 1998) is then
begun at rest: the same with a multiple of the slopes without stresses on top, which falls as the residual does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...deformable.stvk_forces import interval_force, tangents
from ...linalg.elementary import sines_and_cosines
from ...linalg.in_order import dot, length
from ...linalg.small_dense import is_positive_definite, solved
from .spinning import SpunBends

__all__ = ["BEND_PARTS", "Curve", "LargeBend", "LargeBends", "later_weight"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Of the mass of a mode at the least, whatever the steps: two radians a step leave so much.
LEAST_MASS = 0.4
# Of the energy of a body: by how much of it strains along axes that are too fast may change in a step.
MOST_SET_FREE = 0.01
# Of a scene's step: the shapes of a compact body span a factor of six in frequency, so that eight parts follow all of a body
# whose first mode the step itself just follows.
BEND_PARTS = 8
FREE_STEPS = 20
SLOWED_STEPS = 100
# Of the largest modal velocity: a change so small leaves the square of it, which is nothing.
NEARLY = 1e-6


@dataclass(frozen=True)
class Curve:
    """A step's motion about some modal velocities: block (r, r), which impulses push against, and velocities (r,) without."""

    block: Floats
    velocity: Floats


@dataclass(frozen=True)
class LargeBends(SpunBends):
    """The same as `SpunBends`, with the steps of bodies in large bends, and these about the motion without contacts."""

    steps: tuple[LargeBend, ...]
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class LargeBend:
    """The step of a body in large bends.

    body: its index in the scene. unknown: (r,) among the degrees of freedom. gram: (k, k). q: (r,) as the step begins. known:
    (r,) the right side. inertia: (r,) 1 + T h b omega^2. acts: s, for how long the force of the step's own interval
    does. slack: (r,) s^3, see `interval_force`. h, late: s. mass: kg. omega: (r,) rad/s, of all axes; slow: (r,) rad/s, the
    frequencies of modes, 0 of all else. calm: the same step by backward Euler, None of one that is. loose: how many parts of a
    step that is by backward Euler would not set the last interval's force free, 1 where no parts help.
    """

    body: int
    unknown: Ints
    gram: Floats
    q: Floats
    known: Floats
    inertia: Floats
    acts: float
    slack: Floats
    h: float
    late: float
    mass: float
    omega: Floats
    slow: Floats
    calm: LargeBend | None = None
    loose: int = 1

    @classmethod
    def begun(
        cls, of: tuple[int, Ints, ReducedBody], state: tuple[Floats, Floats], step: tuple[float, float, float], other: Floats
    ) -> LargeBend:
        """of: the body's index, its unknowns, and what it is. state: q and its velocities (r,). step: s, h, the one before, and
        how long forces act. other: (r,) N/sqrt(kg), what pulls besides."""
        (index, unknown, body), (q, v), (h, before, time) = of, state, step
        large, omega, square = body.large, body.omega, body.omega**2
        assert large is not None
        late = float(body.damping[0] / square[0])
        axes = np.arange(len(q))
        followed, did = (follows(interval, omega, late) for interval in (h, before))
        slow = np.where(axes < large.modes, omega, 0.0)
        # the strains of the end: their mean and half of what they change by
        slack, known = 0.5 * h / square, v + time * other
        calm = cls(index, unknown, large.gram, q, known, np.ones_like(q), h, slack, h, late, body.mass, omega, slow)
        if h * omega[0] > MOST_A_STEP:
            return calm
        critical = (2.0 / omega - late) / square
        last = interval_force(large.gram, q - before * v, v, before, late, np.where(did, 0.0, critical))
        weight = later_weight(np.minimum(h * omega, MOST_A_STEP)) - 0.25
        # a short step after a long one
        weight = np.maximum(weight, (LEAST_MASS - 1.0) / (time * max(h, before) * square))
        heavier = time * np.where(followed & (axes < large.modes), weight, 0.0) * square
        known, slack = known + before * heavier * v, np.where(followed, 0.0, critical)
        # velocities begin where places do, and are half a step behind from then on
        acts, acted = (0.5 * h, 0.5 * before) if before > 0.0 else (0.5 * time, 0.5 * time)
        # what the last interval's force is more than the strains that it ended with
        still = np.zeros_like(q)
        loose = acted * (last - interval_force(large.gram, q, still, 0.0, 0.0, still))
        parts = calm._parts(loose, dot(v, v) + float(np.sum((slow * q) ** 2)))
        if parts != 1:
            return replace(calm, loose=parts or 1)
        return replace(calm, known=known - acted * last, inertia=1.0 + h * heavier, acts=acts, slack=slack, calm=calm)

    def sets_free(self, velocity: Floats) -> bool:
        """Whether strains along axes that are too fast change too much for a step that is not by backward Euler.

        Parameters
        ----------
        velocity : (r,) that the step was solved for
        """
        return self.calm is not None and self._parts(*self._change(velocity)) != 1

    def parts(self, velocity: Floats | None) -> int:
        """Return into how many parts the step has to be cut so that it follows the strains that it changes.

        Parameters
        ----------
        velocity : (r,) that the step was solved for, None where it is not solved yet

        Returns
        -------
        1, 2, 4 or 8; 1 also where eight parts do not suffice, and where none of the modes swings
        """
        if self.calm is None or velocity is None:
            return self.loose
        return self._parts(*self._change(velocity)) or 1

    def _change(self, velocity: Floats) -> tuple[Floats, float]:
        """(r,) sqrt(J), by how much the strains along all axes change at velocities (r,), and J, twice the energy that the
        body has."""
        i, j = np.triu_indices(len(velocity))
        middle, after = self.q + 0.5 * self.h * velocity, self.q + self.h * velocity
        rate = np.concatenate([velocity, middle[i] * velocity[j] + middle[j] * velocity[i]])
        along = self.gram[: len(velocity)]
        change = self.h * (along * rate).sum(axis=1) / np.sqrt(np.diag(along))
        stored = max(float(np.sum((self.slow * place) ** 2)) for place in (self.q, after))
        return change, dot(velocity, velocity) + stored

    def _parts(self, change: Floats, energy: float) -> int:
        """The fewest parts of the step, 1 to BEND_PARTS, whose axes that are too fast have no more of a change (r,), in
        sqrt(J), than they may of an energy in J; 0 where not even the most parts do."""
        parts = 1
        while parts <= BEND_PARTS:
            freed = change[~follows(self.h / parts, self.omega, self.late)]
            if dot(freed, freed) <= MOST_SET_FREE * energy:
                return parts
            parts *= 2
        return 0

    def about(self, velocity: Floats, slowed: float = 0.0) -> Curve:
        """The motion about velocities (r,); slowed: of the slopes without stresses, on top of the slopes."""
        residual, slopes, of_strains = self._slopes(velocity)
        block = self._block(slopes, of_strains, slowed)
        return Curve(block, velocity - solved(block, residual))

    def free(self, velocity: Floats) -> Curve:
        """The motion without contacts, looked for from velocities (r,) by Newton's method, and then from rest: about itself."""
        found = self._followed(velocity, 0.0, FREE_STEPS)
        if found is None:
            found = self._followed(np.zeros_like(velocity), 1.0, SLOWED_STEPS)
        return self.about(velocity) if found is None else found

    def _followed(self, velocity: Floats, slowed: float, steps: int) -> Curve | None:
        """The motion from velocities (r,), by so many steps of pseudo-transient continuation, or of Newton's method where it is
        not slowed; None where they do not end."""
        residual, slopes, of_strains = self._slopes(velocity)
        for _ in range(steps):
            change, size = solved(slopes + slowed * of_strains, residual), length(residual)
            velocity = velocity - change
            if (1.0 + slowed) * np.abs(change).max() <= NEARLY * np.abs(velocity).max():
                return Curve(self._block(slopes, of_strains, 0.0), velocity)
            residual, slopes, of_strains = self._slopes(velocity)
            if not np.isfinite(residual).all():
                break
            if slowed > 0.0:
                slowed *= min(length(residual) / size, 1.0)
        return None

    def _slopes(self, velocity: Floats) -> tuple[Floats, Floats, Floats]:
        """(r,) how far velocities are from the rule, in momenta; (r, r) by how much that changes with them; and what of it is
        symmetric and positive definite whatever the stresses."""
        force, of_velocity, of_strains = tangents(self.gram, self.q, velocity, self.h, self.late, self.slack)
        inertia = np.diag(self.inertia)
        residual = self.inertia * velocity + self.acts * force - self.known
        return residual, inertia + self.acts * of_velocity, inertia + self.acts * of_strains

    def _block(self, slopes: Floats, of_strains: Floats, slowed: float) -> Floats:
        """(r, r) symmetric and positive definite."""
        block = 0.5 * (slopes + slopes.T) + slowed * of_strains
        if is_positive_definite(block):
            return block
        # pressed flat: the stresses would let it move off by itself
        return (1.0 + slowed) * of_strains


def follows(h: float, omega: Floats, late: float) -> NDArray[np.bool_]:
    """(r,) the axes of frequencies omega in rad/s that steps of h s follow, with damping `late` s times the rate of strains."""
    return (h * omega <= MOST_A_STEP) & (h * late * omega**2 <= MOST_A_STEP)


def later_weight(angle: Floats) -> Floats:
    """a of modes that turn by an angle in rad, up to pi, in a step: the weight of the force at either end of two steps."""
    return 0.5 / (1.0 - sines_and_cosines(angle)[1]) - 1.0 / angle**2
