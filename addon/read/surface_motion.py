# SPDX-License-Identifier: GPL-3.0-or-later
"""Surface motion of bodies, with its keyframes and drivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from bpy.types import Context, Depsgraph, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import SurfaceMotion
from ..blender import actions
from ..blender.overflow import numbers

__all__ = ["PATHS", "motion_now", "motion_over", "read_on_the_way", "surface_may_change"]

Array = NDArray[np.float64]

# Properties of the surface motion, whose keyframes and drivers are followed.
PATHS = ("stiction.surface_velocity", "stiction.surface_spin")


def surface_may_change(ob: Object) -> bool:
    """Return True if keyframes, drivers or strips may change the surface motion between frames."""
    data = ob.animation_data
    if data is None:
        return False
    movers = (*(actions.curves(ob) or ()), *data.drivers)
    return bool(data.nla_tracks) or any(one.data_path in PATHS for one in movers)


def values_now(ob: Object, depsgraph: Depsgraph) -> Array:
    """Return the surface motion along the object's axes at the displayed frame (6,) [m/s and rad/s]."""
    settings = ob.evaluated_get(depsgraph).stiction
    return np.concatenate([numbers(settings.surface_velocity), numbers(settings.surface_spin)])


def motion_now(ob: Object, depsgraph: Depsgraph) -> SurfaceMotion | None:
    """Return the motion of an object's surface at the displayed frame, or None."""
    values = values_now(ob, depsgraph)
    return SurfaceMotion(values[:3], values[3:]) if values.any() else None


def read_on_the_way(
    context: Context, frames: Iterator[int], objects: Mapping[str, Object], found: dict[str, list[Array]]
) -> Iterator[int]:
    """Yield the frames, each while it is displayed, and append the values (6,) of objects to `found`, by name."""
    for frame in frames:
        depsgraph = context.evaluated_depsgraph_get()
        for name, ob in objects.items():
            found.setdefault(name, []).append(values_now(ob, depsgraph))
        yield frame


def motion_over(values: list[Array]) -> SurfaceMotion | None:
    """Return the surface motion with values (6,) at each frame, or None if it never moves."""
    rows = np.array(values)
    if not rows.any():
        return None
    if (rows == rows[0]).all():
        return SurfaceMotion(rows[0, :3].copy(), rows[0, 3:].copy())
    return SurfaceMotion(np.ascontiguousarray(rows[:, :3]), np.ascontiguousarray(rows[:, 3:]))
