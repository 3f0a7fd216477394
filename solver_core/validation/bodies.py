# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in a body: its motion, material, deformation and mass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..geometry.body_mass import body_mass_properties
from ..scene.spec import BodyKind, BodySpec, Grain, SceneSpec, ShapeKind
from .findings import UNIT, Findings, SceneProblem, describe, is_finite, is_not_negative, is_positive
from .paths import path_findings
from .shapes import areas, has_area, shape_findings

__all__ = ["body_problems"]

# Smallest principal moment of inertia, relative to the largest, that counts as nonzero.
SINGULAR = 1e-12
# Relative tolerance of the triangle inequality of moments. Files have the moments of flat bodies in single precision.
INERTIA_ROUNDING = 1e-6


def body_problems(body: BodySpec, spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of a body of a scene."""
    shape = list(shape_findings(body))
    for field, message in (
        *shape,
        *motion_findings(body),
        *material_findings(body),
        *surface_motion_findings(body, spec),
        *path_findings(body, spec),
        *deformation_findings(body, spec, has_sound_shape=not shape),
        *mass_findings(body, has_sound_shape=not shape),
    ):
        yield SceneProblem(body.name, field, message)


def motion_findings(body: BodySpec) -> Findings:
    """Yield the errors in the initial motion of a body, its locked axes and its damping."""
    for field, size in (
        ("position", 3),
        ("orientation", 4),
        ("velocity", 3),
        ("angular_velocity", 3),
        ("linear_factor", 3),
        ("angular_factor", 3),
    ):
        value = getattr(body, field)
        if not is_finite(value, (size,)):
            yield field, f"is {describe(value)}; it must be {size} finite numbers; check the object's transform and its parents"
    if is_finite(body.orientation, (4,)) and abs(np.linalg.norm(body.orientation) - 1.0) > UNIT:
        yield (
            "orientation",
            f"is {describe(body.orientation)}, of length {np.linalg.norm(body.orientation):g}; a rotation has length 1; check "
            "that no scale of the object or its parents is 0",
        )
    for field in ("linear_factor", "angular_factor"):
        value = getattr(body, field)
        if is_finite(value, (3,)) and not np.isin(value, (0.0, 1.0)).all():
            yield field, f"is {describe(value)}; each axis must be 0 (locked) or 1 (free)"
    for field in ("linear_damping", "angular_damping"):
        value = getattr(body, field)
        if not 0.0 <= value <= 1.0:
            yield field, f"is {value}; it is the fraction of velocity lost in a second, from 0 to 1"
    center = body.center_of_mass
    if center is not None and not is_finite(center, (3,)):
        yield "center_of_mass", f"is {describe(center)}; it must be 3 finite numbers in m, in the body's own axes"


def material_findings(body: BodySpec) -> Findings:
    """Yield the errors in the material of a body."""
    material = body.material
    for field, kind in (("mu_static", "static"), ("mu_dynamic", "dynamic")):
        value = getattr(material, field)
        if not is_not_negative(value):
            yield field, f"is {value}; the coefficient of {kind} friction must be 0 or more and finite"
    if not 0.0 <= material.restitution <= 1.0:
        yield "restitution", f"is {material.restitution}; bounciness goes from 0 (no bounce) to 1 (as high as before)"
    for field, kind in (("rolling", "rolling"), ("torsion", "torsional")):
        value = getattr(material, field)
        if not is_not_negative(value):
            yield field, f"is {value}; the length of {kind} friction must be 0 m or more and finite"
    if material.grain is not None:
        yield from grain_findings(material.grain)


def grain_findings(grain: Grain) -> Findings:
    """Yield the errors in the grain of a surface."""
    if not is_finite(grain.direction, (3,)):
        yield "grain.direction", f"is {describe(grain.direction)}; it must be 3 finite numbers, in the body's own axes"
    elif not any(grain.direction):
        yield "grain.direction", "has length 0; give the axis of the body along which the grain runs"
    for field, kind in (("mu_static", "static"), ("mu_dynamic", "dynamic")):
        value = getattr(grain, field)
        if not is_not_negative(value):
            yield f"grain.{field}", f"is {value}; {kind} friction across the grain must be 0 or more and finite"


def surface_motion_findings(body: BodySpec, spec: SceneSpec) -> Findings:
    """Yield the errors in the motion of a body's surface. Each value is one vector, or one vector per frame."""
    if body.surface_motion is None:
        return
    frames = max(spec.frame_end - spec.frame_start + 1, 0)
    for name in ("velocity", "spin"):
        value = getattr(body.surface_motion, name)
        shape = np.shape(value)
        if shape not in ((3,), (frames, 3)):
            yield (
                f"surface_motion.{name}",
                f"has the shape {shape}; it must be (3,), or ({frames}, 3) with a row for each frame",
            )
        elif not is_finite(value, shape):
            first = 0 if len(shape) == 1 else int(np.argmin(np.isfinite(value).all(axis=1)))
            yield (
                f"surface_motion.{name}",
                f"is not finite at frame {spec.frame_start + first}; check its value and its keyframes",
            )


def deformation_findings(body: BodySpec, spec: SceneSpec, has_sound_shape: bool) -> Findings:
    """Yield the errors in the prescribed deformation of a body. has_sound_shape: True if the shape has no errors."""
    if body.deformation is None:
        return
    frames = max(spec.frame_end - spec.frame_start + 1, 0)
    wanted = (frames, len(body.shape.vertices), 3)
    if body.kind is BodyKind.ACTIVE:
        yield "deformation", "an active body cannot deform; disable Deforming, or make the body Passive or Animated"
    elif body.shape.kind is not ShapeKind.MESH:
        yield "deformation", "only the shape Mesh can deform; disable Deforming, or choose the shape Mesh"
    elif np.shape(body.deformation) != wanted:
        yield "deformation", f"has the shape {np.shape(body.deformation)}; {frames} frames of this mesh need {wanted}"
    elif not is_finite(body.deformation, wanted):
        first = spec.frame_start + int(np.argmin(np.isfinite(body.deformation).all(axis=(1, 2))))
        yield "deformation", f"a vertex at frame {first} is not finite; check the mesh at that frame"
    elif has_sound_shape:
        triangles = np.asarray(body.shape.triangles)
        widest = triangles[[np.argmax(areas(body.shape.vertices, triangles))]]
        for frame, vertices in enumerate(np.asarray(body.deformation), spec.frame_start):
            # In nearly all frames, a look at the largest face is enough.
            if not has_area(vertices, widest) and not has_area(vertices, triangles):
                yield "deformation", f"no face of the mesh has an area at frame {frame}; check the mesh at that frame"
                return


def inertia_findings(inertia: Any) -> Findings:
    """Yield the errors in a given inertia.

    It must be symmetric and positive definite, and no principal moment may exceed the sum of the others.
    """
    if not is_finite(inertia, (3, 3)) or not np.allclose(inertia, np.transpose(inertia), rtol=1e-9, atol=0.0):
        yield "inertia", f"is {describe(inertia)}; it must be a symmetric (3, 3) matrix of finite numbers in kg m^2"
        return
    moments = np.linalg.eigvalsh(inertia)
    if not moments[0] > SINGULAR * moments[2]:
        yield "inertia", f"has the principal moments {describe(moments)} kg m^2; all three must be above 0"
    elif moments[0] + moments[1] < moments[2] * (1.0 - INERTIA_ROUNDING):
        yield (
            "inertia",
            f"has the principal moments {describe(moments)} kg m^2; none may exceed the sum of the other two",
        )


def mass_findings(body: BodySpec, has_sound_shape: bool) -> Findings:
    """Yield the errors in the mass properties of a body. has_sound_shape: True if the shape has no errors."""
    if body.kind is not BodyKind.ACTIVE:
        return
    if body.mass is None and body.density is None:
        yield "mass", "an active body needs a mass or a density"
        return
    if body.mass is not None and body.density is not None:
        yield "mass", "both a mass and a density are given; choose one"
        return
    for field, unit in (("mass", "kg"), ("density", "kg/m^3")):
        value = getattr(body, field)
        if value is not None and not is_positive(value):
            yield field, f"is {value:g} {unit}; it must be above 0 and finite"
            return
    findings = [] if body.inertia is None else [*inertia_findings(body.inertia)]
    yield from findings
    if body.shape.kind is ShapeKind.NONE:
        yield from link_findings(body)
    elif has_sound_shape and not findings and (body.center_of_mass is None or is_finite(body.center_of_mass, (3,))):
        yield from solid_findings(body)


def link_findings(body: BodySpec) -> Findings:
    """Yield the missing mass properties of a body without a collider."""
    if body.density is not None:
        yield "density", "gives no mass, because the body has no collider; set a mass instead"
    if body.inertia is None:
        yield "inertia", "is missing; a body without a collider needs its moments of inertia"


def solid_findings(body: BodySpec) -> Findings:
    """Yield the errors in the mass properties that follow from a valid shape."""
    field = "mass" if body.density is None else "density"
    try:
        solid = body_mass_properties(body)
    except ValueError as error:
        yield field, f"no inertia can be found: {error}; give the mesh some thickness, or a collision margin"
        return
    if not (math.isfinite(solid.mass) and solid.mass > 0.0 and np.isfinite(solid.inertia).all()):
        yield field, f"gives a mass of {solid.mass:g} kg, which cannot be simulated; check the size of the mesh"
        return
    if body.inertia is not None:
        return
    moments = np.linalg.eigvalsh(solid.inertia)
    if not moments[0] > SINGULAR * moments[2]:
        yield (
            "inertia",
            f"is singular (principal moments {moments[0]:g} to {moments[2]:g} kg m^2): the shape is too thin to turn about "
            "its own axis; give it thickness or a larger collision margin",
        )
