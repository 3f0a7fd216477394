"""What the solver does not move: poses of animated bodies and vertices of deforming ones, at every frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from bpy.types import Context, Depsgraph, Object
from numpy.typing import NDArray

from ..solver_core.validation import SceneProblem
from . import rotations
from .placement import matrix
from .shapes import ShapeError, read_surface

__all__ = ["Motion", "read_motion"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """By the names of bodies: paths (frames, 7), and deformations (frames, n, 3) in the axes that the body has at the frame.

    problems: deforming meshes that cannot be followed; they have no deformation.
    """

    paths: dict[str, Array]
    deformations: dict[str, Array]
    problems: tuple[SceneProblem, ...]


def read_motion(context: Context, frames: Iterable[int], animated: dict[str, Object], deforming: dict[str, Object]) -> Motion:
    """The motion of bodies over frames, each of which is shown while it is at hand; the first one decides a mesh's topology."""
    poses: dict[str, list[Array]] = {name: [] for name in animated}
    vertices: dict[str, list[Array]] = {name: [] for name in deforming}
    rest: dict[str, Array] = {}
    problems: list[SceneProblem] = []
    for frame in frames:
        depsgraph = context.evaluated_depsgraph_get()
        for name, ob in animated.items():
            world, turn = placed(ob, depsgraph)
            poses[name].append(np.concatenate([world[:3, 3], rotations.quaternion_of_matrix(turn)]))
        for name, rows in list(vertices.items()):
            try:
                world, turn = placed(deforming[name], depsgraph)
                to_body = turn.T @ world[:3, :3]
                # A body that is not animated stays where it was, whatever moves the object.
                to_body = to_body if name in animated else rest.setdefault(name, to_body)
                rows.append(vertices_at(deforming[name], frame, rows, context) @ to_body.T)
            except ShapeError as error:
                problems.append(SceneProblem(name, error.field, str(error)))
                del vertices[name]
    return Motion(
        {name: np.array(rows).reshape(-1, 7) for name, rows in poses.items()},
        {name: np.array(rows) for name, rows in vertices.items()},
        tuple(problems),
    )


def placed(ob: Object, depsgraph: Depsgraph) -> tuple[Array, Array]:
    """World matrix (4, 4) of an object, and the rotation (3, 3) nearest to it, which is its body's."""
    world = matrix(ob.evaluated_get(depsgraph).matrix_world)
    return world, rotations.nearest_rotation(world[:3, :3])


def vertices_at(ob: Object, frame: int, before: list[Array], context: Context) -> Array:
    """Vertices (n, 3) of the object's collision mesh at the frame that is shown. Raises ShapeError."""
    try:
        vertices = read_surface(ob, ob.rigid_body.mesh_source, context).vertices
    except ShapeError as error:
        raise ShapeError(error.field, f"at frame {frame}: {error}") from error
    if before and len(before[0]) != len(vertices):
        raise ShapeError(
            "use_deform",
            f"its modifiers make {len(vertices)} vertices at frame {frame} and {len(before[0])} at the first; the number "
            "has to stay, so switch off the modifier that changes it, or choose the source Deform",
        )
    return vertices
