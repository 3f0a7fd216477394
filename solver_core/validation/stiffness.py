# SPDX-License-Identifier: GPL-3.0-or-later
"""Frequencies of flexible bodies compared with the time step, once their modes are known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..deformable.reduced import MOST_A_STEP, ReducedBody
from ..scene.spec import SceneSpec, SceneWarning, SolverSettings, strongest_gravity
from ..scene.words import figure

__all__ = ["followed_modes", "is_too_stiff", "stiffness_warnings", "swings"]

# Sag under its own weight, relative to a body's longest side, below which bending is invisible even under 100 times the weight.
UNSEEN = 1e-4
USUAL_GRAVITY = 9.81


def followed_modes(body: ReducedBody, spec: SceneSpec, settings: SolverSettings) -> int:
    """Return the number of modes that vibrate. Modes that are too fast for the time step are damped to rest."""
    step = spec.time_scale / (spec.fps * settings.substeps)
    return int(np.count_nonzero(body.omega * step <= MOST_A_STEP))


def is_too_stiff(body: ReducedBody, spec: SceneSpec, settings: SolverSettings, size: float) -> bool:
    """Return True if bending of a body of a given size is invisible: no mode vibrates, and the sag under its weight is
    negligible.

    size: longest side of the body [m].
    """
    sag = (strongest_gravity(spec) or USUAL_GRAVITY) / float(body.omega[0]) ** 2
    return not followed_modes(body, spec, settings) and sag < UNSEEN * size


def swings(body: ReducedBody, spec: SceneSpec, settings: SolverSettings) -> str:
    """Return the first frequency and the number of vibrating modes, in words."""
    count, first = followed_modes(body, spec, settings), figure(float(body.frequencies[0]))
    return f"first frequency {first} Hz, {count} of {len(body.omega)} modes swing"


def stiffness_warnings(spec: SceneSpec, settings: SolverSettings, modes: Mapping[int, ReducedBody]) -> Iterator[SceneWarning]:
    """Yield a warning for each group of equal bodies whose lowest frequency is too high for the time step.

    modes: reduced bodies by body index.
    """
    rate = spec.fps * settings.substeps / spec.time_scale
    alike: dict[str, list[str]] = {}
    field_of: dict[str, str] = {}
    for index, one in modes.items():
        if followed_modes(one, spec, settings):
            continue
        body, first = spec.bodies[index], float(one.frequencies[0])
        fastest = f"{figure(rate)} steps per second resolve {figure(MOST_A_STEP * rate / (2.0 * math.pi))} Hz"
        if is_too_stiff(one, spec, settings, float(np.ptp(body.shape.vertices, axis=0).max())):
            field = "young"
            message = (
                f"its lowest frequency is {figure(first)} Hz, too stiff for visible bending ({fastest}); disable Flexible: a "
                "rigid body looks the same and is faster"
            )
        else:
            field = "substeps"
            wanted = math.ceil(float(one.omega[0]) * settings.substeps / (MOST_A_STEP * rate))
            message = (
                f"its lowest frequency is {figure(first)} Hz, but {fastest}: it bends, but does not ring; {wanted} substeps "
                "resolve it"
            )
        alike.setdefault(message, []).append(body.name)
        field_of[message] = field
    for message, names in alike.items():
        yield SceneWarning(tuple(names), field_of[message], message)
