# SPDX-License-Identifier: GPL-3.0-or-later
"""Creation of Blender objects with rigid bodies and constraints from a described scene: all of them, or none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import bpy
import numpy as np
from bpy.types import Collection, Context, Mesh, Object, Scene
from mathutils import Matrix, Quaternion, Vector
from numpy.typing import NDArray

from ...solver_core.geometry.body_mass import body_mass_properties, radius_of_link
from ...solver_core.interchange.described import Described, Found, Look
from ...solver_core.interchange.frames import continuous, quaternion_of
from ...solver_core.interchange.solids import Named, leaves, solid_of
from ...solver_core.scene.parts import sphere_shape
from ...solver_core.scene.spec import BodyKind, BodySpec, FrictionCombine, SceneSpec, ShapeKind, ShapeSpec
from ...solver_core.validation.findings import SceneError, SceneProblem
from ..blender import actions
from ..blender.shape_meshes import form_of, is_upright, shape_mesh, slab
from ..demos.constraints import add_constraint
from ..demos.demo_scene import GROUND_THICKNESS, ground_width, hold, world_members
from ..read.shapes import ShapeError, primitive
from .joints import for_constraints, kept_apart

__all__ = ["build"]

Array = NDArray[np.float64]

# Accuracy of a shape in single precision, relative to its size.
ROUNDING = 1e-5
# m; radius of the ball that shows an animated body without a collider
USUAL_RADIUS = 0.1
# Limits of Blender's frame rate and of its base.
LARGEST_FPS = 32767
SMALLEST_BASE, LARGEST_BASE = 1e-5, 1e6
BOUNDED = ("BOX", "SPHERE", "CAPSULE", "CYLINDER", "CONE")


def build(context: Context, scene: Described, name: str, found: Found, *, with_settings: bool = True) -> Collection:
    """Create the bodies and joints of a scene in a new collection, and select the bodies.

    name: of the collection. found: gets a warning for each feature that Blender does not support. with_settings: the open scene
    gets the gravity, frames and combination rules of the described scene.

    Returns the collection. If an exception is raised, the file is as before: everything that was created is removed, and the
    selection and the settings are unchanged. Raises SceneError for a frame rate that Blender does not support.
    """
    rate = frame_rate(scene.spec.fps) if with_settings else None
    before = [set(kind) for kind in kinds()]
    had_world = context.scene.rigidbody_world is not None
    try:
        spec = fitting(scene.spec, found)
        target = bpy.data.collections.new(name)
        context.scene.collection.children.link(target)
        objects = build_bodies(context, spec, scene.looks, target, found)
        for joint in spec.joints:
            target.objects.link(add_constraint(joint, spec, objects, context.scene.rigidbody_world))
        if rate is not None:
            set_scene(context.scene, spec, rate)
        # Last, because the selection is not restored after an error.
        select(context, list(objects.values()))
    except BaseException:
        if not had_world and context.scene.rigidbody_world is not None:
            bpy.ops.rigidbody.world_remove()
        for kind, known in zip(kinds(), before, strict=True):
            for data in set(kind) - known:
                kind.remove(data)
        raise
    return target


def kinds() -> tuple[bpy.types.bpy_prop_collection, ...]:
    """Return the collections of created data, users before the data that they use."""
    data = bpy.data
    return data.objects, data.collections, data.meshes, data.actions, data.materials


def fitting(spec: SceneSpec, found: Found) -> SceneSpec:
    """Return the scene without features that Blender's rigid bodies do not support."""
    bodies = []
    for body in spec.bodies:
        now = body
        if spec.restitution_combine is not FrictionCombine.PRODUCT and body.material.restitution > 0.0:
            found.odd(body.name, "restitution", "bounciness is multiplied in Blender; two equal surfaces keep their value")
            now = replace(now, material=replace(body.material, restitution=math.sqrt(body.material.restitution)))
        if body.deformation is not None:
            found.odd(body.name, "deformation", "the motion of its points is left out; it keeps its shape of the first frame")
            now = replace(now, deformation=None)
        bodies.append(now)
    if spec.gravity_path is not None:
        found.odd("gravity", "gravity_path", "its change is left out; it is that of the first frame")
    if spec.speed_path is not None:
        found.odd("scene", "speed_path", "its change is left out; the speed is the largest of all frames")
    joints = [one for joint in spec.joints for one in for_constraints(joint, found)]
    joined = {frozenset((joint.body_a, joint.body_b)) for joint in joints}
    joints += [kept_apart(pair) for pair in spec.excluded if frozenset(pair) not in joined]
    return replace(spec, bodies=tuple(bodies), joints=tuple(joints))


