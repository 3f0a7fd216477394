# SPDX-License-Identifier: GPL-3.0-or-later
"""Builders of shapes, materials and bodies for scenes, in m, kg and s.

Materials use Blender's product rule: the coefficient of a pair is the product of those of its bodies. Each body therefore gets
the square root of the requested coefficient.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .spec import BodyKind, BodySpec, MaterialSpec, ShapeKind, ShapeSpec

__all__ = [
    "BOX_TRIANGLES",
    "axis_angle",
    "block",
    "box",
    "box_shape",
    "cone_shape",
    "cylinder_shape",
    "ground",
    "let_go",
    "pair_material",
    "sphere_shape",
]

# Outward counter-clockwise. The corner 4 i + 2 j + k is at one of two places along each of three axes that are right-handed.
BOX_TRIANGLES = np.array(
    [
        [0, 3, 2],
        [0, 1, 3],
        [4, 7, 5],
        [4, 6, 7],
        [0, 5, 1],
        [0, 4, 5],
        [2, 7, 6],
        [2, 3, 7],
        [0, 6, 4],
        [0, 2, 6],
        [1, 7, 3],
        [1, 5, 7],
    ],
    dtype=np.int32,
)


def box_shape(size) -> ShapeSpec:
    """Return a box with edge lengths (3,) m about its center."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)], dtype=np.float64)
    return ShapeSpec(ShapeKind.HULL, corners * np.asarray(size, dtype=np.float64), BOX_TRIANGLES)


def cylinder_shape(radius: float, height: float) -> ShapeSpec:
    """Return a cylinder with a radius and a height in m about its center, with its axis along z."""
    ends = np.array([[0.0, 0.0, -0.5 * height], [0.0, 0.0, 0.5 * height]])
    return ShapeSpec(ShapeKind.CYLINDER, ends, radius=radius)


def cone_shape(radius: float, height: float) -> ShapeSpec:
    """Return a cone with a base radius and a height in m, along z, apex up; the origin is at half its height, as in Blender."""
    ends = np.array([[0.0, 0.0, -0.5 * height], [0.0, 0.0, 0.5 * height]])
    return ShapeSpec(ShapeKind.CONE, ends, radius=radius)


def axis_angle(axis, angle: float) -> np.ndarray:
    """Return the quaternion of a rotation about a unit axis by an angle in rad."""
    return np.concatenate([[math.cos(angle / 2)], math.sin(angle / 2) * np.asarray(axis, dtype=float)])


def pair_material(mu: float, mu_dynamic: float | None = None, restitution: float = 0.0) -> MaterialSpec:
    """Return a material of which two bodies have the given coefficients by Blender's product rule."""
    return MaterialSpec(math.sqrt(mu), math.sqrt(mu if mu_dynamic is None else mu_dynamic), math.sqrt(restitution))


def box(name, size, position, material, mass=1.0, orientation=(1.0, 0.0, 0.0, 0.0), velocity=(0.0, 0.0, 0.0)) -> BodySpec:
    """An active box."""
    return BodySpec(
        name,
        BodyKind.ACTIVE,
        box_shape(size),
        position=np.asarray(position, dtype=float),
        orientation=np.asarray(orientation, dtype=float),
        velocity=np.asarray(velocity, dtype=float),
        mass=mass,
        material=material,
    )


def block(name, corners, material, density) -> BodySpec:
    """Return an active body with eight corners (8, 3) m in the order of a box's; its origin is their mean. density: kg/m^3."""
    centre = corners.mean(axis=0)
    shape = ShapeSpec(ShapeKind.HULL, corners - centre, BOX_TRIANGLES)
    return BodySpec(name, BodyKind.ACTIVE, shape, position=centre, density=density, material=material)


def sphere_shape(radius: float) -> ShapeSpec:
    """Return a sphere with a radius in m about its center."""
    return ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=radius)


def let_go(body: BodySpec, frame: int, fps: float = 24.0) -> BodySpec:
    """Return an active body that is held until a frame, counted from 0, and then has its own velocity, without spin."""
    pose = np.concatenate([body.position, body.orientation])
    path = np.tile(pose, (frame + 1, 1))
    # A released body continues with the velocity of the last two frames of its path.
    path[:-1, :3] -= body.velocity / fps
    path[:-2, :3] -= body.velocity / fps
    return replace(body, position=path[0, :3].copy(), velocity=np.zeros(3), path=path)


def ground(material: MaterialSpec, orientation=(1.0, 0.0, 0.0, 0.0)) -> BodySpec:
    """The passive half-space below a plane through the origin."""
    return BodySpec(
        "Ground",
        BodyKind.PASSIVE,
        ShapeSpec(ShapeKind.PLANE),
        orientation=np.asarray(orientation, dtype=float),
        material=material,
    )
