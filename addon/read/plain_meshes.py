# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies from mesh objects without a rigid body: closed meshes as they are, open ones by their convex hulls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from bpy.types import Context, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, ShapeKind, ShapeSpec
from ..blender import rotations
from ..blender.overflow import number
from ..blender.placement import placed
from ..settings.object_properties import effective_grain
from .grains import in_body
from .shapes import ShapeError, flat_normal, mesh_shape, read_mesh, signed_volume

__all__ = ["PlainBody", "obstacle_of", "plain_body"]

Array = NDArray[np.float64]

# Blender's defaults of a new rigid body.
NEW_BODY = MaterialSpec(0.5, 0.5, 0.0)


@dataclass(frozen=True)
class PlainBody:
    """A body from an object without a rigid body. open: names of its open meshes, for which hulls are used."""

    spec: BodySpec
    open: tuple[str, ...]


def plain_body(ob: Object, meshes: Sequence[Object], context: Context) -> PlainBody:
    """Make an active body of an object and of the meshes that move with it.

    Parameters
    ----------
    ob : places the body; its name is that of the body.
    meshes : the mesh objects that collide, `ob` among them where it has a mesh.

    Raises
    ------
    PlacementError : an object has no size or no place.
    ShapeError : a mesh has no volume, or there is none; it names the object.
    """
    depsgraph = context.evaluated_depsgraph_get()
    world, rotation = placed(ob, depsgraph)
    children, is_open = [], []
    for part in meshes:
        part_world, part_rotation = placed(part, depsgraph)
        try:
            shape, was_open = solid_shape(part, part_rotation.T @ part_world[:3, :3], context)
        except ShapeError as error:
            raise ShapeError(error.field, str(error), part.name_full) from error
        if was_open:
            is_open.append(part.name_full)
        place = rotation.T @ (part_world[:3, 3] - world[:3, 3])
        children.append(ChildSpec(shape, place, rotations.quaternion_of_matrix(rotation.T @ part_rotation)))
    if not children:
        raise ShapeError("mesh", "it has no mesh that could collide; select mesh objects", ob.name_full)
    alone = len(meshes) == 1 and meshes[0] == ob
    spec = BodySpec(
        name=ob.name_full,
        kind=BodyKind.ACTIVE,
        shape=children[0].shape if alone else ShapeSpec(ShapeKind.COMPOUND, children=tuple(children)),
        position=world[:3, 3],
        orientation=rotations.quaternion_of_matrix(rotation),
        density=number(ob.stiction.density),
        material=in_body(plain_material(ob), rotation.T @ world[:3, :3]),
    )
    return PlainBody(spec, tuple(is_open))


def obstacle_of(ob: Object, context: Context) -> BodySpec:
    """Make a passive body of a mesh object as it is, open or closed. Raises PlacementError and ShapeError."""
    world, rotation = placed(ob, context.evaluated_depsgraph_get())
    return BodySpec(
        name=ob.name_full,
        kind=BodyKind.PASSIVE,
        shape=mesh_shape(surface_of(ob, rotation.T @ world[:3, :3], context), active=False),
        position=world[:3, 3],
        orientation=rotations.quaternion_of_matrix(rotation),
        material=in_body(plain_material(ob), rotation.T @ world[:3, :3]),
    )


def solid_shape(ob: Object, to_body: Array, context: Context) -> tuple[ShapeSpec, bool]:
    """Return the shape of an active body with the object's mesh, and whether the mesh is open and the shape its hull.

    to_body: (3, 3) from scaled object axes to body axes. Raises ShapeError.
    """
    surface = surface_of(ob, to_body, context)
    if flat_normal(surface.vertices) is not None:
        raise ShapeError("mesh", "its mesh is flat, so it has no volume; give it a thickness, such as by a Solidify modifier")
    try:
        shape = mesh_shape(surface, active=True)
        if shape.kind is ShapeKind.HULL and signed_volume(shape.vertices, shape.triangles) < 0.0:
            shape = replace(shape, triangles=np.ascontiguousarray(shape.triangles[:, ::-1]))
        return shape, False
    except ShapeError as error:
        if error.field != "collision_shape":
            raise
    return replace(surface, triangles=np.zeros((0, 3), dtype=np.int32)), True


def surface_of(ob: Object, to_body: Array, context: Context) -> ShapeSpec:
    """Return the evaluated mesh of an object in the axes of its body. Raises ShapeError."""
    mesh = read_mesh(ob, "FINAL", context)
    triangles = mesh.triangles
    if np.linalg.det(to_body) < 0.0:
        triangles = np.ascontiguousarray(triangles[:, ::-1])
    return ShapeSpec(ShapeKind.HULL, mesh.vertices @ to_body.T, triangles)


def plain_material(ob: Object) -> MaterialSpec:
    """Return the user's surface settings of the object, with Blender's defaults of a new rigid body for its values."""
    settings = ob.stiction
    mu_static = number(settings.mu_static) if settings.use_mu_static else NEW_BODY.mu_static
    return MaterialSpec(
        mu_static=mu_static,
        mu_dynamic=number(settings.mu_dynamic) if settings.use_mu_dynamic else mu_static,
        restitution=settings.restitution if settings.use_restitution else NEW_BODY.restitution,
        name=settings.material,
        grain=effective_grain(settings),
    )
