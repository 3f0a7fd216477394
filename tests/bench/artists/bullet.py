# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene of bodies, joints and animated bodies as objects of Blender, moved by Blender's own simulation."""

from __future__ import annotations

from time import process_time

from ...addon.loading import load_extension

load_extension()
# ruff: noqa: E402 (what follows is found only now)

import bpy
import numpy as np
from bpy.types import Object
from numpy.typing import NDArray

import stiction.addon
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind
from stiction.addon.blender import actions

from ..joints_beside_bullet import as_of_extension, built, with_posts
from ..other_engines import lead_in

__all__ = ["bullet"]

Floats = NDArray[np.float64]

SUBSTEPS, ITERATIONS = 10, 10


def bullet(spec: SceneSpec, frames: int, limit: float) -> tuple[Floats, float]:
    """Move a scene by Blender's own simulation, with 10 substeps and 10 iterations, as a new file has them.

    Parameters
    ----------
    spec : the scene
    frames : how many frames after the first
    limit : s of the processor, after which the run ends

    Returns
    -------
    poses : (frames + 1, bodies, 7) m and w x y z, fewer frames after the limit
    seconds : s of the processor
    """
    stiction.addon.register()
    built(with_posts(as_of_extension(spec), frames + 1))
    scene, world = bpy.context.scene, bpy.context.scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = SUBSTEPS, ITERATIONS
    world.point_cache.frame_end = scene.frame_end = frames + 1
    objects = [bpy.data.objects[body.name] for body in spec.bodies]
    for ob, body in zip(objects, spec.bodies, strict=True):
        ob.rigid_body.use_margin, ob.rigid_body.collision_margin = True, 0.0
        if body.kind is BodyKind.ANIMATED:
            key_path(ob, body)
        elif body.velocity.any():
            lead_in(ob, body, 1.0 / spec.fps)
    scene.frame_set(1)
    # a half-space is a slab, whose origin is below the plane
    lift = np.zeros((len(objects), 3))
    for k, (ob, body) in enumerate(zip(objects, spec.bodies, strict=True)):
        if body.shape.kind is ShapeKind.PLANE:
            lift[k] = body.position - np.array(ob.location)
    found, seconds = [poses_of(objects, lift)], 0.0
    for frame in range(2, 2 + frames):
        begin = process_time()
        scene.frame_set(frame)
        seconds += process_time() - begin
        if seconds > limit:
            break
        found.append(poses_of(objects, lift))
    stiction.addon.unregister()
    return np.array(found), seconds


def key_path(ob: Object, body: BodySpec) -> None:
    """Key an object at every frame of the path of an animated body."""
    ob.rigid_body.kinematic = True
    assert body.path is not None
    for frame, pose in enumerate(body.path):
        ob.location, ob.rotation_quaternion = pose[:3], pose[3:]
        for name in ("location", "rotation_quaternion"):
            ob.keyframe_insert(name, frame=1 + frame)
    for curve in actions.curves(ob):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"


def poses_of(objects: list[Object], lift: Floats) -> Floats:
    """(n, 7) m and w x y z of objects, as the simulation has moved them."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    worlds = [ob.evaluated_get(depsgraph).matrix_world for ob in objects]
    places = np.array([world.translation for world in worlds]) + lift
    return np.hstack([places, np.array([world.to_quaternion() for world in worlds])])
