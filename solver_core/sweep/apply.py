# SPDX-License-Identifier: GPL-3.0-or-later
"""Application of a variation to a scene."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..process.command_line import UsageError
from ..scene.spec import BodyKind, BodySpec, SceneSpec, SolverSettings, changed
from ..scene.words import in_words
from ..validation.findings import SceneError, first_few
from ..validation.scene import validate
from .axes import Axis, Variation

__all__ = ["applied", "refuse_axes", "refuse_values"]

Change = Callable[[BodySpec, float], BodySpec]


def of_material(*names: str) -> Change:
    return lambda body, value: replace(body, material=replace(body.material, **dict.fromkeys(names, value)))


def with_mass(body: BodySpec, mass: float) -> BodySpec:
    """Return the body with another mass, and with a given inertia scaled in proportion."""
    inertia = None if body.inertia is None or not body.mass else body.inertia * (mass / body.mass)
    return replace(body, mass=mass, density=None, inertia=inertia)


def with_density(body: BodySpec, density: float) -> BodySpec:
    """Return the body with another density, and with a given inertia scaled in proportion."""
    inertia = None if body.inertia is None or not body.density else body.inertia * (density / body.density)
    return replace(body, density=density, mass=None, inertia=inertia)


SURFACE: dict[str, Change] = {
    "friction": of_material("mu_static", "mu_dynamic"),
    "mu_static": of_material("mu_static"),
    "mu_dynamic": of_material("mu_dynamic"),
    "restitution": of_material("restitution"),
}
# Fields of active bodies only.
MOTION: dict[str, Change] = {
    "mass": with_mass,
    "density": with_density,
    "linear_damping": lambda body, value: replace(body, linear_damping=value),
    "angular_damping": lambda body, value: replace(body, angular_damping=value),
}


def refuse_axes(spec: SceneSpec, axes: tuple[Axis, ...]) -> None:
    """Raise UsageError where an axis names what the scene has not."""
    bodies = {body.name: body for body in spec.bodies}
    for axis in axes:
        label = f"--vary {axis.name!r}"
        if axis.body and axis.body not in bodies:
            raise UsageError(f"{label}: the scene has no rigid body {axis.body!r}; it has {first_few(list(bodies))}")
        named = [bodies[axis.body]] if axis.body else list(spec.bodies)
        moved = [body for body in named if body.kind is BodyKind.ACTIVE]
        if (axis.field in MOTION or axis.field == "seed") and not moved:
            subject = f"{axis.body} is not active" if axis.body else "no body is active"
            raise UsageError(f"{label}: {subject}, and only active bodies have {in_words(axis.field)}")
        for body in moved if axis.field in ("mass", "density") else ():
            if body.inertia is not None and getattr(body, axis.field) is None:
                raise UsageError(f"{label}: the inertia of {body.name} goes with its other measure; vary that")


def applied(spec: SceneSpec, settings: SolverSettings, variation: Variation, nudge: float) -> tuple[SceneSpec, SolverSettings]:
    """Return the scene and the settings with the values of a variation. Values for one body override values for all bodies.

    nudge: largest speed with which a seed pushes bodies [m/s].
    """
    chosen = sorted(zip(variation.axes, variation.values, strict=True), key=lambda pair: bool(pair[0].body))
    for axis, value in chosen:
        if axis.field == "seed":
            spec = nudged(spec, int(value), nudge)
        elif axis.field in SURFACE or axis.field in MOTION:
            spec = with_bodies(spec, axis, float(value))
        else:
            settings = changed(settings, {axis.field: value})
    return spec, settings


def with_bodies(spec: SceneSpec, axis: Axis, value: float) -> SceneSpec:
    change = {**SURFACE, **MOTION}[axis.field]

    def is_meant(body: BodySpec) -> bool:
        has_it = axis.field in SURFACE or body.kind is BodyKind.ACTIVE
        return body.name == axis.body if axis.body else has_it

    return replace(spec, bodies=tuple(change(body, value) if is_meant(body) else body for body in spec.bodies))


def nudged(spec: SceneSpec, seed: int, speed: float) -> SceneSpec:
    """Return the scene with a random velocity of up to `speed` m/s for each active body, uniformly distributed in a ball.

    Bodies that follow a path or are initially asleep are unchanged. The velocity of a body depends only on the seed and its
    name.
    """

    def push(body: BodySpec) -> BodySpec:
        if body.kind is not BodyKind.ACTIVE or body.path is not None or body.starts_asleep:
            return body
        name = int.from_bytes(hashlib.blake2b(body.name.encode(errors="surrogatepass"), digest_size=8).digest())
        rng = np.random.default_rng([abs(seed), int(seed < 0), name])
        direction = rng.normal(size=3)
        by = speed * rng.uniform() ** (1.0 / 3.0) * direction / np.linalg.norm(direction)
        return replace(body, velocity=body.velocity + by * body.linear_factor)

    return replace(spec, bodies=tuple(map(push, spec.bodies)))


def refuse_values(spec: SceneSpec, settings: SolverSettings, axes: tuple[Axis, ...], nudge: float) -> None:
    """Raise UsageError where the scene itself cannot be simulated, or cannot with some value of an axis."""
    try:
        validate(spec, settings)
    except SceneError as error:
        raise UsageError(f"the scene cannot be simulated:\n{error}") from error
    for axis in axes:
        for value in axis.values:
            one = Variation((axis,), (value,))
            try:
                validate(*applied(spec, settings, one, nudge))
            except SceneError as error:
                more = len(error.problems) - 1
                others = f"\nand {more} more of the kind" if more else ""
                raise UsageError(
                    f"--vary: with {one.name} the scene cannot be simulated:\n{error.problems[0]}{others}"
                ) from error
