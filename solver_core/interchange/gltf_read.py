# SPDX-License-Identifier: GPL-3.0-or-later
"""A glTF document with KHR_physics_rigid_bodies, whoever wrote it, as a described scene."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from ..scene.spec import BodyKind, BodySpec, FrictionCombine, SceneSpec, SolverSettings
from ..validation.findings import SceneError, SceneProblem, describe, is_positive
from ..validation.scene import LAST_FRAME, validate
from .described import Described, Found, Look
from .frames import matrix_of, nearest_rotation, quaternion_of
from .gltf_file import BODIES, UP, GltfError, opened_document
from .gltf_nodes import Nodes
from .gltf_read_bodies import Reader
from .gltf_read_joints import read_joints

__all__ = ["read_document"]

Json = dict[str, Any]
Array = NDArray[np.float64]

WRITTEN_AS = {
    "multiply": FrictionCombine.PRODUCT,
    "average": FrictionCombine.AVERAGE,
    "minimum": FrictionCombine.MINIMUM,
    "maximum": FrictionCombine.MAXIMUM,
}


def read_document(file: Path, found: Found) -> Described:
    """Read a .gltf or .glb file; what is left out of it is added to `found`.

    Raises SceneError with all that is wrong, each with the path of its node. Values of the wrong type raise whatever they
    raise; `files.read` converts that.
    """
    try:
        return described(file, found)
    except GltfError as error:
        raise SceneError((SceneProblem(str(file), "file", str(error)),)) from error


def described(file: Path, found: Found) -> Described:
    document, buffers = opened_document(file)
    nodes, settings = Nodes(document, buffers, found), SolverSettings()
    own = document.get("extensions", {}).get(BODIES, {})
    spec = empty_scene(own, found)
    moves, reader = nodes.paths(), Reader(document, nodes, own, found)
    bodies: dict[int, BodySpec] = {}
    looks: dict[str, Look] = {}
    taken: set[str] = set()
    for number, colliders in reader.groups():
        name = nodes.free_name(number, taken)
        body = reader.body(number, colliders, name)
        if body is None:
            continue
        taken.add(name)
        bodies[number] = with_path(nodes, number, body, moves, spec, found)
        if (look := reader.look(number, body)) is not None:
            looks[name] = look
    found.refuse()
    if not bodies:
        message = "it has no rigid bodies; give nodes KHR_physics_rigid_bodies, or import it with Blender's own glTF"
        raise SceneError((SceneProblem(str(file), "bodies", message),))
    joints, excluded = read_joints(nodes, own.get("physicsJoints", []), {n: body.name for n, body in bodies.items()})
    rules = [rule_of(own, name, found) for name in ("frictionCombine", "restitutionCombine")]
    spec = replace(
        spec,
        bodies=tuple(reader.with_collections(bodies)),
        joints=tuple(joints),
        excluded=tuple(sorted(excluded)),
        friction_combine=rules[0],
        restitution_combine=rules[1],
    )
    found.refuse()
    paths = {body.name: nodes.path(number) for number, body in bodies.items()}
    try:
        validate(spec, settings)
    except SceneError as error:
        # one in which nothing moves can be looked at, and made to move
        for problem in (one for one in error.problems if one.field != "bodies"):
            found.wrong(paths.get(problem.object, problem.object), problem.field, problem.message)
        found.refuse()
    return Described(spec, settings, looks)


def empty_scene(own: Json, found: Found) -> SceneSpec:
    """A scene without bodies, with the gravity and frames that only Stiction writes, else the usual ones.

    Raises SceneError for values that make no frames, before memory is asked for as many.
    """
    kept = own.get("extras", {}).get("stiction", {}) if isinstance(own.get("extras", {}), dict) else {}
    spec, where = SceneSpec(bodies=()), f"{BODIES}/extras/stiction"
    gravity = kept.get("gravity", spec.gravity)
    if found.is_finite(where, "gravity", gravity) and np.shape(gravity) != (3,):
        found.wrong(where, "gravity", f"it is {gravity}; make it three numbers in m/s^2")
    numbers = {name: kept.get(name, getattr(spec, name)) for name in ("frame_start", "frame_end", "fps", "time_scale")}
    for name, value in numbers.items():
        is_frame = name.startswith("frame")
        if isinstance(value, bool) or not isinstance(value, int if is_frame else (int, float)):
            found.wrong(where, name, f"it is {value!r}; make it {'a whole number' if is_frame else 'a number'}")
    found.refuse()
    if not -LAST_FRAME <= numbers["frame_start"] <= numbers["frame_end"] <= LAST_FRAME:
        message = (
            f"the frames {describe(numbers['frame_start'])} to {describe(numbers['frame_end'])} are no range between "
            f"{-LAST_FRAME} and {LAST_FRAME}; correct it in the file"
        )
        found.wrong(where, "frame_end", message)
    for name in ("fps", "time_scale"):
        if not is_positive(numbers[name]):
            found.wrong(where, name, f"it is {describe(numbers[name])}; make it a finite number above 0")
    found.refuse()
    return replace(spec, gravity=np.array(gravity, dtype=np.float64), **numbers)


def rule_of(own: Json, name: str, found: Found) -> FrictionCombine:
    """How coefficients are combined; where materials differ in this, as the schema has it for two of them."""
    given = [material.get(name, "average") for material in own.get("physicsMaterials", [])]
    rules = [rule for rule in ("average", "minimum", "maximum", "multiply") if rule in given] or ["average"]
    if len(rules) > 1:
        found.odd("physicsMaterials", name, f"there is one rule in a scene here, {rules[0]}; other materials have others")
    return WRITTEN_AS[rules[0]]


def with_path(
    nodes: Nodes, number: int, body: BodySpec, moves: dict[int, tuple[Array, Array, Array]], spec: SceneSpec, found: Found
) -> BodySpec:
    """A kinematic body with the path of its node; of others a motion is left out."""
    if body.kind is not BodyKind.ANIMATED:
        if number in moves:
            what = "the solver moves it" if body.kind is BodyKind.ACTIVE else "make it kinematic to follow it"
            found.odd(nodes.path(number), "animation", f"its animation is left out: {what}")
        return body
    frames = spec.frame_end - spec.frame_start + 1
    pose = np.concatenate([body.position, body.orientation])
    if number not in moves:
        return replace(body, path=np.tile(pose, (frames, 1)))
    times, places, turns = moves[number]
    now = np.clip(np.arange(frames) * spec.time_scale / spec.fps, times[0], times[-1])
    above = nodes.worlds[number] @ np.linalg.inv(nodes.local(number))
    local = nodes.local(number)
    rows = []
    at = np.stack([np.interp(now, times, places[:, k]) for k in range(3)], axis=1) if len(places) else None
    spin = Slerp(times, Rotation.from_matrix(matrix_of(turns)))(now).as_matrix() if len(turns) > 1 else None
    for frame in range(frames):
        matrix = local.copy()
        if at is not None:
            matrix[:3, 3] = at[frame]
        if spin is not None:
            matrix[:3, :3] = spin[frame] * np.linalg.norm(local[:3, :3], axis=0)
        world = above @ matrix
        rows.append(np.concatenate([world[:3, 3], quaternion_of(nearest_rotation(world[:3, :3]) @ UP)]))
    return replace(body, path=np.array(rows), position=rows[0][:3], orientation=rows[0][3:])
