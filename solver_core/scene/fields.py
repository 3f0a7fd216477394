# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields as pure data, as Blender defines them for its rigid bodies.

A field acts on a body's center of mass, with the body's position and velocity at the start of each time step.
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
    """The force law of a field: r is the vector from its point of action to the body, v the body's velocity, n the axis, and S
    strength x falloff."""

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
    """The points from which a field acts."""

    POINT = "point"
    LINE = "line"  # the nearest point of the axis
    PLANE = "plane"  # the nearest point of the plane across the axis
    SURFACE = "surface"  # the point of `triangles` nearest to where the body would be in a second
    POINTS = "points"  # each of `vertices`, and all of them add up


class Falloff(Enum):
    """The distances that reduce the strength of a field."""

    SPHERE = "sphere"  # from the point
    TUBE = "tube"  # along the axis, radial ones across it
    CONE = "cone"  # along the axis, radial ones are angles from it in degrees


class ZDirection(Enum):
    """The side of a field's origin, along its axis, on which it acts."""

    BOTH = "both"
    POSITIVE = "positive"
    NEGATIVE = "negative"


@dataclass(frozen=True)
class Keyed:
    """A parameter of a field or an absorber that changes from frame to frame.

    It has the name of its field and values (frames,). The value at a frame acts during the motion to that frame.
    """

    name: str
    values: Array


@dataclass(frozen=True)
class FieldSpec:
    """A force field.

    Attributes
    ----------
    position : (3,) m, in the world or in the body frame of the body `carrier`; (frames, 3) if it moves
    axis : (3,) unit vector in the same frame; (frames, 3) if it moves
    vertices, normals : (n, 3) of the shapes Surface and Points, in the same frame; (frames, n, 3) if they move
    triangles : (t, 3) of the shape Surface
    rate : 1/s; forces are divided by it and velocities in them are multiplied by it, because Blender's unit of force refers to
        frames; except the drag by `flow`, N s/m, and the damping
    weight : factor on the field
    min_distance, max_distance : m; full strength below the first and none beyond the second, (1 + d - min)^-power in between;
        the same for the fields with the prefix radial_
    noise : random addition to the strength, new at each frame, from a generator seeded with `seed` plus the frame number
    permutation : (256,) of 0 to 255, for turbulence
    absorbed : whether the scene's absorbers weaken the field
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
    """A mesh that weakens absorbed fields behind it, by the fraction `absorption`.

    name: of its object; a field of the same name is not weakened. vertices: (n, 3) m in the world, or in the body frame of the
    body `carrier`; (frames, n, 3) if they move. triangles: (t, 3). margin: m. As in Blender, a field is weakened if the ray
    from the body to the field hits the bounding box of a triangle.
    """

    name: str
    vertices: Array
    triangles: NDArray[np.int32]
    carrier: str = ""
    absorption: float = 0.0
    margin: float = 0.0
    keyed: tuple[Keyed, ...] = ()


def paths_of(one: FieldSpec | AbsorberSpec) -> list[Array]:
    """Return the arrays of a field or absorber that are given frame by frame, each (frames, ...)."""
    return [np.asarray(keyed.values) for keyed in one.keyed] + list(moving(one).values())


def without_paths(one: FieldSpec | AbsorberSpec) -> FieldSpec | AbsorberSpec:
    """Return a field or absorber whose arrays that are given frame by frame have no frames."""
    keyed = tuple(replace(keyed, values=np.asarray(keyed.values)[:0]) for keyed in one.keyed)
    return replace(one, keyed=keyed, **{name: path[:0] for name, path in moving(one).items()})


def moving(one: FieldSpec | AbsorberSpec) -> dict[str, Array]:
    arrays = {name: np.asarray(getattr(one, name)) for name in DIMENSIONS if hasattr(one, name)}
    return {name: array for name, array in arrays.items() if array.ndim > DIMENSIONS[name]}