def build_bodies(
    context: Context, spec: SceneSpec, looks: Mapping[str, Look], target: Collection, found: Found
) -> dict[str, Object]:
    """Create the objects of all bodies in a collection. looks: by body name, of bodies that have one.

    Returns the objects by the names of their bodies.
    """
    members = world_members(context)
    objects = {}
    colours: dict[tuple[float, ...], bpy.types.Material] = {}
    for body in spec.bodies:
        look = looks.get(body.name)
        ob, position = body_object(body, look, spec, found)
        ob.rotation_mode = "QUATERNION"
        ob.location, ob.rotation_quaternion = position, Quaternion(body.orientation)
        target.objects.link(ob)
        members.objects.link(ob)
        # A mesh linked to that collection becomes a rigid body.
        set_body(ob, body, spec)
        set_center_and_inertia(ob, body, target)
        if look is not None and look.colour is not None and isinstance(ob.data, Mesh):
            ob.data.materials.append(coloured(look.colour, colours))
        if ob.rigid_body.collision_shape == "COMPOUND":
            add_parts(ob, body, target, members, is_shown=look is None)
        objects[body.name] = ob
    return objects


def select(context: Context, objects: Sequence[Object]) -> None:
    """Select objects and no others. The last one becomes active."""
    for ob in context.selected_objects:
        ob.select_set(False)
    for ob in objects:
        ob.select_set(True)
    context.view_layer.objects.active = objects[-1]


def body_object(body: BodySpec, look: Look | None, spec: SceneSpec, found: Found) -> tuple[Object, Vector]:
    """Return the object of a body, placed: a mesh with its shape, or the parent of a compound."""
    position = Vector(body.position)
    if body.shape.kind is ShapeKind.PLANE:
        width = ground_width(spec)
        found.odd(body.name, "Plane", f"Blender has no half-space; it is a slab {width:.3g} m wide")
        # Bullet centers a box on its object's origin, so that is where the middle of the slab has to be
        depth = Vector((0.0, 0.0, 0.5 * GROUND_THICKNESS * width))
        return bpy.data.objects.new(body.name, slab(body.name, width, GROUND_THICKNESS * width)), position - (
            Quaternion(body.orientation) @ depth
        )
    if look is not None:
        mesh = look_mesh(body.name, look)
    elif body.shape.kind is ShapeKind.NONE:
        # A body in Blender needs a mesh; a ball shows its location.
        mesh = shape_mesh(body.name, sphere_shape(radius_of_link(body) or USUAL_RADIUS))
    elif body.shape.kind is ShapeKind.COMPOUND or not is_upright(solid_of(body.shape)):
        mesh = bpy.data.meshes.new(body.name)
    else:
        mesh = shape_mesh(body.name, body.shape)
    return bpy.data.objects.new(body.name, mesh), position


def is_compound(ob: Object, shape: ShapeSpec) -> bool:
    """Return True if the object's own mesh is not the collision shape."""
    if shape.kind is ShapeKind.COMPOUND:
        return True
    if shape.kind in (ShapeKind.PLANE, ShapeKind.NONE):
        return False
    points = mesh_points(ob.data)
    return not (is_upright(solid_of(shape)) and has_shape(points, len(ob.data.polygons), shape))


def has_shape(points: Array, faces: int, shape: ShapeSpec) -> bool:
    form = form_of(shape)
    if not len(points) or not faces:
        return False
    if form in BOUNDED:
        try:
            fitted = primitive(form, points, np.eye(3))
        except ShapeError:
            return False
        size = float(np.ptp(points, axis=0).max())
        ends = fitted.vertices.shape == shape.vertices.shape and same_set(fitted.vertices, shape.vertices, size)
        return ends and abs(fitted.radius - shape.radius) + abs(fitted.margin - shape.margin) <= ROUNDING * size
    return same_set(points, shape.vertices, float(np.ptp(points, axis=0).max()))


