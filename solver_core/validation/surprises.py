# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about valid scenes whose result may surprise, given before the bake.

No warning prevents a simulation. The checks do not simulate a step and do not search for contacts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..geometry.body_mass import body_mass_properties
from ..geometry.compounds import parts
from ..geometry.surfaces import mesh_surface
from ..scene.spec import (
    BodyKind,
    SceneSpec,
    SceneWarning,
    ShapeKind,
    ShapeSpec,
    SolverSettings,
    spans_of,
    strongest_gravity,
)
from ..scene.words import distance, figure
from .findings import FARTHEST_TURN
from .paths import followed_frames

__all__ = ["origins_off_center", "surprises", "thickness"]

# Mass ratios above this are untested.
LARGEST_MASS_RATIO = 1e6
# Smallest number of steps in which a body should fall by its own thickness from rest. Below it, bounces are unreliable.
FEWEST_STEPS = 2
# Longest edge of a flexible body, relative to its longest side. With fewer than two edges along it, no bending is visible.
# The margin is for vertices in single precision.
LONG_EDGE = 0.5 + 1e-6
# Triangles of a flexible body. Updating more of them in each step takes longer than the solver in most scenes.
MOST_BENT_TRIANGLES = 10_000
# Distance of the origin from the center of mass, relative to the longest side, above which the origin is visibly off center.
OFF_CENTER = 0.05


def surprises(spec: SceneSpec, settings: SolverSettings) -> tuple[SceneWarning, ...]:
    """Return the warnings about a scene that `validate` accepts, by object and field."""
    return (
        *mass_surprises(spec),
        *size_surprises(spec, settings),
        *speed_surprises(spec, settings),
        *spin_surprises(spec, settings),
        *room_surprises(spec),
        *bending_surprises(spec),
    )


def mass_surprises(spec: SceneSpec) -> Iterator[SceneWarning]:
    """Yield a warning if the ratio of the largest to the smallest mass is untested."""
    masses = [(body_mass_properties(body).mass, body.name) for body in spec.bodies if body.kind is BodyKind.ACTIVE]
    (light, lightest), (heavy, heaviest) = min(masses), max(masses)
    if heavy > LARGEST_MASS_RATIO * light:
        message = f"{figure(heavy)} kg against {figure(light)} kg: ratios above {LARGEST_MASS_RATIO:.0e} are untested"
        yield SceneWarning((heaviest, lightest), "mass", message)


def origins_off_center(spec: SceneSpec) -> dict[str, float]:
    """Return the distance from the origin to the center of mass of bodies whose origin is off center [m], by name.

    Only active bodies without an explicit center of mass count.
    """
    far = {}
    for body in spec.bodies:
        if body.kind is not BodyKind.ACTIVE or body.center_of_mass is not None or body.shape.kind is ShapeKind.NONE:
            continue
        corners = np.concatenate([part.shape.vertices @ part.rotation.T + part.position for part in parts(body.shape)])
        # The vertices of a round shape are only the ends of its axis.
        around = max(2.0 * (part.shape.margin + part.shape.radius) for part in parts(body.shape))
        away = float(np.linalg.norm(body_mass_properties(body).center_of_mass))
        if away > OFF_CENTER * (float(np.ptp(corners, axis=0).max()) + around):
            far[body.name] = away
    return far


def size_surprises(spec: SceneSpec, settings: SolverSettings) -> Iterator[SceneWarning]:
    """Yield warnings about bodies that fall by their thickness, g t^2 / 2, in fewer than FEWEST_STEPS steps."""
    g, step = strongest_gravity(spec), spec.time_scale / (spec.fps * settings.substeps)
    for body in spec.bodies:
        thin = thickness(body.shape)
        if body.kind is not BodyKind.ACTIVE or not 0.0 < thin < 0.5 * g * (FEWEST_STEPS * step) ** 2:
            continue
        steps = math.sqrt(2.0 * thin / g) / step
        wanted = math.ceil(settings.substeps * FEWEST_STEPS / steps)
        message = (
            f"it is {distance(thin)} thin and falls by that in {steps:.1f} steps: it rests correctly, but bounces and "
            f"tumbles coarsely; {wanted} substeps give {FEWEST_STEPS} steps. Is the scene intended to be that small?"
        )
        yield SceneWarning((body.name,), "substeps", message)


