# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads of breakable joints at the start of a scene, and their breaking thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..deformable.reduced import ReducedBody
from ..dynamics.simulation import Simulation
from ..scene.spec import SceneSpec, SolverSettings

__all__ = ["FRAMES", "breaking_loads"]

FRAMES = 2  # frames that are simulated; by then, standing and hanging bodies carry their weight, and few bodies have fallen.


def breaking_loads(
    spec: SceneSpec, settings: SolverSettings, modes: Mapping[int, ReducedBody] | None = None
) -> dict[str, tuple[float, float]]:
    """Return the load and the breaking impulse of each enabled breakable joint, by name.

    The load is the largest impulse of a coordinate in a time step of the first frames, in N s or N m s, if no joint breaks.
    modes: known vibration modes of flexible bodies, by body index; the others are computed.
    """
    chosen = [i for i, joint in enumerate(spec.joints) if joint.enabled and np.isfinite(joint.breaking_impulse)]
    if not chosen:
        return {}
    joints = tuple(replace(joint, breaking_impulse=np.inf, changes=()) for joint in spec.joints)
    simulation = Simulation(replace(spec, joints=joints), settings, modes=modes)
    bears: NDArray[np.float64] = np.zeros(len(joints))

    def look() -> None:
        np.maximum(bears, np.abs(simulation.held_in_step).max(axis=1), out=bears)

    for _ in range(min(FRAMES, spec.frame_end - spec.frame_start)):
        simulation.advance(look)
        look()
    return {spec.joints[i].name: (float(bears[i]), float(spec.joints[i].breaking_impulse)) for i in chosen}
