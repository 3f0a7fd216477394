# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a Blender scene's rigid bodies into a `SceneSpec`, and restores the scene.

All problems are reported together. Only the rigid body world's collection determines the bodies: Blender also simulates members
that are hidden, excluded from the view layer, or in no scene.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from bpy.types import Context, PropertyGroup, RigidBodyWorld, Scene
from numpy.typing import NDArray

from ...solver_core.scene.joints import JointChange
from ...solver_core.scene.spec import SceneSpec, SceneWarning, SolverSettings
from ...solver_core.validation.findings import SceneError, SceneProblem, first_few
from ...solver_core.validation.scene import validate
from ..blender.cooperative import Step, Steps, aside_with_kernels, at_once
from ..blender.placement import ancestors
from ..blender.restore import baked_objects, originals
from ..blender.rigid_bodies import bodies_of
from ..settings import properties
from .activation import held_until_woken, read_activations
from .bodies import Bodies, RestState, choice_problems, read_object
from .bonds import read_bonds
from .containers import with_rooms
from .effectors import has_field
from .fields import read_fields
from .gravity import gravity_now, gravity_path, may_change, read_on_the_way
from .initial_motion import in_motion, launched_where_it_appears
from .joints import read_joints, watched, with_changes
from .membership import outside_world
from .motion import read_motion
from .surface_motion import motion_over
from .surface_motion import read_on_the_way as read_surfaces
from .teleports import reading_teleports, teleport_warnings
from .world_values import WorldValues, unfollowed_scene_values

