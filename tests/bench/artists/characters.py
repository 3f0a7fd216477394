# SPDX-License-Identifier: GPL-3.0-or-later
"""Characters: ragdolls that fall onto stairs, one that falls over, a skirt on springs, hair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.scene import parts
from solver_core.scene.joints import AxisSpec, JointSpec
from solver_core.scene.spec import BodySpec, SceneSpec

from ...core import rigs
from ..heap_scenes import FPS
from .piles import capsule_shape, solid

__all__ = ["doll_that_falls_over", "dolls_on_stairs", "hair", "skirt"]

DOLLS_SEED = 9
LIMIT = AxisSpec(-0.7, 0.7)
STEPS = 8
SKIRT_FRAMES = 90
# name, shape, place in m from the pelvis, kg, parent, place of the joint with it
TRUNK = (
    ("Pelvis", parts.box_shape((0.3, 0.2, 0.2)), (0.0, 0.0, 0.0), 10.0, "", (0.0, 0.0, 0.0)),
    ("Chest", parts.box_shape((0.36, 0.22, 0.4)), (0.0, 0.0, 0.35), 20.0, "Pelvis", (0.0, 0.0, 0.12)),
    ("Head", parts.sphere_shape(0.11), (0.0, 0.0, 0.70), 5.0, "Chest", (0.0, 0.0, 0.58)),
)
LIMBS = (
    ("Arm", capsule_shape(0.05, 0.2), (0.25, 0.0, 0.38), 2.0, "Chest", (0.25, 0.0, 0.52)),
    ("Hand", capsule_shape(0.045, 0.2), (0.25, 0.0, 0.06), 1.5, "Arm", (0.25, 0.0, 0.22)),
    ("Thigh", capsule_shape(0.07, 0.24), (0.1, 0.0, -0.32), 7.0, "Pelvis", (0.1, 0.0, -0.12)),
    ("Shin", capsule_shape(0.055, 0.24), (0.1, 0.0, -0.74), 4.0, "Thigh", (0.1, 0.0, -0.53)),
)


def doll(number: int, at, turn: Rotation) -> tuple[list[BodySpec], list[JointSpec]]:
    """Eleven bodies and the ten joints with limits between them; `at` (3,) m is the place of the pelvis."""
    bodies, joints = [], []
    sides = [(1.0, "", TRUNK), (-1.0, " left", LIMBS), (1.0, " right", LIMBS)]
    rows = [(*row, side, ending) for side, ending, part in sides for row in part]
    for name, shape, place, mass, parent, pivot, side, ending in rows:
        mirror = np.array([side, 1.0, 1.0])
        own = f"{name}{ending} {number}"
        bodies.append(solid(own, shape, at + turn.apply(mirror * place), turn, mass))
        if parent:
            other = f"{parent}{ending if parent in ('Arm', 'Thigh') else ''} {number}"
            where, orientation = at + turn.apply(mirror * pivot), turn.as_quat(scalar_first=True)
            joints.append(JointSpec(f"Joint of {own}", other, own, where, orientation, angular=(LIMIT, LIMIT, LIMIT)))
    return bodies, joints


def with_dolls(base: list[BodySpec], dolls) -> SceneSpec:
    """A scene of passive bodies and of dolls; the ends of a joint do not collide."""
    bodies, joints = list(base), []
    for own, pins in dolls:
        bodies += own
        joints += pins
    apart = tuple((joint.body_a, joint.body_b) for joint in joints)
    return SceneSpec(tuple(bodies), fps=FPS, joints=tuple(joints), excluded=apart)


def dolls_on_stairs(count: int) -> SceneSpec:
    """Dolls at random turns that fall onto stairs. More than 20 begin above each other."""
    random = np.random.default_rng(DOLLS_SEED)
    base = [parts.ground(parts.pair_material(0.5))]
    for i in range(STEPS):
        height = 0.3 * (STEPS - i)
        base.append(solid(f"Step {i}", parts.box_shape((0.5, 12.0, height)), (0.5 * i, 0.0, 0.5 * height)))
    dolls = []
    for k in range(count):
        at = np.array([0.4 + 2.4 * (k % 2), 0.9 * (k // 2 % 10) - 4.0, 4.0 + 2.4 * (k // 20)])
        dolls.append(doll(k, at, Rotation.from_euler("y", random.uniform(-1.2, 1.2))))
    return with_dolls(base, dolls)


def doll_that_falls_over(count: int) -> SceneSpec:
    """Upright dolls, half a meter above the ground and 2 m apart, that fall over and lie."""
    rows = [doll(k, np.array([2.0 * k, 0.0, 1.4]), Rotation.identity()) for k in range(count)]
    return with_dolls([parts.ground(parts.pair_material(0.5))], rows)


def skirt(count: int) -> SceneSpec:
    """A skirt of boxes on springs, five to a chain, around hips that turn to and fro."""
    return replace(rigs.skirt(SKIRT_FRAMES, chains=max(1, count // 5)), fps=FPS)


def hair(count: int) -> SceneSpec:
    """Strands of ten capsules on springs, which hang from a head that nods."""
    return replace(rigs.hair(SKIRT_FRAMES, strands=max(1, count // 10)), fps=FPS)
