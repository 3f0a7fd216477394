# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of glTF documents with KHR_physics_rigid_bodies, also those of other programs, as described scenes."""

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
from .gltf_file import BODIES, UP, GltfError, is_number, opened_document
from .gltf_nodes import Nodes, NodeTracks, Track
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
    """Return the scene of a .gltf or .glb file. found: gets a warning for each feature that is left out.

    Raises SceneError with all problems, each with the path of its node. Values of the wrong type may raise other exceptions,
    which `files.read` converts.
    """
    try:
        return described(file, found)
    except GltfError as error:
        raise SceneError((SceneProblem(str(file), "file", str(error)),)) from error


def described(file: Path, found: Found) -> Described:
    document, buffers = opened_document(file)
    nodes, settings = Nodes(document, buffers, found), SolverSettings()
    extension = document.get("extensions", {}).get(BODIES, {})
    spec = empty_scene(extension, found)
    tracks, reader = nodes.tracks(), Reader(document, nodes, extension, found)
    bodies: dict[int, BodySpec] = {}
    looks: dict[str, Look] = {}
    taken: set[str] = set()
    for number, colliders in reader.groups():
        name = nodes.free_name(number, taken)
        body = reader.body(number, colliders, name)
        if body is None:
            continue
        taken.add(name)
        bodies[number] = with_path(nodes, number, body, tracks, spec, found)
        if (look := reader.look(number, body)) is not None:
            looks[name] = look
    found.refuse()
    if not bodies:
        message = "it has no rigid bodies; give nodes KHR_physics_rigid_bodies, or import it with Blender's own glTF"
        raise SceneError((SceneProblem(str(file), "bodies", message),))
    joints, excluded = read_joints(nodes, extension.get("physicsJoints", []), {n: body.name for n, body in bodies.items()})
    rules = [rule_of(extension, name, found) for name in ("frictionCombine", "restitutionCombine")]
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
        # A scene in which nothing moves can be imported; the user can make bodies active.
        for problem in (one for one in error.problems if one.field != "bodies"):
            found.wrong(paths.get(problem.object, problem.object), problem.field, problem.message)
        found.refuse()
    return Described(spec, settings, looks)


def empty_scene(extension: Json, found: Found) -> SceneSpec:
    """Return a scene without bodies, with the gravity and frames that Stiction writes to the extras, or the defaults.

    extension: of the document. Raises SceneError for an invalid frame range, before arrays of that length are allocated.
    """
    extras = extension.get("extras", {})
    kept = extras.get("stiction", {}) if isinstance(extras, dict) else {}
    spec, where = SceneSpec(bodies=()), f"{BODIES}/extras/stiction"
    gravity = kept.get("gravity", spec.gravity)
    if found.is_finite(where, "gravity", gravity) and np.shape(gravity) != (3,):
        found.wrong(where, "gravity", f"it is {gravity}; make it three numbers in m/s^2")
    numbers = {name: kept.get(name, getattr(spec, name)) for name in ("frame_start", "frame_end", "fps", "time_scale")}
    for name, value in numbers.items():
        is_frame = name.startswith("frame")
        if not is_number(value) or (is_frame and not isinstance(value, int)):
            found.wrong(where, name, f"it is {value!r}; make it {'a whole number' if is_frame else 'a number'}")
    found.refuse()
    if not -LAST_FRAME <= numbers["frame_start"] <= numbers["frame_end"] <= LAST_FRAME:
        message = (
            f"the frames {describe(numbers['frame_start'])} to {describe(numbers['frame_end'])} are not a range between "
            f"{-LAST_FRAME} and {LAST_FRAME}; correct it in the file"
        )
        found.wrong(where, "frame_end", message)
    for name in ("fps", "time_scale"):
        if not is_positive(numbers[name]):
            found.wrong(where, name, f"it is {describe(numbers[name])}; make it a finite number above 0")
    found.refuse()
    return replace(spec, gravity=np.array(gravity, dtype=np.float64), **numbers)


def rule_of(extension: Json, name: str, found: Found) -> FrictionCombine:
    """Return the combination rule of the materials, with a warning if they have several.

    name: "frictionCombine" or "restitutionCombine". Of several rules, the one that the schema applies to two such materials.
    """
    names = [material.get(name, "average") for material in extension.get("physicsMaterials", [])]
    rules = [rule for rule in ("average", "minimum", "maximum", "multiply") if rule in names] or ["average"]
    if len(rules) > 1:
        found.odd("physicsMaterials", name, f"a scene here has one rule for all materials; {rules[0]} is used")
    return WRITTEN_AS[rules[0]]


def with_path(
    nodes: Nodes, number: int, body: BodySpec, tracks: dict[int, NodeTracks], spec: SceneSpec, found: Found
) -> BodySpec:
    """Return a kinematic body with the path of its node. Animations of other bodies are left out, with a warning."""
    if body.kind is not BodyKind.ANIMATED:
        if number in tracks:
            reason = "the solver moves it" if body.kind is BodyKind.ACTIVE else "make it kinematic to follow it"
            found.odd(nodes.path(number), "animation", f"its animation is left out: {reason}")
        return body
    frames = spec.frame_end - spec.frame_start + 1
    if number not in tracks:
        pose = np.concatenate([body.position, body.orientation])
        return replace(body, path=np.tile(pose, (frames, 1)))
    seconds = np.arange(frames) * spec.time_scale / spec.fps
    local = nodes.local(number)
    matrices = np.tile(local, (frames, 1, 1))
    translation, rotation = tracks[number]
    if translation is not None:
        times, values = translation
        matrices[:, :3, 3] = np.stack([np.interp(seconds, times, values[:, k]) for k in range(3)], axis=1)
    if rotation is not None:
        matrices[:, :3, :3] = rotations_at(rotation, seconds) * np.linalg.norm(local[:3, :3], axis=0)
    parent = nodes.worlds[number] @ np.linalg.inv(local)
    rows = []
    for matrix in matrices:
        world = parent @ matrix
        rows.append(np.concatenate([world[:3, 3], quaternion_of(nearest_rotation(world[:3, :3]) @ UP)]))
    return replace(body, path=np.array(rows), position=rows[0][:3], orientation=rows[0][3:])


def rotations_at(track: Track, seconds: Array) -> Array:
    """Return the rotations (n, 3, 3) of a track at times (n,); before its first and after its last time it stands still."""
    turns = Rotation.from_matrix(matrix_of(track.values))
    if len(track.times) == 1:
        return np.tile(turns.as_matrix(), (len(seconds), 1, 1))
    return Slerp(track.times, turns)(np.clip(seconds, track.times[0], track.times[-1])).as_matrix()
