# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast bodies that bend swing, beside the steps that are to follow it, once their modes are known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..deformable.reduced import MOST_A_STEP, ReducedBody
from ..scene.spec import SceneSpec, SceneWarning, SolverSettings, strongest_gravity
from ..scene.words import figure

__all__ = ["followed_modes", "is_too_stiff", "stiffness_warnings", "swings"]

# Of a body's longest side, m for m: what sags by less under its own weight bends less than is seen under a hundred times that.
UNSEEN = 1e-4
USUAL_GRAVITY = 9.81


def followed_modes(body: ReducedBody, spec: SceneSpec, settings: SolverSettings) -> int:
    """How many modes of a body swing; those that are too fast for the steps are pulled to rest."""
    step = spec.time_scale / (spec.fps * settings.substeps)
    return int(np.count_nonzero(body.omega * step <= MOST_A_STEP))


def is_too_stiff(body: ReducedBody, spec: SceneSpec, settings: SolverSettings, size: float) -> bool:
    """Whether nobody sees a body of that size in m bend: no mode swings, and its weight bends it by next to nothing."""
    sag = (strongest_gravity(spec) or USUAL_GRAVITY) / float(body.omega[0]) ** 2
    return not followed_modes(body, spec, settings) and sag < UNSEEN * size


def swings(body: ReducedBody, spec: SceneSpec, settings: SolverSettings) -> str:
    """The first frequency and how many modes swing, in words."""
    count, first = followed_modes(body, spec, settings), figure(float(body.frequencies[0]))
    return f"first frequency {first} Hz, {count} of {len(body.omega)} modes swing"


def stiffness_warnings(spec: SceneSpec, settings: SolverSettings, modes: Mapping[int, ReducedBody]) -> Iterator[SceneWarning]:
    """One for all bodies alike whose lowest frequency the steps cannot follow. modes: by the indices of bodies."""
    rate = spec.fps * settings.substeps / spec.time_scale
    alike: dict[str, list[str]] = {}
    field_of: dict[str, str] = {}
    for index, one in modes.items():
        if followed_modes(one, spec, settings):
            continue
        body, first = spec.bodies[index], float(one.frequencies[0])
        fastest = f"{figure(rate)} steps a second follow {figure(MOST_A_STEP * rate / (2.0 * math.pi))} Hz"
        if is_too_stiff(one, spec, settings, float(np.ptp(body.shape.vertices, axis=0).max())):
            field = "young"
            message = (
                f"its lowest frequency is {figure(first)} Hz, too stiff to see it bend ({fastest}); switch Flexible off: rigid "
                "is the same, and quicker"
            )
        else:
            field = "substeps"
            wanted = math.ceil(float(one.omega[0]) * settings.substeps / (MOST_A_STEP * rate))
            message = (
                f"its lowest frequency is {figure(first)} Hz, and {fastest}: it bends, but does not ring; {wanted} substeps "
                "follow it"
            )
        alike.setdefault(message, []).append(body.name)
        field_of[message] = field
    for message, names in alike.items():
        yield SceneWarning(tuple(names), field_of[message], message)
