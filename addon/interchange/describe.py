# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes the open scene for other tools: the input of a bake, the appearance of the bodies, and the motion of the bake."""

from __future__ import annotations

import numpy as np
from bpy.types import Context, Object, Scene
from numpy.typing import NDArray

from ...solver_core.interchange.described import Described, Found, Look
from ...solver_core.io.cache import CacheError
from ...solver_core.scene.spec import SceneSpec
from ..bake.playback import open_cache
from ..blender import rotations
from ..blender.placement import matrix
from ..blender.rigid_bodies import bodies_of
from ..output.cached_contacts import objects_of_bodies
from ..read.extract import extract
from ..read.shapes import compound_parts

__all__ = ["describe"]

Array = NDArray[np.float64]


def describe(context: Context, found: Found) -> Described:
    """Return the description of the context's scene.

    Features that cannot be described are added to `found`. Raises SceneError if the scene cannot be baked.
    """
    extraction = extract(context)
    found.warnings += extraction.warnings
    scene = context.scene
    objects = objects_of_bodies(scene) | {ob.name_full: ob for ob in bodies_of(scene.rigidbody_world)}
    looks = {}
    for body in extraction.spec.bodies:
        ob = objects.get(body.name)
        if ob is not None and (look := look_of(context, ob)) is not None:
            looks[body.name] = look
    return Described(extraction.spec, extraction.settings, looks, motion_of(scene, extraction.spec, found))


def look_of(context: Context, ob: Object) -> Look | None:
    """Return the visible mesh of a body, with all parts of a compound, in the frame of the body, or None."""
    frame = matrix(ob.evaluated_get(context.evaluated_depsgraph_get()).matrix_world)
    frame[:3, :3] = rotations.nearest_rotation(frame[:3, :3])
    shown = [look for one in (ob, *parts(context, ob)) if (look := polygons(context, one, np.linalg.inv(frame))) is not None]
    if not shown:
        return None
    before = np.cumsum([0, *(len(look.points) for look in shown)])
    return Look(
        np.concatenate([look.points for look in shown]),
        np.concatenate([look.counts for look in shown]),
        np.concatenate([look.corners + n for look, n in zip(shown, before[:-1], strict=True)]).astype(np.int32),
        shown[0].colour,
    )


def parts(context: Context, ob: Object) -> list[Object]:
    if ob.rigid_body is None or ob.rigid_body.collision_shape != "COMPOUND":
        return []
    return [one for part in compound_parts(ob, context) for one in (part, *parts(context, part))]


def polygons(context: Context, ob: Object, to_body: Array) -> Look | None:
    """Return the evaluated mesh of an object in the frame of a body; None if it has none or is not rendered."""
    if ob.hide_render and ob.display_type in ("WIRE", "BOUNDS"):
        return None
    evaluated = ob.evaluated_get(context.evaluated_depsgraph_get())
    try:
        mesh = evaluated.to_mesh()
    except RuntimeError:
        return None
    try:
        if mesh is None or not len(mesh.polygons):
            return None
        points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
        mesh.vertices.foreach_get("co", points)
        counts, corners = np.empty(len(mesh.polygons), dtype=np.int32), np.empty(len(mesh.loops), dtype=np.int32)
        mesh.polygons.foreach_get("loop_total", counts)
        mesh.loops.foreach_get("vertex_index", corners)
    finally:
        evaluated.to_mesh_clear()
    affine = to_body @ matrix(evaluated.matrix_world)
    if np.linalg.det(affine[:3, :3]) < 0.0:
        starts = np.cumsum(counts) - counts
        corners = np.concatenate([corners[s : s + c][::-1] for s, c in zip(starts, counts, strict=True)])
    places = points.astype(np.float64).reshape(-1, 3) @ affine[:3, :3].T + affine[:3, 3]
    material = ob.active_material
    colour = tuple(material.diffuse_color[:3]) if material is not None else None
    return Look(places, counts, corners, colour)


def motion_of(scene: Scene, spec: SceneSpec, found: Found) -> dict[str, Array]:
    """Return the poses (frames, 7) of the bodies in the scene's bake, from its first frame to the last baked one."""
    if scene.stiction.bake.state == "NONE":
        return {}
    try:
        reader = open_cache(scene)
        frames = list(reader.frames)
        if not frames or frames[0] != spec.frame_start:
            raise CacheError(f"it does not begin at frame {spec.frame_start}")
        poses = np.array([reader.read(frame).poses for frame in frames])
    except (OSError, CacheError) as error:
        found.odd(scene.name, "bake", f"its motion is left out, for its frames cannot be read: {error}")
        return {}
    if frames[-1] < spec.frame_end:
        found.odd(scene.name, "bake", f"its motion ends with frame {frames[-1]}, the last that is baked")
    return {name: poses[:, column] for column, name in enumerate(reader.info.bodies)}
