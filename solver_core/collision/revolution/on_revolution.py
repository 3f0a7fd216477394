# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two cylinders or cones.

Points of one body's rim, or its apex, over a cap of the other; crossings of two rims, or of a rim with the line of a side; and
the ends of the overlap of two sides.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import FALSE, TRUE, leaf_kernel
from ..manifold import NONE_FOUND
from .candidates import CLOSEST, CROSSING, END, NEAR, ON_FACE, PARALLEL_TO_SIDE, SIDE_INNER, put, put_closest, spots
from .closest_revolution import generator
from .contact_axis import contact_axis
from .solid import SIDE, side_normal, signed_distance

__all__ = ["round_round_contacts"]


@leaf_kernel
def spots_on_cap(r, o, r_is_a, nx, ny, nz, limit, merge, manifold, count, work):
    """Adds the points of body o that lie over the cap of r that faces it, seen along the normal from r to o: the count."""
    along = nx * r.u + ny * r.v + nz * r.w
    if abs(along) <= NEAR or (r.is_cone and along > 0.0):
        return count
    sign, lift = (1.0, r.height) if along > 0.0 else (-1.0, 0.0)
    mx, my, mz = r.x + lift * r.u, r.y + lift * r.v, r.z + lift * r.w
    cosine = sign * along
    for spot in range(spots(o, -nx, -ny, -nz, work)):
        qx, qy, qz = work.spots[spot, 0] - mx, work.spots[spot, 1] - my, work.spots[spot, 2] - mz
        gap = sign * (r.u * qx + r.v * qy + r.w * qz) / cosine
        px, py, pz = qx - gap * nx, qy - gap * ny, qz - gap * nz
        if gap <= limit and px * px + py * py + pz * pz <= r.radius * r.radius * (1.0 + 1e-9):
            spot_id = int(work.spot_ids[spot])
            count = put(
                manifold, count, limit, merge, px + mx, py + my, pz + mz, nx, ny, nz, gap, r_is_a, ON_FACE + 32, spot_id
            )
    return count


@leaf_kernel
def line_on_cap(r, o, r_is_a, nx, ny, nz, limit, merge, manifold, count):
    """Adds where the line of o's side that lies lowest crosses the rim of the cap of r under it: the count."""
    along = nx * r.u + ny * r.v + nz * r.w
    of_side = -(nx * o.u + ny * o.v + nz * o.w)
    radial, rise = side_normal(o)
    if abs(along) <= NEAR or (r.is_cone and along > 0.0):
        return count
    if radial * np.sqrt(max(1.0 - of_side * of_side, 0.0)) + rise * of_side <= NEAR:
        return count
    sign, lift = (1.0, r.height) if along > 0.0 else (-1.0, 0.0)
    mx, my, mz = r.x + lift * r.u, r.y + lift * r.v, r.z + lift * r.w
    cosine = sign * along
    ax, ay, az, bx, by, bz = generator(o, -nx, -ny, -nz)
    ax, ay, az, bx, by, bz = ax - mx, ay - my, az - mz, bx - mx, by - my, bz - mz
    gap_a = sign * (r.u * ax + r.v * ay + r.w * az) / cosine
    gap_b = sign * (r.u * bx + r.v * by + r.w * bz) / cosine
    ax, ay, az = ax - gap_a * nx, ay - gap_a * ny, az - gap_a * nz
    dx, dy, dz = bx - gap_b * nx - ax, by - gap_b * ny - ay, bz - gap_b * nz - az
    dd = dx * dx + dy * dy + dz * dz
    ad = ax * dx + ay * dy + az * dz
    root = ad * ad - dd * (ax * ax + ay * ay + az * az - r.radius * r.radius)
    if not root > 0.0:
        return count
    for which in range(2):
        t = (-ad + (2.0 * which - 1.0) * np.sqrt(root)) / dd
        if 0.0 < t < 1.0:
            gap = gap_a + t * (gap_b - gap_a)
            px, py, pz = mx + ax + t * dx, my + ay + t * dy, mz + az + t * dz
            count = put(manifold, count, limit, merge, px, py, pz, nx, ny, nz, gap, r_is_a, CROSSING + which, SIDE_INNER)
    return count


