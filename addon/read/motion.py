# SPDX-License-Identifier: GPL-3.0-or-later
"""Prescribed motion: poses of animated bodies and vertices of deforming ones, at every frame.

Other changing transforms keep the state of the first frame, as `FrozenTransform`, with a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from bpy.types import Context, Depsgraph, Object
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodyKind, SceneWarning
from ...solver_core.scene.words import in_words
from ...solver_core.validation.findings import SceneProblem
from ..blender import actions, rotations
from ..blender.cooperative import Step, Steps
from ..blender.placement import NowhereError, PlacementError, ancestors, is_solid, matrices_now, matrix, placed
from .shapes import ShapeError, read_mesh
from .surface_motion import PATHS as SURFACE_PATHS

__all__ = ["FrozenTransform", "Motion", "can_change", "frozen_body", "frozen_part", "read_motion", "unfollowed_values"]

Array = NDArray[np.float64]

# Tolerance of matrices, relative to the largest entry.
SAME = 1e-5


@dataclass(frozen=True, eq=False)
class FrozenTransform:
    """A transform that keeps its value at the first frame, and the warning if it changes afterward.

    rest: world matrix (4, 4), or relative to the object `within`. only_scale: other parts may change.
    """

    ob: Object
    within: Object | None
    rest: Array
    only_scale: bool
    warning: SceneWarning


def can_change(ob: Object) -> bool:
    """Return True if the object's transform could change between frames."""
    return any(
        one.constraints
        or one.parent_type != "OBJECT"
        or ((data := one.animation_data) is not None and (data.action is not None or data.nla_tracks or data.drivers))
        for one in (ob, *ancestors(ob))
    )


def frozen_body(ob: Object, kind: BodyKind, depsgraph: Depsgraph) -> FrozenTransform:
    """Return the constant part of a body's transform, from the displayed first frame: all of it for a passive body, otherwise
    only the scale."""
    if kind is BodyKind.PASSIVE:
        switches = "Animated" if ob.rigid_body.type == "PASSIVE" else "Dynamic and Animated"
        field, message = (
            "kinematic",
            f"its location or scale is animated, but it collides as at the first frame; enable {switches} to follow its motion",
        )
    else:
        field, message = (
            "scale",
            "its scale is animated, but its collision shape keeps the size of the first frame; the shape Mesh of an "
            "Animated body follows it with Deforming and the source Deform or Final",
        )
    rest = matrix(ob.evaluated_get(depsgraph).matrix_world)
    return FrozenTransform(ob, None, rest, kind is not BodyKind.PASSIVE, SceneWarning((ob.name_full,), field, message))


def frozen_part(ob: Object, depsgraph: Depsgraph) -> FrozenTransform:
    """Return the constant transform of a part of a compound in it."""
    world, around = (matrix(one.evaluated_get(depsgraph).matrix_world) for one in (ob, ob.parent))
    message = (
        "its location or scale in its compound is animated, but it collides as at the first frame; to follow it, "
        "make it an Animated body that is not parented to the compound"
    )
    warning = SceneWarning((ob.name_full, ob.parent.name_full), "matrix_world", message)
    return FrozenTransform(ob, ob.parent, np.linalg.inv(around) @ world, False, warning)


def have_changed(frozen: Sequence[FrozenTransform], depsgraph: Depsgraph) -> NDArray[np.bool_]:
    """Return those that differ at the displayed frame from the first frame."""
    worlds = matrices_now((one.ob for one in frozen), depsgraph)
    expected = np.array([one.rest for one in frozen]).reshape(-1, 4, 4)
    inner = [row for row, one in enumerate(frozen) if one.within is not None]
    around = matrices_now((one.within for one in frozen if one.within is not None), depsgraph)
    expected[inner] = around @ expected[inner]
    by_scale = np.array([one.only_scale for one in frozen], dtype=np.bool_)
    result = np.zeros(len(frozen), dtype=np.bool_)
    lengths, rest_lengths = (np.linalg.norm(each[by_scale, :3, :3], axis=-2) for each in (worlds, expected))
    result[by_scale] = differ(lengths, rest_lengths, (-1,))
    result[~by_scale] = differ(worlds[~by_scale], expected[~by_scale], (-2, -1))
    return result


