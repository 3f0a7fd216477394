# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in flexible bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..deformable.reduced_body import pinned_nodes, preparation_digest
from ..deformable.voxels import ThinnerThanABrick, brick_grid
from ..geometry.surfaces import mesh_surface
from ..scene.deformable import DeformableSpec, Elasticity
from ..scene.field_types import mismatches
from ..scene.spec import BodyKind, BodySpec, ShapeKind
from .bodies import mass_findings
from .findings import Findings, SceneProblem, is_not_negative, is_positive
from .shapes import shape_findings

__all__ = ["LARGEST_POISSON", "MOST_MODES", "bending_problems", "deformable_problems"]

# More modes take longer and add little: the first sixty of a chair have details as fine as the thickness of its boards. With
# large deformations, the cost grows with the fourth power of the number of modes.
MOST_MODES = {Elasticity.LINEAR: 60, Elasticity.STVK: 40}
# Bricks of a less compressible material lock.
LARGEST_POISSON = 0.45


def bending_problems(body: BodySpec, known: dict[str, list[tuple[str, str]]]) -> Iterator[SceneProblem]:
    """Yield the problems of a flexible body, and none for a rigid one.

    known: findings about the brick grids of other bodies, by the digest of mesh and material, so that equal bodies are checked
        once; updated.
    """
    if body.deformable is None:
        return
    yield from deformable_problems(body, body.deformable, known)
    for field, message in _motion_findings(body, body.deformable):
        yield SceneProblem(body.name, field, message)


def deformable_problems(
    body: BodySpec, spec: DeformableSpec, known: dict[str, list[tuple[str, str]]] | None = None
) -> Iterator[SceneProblem]:
    """Yield the problems of a body with a flexible spec, by its name and the field. known: as in `bending_problems`."""
    wrong = [(".".join(path) or "deformable", message) for path, message in mismatches(spec, DeformableSpec)]
    for field, message in wrong or _findings(body, spec, {} if known is None else known):
        yield SceneProblem(body.name, field, message)


def _findings(body: BodySpec, spec: DeformableSpec, known: dict[str, list[tuple[str, str]]]) -> Findings:
    values = [*_value_findings(spec), *_pinned_findings(body, spec)]
    yield from values
    if body.kind is not BodyKind.ACTIVE:
        yield "deformable", "only an active body bends under forces; make it Active, or disable Flexible"
        return
    if body.shape.kind is not ShapeKind.MESH:
        yield "shape", "only a mesh can bend, because its inside must be known; choose the shape Mesh"
        return
    solid = [*shape_findings(body)] or [*mass_findings(body, has_sound_shape=True)]
    yield from solid
    if not values and not solid:
        digest = preparation_digest(replace(body, deformable=spec))
        if digest not in known:
            known[digest] = [*_grid_findings(body, spec)]
        yield from known[digest]


def _motion_findings(body: BodySpec, deformable: DeformableSpec) -> Findings:
    """Yield the errors in the motion and mass properties of a flexible body."""
    if np.size(deformable.pinned) and (np.any(body.velocity) or np.any(body.angular_velocity)):
        yield "velocity", "pinned vertices do not move; start the body at rest, or pin no vertices"
    if body.inertia is not None:
        yield "inertia", "of a flexible body it follows from the mesh; leave it out"
    if body.center_of_mass is not None:
        yield "center_of_mass", "of a flexible body it follows from the mesh; choose Volume, or disable Flexible"
    if body.deformation is not None:
        yield "deformation", "a body cannot be both Flexible and Deforming; disable one of them"


def _value_findings(spec: DeformableSpec) -> Findings:
    if not is_positive(spec.young):
        mpa = f"{1e-6 * spec.young:g} MPa"
        yield "young", f"is {mpa}; stiffness must be above 0 and finite: rubber has 10 MPa, oak 10,000, steel 200,000"
    if not 0.0 <= spec.poisson <= LARGEST_POISSON:
        yield (
            "poisson",
            f"is {spec.poisson:g}; it must be 0 (cork) to {LARGEST_POISSON} (also for rubber), because bricks of a nearly "
            "incompressible material do not bend",
        )
    if not 1 <= spec.modes <= MOST_MODES[spec.kind]:
        yield "modes", f"are {spec.modes}; choose 1 to {MOST_MODES[spec.kind]}, or a rigid body"
    if spec.resolution < 0:
        yield (
            "resolution",
            f"is {spec.resolution}; it must be a number of bricks along the longest side, or 0 to choose it automatically",
        )
    if not is_not_negative(spec.damping_ratio):
        yield "damping_ratio", f"is {spec.damping_ratio:g}; it must be 0 (rings forever) or more; at 1 nothing vibrates"


def _pinned_findings(body: BodySpec, spec: DeformableSpec) -> Findings:
    pinned, count = np.asarray(spec.pinned), len(body.shape.vertices)
    if pinned.size and (pinned.ndim != 1 or pinned.dtype.kind not in "iu"):
        yield "pinned", f"are {pinned.dtype} of shape {pinned.shape}; they must be a list of vertex indices of the mesh"
    elif pinned.size and not 0 <= pinned.min() <= pinned.max() < count:
        yield "pinned", f"are vertices {pinned.min()} to {pinned.max()}; there are {count}"


def _grid_findings(body: BodySpec, spec: DeformableSpec) -> Findings:
    """Yield the errors that only the brick grid shows."""
    surface = mesh_surface(body.shape.vertices, body.shape.triangles)
    try:
        grid = brick_grid(surface, spec.resolution)
    except ThinnerThanABrick as error:
        if spec.resolution:
            yield "resolution", str(error)
        else:
            yield "shape", f"{error}; give it more thickness, or leave it rigid"
        return
    except ValueError as error:
        yield "shape", str(error)
        return
    held = len(pinned_nodes(grid, body.shape, spec))
    room = 3 * (len(grid.points) - held) - (0 if held else 6)
    if spec.modes > room:
        description = f"{len(grid.cells)} bricks{' with pinned vertices' if held else ''} have only {max(room, 0)}"
        yield (
            "modes",
            f"are {spec.modes}, but {description}; choose fewer modes or more bricks{', or pin less' if held else ''}",
        )
