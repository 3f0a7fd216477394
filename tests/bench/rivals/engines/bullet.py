# SPDX-License-Identifier: GPL-3.0-or-later
"""Bullet by pybullet; iterations=10."""

from __future__ import annotations

import pybullet
from driver import run


def make(scene, hz, options):
    pybullet.connect(pybullet.DIRECT)
    pybullet.setGravity(*scene["gravity"])
    pybullet.setPhysicsEngineParameter(fixedTimeStep=1 / hz, numSolverIterations=int(options.get("iterations", 10)))
    # the friction of a pair is the product of both
    surface = {"lateralFriction": scene["mu"] ** 0.5, "linearDamping": 0, "angularDamping": 0, "restitution": 0}

    def add(half, pose, mass):
        shape = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half)
        body = pybullet.createMultiBody(mass, shape, basePosition=pose[:3], baseOrientation=[*pose[4:], pose[3]])
        pybullet.changeDynamics(body, -1, **surface)
        return body

    add([50, 50, 0.5], [0, 0, -0.5, 1, 0, 0, 0], 0)
    boxes = [add(*box) for box in zip(scene["half"], scene["pose"], scene["mass"], strict=True)]

    def poses():
        places = [pybullet.getBasePositionAndOrientation(box) for box in boxes]
        return [[*at, turn[3], *turn[:3]] for at, turn in places]

    return pybullet.stepSimulation, poses


run(make)
