# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints whose reactions are not unique as a scene begins: those that bear a self-stress.

With J the rows of what joints hold, by the velocities of the bodies that move, impulses lam on them do what J^T lam does. Two
answers with the same motion differ by a null vector of J^T, a self-stress: reactions that are in balance with each other
(Pellegrino, Calladine 1986). A joint's reaction is unique if every null vector is zero on its rows. The part y of a random
vector z in that null space is zero there as well, and where another is not it is zero with probability 0. It is found by

    [ I    J    ] [y]   [z]
    [ J^T  -d I ] [x] = [-d x']

for a small d, with x' the x before: each time brings what is not in the null space down by d / (s^2 + d), s a singular value.

A body that bends shares its loads by its stiffness, in one way only.

Rows are those of coordinates that are locked: limits, springs and motors say themselves what they bear.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.body_mass import body_mass_properties
from ..geometry.compounds import rotation_matrix
from ..scene.joints import JointSpec
from ..scene.spec import BodyKind, BodySpec, SceneSpec

__all__ = ["has_unique_reaction"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FIXED = 0  # the node of the world and of all that the solver does not move; body i is node i + 1
RIGID = 6  # degrees of freedom of a body
SMALL_D = 1e-12  # d: rows have unit length
TIMES = 4
RANDOM_VECTORS = 3
NOT_ROUNDING = 1e-5  # of their entries: the least part on a joint's rows


def has_unique_reaction(spec: SceneSpec) -> Flags:
    """(joints,) of each joint whether what it bears follows from the motion; also of those that are not enabled."""
    unique = np.ones(len(spec.joints), dtype=bool)
    ends = _ends(spec)
    joints = _in_loops(ends, _are_held(spec), np.array([joint.enabled for joint in spec.joints], dtype=bool))
    if len(joints):
        of_row, body, block = _rows(spec, joints, ends)
        part = np.zeros(len(spec.joints))
        np.maximum.at(part, of_row, _part_in_null_space(body, block))
        unique[part > NOT_ROUNDING] = False
    return unique


def _ends(spec: SceneSpec) -> Ints:
    """(joints, 2) the nodes of the two bodies of each joint."""
    node = {body.name: i + 1 if body.kind is BodyKind.ACTIVE else FIXED for i, body in enumerate(spec.bodies)} | {"": FIXED}
    ends = np.array([(node[joint.body_a], node[joint.body_b]) for joint in spec.joints], dtype=np.int64).reshape(-1, 2)
    # of what bends each end is a node of its own, with no other joint
    bends = np.array([False, *(body.deformable is not None for body in spec.bodies)])
    own = len(spec.bodies) + 1 + np.arange(ends.size).reshape(ends.shape)
    return np.where(bends[ends], own, ends)


def _are_held(spec: SceneSpec) -> Flags:
    """(nodes,) of each body whether it is kept from moving along, or turning about, an axis of the world; of the world too.
    Ends of joints on bodies that bend are not."""
    free = [np.all(body.linear_factor) and np.all(body.angular_factor) for body in spec.bodies]
    return ~np.array([False, *free, *(True for _ in range(2 * len(spec.joints)))], dtype=bool)


def _in_loops(ends: Ints, is_held: Flags, enabled: Flags) -> Ints:
    """The joints that are left when those of bodies with no other joint are taken away, again and again: all others bear what
    their bodies need to be borne."""
    left = np.flatnonzero(enabled & (ends[:, 0] != ends[:, 1]))
    while len(left):
        number = np.bincount(ends[left].ravel(), minlength=len(is_held))
        is_end = (number == 1) & ~is_held
        kept = ~is_end[ends[left]].any(axis=1)
        if kept.all():
            break
        left = left[kept]
    return left


def _rows(spec: SceneSpec, joints: Ints, ends: Ints) -> tuple[Ints, Ints, Floats]:
    """The r rows of coordinates that joints lock: whose each is (r,), the nodes of its bodies (r, 2), and what it has by their
    velocities (r, 2, 6), all of it of unit length.

    A body's velocity is that of the middle of its joints, or of its centre of mass where it is locked, and its turning times
    their distance from there.
    """
    place = np.array([spec.joints[joint].position for joint in joints], dtype=np.float64)
    bodies = np.unique(ends[joints])
    about, length = np.zeros((len(spec.bodies) + 1, 3)), np.ones(len(spec.bodies) + 1)
    factor = np.zeros((len(spec.bodies) + 1, RIGID))
    for node in bodies[bodies != FIXED]:
        body, own = spec.bodies[node - 1], place[(ends[joints] == node).any(axis=1)]
        factor[node] = np.concatenate([body.linear_factor, body.angular_factor]) != 0.0
        about[node] = own.mean(axis=0) if factor[node].all() else _centre_of_mass(body)
        length[node] = np.linalg.norm(own - about[node], axis=1).max() or 1.0
    rows, body, block = [], [], []
    for joint, at in zip(joints, place, strict=True):
        for is_linear, axis in _locked(spec.joints[joint]):
            both = np.zeros((2, RIGID))
            for end, node in enumerate(ends[joint]):
                moving, turning = (axis, np.cross(at - about[node], axis)) if is_linear else (0.0 * axis, axis)
                both[end] = (2 * end - 1) * factor[node] * np.concatenate([moving, turning / length[node]])
            size = np.linalg.norm(both)
            if size > 0.0:
                rows.append(joint)
                body.append(ends[joint])
                block.append(both / size)
    count = len(rows)
    return np.array(rows, np.int64), np.array(body, np.int64).reshape(count, 2), np.array(block).reshape(count, 2, RIGID)


def _centre_of_mass(body: BodySpec) -> Floats:
    """Where it is in the world, (3,) m."""
    return body.position + rotation_matrix(body.orientation) @ body_mass_properties(body).center_of_mass


def _locked(joint: JointSpec) -> list[tuple[bool, Floats]]:
    """The axes (3,) in the world, unit, of the coordinates that it locks, and whether they are linear."""
    axes = rotation_matrix(joint.orientation).T
    both = (True, joint.linear), (False, joint.angular)
    return [(linear, axes[k]) for linear, own in both for k, axis in enumerate(own) if axis.lower == axis.upper]


def _part_in_null_space(body: Ints, block: Floats) -> Floats:
    """(r,) the largest parts, of some random vectors in the null space of J^T, on its rows."""
    from scipy.sparse import bmat, coo_matrix, identity  # which take a while to load, and few need them
    from scipy.sparse.linalg import splu

    count = len(body)
    if not count:
        return np.zeros(0)
    nodes, place = np.unique(body, return_inverse=True)
    row = np.repeat(np.arange(count), 2 * RIGID)
    column = (RIGID * place.reshape(count, 2)[:, :, None] + np.arange(RIGID)).ravel()
    size = RIGID * len(nodes)
    jacobian = coo_matrix((block.ravel(), (row, column)), (count, size)).tocsc()
    jacobian.eliminate_zeros()
    factors = splu(bmat([[identity(count), jacobian], [jacobian.T, -SMALL_D * identity(size)]], format="csc"))
    begin = np.random.default_rng(0).normal(size=(count, RANDOM_VECTORS))
    x = np.zeros((size, RANDOM_VECTORS))
    part = begin
    for _ in range(TIMES):
        both = factors.solve(np.concatenate([begin, -SMALL_D * x]))
        part, x = both[:count], both[count:]
    return np.abs(part).max(axis=1)
