# SPDX-License-Identifier: GPL-3.0-or-later
"""Where all objects of a file stand, read at once: asked one by one, a thousand take longer than all else in a frame."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.types import Object
from numpy.typing import NDArray

__all__ = ["Standing"]

# all that an object's place is made of but its parents, and how many numbers each is
CHANNELS = {
    "location": 3,
    "delta_location": 3,
    "rotation_euler": 3,
    "delta_rotation_euler": 3,
    "rotation_quaternion": 4,
    "delta_rotation_quaternion": 4,
    "rotation_axis_angle": 4,
    "scale": 3,
    "delta_scale": 3,
}


class Standing:
    """All n objects of the file as they are now. identity: (n,), the same as long as an object lives."""

    def __init__(self) -> None:
        self.objects: list[Object] = list(bpy.data.objects)
        self.identity = self._read("session_uid", 1, np.int32)[:, 0]
        self._values: dict[str, NDArray[np.float32]] = {}

    def channels(self) -> NDArray[np.float32]:
        """(n, k) the rotation modes and the channels of all objects."""
        modes = self._read("rotation_mode", 1, np.int32).astype(np.float32)
        self._values = {name: self._read(name, width, np.float32) for name, width in CHANNELS.items()}
        return np.hstack([modes, *self._values.values()])

    def values(self, rows: NDArray[np.intp], name: str) -> NDArray[np.float64]:
        """(k, 3 or 4) a channel of some objects, as `channels` last read it."""
        return self._values[name][rows].astype(np.float64)

    def _read(self, name: str, width: int, kind: type) -> NDArray:
        values = np.empty(len(self.objects) * width, kind)
        bpy.data.objects.foreach_get(name, values)
        return values.reshape(-1, width)
