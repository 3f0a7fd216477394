# SPDX-License-Identifier: GPL-3.0-or-later
"""The same scene in Bullet, as Blender runs it, and in MuJoCo, for the time it takes and the motion that comes of it."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from importlib import import_module
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from solver_core.dynamics.model.bodies import build_bodies
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

__all__ = ["ENGINES", "Motion", "bullet", "lead_in", "missing"]

Floats = NDArray[np.float64]

SUBSTEPS, ITERATIONS = 10, 10
SIDES = 32  # of what is round and drawn of flat faces
EXTENT, DEPTH = 50.0, 0.01  # m, of a plane that is drawn, level, and half its depth as a share of that

Motion = tuple[Floats, float, float]  # positions (frames + 1, bodies, 3), s of the processor, s


def missing(engine: str, spec: SceneSpec) -> str:
    """Why an engine cannot run a scene; empty where it can."""
    module = {"bullet": "bpy", "mujoco": "mujoco"}[engine]
    if importlib.util.find_spec(module) is None:
        return f"{module} is not installed"
    kinds = {body.shape.kind for body in spec.bodies}
    if engine == "mujoco" and ShapeKind.MESH in kinds:
        return "its meshes are their convex hulls"
    return ""


def bullet(spec: SceneSpec, frames: int, limit: float, substeps: int = SUBSTEPS, iterations: int = ITERATIONS) -> Motion:
    """A scene in Blender's own simulation, which is given up after `limit` s of the processor."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.gravity = round(spec.fps), spec.gravity
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = substeps, iterations
    world.collection = bpy.data.collections.new("Rigid Bodies")
    meshes: dict[int, Any] = {}
    objects = []
    for body, mass in zip(spec.bodies, build_bodies(spec)[0].model.mass, strict=True):
        if id(body.shape) not in meshes:
            meshes[id(body.shape)] = bpy.data.meshes.new(body.name)
            meshes[id(body.shape)].from_pydata(*_surface(body.shape))
        ob = bpy.data.objects.new(body.name, meshes[id(body.shape)])
        scene.collection.objects.link(ob)
        world.collection.objects.link(ob)
        ob.rotation_mode = "QUATERNION"
        below = DEPTH * EXTENT if body.shape.kind is ShapeKind.PLANE else 0.0
        ob.location, ob.rotation_quaternion = body.position - np.array([0.0, 0.0, below]), body.orientation
        of = ob.rigid_body
        of.type = "ACTIVE" if body.kind is BodyKind.ACTIVE else "PASSIVE"
        of.collision_shape = _bullet_shape(body.shape)
        of.friction, of.restitution = body.material.mu_static, body.material.restitution
        of.mass = mass if body.kind is BodyKind.ACTIVE else 1.0
        of.linear_damping, of.angular_damping = body.linear_damping, body.angular_damping
        of.use_margin, of.collision_margin = True, 0.0
        if np.any(body.velocity) or np.any(body.angular_velocity):
            lead_in(ob, body, 1.0 / spec.fps)
        objects.append(ob)
    scene.frame_end = world.point_cache.frame_end = 1 + frames
    scene.frame_set(1)
    positions = [np.array([ob.matrix_world.translation for ob in objects])]
    processor, wall = process_time(), perf_counter()
    for frame in range(2, 2 + frames):
        scene.frame_set(frame)
        if process_time() - processor > limit:
            break
        positions.append(np.array([ob.matrix_world.translation for ob in objects]))
    return np.array(positions), process_time() - processor, perf_counter() - wall


def lead_in(ob: Any, body: BodySpec, step: float) -> None:
    """Keys that move a body over the first two frames, from which Bullet takes the velocity with which it goes on."""
    for frame in (1, 4):
        ob.location = body.position + (frame - 1) * step * np.asarray(body.velocity)
        ob.keyframe_insert("location", frame=frame)
    for frame, held in ((1, True), (3, False)):
        ob.rigid_body.kinematic = held
        ob.keyframe_insert("rigid_body.kinematic", frame=frame)
    for curve in ob.animation_data.action.fcurves:
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"


def _bullet_shape(shape: ShapeSpec) -> str:
    if shape.kind is ShapeKind.PLANE or _is_block(shape):
        return "BOX"
    if shape.kind is ShapeKind.HULL:
        return "SPHERE" if len(shape.vertices) == 1 else "CONVEX_HULL"
    return {ShapeKind.MESH: "MESH", ShapeKind.CYLINDER: "CYLINDER"}[shape.kind]


