# SPDX-License-Identifier: GPL-3.0-or-later
"""The effects of force fields on bodies at an instant: a force, a drag and a magnetic field for each body.

The laws are those of Blender for rigid bodies, with units, falloffs and special cases as measured there
(docs/design/reading.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.mesh.queries import triangle_corners
from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...linalg.elementary import arccosine, power
from ...linalg.vec3 import add, advanced, cross, dot, norm, scaled, sub, vec
from .nearest import is_in_the_way, nearest_triangle
from .noise import drawn, turbulence

__all__ = ["Effects", "FieldTable", "accumulate"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FORCE, WIND, VORTEX, MAGNETIC, HARMONIC, TURBULENCE, DRAG, GUIDE = range(8)
FROM_POINT, FROM_LINE, FROM_PLANE, FROM_SURFACE, FROM_POINTS = range(5)
SPHERE, TUBE = range(2)
POSITIVE, NEGATIVE = 1, 2

# Columns of `FieldTable.values`.
STRENGTH, DAMPING, SIZE, FLOWING, NOISE, WEIGHT = range(6)
POWER, MIN_DISTANCE, MAX_DISTANCE, RADIAL_POWER, RADIAL_MIN, RADIAL_MAX = range(6, 12)

STRONGEST_DRAG = 2.0  # upper limit of the strength and of the damping of drag


class FieldTable(NamedTuple):
    """The f fields at a frame, as arrays for kernels.

    kind, shape, falloff, side: (f,). inverse_square, in_world, absorbed: (f,) flags. rate: (f,) 1/s. values: (f, 12). state:
    (f,) of the generators of noise. position, axis: (f, 3). vertices, normals: (n, 3), triangles: (t, 3), boxes: (t, 6) of all
    meshes; those of field i are first_vertex[i] to first_vertex[i + 1], and so on. permutation: (f, 256). own: (f,) the
    absorber that is the field's own object, or -1; absorption: (a,); absorbing: (b, 6) boxes of all absorbers, first_box:
    (a + 1,).
    """

    kind: Ints
    shape: Ints
    falloff: Ints
    side: Ints
    inverse_square: NDArray[np.bool_]
    in_world: NDArray[np.bool_]
    absorbed: NDArray[np.bool_]
    rate: Floats
    values: Floats
    state: Ints
    position: Floats
    axis: Floats
    vertices: Floats
    normals: Floats
    triangles: Ints
    boxes: Floats
    first_vertex: Ints
    first_triangle: Ints
    permutation: Ints
    own: Ints
    absorption: Floats
    absorbing: Floats
    first_box: Ints


class Effects(NamedTuple):
    """The effects on n bodies: m dv/dt = force + v x magnetic - drag v; (n, 3) N, (n, 3) N s/m, (n,) N s/m."""

    force: Floats
    magnetic: Floats
    drag: Floats


class Seen(NamedTuple):
    """A body relative to a field.

    place: m, world position of the body. velocity: m/s. from_origin: m, its position relative to the object of the field. way:
    m, its position relative to the point of action of the field. distance: m, the length of `way`. normal: direction of the
    field at the point of action.
    """

    place: tuple[float, float, float]
    velocity: tuple[float, float, float]
    from_origin: tuple[float, float, float]
    way: tuple[float, float, float]
    distance: float
    normal: tuple[float, float, float]


@leaf_kernel
def _unit(v):
    """Return v scaled to length 1, or zero for zero."""
    length = norm(v)
    return scaled(1.0 / length, v) if length > 0.0 else v


@leaf_kernel
def _share(distance, near, far, exponent):
    """Return the fraction of a strength at a distance."""
    if distance > far:
        return 0.0
    return 1.0 if distance < near else power(1.0 + distance - near, -exponent)


@kernel_part
def _fall_off(table, f, normal, from_origin, distance):
    """Return the fraction of a field's strength at a point.

    from_origin: the point, from the field's object. distance: m, from the point of action. normal: the field's direction there.
    """
    values = table.values[f]
    along = dot(normal, from_origin)
    if (table.side[f] == POSITIVE and along < 0.0) or (table.side[f] == NEGATIVE and along > 0.0):
        return 0.0
    if table.falloff[f] == SPHERE:
        return values[WEIGHT] * _share(distance, values[MIN_DISTANCE], values[MAX_DISTANCE], values[POWER])
    if table.falloff[f] == TUBE:
        radial = norm(advanced(from_origin, -along, normal))
    else:
        length = norm(from_origin)
        radial = np.degrees(arccosine(min(max(along / length, -1.0), 1.0))) if length > 0.0 else 0.0
    share = _share(abs(along), values[MIN_DISTANCE], values[MAX_DISTANCE], values[POWER])
    return values[WEIGHT] * share * _share(radial, values[RADIAL_MIN], values[RADIAL_MAX], values[RADIAL_POWER])


@kernel_part
def _visible(table, f, place, way):
    """Return the fraction of a field that absorbers let pass between a body and the field's point of action."""
    visible = 1.0
    if table.absorbed[f]:
        for a in range(table.absorption.size):
            begin, end = table.first_box[a], table.first_box[a + 1]
            if a != table.own[f] and is_in_the_way(table.absorbing, begin, end, place, way):
                visible *= min(max(1.0 - table.absorption[a], 0.0), 1.0)
    return visible