def same_set(a: Array, b: Array, size: float) -> bool:
    """Return True if points (n, 3) are the same set as others."""
    if a.shape == b.shape and bool((np.abs(a - b) <= ROUNDING * size).all()):
        return True
    if len(a) > 64 or len(b) > 64:
        return False
    distances = np.linalg.norm(a[:, None] - b[None], axis=2)
    return bool((distances.min(axis=0) <= ROUNDING * size).all() and (distances.min(axis=1) <= ROUNDING * size).all())


def set_body(ob: Object, body: BodySpec, spec: SceneSpec) -> None:
    """Set all rigid body settings of Blender and Stiction."""
    set_values(ob, body)
    if body.shape.kind is ShapeKind.NONE:
        ob.stiction.use_collider = False
    elif is_compound(ob, body.shape):
        ob.rigid_body.collision_shape = "COMPOUND"
    else:
        set_shape(ob, body.shape)
    if body.path is None:
        return
    if body.kind is BodyKind.ACTIVE:
        hold(ob, body.path, spec.frame_start)
    else:
        ob.rigid_body.kinematic = True
        animate(ob, body.path, spec.frame_start)


def set_values(ob: Object, body: BodySpec) -> None:
    rigid, settings, material = ob.rigid_body, ob.stiction, body.material
    rigid.type = "ACTIVE" if body.kind is BodyKind.ACTIVE else "PASSIVE"
    rigid.friction, rigid.restitution = material.mu_static, material.restitution
    if material.mu_dynamic != material.mu_static:
        settings.use_mu_dynamic, settings.mu_dynamic = True, material.mu_dynamic
    settings.material = material.name
    rigid.linear_damping, rigid.angular_damping = body.linear_damping, body.angular_damping
    rigid.use_deactivation = rigid.use_start_deactivated = body.starts_asleep
    for number in range(len(rigid.collision_collections)):
        rigid.collision_collections[number] = bool(body.collections >> number & 1)
    if body.velocity.any() or body.angular_velocity.any():
        settings.initial_motion, settings.velocity, settings.angular_velocity = "VALUES", body.velocity, body.angular_velocity
    if body.density is not None:
        settings.mass_source, settings.density = "DENSITY", body.density
    elif body.mass is not None:
        rigid.mass = body.mass
    ob.lock_location = [not factor for factor in body.linear_factor.tolist()]
    ob.lock_rotation = [not factor for factor in body.angular_factor.tolist()]


def set_center_and_inertia(ob: Object, body: BodySpec, target: Collection) -> None:
    """Set the given center of mass and inertia of a body, with an empty below it at the center along the principal axes."""
    settings = ob.stiction
    if body.center_of_mass is None and body.inertia is None:
        return
    center = body_mass_properties(body).center_of_mass
    axes = np.eye(3)
    if body.inertia is not None:
        settings.own_inertia = True
        settings.moments, axes = principal_moments(body.inertia)
    if not center.any() and np.array_equal(axes, np.eye(3)):
        settings.center_of_mass = "ORIGIN"
        return
    empty = bpy.data.objects.new(f"{body.name} Center of Mass", None)
    empty.empty_display_type, empty.rotation_mode = "ARROWS", "QUATERNION"
    target.objects.link(empty)
    empty.parent, empty.matrix_parent_inverse = ob, Matrix.Identity(4)
    empty.location, empty.rotation_quaternion = Vector(center), Quaternion(quaternion_of(axes))
    settings.center_of_mass, settings.center_object = "OBJECT", empty


def principal_moments(inertia: Array) -> tuple[Array, Array]:
    """Return moments (3,) [kg m^2] and principal axes (3, 3), in columns, right-handed; the body axes if they are principal."""
    off = inertia - np.diag(np.diag(inertia))
    if not off.any():
        return np.diag(inertia), np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] *= np.linalg.det(axes)
    return moments, axes


def set_shape(ob: Object, shape: ShapeSpec) -> None:
    rigid = ob.rigid_body
    rigid.collision_shape, rigid.mesh_source = form_of(shape), "BASE"
    if shape.kind is not ShapeKind.PLANE and solid_of(shape).kind in (Named.HULL, Named.MESH) and shape.margin > 0.0:
        rigid.use_margin, rigid.collision_margin = True, shape.margin


