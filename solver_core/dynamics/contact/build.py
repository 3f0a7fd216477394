# SPDX-License-Identifier: GPL-3.0-or-later
"""Assembly of a step's contact problem from the contacts of its bodies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...problem.system import System
from ..model.bodies import State
from ..model.carried import carry, swing, turned_along
from ..model.impact_memory import ImpactMemory
from ..model.mass_blocks import mass_blocks, widest_block
from ..model.predict import Begin
from ..model.rest_gaps import TOUCHING_OFFSETS, AtRest
from .grain import coefficient_in_force, has_all_its_friction
from .material_rules import DYNAMIC, STATIC, Rules, combine_in_kernels
from .memory import ContactMemory, is_at_its_limit, match, recall
from .restitution import approach_of_pair, begun_row, bounce, has_begun

__all__ = ["NO_TURNING", "Beyond", "StepProblem", "build_system", "stick_speed"]

Floats = NDArray[np.float64]

STICK_FRACTION = 1e-3  # fraction of the speed that gravity gives in a step; slower contacts are at rest
STICK_SPEED = 1e-6  # m/s, the same without gravity
VERTICAL = 1e-12  # squared sine of the angle to the vertical; a normal with less is vertical
NO_TURNING = np.zeros((0, 3))


class Beyond(NamedTuple):
    """Bias terms of m contacts: contact velocities in addition to J v, in m/s and world axes.

    drift: (m, 3) the velocity of B's surface relative to A's, in addition to their rigid motions. turning: (m, 3) due to the
    rotation of levers within the step. aside: (m, 3) the part of `turning` that sliding friction does not oppose. The last two
    may be `NO_TURNING`. known: (m,) rolling or spinning contacts, for which these terms are computed (`rolling.py`).
    """

    drift: Floats
    turning: Floats
    aside: Floats
    known: NDArray[np.bool_]


class Limits(NamedTuple):
    """Times and speeds of a step.

    Attributes
    ----------
    step, last_step : s, their durations
    static_speed : m/s; contacts that slide faster have the dynamic coefficient
    least_bounce : m/s; contacts do not rebound with a lower speed
    """

    step: float
    last_step: float
    static_speed: float
    least_bounce: float


class Given(NamedTuple):
    """The input of a step's rows besides bodies, rules and memory.

    Attributes
    ----------
    contacts : of the step
    rest : the gaps that their bodies keep at rest
    beyond : contact velocities beyond J v
    begun : impacts that end in the step
    jointed : (n,) bodies with joints
    """

    contacts: ContactSet
    rest: AtRest
    beyond: Beyond
    begun: ImpactMemory
    jointed: NDArray[np.bool_]


class Work(NamedTuple):
    """Scratch vectors (3,) of one contact: its lever, the velocities of its bodies there, and its relative velocity."""

    arm: Floats
    at_a: Floats
    at_b: Floats
    u: Floats


class Known(NamedTuple):
    """The data from which the rows of a step's m contacts are assembled.

    Attributes
    ----------
    contacts : of the step
    rest : the gaps that their bodies keep at rest
    beyond : their velocities beyond J v
    memory, old : the contact history, and (m,) the row of each contact in it, -1 for new contacts
    begun : impacts that end in this step
    turns : (n,) bodies whose contacts follow the arc of a rotation (`model/carried.py`)
    """

    contacts: ContactSet
    rest: AtRest
    beyond: Beyond
    memory: ContactMemory
    old: NDArray[np.int64]
    begun: ImpactMemory
    turns: NDArray[np.bool_]


class StepProblem(NamedTuple):
    """The contact problem of a step.

    elastic: whether any contact has restitution. axes: (m, 3, 3) with rows n, t1, t2. impulse: (m, 3) N s, the warm start.
    restitution: (m,) coefficients. approach: (m,) m/s, the approach speeds to store. approach_before: (m,) m/s, the stored
    approach speeds. taken_before: (m,) J, the stored absorbed energies. parting: (m,) N s, the stored separation impulses.
    stretch: (m, 2) the coefficients of friction along the two tangents, relative to the larger one, which is `mu` of the
    system; 1 for isotropic friction. If the two differ, the friction law is an ellipse, which `problem/ellipse.py` maps to a
    disk for the solver.
    """

    system: System
    elastic: bool
    axes: Floats
    impulse: Floats
    restitution: Floats
    approach: Floats
    approach_before: Floats
    taken_before: Floats
    parting: Floats
    stretch: Floats


def stick_speed(gravity: float, h: float) -> float:
    """Return m/s, the sliding speed above which a contact has the dynamic coefficient in a step of h seconds.

    gravity: m/s^2.
    """
    return max(STICK_SPEED, STICK_FRACTION * gravity * h)


@kernel_part
def _tangents(nx, ny, nz, axes):
    """Write axes (3, 3): rows n, t1, t2, right-handed; t1 is horizontal unless n is vertical."""
    axes[0, 0], axes[0, 1], axes[0, 2] = nx, ny, nz
    if nx * nx + ny * ny > VERTICAL:
        size = np.sqrt(nx * nx + ny * ny)
        axes[1, 0], axes[1, 1], axes[1, 2] = -ny / size, nx / size, 0.0
    else:
        size = np.sqrt(nx * nx + nz * nz)
        axes[1, 0], axes[1, 1], axes[1, 2] = nz / size, 0.0, -nx / size
    t = axes[1]
    axes[2, 0] = ny * t[2] - nz * t[1]
    axes[2, 1] = nz * t[0] - nx * t[2]
    axes[2, 2] = nx * t[1] - ny * t[0]


@leaf_kernel
def _fill_jacobian(jacobian, k, sign, axes, arm, lock):
    """Write the rows sign (e, arm x e) of contact k for each contact axis e. Entries of locked axes are zero."""
    for row in range(3):
        e0, e1, e2 = axes[row, 0], axes[row, 1], axes[row, 2]
        jacobian[k, row, 0] = sign * e0 * lock[0]
        jacobian[k, row, 1] = sign * e1 * lock[1]
        jacobian[k, row, 2] = sign * e2 * lock[2]
        jacobian[k, row, 3] = sign * (arm[1] * e2 - arm[2] * e1) * lock[3]
        jacobian[k, row, 4] = sign * (arm[2] * e0 - arm[0] * e2) * lock[4]
        jacobian[k, row, 5] = sign * (arm[0] * e1 - arm[1] * e0) * lock[5]


@leaf_kernel
def _point_velocity(twist, arm, out):
    out[0] = twist[0] + twist[4] * arm[2] - twist[5] * arm[1]
    out[1] = twist[1] + twist[5] * arm[0] - twist[3] * arm[2]
    out[2] = twist[2] + twist[3] * arm[1] - twist[4] * arm[0]


@kernel_part
def _velocity_between(axes, at_a, at_b, drift, is_known_a, is_known_b, u, bias):
    """Write u (3,), the velocity of B relative to A along the contact axes, and add its known part to bias (3,).

    The known part is the drift and the contribution of bodies with prescribed motion.
    """
    for row in range(3):
        u[row] = 0.0
        for i in range(3):
            e = axes[row, i]
            u[row] += e * (at_b[i] - at_a[i] + drift[i])
            bias[row] += e * drift[i]
            if is_known_b:
                bias[row] += e * at_b[i]
            if is_known_a:
                bias[row] -= e * at_a[i]


@kernel_part
def _add_turning(axes, turning, u, bias):
    """Add a velocity (3,) in world axes to the bias (3,), and subtract it from the slip u (3,).

    The slip belongs to the previous step but uses the levers at its end. In the middle of that step it was smaller by as much
    as it will be larger in the middle of this one.
    """
    for row in range(3):
        along = axes[row, 0] * turning[0] + axes[row, 1] * turning[1] + axes[row, 2] * turning[2]
        bias[row] += along
        if row > 0:
            u[row] -= along


@kernel_part
def _add(axes, velocity, bias):
    """Add a velocity (3,) in world axes to the bias (3,)."""
    for row in range(3):
        bias[row] += axes[row, 0] * velocity[0] + axes[row, 1] * velocity[1] + axes[row, 2] * velocity[2]


@kernel_part
def _pulled_together(normal, twist, predicted, a, b):
    """Return m/s, the closing speed that forces alone add between two bodies from one step to the next."""
    total = 0.0
    for i in range(3):
        total += normal[i] * (predicted[a, i] - twist[a, i] - predicted[b, i] + twist[b, i])
    return total


@kernel
def fill_problem(model, position, bodies, limits, rules, given, memory, problem):
    """Fill the rows of a step's `StepProblem`, which has the zeros of `empty_problem`.

    A contact may close its gap within the step and no more: c = gap / h. In the step in which an impact ends, c is minus the
    speed of the rebound (`restitution.py`).

    Parameters
    ----------
    model : of the bodies
    position : (n, 3) m, at the start of the step
    bodies : `Prediction` of the step
    limits : `Limits`
    rules : how the coefficients of two bodies combine
    given : `Given`
    memory : `ContactMemory` of the last step
    problem : `StepProblem`, written except for `elastic`

    Returns
    -------
    Whether any contact has restitution.
    """
    contacts, begun = given.contacts, given.begun
    work = Work(np.empty(3), np.empty(3), np.empty(3), np.empty(3))
    old = match(memory, contacts)
    turns = turned_along(bodies.twist, (model.dof < 0) | given.jointed, contacts.body_a, contacts.body_b)
    known = Known(contacts, given.rest, given.beyond, memory, old, begun, turns)
    elastic = _fill_rows(model, position, bodies, limits, rules, known, work, problem)
    if elastic and begun.body_a.size:
        _share_taken(contacts, begun, problem)
    return elastic


@leaf_kernel
def _fill_rows(model, position, bodies, limits, rules, known, work, problem):
    """Fill the rows of a `StepProblem` from `Known`, with `Work` as scratch. Returns whether any contact has restitution."""
    arm, at_a, at_b, u, of_begun = work.arm, work.at_a, work.at_b, work.u, np.int64(0)
    times = limits.step, limits.last_step
    contacts, rest, beyond, memory = known.contacts, known.rest, known.beyond, known.memory
    begun, turns = known.begun, known.turns
    twist, h, elastic, system = bodies.twist, limits.step, False, problem.system
    for k in range(contacts.gap.size):
        a, b, old = contacts.body_a[k], contacts.body_b[k], known.old[k]
        is_known_a, is_known_b = model.dof[a] < 0, model.dof[b] < 0
        axes, bias = problem.axes[k], system.bias[k]
        _tangents(contacts.normal[k, 0], contacts.normal[k, 1], contacts.normal[k, 2], axes)
        for i in range(3):
            arm[i] = contacts.point[k, i] - position[a, i]
        _point_velocity(twist[a], arm, at_a)
        if not is_known_a:
            _fill_jacobian(system.jacobian_a, k, -1.0, axes, arm, model.lock[a])
        for i in range(3):
            arm[i] = contacts.point[k, i] - position[b, i]
        _point_velocity(twist[b], arm, at_b)
        if not is_known_b:
            _fill_jacobian(system.jacobian_b, k, 1.0, axes, arm, model.lock[b])
        _velocity_between(axes, at_a, at_b, beyond.drift[k], is_known_a, is_known_b, u, bias)
        if rest.held[k]:
            swing(axes, twist[a], twist[b], contacts.point[k], position[a], position[b], h, bias)
        elif beyond.known[k]:
            _add_turning(axes, beyond.turning[k], u, bias)
        elif turns[a]:
            for i in range(3):
                arm[i] = position[a, i] - position[b, i]
            carry(axes, twist[a], twist[b], arm, h, bias)
        i = DYNAMIC if np.sqrt(u[1] * u[1] + u[2] * u[2]) > limits.static_speed else STATIC
        mu = coefficient_in_force(rules, model.mu, bodies.rotation, (a, b, i), problem, k)
        if beyond.known[k] and i == DYNAMIC and old >= 0 and _is_at_its_limit(memory.impulse[old], problem, k, mu):
            _add(axes, beyond.aside[k], bias)
        _recall(memory, old, axes, problem, k)
        gap = max(0.0, contacts.gap[k] - rest.gap[k])
        e = combine_in_kernels(rules.restitution, model.restitution[a], model.restitution[b])
        touches = contacts.gap[k] - rest.gap[k] <= TOUCHING_OFFSETS * rest.offset[k]
        of_begun = begun_row(begun, of_begun, a, b)
        if touches and problem.approach_before[k] == 0.0:
            problem.approach_before[k] = approach_of_pair(begun, of_begun, contacts, k, position)
        between = 0.5 * (times[0] + times[1])
        pull = _pulled_together(axes[0], twist, bodies.predicted, a, b) / between
        # Bodies that touch may still pass each other, as a rod does whose tip turns past a post.
        ends = problem.approach_before[k] > 0.0 or (touches and h * (between * pull - u[0]) >= gap)
        rebound, problem.approach[k] = bounce(-u[0], pull, gap, times, problem.approach_before[k], e, limits.least_bounce, ends)
        system.slack[k] = -rebound if rebound > 0.0 else gap / h
        system.mu[k], problem.restitution[k] = mu, e
        elastic |= e > 0.0
    return elastic


@kernel_part
def _is_at_its_limit(remembered, problem, k, mu):
    """Return whether a stored impulse (4,) of contact k has all the friction that its coefficients allow."""
    if problem.stretch[k, 0] == 1.0 and problem.stretch[k, 1] == 1.0:
        return is_at_its_limit(remembered, mu)
    return has_all_its_friction(remembered, problem.axes[k], problem.stretch[k], mu)


@kernel_part
def _recall(memory, old, axes, problem, k):
    """Copy the stored data of contact k to the problem. old: its row in the history, -1 for a new contact."""
    if old >= 0:
        recall(memory.impulse[old], memory.normal[old], axes, problem.impulse[k])
        problem.parting[k] = memory.parting[old]
        if has_begun(memory, old):
            problem.approach_before[k], problem.taken_before[k] = memory.approach[old], memory.taken[old]


@leaf_kernel
def _share_taken(contacts, begun, problem):
    """Distribute the energy that the impact of a pair absorbed equally over its rebounding contacts."""
    k, m = 0, contacts.gap.size
    for row in range(begun.body_a.size):
        a, b = begun.body_a[row], begun.body_b[row]
        while k < m and (contacts.body_a[k] < a or (contacts.body_a[k] == a and contacts.body_b[k] < b)):
            k += 1
        first, rebounding = k, 0
        while k < m and contacts.body_a[k] == a and contacts.body_b[k] == b:
            rebounding += problem.system.slack[k] < 0.0
            k += 1
        for i in range(first, k):
            problem.taken_before[i] = begun.taken[row] / rebounding if problem.system.slack[i] < 0.0 else 0.0


def build_system(
    begin: Begin,
    state: State,
    contacts: ContactSet,
    beyond: Beyond,
    memory: ContactMemory,
    rules: Rules,
    least_bounce: float,
    held: NDArray[np.bool_],
) -> StepProblem:
    """Build the contact problem of a step without joints.

    Parameters
    ----------
    begin : the predicted step
    state : at the start of the step
    contacts : of the step
    beyond : contact velocities beyond J v
    memory : of the contacts of the last step
    rules : how the coefficients of two bodies combine
    least_bounce : m/s; contacts do not rebound with a lower speed
    held : (n,) bodies with joints

    Returns
    -------
    The problem, with the impulses of the last step as its warm start. The columns of modes are zero (`bent.py`).
    """
    limits = Limits(begin.h, begin.last_step, stick_speed(begin.gravity, begin.h), least_bounce)
    given = Given(contacts, begin.at_rest(contacts), beyond, begin.begun, held)
    problem = empty_problem(begin, contacts)
    elastic = fill_problem(begin.model, state.position, begin.bodies, limits, rules, given, memory, problem)
    return problem._replace(elastic=True) if elastic else problem


def empty_problem(begin: Begin, contacts: ContactSet) -> StepProblem:
    """Return the problem of a step with rows of zeros for its contacts."""
    m, dof, (mass, inverse_mass) = len(contacts), begin.model.dof, mass_blocks(begin)
    jacobian_a, jacobian_b = np.zeros((2, m, 3, widest_block(begin)))
    bias, impulse = np.zeros((2, m, 3))
    slack, mu, restitution, approach, approach_before, taken_before, parting = np.zeros((7, m))
    system = System(
        offset=begin.offset,
        block_start=begin.block_start,
        mass=mass,
        inverse_mass=inverse_mass,
        velocity=begin.unknowns(begin.bodies.predicted),
        body_a=dof[contacts.body_a],
        body_b=dof[contacts.body_b],
        jacobian_a=jacobian_a,
        jacobian_b=jacobian_b,
        bias=bias,
        slack=slack,
        mu=mu,
        box=np.zeros((0, 3, 3)),
        least_scale=begin.least_scale,
    )
    return StepProblem(
        system=system,
        elastic=False,
        axes=np.empty((m, 3, 3)),
        impulse=impulse,
        restitution=restitution,
        approach=approach,
        approach_before=approach_before,
        taken_before=taken_before,
        parting=parting,
        stretch=np.ones((m, 2)),
    )
