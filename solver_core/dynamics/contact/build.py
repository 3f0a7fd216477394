# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder: contacts of bodies become a contact problem. It alone knows both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...compile.kernel import kernel, leaf_kernel
from ...problem.system import System
from ...scene.spec import FrictionCombine, SceneSpec
from ..model.bodies import RIGID, State
from ..model.carried import carry, swing, turned_along
from ..model.predict import Begin
from ..model.rest_gaps import TOUCHING_OFFSETS
from .restitution import bounce

__all__ = [
    "NO_TURNING",
    "Beyond",
    "ContactMemory",
    "StepProblem",
    "build_contacts",
    "build_system",
    "match",
    "remember",
    "rules_of",
    "stick_speed",
]

Floats = NDArray[np.float64]

STICK_FRACTION = 1e-3  # of the speed that gravity gives in a step: slower contacts are at rest
STICK_SPEED = 1e-6  # m/s, where there is no gravity
AT_ITS_LIMIT = 0.999  # of the friction that there may be: a contact that slides has all of it
VERTICAL = 1e-12  # squared sine: a normal that leans by less is vertical
NO_TURNING = np.zeros((0, 3))
STATIC, DYNAMIC = range(2)  # the columns of coefficients
PRODUCT, AVERAGE, GEOMETRIC_MEAN, MINIMUM, MAXIMUM = range(5)
RULES = {
    FrictionCombine.PRODUCT: PRODUCT,
    FrictionCombine.AVERAGE: AVERAGE,
    FrictionCombine.GEOMETRIC_MEAN: GEOMETRIC_MEAN,
    FrictionCombine.MINIMUM: MINIMUM,
    FrictionCombine.MAXIMUM: MAXIMUM,
}


class ContactMemory(NamedTuple):
    """What the next step needs to know of the contacts of this one, sorted by bodies and feature.

    body_a, body_b: (m,), feature: (m,) ids. impulse: (m, 4) the normal impulse in N s and the friction impulse in world axes.
    normal: (m, 3) along which that was, zero where an earlier version did not say. approach: (m,) speed in m/s at which the
    bodies were closing in before contact slowed them down, for restitution, and taken: (m,) J, what it has taken from them for
    that. parting: (m,) N s, what overlaps were parted by in the last try of a step.
    """

    body_a: NDArray[np.int64]
    body_b: NDArray[np.int64]
    feature: NDArray[np.uint64]
    impulse: Floats
    normal: Floats
    approach: Floats
    taken: Floats
    parting: Floats


class Rules(NamedTuple):
    """How the friction, and the restitution, of two bodies are combined.

    surface: (n,) of bodies, the row of their materials in `pairs`; 0 for those in no pair. pairs: (s, s, 2) static and dynamic
    coefficients that count in place of the combined ones; -1 where there are none.
    """

    friction: int
    restitution: int
    surface: NDArray[np.int64]
    pairs: Floats


class Beyond(NamedTuple):
    """What velocities at m contacts are beyond J v, m/s, world.

    drift: (m, 3) of the surface of B against that of A beyond their rigid motions. turning: (m, 3) as levers turn along the way
    through the step, and aside: (m, 3) what sliding friction does not oppose of them; both may be `NO_TURNING`. known: (m,)
    where they are known, at what rolls or spins (`rolling.py`).
    """

    drift: Floats
    turning: Floats
    aside: Floats
    known: NDArray[np.bool_]


class StepContacts(NamedTuple):
    """Contacts as `build_contacts` takes them: those of a `ContactSet`; rest: (m,) m, the gaps at rest, offset: (m,) m, what
    they are of bodies that nothing holds, held: (m,) whether joints hold their bodies there; jointed: (n,) which bodies some
    joint holds."""

    body_a: NDArray[np.int64]
    body_b: NDArray[np.int64]
    feature: NDArray[np.uint64]
    point: Floats
    normal: Floats
    gap: Floats
    beyond: Beyond
    rest: Floats
    offset: Floats
    held: NDArray[np.bool_]
    jointed: NDArray[np.bool_]


