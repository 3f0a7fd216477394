# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the settling objects and their surroundings at their displayed locations; changes nothing in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from bpy.types import Context, Object, RigidBodyWorld
from numpy.typing import NDArray

from ...solver_core.scene.scatter import scattered
from ...solver_core.scene.settling import settling_scene
from ...solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, SolverSettings
from ...solver_core.validation.findings import SceneError, SceneProblem
from ...solver_core.validation.scene import validate
from ..blender.cooperative import Step, Steps, aside_with_kernels
from ..blender.placement import PlacementError, evaluate, matrices_now, placed
from ..read.bodies import read_body, read_collider
from ..read.containers import with_rooms
from ..read.gravity import gravity_now
from ..read.joints import Joints, read_joints
from ..read.plain_meshes import obstacle_of, plain_body
from ..read.shapes import ShapeError
from ..settings import properties
from .choice import Chosen, LandOn, choose

__all__ = ["Drop", "Options", "reading"]

Array = NDArray[np.float64]

# m/s^2, in the units of the scene; with less gravity, bodies fall slowly
WEAK_GRAVITY = 1.0


@dataclass(frozen=True)
class Options:
    """Options of settling.

    land_on: static objects besides rigid bodies.
    max_seconds: largest simulated time [s].
    gravity: (3,) [m/s^2], None for that of the scene.
    seed, distance, angle: random change of the start [m and rad]; none if both are 0.
    """

    land_on: LandOn = LandOn.BODIES
    max_seconds: float = 10.0
    gravity: tuple[float, float, float] | None = None
    seed: int = 0
    distance: float = 0.0
    angle: float = 0.0

    @property
    def changes_start(self) -> bool:
        """True if the start is changed at random."""
        return self.distance > 0.0 or self.angle > 0.0


@dataclass(frozen=True)
class Drop:
    """A scene that can settle.

    spec, settings: input of the simulation.
    uids: session_uid of the settling objects, by body name.
    worlds, poses: (4, 4) and (7,) initial world matrices and poses, by body name.
    plain: names of objects without a rigid body.
    notes: sentences for the user.
    """

    spec: SceneSpec
    settings: SolverSettings
    uids: dict[str, int]
    worlds: dict[str, Array]
    poses: dict[str, Array]
    plain: frozenset[str]
    notes: tuple[str, ...]


@dataclass
class Found:
    """The data read so far. meshes: names of bodies that may be containers."""

    problems: list[SceneProblem] = field(default_factory=list)
    bodies: list[BodySpec] = field(default_factory=list)
    meshes: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def reading(context: Context, selected: Iterable[Object], options: Options) -> Steps[Drop]:
    """Read the scene as it is shown now, in steps between which nothing of it may be changed.

    Raises SceneError, which names every object that is in the way.
    """
    chosen = choose(context, selected, options.land_on)
    evaluate([*chosen.moving, *chosen.standing], context.view_layer)
    found = Found()
    parts = (*chosen.bodies, *chosen.plain, *chosen.standing, *chosen.meshes)
    for number, _ in enumerate(read_parts(found, chosen, context)):
        yield Step(f"Reading object {number + 1} of {len(parts)}", (number + 1) / len(parts))
    names = {ob.name_full for ob in chosen.moving}
    joined = joints_of(context.scene.rigidbody_world, found, names, context)
    if found.problems:
        raise SceneError(tuple(found.problems))
    gravity = gravity_now(context) if options.gravity is None else np.array(options.gravity, dtype=np.float64)
    require_ground(found, gravity, names, context.scene.name)
    found.notes += gravity_notes(context, gravity)
    bodies, rooms = with_rooms(found.bodies, found.meshes)
    found.notes += [warning.message for warning in rooms]
    spec = SceneSpec(
        bodies=tuple(bodies),
        gravity=gravity,
        friction_combine=properties.effective_rule(context.scene),
        excluded=tuple(sorted(joined.excluded)),
        pairs=properties.effective_pairs(context.scene),
        joints=tuple(joined.joints),
    )
    settings = properties.effective_settings(context.scene)
    dropped = settling_scene(spec, names)
    if options.changes_start:
        dropped = scattered(dropped, names, options.seed, options.distance, options.angle)
    worlds = matrices_now(chosen.moving, context.evaluated_depsgraph_get())
    drop = Drop(
        spec=dropped,
        settings=settings,
        uids={ob.name_full: ob.session_uid for ob in chosen.moving},
        worlds={ob.name_full: world for ob, world in zip(chosen.moving, worlds, strict=True)},
        poses={body.name: np.concatenate([body.position, body.orientation]) for body in spec.bodies if body.name in names},
        plain=frozenset(ob.name_full for ob, _ in chosen.plain),
        notes=tuple(found.notes),
    )
    yield from aside_with_kernels("Checking the scene", partial(validate, dropped, settings))
    return drop


