# SPDX-License-Identifier: GPL-3.0-or-later
"""The axis of least penetration of a cylinder or cone and another convex shape that overlap.

The Minkowski difference, all q - p for points q of the other shape and p of the round one, contains the origin, and the nearest
point of its boundary is the shortest translation that separates the shapes. A polytope inside it expands toward that point: the
face nearest to the origin is replaced by faces to the support point along its normal, until that point is no farther than the
face (the expanding polytope algorithm; van den Bergen 2001). The distance of a face is a lower bound of the depth, and the
support along its normal an upper bound. The result is approximate; `contact_axis` makes it exact.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.vec3 import X, Z, advanced, cross, divided, dot, negative, norm, scaled, set_vec, sub, vec
from .other import support_of_other
from .solid import perpendicular_unit, support
from .work import MAX_POLYTOPE_POINTS

__all__ = ["penetration_axis"]

# Relative to the size of the Minkowski difference: the bounds are equal up to this.
DEPTH_TOLERANCE = 3e-9
# Relative to the same size: a point outside a face by no more is in its plane.
COPLANAR = 1e-13
# Angle [rad] by which a direction is perturbed, to choose one of several support points.
PERTURBATION = 1e-10
PERTURBATION_AXIS = (0.53, 0.29, 0.79)
# Indices of the corners and of the faces of the first tetrahedron.
FIRST, SECOND, THIRD, FOURTH = map(np.int64, range(4))


@leaf_kernel
def minkowski_support(r, other, direction):
    """Return the support point of the Minkowski difference, other shape minus round shape, along a direction [m]."""
    return sub(support_of_other(other, direction), support(r, negative(direction)))


@leaf_kernel
def perturbed_support(r, other, direction):
    """Return the support point along a slightly rotated direction, which is always an extreme point.

    On a cap, a face or an edge perpendicular to the direction, it is the same point each time. So no three such points are
    collinear.
    """
    return minkowski_support(r, other, advanced(direction, PERTURBATION, PERTURBATION_AXIS))


@leaf_kernel
def set_face(work, face, i, j, k):
    """Write a face with counterclockwise corners i, j, k and its outward plane. Returns False if the corners are collinear."""
    p = vec(work.points, i)
    normal = cross(sub(vec(work.points, j), p), sub(vec(work.points, k), p))
    length = norm(normal)
    if not length > 0.0:
        return False
    normal = divided(normal, length)
    work.faces[face, 0], work.faces[face, 1], work.faces[face, 2] = i, j, k
    set_vec(work.planes, face, normal)
    work.planes[face, 3] = dot(normal, p)
    return True


@kernel_part
def first_tetrahedron(r, other, work):
    """Write four points of the Minkowski difference and their faces. Returns False if the difference is too flat."""
    points = work.points
    set_vec(points, FIRST, perturbed_support(r, other, X))
    set_vec(points, SECOND, perturbed_support(r, other, negative(X)))
    start = vec(points, FIRST)
    edge = sub(vec(points, SECOND), start)
    length = norm(edge)
    if length == 0.0:
        return False
    beside = perpendicular_unit(divided(edge, length))
    best = 0.0
    for sign in (1.0, -1.0):
        point = perturbed_support(r, other, scaled(sign, beside))
        height = sign * dot(beside, sub(point, start))
        if height > best:
            best = height
            set_vec(points, THIRD, point)
    if best == 0.0 or not set_face(work, FIRST, FIRST, SECOND, THIRD):
        return False
    normal, offset = vec(work.planes, FIRST), work.planes[0, 3]
    best = 0.0
    outward = True
    for sign in (1.0, -1.0):
        point = perturbed_support(r, other, scaled(sign, normal))
        height = sign * (dot(normal, point) - offset)
        if height > best:
            best = height
            outward = sign < 0.0
            set_vec(points, FOURTH, point)
    if best == 0.0:
        return False
    i, j = (FIRST, SECOND) if outward else (SECOND, FIRST)
    return (
        set_face(work, FIRST, i, j, THIRD)
        and set_face(work, SECOND, j, i, FOURTH)
        and set_face(work, THIRD, THIRD, j, FOURTH)
        and set_face(work, FOURTH, i, THIRD, FOURTH)
    )


@kernel_part
def remove_visible_faces(work, count, point, tolerance):
    """Remove the faces visible from a point and write the edges of their horizon.

    Returns the number of faces left, of removed faces, and of edges.
    """
    faces, planes, horizon = work.faces, work.planes, work.horizon
    edges = 0
    removed = 0
    face = 0
    while face < count:
        if dot(vec(planes, face), point) <= planes[face, 3] + tolerance:
            face += 1
            continue
        for side in range(3):
            i = faces[face, side]
            j = faces[face, (side + 1) % 3]
            shared = -1
            for row in range(edges):
                if horizon[row, 0] == j and horizon[row, 1] == i:
                    shared = row
                    break
            if shared >= 0:
                edges -= 1
                horizon[shared, 0], horizon[shared, 1] = horizon[edges, 0], horizon[edges, 1]
            else:
                horizon[edges, 0], horizon[edges, 1] = i, j
                edges += 1
        removed += 1
        count -= 1
        for k in range(3):
            faces[face, k] = faces[count, k]
        for k in range(4):
            planes[face, k] = planes[count, k]
    return count, removed, edges


@leaf_kernel
def penetration_axis(r, other, work):
    """Find the approximate axis of least penetration.

    Returns the depth along it [m] and the unit normal from the round shape to the other one. A negative depth is a distance:
    the axis separates the shapes.
    """
    best, normal = np.inf, Z
    if not first_tetrahedron(r, other, work):
        return 0.0, normal
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
        outward, offset = vec(planes, nearest), planes[nearest, 3]
        height = dot(outward, minkowski_support(r, other, outward))
        if height < best:
            best, normal = height, negative(outward)
        if best < 0.0 or height - offset <= DEPTH_TOLERANCE * size or best <= offset + DEPTH_TOLERANCE * size:
            break
        point = perturbed_support(r, other, outward)
        if dot(outward, point) - offset <= DEPTH_TOLERANCE * size:
            break
        set_vec(points, used, point)
        used += 1
        count, removed, edges = remove_visible_faces(work, count, point, COPLANAR * size)
        # The visible faces form a disk. If rounding breaks it, the search ends with the best axis so far.
        if edges < 3 or edges > removed + 2:
            break
        is_closed = True
        for row in range(edges):
            is_closed = is_closed and set_face(work, count, work.horizon[row, 0], work.horizon[row, 1], used - 1)
            count += 1
        if not is_closed:
            break
    return best, normal
