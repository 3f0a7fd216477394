# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a scene's joints is constant: their frames in their bodies, and rows that hold, limit, pull or drive coordinates."""

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

SPRING, MOTOR = range(3, 5)  # kinds of row beside those that say where a coordinate may be
KINDS = 5  # a row that does nothing, for now, is of its kind plus that
WITHOUT_EFFECT = np.nan, 0.0, 0.0, 0.0
COORDINATES = "X", "Y", "Z", "X rotation", "Y rotation", "Z rotation"
ROWS = 3  # in a triple


class Rows(NamedTuple):
    """What rows do, joint after joint: (r,) joint, coordinate, kind, triple and place in it; target: m, rad, or of a motor m/s
    or rad/s; stiffness, damping; force: N or N m, of a motor. is_twist: whether a row limits the twist that the limits of X and
    Z leave where Y is a right angle; its coordinate is that of X."""

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
    """Where j joints are. body: (j, 2), -1 for the world. place: (j, 2, 3) of the joint's frame from the centre of mass, axes:
    (j, 2, 3, 3) its axes by rows, both in body axes. form: (j,) of the angles. length: (j,) m, at which a force turns the
    bodies as easily as it moves them. limits: (j, 3, 2) rad, the least and the largest angles, infinite where there is none."""

    body: Ints
    place: Floats
    axes: Floats
    form: Ints
    length: Floats
    limits: Floats


class JointTable(NamedTuple):
    """j joints: their frames, their rows, and how many triples these are in; breaking: (j,) N s and N m s; enabled: (j,);
    bonds: (j, 6) N and N m, what the coordinates of bonds bear, infinite for other joints."""

    frames: Frames
    rows: Rows
    triples: int
    breaking: Floats
    enabled: NDArray[np.bool_]
    bonds: Floats


class Chosen(NamedTuple):
    """Some joints of a table: which are held (j,), their rows, whose triples are counted anew, and triples (t,) which of the
    table's these are."""

    held: NDArray[np.bool_]
    rows: Rows
    triples: Ints


def joint_table(spec: SceneSpec, model: Model, state: State) -> JointTable:
    """The joints of a scene whose bodies are where it begins."""
    number = {body.name: index for index, body in enumerate(spec.bodies)} | {"": -1}
    count = len(spec.joints)
    body = np.array([[number[joint.body_a], number[joint.body_b]] for joint in spec.joints], dtype=np.int64).reshape(count, 2)
    at = np.array([joint.position for joint in spec.joints], dtype=float).reshape(count, 3)
    orientation = np.array([joint.orientation for joint in spec.joints], dtype=float).reshape(count, 4)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    # of the world last, where the index -1 finds them
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
    """What the coordinates of a joint bear by its strength, in N and N m."""
    own = joint.strength
    return (np.inf,) * 6 if own is None else (own.shear, own.shear, own.tension, own.bending_x, own.bending_y, own.torsion)


def at_frame(table: JointTable, joints: tuple[JointSpec, ...], frame: int) -> JointTable:
    """The table with what joints are on the way to a frame of the range, the first being 0."""
    now = [state_of(joint, frame) for joint in joints]
    rows, kinds = table.rows, [[_of_axis(axis) for axis in (*state.linear, *state.angular)] for state in now]
    values = np.zeros((len(rows.joint), 4))
    for row, (joint, coordinate, kind) in enumerate(zip(rows.joint, rows.coordinate, rows.kind % KINDS, strict=True)):
        # a row of the twist has its limits from those of X and Z
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
    """What a joint is on the way to a frame."""
    return next((change for change in reversed(joint.changes) if change.frame <= frame), joint)


def choose(table: JointTable, held: NDArray[np.bool_]) -> Chosen:
    """Those joints of a table that are held (j,)."""
    used = held[table.rows.joint]
    rows = table.rows if used.all() else Rows._make(column[used] for column in table.rows)
    triples, triple = np.unique(rows.triple, return_inverse=True)
    return Chosen(held, rows._replace(triple=triple), triples)


def _lengths(model: Model, body: Ints) -> Floats:
    moves = np.append(model.dof >= 0, False)
    lightness = np.where(moves, 1.0 / np.append(model.mass, 1.0), 0.0)
    ease = np.append(np.trace(inverses(model.inertia), axis1=1, axis2=2) / 3.0, 0.0) * moves
    moved, turned = lightness[body].sum(axis=1), ease[body].sum(axis=1)
    return np.sqrt(np.divide(moved, turned, out=np.ones_like(moved), where=turned > 0.0))


def _rows(joints: tuple[JointSpec, ...], is_steep: NDArray[np.bool_]) -> tuple[tuple[Ints, ...], int]:
    """The rows that joints have at any frame, in triples that each belong to one joint.

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
    """Target, stiffness, damping and force of the rows of a coordinate, by their kinds."""
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
