# SPDX-License-Identifier: GPL-3.0-or-later
"""The modes that a rigid body would ring in: frequencies, dampings, and how a force at a point excites them.

The modes are those of the body's shape in its material, free in space, by the bricks that flexible bodies are computed with, as
those of finite elements in O'Brien, Shen, Gatchalian 2002. A mode of circular frequency omega and loss factor eta obeys

    q'' + eta omega q' + omega^2 q = phi . F,

so it decays as exp(-eta omega t / 2): the internal friction of van den Doel and Pai 1998, whose tan(phi) is eta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..deformable.elements import mass_matrix, stiffness_matrix
from ..deformable.modes import elastic_modes
from ..deformable.statics import Statics
from ..deformable.voxels import Grid, brick_grid, nodal_weights
from ..geometry.compounds import parts
from ..geometry.hulls import convex_hull
from ..geometry.solids_of_revolution import ROUND
from ..geometry.surfaces import Surface, hull_surface, mesh_surface, round_surface
from ..scene.spec import BodyKind, SceneSpec, ShapeKind, ShapeSpec
from .materials import SoundMaterial, material_of

__all__ = ["ShapeModes", "SharedModes", "Voice", "Voices", "modes_of", "solid_surface", "voices_of"]

Array = NDArray[np.float64]

# Largest number of modes of a body, the bricks that they are computed with, and those of a thin-walled body at most.
MODES_OF_A_VOICE = 40
BRICKS_OF_A_VOICE, MOST_BRICKS_OF_A_VOICE = 400, 2_500
# Hz, the range of hearing.
LOWEST_HEARD, HIGHEST_HEARD = 20.0, 20_000.0
# Points on the sphere that stands for a margin, evenly spread.
POINTS_OF_A_MARGIN = 64
TURN_OF_SPIRAL = math.pi * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True)
class ShapeModes:
    """The audible modes of a shape in a material.

    Attributes
    ----------
    omega : (r,) rad/s, rising
    grid : the bricks; None without modes
    shapes : (v, 3, r) sqrt(kg) times those of a body of any mass: the displacement of each node, in the body's axes
    why_none : why no modes could be computed; empty where they were
    """

    omega: Array
    grid: Grid | None
    shapes: Array
    why_none: str = ""

    def gains(self, points: Array, directions: Array) -> Array:
        """Return (k, r) phi sqrt(mass) along directions (k, 3) at points (k, 3) m, both in the body's axes."""
        count = len(self.omega)
        if self.grid is None or not count:
            return np.zeros((len(points), 0))
        at_points = nodal_weights(self.grid, points).tocsr() @ self.shapes.reshape(-1, 3 * count)
        return np.einsum("kar,ka->kr", at_points.reshape(-1, 3, count), directions)


@dataclass(frozen=True)
class Voice:
    """What a body sounds like.

    Attributes
    ----------
    material : what it is made of
    mass : kg, as in the bake; of a body that does not move, that of its material
    surface : of its shape
    """

    material: SoundMaterial
    mass: float
    surface: Surface

    @property
    def area(self) -> float:
        """Return m^2."""
        a, b, c = (self.surface.vertices[self.surface.triangles[:, k]] for k in range(3))
        return 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


@dataclass(frozen=True)
class Voices:
    """The voices of a scene.

    Attributes
    ----------
    of_bodies : by the index of the body; bodies that make no sound are left out
    materials : by the index of the body, also of bodies without a volume, such as a floor
    without_volume : why active bodies have no voice, by name
    """

    of_bodies: dict[int, Voice]
    materials: dict[int, SoundMaterial]
    without_volume: dict[str, str]