def read_parts(found: Found, chosen: Chosen, context: Context) -> Iterator[None]:
    """Read object by object; what is wrong with one does not keep the others from being read."""
    for ob in chosen.bodies:
        read_into(found, ob.name_full, lambda ob=ob: found.bodies.append(rigid_body(ob, BodyKind.ACTIVE, context)))
        yield
    for ob, meshes in chosen.plain:
        read_into(found, ob.name_full, lambda ob=ob, meshes=meshes: add_plain(found, ob, meshes, context))
        yield
    for ob in chosen.standing:
        read_into(found, ob.name_full, lambda ob=ob: add_standing(found, ob, context))
        yield
    for ob in chosen.meshes:
        add_obstacle(found, ob, context)
        yield


def read_into(found: Found, name: str, read: Callable[[], None]) -> None:
    """Read an object, and note why it cannot be read."""
    try:
        read()
    except PlacementError as error:
        found.problems.append(SceneProblem(name, error.field, str(error)))
    except ShapeError as error:
        found.problems.append(SceneProblem(error.object or name, error.field, str(error)))


def rigid_body(ob: Object, kind: BodyKind, context: Context) -> BodySpec:
    """Return a rigid body at its displayed location."""
    depsgraph = context.evaluated_depsgraph_get()
    world, rotation = placed(ob, depsgraph)
    shape = read_collider(ob, rotation.T @ world[:3, :3], context)
    return read_body(ob, kind, shape, (world[:3, 3], rotation), depsgraph)


def add_plain(found: Found, ob: Object, meshes: Sequence[Object], context: Context) -> None:
    body = plain_body(ob, meshes, context)
    found.bodies.append(body.spec)
    found.notes += [f"{name} is an open mesh, so its convex hull is used" for name in body.open]


def add_standing(found: Found, ob: Object, context: Context) -> None:
    found.bodies.append(rigid_body(ob, BodyKind.PASSIVE, context))
    if ob.rigid_body.collision_shape == "MESH":
        found.meshes.add(ob.name_full)


def add_obstacle(found: Found, ob: Object, context: Context) -> None:
    """Add a mesh object to land on, unless it has no faces."""
    try:
        found.bodies.append(obstacle_of(ob, context))
        found.meshes.add(ob.name_full)
    except (PlacementError, ShapeError) as error:
        found.notes.append(f"nothing lands on {ob.name_full}: {error}")


def joints_of(world: RigidBodyWorld | None, found: Found, moving: set[str], context: Context) -> Joints:
    """Return the rigid body constraints of settling objects, at their present location."""
    if world is None:
        return Joints()
    joined = read_joints(world, {body.name for body in found.bodies}, context)
    of_moving = {joint.name for joint in joined.joints if joint.body_a in moving or joint.body_b in moving}
    joined.joints = [joint for joint in joined.joints if joint.name in of_moving]
    found.notes += [f"{problem.object} holds nothing: {problem.message}" for problem in joined.problems]
    return joined


def require_ground(found: Found, gravity: Array, moving: set[str], scene: str) -> None:
    """Raise SceneError where everything would fall for ever."""
    if gravity.any() and all(body.name in moving for body in found.bodies):
        message = (
            "there is nothing to land on; add a Passive rigid body, or let objects land on all visible meshes (Land On: "
            "Visible Meshes, --land-on meshes)"
        )
        raise SceneError((SceneProblem(scene, "objects", message),))


def gravity_notes(context: Context, gravity: Array) -> Iterator[str]:
    """Yield notes about gravity in a scene with other units."""
    unit, strength = context.scene.unit_settings.scale_length, float(np.linalg.norm(gravity))
    if 0.0 < strength * unit < WEAK_GRAVITY:
        yield (
            f"gravity is {strength * unit:.2g} m/s² in the units of the scene, so objects fall slowly; set Gravity (--gravity "
            f"0 0 {-9.81 / unit:.6g}) for that of the Earth"
        )
