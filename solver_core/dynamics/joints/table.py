# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a scene's joints is constant: their frames in their bodies, and rows that hold, limit, pull or drive coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...scene.joints import AxisSpec, JointSpec
from ...scene.spec import SceneSpec
from ..bodies import Model, State
from ..motion.rotation import matrices
from .coordinates import Coordinates, angular_form, coordinates

__all__ = ["AT_LEAST", "AT_MOST", "COORDINATES", "HOLD", "MOTOR", "SPRING", "JointTable", "Rows", "joint_table", "measured"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HOLD, AT_LEAST, AT_MOST, SPRING, MOTOR = range(5)
COORDINATES = "X", "Y", "Z", "X rotation", "Y rotation", "Z rotation"
ROWS = 3  # in a triple


class Rows(NamedTuple):
    """What rows do, joint after joint: (r,) joint, coordinate, kind, triple and place in it; target: m, rad, or of a motor m/s
    or rad/s; stiffness, damping; force: N or N m, of a motor."""

    joint: Ints
    coordinate: Ints
    kind: Ints
    triple: Ints
    place: Ints
    target: Floats
    stiffness: Floats
    damping: Floats
    force: Floats


class JointTable(NamedTuple):
    """j joints. body: (j, 2), -1 for the world. place: (j, 2, 3) of the joint's frame from the centre of mass, axes:
    (j, 2, 3, 3) its axes by columns, both in body axes. form: (j,) of the angles. length: (j,) m, at which a force turns the
    bodies as easily as it moves them. breaking: (j,) N s and N m s. rows: of all joints; triples: how many they are in."""

    body: Ints
    place: Floats
    axes: Floats
    form: Ints
    length: Floats
    breaking: Floats
    rows: Rows
    triples: int


def joint_table(spec: SceneSpec, model: Model, state: State) -> JointTable:
    """The joints of a scene whose bodies are where it begins."""
    number = {body.name: index for index, body in enumerate(spec.bodies)} | {"": -1}
    count = len(spec.joints)
    body = np.array([[number[joint.body_a], number[joint.body_b]] for joint in spec.joints], dtype=np.int64).reshape(count, 2)
    at = np.array([joint.position for joint in spec.joints], dtype=float).reshape(count, 3)
    orientation = np.array([joint.orientation for joint in spec.joints], dtype=float).reshape(count, 4)
    orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    position, rotation = padded(state.position, matrices(state.orientation))
    rows, triples = _rows(spec.joints)
    return JointTable(
        body=body,
        place=np.einsum("jeba,jeb->jea", rotation[body], at[:, None] - position[body]),
        axes=np.einsum("jeba,jbc->jeac", rotation[body], matrices(orientation)),
        form=np.array([angular_form(joint) for joint in spec.joints], dtype=np.int64),
        length=_lengths(model, body),
        breaking=np.array([joint.breaking_impulse for joint in spec.joints], dtype=float),
        rows=rows,
        triples=triples,
    )


def padded(position: Floats, rotation: Floats) -> tuple[Floats, Floats]:
    """Positions (n + 1, 3) and rotations (n + 1, 3, 3) with those of the world last, where the index -1 finds them."""
    return np.vstack([position, np.zeros(3)]), np.concatenate([rotation, np.eye(3)[None]])


def measured(table: JointTable, position: Floats, rotation: Floats, which: Ints) -> Coordinates:
    """The coordinates of some joints, of bodies at positions (n, 3) with rotations (n, 3, 3)."""
    body = table.body[which]
    position, rotation = padded(position, rotation)
    place = position[body] + np.einsum("jeab,jeb->jea", rotation[body], table.place[which])
    return coordinates(place, rotation[body] @ table.axes[which], table.form[which])


def _lengths(model: Model, body: Ints) -> Floats:
    moves = np.append(model.dof >= 0, False)
    lightness = np.where(moves, 1.0 / np.append(model.mass, 1.0), 0.0)
    ease = np.append(np.trace(np.linalg.inv(model.inertia), axis1=1, axis2=2) / 3.0, 0.0) * moves
    moved, turned = lightness[body].sum(axis=1), ease[body].sum(axis=1)
    return np.sqrt(np.divide(moved, turned, out=np.ones_like(moved), where=turned > 0.0))


def _rows(joints: tuple[JointSpec, ...]) -> tuple[Rows, int]:
    """The rows of joints, in triples that each belong to one of them."""
    found: list[tuple[float, ...]] = []
    triples = 0
    for index, joint in enumerate(joints):
        axes = enumerate((*joint.linear, *joint.angular))
        of_joint = [(coordinate, *row) for coordinate, axis in axes for row in _of_axis(axis)]
        found += [(index, triples + i // ROWS, i % ROWS, *row) for i, row in enumerate(of_joint)]
        triples += -(-len(of_joint) // ROWS)
    table = np.array(found, dtype=float).reshape(len(found), 9)
    joint, triple, place, coordinate, kind = table[:, :5].T.astype(np.int64)
    target, stiffness, damping, force = table[:, 5:].T.copy()
    return Rows(joint, coordinate, kind, triple, place, target, stiffness, damping, force), triples


def _of_axis(axis: AxisSpec) -> Iterator[tuple[int, float, float, float, float]]:
    """Kind, target, stiffness, damping and force of the rows of a coordinate."""
    if axis.lower == axis.upper:
        yield HOLD, axis.lower, 0.0, 0.0, 0.0
        return
    if axis.lower > -np.inf:
        yield AT_LEAST, axis.lower, 0.0, 0.0, 0.0
    if axis.upper < np.inf:
        yield AT_MOST, axis.upper, 0.0, 0.0, 0.0
    if axis.stiffness > 0.0 or axis.damping > 0.0:
        yield SPRING, axis.rest, axis.stiffness, axis.damping, 0.0
    if axis.motor_force > 0.0:
        yield MOTOR, axis.motor_velocity, 0.0, 0.0, axis.motor_force
