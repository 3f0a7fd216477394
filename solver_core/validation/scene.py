# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a scene for everything that cannot be simulated, before the first step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from ..scene.field_types import mismatches
from ..scene.spec import BodyKind, ContactMethod, PairSpec, SceneSpec, SceneWarning, SolverSettings
from .activation import activation_problems, activation_warnings
from .bodies import body_problems
from .deformable import bending_problems
from .fields import field_problems, field_warnings
from .findings import SceneError, SceneProblem, describe, is_finite, is_not_negative, is_positive
from .joints import joint_problems, joint_warnings
from .paths import lost_warnings

__all__ = ["LAST_FRAME", "scene_warnings", "validate"]

# Largest absolute value of a frame number. Blender's timeline ends before it.
LAST_FRAME = 2**20

# Names used for problems of no single object.
SCENE = "Scene"
SETTINGS = "Solver settings"
# Names used, with an index, for objects whose own name is invalid.
OWNERS = {"bodies": "Body", "joints": "Joint", "fields": "Field", "absorbers": "Absorber", "activations": "Activation"}


def validate(spec: SceneSpec, settings: SolverSettings) -> None:
    """Check a scene and its settings.

    Raises SceneError with all problems, if there are any.
    """
    # Values are checked only if all of them have their declared types.
    problems = [*type_problems(spec, settings)] or [*scene_problems(spec), *settings_problems(settings)]
    if problems:
        raise SceneError(tuple(problems))


def scene_warnings(spec: SceneSpec) -> tuple[SceneWarning, ...]:
    """Return the warnings about a valid scene.

    Dynamic friction above static friction is a warning and not an error. No dry surface has it, but every step is well posed
    with it, and animating one of the two coefficients should not fail because of the other.
    """
    stuttering = (
        SceneWarning(
            (body.name,),
            "mu_dynamic",
            f"dynamic friction {body.material.mu_dynamic:g} is above static friction {body.material.mu_static:g}: "
            "a body that starts to slide is braked harder and may stutter; on real surfaces it is the other way around",
        )
        for body in spec.bodies
        if body.material.mu_dynamic > body.material.mu_static
    )
    return (
        *stuttering,
        *grain_warnings(spec),
        *lost_warnings(spec),
        *joint_warnings(spec),
        *field_warnings(spec),
        *activation_warnings(spec),
    )


def grain_warnings(spec: SceneSpec) -> Iterator[SceneWarning]:
    """Yield the warnings about the grains of surfaces."""
    there = {body.material.name for body in spec.bodies}
    in_table = {name for pair in spec.pairs if {pair.a, pair.b} <= there for name in (pair.a, pair.b)}
    for body in spec.bodies:
        grain, name = body.material.grain, body.material.name
        if grain is None:
            continue
        if grain.mu_dynamic > grain.mu_static:
            message = (
                f"dynamic friction across the grain, {grain.mu_dynamic:g}, is above static friction across it, "
                f"{grain.mu_static:g}: a body that starts to slide is braked harder and may stutter"
            )
            yield SceneWarning((body.name,), "grain.mu_dynamic", message)
        if name in in_table:
            message = (
                f"its material {name!r} is in the table of pairs, whose friction is equal in all directions, so its grain "
                "has no effect against the materials paired with it there"
            )
            yield SceneWarning((body.name,), "grain", message)


def type_problems(spec: SceneSpec, settings: SolverSettings) -> Iterator[SceneProblem]:
    """Yield the values that do not have their declared type.

    Fields of a shape and of a material are reported for the body, and fields of an axis for the joint.
    """
    for path, message in mismatches(settings, SolverSettings):
        yield SceneProblem(SETTINGS, ".".join(path) or "settings", message)
    for path, message in mismatches(spec, SceneSpec):
        owner = SCENE
        if len(path) > 2 and path[0] in OWNERS:
            name = getattr(spec, path[0])[int(path[1])].name
            owner, path = name if isinstance(name, str) else f"{OWNERS[path[0]]} {path[1]}", path[2:]
        parts = [part for part in path[:-1] if part not in ("shape", "material")]
        yield SceneProblem(owner, ".".join([*parts, *path[-1:]]) or "scene", message)


def scene_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of a scene whose values have the declared types."""
    if not spec.bodies:
        yield SceneProblem(SCENE, "bodies", "there are no rigid bodies; add some and make at least one of them Active")
    elif not any(body.kind is BodyKind.ACTIVE for body in spec.bodies):
        yield SceneProblem(SCENE, "bodies", "no body is active, so nothing would move; make at least one body Active")
    for name, count in Counter(body.name for body in spec.bodies).items():
        if count > 1:
            yield SceneProblem(name, "name", f"{count} bodies have this name; give each its own")
    yield from excluded_problems(spec)
    yield from pair_problems(spec.pairs)
    if spec.frame_end < spec.frame_start:
        message = f"the last frame {spec.frame_end} comes before the first, {spec.frame_start}; choose a later one"
        yield SceneProblem(SCENE, "frame_end", message)
    elif spec.frame_start < -LAST_FRAME or spec.frame_end > LAST_FRAME:
        message = f"frames {spec.frame_start} to {spec.frame_end} are not between {-LAST_FRAME} and {LAST_FRAME}"
        yield SceneProblem(SCENE, "frame_end", f"{message}; choose a shorter range")
    if not is_positive(spec.fps):
        yield SceneProblem(SCENE, "fps", f"is {spec.fps}; frames per second must be above 0 and finite")
    if not is_positive(spec.time_scale):
        message = f"is {spec.time_scale}; the speed of the simulation must be above 0 and finite"
        yield SceneProblem(SCENE, "time_scale", message)
    yield from gravity_problems(spec)
    yield from speed_problems(spec)
    bricks: dict[str, list[tuple[str, str]]] = {}
    for body in spec.bodies:
        yield from body_problems(body, spec)
        yield from bending_problems(body, bricks)
    yield from joint_problems(spec)
    yield from field_problems(spec)
    yield from activation_problems(spec)


def gravity_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of gravity, at the first frame or at later ones."""
    if not is_finite(spec.gravity, (3,)):
        yield SceneProblem(SCENE, "gravity", f"is {describe(spec.gravity)}; it must be three finite numbers in m/s^2")
    if spec.gravity_path is None:
        return
    frames = max(spec.frame_end - spec.frame_start + 1, 0)
    if np.shape(spec.gravity_path) != (frames, 3):
        message = f"has the shape {np.shape(spec.gravity_path)}; {frames} frames need ({frames}, 3)"
        yield SceneProblem(SCENE, "gravity_path", message)
    elif not is_finite(spec.gravity_path, (frames, 3)):
        first = spec.frame_start + int(np.argmin(np.isfinite(spec.gravity_path).all(axis=1)))
        yield SceneProblem(SCENE, "gravity_path", f"gravity at frame {first} is not finite; check its animation there")


