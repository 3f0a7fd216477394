# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects in Blender for tests, ways to place them, and what the extraction reads of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

BOX = np.array([(x * 0.3, y * 0.2, z * 0.1) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def box_mesh(name: str, half: tuple[float, float, float]) -> bpy.types.Mesh:
    corners = [(x * half[0], y * half[1], z * half[2]) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(corners, [], faces)
    return mesh


def world_matrix(ob: bpy.types.Object) -> np.ndarray:
    """What Blender itself makes of the object now."""
    return np.array(ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world, dtype=float)


def kept(owner: bpy.types.ID) -> Any:
    """Where Blender keeps our values of a scene or an object, which no interface limits."""
    return owner.bl_system_properties_get(do_create=True) if hasattr(owner, "bl_system_properties_get") else owner


def read():
    from stiction.addon.read.extract import extract

    return extract(bpy.context)


def body_named(extraction, name):
    return next(body for body in extraction.spec.bodies if body.name == name)


def problems_of(run) -> dict[tuple[str, str], str]:
    from stiction.solver_core.validation.findings import SceneError

    with pytest.raises(SceneError) as caught:
        run()
    return {(problem.object, problem.field): problem.message for problem in caught.value.problems}


def corners_in_world(body) -> np.ndarray:
    from stiction.addon.blender.rotations import matrix_of_quaternion

    return body.shape.vertices @ matrix_of_quaternion(body.orientation).T + body.position


def outward_volume(shape) -> float:
    a, b, c = (shape.vertices[shape.triangles[:, corner]] for corner in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def euler_zyx(ob):
    ob.rotation_mode = "ZYX"
    ob.rotation_euler = (0.4, -1.1, 2.0)


def quaternion(ob):
    ob.rotation_mode = "QUATERNION"
    ob.rotation_quaternion = (0.2, -0.7, 0.4, 0.1)


def axis_angle(ob):
    ob.rotation_mode = "AXIS_ANGLE"
    ob.rotation_axis_angle = (2.2, 0.3, -0.8, 0.5)


def deltas(ob):
    euler_zyx(ob)
    ob.delta_location, ob.delta_rotation_euler, ob.delta_scale = (0.1, 0.2, -0.3), (0.5, 0.1, -0.2), (1.5, 1.0, 0.5)


def stretched(ob):
    euler_zyx(ob)
    ob.scale = (2.0, 0.5, 3.0)


def mirrored(ob):
    euler_zyx(ob)
    ob.scale = (-1.0, 1.0, 1.0)


def mirrored_all(ob):
    quaternion(ob)
    ob.scale = (-2.0, -0.5, -1.0)


def parented(ob):
    parent = add_empty("Parent", (1.0, -2.0, 0.5), (0.3, 0.9, -0.4))
    ob.parent = parent
    euler_zyx(ob)
    ob.scale = (1.0, 2.0, 1.0)


def parented_with_inverse(ob):
    parented(ob)
    bpy.context.view_layer.update()
    ob.matrix_parent_inverse = ob.parent.matrix_world.inverted()


def parented_to_scaled(ob):
    parented(ob)
    ob.parent.scale = (2.0, 2.0, 2.0)


def add_empty(name, location, rotation):
    empty = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location, empty.rotation_euler = location, rotation
    return empty


PLACEMENTS: list[Callable] = [
    euler_zyx,
    quaternion,
    axis_angle,
    deltas,
    stretched,
    mirrored,
    mirrored_all,
    parented,
    parented_with_inverse,
    parented_to_scaled,
]
