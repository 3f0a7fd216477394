# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies and floors that experiments are put together of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from solver_core.scene.parts import BOX_TRIANGLES, box_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from .experiment import Claim, Film, G, at_most, equals

__all__ = [
    "ACTIVE",
    "NO_GRAVITY",
    "OFFSET",
    "active",
    "animated",
    "compound",
    "convex",
    "does_not_rise",
    "fixed",
    "keeps",
    "mesh_box",
    "moving",
    "plane",
    "scene",
    "slab",
    "stays_straight",
    "stays_upright",
    "stopping",
    "surface",
]

ACTIVE = BodyKind.ACTIVE
NO_GRAVITY = (0.0, 0.0, 0.0)
OFFSET = 2e-4  # half extents of the smaller body between two that rest on each other


def surface(mu: float, restitution: float = 0.0) -> MaterialSpec:
    """Of two bodies that both have it the friction and the restitution are these, by the product rule."""
    return MaterialSpec(math.sqrt(mu), math.sqrt(mu), math.sqrt(restitution))


def _body(name: str, kind: BodyKind, shape: ShapeSpec, at: Iterable[float], given: dict[str, Any]) -> BodySpec:
    arrays = {k: np.asarray(v, dtype=float) if isinstance(v, tuple | list) else v for k, v in given.items()}
    return BodySpec(name, kind, shape, position=np.asarray(at, dtype=float), **arrays)


def active(name: str, shape: ShapeSpec, at: Iterable[float], material: MaterialSpec, **given: Any) -> BodySpec:
    """A body of 1 kg, unless another mass or a density is given."""
    given = given if "density" in given else {"mass": 1.0} | given
    return _body(name, ACTIVE, shape, at, given | {"material": material})


def fixed(name: str, shape: ShapeSpec, at: Iterable[float], material: MaterialSpec, **given: Any) -> BodySpec:
    """A passive body."""
    return _body(name, BodyKind.PASSIVE, shape, at, given | {"material": material})


def animated(name: str, shape: ShapeSpec, path: np.ndarray, material: MaterialSpec) -> BodySpec:
    """A body on a path (frames, 7)."""
    return BodySpec(name, BodyKind.ANIMATED, shape, path[0, :3].copy(), path[0, 3:].copy(), material=material, path=path)


def plane(material: MaterialSpec) -> BodySpec:
    """The half-space below z = 0."""
    return fixed("Ground", ShapeSpec(ShapeKind.PLANE), (0.0, 0.0, 0.0), material)


def slab(name: str, low: Iterable[float], high: Iterable[float], material: MaterialSpec) -> BodySpec:
    """A passive box between two corners."""
    a, b = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return fixed(name, box_shape(b - a), 0.5 * (a + b), material)


def convex(points: Any) -> ShapeSpec:
    """The hull of points (n, 3)."""
    return ShapeSpec(ShapeKind.HULL, np.asarray(points, dtype=np.float64))


def mesh_box(size: Iterable[float]) -> ShapeSpec:
    """A box whose surface of twelve triangles collides."""
    return ShapeSpec(ShapeKind.MESH, box_shape(tuple(size)).vertices, BOX_TRIANGLES)


def compound(parts: Iterable[tuple[ShapeSpec, Iterable[float]]]) -> ShapeSpec:
    """Shapes at their places in one body."""
    children = tuple(ChildSpec(shape, np.asarray(place, dtype=float)) for shape, place in parts)
    return ShapeSpec(ShapeKind.COMPOUND, children=children)


def scene(*bodies: BodySpec, gravity: Iterable[float] = (0.0, 0.0, -G), **more: Any) -> SceneSpec:
    """A scene of these bodies; m/s^2."""
    return SceneSpec(tuple(bodies), gravity=np.asarray(gravity, dtype=float), **more)


def stopping(name: str, speed: float, deceleration: float, axis: int = 0) -> Claim:
    """It comes as far as v^2 / 2a: a step in which it stops is off by a h^2 / 8 at most, twice that is allowed."""
    way = speed * speed / (2.0 * deceleration)
    return equals("way", "m", lambda film: film.way(name, axis), way, 3e-6 * way, per_square=0.25 * deceleration)


def stays_straight(name: str, axis: int = 1) -> Claim:
    """Mirror symmetry: it never leaves the plane of its motion, but by what 1e-6 of a metre a second is."""
    return equals("aside", "m", lambda film: film.farthest(name, axis), 0.0, 1e-5)


def does_not_rise(name: str, half_extent: float) -> Claim:
    """It stays at the height of its floor, above which it rests by an offset."""
    return at_most("rise", "m", lambda film: film.rise(name), 0.0, 2.0 * OFFSET * half_extent)


def stays_upright(name: str) -> Claim:
    """It does not turn, but by one offset at one end."""
    return at_most("turn", "rad", lambda film: film.most_turned(name), 0.0, 2.0 * OFFSET)


def keeps(name: str, what: str, unit: str, value: tuple[float, float, float], rounding: float, **margins: float) -> Claim:
    """The velocity or the spin at the end, within a distance of a vector: `what` is velocity or spin."""
    exact = np.asarray(value, dtype=float)

    def off(film: Film) -> float:
        seen = film.velocity(name) if what == "velocity" else film.spin(name)
        return float(np.linalg.norm(seen[-1] - exact))

    return at_most(f"{what} off", unit, off, 0.0, rounding, **margins)


def moving(name: str, what: str, axis: int, value: float, rounding: float, **margins: float) -> Claim:
    """One component of the velocity or the spin at the end."""

    def measure(film: Film) -> float:
        seen = film.velocity(name) if what == "velocity" else film.spin(name)
        return float(seen[-1, axis])

    unit = "m/s" if what == "velocity" else "rad/s"
    return equals(f"{what} along {'xyz'[axis]}", unit, measure, value, rounding, **margins)