def _is_block(shape: ShapeSpec) -> bool:
    """Whether a shape is a box about its own centre, as those of the scenes are."""
    corners = np.abs(shape.vertices)
    return shape.kind is ShapeKind.HULL and len(corners) == 8 and bool(np.allclose(corners, corners[0], rtol=1e-12))


def _surface(shape: ShapeSpec) -> tuple[list, list, list]:
    """Vertices, edges and faces that show a shape, as Blender takes them."""
    if shape.kind is ShapeKind.PLANE:
        # about its own origin, for there Bullet puts a box
        corners = EXTENT * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-DEPTH, DEPTH)])
        points, faces = corners, ConvexHull(corners).simplices
    elif shape.kind is ShapeKind.CYLINDER:
        angle = 2.0 * math.pi * np.arange(SIDES) / SIDES
        rim = shape.radius * np.stack([np.cos(angle), np.sin(angle), np.zeros(SIDES)], axis=1)
        points = np.concatenate([rim + end for end in shape.vertices])
        faces = ConvexHull(points).simplices
    elif shape.kind is ShapeKind.HULL and len(shape.vertices) == 1:
        points = np.random.default_rng(0).normal(size=(200, 3))
        points *= shape.margin / np.linalg.norm(points, axis=1)[:, None]
        points = np.concatenate([points, shape.margin * np.vstack([np.eye(3), -np.eye(3)])])
        faces = ConvexHull(points).simplices
    else:
        points = shape.vertices
        faces = shape.triangles if shape.kind is ShapeKind.MESH else ConvexHull(points).simplices
    return points.tolist(), [], faces.tolist()


def _mujoco(spec: SceneSpec, frames: int, limit: float) -> Motion:
    mujoco = import_module("mujoco")
    model = _mujoco_model(mujoco, spec)
    data = mujoco.MjData(model)
    for i, body in enumerate(b for b in spec.bodies if b.kind is BodyKind.ACTIVE):
        data.qvel[6 * i : 6 * i + 3] = body.velocity
        data.qvel[6 * i + 3 : 6 * i + 6] = body.angular_velocity
    places = np.array([body.position for body in spec.bodies])
    moving = [body.kind is BodyKind.ACTIVE for body in spec.bodies]
    positions = [places]
    processor, wall = process_time(), perf_counter()
    for _ in range(frames):
        for _ in range(SUBSTEPS):
            mujoco.mj_step(model, data)
        if process_time() - processor > limit:
            break
        now = places.copy()
        now[moving] = data.qpos.reshape(-1, 7)[:, :3]
        positions.append(now)
    return np.array(positions), process_time() - processor, perf_counter() - wall


def _mujoco_model(mujoco: Any, spec: SceneSpec) -> Any:
    """With its defaults, but for elliptic cones, which are Coulomb's."""
    made = mujoco.MjSpec()
    made.memory = 1 << 32
    made.option.timestep, made.option.cone = 1.0 / (spec.fps * SUBSTEPS), mujoco.mjtCone.mjCONE_ELLIPTIC
    made.option.gravity = spec.gravity
    known: dict[int, str] = {}
    for body, mass in zip(spec.bodies, build_bodies(spec)[0].model.mass, strict=True):
        active, shape = body.kind is BodyKind.ACTIVE, body.shape
        of = made.worldbody.add_body(pos=body.position, quat=body.orientation) if active else made.worldbody
        if active:
            of.add_freejoint()
        place = {} if active else {"pos": body.position, "quat": body.orientation}
        if shape.kind is ShapeKind.PLANE:
            geom = of.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], **place)
        elif shape.kind is ShapeKind.CYLINDER:
            size = [shape.radius, 0.5 * float(np.linalg.norm(shape.vertices[1] - shape.vertices[0])), 0]
            geom = of.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=size, **place)
        elif len(shape.vertices) == 1:
            geom = of.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[shape.margin, 0, 0], **place)
        elif _is_block(shape):
            geom = of.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=np.abs(shape.vertices).max(axis=0), **place)
        else:
            name = known.setdefault(id(shape), f"hull{len(known)}")
            if name not in [mesh.name for mesh in made.meshes]:
                convex = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
                made.add_mesh(name=name, uservert=shape.vertices.ravel(), inertia=convex)
            geom = of.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, **place)
        geom.friction = [body.material.mu_static**2, 0.0, 0.0]  # it takes the larger one of a pair
        if active:
            geom.mass = mass
    return made.compile()


ENGINES: dict[str, Callable[[SceneSpec, int, float], Motion]] = {"bullet": bullet, "mujoco": _mujoco}