__all__ = ["Extraction", "Inspection", "extract", "extracting", "inspecting"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Extraction:
    """A scene that can be baked. rest: initial states of the objects that the solver moves, by body name."""

    spec: SceneSpec
    settings: SolverSettings
    rest: dict[str, RestState]
    warnings: tuple[SceneWarning, ...]


@dataclass(frozen=True)
class Inspection:
    """All problems and warnings of a scene, and the extraction if there are no problems.

    sound: the scene without invalid bodies and joints, or None.
    """

    extraction: Extraction | None
    sound: Extraction | None
    problems: tuple[SceneProblem, ...]
    warnings: tuple[SceneWarning, ...]


def extract(context: Context) -> Extraction:
    """Read the context's scene. Raises SceneError with all problems; changes nothing in the file."""
    return at_once(extracting(context))


def extracting(context: Context) -> Steps[Extraction]:
    """As steps, between which the scene must not change."""
    found = yield from inspecting(context)
    if found.extraction is None:
        raise SceneError(found.problems)
    return found.extraction


def inspecting(context: Context) -> Steps[Inspection]:
    """Read the context's scene, and say what is wrong with it; changes nothing in the file when it is over, or given up."""
    scene = context.scene
    world = scene.rigidbody_world
    try:
        require_world(scene, world)
    except SceneError as error:
        return Inspection(None, None, error.problems, ())
    with marked(context.window_manager.stiction), originals(scene), undisturbed(scene, world):
        read = yield from reading(context, scene, world)
    return (yield from aside_with_kernels("Checking the scene", partial(judged, read)))


def require_world(scene: Scene, world: RigidBodyWorld | None) -> None:
    def refuse(field: str, message: str) -> None:
        raise SceneError((SceneProblem(scene.name, field, message),))

    if world is None:
        there = sum(ob.rigid_body is not None for ob in scene.objects)
        if there:
            have = "1 object has a rigid body" if there == 1 else f"{there} objects have rigid bodies"
            refuse("rigidbody_world", f"{have}, but the scene has no rigid body world; add it in the Scene properties")
        else:
            refuse("rigidbody_world", "the scene has no rigid body world; add rigid bodies to objects first")
        return
    if not world.enabled:
        refuse("rigidbody_world.enabled", "the rigid body world is disabled; enable it in the Scene properties")
    # Objects that a bake removed from the world are restored during reading.
    if world.collection is None or not (bodies_of(world) or baked_objects(scene)):
        refuse("rigidbody_world.collection", "the rigid body world has no rigid bodies; add some in the Physics properties")


@contextmanager
def marked(session: PropertyGroup) -> Iterator[None]:
    """Context in which other code knows that the scene is temporarily changed."""
    session.is_reading = True
    try:
        yield
    finally:
        session.is_reading = False


@contextmanager
def undisturbed(scene: Scene, world: RigidBodyWorld) -> Iterator[None]:
    """Context without Blender's own simulation. The displayed frame is restored at the end."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    world.enabled = False
    try:
        yield
    finally:
        world.enabled = True
        scene.frame_set(frame, subframe=subframe)


@dataclass(frozen=True)
class Read:
    """All data read from a scene, without references to Blender. lost: names of bodies whose paths could not be read."""

    spec: SceneSpec
    settings: SolverSettings
    rest: dict[str, RestState]
    problems: tuple[SceneProblem, ...]
    warnings: tuple[SceneWarning, ...]
    lost: frozenset[str]


def reading(context: Context, scene: Scene, world: RigidBodyWorld) -> Steps[Read]:
    """Read everything. The first frame stays the one that is shown until all bodies are read, and then each of the others."""
    start, end = properties.effective_frame_range(scene)
    found = Bodies([], [])
    problems, warnings = found.problems, found.warnings
    problems += choice_problems(scene.name, scene.stiction)
    if start > end:
        problems.append(SceneProblem(scene.name, "frame_start", f"the first frame {start} comes after the last frame {end}"))
    times = generations(context)
    show_frame(context, start, times)
    # values at the first frame, if keyed
    settings = properties.effective_settings(scene)
    values = WorldValues()
    values.note(context)
    warnings += [*unfollowed_scene_values(scene), *outside_world(scene)]
    # Sorted by name, because the order in the collection changes when an object is removed and added again.
    objects = sorted((ob for ob in world.collection.all_objects if ob.rigid_body is not None), key=lambda ob: ob.name_full)
    waiting = held_until_woken(scene)
    for number, ob in enumerate(objects):
        read_object(found, ob, context, (start, end), waits=ob.name_full in waiting)
        yield Step(f"Reading body {number + 1} of {len(objects)}", (number + 1) / len(objects))
    bodies, rooms = with_rooms(found.bodies, found.meshes)
    warnings += rooms
    joined = read_joints(world, {body.name for body in bodies}, context)
    bound, odd = read_bonds(scene, bodies, start)
    problems += joined.problems
    warnings += [*joined.warnings, *odd]
    gravity = gravity_now(context)
    fields = read_fields(context, found.rest)
    activations = read_activations(context, found.rest, start)
    problems += activations.problems
    warnings += activations.warnings
    fps = scene.render.fps / scene.render.fps_base
    bodies, lost = in_motion(bodies, found.launched, context, lambda: second_frame(context, start, times, fps))
    problems += lost
    of_bodies = found.animated or found.deforming or found.frozen or found.belts
    moves = of_bodies or joined.keyed or may_change(scene) or fields.may_change(context) or activations.may_change()
    frames = each_frame(context, range(start, end + 1)) if moves else iter(())
    gravities: list[Array] = []
    if moves:
        frames = values.read_on_the_way(context, read_on_the_way(context, frames, gravities))
        frames = activations.read_on_the_way(context, fields.read_on_the_way(context, frames))
    surfaces: dict[str, list[Array]] = {}
    if found.belts:
        frames = read_surfaces(context, frames, found.belts, surfaces)
    states: dict[str, list[JointChange]] = {}
    frames = watched(joined, context, frames, states)
    motion = yield from read_motion(context, frames, found.animated, found.deforming, found.frozen, end - start + 1)
    problems += [*motion.problems, *fields.problems]
    warnings += [*motion.warnings, *fields.warnings]
    settings, of_substeps = values.settings(settings, scene)
    warnings += of_substeps
    bodies = [
        replace(
            body,
            path=motion.paths[body.name][: found.last_followed(body.name)] if body.name in motion.paths else None,
            deformation=motion.deformations.get(body.name),
            starts_asleep=body.starts_asleep and not found.begins_held(body.name),
            surface_motion=motion_over(surfaces[body.name]) if body.name in surfaces else body.surface_motion,
        )
        for body in bodies
    ]
    bodies = yield from reading_teleports(context, bodies, found.animated, start, times)
    bodies = [launched_where_it_appears(body, motion.paths, values.speeds, fps) for body in bodies]
    warnings += teleport_warnings(bodies, start)
    spec = SceneSpec(
        bodies=tuple(bodies),
        gravity=gravity,
        frame_start=start,
        frame_end=end,
        fps=fps,
        time_scale=values.speed,
        speed_path=values.speed_path,
        friction_combine=properties.effective_rule(scene),
        excluded=tuple(sorted(joined.excluded)),
        pairs=properties.effective_pairs(scene),
        joints=(*(with_changes(joint, states.get(joint.name, [])) for joint in joined.joints), *bound),
        gravity_path=gravity_path(gravities),
        fields=fields.specs(float(scene.render.fps)),
        absorbers=fields.absorber_specs(),
        activations=activations.specs(),
    )
    lost_paths = frozenset(problem.object for problem in motion.problems)
    return Read(spec, settings, found.rest, tuple(problems), together(warnings), lost_paths)


def together(warnings: Iterable[SceneWarning]) -> tuple[SceneWarning, ...]:
    """Group equal messages about single objects. Messages about two objects are unchanged."""
    objects: dict[tuple[str, str, object], list[str]] = {}
    for one in warnings:
        key = one.field, one.message, None if len(one.objects) == 1 else one.objects
        objects.setdefault(key, []).extend(one.objects)
    return tuple(SceneWarning(tuple(dict.fromkeys(names)), field, message) for (field, message, _), names in objects.items())


def judged(read: Read) -> Inspection:
    """Return the data and their problems."""
    problems = read.problems
    try:
        validate(read.spec, read.settings)
    except SceneError as error:
        # Bodies and paths that could not be read are not reported as missing, because their problems are known.
        problems += tuple(
            with_strangers(problem, read.warnings)
            for problem in error.problems
            if not (read.problems and problem.field == "bodies")
            and not (problem.object in read.lost and problem.field == "path")
        )
    whole = Extraction(read.spec, read.settings, read.rest, read.warnings)
    if not problems:
        return Inspection(whole, whole, problems, read.warnings)
    rest = replace(whole, spec=without(read.spec, {problem.object for problem in problems}))
    return Inspection(None, rest if is_valid(rest) else None, problems, read.warnings)


def with_strangers(problem: SceneProblem, warnings: Iterable[SceneWarning]) -> SceneProblem:
    """Return a problem of a scene. If no body is active, it names bodies outside the rigid body world."""
    outside = next((one.objects for one in warnings if one.field == "membership"), ())
    if problem.field != "bodies" or not outside:
        return problem
    have = "has a rigid body, but is" if len(outside) == 1 else "have rigid bodies, but are"
    others = f"{first_few(outside)} {have} not in its collection: add them to it"
    message = f"no body in the rigid body world is active; {others}"
    return replace(problem, message=message)


def without(spec: SceneSpec, names: Collection[str]) -> SceneSpec:
    """Return the scene without some of its bodies and joints, and without the joints of those bodies."""
    bodies = tuple(body for body in spec.bodies if body.name not in names)
    there = {"", *(body.name for body in bodies)}
    joints = (joint for joint in spec.joints if joint.name not in names and {joint.body_a, joint.body_b} <= there)
    excluded = tuple(pair for pair in spec.excluded if there.issuperset(pair))
    activations = tuple(
        replace(one, bodies=tuple(name for name in one.bodies if name in there))
        for one in spec.activations
        if one.name not in names
    )
    return replace(spec, bodies=bodies, joints=tuple(joints), excluded=excluded, activations=activations)


def is_valid(extraction: Extraction) -> bool:
    try:
        validate(extraction.spec, extraction.settings)
    except SceneError:
        return False
    return True


def second_frame(context: Context, start: int, times: int, fps: float) -> float:
    """Show the second frame; how long it lasts, in s."""
    show_frame(context, start + 1, times)
    return context.evaluated_depsgraph_get().scene_eval.rigidbody_world.time_scale / fps


def each_frame(context: Context, frames: range) -> Iterator[int]:
    """Yield the frames, each while it is displayed."""
    times = generations(context)
    for frame in frames:
        show_frame(context, frame, times)
        yield frame


def show_frame(context: Context, frame: int, times: int) -> None:
    """Go to a frame, once for each generation of bodies."""
    for _ in range(times):
        context.scene.frame_set(frame)


def generations(context: Context) -> int:
    """Return the number of evaluations after which a frame is complete: more than one if bodies or force fields have bodies
    among their parents.

    For Blender's simulation these are dependency cycles, and each evaluation updates one generation.
    """
    bodies = [ob for ob in context.scene.rigidbody_world.collection.all_objects if ob.rigid_body is not None]
    fields = [ob for ob in context.scene.objects if has_field(ob)]
    return 1 + max((sum(a.rigid_body is not None for a in ancestors(ob)) for ob in (*bodies, *fields)), default=0)
