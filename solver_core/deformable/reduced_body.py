# SPDX-License-Identifier: GPL-3.0-or-later
"""A body of few unknowns: all that the motion of one that bends is computed with, from its mesh and its material."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry.solids import shape_mass_properties
from ..geometry.surfaces import mesh_surface
from ..scene.deformable import DeformableSpec
from ..scene.spec import ShapeSpec
from .elements import mass_matrix, stiffness_matrix
from .inertia import ModalInertia, modal_inertia
from .modes import elastic_modes
from .voxels import Grid, brick_grid, nodal_weights

__all__ = ["ReducedBody", "pinned_nodes", "reduced_body"]

Array = NDArray[np.float64]

# Of a node in a displacement, below which it has no part in it.
NO_SHARE = 1e-6


@dataclass(frozen=True)
class ReducedBody:
    """mass: kg. omega: (r,) rad/s, rising. damping: (r,) 1/s, of q'' + damping q' + omega^2 q = force.

    shapes: (n, 3, r) 1/sqrt(kg), what each mode does to the vertices of the shape, in the body's axes: displacements are
    shapes @ q in m, with q in m sqrt(kg), and half the square of q' is kinetic energy in J. inertia: what the floating frame
    needs. grid: the bricks that it was computed with.
    """

    mass: float
    omega: Array
    damping: Array
    shapes: Array
    inertia: ModalInertia
    grid: Grid

    @property
    def frequencies(self) -> Array:
        """(r,) Hz."""
        return self.omega / (2.0 * math.pi)


def reduced_body(
    shape: ShapeSpec, spec: DeformableSpec, *, mass: float | None = None, density: float | None = None
) -> ReducedBody:
    """The modes of a closed mesh, from its mass in kg or its density in kg/m^3, exactly one of them.

    ValueError that says what is wrong with a mesh that has no inside, hangs together by nothing, has fewer modes than are asked
    for, or (ThinnerThanABrick) is too thin for its bricks.
    """
    solid = shape_mass_properties(shape, mass=mass, density=density)
    surface = mesh_surface(shape.vertices, shape.triangles)
    grid = brick_grid(surface, spec.resolution)
    stiffness, weights = stiffness_matrix(grid, spec.young, spec.poisson), mass_matrix(grid, solid.mass)
    held = pinned_nodes(grid, shape, spec)
    omega, modes = elastic_modes(stiffness, weights, grid.points, spec.modes, held)
    modes = np.einsum("vkr,ka->var", modes, grid.axes)
    share = nodal_weights(grid, shape.vertices).tocsr()
    shapes = (share @ modes.reshape(len(modes), -1)).reshape(-1, 3, spec.modes)
    damping = 2.0 * spec.damping_ratio * omega**2 / omega[0]
    return ReducedBody(solid.mass, omega, damping, shapes, modal_inertia(grid.points @ grid.axes, weights, modes), grid)


def pinned_nodes(grid: Grid, shape: ShapeSpec, spec: DeformableSpec) -> NDArray[np.int64]:
    """The nodes that have a part in the displacement of pinned vertices, and of triangles whose three vertices are pinned."""
    chosen = np.asarray(spec.pinned, dtype=np.int64)
    if not len(chosen):
        return chosen
    triangles = np.asarray(shape.triangles)
    corners = shape.vertices[triangles[np.isin(triangles, chosen).all(axis=1)]]
    step = min(width.min() for width in grid.widths)
    places = [shape.vertices[chosen]]
    for a, b, c in corners:
        parts = max(1, math.ceil(max(np.linalg.norm(b - a), np.linalg.norm(c - a), np.linalg.norm(c - b)) / step))
        i, j = np.nonzero(np.add.outer(np.arange(parts + 1), np.arange(parts + 1)) <= parts)
        places.append(a + np.outer(i / parts, b - a) + np.outer(j / parts, c - a))
    weights = nodal_weights(grid, np.concatenate(places))
    return np.unique(weights.coords[1][np.abs(weights.data) > NO_SHARE]).astype(np.int64)
