# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints hold bodies of every kind by their own frames: compounds by what they weigh, what deforms where it is placed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.joints import FREE_AXIS, JointSpec
from solver_core.scene.parts import box, box_shape, ground
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..bodies import gaps, poses
from ..meshes import sheet

G, FPS = 9.81, 24.0
ROUGH = MaterialSpec(0.8, 0.8)
BALL = (FREE_AXIS, FREE_AXIS, FREE_AXIS)
UNTURNED = np.array([1.0, 0.0, 0.0, 0.0])


def run(bodies, joints, frames=24, **settings):
    spec = SceneSpec(tuple(bodies), fps=FPS, frame_start=0, frame_end=frames, joints=tuple(joints))
    found = sc.Simulation(spec, **settings).run(frames)
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in found[1:])
    return spec, found


def dumbbell(name, position, mass):
    """A compound of a large cube at its origin and a small one beside it; its centre of mass is 0.2 / 9 m off the origin."""
    parts = (
        ChildSpec(box_shape((0.2, 0.2, 0.2)), np.zeros(3), UNTURNED),
        ChildSpec(box_shape((0.1, 0.1, 0.1)), np.array([0.2, 0, 0]), UNTURNED),
    )
    shape = ShapeSpec(ShapeKind.COMPOUND, children=parts)
    return BodySpec(name, BodyKind.ACTIVE, shape, position=np.asarray(position, dtype=float), mass=mass, material=ROUGH)


@pytest.mark.parametrize("kind", [BodyKind.ACTIVE, BodyKind.PASSIVE, BodyKind.ANIMATED])
def test_a_compound_is_held_by_its_centre_of_mass(kind):
    """One hangs rigidly on another, which is held, or passive, or carried: force and torque are those of what hangs there."""
    above = dumbbell("Above", (0.0, 0.0, 2.0), 5.0)
    joints = [JointSpec("Arm", "Above", "Below", position=np.array([0.0, 0.0, 1.5]))]
    if kind is BodyKind.ACTIVE:
        joints.append(JointSpec("Nail", "", "Above", position=np.array([0.0, 0.0, 2.0])))
    elif kind is BodyKind.PASSIVE:
        above = replace(above, kind=kind, mass=None)
    else:
        path = np.tile([0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0], (25, 1))
        path[:, 0] = 0.5 * np.arange(25) / FPS
        above = replace(above, kind=kind, mass=None, path=path)
    below = replace(dumbbell("Below", (0.0, 0.0, 1.0), 3.0), velocity=np.array([0.5 * (kind is BodyKind.ANIMATED), 0.0, 0.0]))
    _, frames = run([above, below], joints, sleeping=False)
    weight, arm = 3.0 * G, 0.2 / 9.0
    for frame in frames[2:]:
        np.testing.assert_allclose(frame.reactions[0], [0.0, 0.0, weight, 0.0, -weight * arm, 0.0], atol=1e-5 * weight)
    if kind is BodyKind.ACTIVE:
        np.testing.assert_allclose(frames[-1].reactions[1, 2], 8.0 * G, rtol=1e-6)
    travelled = 0.5 if kind is BodyKind.ANIMATED else 0.0
    np.testing.assert_allclose(frames[-1].poses[1, :3], [travelled, 0.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("kind", [BodyKind.PASSIVE, BodyKind.ANIMATED])
def test_a_rope_on_a_mesh_that_deforms_is_where_the_mesh_is_placed_and_not_where_its_surface_goes(kind):
    """As in Blender, where a constraint knows the transforms of its objects alone."""
    points, triangles = sheet(4, 1.0)
    waves = np.array([points + np.array([0.0, 0.0, 0.3 * np.sin(0.5 * frame)]) for frame in range(25)])
    roof = BodySpec(
        "Roof", kind, ShapeSpec(ShapeKind.MESH, waves[0], triangles), position=np.array([0.0, 0.0, 3.0]), deformation=waves
    )
    if kind is BodyKind.ANIMATED:
        path = np.tile([0.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0], (25, 1))
        path[:, 2] += 0.25 * np.arange(25) / FPS
        roof = replace(roof, path=path)
    rises = 0.25 * (kind is BodyKind.ANIMATED)
    load = box("Load", (0.2, 0.2, 0.2), (0.0, 0.0, 2.0), ROUGH, velocity=(0.0, 0.0, rises))
    spec, frames = run(
        [roof, load], [JointSpec("Rope", "Roof", "Load", np.array([0.0, 0.0, 3.0]), angular=BALL)], sleeping=False
    )
    np.testing.assert_allclose(poses(frames, 1)[:, 2], 2.0 + rises * np.arange(25) / FPS, atol=1e-5)
    assert gaps(frames, spec).max() < 1e-6


@pytest.mark.parametrize(("one", "other"), [("box", "compound"), ("compound", "compound")])
def test_what_sleeps_joined_to_something_wakes_with_it(one, other):
    """A box comes down on the first of two that are joined and begin asleep in mid-air; both fall, and the joint holds."""

    def made(kind, name, x):
        body = dumbbell(name, (x, 0.0, 1.0), 1.0) if kind == "compound" else box(name, (0.2, 0.2, 0.2), (x, 0.0, 1.0), ROUGH)
        return replace(body, starts_asleep=True)

    bodies = [
        ground(ROUGH),
        made(one, "One", 0.0),
        made(other, "Other", 0.6),
        box("Falls", (0.1, 0.1, 0.1), (0.0, 0.0, 1.4), ROUGH),
    ]
    spec, frames = run(bodies, [JointSpec("Rope", "One", "Other", np.array([0.4, 0.0, 1.0]), angular=BALL)])
    heights = np.array([frame.poses[1:3, 2] for frame in frames])
    assert (heights[:4] == 1.0).all() and (heights[-1] < 0.4).all()
    assert gaps(frames, spec).max() < 1e-5
