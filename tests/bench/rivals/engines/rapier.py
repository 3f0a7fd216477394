# SPDX-License-Identifier: GPL-3.0-or-later
"""Rapier by its wheel rapier3d; iterations=4."""

from __future__ import annotations

import rapier3d
from driver import run


def make(scene, hz, options):
    world = rapier3d.PhysicsWorld(gravity=tuple(scene["gravity"]))
    world.integration_parameters.dt = 1 / hz
    world.integration_parameters.num_solver_iterations = int(options.get("iterations", 4))
    world.add_collider(rapier3d.Collider.cuboid(50, 50, 0.5).translation((0, 0, -0.5)).friction(scene["mu"]))
    handles = []
    for half, pose, mass in zip(scene["half"], scene["pose"], scene["mass"], strict=True):
        place = rapier3d.Isometry3(tuple(pose[:3]), rapier3d.Rotation3(*pose[3:]))
        body = rapier3d.RigidBody.dynamic().can_sleep(options.get("sleep") == "yes").position(place)
        handles.append(world.add_body(body, colliders=[rapier3d.Collider.cuboid(*half).mass(mass).friction(scene["mu"])]))

    def poses():
        bodies = [world.rigid_bodies.get(handle) for handle in handles]
        places = [(body.translation, body.rotation) for body in bodies]
        return [[at.x, at.y, at.z, turn.w, turn.i, turn.j, turn.k] for at, turn in places]

    return world.step, poses


run(make)
