# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions that wake bodies and release their bonds during a scene, as pure data."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["ActivationSpec", "ZoneSpec"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ZoneSpec:
    """A region that wakes the bodies that it reaches.

    Attributes
    ----------
    name : of its object.
    vertices, triangles : (n, 3) m and (t, 3), its surface. Without triangles the zone is its points.
    transforms : (frames, 3, 4) from the vertices to the world, at each frame of the scene's range; (1, 3, 4) if nothing moves.
        Between frames the vertices move on straight lines.
    body : name of the body that carries the vertices, in its frame; empty for none. The transforms are then ignored.
    is_volume : whether the zone includes the inside of its closed surface.
    distance : m, within which the zone reaches a body.
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
    """The conditions that wake some active bodies. The first condition that holds wakes a body permanently.

    Attributes
    ----------
    name : of its collection.
    bodies : names of the waiting bodies.
    frame : at which all wake, counted from the first of the scene's range; None for no such condition.
    zones : wake the bodies that they reach.
    impulse : N s. A body wakes if another body gives it more than this in one time step, less the impulse of the previous step.
        None for no such condition.
    values : (frames,) all bodies wake at the first frame with a value above 0; None for no such condition.
    holds : whether the bodies are held until they wake, at rest or on their paths. They continue with the velocity of the path.
        Otherwise they move freely before they wake.
    releases : whether the bonds of a body break when it wakes.
    """

    name: str
    bodies: tuple[str, ...]
    frame: int | None = None
    zones: tuple[ZoneSpec, ...] = ()
    impulse: float | None = None
    values: Array | None = None
    holds: bool = True
    releases: bool = True
