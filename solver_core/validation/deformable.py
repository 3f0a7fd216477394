# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a body that is to bend."""

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

# More cost more than they show: the shapes of the first sixty of a chair are as fine as its boards are thick. In large bends
# the cost grows with their fourth power.
MOST_MODES = {Elasticity.LINEAR: 60, Elasticity.STVK: 40}
# Bricks of what keeps its volume more strictly lock.
LARGEST_POISSON = 0.45


def bending_problems(body: BodySpec, known: dict[str, list[tuple[str, str]]]) -> Iterator[SceneProblem]:
    """All that keeps a body from bending as it should, if it should. known: what was found of the bricks of others,
    to which this one's are added: of the same mesh and material they are the same."""
    if body.deformable is None:
        return
    yield from deformable_problems(body, body.deformable, known)
    for field, message in _motion_findings(body, body.deformable):
        yield SceneProblem(body.name, field, message)


def deformable_problems(
    body: BodySpec, spec: DeformableSpec, known: dict[str, list[tuple[str, str]]] | None = None
) -> Iterator[SceneProblem]:
    """All that keeps a body from bending as the spec says, by its name and the field; nothing, where all is well. known: as
    above."""
    wrong = [(".".join(path) or "deformable", message) for path, message in mismatches(spec, DeformableSpec)]
    for field, message in wrong or _findings(body, spec, {} if known is None else known):
        yield SceneProblem(body.name, field, message)


def _findings(body: BodySpec, spec: DeformableSpec, known: dict[str, list[tuple[str, str]]]) -> Findings:
    values = [*_value_findings(spec), *_pinned_findings(body, spec)]
    yield from values
    if body.kind is not BodyKind.ACTIVE:
        yield "deformable", "only an active body bends under forces; make it Active, or switch Flexible off"
        return
    if body.shape.kind is not ShapeKind.MESH:
        yield "shape", "only a mesh can bend, for its inside has to be known; choose the shape Mesh"
        return
    solid = [*shape_findings(body)] or [*mass_findings(body, has_sound_shape=True)]
    yield from solid
    if not values and not solid:
        digest = preparation_digest(replace(body, deformable=spec))
        if digest not in known:
            known[digest] = [*_grid_findings(body, spec)]
        yield from known[digest]


def _motion_findings(body: BodySpec, deformable: DeformableSpec) -> Findings:
    """What bodies that bend cannot do in a simulation."""
    if np.size(deformable.pinned) and (np.any(body.velocity) or np.any(body.angular_velocity)):
        yield "velocity", "pinned vertices stay where they are; let the body begin at rest, or pin nothing"
    if body.inertia is not None:
        yield "inertia", "that of a body that bends follows from its mesh; leave it out"
    if body.center_of_mass is not None:
        yield "center_of_mass", "that of a body that bends follows from its mesh; choose Volume, or switch Flexible off"
    if body.deformation is not None:
        yield "deformation", "a body either bends or deforms by keys; switch one of them off"


def _value_findings(spec: DeformableSpec) -> Findings:
    if not is_positive(spec.young):
        mpa = f"{1e-6 * spec.young:g} MPa"
        yield "young", f"is {mpa}; stiffness must be above 0 and finite: rubber has 10 MPa, oak 10,000, steel 200,000"
    if not 0.0 <= spec.poisson <= LARGEST_POISSON:
        yield (
            "poisson",
            f"is {spec.poisson:g}; it goes from 0 (cork) to {LARGEST_POISSON}, which does for rubber too: at 0.5 nothing could "
            "change its volume, and bricks would not bend",
        )
    if not 1 <= spec.modes <= MOST_MODES[spec.kind]:
        yield "modes", f"are {spec.modes}; choose from 1 to {MOST_MODES[spec.kind]}, or a rigid body for none"
    if spec.resolution < 0:
        yield (
            "resolution",
            f"is {spec.resolution}; it is a number of bricks along the longest side, or 0 for as many as are needed",
        )
    if not is_not_negative(spec.damping_ratio):
        yield "damping_ratio", f"is {spec.damping_ratio:g}; it must be 0 (rings for ever) or more; 1 is no swing at all"


def _pinned_findings(body: BodySpec, spec: DeformableSpec) -> Findings:
    pinned, count = np.asarray(spec.pinned), len(body.shape.vertices)
    if pinned.size and (pinned.ndim != 1 or pinned.dtype.kind not in "iu"):
        yield "pinned", f"are {pinned.dtype} of shape {pinned.shape}; they must be a row of integers, vertices of the mesh"
    elif pinned.size and not 0 <= pinned.min() <= pinned.max() < count:
        yield "pinned", f"are vertices {pinned.min()} to {pinned.max()}; there are {count}"


def _grid_findings(body: BodySpec, spec: DeformableSpec) -> Findings:
    """What is found out once there are bricks."""
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
        what = f"{len(grid.cells)} bricks{' with what is pinned' if held else ''} have {max(room, 0)} shapes"
        yield "modes", f"are {spec.modes}, and {what}; choose fewer modes or more bricks{', or pin less' if held else ''}"
