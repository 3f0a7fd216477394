# SPDX-License-Identifier: GPL-3.0-or-later
"""The appearance of a demo: materials, a camera that shows all of it, and lights."""
# pyright: reportMissingImports=false

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import bpy
import numpy as np
from bpy.types import Collection, Context, Material, Object, Scene
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodyKind, BodySpec, ShapeKind

__all__ = ["ROOM", "dress", "make_see_through"]

Array = NDArray[np.float64]
Color = tuple[float, float, float]


@dataclass(frozen=True)
class Paint:
    """A material: its name in the file, its base color (linear, 0 to 1), its roughness and its opacity."""

    name: str
    color: Color
    roughness: float
    alpha: float = 1.0


FLOOR = Paint("Demo Floor", (0.10, 0.13, 0.15), 0.8)
FIXED = Paint("Demo Fixed", (0.30, 0.28, 0.26), 0.7)
DRIVEN = Paint("Demo Animated", (0.08, 0.22, 0.45), 0.5)
# of bodies with others inside
GLASS = Paint("Demo Glass", (0.60, 0.75, 0.85), 0.2, 0.15)
# Active bodies use these in rotation, so that neighbors are distinguishable.
ACTIVE = (
    Paint("Demo Ivory", (0.80, 0.70, 0.52), 0.5),
    Paint("Demo Brick", (0.62, 0.20, 0.10), 0.5),
    Paint("Demo Teal", (0.10, 0.42, 0.42), 0.5),
)

# direction from the middle of a demo to its camera
VIEW = Vector((0.55, -1.0, 0.55))
LENS = 50.0  # mm
# width of the picture relative to the bodies of a demo at their start
ROOM = 1.15
# W/m² and angles about x, y and z, in rad.
SUNS = (("Sun", 3.0, (0.7, -0.35, 0.3)), ("Fill Light", 0.8, (0.9, 0.6, -0.9)))
SKY = (0.55, 0.65, 0.75, 1.0)


def dress(
    context: Context,
    collection: Collection,
    bodies: Mapping[str, BodySpec],
    objects: Mapping[str, Object],
    room: float = ROOM,
) -> None:
    """Add materials, the scene's camera and two suns to a demo.

    Parameters
    ----------
    collection : collection of the camera and the lights
    bodies : the bodies of the demo by name
    objects : the objects of the bodies, by the same names
    room : width of the picture relative to the bodies
    """
    paint(bodies, objects)
    context.view_layer.update()
    grounds = [objects[name] for name, body in bodies.items() if body.shape.kind is ShapeKind.PLANE]
    seen = [objects[name] for name, body in bodies.items() if body.shape.kind is not ShapeKind.PLANE]
    points = np.array([ob.matrix_world @ Vector(corner) for ob in seen for corner in ob.bound_box])
    if len(points):
        # Bodies that start above the ground fall on it.
        points = np.concatenate([points, *(below(points, ob) for ob in grounds)])
        add_camera(context.scene, collection, points, room)
        add_suns(collection, points)
    if context.scene.world is None:
        context.scene.world = sky()


def below(points: Array, ground: Object) -> Array:
    """Return the points (n, 3) m moved along the normal of a ground, a slab, onto its upper side."""
    normal = np.array(ground.matrix_world.col[2].xyz)
    top = np.array(ground.matrix_world @ Vector(ground.bound_box[6]))
    return points - ((points - top) @ normal)[:, None] * normal


def paint(bodies: Mapping[str, BodySpec], objects: Mapping[str, Object]) -> None:
    """Assign a material to each object, in an object slot, because bodies of one shape share a mesh."""
    number = 0
    for name, body in bodies.items():
        if body.shape.kind is ShapeKind.PLANE:
            chosen = FLOOR
        elif body.kind is BodyKind.ACTIVE:
            chosen, number = ACTIVE[number % len(ACTIVE)], number + 1
        else:
            chosen = FIXED if body.kind is BodyKind.PASSIVE else DRIVEN
        assign(objects[name], chosen)


def make_see_through(ob: Object) -> None:
    """Show an object as glass in renders, and as wires in the viewport."""
    assign(ob, GLASS)
    ob.display_type = "WIRE"


def assign(ob: Object, chosen: Paint) -> None:
    if not ob.material_slots:
        ob.data.materials.append(None)
    ob.material_slots[0].link = "OBJECT"
    ob.material_slots[0].material = material_of(chosen)


def material_of(wanted: Paint) -> Material:
    """Return the material of a paint, or that of an earlier demo in the file."""
    found = next((one for one in bpy.data.materials if one.name == wanted.name and one.library is None), None)
    if found is not None:
        return found
    material = bpy.data.materials.new(wanted.name)
    if material.node_tree is None:
        material.use_nodes = True
    tree = material.node_tree
    assert tree is not None
    color = (*wanted.color, wanted.alpha)
    # viewport color in Solid shading
    material.diffuse_color, material.roughness = color, wanted.roughness
    surface = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED").inputs
    surface["Base Color"].default_value, surface["Roughness"].default_value = (*wanted.color, 1.0), wanted.roughness
    surface["Alpha"].default_value = wanted.alpha
    return material


def add_camera(scene: Scene, collection: Collection, points: Array, room: float) -> None:
    """Add a camera that sees all points (n, 3) m, and make it that of the scene. room: width of the picture over theirs."""
    data = bpy.data.cameras.new(f"{collection.name} Camera")
    camera = bpy.data.objects.new(data.name, data)
    toward = VIEW.normalized()
    turn = toward.to_track_quat("Z", "Y").to_matrix()
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    across, up, ahead = ((points - middle) @ np.array(turn)).T
    data.lens, data.sensor_fit = LENS, "HORIZONTAL"
    half_width = 0.5 * data.sensor_width / LENS
    half_height = half_width * scene.render.resolution_y / scene.render.resolution_x
    # A point is in the picture if |across| <= half_width (distance - ahead).
    distance = float(max(np.max(room * np.abs(across) / half_width + ahead), np.max(room * np.abs(up) / half_height + ahead)))
    camera.matrix_world = Matrix.Translation(Vector(middle) + distance * toward) @ turn.to_4x4()
    data.clip_start, data.clip_end = 0.01 * distance, 100.0 * distance
    data.display_size = 0.1 * distance
    collection.objects.link(camera)
    scene.camera = camera


def add_suns(collection: Collection, points: Array) -> None:
    """Add a sun, and a weaker one from the other side, above the points (n, 3) m; unlike lamps they suit all sizes."""
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    for i, (name, strength, angles) in enumerate(SUNS):
        data = bpy.data.lights.new(f"{collection.name} {name}", "SUN")
        data.energy, data.angle = strength, math.radians(6.0)
        sun = bpy.data.objects.new(data.name, data)
        sun.location = Vector(middle) + Vector((0.4 * size * (-1.0) ** i, 0.0, size))
        sun.rotation_euler = angles
        collection.objects.link(sun)


def sky() -> bpy.types.World:
    """Add a bright, uniform sky to a file without a world."""
    world = bpy.data.worlds.new("Demo Sky")
    if world.node_tree is None:
        world.use_nodes = True
    tree = world.node_tree
    assert tree is not None
    background = next(node for node in tree.nodes if node.type == "BACKGROUND").inputs
    background["Color"].default_value, background["Strength"].default_value = SKY, 0.7
    return world