class ContactRows(NamedTuple):
    """What of a step's problem belongs to m contacts.

    axes: (m, 3, 3). jacobian_a, jacobian_b: (m, 3, 6). bias: (m, 3), slack: (m,). mu, restitution: (m,) the coefficients in
    force. approach, approach_before: (m,) m/s to be remembered, and as it was remembered. taken_before: (m,) J, impulse: (m, 3)
    and parting: (m,) N s, from the memory.
    """

    axes: Floats
    jacobian_a: Floats
    jacobian_b: Floats
    bias: Floats
    slack: Floats
    mu: Floats
    restitution: Floats
    approach: Floats
    approach_before: Floats
    taken_before: Floats
    impulse: Floats
    parting: Floats


class StepProblem(NamedTuple):
    """The contact problem of a step.

    elastic: whether any contact has restitution. axes: (m, 3, 3). impulse: (m, 3) N s, to begin with. restitution: (m,).
    approach, approach_before: (m,) m/s, to be remembered, and as it was remembered; taken_before: (m,) J and parting: (m,) N s,
    as remembered.
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


def rules_of(spec: SceneSpec) -> Rules:
    """The rules of a scene as kernels take them."""
    names = sorted({name for pair in spec.pairs for name in (pair.a, pair.b)})
    row = {name: index for index, name in enumerate(names, 1)}
    pairs = np.full((len(names) + 1, len(names) + 1, 2), -1.0)
    for pair in spec.pairs:
        i, j = row[pair.a], row[pair.b]
        pairs[i, j] = pairs[j, i] = pair.mu_static, pair.mu_dynamic
    surface = np.array([row.get(body.material.name, 0) for body in spec.bodies], dtype=np.int64)
    return Rules(RULES[spec.friction_combine], RULES[spec.restitution_combine], surface, pairs)


def stick_speed(gravity: float, h: float) -> float:
    """m/s, a contact that slides faster than this in a step of h seconds has the dynamic coefficient; gravity: m/s^2."""
    return max(STICK_SPEED, STICK_FRACTION * gravity * h)


@leaf_kernel
def _combine(rule, a, b):
    if rule == PRODUCT:
        return a * b
    if rule == AVERAGE:
        return 0.5 * (a + b)
    if rule == GEOMETRIC_MEAN:
        return np.sqrt(a * b)
    return min(a, b) if rule == MINIMUM else max(a, b)


@kernel
def match(memory, body_a, body_b, feature):
    """(m,) index of each contact in the memory, -1 where it is new; both are sorted by bodies and feature."""
    found = np.full(body_a.size, -1, np.int64)
    i, old = 0, memory.body_a.size
    for k in range(body_a.size):
        while i < old:
            if memory.body_a[i] != body_a[k]:
                before = memory.body_a[i] < body_a[k]
            elif memory.body_b[i] != body_b[k]:
                before = memory.body_b[i] < body_b[k]
            else:
                before = memory.feature[i] < feature[k]
            if not before:
                break
            i += 1
        if i < old and memory.body_a[i] == body_a[k] and memory.body_b[i] == body_b[k] and memory.feature[i] == feature[k]:
            found[k] = i
    return found


@leaf_kernel
def _tangents(nx, ny, nz, axes):
    """axes (3, 3): rows n, t1, t2, right-handed; t1 is horizontal wherever n is not vertical."""
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
    """Rows sign (e, arm x e) of contact k for each contact axis e, without the locked axes."""
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


@leaf_kernel
def _velocity_between(axes, at_a, at_b, drift, is_known_a, is_known_b, u, bias):
    """u, bias (3,) along the contact axes: the velocity of B against A, and what of it is no unknown: the drift, and what
    bodies with a prescribed motion contribute."""
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


@leaf_kernel
def _add_turning(axes, turning, u, bias):
    """Add a velocity (3,), of the world, to the bias (3,). The slip u (3,) is one of the last step with the levers at its end:
    in the middle of it, it was less by as much as it will be more."""
    for row in range(3):
        along = axes[row, 0] * turning[0] + axes[row, 1] * turning[1] + axes[row, 2] * turning[2]
        bias[row] += along
        if row > 0:
            u[row] -= along


@leaf_kernel
def _is_at_its_limit(remembered, mu):
    """Whether of a remembered impulse (4,) friction is all that the coefficient allows."""
    x, y, z = remembered[1], remembered[2], remembered[3]
    least = AT_ITS_LIMIT * mu * remembered[0]
    return least > 0.0 and x * x + y * y + z * z > least * least


@leaf_kernel
def _add(axes, velocity, bias):
    """Add a velocity (3,), of the world, to the bias (3,)."""
    for row in range(3):
        bias[row] += axes[row, 0] * velocity[0] + axes[row, 1] * velocity[1] + axes[row, 2] * velocity[2]


@leaf_kernel
def _pulled_together(normal, twist, predicted, a, b):
    """m/s by which forces alone bring two bodies together from one step to the next."""
    total = 0.0
    for i in range(3):
        total += normal[i] * (predicted[a, i] - twist[a, i] - predicted[b, i] + twist[b, i])
    return total


@leaf_kernel
def _recall(remembered, normal, axes, impulse):
    """impulse (3,) := a remembered one (4,), along a normal (3,), in the contact's axes as they are now.

    As a vector of the world: what rests is held by the same forces though its normals turn, as that between two edges a rest
    offset apart does by rounding.
    """
    same = normal[0] == 0.0 and normal[1] == 0.0 and normal[2] == 0.0
    impulse[0] = remembered[0] if same else 0.0
    for i in range(3):
        pushes = remembered[0] * normal[i] + remembered[1 + i]
        impulse[0] += 0.0 if same else pushes * axes[0, i]
        impulse[1] += pushes * axes[1, i]
        impulse[2] += pushes * axes[2, i]
    impulse[0] = max(0.0, impulse[0])


@kernel
def build_contacts(model, position, bodies, times, speeds, rules, contacts, memory):
    """`ContactRows` of the contacts of a step, and whether any of them has restitution.

    position: (n, 3), where the step begins; bodies: its `Prediction`. times: s, of the step and of the one before. speeds: m/s,
    a contact that slides faster than the first has the dynamic coefficient, one that parts no faster than the second does not
    bounce.

    A contact with a gap may close it within the step and no more: c = gap / h. In the step in which the bodies touch c is minus
    the speed that they part with (`restitution.py`).
    """
    m = contacts.body_a.size
    rows = ContactRows(
        np.empty((m, 3, 3)),
        np.zeros((m, 3, RIGID)),
        np.zeros((m, 3, RIGID)),
        np.zeros((m, 3)),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
        np.zeros(m),
        np.zeros((m, 3)),
        np.zeros(m),
    )
    work = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    old = match(memory, contacts.body_a, contacts.body_b, contacts.feature)
    turns = turned_along(bodies.twist, (model.dof < 0) | contacts.jointed, contacts.body_a, contacts.body_b)
    elastic = _fill_rows(model, position, bodies, (times, speeds), rules, (contacts, memory, old, turns), work, rows)
    return rows, elastic


@leaf_kernel
def _fill_rows(model, position, bodies, limits, rules, known, work, rows):
    """The same, into `rows`; work: four arrays (3,). Whether any contact has restitution."""
    (times, speeds), (contacts, memory, rows_before, turns), (arm, at_a, at_b, u) = limits, known, work
    twist, h, stick_speed, elastic = bodies.twist, times[0], speeds[0], False
    for k in range(contacts.body_a.size):
        a, b, old = contacts.body_a[k], contacts.body_b[k], rows_before[k]
        is_known_a, is_known_b = model.dof[a] < 0, model.dof[b] < 0
        axes = rows.axes[k]
        _tangents(contacts.normal[k, 0], contacts.normal[k, 1], contacts.normal[k, 2], axes)
        for i in range(3):
            arm[i] = contacts.point[k, i] - position[a, i]
        _point_velocity(twist[a], arm, at_a)
        if not is_known_a:
            _fill_jacobian(rows.jacobian_a, k, -1.0, axes, arm, model.lock[a])
        for i in range(3):
            arm[i] = contacts.point[k, i] - position[b, i]
        _point_velocity(twist[b], arm, at_b)
        if not is_known_b:
            _fill_jacobian(rows.jacobian_b, k, 1.0, axes, arm, model.lock[b])
        _velocity_between(axes, at_a, at_b, contacts.beyond.drift[k], is_known_a, is_known_b, u, rows.bias[k])
        if contacts.held[k]:
            swing(axes, twist[a], twist[b], contacts.point[k], position[a], position[b], h, rows.bias[k])
        elif contacts.beyond.known[k]:
            _add_turning(axes, contacts.beyond.turning[k], u, rows.bias[k])
        elif turns[a]:
            for i in range(3):
                arm[i] = position[a, i] - position[b, i]
            carry(axes, twist[a], twist[b], arm, h, rows.bias[k])
        i = DYNAMIC if np.sqrt(u[1] * u[1] + u[2] * u[2]) > stick_speed else STATIC
        own = rules.pairs[rules.surface[a], rules.surface[b], i]
        rows.mu[k] = own if own >= 0.0 else _combine(rules.friction, model.mu[a, i], model.mu[b, i])
        if contacts.beyond.known[k] and i == DYNAMIC and old >= 0 and _is_at_its_limit(memory.impulse[old], rows.mu[k]):
            _add(axes, contacts.beyond.aside[k], rows.bias[k])
        if old >= 0:
            _recall(memory.impulse[old], memory.normal[old], axes, rows.impulse[k])
            rows.approach_before[k], rows.taken_before[k] = memory.approach[old], memory.taken[old]
            rows.parting[k] = memory.parting[old]
        gap = max(0.0, contacts.gap[k] - contacts.rest[k])
        rows.restitution[k] = e = _combine(rules.restitution, model.restitution[a], model.restitution[b])
        touches = contacts.gap[k] - contacts.rest[k] <= TOUCHING_OFFSETS * contacts.offset[k]
        pull = _pulled_together(axes[0], twist, bodies.predicted, a, b) / (0.5 * (times[0] + times[1]))
        rebound, rows.approach[k] = bounce(-u[0], pull, gap, times, rows.approach_before[k], e, speeds[1], touches)
        rows.slack[k] = -rebound if rebound > 0.0 else gap / h
        elastic |= e > 0.0
    return elastic


@kernel
def remember(axes, impulse):
    """(m, 4) impulses to keep: the normal one, and friction turned into world axes."""
    out = np.empty((impulse.shape[0], 4))
    for k in range(impulse.shape[0]):
        out[k, 0] = impulse[k, 0]
        for i in range(3):
            out[k, 1 + i] = impulse[k, 1] * axes[k, 1, i] + impulse[k, 2] * axes[k, 2, i]
    return out


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
    """The contact problem of a step.

    least_bounce: m/s, bodies that would part no faster do not bounce. held: (n,) which bodies joints hold.
    """
    model, h = begin.model, begin.h
    body_a, body_b = contacts.body_a, contacts.body_b
    places = contacts.point, contacts.normal, contacts.gap, beyond
    given = StepContacts(body_a, body_b, contacts.feature, *places, *begin.at_rest(contacts), held)
    times, speeds = (h, begin.last_step), (stick_speed(begin.gravity, h), least_bounce)
    rows, elastic = build_contacts(model, state.position, begin.bodies, times, speeds, rules, given, memory)
    system = System(
        offset=begin.offset,
        block_start=begin.block_start,
        mass=begin.bodies.mass.ravel(),
        inverse_mass=begin.bodies.inverse_mass.ravel(),
        velocity=begin.unknowns(begin.bodies.predicted),
        body_a=model.dof[body_a],
        body_b=model.dof[body_b],
        jacobian_a=rows.jacobian_a,
        jacobian_b=rows.jacobian_b,
        bias=rows.bias,
        slack=rows.slack,
        mu=rows.mu,
        box=np.zeros((0, 3, 3)),
        least_scale=begin.least_scale,
    )
    remembered = rows.approach_before, rows.taken_before, rows.parting
    return StepProblem(system, elastic, rows.axes, rows.impulse, rows.restitution, rows.approach, *remembered)
