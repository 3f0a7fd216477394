# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a scene at a frame, as arrays for kernels."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import product
from ...scene.fields import AbsorberSpec, Falloff, FieldKind, FieldShape, FieldSpec, ZDirection, paths_of
from ...scene.spec import SceneSpec
from .forces import FieldTable
from .nearest import triangle_boxes
from .noise import seeded

__all__ = ["FieldFrames"]

Floats = NDArray[np.float64]

# The columns of the table's values, in this order.
VALUES = (
    "strength",
    "damping",
    "size",
    "flow",
    "noise",
    "weight",
    "power",
    "min_distance",
    "max_distance",
    "radial_power",
    "radial_min",
    "radial_max",
)


@dataclass(frozen=True, eq=False)
class FieldFrames:
    """The fields of a scene, by frames, counted from its first one."""

    spec: SceneSpec

    @functools.cached_property
    def last(self) -> int:
        """The last frame with a given value."""
        return max(self.spec.frame_end - self.spec.frame_start, 0)

    @property
    def absorbers(self) -> tuple[AbsorberSpec, ...]:
        """The absorbers of the scene, if it has a field that they weaken."""
        return self.spec.absorbers if any(field.absorbed for field in self.spec.fields) else ()

    def boxes_of_absorber(self, number: int, frame: int, turn: Floats, place: Floats) -> Floats:
        """Return (t, 6) boxes around the triangles of an absorber at a frame.

        number: of the absorber. turn, place: (3, 3) and (3,) m, the pose of its object.
        """
        absorber = self.absorbers[number]
        vertices = product(at(absorber.vertices, frame, 2), turn.T) + place
        return triangle_boxes(vertices, np.asarray(absorber.triangles), absorber.margin)

    def table(self, frame: int) -> FieldTable:
        """Return the fields at a frame. Fields that a body carries are in the frame of this body."""
        fields, start = self.spec.fields, self.spec.frame_start
        vertices = [at(field.vertices, frame, 2) for field in fields]
        triangles = [np.asarray(field.triangles, dtype=np.int64) for field in fields]
        boxes = [triangle_boxes(*mesh) for mesh in zip(vertices, triangles, strict=True)]
        first_vertex, first_triangle = starts(vertices), starts(triangles)
        absorbers = self.absorbers
        absorbing = [absorbing_boxes(absorber, frame) for absorber in absorbers]
        names = [absorber.name for absorber in absorbers]
        return FieldTable(
            kind=numbers([field.kind for field in fields], FieldKind),
            shape=numbers([field.shape for field in fields], FieldShape),
            falloff=numbers([field.falloff for field in fields], Falloff),
            side=numbers([field.z_direction for field in fields], ZDirection),
            inverse_square=np.array([field.inverse_square for field in fields]),
            in_world=np.array([field.global_coordinates for field in fields]),
            absorbed=np.array([field.absorbed for field in fields]),
            rate=np.array([field.rate for field in fields], dtype=np.float64),
            values=np.array([[value_at(field, name, frame) for name in VALUES] for field in fields]),
            state=np.array([seeded(field.seed + abs(start + frame)) for field in fields], dtype=np.int64),
            position=np.array([at(field.position, frame, 1) for field in fields]),
            axis=np.array([at(field.axis, frame, 1) for field in fields]),
            vertices=np.concatenate(vertices),
            normals=np.concatenate([at(field.normals, frame, 2) for field in fields]),
            triangles=np.concatenate([corners + first for corners, first in zip(triangles, first_vertex, strict=False)]),
            boxes=np.concatenate(boxes),
            first_vertex=first_vertex,
            first_triangle=first_triangle,
            permutation=np.array([field.permutation for field in fields], dtype=np.int64),
            own=np.array([names.index(field.name) if field.name in names else -1 for field in fields], dtype=np.int64),
            absorption=np.array([value_at(absorber, "absorption", frame) for absorber in absorbers], dtype=np.float64),
            absorbing=np.concatenate([np.zeros((0, 6)), *absorbing]),
            first_box=starts(absorbing),
        )

    @functools.cached_property
    def changing(self) -> NDArray[np.bool_]:
        """(frames,) whether any field changes at the next frame."""
        result = np.zeros(self.last + 1, dtype=bool)
        for one in (*self.spec.fields, *self.spec.absorbers):
            for path in paths_of(one):
                result[: len(path) - 1] |= (path[1:] != path[:-1]).reshape(len(path) - 1, -1).any(axis=1)
            if getattr(one, "noise", 0.0) > 0.0 or any(keyed.name == "noise" for keyed in one.keyed):
                result[:-1] = True
        return result


def at(path: Any, frame: int, dimensions: int) -> Floats:
    """Return a value that is given once or for each frame, at a frame."""
    array = np.asarray(path, dtype=np.float64)
    return array if array.ndim == dimensions else array[min(frame, len(array) - 1)]


def value_at(one: FieldSpec | AbsorberSpec, name: str, frame: int) -> float:
    """Return a parameter of a field or absorber by name, at a frame."""
    keyed = next((keyed.values for keyed in one.keyed if keyed.name == name), None)
    return float(getattr(one, name) if keyed is None else keyed[min(frame, len(keyed) - 1)])


def numbers(values: list[Any], kinds: type[Enum]) -> NDArray[np.int64]:
    """Return the indices of enum members in the order of their declaration."""
    order = list(kinds)
    return np.array([order.index(value) for value in values], dtype=np.int64)


def starts(parts: list[Any]) -> NDArray[np.int64]:
    """Return the start of each of several concatenated arrays, and the end of the last one."""
    return np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)


def absorbing_boxes(absorber: AbsorberSpec, frame: int) -> Floats:
    """Return (t, 6) boxes around the triangles of an absorber during the motion from the previous frame."""
    now, before = (
        triangle_boxes(at(absorber.vertices, one, 2), absorber.triangles, absorber.margin) for one in (frame, max(frame - 1, 0))
    )
    return np.concatenate([np.minimum(now[:, :3], before[:, :3]), np.maximum(now[:, 3:], before[:, 3:])], axis=1)
