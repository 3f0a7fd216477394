# SPDX-License-Identifier: GPL-3.0-or-later
"""The constant data of joints: their frames in their bodies, and rows that lock, limit, spring or drive coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import product
from ...linalg.mat3 import inverses
from ...scene.joints import AxisSpec, JointChange, JointSpec
from ...scene.spec import SceneSpec
from ..model.bodies import Model, State
from ..motion.rotation import matrices
from .coordinates import AT_LEAST, AT_MOST, EULER_STEEP, HOLD, X_ROTATION, Z_ROTATION, angular_form

__all__ = [
    "AT_LEAST",
    "AT_MOST",
    "COORDINATES",
    "HOLD",
    "MOTOR",
    "SPRING",
    "Chosen",
    "JointTable",
    "at_frame",
    "choose",
    "joint_table",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPRING, MOTOR = range(3, 5)  # the kinds of rows in addition to those that constrain a coordinate
KINDS = 5  # added to the kind of a row that is inactive for now
WITHOUT_EFFECT = np.nan, 0.0, 0.0, 0.0
COORDINATES = "X", "Y", "Z", "X rotation", "Y rotation", "Z rotation"
ROWS = 3  # in a triple


class Rows(NamedTuple):
    """The r rows of joints, joint by joint.

    joint, coordinate, kind: (r,) of each row. triple, place: (r,) its triple and its index in it. target: m or rad; m/s or
    rad/s for a motor. stiffness, damping: of springs. force: N or N m, of motors. is_twist: whether a row limits the twist that
    the limits of X and Z imply if Y is a right angle; its coordinate is that of X.
    """

    joint: Ints
    coordinate: Ints
    kind: Ints
    triple: Ints
    place: Ints
    target: Floats
    stiffness: Floats
    damping: Floats
    force: Floats
    is_twist: NDArray[np.bool_]


class Frames(NamedTuple):
    """The frames of j joints.

    body: (j, 2), -1 for the world. place: (j, 2, 3) m, the origin of the joint frame from the center of mass, in body axes.
    axes: (j, 2, 3, 3) the axes of the joint frame by rows, in body axes. form: (j,) of the angles. length: (j,) m, at which a
    force rotates the bodies as easily as it translates them. limits: (j, 3, 2) rad, the smallest and the largest angles,
    infinite without a limit.
    """

    body: Ints
    place: Floats
    axes: Floats
    form: Ints
    length: Floats
    limits: Floats


class JointTable(NamedTuple):
    """The j joints of a scene.

    frames: of the joints. rows: of the joints. triples: the number of triples of rows. breaking: (j,) N s and N m s, breaking
    impulses. enabled: (j,). bonds: (j, 6) N and N m, the strengths of the coordinates of bonds, infinite for other joints.
    """

    frames: Frames
    rows: Rows
    triples: int
    breaking: Floats
    enabled: NDArray[np.bool_]
    bonds: Floats


class Chosen(NamedTuple):
    """The active joints of a table.

    held: (j,) which joints are active. rows: their rows, with renumbered triples. triples: (t,) the indices of these triples in
    the table. joint: (t,) of each triple.
    """

    held: NDArray[np.bool_]
    rows: Rows
    triples: Ints
    joint: Ints


def joint_table(spec: SceneSpec, model: Model, state: State) -> JointTable:
    """Return the joints of a scene, from the state at its start."""
    number = {body.name: index for index, body in enumerate(spec.bodies)} | {"": -1}
    count = len(spec.joints)
    body = np.array([[number[joint.body_a], number[joint.body_b]] for joint in spec.joints], dtype=np.int64).reshape(count, 2)
    at = np.array([joint.position for joint in spec.joints], dtype=float).reshape(count, 3)
    orientation = np.array([joint.orientation for joint in spec.joints], dtype=float).reshape(count, 4)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    # The world is last, so that the index -1 selects it.
    position = np.vstack([state.position, np.zeros(3)])
    rotation = np.concatenate([matrices(state.orientation), np.eye(3)[None]])
    form = np.array([angular_form(joint) for joint in spec.joints], dtype=np.int64)
    (joint, coordinate, kind, triple, within, twists), triples = _rows(spec.joints, form == EULER_STEEP)
    target, stiffness, damping, force = np.zeros((4, len(joint)))
    rows = Rows(joint, coordinate, kind, triple, within, target, stiffness, damping, force, twists.astype(bool))
    frames = Frames(
        body=body,
        place=product((at[:, None] - position[body])[..., None, :], rotation[body])[..., 0, :],
        axes=product(matrices(orientation)[:, None].swapaxes(-1, -2), rotation[body]),
        form=form,
        length=_lengths(model, body),
        limits=np.zeros((count, 3, 2)),
    )
    bonds = np.array([_bears(joint) for joint in spec.joints], dtype=float).reshape(count, 6)
    return at_frame(JointTable(frames, rows, triples, np.zeros(count), np.zeros(count, dtype=bool), bonds), spec.joints, 0)


def _bears(joint: JointSpec) -> tuple[float, ...]:
    """Return the strengths of the coordinates of a joint in N and N m."""
    own = joint.strength
    return (np.inf,) * 6 if own is None else (own.shear, own.shear, own.tension, own.bending_x, own.bending_y, own.torsion)


def at_frame(table: JointTable, joints: tuple[JointSpec, ...], frame: int) -> JointTable:
    """Return the table with the properties of joints during the motion to a frame, counted from 0."""
    now = [state_of(joint, frame) for joint in joints]
    rows, kinds = table.rows, [[_of_axis(axis) for axis in (*state.linear, *state.angular)] for state in now]
    values = np.zeros((len(rows.joint), 4))
    for row, (joint, coordinate, kind) in enumerate(zip(rows.joint, rows.coordinate, rows.kind % KINDS, strict=True)):
        # A row of the twist uses the limits of X and Z.
        values[row] = 0.0 if rows.is_twist[row] else kinds[joint][coordinate].get(int(kind), WITHOUT_EFFECT)
    target, stiffness, damping, force = values.T.copy()
    idle = np.isnan(target)
    kind = np.where(idle, rows.kind % KINDS + KINDS, rows.kind % KINDS)
    target[idle] = 0.0
    rows = rows._replace(kind=kind, target=target, stiffness=stiffness, damping=damping, force=force)
    breaking = np.array([state.breaking_impulse for state in now], dtype=float)
    limits = [[(axis.lower, axis.upper) for axis in state.angular] for state in now]
    frames = table.frames._replace(limits=np.array(limits, dtype=float).reshape(len(now), 3, 2))
    enabled = np.array([state.enabled for state in now], dtype=bool)
    return table._replace(frames=frames, rows=rows, breaking=breaking, enabled=enabled)


def state_of(joint: JointSpec, frame: int) -> JointSpec | JointChange:
    """Return the properties of a joint during the motion to a frame."""
    return next((change for change in reversed(joint.changes) if change.frame <= frame), joint)


def choose(table: JointTable, held: NDArray[np.bool_]) -> Chosen:
    """Return the joints `held` (j,) of a table."""
    used = held[table.rows.joint]
    rows = table.rows if used.all() else Rows._make(column[used] for column in table.rows)
    triples, first, triple = np.unique(rows.triple, return_index=True, return_inverse=True)
    return Chosen(held, rows._replace(triple=triple), triples, rows.joint[first])


def _lengths(model: Model, body: Ints) -> Floats:
    moves = np.append(model.dof >= 0, False)
    lightness = np.where(moves, 1.0 / np.append(model.mass, 1.0), 0.0)
    ease = np.append(np.trace(inverses(model.inertia), axis1=1, axis2=2) / 3.0, 0.0) * moves
    moved, turned = lightness[body].sum(axis=1), ease[body].sum(axis=1)
    return np.sqrt(np.divide(moved, turned, out=np.ones_like(moved), where=turned > 0.0))


def _rows(joints: tuple[JointSpec, ...], is_steep: NDArray[np.bool_]) -> tuple[tuple[Ints, ...], int]:
    """Return the rows that joints have at any frame, in triples that each belong to one joint.

    is_steep: (j,) whether the angles of a joint have the form EULER_STEEP. Returns joint, coordinate, kind, triple, place (r,)
    and whether a row limits a twist, as 0 or 1; and the number of triples.
    """
    found: list[tuple[int, ...]] = []
    triples = 0
    for index, joint in enumerate(joints):
        ever = [(*state.linear, *state.angular) for state in (joint, *joint.changes)]
        kinds = [sorted({kind for axes in ever for kind in _of_axis(axes[k])}) for k in range(6)]
        of_joint = [(k, kind, 0) for k in range(6) for kind in kinds[k]]
        if is_steep[index] and all(kinds[k] and kinds[k][0] <= AT_MOST for k in (X_ROTATION, Z_ROTATION)):
            of_joint += [(X_ROTATION, AT_LEAST, 1), (X_ROTATION, AT_MOST, 1)]
        found += [(index, k, kind, triples + i // ROWS, i % ROWS, twists) for i, (k, kind, twists) in enumerate(of_joint)]
        triples += -(-len(of_joint) // ROWS)
    return tuple(np.array(found, dtype=np.int64).reshape(len(found), 6).T.copy()), triples


def _of_axis(axis: AxisSpec) -> dict[int, tuple[float, float, float, float]]:
    """Return target, stiffness, damping and force of the rows of a coordinate, by their kinds."""
    if axis.lower == axis.upper:
        return {HOLD: (axis.lower, 0.0, 0.0, 0.0)}
    found = {}
    if axis.lower > -np.inf:
        found[AT_LEAST] = axis.lower, 0.0, 0.0, 0.0
    if axis.upper < np.inf:
        found[AT_MOST] = axis.upper, 0.0, 0.0, 0.0
    if axis.stiffness > 0.0 or axis.damping > 0.0:
        found[SPRING] = axis.rest, axis.stiffness, axis.damping, 0.0
    if axis.motor_force > 0.0:
        found[MOTOR] = axis.motor_velocity, 0.0, 0.0, axis.motor_force
    return found
