# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems of a step: a box on a slope, bodies at random, leaning cards; with the Jacobians written out by hand."""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial.transform import Rotation

import solver_core as sc

GRAVITY_STEP = 9.81 / 240.0


def rigid_jacobian(arm, axes):
    """Velocity along contact axes (3, 3) of the point at `arm` from the centre of mass, out of (linear, angular) velocity."""
    return np.hstack([axes, np.cross(arm, axes)])


def frame(normal):
    """Contact axes as rows, right-handed, the normal first."""
    normal = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    tangent = np.cross(normal, np.eye(3)[np.argmin(abs(normal))])
    tangent /= np.linalg.norm(tangent)
    return np.array([normal, tangent, np.cross(normal, tangent)])


def box_on_ground(half=(0.5, 0.5, 0.5), mass=2.0, velocity=(0, 0, -GRAVITY_STEP, 0, 0, 0), tilt=0.0, mu=0.5, yaw=0.0):
    """A box on its four lower corners: twelve rows of rank six. The ground descends along +x by `tilt`; the box is yawed."""
    half = np.asarray(half, dtype=float)
    inertia = mass / 3.0 * np.diag([half[1] ** 2 + half[2] ** 2, half[0] ** 2 + half[2] ** 2, half[0] ** 2 + half[1] ** 2])
    axes = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]) @ Rotation.from_euler("y", tilt).as_matrix().T
    turn = Rotation.from_euler("y", tilt) * Rotation.from_euler("z", yaw)
    corners = turn.apply([[x * half[0], y * half[1], -half[2]] for x in (-1, 1) for y in (-1, 1)])
    matrix = np.zeros((6, 6))
    matrix[:3, :3] = mass * np.eye(3)
    matrix[3:, 3:] = turn.as_matrix() @ inertia @ turn.as_matrix().T
    jacobian = np.array([rigid_jacobian(arm, axes) for arm in corners])
    return sc.ContactProblem.from_bodies([matrix], velocity, ([-1] * 4, [0] * 4), (np.zeros_like(jacobian), jacobian), mu)


def random_bodies(seed, contacts=6, bodies=3, mu=(0.1, 0.4)):
    """Rigid bodies of random inertia that touch each other and the world at random points, thrown at each other."""
    random = np.random.default_rng(seed)
    masses = []
    for _ in range(bodies):
        factor = random.normal(size=(3, 3))
        block = np.zeros((6, 6))
        block[:3, :3] = random.uniform(0.5, 2.0) * np.eye(3)
        block[3:, 3:] = factor @ factor.T + 0.3 * np.eye(3)
        masses.append(block)
    body_b = random.integers(0, bodies, contacts)
    body_a = np.array([random.choice([-1, *(i for i in range(bodies) if i != b)]) for b in body_b])
    left, right = np.zeros((contacts, 3, 6)), np.zeros((contacts, 3, 6))
    for k in range(contacts):
        axes = frame(random.normal(size=3))
        left[k] = -rigid_jacobian(random.normal(size=3), axes)
        right[k] = rigid_jacobian(random.normal(size=3), axes)
    coefficients = random.uniform(*mu, contacts)
    return sc.ContactProblem.from_bodies(masses, random.normal(size=6 * bodies), (body_a, body_b), (left, right), coefficients)


def leaning_cards(lean, mu, width=0.063, gravity=GRAVITY_STEP):
    """Two thin cards in the plane that lean on each other: two contacts with the ground and one between their tops.

    Degrees of freedom (x, z, angle) a card; all contacts are points.
    """
    length, mass = 0.088, 0.004 * width / 0.063
    inertia = np.diag([mass, mass, mass * length**2 / 12.0])

    def planar(normal, arm):
        tangent = np.array([-normal[1], normal[0]])
        return np.array([[*axis, arm[0] * axis[1] - arm[1] * axis[0]] for axis in (np.asarray(normal), tangent)])

    up = 0.5 * length * np.array([math.sin(lean), math.cos(lean)])  # from the left card's centre to the apex
    down = -up
    mirror = np.array([-1.0, 1.0])
    left = np.array([np.zeros((2, 3)), np.zeros((2, 3)), -planar((1.0, 0.0), up)])
    right = np.array([planar((0.0, 1.0), down), planar((0.0, 1.0), mirror * down), planar((1.0, 0.0), mirror * up)])
    velocity = [0.0, -gravity, 0.0] * 2
    problem = sc.ContactProblem.from_bodies([inertia] * 2, velocity, ([-1, -1, 0], [0, 1, 1]), (left, right), mu)
    return problem, mass * gravity


