# SPDX-License-Identifier: GPL-3.0-or-later
"""Box3D by its wheel robox3d; substeps=4."""

from __future__ import annotations

import robox3d
from driver import run


def make(scene, hz, options):
    substeps = int(options.get("substeps", 4))
    world = robox3d.World(gravity=scene["gravity"], substeps=substeps, enable_sleep=options.get("sleep") == "yes")
    world.create_body((0, 0, -0.5), kind="static").add_box((50, 50, 0.5), friction=scene["mu"])
    bodies = []
    for half, (x, y, z, *turn), mass in zip(scene["half"], scene["pose"], scene["mass"], strict=True):
        body = world.create_body((x, y, z), (*turn[1:], turn[0]))
        body.add_box(half, density=mass / (8 * half[0] * half[1] * half[2]), friction=scene["mu"])
        bodies.append(body)

    def poses():
        return [[*body.position, body.rotation[3], *body.rotation[:3]] for body in bodies]

    return lambda: world.step(1 / hz, substeps), poses


run(make)
