# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene of the solver as Blender objects with Blender's own rigid body settings: the inverse of `extract.py`."""
# pyright: reportMissingImports=false

from __future__ import annotations

import bmesh
import bpy
import numpy as np
from bpy.types import Collection, Context, Mesh, Object, PropertyGroup, Scene
from mathutils import Quaternion, Vector

from ...solver_core.scene.deformable import DeformableSpec, Elasticity
from ...solver_core.scene.spec import BodyKind, BodySpec, Grain, SceneSpec, ShapeKind, ShapeSpec
from ...solver_core.scenes.destruction import BondedScene
from ..blender import actions
from ..blender.shape_meshes import form_of, shape_mesh, slab
from ..settings.object_properties import PA
from .appearance import ROOM, dress
from .constraints import add_constraint

__all__ = ["GROUND_THICKNESS", "bond", "build_scene", "ground_width", "hidden_by", "hold", "world_members"]

# Width of the slab for a half-space, relative to the objects on it.
GROUND_WIDTH = 6.0
GROUND_THICKNESS = 0.1


def build_scene(context: Context, spec: SceneSpec, name: str, room: float = ROOM) -> Collection:
    """Make and select the bodies of `spec` around the 3D cursor, in a collection of their own; add a camera and lights.

    room: width of the picture relative to the bodies.
    """
    scene = context.scene
    members = world_members(context)
    collection = bpy.data.collections.new(name)
    scene.collection.children.link(collection)
    meshes: dict[bytes, Mesh] = {}
    objects: dict[str, Object] = {}
    for ob in context.selected_objects:
        ob.select_set(False)
    for body in spec.bodies:
        objects[body.name] = ob = build_body(body, spec, meshes)
        ob.location += scene.cursor.location
        collection.objects.link(ob)
        # A mesh linked to the collection of the rigid body world becomes a rigid body.
        members.objects.link(ob)
        set_rigid_body(ob, body)
        if body.center_of_mass is not None:
            set_center_of_mass(ob, body.center_of_mass, collection)
        if body.kind is BodyKind.ACTIVE and body.path is not None:
            hold(ob, body.path, spec.frame_start)
        if body.kind is BodyKind.ACTIVE:
            ob.select_set(True)
            context.view_layer.objects.active = ob
    for joint in spec.joints:
        ob = add_constraint(joint, spec, objects, scene.rigidbody_world)
        ob.location += scene.cursor.location
        collection.objects.link(ob)
    set_scene(scene, spec)
    dress(context, collection, {body.name: body for body in spec.bodies}, objects, room)
    return collection


def bond(collection: Collection, scene: BondedScene) -> None:
    """Move the bonded bodies of a demo into a collection in its own, with bonds between them."""
    bonded = bpy.data.collections.new(f"{collection.name} Bonds")
    collection.children.link(bonded)
    for ob in [*collection.objects]:
        if ob.name in scene.bonded:
            collection.objects.unlink(ob)
            bonded.objects.link(ob)
    settings = bonded.stiction_bonds
    settings.use_bonds, settings.material = True, "CUSTOM"
    settings.tension, settings.shear = scene.stresses.tension / PA, scene.stresses.shear / PA


def world_members(context: Context) -> Collection:
    """Return the collection of the rigid body world, created if missing."""
    scene = context.scene
    if scene.rigidbody_world is None:
        bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    assert world is not None
    if world.collection is None:
        world.collection = bpy.data.collections.new("RigidBodyWorld")
    return world.collection


def set_scene(scene: Scene, spec: SceneSpec) -> None:
    scene.gravity = spec.gravity
    scene.use_gravity = True
    cache = scene.rigidbody_world.point_cache
    cache.frame_start, cache.frame_end = spec.frame_start, spec.frame_end
    scene.frame_start, scene.frame_end = spec.frame_start, spec.frame_end
    scene.render.fps, scene.render.fps_base = round(spec.fps), 1.0
    scene.rigidbody_world.time_scale = spec.time_scale
    scene.stiction.friction_combine = spec.friction_combine.name


def build_body(body: BodySpec, spec: SceneSpec, meshes: dict[bytes, Mesh]) -> Object:
    position, orientation = Vector(body.position), Quaternion(body.orientation)
    if body.shape.kind is ShapeKind.PLANE:
        # Bullet centers a box on its object's origin, so the middle of the slab must be there.
        ob = bpy.data.objects.new(body.name, slab(body.name, ground_width(spec), GROUND_THICKNESS * ground_width(spec)))
        position -= orientation @ Vector((0.0, 0.0, 0.5 * GROUND_THICKNESS * ground_width(spec)))
    else:
        # Bodies of one shape share one mesh, as linked duplicates do.
        shape = body.shape
        bends = body.deformable is not None
        key = (
            repr((shape.kind, shape.margin, shape.radius, bends)).encode()
            + shape.vertices.tobytes()
            + shape.triangles.tobytes()
        )
        if key not in meshes:
            meshes[key] = shape_mesh(body.name, shape, bends=bends)
        ob = bpy.data.objects.new(body.name, meshes[key])
    ob.rotation_mode = "QUATERNION"
    ob.location = position
    ob.rotation_quaternion = orientation
    return ob