def add_parts(parent: Object, body: BodySpec, target: Collection, members: Collection, *, is_shown: bool) -> None:
    """Add the shapes of a compound as children, visible only if nothing else shows the body."""
    for number, (shape, position, rotation) in enumerate(leaves(body.shape)):
        solid = solid_of(shape)
        # Shapes that Blender aligns with object axes need an object in that orientation.
        turn = rotation if is_upright(solid) else rotation @ solid.rotation
        upright_shape = shape if is_upright(solid) else turned(shape, solid.rotation)
        part = bpy.data.objects.new(
            f"{body.name} Shape {number + 1}", shape_mesh(f"{body.name} Shape {number + 1}", upright_shape)
        )
        part.rotation_mode = "QUATERNION"
        target.objects.link(part)
        members.objects.link(part)
        part.parent = parent
        part.matrix_parent_inverse = Matrix.Identity(4)
        part.location, part.rotation_quaternion = Vector(position), Quaternion(quaternion_of(turn))
        part.rigid_body.type = parent.rigid_body.type
        set_shape(part, upright_shape)
        if not is_shown:
            part.display_type, part.hide_render = "WIRE", True


def turned(shape: ShapeSpec, rotation: Array) -> ShapeSpec:
    """Return the shape in rotated axes."""
    return replace(shape, vertices=shape.vertices @ rotation)


def look_mesh(name: str, look: Look) -> Mesh:
    mesh = bpy.data.meshes.new(name)
    ends = np.cumsum(look.counts)
    faces = [look.corners[end - count : end].tolist() for count, end in zip(look.counts, ends, strict=True)]
    mesh.from_pydata(look.points.tolist(), [], faces)
    return mesh


def mesh_points(mesh: Mesh) -> Array:
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    return points.astype(np.float64).reshape(-1, 3)


def coloured(colour: tuple[float, float, float], known: dict[tuple[float, ...], bpy.types.Material]) -> bpy.types.Material:
    """Return a material of this color, shared by all bodies that have it."""
    if colour not in known:
        known[colour] = bpy.data.materials.new("Color")
        known[colour].diffuse_color = (*colour, 1.0)
    return known[colour]


def animate(ob: Object, path: Array, start: int) -> None:
    """Write a key at each frame of a path (frames, 7)."""
    actions.empty_action(ob, f"{ob.name} Path")
    del ob.animation_data.action["stiction_bake"]
    frames = start + np.arange(len(path), dtype=np.float64)
    turns = continuous(path[:, 3:])
    for index in range(3):
        actions.write_curve(ob, "location", index, frames, path[:, index])
    for index in range(4):
        actions.write_curve(ob, "rotation_quaternion", index, frames, turns[:, index])


def frame_rate(fps: float) -> tuple[int, float]:
    """Return the frame rate of Blender, an integer, and its base, the divisor.

    Raises SceneError if the rate is too large or too small for them.
    """
    rate = min(max(1, round(fps)), LARGEST_FPS)
    base = rate / fps
    if not SMALLEST_BASE <= base <= LARGEST_BASE:
        message = f"{fps:g} frames per second is outside of Blender's range; correct it in the file, or import without settings"
        raise SceneError((SceneProblem("scene", "fps", message),))
    return rate, base


def set_scene(scene: Scene, spec: SceneSpec, rate: tuple[int, float]) -> None:
    """Set gravity, frames, frame rate and combination rules. After an exception, all of them are as before.

    rate: the frame rate and its base.
    """
    world = scene.rigidbody_world
    cache, render = world.point_cache, scene.render
    values: list[tuple[Any, str, Any]] = [
        (scene, "gravity", spec.gravity),
        (scene, "use_gravity", True),
        (world, "time_scale", spec.time_scale),
        # Each of these properties limits the other.
        (cache, "frame_start", spec.frame_start),
        (cache, "frame_end", spec.frame_end),
        (cache, "frame_start", spec.frame_start),
        (scene, "frame_start", spec.frame_start),
        (scene, "frame_end", spec.frame_end),
        (render, "fps", rate[0]),
        (render, "fps_base", rate[1]),
        (scene.stiction, "friction_combine", spec.friction_combine.name),
    ]
    former = [(owner, name, plain(getattr(owner, name))) for owner, name, _ in values]
    try:
        for owner, name, value in values:
            setattr(owner, name, value)
    except BaseException:
        for owner, name, value in reversed(former):
            setattr(owner, name, value)
        raise


def plain(value: Any) -> Any:
    """Return a copy of the value of a property. A vector would show later changes of the property."""
    return tuple(value) if isinstance(value, Vector) else value
