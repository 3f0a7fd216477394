# SPDX-License-Identifier: GPL-3.0-or-later
"""Mass, center of mass and inertia of a homogeneous body from its surface.

Each surface triangle (a, b, c) spans a signed tetrahedron with the origin. With 6 V = a . (b x c) and s = a + b + c, the
integrals of 1, x and x x^T over the tetrahedron are exactly

    V,    V s / 4,    V (a a^T + b b^T + c c^T + s s^T) / 20.

Over a closed and consistently oriented surface, their sum is the integral over the solid. The second moment C about the center
of mass gives the inertia tr(C) 1 - C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull

from ..linalg.in_order import dots, product, sum_of_rows

__all__ = ["MassProperties", "mass_properties"]

Array = NDArray[np.float64]

# Relative to the longest extent: thinner sets of points count as coplanar or collinear. Modelers store coordinates in single
# precision, which bends a flat face by about 1e-7 of its size.
FLATNESS = 1e-6

# Signed volumes that cancel to less than this fraction of their absolute sum are zero up to rounding.
CANCELLATION = 1e-12


@dataclass(frozen=True)
class MassProperties:
    """Mass properties of a body.

    mass: [kg]. volume: [m^3]. center_of_mass: (3,) in the body frame [m].
    inertia: (3, 3) about the center of mass, in body axes [kg m^2].
    closed: True if these are the properties of the mesh, False if they are those of its convex hull (or of the lamina, capsule
        or sphere of a hull without volume).
    """

    mass: float
    volume: float
    center_of_mass: Array
    inertia: Array
    closed: bool


@dataclass(frozen=True)
class Moments:
    """Moments at unit density.

    volume: [m^3]. centre: (3,) [m]. second: (3, 3) second moment about the center [m^5].
    """

    volume: float
    centre: Array
    second: Array


def mass_properties(
    vertices: Array,
    triangles: NDArray[np.integer],
    *,
    mass: float | None = None,
    density: float | None = None,
    margin: float = 0.0,
) -> MassProperties:
    """Return the mass properties of the solid in a closed mesh, or of its convex hull if the mesh encloses no solid.

    The hull is used if an edge is not shared by exactly two triangles with opposite directions, or if a connected part is
    inside out without being a cavity of another part. Points without volume get one from the margin: a lamina of thickness 2
    margin (of no thickness at margin 0, which requires a mass), a capsule, or a sphere of radius margin.

    vertices: (n, 3) [m]. triangles: (t, 3) indices, oriented outward or inward.
    mass, density: exactly one of them [kg], [kg/m^3]. margin: [m].

    Raises ValueError if there are no vertices, if there is no volume for a density, or if there is no extent for an inertia.
    """
    if (mass is None) == (density is None):
        raise ValueError("give exactly one of mass and density")
    if not margin >= 0.0:
        raise ValueError(f"the margin must be 0 or more, not {margin}")
    vertices = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
    triangles = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    if len(vertices) == 0:
        raise ValueError("the shape has no vertices")
    if not np.isfinite(vertices).all():
        index = int(np.argmin(np.isfinite(vertices).all(axis=1)))
        raise ValueError(f"the vertices must be finite, but vertex {index} is {vertices[index]}")
    # Coordinates relative to the center of the bounds: far from the origin, the cubic terms would cancel catastrophically.
    shift = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
    points = vertices - shift
    axes, extents = principal_extents(points)
    rounding = 4.0 * np.finfo(np.float64).eps * np.abs(vertices).max()
    dimension = int(np.sum(extents > max(FLATNESS * extents[0], rounding)))
    mesh = None
    if dimension == 3:
        mesh = mesh_moments(points, triangles)
        moments = mesh if mesh is not None else hull_moments(points, axes, extents)
    elif dimension == 2:
        moments = lamina_moments(points, axes, margin)
    else:
        if not margin > 0.0:
            arrangement = "lie on one line" if dimension == 1 else "are all at one point"
            raise ValueError(
                f"the vertices {arrangement} and the margin is 0, so there is no inertia; add a margin or more vertices"
            )
        moments = capsule_moments(points, axes[0], margin)
    if density is not None:
        if not moments.volume > 0.0:
            raise ValueError(
                "the vertices lie in one plane and the margin is 0, so a density gives no mass; add a margin or set the mass"
            )
        mass = density * moments.volume
    assert mass is not None
    # A lamina without thickness has no volume. Its second moment is per unit of mass.
    second = moments.second * (mass / moments.volume if moments.volume > 0.0 else mass)
    inertia = np.trace(second) * np.eye(3) - second
    return MassProperties(float(mass), moments.volume, moments.centre + shift, inertia, mesh is not None)


def principal_extents(points: Array) -> tuple[Array, Array]:
    """Return the principal axes (3, 3) of points, in rows, longest first, and the width of the points along each (3,) [m]."""
    # Imported here because validation computes masses and must not load the compiler.
    from ..linalg.mat3 import principal_axes_of_points

    axes = principal_axes_of_points(points - points.mean(axis=0))
    along = product(points, axes.T)
    extents = np.ptp(along, axis=0)
    order = np.argsort(-extents, kind="stable")
    return axes[order], extents[order]


def mesh_moments(points: Array, triangles: NDArray[np.int64]) -> Moments | None:
    """Return the moments of the solid in a mesh, or None if it encloses none."""
    # Triangles that use a vertex twice have no area and bound nothing.
    corners = np.sort(triangles, axis=1)
    triangles = triangles[(corners[:, 0] != corners[:, 1]) & (corners[:, 1] != corners[:, 2])]
    if not is_closed(triangles, len(points)):
        return None
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    signed = dots(a, np.cross(b, c))
    if signed.sum() < 0.0:
        signed = -signed
    if has_inverted_part(points, triangles, signed):
        return None
    if signed.sum() <= CANCELLATION * np.abs(signed).sum():
        return None
    moments = tetrahedra_moments(a, b, c, signed)
    # A surface that crosses itself can enclose more of negative than of positive sign in some direction.
    from ..linalg.mat3 import eigen_of_each

    return moments if eigen_of_each(moments.second[None])[0][0, 0] > 0.0 else None


def is_closed(triangles: NDArray[np.int64], vertex_count: int) -> bool:
    """Return True if each edge belongs to exactly two triangles that use it in opposite directions."""
    if len(triangles) == 0:
        return False
    start = triangles.ravel()
    end = np.roll(triangles, -1, axis=1).ravel()
    forward = np.sort(start * vertex_count + end)
    backward = np.sort(end * vertex_count + start)
    return bool((np.diff(forward) > 0).all() and np.array_equal(forward, backward))


def has_inverted_part(points: Array, triangles: NDArray[np.int64], signed: Array) -> bool:
    """Return True if a connected part of negative volume is not inside a part of positive volume, as a cavity would be."""
    if (signed >= 0.0).all():
        return False  # true for each convex mesh; the search for connected parts would take most of the time
    start = triangles.ravel()
    end = np.roll(triangles, -1, axis=1).ravel()
    graph = coo_array((np.ones(len(start), dtype=np.int8), (start, end)), shape=(len(points), len(points)))
    count, part_of_vertex = connected_components(graph.tocsr(), directed=False)
    part = part_of_vertex[triangles[:, 0]]
    volumes = np.bincount(part, weights=signed, minlength=count)
    negative = np.flatnonzero(volumes < -CANCELLATION * np.abs(signed).sum())
    if len(negative) == 0:
        return False
    lowest = np.full((count, 3), np.inf)
    highest = np.full((count, 3), -np.inf)
    np.minimum.at(lowest, part_of_vertex, points)
    np.maximum.at(highest, part_of_vertex, points)
    positive = np.flatnonzero(volumes > 0.0)
    return any(not ((lowest[positive] < lowest[k]) & (highest[positive] > highest[k])).all(axis=1).any() for k in negative)


def tetrahedra_moments(a: Array, b: Array, c: Array, signed: Array) -> Moments:
    """Return the sum of the moments of tetrahedra (0, a, b, c).

    a, b, c: (t, 3) [m]. signed: (t,) six times their volumes, with a nonzero sum [m^3].
    """
    s = a + b + c
    volume = float(signed.sum()) / 6.0
    centre = sum_of_rows(signed[:, None] * s) / (24.0 * volume)
    second = sum((_moment(signed, x) for x in (a, b, c, s)), start=np.zeros((3, 3))) / 120.0
    return Moments(volume, centre, second - volume * np.outer(centre, centre))


def _moment(weight: Array, x: Array) -> Array:
    """Return the sum of w x x^T (k, k). weight: (n,). x: (n, k)."""
    return sum_of_rows(weight[:, None, None] * x[:, :, None] * x[:, None, :])


def hull_moments(points: Array, axes: Array, extents: Array) -> Moments:
    """Return the moments of the convex hull of points (n, 3) that are not coplanar."""
    # An affine map does not change the faces of a hull. With equal extents, even a thin sheet is well-conditioned for Qhull.
    hull = ConvexHull(product(points, axes.T) / extents)
    inside = points[hull.vertices].mean(axis=0)
    a, b, c = (points[hull.simplices[:, corner]] - inside for corner in range(3))
    moments = tetrahedra_moments(a, b, c, np.abs(dots(a, np.cross(b, c))))
    return Moments(moments.volume, moments.centre + inside, moments.second)


def lamina_moments(points: Array, axes: Array, margin: float) -> Moments:
    """Return the moments of the convex polygon of coplanar points with thickness 2 margin; per unit of mass if the margin is
    0.
    """
    plane = product(points, axes[:2].T)
    extents = np.ptp(plane, axis=0)
    polygon = plane[ConvexHull(plane / extents).vertices]
    inside = polygon.mean(axis=0)
    a = polygon - inside
    b = np.roll(a, -1, axis=0)
    # The same integrals over triangles (0, a, b) are A, A (a + b) / 3 and A (a a^T + b b^T + s s^T) / 12 with s = a + b.
    areas = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2.0
    area = float(areas.sum())
    s = a + b
    centre = sum_of_rows(areas[:, None] * s) / (3.0 * area)
    in_axes = np.zeros((3, 3))
    in_axes[:2, :2] = sum((_moment(areas, x) for x in (a, b, s)), start=np.zeros((2, 2))) / 12.0 - area * np.outer(
        centre, centre
    )
    in_axes[2, 2] = area * margin * margin / 3.0
    second = product(product(axes.T, in_axes), axes)
    in_plane, height = centre + inside, float(product(points, axes[2]).mean())
    position = in_plane[0] * axes[0] + in_plane[1] * axes[1] + height * axes[2]
    if margin > 0.0:
        return Moments(2.0 * margin * area, position, 2.0 * margin * second)
    return Moments(0.0, position, second / area)


def capsule_moments(points: Array, axis: Array, radius: float) -> Moments:
    """Return the moments of all points within `radius` of the segment spanned by collinear points along the unit vector
    `axis`.
    """
    along = product(points, axis)
    length = float(np.ptp(along))
    middle = points.mean(axis=0) + axis * ((along.min() + along.max()) / 2.0 - along.mean())
    square = radius * radius
    cylinder = np.pi * square * length
    ball = 4.0 / 3.0 * np.pi * square * radius
    # Second moments per volume. Perpendicular to the axis: r^2/4 for a disk, r^2/5 for a ball. Along the axis, the half balls
    # at the ends have their centers 3 r / 8 beyond them: r^2/5 + 2 (3 r / 8)(L/2) + (L/2)^2.
    across = cylinder * square / 4.0 + ball * square / 5.0
    lengthwise = cylinder * length * length / 12.0 + ball * (square / 5.0 + 3.0 * radius * length / 8.0 + length * length / 4.0)
    second = across * np.eye(3) + (lengthwise - across) * np.outer(axis, axis)
    return Moments(cylinder + ball, middle, second)
