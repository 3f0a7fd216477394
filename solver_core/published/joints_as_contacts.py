# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems with joints as problems of contacts and bilateral constraints only, for algorithms without joints.

The problem is the same, row by row:

- A row with free impulses is a bilateral constraint. A row of compliance gamma also involves a particle of mass 1 / gamma, at
  rest: u + v = 0, v = gamma lam.
- A row with impulses of one sign is a contact without friction. It may have a compliance in the same way.
- A row with opposite bounds is the friction of a contact with a known normal force: mu = 1, and another particle of mass 1
  presses on it with that momentum. It may have a compliance in the same way.
- A row with any other two bounds is treated in the same way about the mean of its bounds, which is applied first.

All matrices are dense, in coordinates of mass 1, as those algorithms require.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..problem.contact_problem import ContactProblem
from ..problem.result import Result
from ..problem.system import one_body, relative_velocities

__all__ = ["JointsAsContacts", "joints_as_contacts"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class JointsAsContacts:
    """A problem of c contacts and j triples of joint rows, and its equivalent without joints.

    whole: the problem with joints.
    problem: the equivalent without joints.
    held, limits, driven: (.., 2) triple, from 0, and row of each kind, in the order of the bilateral constraints and contacts
        that replace them.
    side: 1 for a lower limit, -1 for an upper one.
    mean: (j, 3) mean of the bounds of driven rows, and of rows with equal bounds [N s].
    """

    whole: ContactProblem
    problem: ContactProblem
    held: Indices
    limits: Indices
    side: Floats
    driven: Indices
    mean: Floats

    def start(self, impulse: Floats | None) -> Floats | None:
        """Return the warm start of `problem` for impulses (c + j, 3) of the whole problem, or None."""
        if impulse is None or not self.whole.joints:
            return impulse
        contacts = self.whole.system.mu.size
        out = np.zeros((self.problem.contacts, 3))
        out[:contacts], of_joints = impulse[:contacts], impulse[contacts:]
        past = contacts + len(self.limits)
        out[contacts:past, 0] = self.side * of_joints[tuple(self.limits.T)]
        mean = self.mean[tuple(self.driven.T)]
        out[past:, 0] = self.whole.system.box[(*self.driven.T, 1)] - mean
        out[past:, 1] = of_joints[tuple(self.driven.T)] - mean
        return out

    def impulse(self, impulse: Floats, bilateral: Floats) -> Floats:
        """Return the impulses (c + j, 3) of the whole problem for those of `problem`, without the mean of bounds."""
        contacts = self.whole.system.mu.size
        out = np.zeros((self.whole.contacts, 3))
        out[:contacts], of_joints = impulse[:contacts], out[contacts:]
        past = contacts + len(self.limits)
        of_joints[tuple(self.limits.T)] = self.side * impulse[contacts:past, 0]
        of_joints[tuple(self.driven.T)] = impulse[past:, 1]
        of_joints[tuple(self.held.T)] = bilateral[len(self.whole.bilateral[1]) :]
        return out

    def result(self, result: Result) -> Result:
        """Return a result of `problem` as a result of the whole problem."""
        if not self.whole.joints:
            return result
        constraints = len(self.whole.bilateral[1])
        impulse, bilateral = self.impulse(result.impulse, result.bilateral), result.bilateral[:constraints]
        impulse[self.whole.system.mu.size :] += self.mean
        v = self.whole.velocity_after(impulse, bilateral)
        ray = None if result.ray is None else self.impulse(result.ray, np.zeros(constraints + len(self.held)))
        velocity = relative_velocities(self.whole.system, v)
        return replace(result, impulse=impulse, velocity=velocity, body_velocity=v, bilateral=bilateral, ray=ray)


def joints_as_contacts(problem: ContactProblem) -> JointsAsContacts:
    """Return the equivalent of a problem without joints. A problem that has no joints is returned as it is.

    Raises ValueError that names a row with other bounds.
    """
    system = problem.system
    low, high = system.box[..., 0], system.box[..., 1]
    held = (low == -np.inf) & (high == np.inf)
    limits = ((low == 0.0) & (high == np.inf)) | ((low == -np.inf) & (high == 0.0))
    bounded = np.isfinite(low) & np.isfinite(high)
    driven = bounded & (low < high)
    strange = np.argwhere(~(held | limits | bounded))
    if len(strange):
        joint, row = strange[0]
        raise ValueError(
            f"box[{joint}, {row}] = {system.box[joint, row]}: this method supports joint rows with no bound, with one bound of "
            "0, or with two bounds; choose the method staggered"
        )
    mean = np.zeros_like(low)
    mean[bounded] = 0.5 * (low[bounded] + high[bounded])
    rows = np.argwhere(held), np.argwhere(limits), np.argwhere(driven)
    side = np.where(low[tuple(rows[1].T)] == 0.0, 1.0, -1.0)
    without = _translated(_begun(problem, mean), *rows, side, mean) if problem.joints else problem
    return JointsAsContacts(problem, without, rows[0], rows[1], side, rows[2], mean)


def _begun(problem: ContactProblem, mean: Floats) -> ContactProblem:
    """Return the problem after its joint rows have applied impulses (j, 3) [N s]."""
    if not mean.any():
        return problem
    impulse = np.zeros((problem.contacts, 3))
    impulse[problem.system.mu.size :] = mean
    velocity = problem.velocity_after(impulse, np.zeros(len(problem.bilateral[1])))
    return replace(problem, system=problem.system._replace(velocity=velocity))


def _translated(
    problem: ContactProblem, held: Indices, limits: Indices, driven: Indices, side: Floats, mean: Floats
) -> ContactProblem:
    system, contacts = problem.system, problem.system.mu.size
    n, more = system.velocity.size, (held, limits, driven)
    give, give_way, give_in = (system.box[(*which.T, 2)] for which in more)
    giving, giving_way, giving_in = (np.flatnonzero(some > 0.0) for some in (give, give_way, give_in))
    past_held = n + len(giving)
    past_limits = past_held + len(giving_way)
    size = past_limits + len(giving_in) + len(driven)
    # v = v_hat + C x, where x has mass 1
    C = np.linalg.cholesky(problem.inverse_mass)
    every = (problem.jacobian @ C).reshape(problem.contacts, 3, n)
    free = problem.free_velocity
    of_held, of_limits, of_driven = (every[contacts:][tuple(which.T)] for which in more)
    free_held, free_limits, free_driven = (free[contacts:][tuple(which.T)] for which in more)
    m = contacts + len(limits) + len(driven)
    past = contacts + len(limits)
    jacobian, velocity, slack, mu = np.zeros((m, 3, size)), np.zeros((m, 3)), np.zeros(m), np.zeros(m)
    jacobian[:contacts, :, :n], velocity[:contacts] = every[:contacts], free[:contacts]
    slack[:contacts], mu[:contacts] = system.slack, system.mu
    jacobian[contacts:past, 0, :n], velocity[contacts:past, 0] = side[:, None] * of_limits, side * free_limits
    jacobian[contacts + giving_way, 0, past_held + np.arange(len(giving_way))] = np.sqrt(give_way[giving_way])
    of_mean = mean[tuple(driven.T)]
    jacobian[np.arange(past, m), 0, size - len(driven) + np.arange(len(driven))] = 1.0
    velocity[past:, 0] = of_mean - system.box[(*driven.T, 1)]
    jacobian[past:, 1, :n], velocity[past:, 1], mu[past:] = of_driven, free_driven + give_in * of_mean, 1.0
    jacobian[past + giving_in, 1, past_limits + np.arange(len(giving_in))] = np.sqrt(give_in[giving_in])
    bilateral = np.zeros((len(problem.bilateral[1]) + len(held), size))
    bilateral[:, :n] = np.vstack([problem.bilateral[0] @ C, of_held])
    bilateral[len(problem.bilateral[1]) + giving, n + np.arange(len(giving))] = np.sqrt(give[giving])
    return replace(
        problem,
        system=one_body(jacobian, velocity, slack, mu, system.least_scale),
        mu=mu,
        mu_dynamic=mu,
        sliding=np.append(problem.sliding, np.zeros(m - contacts, dtype=bool)),
        direction=np.vstack([problem.direction, np.zeros((m - contacts, 2))]),
        bilateral=(bilateral, np.append(problem.bilateral[1], free_held)),
    )
