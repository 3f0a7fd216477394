# SPDX-License-Identifier: GPL-3.0-or-later
"""From poses of bodies to channels of objects: world matrices through parents, deltas and rotation modes.

The frame of a body moves rigidly by D = pose(f) pose(first)^-1, so the world matrix of its object is W(f) = D W(first), with
unchanged scale and shear. Blender composes W = A B, where B comes from the object's own channels and A from its parent. Hence B
= A^-1 W(f).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from bpy.types import Depsgraph, Object, ViewLayer
from numpy.typing import NDArray

from . import rotations
from .overflow import places

__all__ = [
    "Channels",
    "NowhereError",
    "PlacementError",
    "ancestors",
    "basis_at",
    "channels_of",
    "evaluate",
    "inverse",
    "is_solid",
    "matrices_now",
    "matrix",
    "place",
    "placed",
    "world_matrices",
]

Array = NDArray[np.float64]
# Returns a channel by name for objects with these indices (k, 3 or 4).
Read = Callable[[list[int], str], Array]

# Length of an axis below which the object has no size and its rotation is unknown.
SMALLEST_SCALE = 1e-9
# Volume spanned by three unit axes below which they count as coplanar. Blender's matrices are exact to about 1e-7.
FLATTEST = 1e-6


class PlacementError(ValueError):
    """The object has no valid placement for a body; `field` names the cause."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field


class NowhereError(PlacementError):
    """The object's transform is not finite."""


@dataclass(frozen=True)
class Channels:
    """Values of an object's channels over frames: location (frames, 3), and rotation (frames, 3 or 4) of the channel `path`."""

    location: Array
    path: str
    rotation: Array


def matrix(value: Sequence[Sequence[float]]) -> Array:
    """Return a matrix of Blender as an array, NaN where it is too large."""
    return places(np.array([list(row) for row in value], dtype=np.float64))


def matrices_now(objects: Iterable[Object], depsgraph: Depsgraph) -> Array:
    """Return world matrices (objects, 4, 4) at the depsgraph's frame, NaN where they are too large."""
    rows = [[list(row) for row in ob.evaluated_get(depsgraph).matrix_world] for ob in objects]
    return places(np.array(rows, dtype=np.float64).reshape(-1, 4, 4))


def placed(ob: Object, depsgraph: Depsgraph) -> tuple[Array, Array]:
    """Return the world matrix (4, 4) of an object, and the rotation (3, 3) closest to it, which is that of its body.

    Raises PlacementError.
    """
    world = matrix(ob.evaluated_get(depsgraph).matrix_world)
    if not np.isfinite(world).all():
        message = "its transform is not a number or too large; check its location, rotation, scale, parents and drivers"
        raise NowhereError("matrix_world", message)
    if not is_solid(world):
        # The topmost parent without volume is the cause.
        flat, flat_world = ob, world
        for ancestor in ancestors(ob):
            above = matrix(ancestor.evaluated_get(depsgraph).matrix_world)
            if is_solid(above):
                break
            flat, flat_world = ancestor, above
        scale = tuple(np.linalg.norm(flat_world[:3, :3], axis=0).round(6).tolist())
        owner = "" if flat == ob else f" of {flat.name_full} among its parents"
        raise PlacementError("scale", f"the scale {scale}{owner} leaves no volume; make it nonzero along every axis")
    return world, rotations.nearest_rotation(world[:3, :3])


def is_solid(worlds: Array) -> NDArray[np.bool_]:
    """Return True where world matrices (..., 4, 4) span a volume; False where they are not finite."""
    finite = np.isfinite(worlds).all(axis=(-2, -1))
    axes = np.where(finite[..., None, None], worlds[..., :3, :3], 0.0)
    lengths = np.linalg.norm(axes, axis=-2, keepdims=True)
    is_long = lengths.min(axis=(-2, -1)) >= SMALLEST_SCALE
    unit = axes / np.where(is_long[..., None, None], lengths, 1.0)
    solid: NDArray[np.bool_] = is_long & (np.abs(np.linalg.det(unit)) >= FLATTEST)
    return solid


def world_matrices(poses: Array, rest_poses: Array, rest_worlds: Array) -> Array:
    """Return world matrices (..., 4, 4) of objects whose bodies have poses (..., 7), given rest_poses (..., 7) at rest_worlds
    (..., 4, 4)."""
    at_rest = np.swapaxes(rotations.matrix_of_quaternion(rest_poses[..., 3:]), -1, -2)
    rotation = rotations.matrix_of_quaternion(poses[..., 3:]) @ at_rest
    arm = rest_worlds[..., :3, 3] - rest_poses[..., :3]
    result = np.zeros((*rotation.shape[:-2], 4, 4))
    result[..., :3, :3] = rotation @ rest_worlds[..., :3, :3]
    result[..., :3, 3] = poses[..., :3] + (rotation @ arm[..., None])[..., 0]
    result[..., 3, 3] = 1.0
    return result


def channels_of(objects: Sequence[Object], basis: Array) -> list[Channels]:
    """Return the channels that give objects the basis matrices (frames, objects, 4, 4), with unchanged scales and deltas."""
    result: dict[int, Channels] = {}
    for same in channels_by_mode(objects, basis):
        for column, index in enumerate(same.indices):
            result[index] = Channels(same.location[:, column], same.path, same.rotation[:, column])
    return [result[index] for index in range(len(objects))]


