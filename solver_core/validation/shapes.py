# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the shape of a body."""

from __future__ import annotations

import numpy as np

from ..geometry.surfaces import TOLERANCE, mesh_surface
from ..scene.spec import BodyKind, BodySpec, ShapeKind, ShapeSpec
from .findings import UNIT, Array, Findings, describe, is_finite, is_not_negative, is_positive

__all__ = ["areas", "has_area", "shape_findings", "why_no_inside"]


def shape_findings(body: BodySpec, shape: ShapeSpec | None = None, within: str = "") -> Findings:
    """What is wrong with the body's shape, or with the part of it at `within`, such as "children.1."."""
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
            yield f"{place}shape", "a part without a collider has no place in a compound; leave it out"
        yield from shape_findings(body, child.shape, place)


def simple_shape_findings(body: BodySpec, shape: ShapeSpec) -> Findings:
    """What is wrong with a shape that is no compound."""
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
    """What is wrong with a mesh whose arrays are sound."""
    if triangles.size == 0:
        yield "triangles", "the mesh has no faces; give it some, or take the object out of the rigid body world"
        return
    try:
        volume = mesh_surface(vertices, triangles).volume
    except ValueError:
        yield "triangles", "no face of the mesh has an area; give it a size, or take the object out of the rigid body world"
        return
    if body.kind is BodyKind.ACTIVE and volume == 0.0:
        yield "shape", why_no_inside(vertices, triangles, bends=body.deformable is not None)
    elif body.kind is BodyKind.ACTIVE and volume < 0.0:
        yield "normals", "the normals of the mesh point inwards; flip them, or make the body Passive, as a container"


def why_no_inside(vertices: Array, triangles: Array, *, bends: bool = False) -> str:
    """Why an active body has no inside whose mesh encloses no volume, and what to do about it; bends: whether it is flexible.

    Merging vertices takes closed surfaces to closed ones, where an even number of faces meets at every edge. So a mesh whose
    vertices are merged only where they are equal, and which is closed then, is no open one.
    """
    # zeros of either sign are equal
    _, merged = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    corners = merged.reshape(-1)[triangles]
    edges = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    _, faces = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0, return_counts=True)
    if (faces % 2).any() and bends:
        return (
            "the mesh is open, so a flexible body has no inside to bend; remesh it by voxels, which makes one "
            "closed surface of all its parts, or switch Flexible off"
        )
    if (faces % 2).any():
        return (
            "the mesh is open, so an active body has no inside; fill its holes or give it a thickness, "
            "choose Convex Hull, or make the body Passive"
        )
    thin = 4e3 * TOLERANCE * np.linalg.norm(np.ptp(vertices[triangles.ravel()], axis=0))
    return (
        f"the mesh is closed, but an active body has no inside where it is thinner than {thin:.2g} mm, or where more than two "
        "faces meet at an edge; give it a thickness there, choose Convex Hull, or make the body Passive"
    )


def round_findings(shape: ShapeSpec) -> Findings:
    """What is wrong with a cylinder or a cone whose vertices are finite."""
    what = "cylinder" if shape.kind is ShapeKind.CYLINDER else "cone"
    if not is_positive(shape.radius):
        yield (
            "radius",
            f"is {shape.radius}; the radius of a {what} must be above 0 and finite; give the mesh a width across its axis and "
            "check the object's scale",
        )
    if len(shape.vertices) != 2:
        yield "vertices", f"are {len(shape.vertices)}; a {what} has two, the ends of its axis"
    elif not is_positive(float(np.linalg.norm(np.subtract(*shape.vertices)))):
        yield (
            "height",
            f"is not above 0 m: the ends of the {what}'s axis coincide; give the mesh a height and check the object's scale",
        )


def areas(vertices: Array, triangles: Array) -> Array:
    """(t,) m^2 of triangles."""
    a, b, c = (np.asarray(vertices)[triangles[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def has_area(vertices: Array, triangles: Array) -> bool:
    """Whether any triangle has an area, measured by the size of all."""
    size = np.linalg.norm(np.ptp(vertices[triangles.ravel()], axis=0))
    return bool(2.0 * areas(vertices, triangles).max() > (TOLERANCE * size) ** 2)
