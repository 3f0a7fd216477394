# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of a flexible body with large deformation: the integration rule of linear modes, extended to nonlinear forces.

The force F of an interval between two positions is the discrete gradient of the elastic energy, which does exactly the work
between them, plus damping: a damping time times the rate of the strains. A step uses the mean of the force of the last interval
and of its own:

    (1 + T h b omega^2) v+ + h/2 F(q, q + h v+) = (1 + T h' b omega^2) v - h'/2 F(q - h' v, q) + T g,    b = a - 1/4

Here a is the weight of linear modes (`bending.py`). If the energy W is quadratic, the rule is the one of linear modes and
frequencies are exact. Without contacts

    1/2 p.(1 + h^2 b omega^2) p + W(q),    p = v - h/2 F

is constant without damping, for steps of any lengths except for the terms in b, and decreases with damping. For shapes that are
not modes, b is 0. They follow the deformation of the modes and need their own mass for that. Otherwise a beam would oscillate
faster in longer steps.

Strains along axes that are too fast for the step are damped critically. The damping acts on the rate of the strain, not on the
rate of q, because a shape that follows a bend is not strained by it. Backward Euler for such axes would take three quarters of
the amplitude of an oscillation of a hundredth of the length in ten seconds.

p contains the change of velocity by F in half a step. Along an axis that is too fast this is more than the actual motion, and
its energy is (h omega / 2)^2 times the energy stored there. It has no effect while a load is supported, but would be released
when the support lets go. Backward Euler is therefore used for a step in which strains along such axes would change by more than
a hundredth of the body's energy, or whose last interval had that much more force than the strains at its end. It is also used
for all steps of a body none of whose modes oscillates. With the strains at the end of the step,

    v+ + h F(q, q + h v+) = v + T g,    and    1/2 v.v + W(q)

never increases, for any deformation.

Backward Euler dissipates most of a bounce, in which strains along such axes hold much of the energy. Shorter steps resolve more
axes. Such a step is therefore first split into two, four or eight partial steps: the fewest after which the unresolved axes
hold less than that hundredth (`LargeBend.parts`). Backward Euler remains for steps that eight parts do not resolve.

The linearization of F at velocities w is F(w) + F'(w) (v+ - w). The symmetric part of F' is the mass block for impulses, and
the step is solved again about its solution (`solve/bent_further.py`). A solution always exists, because F does no more work
than W holds. If stresses make F' indefinite, Newton's method may diverge. Then pseudo-transient continuation (Kelley and Keyes
1998) starts from rest: a multiple of the derivative without stresses is added, and decreases with the residual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...deformable.stvk_forces import interval_force, tangents
from ...linalg.elementary import sines_and_cosines
from ...linalg.in_order import dot, length
from ...linalg.small_dense import is_positive_definite, solved
from .predict import StepTimes
from .spinning import ModalState, SpunBends

__all__ = ["BEND_PARTS", "FlexibleBody", "LargeBend", "LargeBends", "Linearization"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Smallest fraction of a mode's mass for any pair of steps; it is that of two radians per step.
LEAST_MASS = 0.4
# Fraction of the energy of a body; if strains along unresolved axes change by more in a step, it uses backward Euler.
MAX_RELEASED_FRACTION = 0.01
# Most partial steps of a time step of the scene. The shapes of a compact body span a factor of six in frequency, so eight parts
# resolve all shapes of a body whose first mode the full step just resolves.
BEND_PARTS = 8
UNDAMPED_STEPS = 20
DAMPED_STEPS = 100
# Relative to the largest modal velocity. Newton's method squares the error, so one more step would be exact to rounding.
NEWTON_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Linearization:
    """The linearized step of a body. block: (r, r) the mass block for impulses. velocity: (r,) without impulses."""

    block: Floats
    velocity: Floats


@dataclass(frozen=True)
class LargeBends(SpunBends):
    """`SpunBends`, with the steps of bodies with large deformation, linearized about their motion without contacts."""

    steps: tuple[LargeBend, ...]
    curves: tuple[Linearization, ...]


class FlexibleBody(NamedTuple):
    """A flexible body in a step.

    number: index among the bodies of the scene. unknown: (r,) the indices of its shapes among the degrees of freedom. reduced:
    its shapes.
    """

    number: int
    unknown: Ints
    reduced: ReducedBody


@dataclass(frozen=True)
class LargeBend:
    """The step of a body with large deformation.

    Attributes
    ----------
    body : index in the scene
    unknown : (r,) the indices of its shapes among the degrees of freedom
    gram : (k, k) Gram matrix of the strains
    q : (r,) m sqrt(kg), at the start of the step
    rhs : (r,) m/s sqrt(kg), the right side of the equation
    inertia : (r,) 1 + T h b omega^2
    interval_time : s, the time over which the force of the step's own interval acts
    slack : (r,) s^3, see `interval_force`
    h : s, the step
    damping_time : s
    mass : kg
    omega : (r,) rad/s, the frequencies of all axes
    mode_omega : (r,) rad/s, the frequencies of modes, 0 for other shapes
    backward_euler : the same step with backward Euler; None if this step uses it
    start_parts : the number of parts of this step with backward Euler after which the force of the last interval would not be
        released; 1 if no number suffices
    """

    body: int
    unknown: Ints
    gram: Floats
    q: Floats
    rhs: Floats
    inertia: Floats
    interval_time: float
    slack: Floats
    h: float
    damping_time: float
    mass: float
    omega: Floats
    mode_omega: Floats
    backward_euler: LargeBend | None = None
    start_parts: int = 1

    @classmethod
    def at_start(cls, body: FlexibleBody, state: ModalState, times: StepTimes, load: Floats) -> LargeBend:
        """Set up the step of a body.

        Parameters
        ----------
        body : the body
        state : at the start of the step
        times : of the step
        load : (r,) N/sqrt(kg), forces that are not elastic
        """
        (index, unknown, reduced), (q, v), (h, before, time) = body, state, times
        large, omega, square = reduced.large, reduced.omega, reduced.omega**2
        assert large is not None
        damping_time = float(reduced.damping[0] / square[0])
        axes = np.arange(len(q))
        is_resolved, was_resolved = (resolved(interval, omega, damping_time) for interval in (h, before))
        mode_omega = np.where(axes < large.modes, omega, 0.0)
        # The strains at the end of the step are their mean plus half of their change.
        slack, rhs = 0.5 * h / square, v + time * load
        one = np.ones_like(q)
        implicit = cls(index, unknown, large.gram, q, rhs, one, h, slack, h, damping_time, reduced.mass, omega, mode_omega)
        if h * omega[0] > MOST_A_STEP:
            return implicit
        critical = (2.0 / omega - damping_time) / square
        last = interval_force(large.gram, q - before * v, v, before, damping_time, np.where(was_resolved, 0.0, critical))
        weight = end_force_weight(np.minimum(h * omega, MOST_A_STEP)) - 0.25
        # The bound matters for a short step after a long one.
        weight = np.maximum(weight, (LEAST_MASS - 1.0) / (time * max(h, before) * square))
        added = time * np.where(is_resolved & (axes < large.modes), weight, 0.0) * square
        rhs, slack = rhs + before * added * v, np.where(is_resolved, 0.0, critical)
        # In the first step, velocities start at the same time as positions; later they are half a step behind.
        own_time, last_time = (0.5 * h, 0.5 * before) if before > 0.0 else (0.5 * time, 0.5 * time)
        # The impulse of the last interval's force in excess of the strains at its end.
        still = np.zeros_like(q)
        excess = last_time * (last - interval_force(large.gram, q, still, 0.0, 0.0, still))
        parts = implicit._parts(excess, dot(v, v) + float(np.sum((mode_omega * q) ** 2)))
        if parts != 1:
            return replace(implicit, start_parts=parts or 1)
        return replace(
            implicit,
            rhs=rhs - last_time * last,
            inertia=1.0 + h * added,
            interval_time=own_time,
            slack=slack,
            backward_euler=implicit,
        )

    def releases_too_much(self, velocity: Floats) -> bool:
        """Return whether strains along unresolved axes change too much, so that the step has to use backward Euler.

        Parameters
        ----------
        velocity : (r,) the solved modal velocities
        """
        return self.backward_euler is not None and self._parts(*self._change(velocity)) != 1

    def parts(self, velocity: Floats | None) -> int:
        """Return the number of parts into which the step has to be split to resolve the strains that it changes.

        Parameters
        ----------
        velocity : (r,) the solved modal velocities; None if the step is not solved yet

        Returns
        -------
        1, 2, 4 or 8; also 1 if eight parts do not suffice, or if none of the modes oscillates
        """
        if self.backward_euler is None or velocity is None:
            return self.start_parts
        return self._parts(*self._change(velocity)) or 1

    def _change(self, velocity: Floats) -> tuple[Floats, float]:
        """Return the change of strains in the step and the energy of the body.

        Parameters
        ----------
        velocity : (r,) modal velocities

        Returns
        -------
        (r,) sqrt(J), the change of the strains along each axis; and J, twice the energy of the body
        """
        i, j = np.triu_indices(len(velocity))
        middle, after = self.q + 0.5 * self.h * velocity, self.q + self.h * velocity
        rate = np.concatenate([velocity, middle[i] * velocity[j] + middle[j] * velocity[i]])
        along = self.gram[: len(velocity)]
        change = self.h * (along * rate).sum(axis=1) / np.sqrt(np.diag(along))
        stored = max(float(np.sum((self.mode_omega * place) ** 2)) for place in (self.q, after))
        return change, dot(velocity, velocity) + stored

    def _parts(self, change: Floats, energy: float) -> int:
        """Return the fewest parts of the step whose unresolved axes change by no more than allowed.

        Parameters
        ----------
        change : (r,) sqrt(J), along each axis
        energy : J

        Returns
        -------
        1 to BEND_PARTS; 0 if even the most parts do not suffice
        """
        parts = 1
        while parts <= BEND_PARTS:
            released = change[~resolved(self.h / parts, self.omega, self.damping_time)]
            if dot(released, released) <= MAX_RELEASED_FRACTION * energy:
                return parts
            parts *= 2
        return 0

    def linearize_at(self, velocity: Floats, damping: float = 0.0) -> Linearization:
        """Linearize the step.

        Parameters
        ----------
        velocity : (r,) about which
        damping : the multiple of the derivative without stresses that is added
        """
        residual, derivative, without_stresses = self._derivatives(velocity)
        block = self._block(derivative, without_stresses, damping)
        return Linearization(block, velocity - solved(block, residual))

    def solve_unconstrained(self, velocity: Floats) -> Linearization:
        """Find the motion without contacts by Newton's method from velocities (r,), and if that fails from rest.

        Returns the linearization about this motion.
        """
        found = self._newton(velocity, 0.0, UNDAMPED_STEPS)
        if found is None:
            found = self._newton(np.zeros_like(velocity), 1.0, DAMPED_STEPS)
        return self.linearize_at(velocity) if found is None else found

    def _newton(self, velocity: Floats, damping: float, steps: int) -> Linearization | None:
        """Find the motion without contacts by pseudo-transient continuation; without damping this is Newton's method.

        Parameters
        ----------
        velocity : (r,) from which
        damping : the first multiple of the derivative without stresses that is added
        steps : the largest number of steps

        Returns
        -------
        the linearization about the motion; None if the steps do not converge
        """
        residual, derivative, without_stresses = self._derivatives(velocity)
        for _ in range(steps):
            change, size = solved(derivative + damping * without_stresses, residual), length(residual)
            velocity = velocity - change
            if (1.0 + damping) * np.abs(change).max() <= NEWTON_TOLERANCE * np.abs(velocity).max():
                return Linearization(self._block(derivative, without_stresses, 0.0), velocity)
            residual, derivative, without_stresses = self._derivatives(velocity)
            if not np.isfinite(residual).all():
                break
            if damping > 0.0:
                damping *= min(length(residual) / size, 1.0)
        return None

    def _derivatives(self, velocity: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the residual of the rule and its derivatives.

        Parameters
        ----------
        velocity : (r,) modal velocities

        Returns
        -------
        (r,) the residual, a momentum; (r, r) its derivative; and (r, r) the part of the derivative that is symmetric and
        positive definite for any stresses
        """
        force, derivative, without_stresses = tangents(self.gram, self.q, velocity, self.h, self.damping_time, self.slack)
        inertia = np.diag(self.inertia)
        residual = self.inertia * velocity + self.interval_time * force - self.rhs
        return residual, inertia + self.interval_time * derivative, inertia + self.interval_time * without_stresses

    def _block(self, derivative: Floats, without_stresses: Floats, damping: float) -> Floats:
        """Return the mass block (r, r) for impulses, symmetric and positive definite."""
        block = 0.5 * (derivative + derivative.T) + damping * without_stresses
        if is_positive_definite(block):
            return block
        # The body is compressed so far that its stresses would accelerate it away from equilibrium.
        return (1.0 + damping) * without_stresses


def resolved(h: float, omega: Floats, damping_time: float) -> NDArray[np.bool_]:
    """Return (r,) the axes that steps resolve.

    Parameters
    ----------
    h : s, the step
    omega : (r,) rad/s, the frequencies of the axes
    damping_time : s; the damping force is this time the rate of the strains
    """
    return (h * omega <= MOST_A_STEP) & (h * damping_time * omega**2 <= MOST_A_STEP)


def end_force_weight(angle: Floats) -> Floats:
    """Return the weight a of the force at either end of two steps.

    angle: rad, up to pi, the phase angle of a mode in a step.
    """
    return 0.5 / (1.0 - sines_and_cosines(angle)[1]) - 1.0 / angle**2
