# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields in Blender for tests, what Bullet's motion tells of them, and what the solver makes of the same scene."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from .joints import simulated
from .objects import read

# m; none is at a place where a falloff jumps
PLACES = ((0.7, 0.4, -0.3), (-0.6, 0.9, 0.5), (0.2, -1.3, 0.9), (-1.1, -0.4, -0.8), (0.35, 0.15, 1.6))
SINGLE = 2.0**-24  # of a number in single precision: what its last digit is off


def add_field(kind, location=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0), name="Field", ob=None, **values):
    """An empty, or another object, with a force field."""
    if ob is None:
        ob = bpy.data.objects.new(name, None)
        bpy.context.scene.collection.objects.link(ob)
    ob.location, ob.rotation_euler = location, rotation
    bpy.context.view_layer.objects.active = ob
    if ob.field is None or ob.field.type == "NONE":
        bpy.ops.object.forcefield_toggle()
    ob.field.type = kind
    # what an operator or a type sets by itself
    ob.field.shape, ob.field.flow, ob.field.noise = "POINT", 0.0, 0.0
    for key, value in values.items():
        setattr(ob.field, key, value)
    bpy.context.view_layer.update()
    return ob


def free_bodies(scene, make_body, mass, places=PLACES):
    """Bodies that nothing holds, damps or touches, in a scene without gravity that has one substep a frame."""
    scene.use_gravity = False
    scene.rigidbody_world.substeps_per_frame = 1
    result = []
    for index, place in enumerate(places):
        ob = make_body(f"Body {index}")
        ob.location = place
        own = ob.rigid_body
        own.mass, own.linear_damping, own.angular_damping = mass, 0.0, 0.0
        own.collision_collections = [number == index for number in range(20)]
        result.append(ob)
    return result


@dataclass(frozen=True)
class Measured:
    """What Bullet did to n bodies in each of several steps: positions and velocities (steps, n, 3) at its begin, the force
    (steps, n, 3) in N in it, and what that may be off (steps, n), since positions are told in
    single precision."""

    position: np.ndarray
    velocity: np.ndarray
    force: np.ndarray
    uncertainty: np.ndarray


def bullet_forces(frames, bodies) -> Measured:
    """Forces of fields alone, out of the velocities that Bullet's bodies gain in a step."""
    rate, mass = bpy.context.scene.render.fps, bodies[0].rigid_body.mass
    position = simulated(frames, *bodies)[:, :, :3, 3]
    velocity = np.diff(np.concatenate([position[:1], position]), axis=0) * rate
    force = mass * np.diff(velocity, axis=0) * rate
    rounded = SINGLE * np.linalg.norm(position, axis=2)
    # of three positions, the middle one twice
    uncertainty = mass * rate**2 * (rounded[1:] + rounded[:-1] * 2.0 + rounded[[0, *range(len(rounded) - 2)]])
    return Measured(position[:-1], velocity[:-1], force, uncertainty)


def solver_forces(tmp_path: Path, measured: Measured) -> np.ndarray:
    """(steps, n, 3) N: what the solver's fields do to the same bodies at the same places."""
    from solver_core.dynamics.fields.fields import Fields
    from solver_core.dynamics.model.bodies import build_bodies
    from solver_core.io.snapshot import read_snapshot
    from stiction.solver_core.io.snapshot import write_snapshot

    extraction = read()
    write_snapshot(tmp_path / "scene", extraction.spec, extraction.settings)
    spec, _ = read_snapshot(tmp_path / "scene")
    bodies, state = build_bodies(spec)
    names = [body.name for body in spec.bodies]
    chosen = np.array([names.index(f"Body {index}") for index in range(measured.position.shape[1])])
    fields, result = Fields(spec, bodies, 1), []
    for step, (position, velocity) in enumerate(zip(measured.position, measured.velocity, strict=True)):
        state.position[chosen], state.velocity[chosen] = position, velocity
        effects = fields.effects(step + 1, state, bodies.model.dof >= 0)
        force = effects.force + np.cross(state.velocity, effects.magnetic) - effects.drag[:, None] * state.velocity
        result.append(force[chosen])
    return np.array(result)
