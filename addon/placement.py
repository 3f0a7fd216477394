# SPDX-License-Identifier: GPL-3.0-or-later
"""From the poses of bodies to the channels of objects: world matrices through parents, deltas and rotation modes.

A body's frame moves rigidly by D = pose(f) pose(first)^-1, so its object's world matrix is W(f) = D W(first), with scale and
shear as they were. Blender composes W = A B, where B is made of the object's own channels and A of its parent's, so that
B = A^-1 W(f).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bpy.types import Depsgraph, Object
from numpy.typing import NDArray

from . import rotations

__all__ = ["Channels", "PlacementError", "ancestors", "channels_of", "matrix", "place", "placed", "world_matrices"]

Array = NDArray[np.float64]

# Below this length of an axis the object has no size, and no rotation can be told.
SMALLEST_SCALE = 1e-9
# Volume that three axes of length 1 span, below which they lie in a plane. Blender's matrices are exact to about 1e-7.
FLATTEST = 1e-6


class PlacementError(ValueError):
    """No body can be where the object is; `field` names what is in the way."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Channels:
    """Values of an object's channels over frames: location (frames, 3), and rotation (frames, 3 or 4) of the channel `path`."""

    location: Array
    path: str
    rotation: Array


def matrix(value: Sequence[Sequence[float]]) -> Array:
    """A matrix of Blender's as an array."""
    return np.array([list(row) for row in value], dtype=np.float64)


def placed(ob: Object, depsgraph: Depsgraph) -> tuple[Array, Array]:
    """World matrix (4, 4) of an object, and the rotation (3, 3) nearest to it, its body's. Raises PlacementError."""
    world = matrix(ob.evaluated_get(depsgraph).matrix_world)
    if not np.isfinite(world).all():
        raise PlacementError("matrix_world", "its place is not a number; repair its location, rotation, scale or parents")
    if not spans_volume(world):
        # The topmost of its parents without volume takes that of all below it.
        flat, flat_world = ob, world
        for ancestor in ancestors(ob):
            above = matrix(ancestor.evaluated_get(depsgraph).matrix_world)
            if spans_volume(above):
                break
            flat, flat_world = ancestor, above
        scale = tuple(np.linalg.norm(flat_world[:3, :3], axis=0).round(6).tolist())
        owner = "" if flat == ob else f" of {flat.name_full} among its parents"
        raise PlacementError("scale", f"the scale {scale}{owner} leaves no volume; make it non-zero along every axis")
    return world, rotations.nearest_rotation(world[:3, :3])


def spans_volume(world: Array) -> bool:
    """Whether what has this world matrix (4, 4) is solid; false also where it is not finite."""
    lengths = np.linalg.norm(world[:3, :3], axis=0)
    return bool(lengths.min() >= SMALLEST_SCALE and abs(np.linalg.det(world[:3, :3] / lengths)) >= FLATTEST)


def world_matrices(poses: Array, rest_pose: Array, rest_world: Array) -> Array:
    """World matrices (frames, 4, 4) of an object whose body has poses (frames, 7), rest_pose (7,) at rest_world (4, 4)."""
    rotation = rotations.matrix_of_quaternion(poses[:, 3:]) @ rotations.matrix_of_quaternion(rest_pose[3:]).T
    result = np.zeros((len(poses), 4, 4))
    result[:, :3, :3] = rotation @ rest_world[:3, :3]
    result[:, :3, 3] = poses[:, :3] + rotation @ (rest_world[:3, 3] - rest_pose[:3])
    result[:, 3, 3] = 1.0
    return result


def channels_of(ob: Object, basis: Array) -> Channels:
    """The channels that give the object the basis matrices (frames, 4, 4), its scale and its deltas left as they are."""
    if ob.rotation_mode == "QUATERNION":
        path, delta = "rotation_quaternion", rotations.matrix_of_quaternion(np.array(ob.delta_rotation_quaternion))
    elif ob.rotation_mode == "AXIS_ANGLE":
        # Blender has no delta for this mode.
        path, delta = "rotation_axis_angle", np.eye(3)
    else:
        path, delta = "rotation_euler", rotations.matrix_of_euler(np.array(ob.delta_rotation_euler), ob.rotation_mode)
    scale = np.array(ob.scale) * np.array(ob.delta_scale)
    rotated = delta.T @ (basis[:, :3, :3] / scale)
    left, _, right = np.linalg.svd(rotated)
    nearest: Array = np.matmul(left, right)
    return Channels(
        location=basis[:, :3, 3] - np.array(ob.delta_location),
        path=path,
        rotation=rotations.continuous_rotation(nearest, ob.rotation_mode, np.array(getattr(ob, path))),
    )


def place(worlds: dict[Object, Array], depsgraph: Depsgraph) -> None:
    """Move objects to world matrices (4, 4), at the depsgraph's frame, also where they are each other's parents."""
    before = {ob: matrix(ob.evaluated_get(depsgraph).matrix_world) for ob in worlds if is_parent_of_any(ob, worlds)}
    for ob, world in worlds.items():
        basis = world
        if ob.parent is not None:
            evaluated = ob.evaluated_get(depsgraph)
            through_parent = matrix(evaluated.matrix_world) @ inverse(matrix(evaluated.matrix_basis))
            carrier = next((ancestor for ancestor in ancestors(ob) if ancestor in worlds), None)
            if carrier is not None:
                # The depsgraph still has the parent where it was; it takes everything below it along.
                through_parent = worlds[carrier] @ inverse(before[carrier]) @ through_parent
            basis = inverse(through_parent) @ world
        channels = channels_of(ob, basis[None])
        ob.location = channels.location[0]
        setattr(ob, channels.path, channels.rotation[0])


def inverse(affine: Array) -> Array:
    """Inverse of a matrix (4, 4); along an axis of scale 0, out of which no way leads back, it gives 0."""
    result = np.eye(4)
    result[:3, :3] = np.linalg.pinv(affine[:3, :3], rcond=FLATTEST)
    result[:3, 3] = -result[:3, :3] @ affine[:3, 3]
    return result


def ancestors(ob: Object) -> list[Object]:
    """Parent, its parent, and so on."""
    result = []
    while (ob := ob.parent) is not None:
        result.append(ob)
    return result


def is_parent_of_any(ob: Object, others: dict[Object, Array]) -> bool:
    return any(ob in ancestors(other) for other in others)
