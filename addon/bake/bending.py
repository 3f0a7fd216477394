# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of modes of bodies to shape keys of objects, and summaries of flexible objects for panels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from bpy.types import Object, Scene, WindowManager

from ...solver_core.deformable.reduced import ReducedBody
from ...solver_core.io.cache import FrameCacheReader
from ..blender.bend_keys import add_keys, has_keys
from ..blender.restore import baked_objects, rest_worlds
from ..blender.rotations import nearest_rotation
from ..settings.object_properties import stiffness_of

__all__ = ["bend_objects", "known_words", "lacks_keys", "tell_flexible"]


def lacks_keys(scene: Scene, bodies: Collection[str]) -> bool:
    """Return True if any of the objects of these bodies has no shape keys of its bake but can get them."""
    objects = (ob for ob in baked_objects(scene) if ob.stiction.backup.body in bodies)
    return any(is_without(ob) for ob in objects)


def is_without(ob: Object) -> bool:
    # An object in Edit Mode gets them afterward.
    return ob.mode != "EDIT" and not has_keys(ob)


def bend_objects(scene: Scene, reader: FrameCacheReader) -> None:
    """Add shape keys to the flexible baked objects that have none. Raises CacheError."""
    modes = reader.modes()
    objects = {ob.stiction.backup.body: ob for ob in baked_objects(scene)} if modes.bodies else {}
    for index, one in zip(modes.bodies, modes.reduced, strict=True):
        ob = objects.get(reader.info.bodies[index])
        if ob is not None and is_without(ob) and len(ob.data.vertices) == len(one.shapes):
            add_keys(ob, *keys_of(ob, one))


def keys_of(ob: Object, body: ReducedBody) -> tuple[np.ndarray, np.ndarray, float]:
    """Return displacements (n, 3, r) in object axes, whose largest one in the world is the length of the body; their modal
    coordinates (r,); and that length [m]."""
    world = rest_worlds([ob])[0][:3, :3]
    to_body = nearest_rotation(world).T @ world
    rest = np.empty(3 * len(ob.data.vertices), dtype=np.float32)
    ob.data.vertices.foreach_get("co", rest)
    reach = float(np.ptp(rest.reshape(-1, 3) @ to_body.T, axis=0).max())
    # in single precision, like the object's own values
    scales = (reach / np.linalg.norm(body.shapes, axis=1).max(axis=0)).astype(np.float32).astype(np.float64)
    return np.einsum("ij,vjr->vir", np.linalg.inv(to_body), body.shapes * scales), scales, reach


def tell_flexible(manager: WindowManager, scene: Scene, entries: Iterable[Mapping[str, Any]]) -> None:
    """Store the summaries of flexible bodies for the panels."""
    known, objects = manager.stiction.flexible, {ob.name_full: ob for ob in scene.objects}
    for entry in entries:
        ob = objects.get(entry["body"])
        if ob is None:
            continue
        line = known.get(ob.name_full) or known.add()
        line.name, line.inputs, line.words, line.too_stiff = ob.name_full, inputs_of(ob), entry["words"], entry["too_stiff"]


def known_words(manager: WindowManager, ob: Object) -> tuple[str, bool] | None:
    """Return the summary of a flexible object in its present state, and whether it is too stiff for visible bending."""
    line = manager.stiction.flexible.get(ob.name_full)
    return (line.words, line.too_stiff) if line is not None and line.inputs == inputs_of(ob) else None


def inputs_of(ob: Object) -> str:
    """Return the inputs of its frequencies except for the positions of vertices, which would take too long in a panel."""
    settings, body = ob.stiction, ob.rigid_body
    mass = settings.density if settings.mass_source == "DENSITY" else body.mass
    vertices = len(ob.data.vertices) if hasattr(ob.data, "vertices") else 0
    return repr(
        (stiffness_of(ob), settings.use_large_bends, settings.pin_group, settings.mass_source, mass, tuple(ob.scale), vertices)
    )