def differ(values: Array, expected: Array, axes: tuple[int, ...]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = np.abs(values - expected).max(axis=axes) <= SAME * np.abs(expected).max(axis=axes)
    # Negated, so that NaN counts as a change.
    return ~same


def unfollowed_values(ob: Object, prefixes: tuple[str, ...], followed: Collection[str] = ()) -> Iterator[SceneWarning]:
    """Yield a warning for each value of the object below these paths that is keyed or driven, because its value at the first
    frame applies.

    followed: paths whose keyframes are followed.
    """
    drivers = ob.animation_data.drivers if ob.animation_data is not None else ()
    for source, movers in (("keyframes", actions.curves(ob) or ()), ("drivers", drivers)):
        for path in sorted({one.data_path for one in movers if one.data_path.startswith(prefixes)}):
            if path in SURFACE_PATHS or (path in followed and source == "keyframes"):
                continue
            name = path.rpartition(".")[2]
            message = f"its {source} are not followed; {in_words(name)} keeps the value of the first frame"
            if path == "rigid_body.enabled":
                message += "; to let keyframes move the body from a frame on, key Animated on there"
            yield SceneWarning((ob.name_full,), name, message)


@dataclass(frozen=True)
class Motion:
    """Paths (frames, 7) and deformations (frames, n, 3), in the body axes of each frame, by body name.

    From the first frame with a non-finite transform on, the path is not finite; a bake can follow it up to there.

    problems: motion that cannot be read; these bodies have neither a path nor a deformation. warnings: motion that is ignored.
    """

    paths: dict[str, Array]
    deformations: dict[str, Array]
    problems: tuple[SceneProblem, ...]
    warnings: tuple[SceneWarning, ...]


def read_motion(
    context: Context,
    frames: Iterable[int],
    animated: dict[str, Object],
    deforming: dict[str, Object],
    frozen: Iterable[FrozenTransform],
    count: int,
) -> Steps[Motion]:
    """Read the motion of bodies over frames, each while it is displayed. The first frame determines the topology of meshes.

    count: number of frames, for the status.
    """
    worlds: dict[str, list[Array]] = {name: [] for name in animated}
    vertices: dict[str, list[Array]] = {name: [] for name in deforming}
    followed = animated | deforming
    to_body: dict[str, Array] = {}
    problems: list[SceneProblem] = []
    warnings: list[SceneWarning] = []
    remaining = list(frozen)
    shown = 0
    for frame in frames:
        shown += 1
        yield Step(f"Reading motion, frame {shown} of {count}", shown / count)
        depsgraph = context.evaluated_depsgraph_get()
        changed = have_changed(remaining, depsgraph)
        warnings += [one.warning for one, has in zip(remaining, changed, strict=True) if has]
        remaining = [one for one, has in zip(remaining, changed, strict=True) if not has]
        now = dict(zip(followed, matrices_now(followed.values(), depsgraph), strict=True))
        sound = dict(zip(now, is_solid(np.array([*now.values()]).reshape(-1, 4, 4)), strict=True))
        for name, ob in list(followed.items()):
            try:
                if name in animated:
                    # reports its problem
                    worlds[name].append(now[name] if sound[name] else placed(ob, depsgraph)[0])
                if name in deforming:
                    # A body that is not animated does not move with its object.
                    if name in animated or name not in to_body:
                        world, rotation = placed(ob, depsgraph)
                        to_body[name] = rotation.T @ world[:3, :3]
                    vertices[name].append(vertices_now(ob, vertices[name], context) @ to_body[name].T)
            except NowhereError as error:
                warnings.append(SceneWarning((name,), error.field, f"at frame {frame}: {error}"))
                del followed[name]
            except (PlacementError, ShapeError) as error:
                problems.append(SceneProblem(name, error.field, f"at frame {frame}: {error}"))
                del followed[name]
    refused = {problem.object for problem in problems}
    paths: dict[str, Array] = {}
    for name, rows in worlds.items():
        if name not in refused:
            paths[name] = padded([*poses_of(rows)], shown, np.full(7, np.nan))
            yield Step("Reading motion", 1.0)
    return Motion(
        paths,
        {name: padded(rows, shown, rows[-1]) for name, rows in vertices.items() if name not in refused},
        tuple(problems),
        tuple(warnings),
    )


def poses_of(worlds: list[Array]) -> Array:
    """Return the poses (frames, 7) of a body whose object has the world matrices (4, 4)."""
    matrices = np.array(worlds).reshape(-1, 4, 4)
    turns = rotations.quaternion_of_matrix(rotations.nearest_rotation(matrices[:, :3, :3]))
    return np.concatenate([matrices[:, :3, 3], turns], axis=1)


def padded(rows: list[Array], count: int, row: Array) -> Array:
    """Return this number of rows, with missing rows at the end equal to `row`."""
    return np.array([*rows, *[row] * (count - len(rows))]).reshape(count, *row.shape)


def vertices_now(ob: Object, before: list[Array], context: Context) -> Array:
    """Return the vertices (n, 3) of the object's collision mesh at the displayed frame, as many as before.

    Raises ShapeError.
    """
    vertices = read_mesh(ob, ob.rigid_body.mesh_source, context).vertices
    if before and len(before[0]) != len(vertices):
        raise ShapeError(
            "use_deform",
            f"its modifiers make {len(vertices)} vertices, but {len(before[0])} at the first frame; the number must not "
            "change, so disable the modifier that changes it, or choose the source Deform",
        )
    return vertices