def voices_of(spec: SceneSpec, bodies: set[int], chosen: Mapping[str, str], presets: Mapping[str, SoundMaterial]) -> Voices:
    """Return the voices of bodies.

    Parameters
    ----------
    spec : the scene
    bodies : indices of those that are hit or scrape
    chosen : names of materials by the names of bodies
    presets : the materials by name

    Raises UsageError for the name of no material.
    """
    found = Voices({}, {}, {})
    for index in sorted(bodies):
        body, surface = spec.bodies[index], None
        try:
            surface = solid_surface(body.shape)
        except ValueError as error:
            # a floor makes no sound by itself; its material only says how hard it is
            if body.kind is BodyKind.ACTIVE:
                found.without_volume[body.name] = str(error)
        volume = 0.0 if surface is None else surface.volume
        material = material_of(body, volume, chosen.get(body.name, ""), presets)
        if material is None:
            continue
        found.materials[index] = material
        if surface is not None:
            body_mass = body.mass if body.mass is not None else (body.density or 0.0) * volume
            mass = body_mass if body.kind is BodyKind.ACTIVE and body_mass > 0.0 else material.density * volume
            found.of_bodies[index] = Voice(material, mass, surface)
    return found


class SharedModes:
    """Computes modes once for equal shapes of one material."""

    def __init__(self) -> None:
        self._found: dict[tuple[bytes, bytes, SoundMaterial], ShapeModes] = {}

    def of(self, voice: Voice) -> ShapeModes:
        """Return the modes of a body."""
        key = voice.surface.vertices.tobytes(), voice.surface.triangles.tobytes(), voice.material
        if key not in self._found:
            self._found[key] = modes_of(voice.surface, voice.material)
        return self._found[key]


def modes_of(surface: Surface, material: SoundMaterial) -> ShapeModes:
    """Return the audible modes of a solid, at most MODES_OF_A_VOICE of the lowest; none where bricks cannot compute them."""
    mass = material.density * surface.volume
    try:
        grid = brick_grid(surface, bricks=BRICKS_OF_A_VOICE, max_bricks=MOST_BRICKS_OF_A_VOICE)
        stiffness = stiffness_matrix(grid, material.young, material.poisson)
        statics = Statics(stiffness, mass_matrix(grid, mass), grid.points, np.zeros(0, dtype=np.int64))
        room = len(statics.free) - statics.rigid.shape[1]
        omega, shapes = elastic_modes(statics, min(MODES_OF_A_VOICE, room))
    except ValueError as error:
        return ShapeModes(np.zeros(0), None, np.zeros((0, 3, 0)), str(error))
    hertz = omega / (2.0 * math.pi)
    audible = (hertz >= LOWEST_HEARD) & (hertz <= HIGHEST_HEARD)
    shapes = math.sqrt(mass) * np.einsum("vkr,ka->var", shapes[:, :, audible], grid.axes)
    return ShapeModes(omega[audible], grid, np.ascontiguousarray(shapes))


def solid_surface(shape: ShapeSpec) -> Surface:
    """Return the surface of a shape; of an open mesh, and of parts that share corners, that of the convex hull.

    Raises ValueError where it has no inside.
    """
    vertices, triangles, count = [np.zeros((0, 3))], [np.zeros((0, 3), dtype=np.int64)], 0
    for part in parts(shape):
        surface = surface_of_part(part.shape)
        vertices.append(surface.vertices @ part.rotation.T + part.position)
        triangles.append(surface.triangles + count)
        count += len(surface.vertices)
    if not count:
        raise ValueError("the body has no shape")
    points = np.concatenate(vertices)
    surface = mesh_surface(points, np.concatenate(triangles))
    if not surface.solid:
        surface = hull_surface(convex_hull(points))
    if not surface.solid:
        raise ValueError("the shape is flat, so it has no inside")
    return surface


def surface_of_part(shape: ShapeSpec) -> Surface:
    """Return the surface of a shape that is no compound. Raises ValueError for a plane."""
    if shape.kind is ShapeKind.PLANE:
        raise ValueError("the shape is a plane, so it has no inside")
    if shape.kind is ShapeKind.MESH:
        return mesh_surface(shape.vertices, shape.triangles)
    if shape.kind in ROUND:
        return round_surface(shape)
    points = shape.vertices
    if shape.margin > 0.0:
        # a spiral from pole to pole with equal areas between its turns
        number = np.arange(POINTS_OF_A_MARGIN) + 0.5
        height = 1.0 - 2.0 * number / POINTS_OF_A_MARGIN
        radius, angle = np.sqrt(1.0 - height**2), TURN_OF_SPIRAL * number
        sphere = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
        points = (points[:, None] + shape.margin * sphere).reshape(-1, 3)
    return hull_surface(convex_hull(points))