def speed_surprises(spec: SceneSpec, settings: SolverSettings) -> Iterator[SceneWarning]:
    """Yield warnings about animated bodies that move farther in a step than the thickness of the thinnest active body."""
    targets = [(thickness(body.shape), body.name) for body in spec.bodies if body.kind is BodyKind.ACTIVE]
    thin, thinnest = min(((size, name) for size, name in targets if size > 0.0), default=(math.inf, ""))
    for body in spec.bodies:
        if body.path is None or len(body.path) < 2:
            continue
        path = np.asarray(body.path)[: followed_frames(body.path), :3]
        ways = np.linalg.norm(np.diff(path, axis=0), axis=1) / settings.substeps
        # A body that appears or is teleported at a frame does not move to that position.
        appears = [frame - 1 for frame in (*(body.teleports or ()), *(first for first, _ in spans_of(body))) if frame > 0]
        ways[[step for step in appears if step < len(ways)]] = 0.0
        worst = int(np.argmax(ways))
        if ways[worst] > thin:
            frame = spec.frame_start + worst
            message = (
                f"from frame {frame} to {frame + 1} it moves {distance(ways[worst])} per step, more than the thickness of "
                f"{thinnest} ({distance(thin)}): it misses no collision, but impacts are coarse; more substeps help"
            )
            yield SceneWarning((body.name, thinnest), "substeps", message)


def spin_surprises(spec: SceneSpec, settings: SolverSettings) -> Iterator[SceneWarning]:
    """Yield warnings about active bodies whose initial angular velocity is more than FARTHEST_TURN per step."""
    step = spec.time_scale / (spec.fps * settings.substeps)
    for body in spec.bodies:
        turn = step * float(np.linalg.norm(body.angular_velocity))
        if body.kind is BodyKind.ACTIVE and turn > FARTHEST_TURN:
            wanted = math.ceil(settings.substeps * turn / FARTHEST_TURN)
            message = (
                f"it turns by {turn:.2g} rad in a step: flight is exact, but motion on a tip, a rim or an edge is "
                f"coarse; {wanted} substeps reduce it to {FARTHEST_TURN}"
            )
            yield SceneWarning((body.name,), "substeps", message)


def room_surprises(spec: SceneSpec) -> Iterator[SceneWarning]:
    """Yield warnings about closed meshes of passive and animated bodies whose normals point inward."""
    for body in spec.bodies:
        if body.kind is not BodyKind.ACTIVE and any(
            part.shape.kind is ShapeKind.MESH and mesh_surface(part.shape.vertices, part.shape.triangles).volume < 0.0
            for part in parts(body.shape)
        ):
            message = "its normals point inward, so it is a container: bodies inside stay there; flip them if it is a solid"
            yield SceneWarning((body.name,), "normals", message)


def bending_surprises(spec: SceneSpec) -> Iterator[SceneWarning]:
    """Yield warnings about flexible bodies whose meshes are too coarse to show bending, or too fine to be updated quickly."""
    for body in spec.bodies:
        if body.deformable is None:
            continue
        extents = np.ptp(body.shape.vertices, axis=0)
        axis, size = int(np.argmax(extents)), float(extents.max())
        longest = float(np.ptp(body.shape.vertices[body.shape.triangles, axis], axis=1).max())
        if longest > LONG_EDGE * size:
            message = (
                f"it has edges of {distance(longest)} along its {distance(size)}: edges stay straight as it bends; subdivide "
                "its mesh"
            )
            yield SceneWarning((body.name,), "shape", message)
        count = len(body.shape.triangles)
        if count > MOST_BENT_TRIANGLES:
            message = (
                f"its {count:,} triangles are updated in every step, which takes most of the time; a few thousand are enough: "
                "make a coarse copy flexible, and let this mesh follow its surface"
            )
            yield SceneWarning((body.name,), "shape", message)


def thickness(shape: ShapeSpec) -> float:
    """Return the smallest extent of the thinnest child shape along its own axes [m]; inf for open meshes and planes."""
    return min((thickness_of_part(part.shape) for part in parts(shape)), default=math.inf)


def thickness_of_part(shape: ShapeSpec) -> float:
    """Return the smallest extent of a shape that is not a compound [m]; inf for open meshes and planes."""
    if shape.kind is ShapeKind.PLANE:
        return math.inf
    if shape.kind in (ShapeKind.CYLINDER, ShapeKind.CONE):
        height = float(np.linalg.norm(shape.vertices[1] - shape.vertices[0]))
        return min(2.0 * shape.radius, height) + 2.0 * shape.margin
    if shape.kind is ShapeKind.MESH and mesh_surface(shape.vertices, shape.triangles).volume == 0.0:
        return math.inf
    return float(np.ptp(shape.vertices, axis=0).min()) + 2.0 * shape.margin
