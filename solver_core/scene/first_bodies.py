# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of simple shapes, for scripts: a box, a sphere, a capsule and the ground."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import parts
from .spec import BodyKind, BodySpec, MaterialSpec, ShapeKind, ShapeSpec

__all__ = ["box", "capsule", "ground", "sphere"]


def box(name: str, size: ArrayLike, position: ArrayLike = (0.0, 0.0, 0.0), **fields: Any) -> BodySpec:
    """An active box about its center.

    name: unique in a scene. size: (3,) m, the edge lengths. position: (3,) m, of the center. fields: other fields of
    `BodySpec`, such as mass (kg, 1 if neither mass nor density is given), material, velocity or kind.

    ValueError if a size is not finite and positive.
    """
    edges = _positive("size", size, 3)
    return _body(name, parts.box_shape(edges), position, fields)


def sphere(name: str, radius: float, position: ArrayLike = (0.0, 0.0, 0.0), **fields: Any) -> BodySpec:
    """An active sphere. It is exact, without facets.

    name: unique in a scene. radius: m. position: (3,) m, of the center. fields: other fields of `BodySpec`, as of `box`.

    ValueError if the radius is not finite and positive.
    """
    return _body(name, parts.sphere_shape(float(_positive("radius", [radius], 1)[0])), position, fields)


def capsule(name: str, radius: float, height: float, position: ArrayLike = (0.0, 0.0, 0.0), **fields: Any) -> BodySpec:
    """An active capsule along its own z axis. It is exact, without facets.

    name: unique in a scene. radius: m. height: m, from end to end, so at least twice the radius. position: (3,) m, of the
    center. fields: other fields of `BodySpec`, as of `box`.

    ValueError if the radius is not finite and positive, or the height is smaller than the diameter.
    """
    radius, height = (float(value) for value in _positive("radius and height", [radius, height], 2))
    if height < 2.0 * radius:
        raise ValueError(f"height must be at least twice the radius, {2.0 * radius:g} m, not {height:g} m")
    end = 0.5 * height - radius
    axis = np.array([[0.0, 0.0, -end], [0.0, 0.0, end]]) if end > 0.0 else np.zeros((1, 3))
    return _body(name, ShapeSpec(ShapeKind.HULL, axis, margin=radius), position, fields)


def ground(material: MaterialSpec | None = None) -> BodySpec:
    """The passive half-space below z = 0, named Ground.

    material: its surface; None for that of `MaterialSpec`, whose friction coefficients are 0.5.
    """
    return parts.ground(MaterialSpec() if material is None else material)


def _body(name: str, shape: ShapeSpec, position: ArrayLike, fields: dict[str, Any]) -> BodySpec:
    known: dict[str, Any] = {"kind": BodyKind.ACTIVE} | fields
    if known["kind"] is BodyKind.ACTIVE and known.get("mass") is None and known.get("density") is None:
        known["mass"] = 1.0
    return BodySpec(name, shape=shape, position=np.asarray(position, dtype=np.float64), **known)


def _positive(name: str, values: ArrayLike, count: int) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (count,) or not (np.isfinite(array) & (array > 0.0)).all():
        raise ValueError(f"{name} must be {count} finite positive number{'s' if count > 1 else ''} in m, not {values!r}")
    return array