def speed_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of the simulation speed per frame."""
    if spec.speed_path is None:
        return
    frames = max(spec.frame_end - spec.frame_start + 1, 0)
    speeds = np.asarray(spec.speed_path)
    if np.shape(speeds) != (frames,):
        message = f"has the shape {np.shape(speeds)}; {frames} frames need ({frames},)"
        yield SceneProblem(SCENE, "speed_path", message)
        return
    wrong = np.flatnonzero(~(np.isfinite(speeds) & (speeds >= 0.0)))
    if len(wrong):
        frame, value = spec.frame_start + int(wrong[0]), speeds[wrong[0]]
        yield SceneProblem(SCENE, "speed_path", f"the speed at frame {frame} is {value:g}; it must be 0 or more and finite")
    elif frames > 1 and not speeds[1:].any():
        yield SceneProblem(SCENE, "speed_path", "the speed is 0 at every frame, so nothing would move; raise it somewhere")
    elif frames > 1 and is_positive(spec.time_scale) and spec.time_scale != speeds[1:].max():
        message = f"the largest speed is {speeds[1:].max():g}, but the time scale is {spec.time_scale:g}; make them equal"
        yield SceneProblem(SCENE, "speed_path", message)


def excluded_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of the pairs of bodies that do not collide."""
    names = {body.name for body in spec.bodies}
    for pair in spec.excluded:
        if len(pair) != 2 or pair[0] == pair[1]:
            yield SceneProblem(
                SCENE, "excluded", f"{', '.join(map(repr, pair))}: name two different bodies that do not collide"
            )
        for name in sorted(set(pair) - names):
            message = f"{name!r} is not a body of the scene; name two of its bodies that do not collide"
            yield SceneProblem(SCENE, "excluded", message)


def pair_problems(pairs: tuple[PairSpec, ...]) -> Iterator[SceneProblem]:
    """Yield the problems of the pairs of materials."""
    for pair in pairs:
        of_pair = f"of {pair.a!r} and {pair.b!r}"
        if not pair.a or not pair.b:
            yield SceneProblem(SCENE, "pairs", f"the pair {of_pair} has an empty name; name two materials")
        for value, kind in ((pair.mu_static, "static"), (pair.mu_dynamic, "dynamic")):
            if not is_not_negative(value):
                message = f"the {kind} friction {of_pair} is {value}; it must be 0 or more and finite"
                yield SceneProblem(SCENE, "pairs", message)
    for names, count in Counter(tuple(sorted((pair.a, pair.b))) for pair in pairs).items():
        if count > 1:
            message = f"{' and '.join(map(repr, names))} are {count} pairs; keep one of them"
            yield SceneProblem(SCENE, "pairs", message)


def settings_problems(settings: SolverSettings) -> Iterator[SceneProblem]:
    """Yield the problems of the solver settings."""
    for field, usual in (("tolerance", "1e-6"), ("moving_tolerance", "1e-3")):
        value = getattr(settings, field)
        if not is_positive(value):
            yield SceneProblem(SETTINGS, field, f"is {value}; choose a number above 0, such as {usual}")
    if not settings.max_iterations >= 1:
        yield SceneProblem(SETTINGS, "max_iterations", f"is {settings.max_iterations}; allow at least 1")
    if not settings.substeps >= 1:
        yield SceneProblem(SETTINGS, "substeps", f"is {settings.substeps}; a frame needs at least 1")
    if settings.polygon_sides != 0 and not settings.polygon_sides >= 3:
        message = f"is {settings.polygon_sides}; choose 0 for the exact friction cone, or 3 or more sides"
        yield SceneProblem(SETTINGS, "polygon_sides", message)
    elif settings.polygon_sides != 0 and settings.method is not ContactMethod.STAGGERED:
        name = settings.method.value
        message = f"is {settings.polygon_sides}, but the method {name} has only the exact friction cone; choose 0, or staggered"
        yield SceneProblem(SETTINGS, "polygon_sides", message)
    if not (settings.step_time_limit >= 0.0 and np.isfinite(settings.step_time_limit)):
        message = f"is {settings.step_time_limit}; choose the seconds per step, or 0 for no limit"
        yield SceneProblem(SETTINGS, "step_time_limit", message)
    if not (settings.recovery_speed > 0.0 and np.isfinite(settings.recovery_speed)):
        message = f"is {settings.recovery_speed}; choose a positive number of half extents per second"
        yield SceneProblem(SETTINGS, "recovery_speed", message)
