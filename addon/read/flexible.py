# SPDX-License-Identifier: GPL-3.0-or-later
"""Flexible bodies in Blender: their settings, and reasons why an object's mesh cannot be bent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from bpy.types import Context, Mesh, Object

from ...solver_core.scene.deformable import DeformableSpec, Elasticity
from ...solver_core.validation.findings import SceneProblem
from ..settings.object_properties import pinned_vertices, stiffness_of
from .shapes import DEFORMING, ShapeError, read_mesh

__all__ = ["deformable_of", "flexible_problems"]

# Modifiers that may move vertices: deforming ones, and geometry nodes, which may do anything.
MOVING = DEFORMING | {"NODES"}


def deformable_of(ob: Object) -> DeformableSpec | None:
    """Return the flexible settings of an object's body, None for a rigid one."""
    if not ob.stiction.use_flexible:
        return None
    young, poisson, modes, resolution, damping = stiffness_of(ob)
    pinned = np.array(pinned_vertices(ob) if isinstance(ob.data, Mesh) else [], dtype=np.int32)
    return DeformableSpec(
        kind=Elasticity.STVK if ob.stiction.use_large_bends else Elasticity.LINEAR,
        young=young,
        poisson=poisson,
        modes=int(modes),
        resolution=int(resolution),
        damping_ratio=damping,
        pinned=pinned,
    )


def flexible_problems(ob: Object, context: Context) -> Iterator[SceneProblem]:
    """Yield reasons why shape keys cannot bend the object of a flexible body."""
    if not ob.stiction.use_flexible or ob.rigid_body.collision_shape != "MESH":
        return
    for field, message in findings(ob, context):
        yield SceneProblem(ob.name_full, field, message)


def findings(ob: Object, context: Context) -> Iterator[tuple[str, str]]:
    if not isinstance(ob.data, Mesh):
        yield "deformable", f"an object of the type {ob.type} has no vertices to bend; convert it to a mesh"
        return
    if ob.override_library is not None:
        yield "deformable", "it is a library override, whose mesh cannot bend; make the object local, or leave it rigid"
    if ob.mode == "EDIT":
        yield "deformable", "it is in Edit Mode, in which its mesh cannot bend; leave Edit Mode"
    name = ob.stiction.pin_group
    if name and not pinned_vertices(ob):
        missing = f"it has no vertex group {name!r}" if name not in ob.vertex_groups else f"its vertex group {name!r} is empty"
        yield "pin_group", f"{missing}; choose a group with weights of 0.5 or more, or no group"
    keys = ob.data.shape_keys
    if keys is not None and not keys.use_relative:
        yield "deformable", "its shape keys are absolute, but bending needs relative ones; enable Relative"
    if keys is not None and ob.show_only_shape_key:
        yield "deformable", "only its active shape key is shown, so bending would be invisible; disable Solo Active Shape Key"
    yield from of_modifiers(ob, context)


def of_modifiers(ob: Object, context: Context) -> Iterator[tuple[str, str]]:
    """Yield problems of modifiers. Bending comes before all modifiers, and collisions must do so, too."""
    source = ob.rigid_body.mesh_source
    shown = [modifier for modifier in ob.modifiers if modifier.show_viewport]
    if source == "BASE" or not shown:
        return
    moving = [modifier.name for modifier in shown if modifier.type in (MOVING if source == "FINAL" else DEFORMING)]
    if moving:
        yield (
            "modifiers",
            f"its modifier {moving[0]} moves vertices after they are bent, and before they collide; apply it, or choose the "
            "source Base",
        )
        return
    try:
        count = len(read_mesh(ob, source, context).vertices)
    except ShapeError:
        # reported for the shape
        return
    if count != len(ob.data.vertices):
        names = ", ".join(modifier.name for modifier in shown)
        yield (
            "modifiers",
            f"its modifiers ({names}) make {count} vertices of {len(ob.data.vertices)}, but only those of the mesh itself "
            "bend; choose the source Base or Deform, and the others follow",
        )
