# SPDX-License-Identifier: GPL-3.0-or-later
"""Dolls: eleven bodies, ten joints whose three angles are limited, a tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solver_core.scene.joints import AxisSpec, JointSpec
from solver_core.scene.parts import box_shape, sphere_shape
from solver_core.scene.spec import BodySpec, SceneSpec, ShapeKind, ShapeSpec

from .bodies import body
from .bodies import material as rough

LIMB = AxisSpec(-0.7, 0.7)


def _limb(radius, length):
    return ShapeSpec(ShapeKind.HULL, np.array([[0, 0, -0.5 * length], [0, 0, 0.5 * length]]), margin=radius)


def _parts(scale):
    """Name, shape, place, mass at scale 1, what it hangs on and where."""
    trunk = [
        ("Pelvis", box_shape(scale * np.array([0.3, 0.2, 0.2])), (0, 0, 0), 10.0, None, (0, 0, 0)),
        ("Chest", box_shape(scale * np.array([0.36, 0.22, 0.4])), (0, 0, 0.35), 20.0, "Pelvis", (0, 0, 0.12)),
        ("Head", sphere_shape(scale * 0.11), (0, 0, 0.7), 5.0, "Chest", (0, 0, 0.58)),
    ]
    limbs = []
    for s, side in ((-1, "left"), (1, "right")):
        limbs += [
            (f"Arm {side}", (0.05, 0.2), (0.25 * s, 0, 0.38), 2.0, "Chest", (0.25 * s, 0, 0.52)),
            (f"Hand {side}", (0.045, 0.2), (0.25 * s, 0, 0.06), 1.5, f"Arm {side}", (0.25 * s, 0, 0.22)),
            (f"Thigh {side}", (0.07, 0.24), (0.1 * s, 0, -0.32), 7.0, "Pelvis", (0.1 * s, 0, -0.12)),
            (f"Shin {side}", (0.055, 0.24), (0.1 * s, 0, -0.74), 4.0, f"Thigh {side}", (0.1 * s, 0, -0.53)),
        ]
    return trunk + [(name, _limb(*scale * np.array(sizes)), *rest) for name, sizes, *rest in limbs]


def doll(position=(0.0, 0.0, 0.0), scale=1.0, name="", **changes) -> SceneSpec:
    """A doll whose pelvis is at a position, so many times as large as a man and as dense; changes: of its bodies."""
    bodies, joints, apart = [], [], []
    for part, shape, place, mass, parent, pivot in _parts(scale):
        at = np.asarray(position) + scale * np.asarray(place, dtype=float)
        made = body(part + name, mass=scale**3 * mass, position=at, material=rough(0.5), **changes)
        bodies.append(replace(made, shape=shape))
        if parent is not None:
            at = np.asarray(position) + scale * np.asarray(pivot, dtype=float)
            angular = LIMB, LIMB, LIMB
            joints.append(JointSpec(f"Joint of {part}{name}", parent + name, part + name, position=at, angular=angular))
            apart.append((parent + name, part + name))
    return SceneSpec(tuple(bodies), joints=tuple(joints), excluded=tuple(apart))


def together(*scenes: SceneSpec, bodies: tuple[BodySpec, ...] = ()) -> SceneSpec:
    """Scenes as one, with some more bodies that come first."""
    return SceneSpec(
        bodies + tuple(one for scene in scenes for one in scene.bodies),
        joints=tuple(joint for scene in scenes for joint in scene.joints),
        excluded=tuple(pair for scene in scenes for pair in scene.excluded),
    )
