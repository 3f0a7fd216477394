# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene in which bodies settle: some are released at rest, and all others are static."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from .spec import BodyKind, BodySpec, SceneSpec

__all__ = ["FRAME_RATE", "settling_scene"]

FRAME_RATE = 24.0  # frames per second of simulated time: rest is judged as often
DENSITY_OF_WATER = 1000.0  # kg/m^3, of a moving body that has neither a mass nor a density


def settling_scene(spec: SceneSpec, moving: Collection[str] | None = None) -> SceneSpec:
    """Make the scene in which bodies settle.

    The moving bodies start at rest in their present poses, rigid and awake. All others are static. Joints are active; force
    fields, animation, changes of joints and breaking thresholds are ignored.

    Parameters
    ----------
    spec : the scene as it is.
    moving : names of the bodies that move; None for all active ones.

    Raises
    ------
    ValueError : a name is not that of a body, or nothing would move.
    """
    chosen = {body.name for body in spec.bodies if body.kind is BodyKind.ACTIVE} if moving is None else set(moving)
    unknown = sorted(chosen - {body.name for body in spec.bodies})
    if unknown:
        raise ValueError(f"moving: the scene has no body named {unknown[0]!r}")
    if not chosen:
        raise ValueError("moving: nothing would move; make at least one body active, or name a body")
    joints = tuple(
        replace(joint, changes=(), breaking_impulse=math.inf)
        for joint in spec.joints
        if joint.enabled and (joint.body_a in chosen or joint.body_b in chosen)
    )
    return replace(
        spec,
        bodies=tuple(let_go(body) if body.name in chosen else stood(body) for body in spec.bodies),
        joints=joints,
        gravity_path=None,
        fields=(),
        absorbers=(),
        activations=(),
        frame_start=0,
        frame_end=1,
        fps=FRAME_RATE,
        time_scale=1.0,
    )


def let_go(body: BodySpec) -> BodySpec:
    """Return the body as one that the solver moves from rest."""
    density = DENSITY_OF_WATER if body.mass is None and body.density is None else body.density
    return replace(body, kind=BodyKind.ACTIVE, density=density, **at_rest())


def stood(body: BodySpec) -> BodySpec:
    """Return the body as a static obstacle."""
    return replace(body, kind=BodyKind.PASSIVE, **at_rest())


def at_rest() -> dict[str, Any]:
    """Return the field values of a rigid body at rest."""
    still = {"velocity": np.zeros(3), "angular_velocity": np.zeros(3), "starts_asleep": False}
    return still | {"path": None, "deformation": None, "deformable": None}
