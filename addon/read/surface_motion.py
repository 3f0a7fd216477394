# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion of the surfaces of bodies along themselves, with its keyframes and drivers."""

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

# What of an object the motion of its surface is made of; the keyframes and drivers of these are followed.
PATHS = ("stiction.surface_velocity", "stiction.surface_spin")


def surface_may_change(ob: Object) -> bool:
    """Whether keyframes, drivers or strips may give the surface another motion from frame to frame."""
    data = ob.animation_data
    if data is None:
        return False
    movers = (*(actions.curves(ob) or ()), *data.drivers)
    return bool(data.nla_tracks) or any(one.data_path in PATHS for one in movers)


def values_now(ob: Object, depsgraph: Depsgraph) -> Array:
    """(6,) m/s and rad/s along the object's axes, at the frame that is shown."""
    own = ob.evaluated_get(depsgraph).stiction
    return np.concatenate([numbers(own.surface_velocity), numbers(own.surface_spin)])


def motion_now(ob: Object, depsgraph: Depsgraph) -> SurfaceMotion | None:
    """The motion of an object's surface at the frame that is shown, None where it has none."""
    values = values_now(ob, depsgraph)
    return SurfaceMotion(values[:3], values[3:]) if values.any() else None


def read_on_the_way(
    context: Context, frames: Iterator[int], objects: Mapping[str, Object], found: dict[str, list[Array]]
) -> Iterator[int]:
    """The frames, each shown while it is at hand; the values (6,) of objects at each are added to `found`, by their names."""
    for frame in frames:
        depsgraph = context.evaluated_depsgraph_get()
        for name, ob in objects.items():
            found.setdefault(name, []).append(values_now(ob, depsgraph))
        yield frame


def motion_over(values: list[Array]) -> SurfaceMotion | None:
    """The motion of a surface with values (6,) at each frame, None where it never moves."""
    rows = np.array(values)
    if not rows.any():
        return None
    if (rows == rows[0]).all():
        return SurfaceMotion(rows[0, :3].copy(), rows[0, 3:].copy())
    return SurfaceMotion(np.ascontiguousarray(rows[:, :3]), np.ascontiguousarray(rows[:, 3:]))
