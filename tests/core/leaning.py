# SPDX-License-Identifier: GPL-3.0-or-later
"""Boards that lean on each other, edge on edge."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.scene.parts import ground
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from .bodies import material
from .shapes import quaternion


def leaning(size, degrees, gap):
    """Centres and turns of two boards of size (thickness, width, length) in m that lean on each other, edge on edge."""
    thickness, _, length = size
    angle = np.radians(degrees)
    x = 0.5 * (length * np.cos(angle) + thickness * np.sin(angle) + gap)
    z = 0.5 * (length * np.sin(angle) + thickness * np.cos(angle))
    turns = [Rotation.from_rotvec((0.0, -side * np.radians(90.0 - degrees), 0.0)) for side in (-1, 1)]
    return np.array([[-x, 0.0, z], [x, 0.0, z]]), turns


def standing(bodies, turn, mu):
    """A scene of bodies, (shape, place, turn), on the ground, turned as a whole, gravity with it."""
    surface = material(mu)
    floor = ground(surface)
    floor = BodySpec(floor.name, floor.kind, floor.shape, turn.apply(floor.position), quaternion(turn), material=surface)
    active = [
        BodySpec(f"Body {i}", BodyKind.ACTIVE, shape, turn.apply(place), quaternion(turn * own), mass=1.0, material=surface)
        for i, (shape, place, own) in enumerate(bodies)
    ]
    return SceneSpec((floor, *active), gravity=turn.apply((0.0, 0.0, -9.81)))
