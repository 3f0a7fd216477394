# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in the force fields and absorbers of a scene, and warnings about fields without effect."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ..scene.fields import AbsorberSpec, FieldShape, FieldSpec
from ..scene.spec import BodyKind, SceneSpec, SceneWarning
from .findings import UNIT, Findings, SceneProblem, describe, is_finite, is_positive

__all__ = ["field_problems", "field_warnings"]

FINITE = ("strength", "damping", "size", "flow", "noise", "weight", "power", "min_distance", "radial_power", "radial_min")
DISTANCES = ("max_distance", "radial_max")
NUMBERS = np.arange(256)


def field_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of the fields and absorbers of a scene."""
    bodies = {body.name for body in spec.bodies}
    frames = max(spec.frame_end - spec.frame_start + 1, 0)
    for what, ones in (("fields", spec.fields), ("absorbers", spec.absorbers)):
        for name, count in Counter(one.name for one in ones).items():
            if count > 1:
                yield SceneProblem(name, "name", f"{count} {what} have this name; give each its own")
    for field in spec.fields:
        for name, message in (
            *carrier_findings(field, bodies),
            *number_findings(field, (*FINITE, *DISTANCES), spec.frame_start, frames),
            *place_findings(field, spec.frame_start, frames),
            *mesh_findings(field, spec.frame_start, frames),
            *noise_findings(field),
        ):
            yield SceneProblem(field.name, name, message)
    for absorber in spec.absorbers:
        for name, message in (
            *carrier_findings(absorber, bodies),
            *number_findings(absorber, ("absorption", "margin"), spec.frame_start, frames),
            *mesh_findings(absorber, spec.frame_start, frames),
        ):
            yield SceneProblem(absorber.name, name, message)


def carrier_findings(one: FieldSpec | AbsorberSpec, bodies: set[str]) -> Findings:
    """Yield an error if the body that carries a field or absorber is not in the scene."""
    if one.carrier and one.carrier not in bodies:
        yield "carrier", f"{one.carrier!r} is not a body of the scene; name one of its bodies, or none for the world"


def number_findings(one: FieldSpec | AbsorberSpec, names: tuple[str, ...], start: int, frames: int) -> Findings:
    """Yield the errors in the numbers of a field or absorber, including the values per frame."""
    for name in names:
        value = getattr(one, name)
        if not math.isfinite(value) and not (name in DISTANCES and value == math.inf):
            yield name, f"is {value}; it must be finite"
    if isinstance(one, FieldSpec) and not is_positive(one.rate):
        yield "rate", f"is {one.rate}; it must be above 0 and finite"
    for keyed in one.keyed:
        values = np.asarray(keyed.values)
        if keyed.name not in names or keyed.name == "margin":
            yield "keyed", f"{keyed.name!r} cannot change from frame to frame; only these can: {', '.join(names)}"
        elif values.shape != (frames,):
            yield keyed.name, f"has the shape {values.shape}; {frames} frames need ({frames},)"
        elif not (np.isfinite(values) | ((keyed.name in DISTANCES) & (values == math.inf))).all():
            first = start + int(np.argmin(np.isfinite(values)))
            yield keyed.name, f"is not finite at frame {first}; check its animation there"


def place_findings(field: FieldSpec, start: int, frames: int) -> Findings:
    """Yield the errors in the position and axis of a field."""
    for name in ("position", "axis"):
        path = np.asarray(getattr(field, name))
        if path.shape not in ((3,), (frames, 3)):
            yield name, f"has the shape {path.shape}; it must be (3,), or ({frames}, 3) for {frames} frames"
        elif not is_finite(path, path.shape):
            first = start + int(np.argmin(np.isfinite(np.atleast_2d(path)).all(axis=1)))
            yield name, f"is {describe(path)}, not finite at frame {first}; check the object's transform and its parents"
        elif name == "axis":
            lengths = np.linalg.norm(np.atleast_2d(path), axis=1)
            worst = int(np.argmax(np.abs(lengths - 1.0)))
            if abs(lengths[worst] - 1.0) > UNIT:
                where = f"at frame {start + worst}" if path.ndim > 1 else "of the object"
                yield name, f"has length {lengths[worst]:g} instead of 1; check the scale {where}"


def mesh_findings(one: FieldSpec | AbsorberSpec, start: int, frames: int) -> Findings:
    """Yield the errors in the mesh of a field or absorber."""
    vertices, triangles = np.asarray(one.vertices), np.asarray(one.triangles)
    count = vertices.shape[-2] if vertices.ndim > 1 else 0
    wanted = ((count, 3), (frames, count, 3))
    if vertices.shape not in wanted:
        yield "vertices", f"has the shape {vertices.shape}; it must be (n, 3), or ({frames}, n, 3) for {frames} frames"
    elif not is_finite(vertices, vertices.shape):
        where = f" at frame {start + int(np.argmin(np.isfinite(vertices).all(axis=(1, 2))))}" if vertices.ndim > 2 else ""
        yield "vertices", f"a vertex{where} is not finite; check the mesh"
    if (
        triangles.ndim != 2
        or triangles.shape[1] != 3
        or (triangles.size and not 0 <= triangles.min() <= triangles.max() < count)
    ):
        yield "triangles", f"has the shape {triangles.shape}; it must be (t, 3) indices of {count} vertices"
    if isinstance(one, FieldSpec) and one.shape is FieldShape.POINTS and np.shape(one.normals) not in wanted:
        yield "normals", f"has the shape {np.shape(one.normals)}; each of the {count} vertices needs one"


def noise_findings(field: FieldSpec) -> Findings:
    """Yield the errors in the noise of a field."""
    permutation = np.asarray(field.permutation)
    if permutation.shape != NUMBERS.shape or not np.array_equal(np.sort(permutation), NUMBERS):
        yield "permutation", "it must contain each integer from 0 to 255 once"
    if field.noise < 0.0:
        yield "noise", f"is {field.noise}; it must be 0 or more"


def field_warnings(spec: SceneSpec) -> Iterator[SceneWarning]:
    """Yield warnings about fields of a valid scene that act on no body or have an empty surface."""
    feels = any(body.feels_fields and body.kind is BodyKind.ACTIVE for body in spec.bodies)
    for field in spec.fields:
        if not feels:
            yield SceneWarning((field.name,), "field", "no active body feels force fields, so it does nothing")
        if field.shape is FieldShape.SURFACE and not len(field.triangles):
            message = "its shape is Surface, but it has no faces; it acts from the object's origin"
            yield SceneWarning((field.name,), "shape", message)
