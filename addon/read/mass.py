# SPDX-License-Identifier: GPL-3.0-or-later
"""Mass properties set by the user in place of those of the homogeneous shape."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from bpy.types import Depsgraph, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodyKind
from ...solver_core.validation.findings import SceneProblem
from ..blender import rotations
from ..blender.overflow import numbers, places
from ..blender.placement import matrix

__all__ = ["center_of_mass_of", "inertia_of", "mass_problems"]

Array = NDArray[np.float64]


def mass_problems(ob: Object, kind: BodyKind) -> Iterator[SceneProblem]:
    """Yield problems of the mass properties of a body that a scene cannot express; only active bodies have any."""
    settings = ob.stiction
    if kind is not BodyKind.ACTIVE:
        return
    if settings.center_of_mass == "OBJECT" and settings.center_object is None:
        message = "no object is chosen for the center of mass; choose an empty, or choose Volume"
        yield SceneProblem(ob.name_full, "center_object", message)
    if settings.center_of_mass == "OBJECT" and settings.center_object == ob:
        message = "the object is its own center of mass; choose Origin instead"
        yield SceneProblem(ob.name_full, "center_object", message)


def center_of_mass_of(ob: Object, body_frame: tuple[Array, Array], depsgraph: Depsgraph) -> Array | None:
    """Return the center of mass (3,) in the body frame at the displayed frame [m], or None for the center of the volume.

    body_frame: position (3,) [m] and rotation (3, 3) of the body in the world.
    """
    settings, (position, rotation) = ob.stiction, body_frame
    if settings.center_of_mass == "VOLUME":
        return None
    if settings.center_of_mass == "ORIGIN" or settings.center_object is None:
        return np.zeros(3)
    place = places(matrix(settings.center_object.evaluated_get(depsgraph).matrix_world)[:3, 3])
    return rotation.T @ (place - position)


def inertia_of(ob: Object, rotation: Array, depsgraph: Depsgraph) -> Array | None:
    """Return the inertia (3, 3) about the center of mass in body axes [kg m^2], or None for that of the shape.

    The principal axes are those of the object that is the center of mass, otherwise those of the body. rotation: (3, 3) of the
    body in the world.
    """
    settings = ob.stiction
    if not settings.own_inertia:
        return None
    axes = np.eye(3)
    if settings.center_of_mass == "OBJECT" and settings.center_object is not None:
        world = matrix(settings.center_object.evaluated_get(depsgraph).matrix_world)
        axes = rotation.T @ rotations.nearest_rotation(world[:3, :3])
    inertia = axes @ np.diag(numbers(settings.moments)) @ axes.T
    return 0.5 * (inertia + inertia.T)