def set_rigid_body(ob: Object, body: BodySpec) -> None:
    rigid, settings, material = ob.rigid_body, ob.stiction, body.material
    rigid.type = "ACTIVE" if body.kind is BodyKind.ACTIVE else "PASSIVE"
    rigid.collision_shape = form_of(body.shape)
    rigid.friction = material.mu_static
    rigid.restitution = material.restitution
    rigid.linear_damping, rigid.angular_damping = body.linear_damping, body.angular_damping
    if material.mu_dynamic != material.mu_static:
        settings.use_mu_dynamic = True
        settings.mu_dynamic = material.mu_dynamic
    if material.grain is not None:
        set_grain(settings, material.grain)
    if body.deformable is not None:
        set_flexible(settings, body.deformable)
    if body.velocity.any() or body.angular_velocity.any():
        settings.initial_motion, settings.velocity, settings.angular_velocity = "VALUES", body.velocity, body.angular_velocity
    if body.surface_motion is not None:
        settings.surface_velocity, settings.surface_spin = body.surface_motion.velocity, body.surface_motion.spin
    if material.rolling or material.torsion:
        settings.rolling, settings.torsion = material.rolling, material.torsion
    if body.density is not None:
        settings.mass_source, settings.density = "DENSITY", body.density
        rigid.mass = body.density * mesh_volume(ob.data)
    elif body.mass is not None:
        rigid.mass = body.mass


def set_grain(settings: PropertyGroup, grain: Grain) -> None:
    settings.use_grain, settings.grain_direction, settings.mu_across = True, grain.direction, grain.mu_static
    if grain.mu_dynamic != grain.mu_static:
        settings.use_mu_across_dynamic, settings.mu_across_dynamic = True, grain.mu_dynamic


def set_center_of_mass(ob: Object, place: np.ndarray, collection: Collection) -> None:
    """Add an empty at the center of mass, (3,) m in the body frame, which moves along with the object."""
    empty = bpy.data.objects.new(f"{ob.name} Center of Mass", None)
    empty.empty_display_type, empty.empty_display_size = "SPHERE", 0.1 * float(np.linalg.norm(place))
    collection.objects.link(empty)
    empty.parent, empty.location = ob, Vector(place)
    ob.stiction.center_of_mass, ob.stiction.center_object = "OBJECT", empty


def set_flexible(settings: PropertyGroup, spec: DeformableSpec) -> None:
    settings.use_flexible, settings.use_large_bends = True, spec.kind is Elasticity.STVK
    settings.young, settings.poisson, settings.damping_ratio = spec.young / PA, spec.poisson, spec.damping_ratio
    settings.modes, settings.resolution = spec.modes, spec.resolution


def hold(ob: Object, path: np.ndarray, start: int) -> None:
    """Key the object along the path of an active body, which is *Animated* until the path ends."""
    first, last = start, start + len(path) - 1
    origin = Vector(ob.location)
    # It is at rest except for the last two frames; see `let_go`.
    for frame in sorted({first, max(first, last - 2), last}):
        ob.location = origin + Vector(path[frame - start, :3] - path[0, :3])
        ob.keyframe_insert("location", frame=frame)
    ob.location = origin
    for frame, held in ((first, True), (last + 1, False)):
        ob.rigid_body.kinematic = held
        ob.keyframe_insert("rigid_body.kinematic", frame=frame)
    ob.rigid_body.kinematic = True
    for curve in actions.curves(ob):
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR" if curve.data_path == "location" else "CONSTANT"


def ground_width(spec: SceneSpec) -> float:
    """Return the width of the slab for a half-space [m]."""
    return GROUND_WIDTH * max((float(np.abs(body.position).max() + radius(body.shape)) for body in spec.bodies), default=1.0)


def mesh_volume(mesh: Mesh) -> float:
    sheet = bmesh.new()
    sheet.from_mesh(mesh)
    volume = sheet.calc_volume()
    sheet.free()
    return volume


def radius(shape: ShapeSpec) -> float:
    return float(np.linalg.norm(shape.vertices, axis=1).max(initial=0.0)) + shape.margin + shape.radius


def hidden_by(others: set[Object], added: set[Object]) -> list[str]:
    """Return the names of existing meshes whose bounds contain the middle of an added active body."""
    bpy.context.view_layer.update()
    middles = [ob.matrix_world.translation for ob in added if ob.rigid_body is not None and ob.rigid_body.type == "ACTIVE"]
    found = []
    for ob in others:
        if ob.type != "MESH" or not ob.visible_get() or 0.0 in ob.dimensions:
            continue
        low, high = Vector(ob.bound_box[0]), Vector(ob.bound_box[6])
        to_local = ob.matrix_world.inverted()
        if any(all(a < x < b for a, x, b in zip(low, to_local @ middle, high, strict=True)) for middle in middles):
            found.append(ob.name)
    return found
