# SPDX-License-Identifier: GPL-3.0-or-later
"""What wakes bodies and releases their bonds in the course of a scene, as pure data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["ActivationSpec", "ZoneSpec"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ZoneSpec:
    """A region that wakes the bodies that it reaches.

    name: of the object that it is read from. vertices: (n, 3) m, and triangles: (t, 3) its surface; without triangles the zone
    is its points. transforms: (frames, 3, 4) rotation and scale, and translation, that take the vertices into the world at each
    frame of the scene's range, or (1, 3, 4) where nothing moves them. Between frames the vertices move on straight lines. body:
    name of a body whose frame the vertices are in, empty for none; the transforms then do not count. is_volume: whether what is
    inside of the closed surface is reached as well. distance: m, within which a body is reached.
    """

    name: str
    vertices: Array
    triangles: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32))
    transforms: Array = field(default_factory=lambda: np.eye(4)[None, :3])
    body: str = ""
    is_volume: bool = False
    distance: float = 0.0


@dataclass(frozen=True)
class ActivationSpec:
    """What wakes some active bodies. The first condition that holds wakes a body, for good.

    name: of the collection that it is read from. bodies: their names. frame: at which all wake, the first of the scene's range
    being 0; None for none. zones: wake the bodies that they reach. impulse: N s; a body wakes when another one gives it more
    than this in one time step, beyond what it gave it in the step before; None for no such condition. values: (frames,) all
    wake at the first frame at which the value is above 0; None for no such condition. holds: whether the bodies are held until
    then, where they are or on their paths, and go on with the velocity that they have there; else they move as all others do.
    releases: whether the bonds of a body break when it wakes.
    """

    name: str
    bodies: tuple[str, ...]
    frame: int | None = None
    zones: tuple[ZoneSpec, ...] = ()
    impulse: float | None = None
    values: Array | None = None
    holds: bool = True
    releases: bool = True
