# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints whose reactions are not unique at the start of a scene, because they can carry self-stress.

Let J be the rows of the locked joint coordinates, as functions of the velocities of the moving bodies. Impulses lam on them
have the effect J^T lam. Two solutions with the same motion differ by a null vector of J^T, a self-stress: reactions in balance
with each other (Pellegrino and Calladine 1986). The reaction of a joint is unique if all null vectors are zero on its rows. The
component y of a random vector z in the null space is then zero there too; if some null vector is not zero, y is zero with
probability 0. The iteration

    [ I    J    ] [y]   [z]
    [ J^T  -d I ] [x] = [-d x']

with a small d, and the previous x as x', finds it. Each iteration reduces the component outside the null space by d / (s^2 + d)
for each singular value s.

The stiffness of a flexible body determines its loads uniquely.

Only locked coordinates have rows: the impulses of limits, springs and motors follow from their own laws.
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

FIXED = 0  # node of the world and of all bodies that the solver does not move; body i is node i + 1
RIGID = 6  # degrees of freedom of a body
SMALL_D = 1e-12  # d, for rows of unit length
TIMES = 4  # iterations
RANDOM_VECTORS = 3
NOT_ROUNDING = 1e-5  # smallest component on a joint's rows that counts as nonzero


def has_unique_reaction(spec: SceneSpec) -> Flags:
    """Return for each joint (joints,) whether its reaction is unique. Disabled joints count as unique."""
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
    """Return the nodes of the two bodies of each joint (joints, 2)."""
    node = {body.name: i + 1 if body.kind is BodyKind.ACTIVE else FIXED for i, body in enumerate(spec.bodies)} | {"": FIXED}
    ends = np.array([(node[joint.body_a], node[joint.body_b]) for joint in spec.joints], dtype=np.int64).reshape(-1, 2)
    # On a flexible body, each end of a joint is a separate node.
    bends = np.array([False, *(body.deformable is not None for body in spec.bodies)])
    own_node = len(spec.bodies) + 1 + np.arange(ends.size).reshape(ends.shape)
    return np.where(bends[ends], own_node, ends)


def _are_held(spec: SceneSpec) -> Flags:
    """Return for each node (nodes,) whether it cannot move along, or rotate about, some axis of the world. This is False for
    the ends of joints on flexible bodies."""
    free = [np.all(body.linear_factor) and np.all(body.angular_factor) for body in spec.bodies]
    return ~np.array([False, *free, *(True for _ in range(2 * len(spec.joints)))], dtype=bool)


def _in_loops(ends: Ints, is_held: Flags, enabled: Flags) -> Ints:
    """Return the joints that may carry self-stress. Joints of bodies without another joint are removed repeatedly, because
    equilibrium of their bodies determines their reactions."""
    remaining = np.flatnonzero(enabled & (ends[:, 0] != ends[:, 1]))
    while len(remaining):
        number = np.bincount(ends[remaining].ravel(), minlength=len(is_held))
        is_end = (number == 1) & ~is_held
        kept = ~is_end[ends[remaining]].any(axis=1)
        if kept.all():
            break
        remaining = remaining[kept]
    return remaining


def _rows(spec: SceneSpec, joints: Ints, ends: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the r rows of the locked coordinates, scaled to unit length: joints (r,), nodes of the bodies (r, 2) and
    coefficients (r, 2, 6).

    A body's linear velocity is that of the mean position of its joints, or of its center of mass if an axis of the body is
    locked. Its angular velocity is multiplied by the largest distance of its joints from there.
    """
    place = np.array([spec.joints[joint].position for joint in joints], dtype=np.float64)
    bodies = np.unique(ends[joints])
    about, length = np.zeros((len(spec.bodies) + 1, 3)), np.ones(len(spec.bodies) + 1)
    factor = np.zeros((len(spec.bodies) + 1, RIGID))
    for node in bodies[bodies != FIXED]:
        body, points = spec.bodies[node - 1], place[(ends[joints] == node).any(axis=1)]
        factor[node] = np.concatenate([body.linear_factor, body.angular_factor]) != 0.0
        about[node] = points.mean(axis=0) if factor[node].all() else _centre_of_mass(body)
        length[node] = np.linalg.norm(points - about[node], axis=1).max() or 1.0
    rows, body, block = [], [], []
    for joint, point in zip(joints, place, strict=True):
        for is_linear, axis in _locked(spec.joints[joint]):
            both = np.zeros((2, RIGID))
            for end, node in enumerate(ends[joint]):
                moving, turning = (axis, np.cross(point - about[node], axis)) if is_linear else (0.0 * axis, axis)
                both[end] = (2 * end - 1) * factor[node] * np.concatenate([moving, turning / length[node]])
            size = np.linalg.norm(both)
            if size > 0.0:
                rows.append(joint)
                body.append(ends[joint])
                block.append(both / size)
    count = len(rows)
    return np.array(rows, np.int64), np.array(body, np.int64).reshape(count, 2), np.array(block).reshape(count, 2, RIGID)


def _centre_of_mass(body: BodySpec) -> Floats:
    """Return the center of mass in the world (3,) [m]."""
    return body.position + rotation_matrix(body.orientation) @ body_mass_properties(body).center_of_mass


def _locked(joint: JointSpec) -> list[tuple[bool, Floats]]:
    """Return for each locked coordinate whether it is linear, and its unit axis in the world (3,)."""
    axes = rotation_matrix(joint.orientation).T
    both = (True, joint.linear), (False, joint.angular)
    return [(linear, axes[k]) for linear, components in both for k, axis in enumerate(components) if axis.lower == axis.upper]


def _part_in_null_space(body: Ints, block: Floats) -> Floats:
    """Return the largest components (r,), on each row, of random vectors projected onto the null space of J^T."""
    from scipy.sparse import bmat, coo_matrix, identity  # imported here because they load slowly and are rarely needed
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