@kernel_part
def _source(table, f, v, place, velocity):
    """Return the point from which field f acts on a body, and its direction there. v: the index of the point."""
    origin, axis = vec(table.position, f), vec(table.axis, f)
    shape = table.shape[f]
    if shape == FROM_POINTS:
        return vec(table.vertices, v), vec(table.normals, v)
    if shape == FROM_SURFACE:
        ahead = add(place, velocity)
        begin, end = table.first_triangle[f], table.first_triangle[f + 1]
        t, nearest = nearest_triangle(table.vertices, table.triangles, table.boxes, begin, end, ahead[0], ahead[1], ahead[2])
        if t >= 0:
            p, q, r = triangle_corners(table.vertices, table.triangles[t])
            return nearest, _unit(cross(sub(q, p), sub(r, p)))
    if shape == FROM_LINE or (shape == FROM_PLANE and table.kind[f] == VORTEX):
        return advanced(origin, dot(axis, sub(place, origin)), axis), axis
    if shape == FROM_PLANE:
        return advanced(place, -dot(axis, sub(place, origin)), axis), axis
    return origin, axis


@kernel_part
def _push(table, f, strength, seen):
    """Return the force in N of field f. strength: including the falloff."""
    kind, normal, axis = table.kind[f], seen.normal, vec(table.axis, f)
    if kind == WIND:
        return scaled(strength, normal)
    if kind == VORTEX and table.shape[f] == FROM_POINT:
        return scaled(strength * seen.distance, _unit(cross(normal, seen.way)))
    if kind == VORTEX:
        swirl = scaled(strength, cross(axis, seen.from_origin))
        return add(swirl, scaled(strength, cross(axis, swirl)))
    if kind == HARMONIC:
        return scaled(-strength, seen.way)
    if kind == GUIDE:
        return seen.way
    if kind == TURBULENCE:
        x, y, z = seen.place if table.in_world[f] else add(seen.from_origin, axis)
        return scaled(strength, turbulence(table.permutation[f], table.values[f, SIZE], x, y, z))
    if kind == FORCE:
        square = seen.distance * seen.distance if table.inverse_square[f] else 1.0
        return scaled(strength / square if square > 0.0 else 0.0, _unit(seen.way))
    return 0.0, 0.0, 0.0


@kernel_part
def _drag(table, f, strength, damping, share, seen):
    """Return the drag in N s/m of field f. share: the fraction of the field at the body."""
    kind = table.kind[f]
    if kind == DRAG:
        faster = min(strength, STRONGEST_DRAG) * norm(seen.velocity) * table.rate[f]
        return share * (faster + min(damping, STRONGEST_DRAG))
    if kind == HARMONIC:
        return 2.0 * damping * np.sqrt(abs(strength))
    own = 1.0 if kind == VORTEX and table.shape[f] != FROM_POINT else 0.0
    return own + table.values[f, FLOWING] * share


@leaf_kernel
def _feel(table, f, b, place, velocity, out):
    """Add the effect of field f on body b to `out`."""
    values, state, kind = table.values[f], table.state[f], table.kind[f]
    from_origin = sub(place, vec(table.position, f))
    first, last = 0, 1
    if table.shape[f] == FROM_POINTS:
        first, last = table.first_vertex[f], table.first_vertex[f + 1]
        if kind == HARMONIC:
            # a spring for each particle: a body is the first one
            last = min(last, first + 1)
    for p in range(first, last):
        source, normal = _source(table, f, p, place, velocity)
        way = sub(place, source)
        distance = norm(way)
        share = _fall_off(table, f, normal, from_origin, distance)
        if kind == HARMONIC and values[SIZE] != 0.0 and distance > 0.0:
            way = scaled((distance - values[SIZE]) / distance, way)
        if share > 0.0:
            share *= _visible(table, f, place, scaled(-1.0, way))
        if not share > 0.0:
            continue
        strength, damping = values[STRENGTH], values[DAMPING]
        if values[NOISE] > 0.0:
            number, state = drawn(state)
            strength += values[NOISE] * number
            if kind in (HARMONIC, DRAG):
                number, state = drawn(state)
                damping += values[NOISE] * number
        seen = Seen(place, velocity, from_origin, way, distance, normal)
        force = scaled(1.0 / table.rate[f], _push(table, f, strength * share, seen))
        out.drag[b] += _drag(table, f, strength, damping, share, seen)
        magnetic = (0.0, 0.0, 0.0)
        if kind == MAGNETIC:
            has_lines_around = table.shape[f] in (FROM_POINT, FROM_LINE)
            magnetic = scaled(strength * share, _unit(cross(normal, way) if has_lines_around else normal))
        for i in range(3):
            out.force[b, i] += force[i]
            out.magnetic[b, i] += magnetic[i]


@kernel
def accumulate(table, fields, bodies, position, velocity, out):
    """Add the effects of some fields (g,) on some bodies (k,) to `Effects` of n bodies, with their positions and velocities
    (n, 3)."""
    for b in bodies:
        place, own_velocity = vec(position, b), vec(velocity, b)
        for f in fields:
            _feel(table, f, b, place, own_velocity, out)