class ChannelsOfMode(NamedTuple):
    """Channels of all objects of one rotation mode, by their indices: location (frames, k, 3), rotation (frames, k, 3 or 4) of
    the channel `path`, and its present value (k, 3 or 4)."""

    indices: list[int]
    location: Array
    path: str
    rotation: Array
    now: Array


def channels_by_mode(objects: Sequence[Object], basis: Array, read: Read | None = None) -> Iterator[ChannelsOfMode]:
    """Yield the channels for each rotation mode. read: returns the channels of objects; None to read the objects."""
    read = partial(values_of, objects) if read is None else read
    by_mode: dict[str, list[int]] = {}
    for index, ob in enumerate(objects):
        by_mode.setdefault(ob.rotation_mode, []).append(index)
    for mode, indices in by_mode.items():
        values = partial(read, indices)
        scale, shift = values("scale") * values("delta_scale"), values("delta_location")
        path = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(mode, "rotation_euler")
        # An object without size along an axis shows no rotation about it.
        unscaled = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale != 0.0)
        matrices, now = basis[:, indices][..., :3, :3] * unscaled[:, None, :], values(path)
        nearest = rotations.orthogonal(np.swapaxes(delta_rotations(values, mode), -1, -2) @ matrices)
        rotation = rotations.continuous_rotation(nearest, mode, now)
        yield ChannelsOfMode(indices, basis[:, indices][..., :3, 3] - shift, path, rotation, now)


def values_of(objects: Sequence[Object], indices: list[int], name: str) -> Array:
    """As `Read`, asked of the objects one by one."""
    return np.array([getattr(objects[index], name)[:] for index in indices], dtype=np.float64)


def delta_rotations(values: Callable[[str], Array], mode: str) -> Array:
    """Return the delta rotations (objects, 3, 3) of a rotation mode. values: their channels."""
    if mode == "QUATERNION":
        return rotations.matrix_of_quaternion(values("delta_rotation_quaternion"))
    if mode == "AXIS_ANGLE":
        # Blender has no delta for this mode.
        return np.eye(3)[None]
    return rotations.matrix_of_euler(values("delta_rotation_euler"), mode)


def place(objects: Sequence[Object], basis: Array, read: Read | None = None) -> None:
    """Set the basis matrices (objects, 4, 4) of objects, with unchanged scales and deltas.

    read: returns their channels; None to read the objects. Unchanged objects are not written, because Blender would evaluate
        them again.
    """
    read = partial(values_of, objects) if read is None else read
    for same in channels_by_mode(objects, basis[None], read):
        chosen = [objects[index] for index in same.indices]
        where = read(same.indices, "location")
        for path, now, wanted in (("location", where, same.location[0]), (same.path, same.now, same.rotation[0])):
            single = wanted.astype(np.float32)
            for row in np.flatnonzero((now != single).any(axis=1)):
                setattr(chosen[row], path, single[row].tolist())


def basis_at(objects: Sequence[Object], worlds: Array, depsgraph: Depsgraph) -> Array:
    """Return the basis matrices (objects, 4, 4) that bring objects to world matrices (objects, 4, 4) at the depsgraph's frame,
    even if they are parents of each other."""
    children = [index for index, ob in enumerate(objects) if ob.parent is not None]
    if not children:
        return worlds
    number = {ob: index for index, ob in enumerate(objects)}
    evaluated = [objects[index].evaluated_get(depsgraph) for index in children]
    now = np.array([matrix(one.matrix_world) for one in evaluated])
    through_parent = now @ inverse(np.array([matrix(one.matrix_basis) for one in evaluated]))
    carriers = [next((number[one] for one in ancestors(objects[index]) if one in number), None) for index in children]
    rows = [row for row, carrier in enumerate(carriers) if carrier is not None]
    if rows:
        # The depsgraph still has the old pose of the parent, which moves all of its children.
        above = [carrier for carrier in carriers if carrier is not None]
        before = np.array([matrix(objects[index].evaluated_get(depsgraph).matrix_world) for index in above])
        through_parent[rows] = worlds[above] @ inverse(before) @ through_parent[rows]
    basis = worlds.copy()
    basis[children] = inverse(through_parent) @ worlds[children]
    return basis


def inverse(affine: Array) -> Array:
    """Return the inverses of matrices (..., 4, 4), with 0 along an axis of scale 0."""
    result = np.zeros_like(affine)
    result[..., :3, :3] = np.linalg.pinv(affine[..., :3, :3], rcond=FLATTEST)
    result[..., :3, 3] = -(result[..., :3, :3] @ affine[..., :3, 3:])[..., 0]
    result[..., 3, 3] = 1.0
    return result


def evaluate(objects: Sequence[Object], view_layer: ViewLayer) -> None:
    """Update objects, even rigid bodies with rigid bodies among their parents.

    For Blender's simulation these are dependency cycles, and each evaluation updates one generation.
    """
    generations = max((sum(above.rigid_body is not None for above in ancestors(ob)) for ob in objects), default=0)
    for _ in range(1 + generations):
        for ob in objects:
            ob.update_tag()
        view_layer.update()


def ancestors(ob: Object) -> list[Object]:
    """Yield the parent, its parent, and so on."""
    result = []
    while (ob := ob.parent) is not None:
        result.append(ob)
    return result
