# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains that hang, of bodies on ball joints."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from solver_core.scene.joints import FREE_AXIS, JointSpec
from solver_core.scene.parts import box
from solver_core.scene.spec import MaterialSpec, SceneSpec

G = 9.81
ALL_FREE = (FREE_AXIS,) * 3


def ball(name, a, b, at, **more):
    return JointSpec(name, a, b, position=np.asarray(at, dtype=float), angular=ALL_FREE, **more)


def scene(bodies, joints, gravity=(0.0, 0.0, -G), fps=240.0, **more):
    return SceneSpec(tuple(bodies), gravity=np.array(gravity), fps=fps, joints=tuple(joints), frame_end=10**6, **more)


def hung_on_a_light_chain(link_mass, swing):
    """Ten links of 10 cm under 50 kg, all turning about the nail as one with so many rad/s."""
    length, links = 0.1, 10
    bodies = [
        box(f"Link {i}", (0.02, 0.02, 0.9 * length), (0.0, 0.0, -(i + 0.5) * length), MaterialSpec(), link_mass)
        for i in range(links)
    ]
    bodies.append(box("Weight", (0.3, 0.3, 0.3), (0.0, 0.0, -links * length - 0.15), MaterialSpec(), 50.0))
    spin = np.array([0.0, swing, 0.0])
    bodies = [replace(one, velocity=np.cross(spin, one.position), angular_velocity=spin) for one in bodies]
    names = ["", *(one.name for one in bodies)]
    joints = [ball(f"Joint {i}", names[i], names[i + 1], (0.0, 0.0, -i * length)) for i in range(links + 1)]
    return scene(bodies, joints, excluded=tuple(pairwise(names[1:])))
