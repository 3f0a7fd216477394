# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields as pure data: what pushes bodies without touching them, as Blender defines it for its rigid bodies.

A field acts on a body's centre of mass, with the body's position and velocity at the begin of each time step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AbsorberSpec",
    "Falloff",
    "FieldKind",
    "FieldShape",
    "FieldSpec",
    "Keyed",
    "ZDirection",
    "paths_of",
    "without_paths",
]

Array = NDArray[np.float64]

# Of how many dimensions what has a row for each frame, where it moves, is where it does not.
DIMENSIONS = {"position": 1, "axis": 1, "vertices": 2, "normals": 2}


class FieldKind(Enum):
    """What a field does, with r from where it acts to the body, v the body's velocity, n its axis, S strength x falloff."""

    FORCE = "force"  # S r / |r|, with `inverse_square` divided by |r|^2 as well
    WIND = "wind"  # S n
    VORTEX = "vortex"  # about the axis: of a point S |r| (n x r) / |n x r|, else n x r S + n x (n x r) S^2 - v
    MAGNETIC = "magnetic"  # v x B; of a point or line B = S (n x r) / |n x r|, else S n
    HARMONIC = "harmonic"  # -S r, from its rest length `size` on, and -2 damping sqrt(strength) v
    TURBULENCE = "turbulence"  # S times three octaves of noise, of the size `size`
    DRAG = "drag"  # -(strength |v| + damping) falloff v, both at most 2
    GUIDE = "guide"  # r: what Blender makes of a curve guide for rigid bodies
    FLOW = "flow"  # nothing of its own: air that drags, as `flow` does with all


class FieldShape(Enum):
    """Where a field acts from."""

    POINT = "point"
    LINE = "line"  # the nearest point of the axis
    PLANE = "plane"  # the nearest point of the plane across the axis
    SURFACE = "surface"  # the point of `triangles` nearest to where the body would be in a second
    POINTS = "points"  # each of `vertices`, and all of them add up


class Falloff(Enum):
    """What the distances mean by which a field loses strength."""

    SPHERE = "sphere"  # from the point
    TUBE = "tube"  # along the axis, radial ones across it
    CONE = "cone"  # along the axis, radial ones are angles from it in degrees


class ZDirection(Enum):
    """On which side of a field's origin, seen along its axis, it acts."""

    BOTH = "both"
    POSITIVE = "positive"
    NEGATIVE = "negative"


@dataclass(frozen=True)
class Keyed:
    """A number of a field or an absorber, by the name of its field, that differs from frame to frame: (frames,); that of a
    frame acts on the way to it."""

    name: str
    values: Array


@dataclass(frozen=True)
class FieldSpec:
    """A force field.

    position (3,) m and axis (3,) of length 1, in the world or in the body frame of the body `carrier`; or (frames, 3) where
    they move. vertices, normals: (n, 3) and triangles: (t, 3) of the shapes Surface and Points, likewise, or (frames, n, 3).
    rate: 1/s; the forces of the kinds are divided by it, and velocities in them multiplied, but for those of drag by `flow`, N
    s/m, and of the damping: Blender's unit of force is that of a frame. weight: how much of the field counts. min_distance,
    max_distance: m, full strength up to the one, none beyond the other; between them (1 + d - min)^-power; radial_ likewise.
    noise: what is added to the strength at each frame anew, by a generator that begins with `seed` plus the frame's number.
    permutation: (256,) of 0 to 255, that turbulence is made of. absorbed: whether the scene's absorbers weaken it.
    """

    name: str
    kind: FieldKind
    shape: FieldShape = FieldShape.POINT
    position: Array = field(default_factory=lambda: np.zeros(3))
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    carrier: str = ""
    strength: float = 1.0
    damping: float = 0.0
    size: float = 0.0
    flow: float = 0.0
    noise: float = 0.0
    seed: int = 1
    rate: float = 1.0
    weight: float = 1.0
    falloff: Falloff = Falloff.SPHERE
    z_direction: ZDirection = ZDirection.BOTH
    power: float = 0.0
    min_distance: float = 0.0
    max_distance: float = math.inf
    radial_power: float = 0.0
    radial_min: float = 0.0
    radial_max: float = math.inf
    inverse_square: bool = False
    global_coordinates: bool = False
    absorbed: bool = False
    vertices: Array = field(default_factory=lambda: np.zeros((0, 3)))
    normals: Array = field(default_factory=lambda: np.zeros((0, 3)))
    triangles: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int32))
    permutation: Array = field(default_factory=lambda: np.random.default_rng(0).permutation(256).astype(np.float64))
    keyed: tuple[Keyed, ...] = ()


@dataclass(frozen=True)
class AbsorberSpec:
    """A mesh in whose lee fields that are absorbed act less, by `absorption` from 0 to 1.

    name: of its object; the field of the same name passes. vertices: (n, 3) m in the world, or in the body frame of the body
    `carrier`; or (frames, n, 3). triangles: (t, 3). margin: m. As in Blender, what the ray from a body to a field has to miss
    are the boxes around the triangles.
    """

    name: str
    vertices: Array
    triangles: NDArray[np.int32]
    carrier: str = ""
    absorption: float = 0.0
    margin: float = 0.0
    keyed: tuple[Keyed, ...] = ()


def paths_of(one: FieldSpec | AbsorberSpec) -> list[Array]:
    """What of a field or absorber is given frame by frame, each (frames, ...)."""
    return [np.asarray(keyed.values) for keyed in one.keyed] + list(moving(one).values())


def without_paths(one: FieldSpec | AbsorberSpec) -> FieldSpec | AbsorberSpec:
    """A field or absorber with no frames of what is given frame by frame."""
    keyed = tuple(replace(keyed, values=np.asarray(keyed.values)[:0]) for keyed in one.keyed)
    return replace(one, keyed=keyed, **{name: path[:0] for name, path in moving(one).items()})


def moving(one: FieldSpec | AbsorberSpec) -> dict[str, Array]:
    arrays = {name: np.asarray(getattr(one, name)) for name in DIMENSIONS if hasattr(one, name)}
    return {name: array for name, array in arrays.items() if array.ndim > DIMENSIONS[name]}
