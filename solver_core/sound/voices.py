# SPDX-License-Identifier: GPL-3.0-or-later
"""The modes that a rigid body would ring in: frequencies, dampings, and how a force at a point excites them.

The modes are those of the body's shape in its material, free in space, by the bricks that flexible bodies are computed with, as
those of finite elements in O'Brien, Shen, Gatchalian 2002. A mode of circular frequency omega and loss factor eta obeys

    q'' + eta omega q' + omega^2 q = phi . F,

so it decays as exp(-eta omega t / 2): the internal friction of van den Doel and Pai 1998, whose tan(phi) is eta.
"""

from __future__ import annotations

import math
import pickle
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

__all__ = ["Voice", "Voices", "modes_of", "voices_of"]

Array = NDArray[np.float64]

# Largest number of modes of a body, and the bricks they are computed with.
MODES_OF_A_VOICE = 40
BRICKS_OF_A_VOICE = 400
# Hz, the range of hearing.
LOWEST_HEARD, HIGHEST_HEARD = 20.0, 20_000.0
# Points on the sphere that stands for a margin, evenly spread.
POINTS_OF_A_MARGIN = 64
GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))


@dataclass(frozen=True)
class ShapeModes:
    """The audible modes of a shape in a material.

    Attributes
    ----------
    omega : (r,) rad/s, rising
    grid : the bricks; None without modes
    shapes : (v, 3, r) the displacement of each node in units of 1/sqrt(kg), in the body's axes, for a body of `mass`
    mass : kg, of the shape in the material
    why_none : why no modes could be computed; empty where they were
    """

    omega: Array
    grid: Grid | None
    shapes: Array
    mass: float
    why_none: str = ""


@dataclass(frozen=True)
class Voice:
    """What a body sounds like.

    Attributes
    ----------
    material : what it is made of
    mass : kg, as in the bake; of a body that does not move, that of its material
    area : m^2, of its surface
    volume : m^3
    modes : the audible ones; their shapes are for the mass of the material
    """

    material: SoundMaterial
    mass: float
    area: float
    volume: float
    modes: ShapeModes

    @property
    def radius(self) -> float:
        """Return m, of the sphere of the same area."""
        return math.sqrt(self.area / (4.0 * math.pi))

    def gains(self, points: Array, directions: Array) -> Array:
        """Return (k, r) 1/sqrt(kg), phi along directions (k, 3) at points (k, 3) m, both in the body's axes."""
        modes = self.modes
        if modes.grid is None:
            return np.zeros((len(points), 0))
        count = len(modes.omega)
        at_points = nodal_weights(modes.grid, points).tocsr() @ modes.shapes.reshape(-1, 3 * count)
        along = np.einsum("kar,ka->kr", at_points.reshape(-1, 3, count), directions)
        return along * math.sqrt(modes.mass / self.mass)


@dataclass(frozen=True)
class Voices:
    """The voices of a scene.

    Attributes
    ----------
    of_bodies : by the index of the body; bodies that make no sound are left out
    materials : by the index of the body, also of bodies without a volume, such as a floor
    without_modes : why bodies have no modes, by name
    """

    of_bodies: dict[int, Voice]
    materials: dict[int, SoundMaterial]
    without_modes: dict[str, str]


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
    same: dict[tuple[bytes, SoundMaterial], ShapeModes] = {}
    for index in sorted(bodies):
        body, surface, why = spec.bodies[index], None, ""
        try:
            surface = solid_surface(body.shape)
        except ValueError as error:
            why = str(error)
        volume = 0.0 if surface is None else surface.volume
        material = material_of(body, volume, chosen.get(body.name, ""), presets)
        if material is None:
            continue
        found.materials[index] = material
        is_active = body.kind is BodyKind.ACTIVE
        if surface is not None:
            key = pickle.dumps(body.shape), material
            if key not in same:
                same[key] = modes_of(surface, material)
            modes, own = same[key], body.mass if body.mass is not None else (body.density or 0.0) * volume
            mass = own if is_active and own > 0.0 else modes.mass
            found.of_bodies[index], why = Voice(material, mass, area_of(surface), volume, modes), modes.why_none
        # a floor makes no sound by itself; its material only says how hard it is
        if why and (is_active or surface is not None):
            found.without_modes[body.name] = why
    return found


def modes_of(surface: Surface, material: SoundMaterial) -> ShapeModes:
    """Return the audible modes of a solid, at most MODES_OF_A_VOICE of the lowest; none where bricks cannot compute them."""
    mass = material.density * surface.volume
    try:
        grid = brick_grid(surface, bricks=BRICKS_OF_A_VOICE)
        stiffness = stiffness_matrix(grid, material.young, material.poisson)
        statics = Statics(stiffness, mass_matrix(grid, mass), grid.points, np.zeros(0, dtype=np.int64))
        room = len(statics.free) - statics.rigid.shape[1]
        omega, shapes = elastic_modes(statics, min(MODES_OF_A_VOICE, room), whole_families=False)
    except ValueError as error:
        return ShapeModes(np.zeros(0), None, np.zeros((0, 3, 0)), mass, str(error))
    hertz = omega / (2.0 * math.pi)
    heard = (hertz >= LOWEST_HEARD) & (hertz <= HIGHEST_HEARD)
    shapes = np.ascontiguousarray(np.einsum("vkr,ka->var", shapes[:, :, heard], grid.axes))
    return ShapeModes(omega[heard], grid, shapes, mass)


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
        radius, angle = np.sqrt(1.0 - height**2), GOLDEN_ANGLE * number
        sphere = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
        points = (points[:, None] + shape.margin * sphere).reshape(-1, 3)
    return hull_surface(convex_hull(points))


def area_of(surface: Surface) -> float:
    """Return the area of a surface, m^2."""
    a, b, c = (surface.vertices[surface.triangles[:, k]] for k in range(3))
    return 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())