def cubes_on_each_other(boxes, heaviest, push=0.0, half=0.1):
    """Cubes of 1 kg on their four corners each, the last one of `heaviest` kg and pushed, that gravity pulls for a step."""
    axes, masses, arms = np.eye(3)[[2, 0, 1]], [], []
    for i in range(boxes):
        mass = heaviest if i == boxes - 1 else 1.0
        masses.append(mass * np.diag([1.0, 1.0, 1.0, *3 * [2.0 / 3.0 * half**2]]))
        arms += [(i, np.array([x * half, y * half, half])) for x in (-1, 1) for y in (-1, 1)]
    velocity = np.tile([0.0, 0.0, -GRAVITY_STEP, 0.0, 0.0, 0.0], boxes)
    velocity[-6] = push
    return sc.ContactProblem.from_bodies(
        masses,
        velocity,
        ([i - 1 for i, _ in arms], [i for i, _ in arms]),
        (
            [-rigid_jacobian(arm, axes) if i else np.zeros((3, 6)) for i, arm in arms],
            [rigid_jacobian(arm * [1, 1, -1], axes) for _, arm in arms],
        ),
        0.5,
    )


def hard_problems():
    """Problems in which contact and friction are strongly coupled."""
    return [
        *(random_bodies(seed, contacts=8, bodies=3, mu=(0.3, 0.8)) for seed in range(5)),
        *(leaning_cards(math.radians(degrees), 0.8)[0] for degrees in (10, 20, 40)),
        box_on_ground(mu=0.7, velocity=(1.0, 0.5, -3.0, 2.0, -1.0, 4.0)),
        box_on_ground(half=(0.0005, 0.0315, 0.044), mu=0.8, tilt=math.radians(20)),
    ]


