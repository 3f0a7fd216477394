# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems and warnings about single objects."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from bpy.types import Context, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodyKind, SceneWarning
from ...solver_core.validation.findings import SceneProblem
from ..blender.libraries import library_problems, library_warnings
from ..blender.placement import PlacementError, ancestors, placed
from ..blender.rigid_bodies import body_kind
from .motion import unfollowed_values
from .shapes import loose_parts

__all__ = ["object_problems", "object_warnings", "shape_warnings"]

Array = NDArray[np.float64]

# Cosine between two of the object's axes above which its world matrix counts as sheared.
SHEAR = 1e-4
# Ratio of extents above which a shape does not count as round.
ROUND = 1.01
# Paths of the body settings of an object, Blender's and ours.
VALUES = ("rigid_body.", "stiction.")


def object_problems(ob: Object, kind: BodyKind, context: Context) -> Iterator[SceneProblem]:
    """Yield problems of the object itself, not of its shape."""
    try:
        placed(ob, context.evaluated_depsgraph_get())
    except PlacementError as error:
        yield SceneProblem(ob.name_full, error.field, str(error))
    yield from library_problems(ob, kind, context.scene)


def object_warnings(ob: Object, kind: BodyKind, world: Array, followed: tuple[str, ...]) -> Iterator[SceneWarning]:
    """Yield warnings about the object itself, not about its shape. followed: paths whose keyframes are followed."""
    axes = world[:3, :3] / np.linalg.norm(world[:3, :3], axis=0)
    if np.abs(axes.T @ axes - np.eye(3)).max() > SHEAR:
        yield SceneWarning(
            (ob.name_full,),
            "matrix_world",
            "it is sheared by the scale of its parents; its keyframes can only approximate this",
        )
    if kind is BodyKind.ACTIVE and ob.parent is not None and ob.parent_type != "OBJECT":
        yield SceneWarning(
            (ob.name_full,),
            "parent_type",
            "its parent is not a plain object; its location is corrected for the parent's motion at every frame",
        )
    if kind is not BodyKind.ACTIVE:
        movers = [a for a in ancestors(ob) if a.rigid_body is not None and body_kind(a) is BodyKind.ACTIVE]
        if movers:
            yield SceneWarning(
                (ob.name_full, movers[0].name_full),
                "parent",
                "its parent is simulated, but the object collides without that motion",
            )
    yield from library_warnings(ob)
    yield from unfollowed_values(ob, VALUES, followed)


def shape_warnings(ob: Object) -> Iterator[SceneWarning]:
    """Yield warnings about collision shapes of a body or a part that differ from the visible mesh."""
    shape = ob.rigid_body.collision_shape
    extents = np.array(ob.dimensions)
    if shape == "SPHERE" and extents.max() > ROUND * extents.min():
        yield SceneWarning((ob.name_full,), "collision_shape", "the object is not a sphere; its largest extent is the diameter")
    if shape in ("CAPSULE", "CYLINDER", "CONE") and extents[:2].max() > ROUND * extents[:2].min():
        yield SceneWarning(
            (ob.name_full,),
            "collision_shape",
            f"the object is not round about its Z axis; its larger width is the diameter of the {shape.lower()}",
        )
    if shape == "MESH":
        edges, vertices = loose_parts(ob)
        if edges or vertices:
            yield SceneWarning(
                (ob.name_full,),
                "mesh",
                f"its {edges} loose edges and {vertices} loose vertices do not collide, only faces do; delete them, or give "
                "them faces",
            )
