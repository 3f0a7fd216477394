# SPDX-License-Identifier: GPL-3.0-or-later
"""A body of few unknowns: all that the motion of one that bends is computed with, from its mesh and its material."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..geometry.compounds import rotation_matrix
from ..geometry.solids import shape_mass_properties
from ..geometry.surfaces import mesh_surface
from ..scene.deformable import DeformableSpec, Elasticity
from ..scene.joints import FREE_AXIS
from ..scene.spec import BodySpec, SceneSpec, ShapeSpec
from .bricks import Bricks, nodal_load
from .derivatives import large_bends
from .elements import lame, mass_matrix, stiffness_matrix
from .inertia import ModalInertia, modal_inertia
from .modes import Loads, elastic_modes
from .pressing import pressing_loads
from .reduced import LargeBending, ReducedBody
from .statics import Statics
from .stiffening import spin_stiffness
from .strains import Displacements, bubbles_of
from .stress import slope_modes
from .stvk import gram_matrix
from .voxels import Grid, brick_grid, nodal_weights

__all__ = ["joint_loads", "pinned_nodes", "preparation_digest", "prepared", "reduced_body"]

Array = NDArray[np.float64]

NO_LOADS = np.zeros((0, 9))
# Decimals of a body's half length.
ROUNDED = 6
# Of a node in a displacement, below which it has no part in it.
NO_SHARE = 1e-6


def reduced_body(
    shape: ShapeSpec,
    spec: DeformableSpec,
    *,
    mass: float | None = None,
    density: float | None = None,
    loads: Array = NO_LOADS,
) -> ReducedBody:
    """The modes of a closed mesh, from its mass in kg or its density in kg/m^3, exactly one of them. loads: (a, 9) as of
    `joint_loads`.

    ValueError that says what is wrong with a mesh that has no inside, hangs together by nothing, has fewer modes than are asked
    for, or (ThinnerThanABrick) is too thin for its bricks.
    """
    solid = shape_mass_properties(shape, mass=mass, density=density)
    surface = mesh_surface(shape.vertices, shape.triangles)
    grid = brick_grid(surface, spec.resolution)
    stiffness, weights = stiffness_matrix(grid, spec.young, spec.poisson), mass_matrix(grid, solid.mass)
    statics = Statics(stiffness, weights, grid.points, pinned_nodes(grid, shape, spec))
    if len(loads):
        bare = brick_modes(grid, np.zeros((*grid.points.shape, 0)))
        applied = Loads(np.stack([nodal_load(bare, load) @ grid.axes.T for load in loads], axis=2), pressing=False)
    else:
        applied = Loads(pressing_loads(grid, surface), pressing=True)
    constants, large = (spec.young, spec.poisson), None
    material = lame(*constants)
    if spec.kind is Elasticity.STVK:
        omega, bends, number = large_bends(grid, statics, constants, spec.modes, applied)
        large = LargeBending(gram_matrix(grid, bends, constants), number)
        stiffening = np.zeros((len(omega), len(omega), 3, 3))
    else:
        omega, modes = elastic_modes(statics, spec.modes, applied)
        bends = Displacements(modes, bubbles_of(grid, modes, material))
        stiffening = spin_stiffness(grid, statics, constants, bends)
    modes = np.einsum("vkr,ka->var", bends.nodal, grid.axes)
    share = nodal_weights(grid, shape.vertices).tocsr()
    shapes = np.ascontiguousarray((share @ modes.reshape(len(modes), -1)).reshape(-1, 3, len(omega)))
    bricks = brick_modes(grid, modes)
    slopes = slope_modes(bricks, bends.bubbles)
    slopes = (share @ slopes.reshape(len(slopes), -1)).reshape(-1, 3, 3, len(omega)).astype(np.float32)
    damping = 2.0 * spec.damping_ratio * omega**2 / omega[0]
    inertia = modal_inertia(grid.points @ grid.axes, weights, modes, stiffening)
    # sums have other bits in another order of memory, and what is read from a file has this one
    inertia = ModalInertia(*(np.ascontiguousarray(array) for array in inertia))
    return ReducedBody(solid.mass, omega, damping, shapes, inertia, bricks, np.array(material), slopes, large)


def brick_modes(grid: Grid, modes: Array) -> Bricks:
    """A grid with what modes (v, 3, r) do to its nodes, in the body's axes."""
    lowest = np.stack([line[:-1][grid.cells[:, k]] for k, line in enumerate(grid.lines)], axis=1)
    filled = grid.inside.mean(axis=1)
    return Bricks(grid.axes, lowest, grid.sizes, filled, grid.nodes, np.ascontiguousarray(modes))


def prepared(body: BodySpec, loads: Array = NO_LOADS) -> ReducedBody:
    """The modes of a body of a validated scene, which bends; loads: as of `joint_loads`."""
    assert body.deformable is not None
    return reduced_body(body.shape, body.deformable, mass=body.mass, density=body.density, loads=loads)


def joint_loads(spec: SceneSpec, index: int) -> Array:
    """(a, 9) a point in m, a force and a moment, in the axes of a body of the scene: what its joints may push it with, each of
    the same work where the point moves by a length or turns by that over half the body's longest side."""
    body = spec.bodies[index]
    length = 0.5 * float(np.ptp(body.shape.vertices, axis=0).max())
    rotation, found = rotation_matrix(body.orientation), []
    for joint in spec.joints:
        if body.name not in (joint.body_a, joint.body_b):
            continue
        point = rotation.T @ (joint.position - body.position)
        axes = (rotation.T @ rotation_matrix(joint.orientation)).T
        states = joint, *joint.changes
        for k in range(3):
            if any(state.linear[k] != FREE_AXIS for state in states):
                found.append(np.concatenate([point / length, axes[k], np.zeros(3)]))
            if any(state.angular[k] != FREE_AXIS for state in states):
                found.append(np.concatenate([point / length, np.zeros(3), axes[k]]))
    # rounding of where a body is makes no other modes
    loads = np.unique(np.round(np.reshape(found, (len(found), 9)), ROUNDED) + 0.0, axis=0)
    return loads * np.repeat([length, 1.0, length], 3)


def preparation_digest(body: BodySpec, loads: Array = NO_LOADS) -> str:
    """32 hexadecimal digits that name what `prepared` makes of a body: equal where mesh, material, loads and what computes it
    are."""
    spec, shape = body.deformable, body.shape
    assert spec is not None
    whole = hashlib.blake2b(_sources(), digest_size=16)
    for array in (shape.vertices, shape.triangles, np.asarray(spec.pinned, dtype=np.int32), loads):
        whole.update(repr((array.dtype.str, array.shape)).encode() + np.ascontiguousarray(array).tobytes())
    values = spec.kind.value, spec.young, spec.poisson, spec.modes, spec.resolution, spec.damping_ratio
    whole.update(repr((body.mass, body.density, *values)).encode())
    return whole.hexdigest()


@cache
def _sources() -> bytes:
    """A digest of the files here: a version that computes otherwise must not take what another one has kept."""
    whole = hashlib.blake2b(digest_size=16)
    for file in sorted(Path(__file__).parent.glob("*.py")):
        whole.update(file.read_bytes())
    return whole.digest()


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
