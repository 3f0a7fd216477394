# SPDX-License-Identifier: GPL-3.0-or-later
"""PhysX 5 on the processor, its solver TGS, by sapien; iterations=4."""

from __future__ import annotations

import numpy as np
import sapien
from driver import run
from sapien import physx


def make(scene, hz, options):
    of_scene, of_body = physx.get_scene_config(), physx.get_body_config()
    of_scene.gravity = np.array(scene["gravity"], dtype=np.float32)
    of_scene.enable_tgs, of_scene.enable_ccd = True, False
    physx.set_scene_config(of_scene)
    of_body.solver_position_iterations, of_body.solver_velocity_iterations = int(options.get("iterations", 4)), 1
    if options.get("sleep") != "yes":
        of_body.sleep_threshold = 0.0
    physx.set_body_config(of_body)
    system = physx.PhysxCpuSystem()
    system.timestep = 1 / hz
    world = sapien.Scene([system])
    material = physx.PhysxMaterial(scene["mu"], scene["mu"], 0.0)

    def add(component, half, pose):
        component.attach(physx.PhysxCollisionShapeBox(half_size=half, material=material))
        entity = sapien.Entity()
        entity.add_component(component)
        entity.set_pose(sapien.Pose(pose[:3], pose[3:]))
        world.add_entity(entity)
        return entity

    add(physx.PhysxRigidStaticComponent(), [50, 50, 0.5], [0, 0, -0.5, 1, 0, 0, 0])
    entities = []
    for half, pose, mass in zip(scene["half"], scene["pose"], scene["mass"], strict=True):
        body, sides = physx.PhysxRigidDynamicComponent(), np.array(half)
        entities.append(add(body, half, pose))
        body.mass, body.inertia = mass, mass / 3 * (sides @ sides - sides * sides)
        body.linear_damping = body.angular_damping = 0.0
    return world.step, lambda: [[*entity.pose.p, *entity.pose.q] for entity in entities]


run(make)
