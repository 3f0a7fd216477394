# SPDX-License-Identifier: GPL-3.0-or-later
"""Mass, centre of mass and inertia of a homogeneous body from its surface.

With the origin inside, every surface triangle (a, b, c) spans a signed tetrahedron with it. Over that tetrahedron, with
6 V = a . (b x c) and s = a + b + c, the integrals of 1, x and x x^T are exactly

    V,    V s / 4,    V (a a^T + b b^T + c c^T + s s^T) / 20,

the last two since a quadratic has these moments on a simplex. Over a closed and consistently oriented surface the sum is the
solid's. The second moment C about the centre of mass gives the inertia tr(C) 1 - C.
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

# Thinner than this, as a fraction of the longest extent, and points count as coplanar or collinear: modellers keep coordinates
# in single precision, which tilts and rounds a flat face by some 1e-7 of its size.
FLATNESS = 1e-6

# Signed volumes that cancel to less than this fraction of their absolute sum are zero up to rounding.
CANCELLATION = 1e-12


@dataclass(frozen=True)
class MassProperties:
    """mass in kg, volume in m^3, center_of_mass (3,) m in the body frame, inertia (3, 3) kg m^2 about it in body axes.

    closed says whose properties these are: the mesh's own when True, those of its convex hull (or of the lamina, capsule or
    sphere of a hull without volume) when False.
    """

    mass: float
    volume: float
    center_of_mass: Array
    inertia: Array
    closed: bool


@dataclass(frozen=True)
class Moments:
    """Of unit density: volume in m^3, centre (3,) m, second moment (3, 3) m^5 about it."""

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
    """Mass properties of the solid that the closed mesh bounds, or of its convex hull when the mesh bounds none.

    vertices: (n, 3) m. triangles: (t, 3) indices; their orientation may be outward or inward. mass in kg or density in kg/m^3,
    exactly one. The hull is taken when some edge is not shared by exactly two triangles in opposite directions, or some part of
    the mesh is turned inside out without being a cavity of another. Points without volume get one from the margin in m: a
    lamina of thickness 2 margin (ideally thin at margin 0, which needs a mass), a capsule or a sphere of radius margin. Raises
    ValueError when there are no points, or no volume for a density, or no extent at all to have an inertia.
    """
    if (mass is None) == (density is None):
        raise ValueError("exactly one of mass and density is needed")
    if not margin >= 0.0:
        raise ValueError(f"the margin is {margin}, it must be 0 or more")
    vertices = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
    triangles = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    if len(vertices) == 0:
        raise ValueError("there are no vertices")
    if not np.isfinite(vertices).all():
        raise ValueError("the vertices are not finite")
    # All differences are taken near the points themselves: far from the origin the cubic terms would cancel catastrophically.
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
            what = "lie on one line" if dimension == 1 else "are all in one place"
            raise ValueError(f"the vertices {what} and there is no margin around them, so there is no inertia")
        moments = capsule_moments(points, axes[0], margin)
    if density is not None:
        if not moments.volume > 0.0:
            raise ValueError("the vertices lie in one plane and there is no margin around them, so a density gives no mass")
        mass = density * moments.volume
    assert mass is not None
    # The ideal lamina has no volume; its second moment is per unit of mass.
    second = moments.second * (mass / moments.volume if moments.volume > 0.0 else mass)
    inertia = np.trace(second) * np.eye(3) - second
    return MassProperties(float(mass), moments.volume, moments.centre + shift, inertia, mesh is not None)


def principal_extents(points: Array) -> tuple[Array, Array]:
    """Axes (3, 3), one a row, longest first, and the width (3,) of the points along each."""
    # validation asks for masses before there is a compiler
    from ..linalg.mat3 import principal_axes_of_points

    axes = principal_axes_of_points(points - points.mean(axis=0))
    along = product(points, axes.T)
    extents = np.ptp(along, axis=0)
    order = np.argsort(-extents, kind="stable")
    return axes[order], extents[order]


def mesh_moments(points: Array, triangles: NDArray[np.int64]) -> Moments | None:
    """Moments of the solid that the mesh bounds; None when it bounds none."""
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
    """Whether every edge belongs to exactly two triangles that run along it in opposite directions."""
    if len(triangles) == 0:
        return False
    start = triangles.ravel()
    end = np.roll(triangles, -1, axis=1).ravel()
    forward = np.sort(start * vertex_count + end)
    backward = np.sort(end * vertex_count + start)
    return bool((np.diff(forward) > 0).all() and np.array_equal(forward, backward))


def has_inverted_part(points: Array, triangles: NDArray[np.int64], signed: Array) -> bool:
    """Whether some connected part of negative volume is not inside one of positive volume, as a cavity would be."""
    if (signed >= 0.0).all():
        return False  # as of every convex mesh, and looking for the parts takes most of the time
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
    """Sum over the tetrahedra (0, a, b, c), each (t, 3); signed: (t,) six times their volumes, not zero in the sum."""
    s = a + b + c
    volume = float(signed.sum()) / 6.0
    centre = sum_of_rows(signed[:, None] * s) / (24.0 * volume)
    second = sum((_moment(signed, x) for x in (a, b, c, s)), start=np.zeros((3, 3))) / 120.0
    return Moments(volume, centre, second - volume * np.outer(centre, centre))


def _moment(weight: Array, x: Array) -> Array:
    """(k, k) the sum of w x x^T; weight: (n,), x: (n, k)."""
    return sum_of_rows(weight[:, None, None] * x[:, :, None] * x[:, None, :])


def hull_moments(points: Array, axes: Array, extents: Array) -> Moments:
    """Moments of the convex hull of points (n, 3) that are not coplanar."""
    # A hull has the same faces after any affine map. Scaled to equal extents, even a thin sheet is a round task for Qhull.
    hull = ConvexHull(product(points, axes.T) / extents)
    inside = points[hull.vertices].mean(axis=0)
    a, b, c = (points[hull.simplices[:, corner]] - inside for corner in range(3))
    moments = tetrahedra_moments(a, b, c, np.abs(dots(a, np.cross(b, c))))
    return Moments(moments.volume, moments.centre + inside, moments.second)


def lamina_moments(points: Array, axes: Array, margin: float) -> Moments:
    """Moments of the convex polygon of coplanar points, made 2 margin thick; of unit mass when the margin is 0."""
    plane = product(points, axes[:2].T)
    extents = np.ptp(plane, axis=0)
    polygon = plane[ConvexHull(plane / extents).vertices]
    inside = polygon.mean(axis=0)
    a = polygon - inside
    b = np.roll(a, -1, axis=0)
    # The same integrals over triangles (0, a, b): A, A (a + b) / 3 and A (a a^T + b b^T + s s^T) / 12 with s = a + b.
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
    """Moments of all that is within `radius` of the segment that collinear points span along the unit vector `axis`."""
    along = product(points, axis)
    length = float(np.ptp(along))
    middle = points.mean(axis=0) + axis * ((along.min() + along.max()) / 2.0 - along.mean())
    square = radius * radius
    cylinder = np.pi * square * length
    ball = 4.0 / 3.0 * np.pi * square * radius
    # Across: a disk has r^2/4 and a ball r^2/5 of its volume. Along: the two halves of the ball sit at the ends, each with its
    # centre 3 r / 8 beyond them: r^2/5 + 2 (3 r / 8)(L/2) + (L/2)^2.
    across = cylinder * square / 4.0 + ball * square / 5.0
    lengthwise = cylinder * length * length / 12.0 + ball * (square / 5.0 + 3.0 * radius * length / 8.0 + length * length / 4.0)
    second = across * np.eye(3) + (lengthwise - across) * np.outer(axis, axis)
    return Moments(cylinder + ball, middle, second)
