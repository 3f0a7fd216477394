# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in the shape of a body."""

from __future__ import annotations

import numpy as np

from ..geometry.surfaces import TOLERANCE, mesh_surface
from ..scene.spec import BodyKind, BodySpec, ShapeKind, ShapeSpec
from .findings import UNIT, Array, Findings, describe, is_finite, is_not_negative, is_positive

__all__ = ["areas", "has_area", "shape_findings", "why_no_inside"]


def shape_findings(body: BodySpec, shape: ShapeSpec | None = None, within: str = "") -> Findings:
    """Yield the errors in the shape of a body, or in its child shape at `within`, such as "children.1."."""
    shape = body.shape if shape is None else shape
    for field, message in simple_shape_findings(body, shape) if shape.kind is not ShapeKind.COMPOUND else ():
        yield within + field, message
    if shape.kind is not ShapeKind.COMPOUND:
        return
    if not shape.children:
        message = "the compound has no children; parent rigid bodies to the object, or choose another shape for it"
        yield f"{within}children", message
    for number, child in enumerate(shape.children):
        place = f"{within}children.{number}."
        if not is_finite(child.position, (3,)):
            yield f"{place}position", f"is {describe(child.position)}; it must be 3 finite numbers; check the child's transform"
        if not is_finite(child.orientation, (4,)) or abs(np.linalg.norm(child.orientation) - 1.0) > UNIT:
            yield f"{place}orientation", f"is {describe(child.orientation)}; a rotation is 4 finite numbers of length 1"
        if child.shape.kind is ShapeKind.NONE:
            yield f"{place}shape", "a child of a compound needs a collider; leave it out"
        yield from shape_findings(body, child.shape, place)


def simple_shape_findings(body: BodySpec, shape: ShapeSpec) -> Findings:
    """Yield the errors in a shape that is not a compound."""
    if shape.kind is ShapeKind.NONE:
        return
    if not is_not_negative(shape.margin):
        yield "margin", f"is {shape.margin}; the collision margin must be 0 or more and finite"
    if shape.kind is ShapeKind.PLANE:
        if body.kind is BodyKind.ACTIVE:
            yield "shape", "an endless plane cannot be active; make the body Passive, or choose Convex Hull as its shape"
        return
    vertices, triangles = np.asarray(shape.vertices), np.asarray(shape.triangles)
    if vertices.size == 0:
        yield "vertices", "the shape has no vertices; give the object a mesh with faces, or remove its rigid body"
    elif vertices.ndim != 2 or vertices.shape[1] != 3:
        yield "vertices", f"have the shape {vertices.shape}; it must be (n, 3)"
    elif not is_finite(vertices, vertices.shape):
        first = int(np.argmin(np.isfinite(vertices).all(axis=1)))
        yield "vertices", f"vertex {first} is {describe(vertices[first])}, not finite; check the mesh and its scale"
    elif shape.kind in (ShapeKind.CYLINDER, ShapeKind.CONE):
        yield from round_findings(shape)
    elif triangles.size and (triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu"):
        yield "triangles", f"are {triangles.dtype} of shape {triangles.shape}; they must be (t, 3) integers"
    elif triangles.size and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        yield "triangles", f"refer to vertices {triangles.min()} to {triangles.max()}; there are {len(vertices)}"
    elif shape.kind is ShapeKind.MESH:
        yield from mesh_findings(body, vertices, triangles)


def mesh_findings(body: BodySpec, vertices: Array, triangles: Array) -> Findings:
    """Yield the errors in a mesh with valid arrays."""
    if triangles.size == 0:
        yield "triangles", "the mesh has no faces; add some, or remove the object from the rigid body world"
        return
    try:
        volume = mesh_surface(vertices, triangles).volume
    except ValueError:
        yield "triangles", "no face of the mesh has an area; scale it up, or remove the object from the rigid body world"
        return
    if body.kind is BodyKind.ACTIVE and volume == 0.0:
        yield "shape", why_no_inside(vertices, triangles, bends=body.deformable is not None)
    elif body.kind is BodyKind.ACTIVE and volume < 0.0:
        yield "normals", "the normals of the mesh point inward; flip them, or make the body Passive, as a container"


def why_no_inside(vertices: Array, triangles: Array, *, bends: bool = False) -> str:
    """Return why the mesh of an active body encloses no volume, and the remedy. bends: True for a flexible body.

    After equal vertices are merged, every edge of a closed mesh has an even number of faces. A mesh with this property is
    therefore not open.
    """
    # Adding 0.0 makes zeros of both signs equal.
    _, merged = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    corners = merged.reshape(-1)[triangles]
    edges = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    _, faces = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0, return_counts=True)
    if (faces % 2).any() and bends:
        return (
            "the mesh is open, so the flexible body has no inside; use a voxel remesh, which makes one closed surface of "
            "all its parts, or disable Flexible"
        )
    if (faces % 2).any():
        return (
            "the mesh is open, so the active body has no inside; fill its holes or give it a thickness, "
            "choose Convex Hull, or make the body Passive"
        )
    thin = 4e3 * TOLERANCE * np.linalg.norm(np.ptp(vertices[triangles.ravel()], axis=0))
    return (
        f"the mesh is closed, but it has no inside where it is thinner than {thin:.2g} mm, or where more than two faces meet "
        "at an edge; give it a thickness there, choose Convex Hull, or make the body Passive"
    )


def round_findings(shape: ShapeSpec) -> Findings:
    """Yield the errors in a cylinder or cone with finite vertices."""
    name = "cylinder" if shape.kind is ShapeKind.CYLINDER else "cone"
    if not is_positive(shape.radius):
        yield (
            "radius",
            f"is {shape.radius}; the radius of a {name} must be above 0 and finite; give the mesh a width across its axis, and "
            "check the object's scale",
        )
    if len(shape.vertices) != 2:
        yield "vertices", f"are {len(shape.vertices)}; a {name} has two, the ends of its axis"
    elif not is_positive(float(np.linalg.norm(np.subtract(*shape.vertices)))):
        yield (
            "height",
            f"is not above 0 m: the ends of the {name}'s axis coincide; give the mesh a height and check the object's scale",
        )


def areas(vertices: Array, triangles: Array) -> Array:
    """Return the areas of triangles (t,) [m^2]."""
    a, b, c = (np.asarray(vertices)[triangles[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def has_area(vertices: Array, triangles: Array) -> bool:
    """Return True if any triangle has a nonzero area, relative to the size of all."""
    size = np.linalg.norm(np.ptp(vertices[triangles.ravel()], axis=0))
    return bool(2.0 * areas(vertices, triangles).max() > (TOLERANCE * size) ** 2)
