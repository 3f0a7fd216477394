# SPDX-License-Identifier: GPL-3.0-or-later
"""The axis along which a cylinder or cone and another convex body touch: closest points apart, least penetration in overlap.

An axis of overlap is made exact by the closest points of bodies apart. Moved apart along it by a little more than the depth,
the bodies are closest along an axis on which their depth is no greater, for the normal n' between the closest points has

    depth(n') = move n . n' - distance <= move - (move - depth(n)) = depth(n).

Repeated, this ends at the axis of least penetration nearby. The angle to that shrinks each time by (depth + gap) / (rho + gap),
rho being the radius of curvature there, which is more than the depth; at a face it ends in one step.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import leaf_kernel
from .closest_hull import APART, OUT_OF_REACH, OVERLAPPING, closest_to_hull, separation_of_hull
from .closest_revolution import closest_to_round, separation_of_round
from .expanding_polytope import least_penetration
from .solid import Round

__all__ = ["contact_axis"]

# Of the size of the round body: the gap to which overlapping bodies are moved apart, and that below which the direction
# between closest points is lost to rounding.
GAP = 1e-3
CLOSE = 1e-5
MAX_AXIS_STEPS = 200


@leaf_kernel
def shifted(r, x, y, z):
    return Round(r.is_cone, r.radius, r.height, r.x + x, r.y + y, r.z + z, r.u, r.v, r.w, r.e, r.f, r.g)


@leaf_kernel
def closest(r, hull, o, is_hull, limit, noise):
    if is_hull:
        return closest_to_hull(r, hull, limit, noise)
    state, distance, nx, ny, nz, x, y, z = closest_to_round(r, o, limit, noise)
    return state, distance, nx, ny, nz, x, y, z, -1, -1, -1


@leaf_kernel
def separation(r, hull, o, is_hull, x, y, z):
    if is_hull:
        return separation_of_hull(r, hull, x, y, z)
    return separation_of_round(r, o, x, y, z)


@leaf_kernel
def contact_axis(r, hull, o, is_hull, limit, noise, work):
    """(touches, distance or minus the depth, unit normal (3) from r to the other body, point (3) of that, three vertices).

    The other body is `hull` if is_hull and else `o`; the one that it is not can be anything of that type. The point is where
    the bodies touch when they are moved along the normal until they only do; it lies in the hull of the vertices, -1 where
    fewer do or the body is no hull. touches is False when the distance exceeds the limit. noise: m, up to this distance the
    bodies count as touching. work: `round_work()`.
    """
    state, distance, nx, ny, nz, x, y, z, i, j, k = closest(r, hull, o, is_hull, limit, noise)
    size = r.radius + r.height
    if state == OUT_OF_REACH:
        return False, distance, nx, ny, nz, x, y, z, i, j, k
    if state == OVERLAPPING:
        depth, nx, ny, nz = least_penetration(r, hull, o, is_hull, work)
        distance = -depth
    elif distance > CLOSE * size:
        return True, distance, nx, ny, nz, x, y, z, i, j, k
    for _ in range(MAX_AXIS_STEPS):
        move = GAP * size - distance
        aside = shifted(r, -move * nx, -move * ny, -move * nz)
        state, _, ox, oy, oz, px, py, pz, first, second, third = closest(aside, hull, o, is_hull, np.inf, noise)
        along = separation(r, hull, o, is_hull, ox, oy, oz)
        if state != APART or along < distance - 1e-13 * size:
            break
        better = along > distance + 1e-15 * size
        dx, dy, dz = ox - nx, oy - ny, oz - nz
        distance, nx, ny, nz, x, y, z, i, j, k = along, ox, oy, oz, px, py, pz, first, second, third
        if not better:
            break
        # Where the radius of curvature is little more than the depth, steps are short: a step is doubled as long as it pays.
        for _ in range(MAX_AXIS_STEPS):
            ox, oy, oz = nx + dx, ny + dy, nz + dz
            length = np.sqrt(ox * ox + oy * oy + oz * oz)
            ox, oy, oz = ox / length, oy / length, oz / length
            along = separation(r, hull, o, is_hull, ox, oy, oz)
            if along <= distance + 1e-15 * size:
                break
            distance, nx, ny, nz = along, ox, oy, oz
            dx, dy, dz = 2.0 * dx, 2.0 * dy, 2.0 * dz
    return distance <= limit, distance, nx, ny, nz, x, y, z, i, j, k