@leaf_kernel
def rims_crossing(a, b, nx, ny, nz, limit, merge, manifold, count):
    """Adds where the rims of two caps that face each other cross, seen along the normal: the count."""
    along_a = nx * a.u + ny * a.v + nz * a.w
    along_b = -(nx * b.u + ny * b.v + nz * b.w)
    if abs(along_a) <= NEAR or abs(along_b) <= NEAR or (a.is_cone and along_a > 0.0) or (b.is_cone and along_b > 0.0):
        return count
    sign, lift = (1.0, a.height) if along_a > 0.0 else (-1.0, 0.0)
    mx, my, mz = a.x + lift * a.u, a.y + lift * a.v, a.z + lift * a.w
    ux, uy, uz = sign * a.u, sign * a.v, sign * a.w
    lift_b = b.height if along_b > 0.0 else 0.0
    cx, cy, cz = b.x + lift_b * b.u - mx, b.y + lift_b * b.v - my, b.z + lift_b * b.w - mz
    down = (ux * cx + uy * cy + uz * cz) / (sign * along_a)
    dx, dy, dz = cx - down * nx, cy - down * ny, cz - down * nz
    apart2 = dx * dx + dy * dy + dz * dz
    apart = np.sqrt(apart2)
    if apart >= a.radius + b.radius or apart <= abs(a.radius - b.radius):
        return count
    middle = 0.5 * (apart2 + a.radius * a.radius - b.radius * b.radius) / apart
    half = np.sqrt(max(a.radius * a.radius - middle * middle, 0.0))
    dx, dy, dz = dx / apart, dy / apart, dz / apart
    ex, ey, ez = uy * dz - uz * dy, uz * dx - ux * dz, ux * dy - uy * dx
    bottom = nx * b.u + ny * b.v + nz * b.w
    for which in range(2):
        k = half if which == 0 else -half
        px, py, pz = middle * dx + k * ex, middle * dy + k * ey, middle * dz + k * ez
        gap = (b.u * (cx - px) + b.v * (cy - py) + b.w * (cz - pz)) / bottom
        count = put(manifold, count, limit, merge, px + mx, py + my, pz + mz, nx, ny, nz, gap, TRUE, CROSSING + which, CROSSING)
    return count


@leaf_kernel
def ends_along_side(r, o, r_is_a, nx, ny, nz, limit, merge, manifold, count):
    """Adds the ends of the line of o's side over the side of r, each with its own closest direction: the count."""
    along = nx * r.u + ny * r.v + nz * r.w
    of_side = -(nx * o.u + ny * o.v + nz * o.w)
    radial, rise = side_normal(r)
    other_radial, other_rise = side_normal(o)
    if radial * np.sqrt(max(1.0 - along * along, 0.0)) + rise * along <= NEAR:
        return count
    if other_radial * np.sqrt(max(1.0 - of_side * of_side, 0.0)) + other_rise * of_side <= NEAR:
        return count
    gx, gy, gz, hx, hy, hz = generator(r, nx, ny, nz)
    hx, hy, hz = hx - gx, hy - gy, hz - gz
    px, py, pz, qx, qy, qz = generator(o, -nx, -ny, -nz)
    ex, ey, ez = qx - px, qy - py, qz - pz
    product = (hx * hx + hy * hy + hz * hz) * (ex * ex + ey * ey + ez * ez)
    dot = hx * ex + hy * ey + hz * ez
    if product - dot * dot > PARALLEL_TO_SIDE * PARALLEL_TO_SIDE * product:
        return count
    for end in range(2):
        x, y, z = (px, py, pz) if end == 0 else (qx, qy, qz)
        gap, kx, ky, kz, part = signed_distance(r, x, y, z)
        s = ((x - gx) * hx + (y - gy) * hy + (z - gz) * hz) / (hx * hx + hy * hy + hz * hz)
        if part != SIDE or gap > limit or kx * nx + ky * ny + kz * nz < 0.9 or s < -1e-9 or s > 1.0 + 1e-9:
            continue
        x, y, z = x - gap * kx, y - gap * ky, z - gap * kz
        count = put(manifold, count, limit, merge, x, y, z, kx, ky, kz, gap, r_is_a, SIDE + 32, END + end)
    return count


@leaf_kernel
def round_round_contacts(a, b, hull, limit, merge, noise, manifold, work):
    """Contacts of two round bodies in one frame, with gaps up to the limit: the count. hull: any polyhedron, not looked at."""
    touches, distance, nx, ny, nz, qx, qy, qz, _, _, _ = contact_axis(a, hull, b, FALSE, limit, noise, work)
    if not touches:
        return 0
    count = spots_on_cap(a, b, TRUE, nx, ny, nz, limit, merge, manifold, NONE_FOUND, work)
    count = spots_on_cap(b, a, FALSE, -nx, -ny, -nz, limit, merge, manifold, count, work)
    count = rims_crossing(a, b, nx, ny, nz, limit, merge, manifold, count)
    count = line_on_cap(a, b, TRUE, nx, ny, nz, limit, merge, manifold, count)
    count = line_on_cap(b, a, FALSE, -nx, -ny, -nz, limit, merge, manifold, count)
    count = ends_along_side(a, b, TRUE, nx, ny, nz, limit, merge, manifold, count)
    count = ends_along_side(b, a, FALSE, -nx, -ny, -nz, limit, merge, manifold, count)
    return put_closest(manifold, count, limit, merge, qx, qy, qz, nx, ny, nz, distance, TRUE, CLOSEST)