def tower(boxes, edge=0.2, mu=0.6, sideways=0.0):
    """(G, g) of equal cubes of 1 kg on the ground and on each other, four contacts an interface, lowest first."""
    inverse = np.array([1.0, 1.0, 1.0, *[6.0 / edge**2] * 3])
    rows = np.zeros((4 * boxes, 3, 6 * boxes))
    axes = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for k in range(4 * boxes):
        level, corner = divmod(k, 4)
        at = 0.5 * edge * np.array([(-1.0) ** corner, (-1.0) ** (corner // 2), 0.0])
        for body, sign, side in ((level - 1, -1.0, 1.0), (level, 1.0, -1.0)):
            if body >= 0:
                arm = at + np.array([0.0, 0.0, 0.5 * edge * side])
                rows[k, :, 6 * body : 6 * body + 6] = sign * np.hstack([axes, np.cross(arm, axes)])
    J = rows.reshape(12 * boxes, -1)
    v = np.tile([sideways, 0.0, -GRAVITY_STEP, 0.0, 0.0, 0.0], boxes)
    return (J * np.tile(inverse, boxes)) @ J.T, J @ v


def random_stack(rng, dim, most_bodies=8, mu_most=1.0, decades=1.0):
    """Delassus operator, free velocity and friction of bodies that touch each other and the ground at random places; their
    masses are from 10^-decades to 10^decades kg."""
    bodies, degrees = int(rng.integers(1, most_bodies + 1)), 3 if dim == 2 else 6
    m = int(rng.integers(1, 6 * bodies))
    J = np.zeros((m, dim, bodies * degrees))
    inverse = []
    for _ in range(bodies):
        mass = 10.0 ** rng.uniform(-decades, decades)
        inverse += [1 / mass] * dim + list(1 / (mass * rng.uniform(0.05, 0.4, 1 if dim == 2 else 3)))
    for k in range(m):
        below, above = rng.permutation(np.arange(-1, bodies))[:2]
        axes = np.linalg.qr(rng.normal(size=(dim, dim)))[0] if rng.random() < 0.5 else np.roll(np.eye(dim), 1, axis=0)
        for body, sign in ((below, -1.0), (above, 1.0)):
            if body >= 0:
                arm = rng.uniform(-1, 1, dim)
                turn = np.cross(arm, axes) if dim == 3 else (arm[0] * axes[:, 1] - arm[1] * axes[:, 0])[:, None]
                J[k, :, degrees * body : degrees * (body + 1)] = sign * np.hstack([axes, turn])
    J = J.reshape(m * dim, -1)
    G = (J * inverse) @ J.T
    return 0.5 * (G + G.T), J @ rng.normal(size=J.shape[1]), rng.uniform(0.0, mu_most, m)


def any_friction(seed):
    """Up to 20 contacts of up to four bodies, with coefficients of friction from 0.01 to 1e6 and mass ratios up to 1e6."""
    rng = np.random.default_rng(seed)
    G, g, mu = random_stack(rng, 3, most_bodies=4, decades=rng.uniform(0.0, 3.0))
    alike = rng.random() < 0.5
    mu = 10.0 ** (np.full(len(mu), rng.uniform(-2.0, 6.0)) if alike else rng.uniform(-2.0, 6.0, len(mu)))
    return sc.ContactProblem.from_delassus(G, g, mu)


FRICTION = tuple(sc.Friction.__dataclass_fields__)


def problem_of_matrix(G, g, mu, **arguments):
    """A problem by its Delassus operator, the fields of its friction among the arguments."""
    friction = {name: arguments.pop(name) for name in FRICTION if name in arguments}
    return sc.ContactProblem.from_delassus(G, g, sc.Friction(mu, **friction), **arguments)


def problem_of_bodies(*, masses, velocity, mu, **arguments):
    """The same by its bodies; body_a, body_b, jacobian_a, jacobian_b may stand for pairs and jacobians."""
    friction = {name: arguments.pop(name) for name in FRICTION if name in arguments}
    for name, sides in (("pairs", ("body_a", "body_b")), ("jacobians", ("jacobian_a", "jacobian_b"))):
        given = tuple(arguments.pop(side) for side in sides)
        arguments.setdefault(name, given)
    return sc.ContactProblem.from_bodies(masses, velocity, mu=sc.Friction(mu, **friction), **arguments)


def together(systems):
    """Systems of contacts alone as one, of which each is an island or more."""
    bodies = np.cumsum([0, *(len(system.offset) - 1 for system in systems)])
    rows = np.cumsum([0, *(system.offset[-1] for system in systems)])
    blocks = np.cumsum([0, *(system.block_start[-1] for system in systems)])

    def joined(name):
        return np.concatenate([getattr(system, name) for system in systems])

    def shifted(name, by):
        return np.concatenate(
            [getattr(system, name)[:-1] + first for system, first in zip(systems, by, strict=False)] + [by[-1:]]
        )

    ends = {
        name: np.concatenate(
            [
                np.where(getattr(system, name) < 0, -1, getattr(system, name) + first)
                for system, first in zip(systems, bodies, strict=False)
            ]
        )
        for name in ("body_a", "body_b")
    }
    same = ("mass", "inverse_mass", "velocity", "jacobian_a", "jacobian_b", "bias", "slack", "mu")
    return systems[0]._replace(
        offset=shifted("offset", rows),
        block_start=shifted("block_start", blocks),
        **ends,
        **{name: joined(name) for name in same},
    )
