# SPDX-License-Identifier: GPL-3.0-or-later
"""The axis of least penetration of a cylinder or cone and another convex body that overlap.

The difference of the bodies, all q - p of points q of the other and p of the round one, holds the origin, and the nearest point
of its boundary tells how to part them. A polytope inside grows towards it: its face nearest to the origin is pushed out to the
difference's own boundary, until that is no farther (the expanding polytope of van den Bergen, 2001). A face's distance bounds
the depth from below and the support along its normal bounds it from above. What is found is close to the axis; `contact_axis`
makes it exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import leaf_kernel
from ..polyhedra.separation import lowest_vertex
from .solid import across, support

__all__ = ["RoundWork", "least_penetration", "round_work"]

MAX_POLYTOPE_POINTS = 160
# Of the size of the difference: the bounds have met.
DEPTH_KNOWN = 3e-9
# A point this little outside of a face lies in it.
COPLANAR = 1e-13
# The turn in rad that decides between points equally far out.
ASIDE = 1e-10


class RoundWork(NamedTuple):
    """Work arrays for pairs with a round body."""

    points: NDArray[np.float64]
    faces: NDArray[np.int64]
    planes: NDArray[np.float64]
    rim: NDArray[np.int64]
    spots: NDArray[np.float64]
    spot_ids: NDArray[np.int64]


def round_work() -> RoundWork:
    return RoundWork(
        np.empty((MAX_POLYTOPE_POINTS, 3)),
        np.empty((2 * MAX_POLYTOPE_POINTS, 3), dtype=np.int64),
        np.empty((2 * MAX_POLYTOPE_POINTS, 4)),
        np.empty((6 * MAX_POLYTOPE_POINTS, 2), dtype=np.int64),
        np.empty((16, 3)),
        np.empty(16, dtype=np.int64),
    )


@leaf_kernel
def outermost(r, hull, o, is_hull, x, y, z):
    """The point farthest along (x, y, z) of the difference of the other body, `hull` or else `o`, and the round one."""
    if is_hull:
        vertex, _ = lowest_vertex(hull.vertices, -x, -y, -z)
        qx, qy, qz = hull.vertices[vertex, 0], hull.vertices[vertex, 1], hull.vertices[vertex, 2]
    else:
        qx, qy, qz = support(o, x, y, z)
    px, py, pz = support(r, -x, -y, -z)
    return qx - px, qy - py, qz - pz


@leaf_kernel
def corner(r, hull, o, is_hull, x, y, z):
    """As `outermost`, but always a point that no two others have between them: the direction is turned a little.

    Of a cap, a face or an edge that lies across the direction it takes the same end each time, so that no three points are
    in a line.
    """
    return outermost(r, hull, o, is_hull, x + 0.53 * ASIDE, y + 0.29 * ASIDE, z + 0.79 * ASIDE)


@leaf_kernel
def set_face(work, face, i, j, k):
    """Writes a face and its outward plane for corners counter-clockwise; False when they span none."""
    points = work.points
    ex, ey, ez = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
    fx, fy, fz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
    x, y, z = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    length = np.sqrt(x * x + y * y + z * z)
    if not length > 0.0:
        return False
    x, y, z = x / length, y / length, z / length
    work.faces[face, 0], work.faces[face, 1], work.faces[face, 2] = i, j, k
    work.planes[face, 0], work.planes[face, 1], work.planes[face, 2] = x, y, z
    work.planes[face, 3] = x * points[i, 0] + y * points[i, 1] + z * points[i, 2]
    return True


@leaf_kernel
def first_tetrahedron(r, hull, o, is_hull, work):
    """Four points of the difference that span space, with their faces; False when it is too flat for that."""
    points = work.points
    for row in range(2):
        x, y, z = corner(r, hull, o, is_hull, 1.0 - 2.0 * row, 0.0, 0.0)
        points[row, 0], points[row, 1], points[row, 2] = x, y, z
    ex, ey, ez = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    length = np.sqrt(ex * ex + ey * ey + ez * ez)
    if length == 0.0:
        return False
    px, py, pz = across(ex / length, ey / length, ez / length)
    best = 0.0
    for sign in (1.0, -1.0):
        x, y, z = corner(r, hull, o, is_hull, sign * px, sign * py, sign * pz)
        height = sign * (px * (x - points[0, 0]) + py * (y - points[0, 1]) + pz * (z - points[0, 2]))
        if height > best:
            best = height
            points[2, 0], points[2, 1], points[2, 2] = x, y, z
    if best == 0.0 or not set_face(work, 0, 0, 1, 2):
        return False
    nx, ny, nz, offset = work.planes[0, 0], work.planes[0, 1], work.planes[0, 2], work.planes[0, 3]
    best = 0.0
    outward = True
    for sign in (1.0, -1.0):
        x, y, z = corner(r, hull, o, is_hull, sign * nx, sign * ny, sign * nz)
        height = sign * (nx * x + ny * y + nz * z - offset)
        if height > best:
            best = height
            outward = sign < 0.0
            points[3, 0], points[3, 1], points[3, 2] = x, y, z
    if best == 0.0:
        return False
    i, j = (0, 1) if outward else (1, 0)
    return (
        set_face(work, 0, i, j, 2) and set_face(work, 1, j, i, 3) and set_face(work, 2, 2, j, 3) and set_face(work, 3, i, 2, 3)
    )


@leaf_kernel
def take_visible(work, count, x, y, z, tolerance):
    """Takes out the faces that see a point and collects their border: (faces left, removed, edges)."""
    faces, planes, rim = work.faces, work.planes, work.rim
    edges = 0
    removed = 0
    face = 0
    while face < count:
        if planes[face, 0] * x + planes[face, 1] * y + planes[face, 2] * z <= planes[face, 3] + tolerance:
            face += 1
            continue
        for side in range(3):
            i = faces[face, side]
            j = faces[face, (side + 1) % 3]
            shared = -1
            for row in range(edges):
                if rim[row, 0] == j and rim[row, 1] == i:
                    shared = row
                    break
            if shared >= 0:
                edges -= 1
                rim[shared, 0], rim[shared, 1] = rim[edges, 0], rim[edges, 1]
            else:
                rim[edges, 0], rim[edges, 1] = i, j
                edges += 1
        removed += 1
        count -= 1
        for k in range(3):
            faces[face, k] = faces[count, k]
        for k in range(4):
            planes[face, k] = planes[count, k]
    return count, removed, edges


@leaf_kernel
def least_penetration(r, hull, o, is_hull, work):
    """The depth along about the axis of least penetration: (depth, unit normal from the round body to the other).

    The other body is `hull` if is_hull and else `o`; the one that it is not can be anything of that type. A negative depth is a
    distance: the axis separates the bodies after all.
    """
    best, bx, by, bz = np.inf, 0.0, 0.0, 1.0
    if not first_tetrahedron(r, hull, o, is_hull, work):
        return 0.0, bx, by, bz
    points, planes = work.points, work.planes
    size = 0.0
    for row in range(4):
        for k in range(3):
            size = max(size, abs(points[row, k]))
    count = 4
    used = 4
    while used < MAX_POLYTOPE_POINTS:
        nearest = 0
        for face in range(1, count):
            if planes[face, 3] < planes[nearest, 3]:
                nearest = face
        x, y, z, offset = planes[nearest, 0], planes[nearest, 1], planes[nearest, 2], planes[nearest, 3]
        wx, wy, wz = outermost(r, hull, o, is_hull, x, y, z)
        height = x * wx + y * wy + z * wz
        if height < best:
            best, bx, by, bz = height, -x, -y, -z
        if best < 0.0 or height - offset <= DEPTH_KNOWN * size or best <= offset + DEPTH_KNOWN * size:
            break
        wx, wy, wz = corner(r, hull, o, is_hull, x, y, z)
        if x * wx + y * wy + z * wz - offset <= DEPTH_KNOWN * size:
            break
        points[used, 0], points[used, 1], points[used, 2] = wx, wy, wz
        used += 1
        count, removed, edges = take_visible(work, count, wx, wy, wz, COPLANAR * size)
        # The faces that see a point make a disk. Where rounding tore it, the axis is as good as it gets here.
        if edges < 3 or edges > removed + 2:
            break
        whole = True
        for row in range(edges):
            whole = whole and set_face(work, count, work.rim[row, 0], work.rim[row, 1], used - 1)
            count += 1
        if not whole:
            break
    return best, bx, by, bz
