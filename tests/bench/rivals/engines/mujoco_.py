# SPDX-License-Identifier: GPL-3.0-or-later
"""MuJoCo with elliptic cones, which are Coulomb's; stiff=yes: contacts as stiff as its steps allow, friction above all."""

from __future__ import annotations

import mujoco
import numpy as np
from driver import run


def make(scene, hz, options):
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.cone = 1 / hz, mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.gravity = scene["gravity"]
    surface: dict[str, object] = {"friction": [scene["mu"], 0, 0]}
    if options.get("stiff") == "yes":
        spec.option.impratio = 100
        surface |= {"solref": [2.2 / hz, 1], "solimp": [0.99, 0.9999, 1e-4, 0.5, 2]}
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[50, 50, 1], **surface)
    for half, pose, mass in zip(scene["half"], scene["pose"], scene["mass"], strict=True):
        body = spec.worldbody.add_body(pos=pose[:3], quat=pose[3:])
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, mass=mass, **surface)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return lambda: mujoco.mj_step(model, data), lambda: np.hstack([data.xpos[1:], data.xquat[1:]])


run(make)
