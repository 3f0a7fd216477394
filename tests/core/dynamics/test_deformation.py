# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that deform push, lift and carry what touches them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.io.snapshot import read_snapshot, write_snapshot
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import validate

from ..meshes import CUBE, sheet

FPS = 24.0
FRAMES = 25
GRIP = MaterialSpec(0.9, 0.9)


def belt(vertices, **more):
    """A passive sheet of 4 x 4 m with its vertices (frames, n, 3)."""
    shape = ShapeSpec(ShapeKind.MESH, vertices[0], sheet(8, 4.0)[1])
    return BodySpec("Belt", BodyKind.PASSIVE, shape, material=GRIP, deformation=vertices, **more)


def moved(displacement):
    """The sheet's vertices at every frame, each moved by displacement(vertices, time)."""
    points, _ = sheet(8, 4.0)
    return np.array([points + displacement(points, frame / FPS) for frame in range(FRAMES)])


def crate(height=0.2):
    box = ShapeSpec(ShapeKind.HULL, CUBE * 0.4)
    return BodySpec("Crate", BodyKind.ACTIVE, box, position=np.array([0.03, 0.05, height]), mass=2.0, material=GRIP)


def scene(*bodies):
    return SceneSpec(bodies, fps=FPS, frame_end=FRAMES)


def test_ground_that_rises_lifts_a_box():
    vertices = moved(lambda points, time: np.array([0, 0, 0.5 * time]))
    frames = sc.Simulation(scene(belt(vertices), crate())).run()
    assert frames[-1].poses[1, 2] == pytest.approx(0.2 + 0.5, abs=1e-3)
    assert frames[-1].velocities[1, 2] == pytest.approx(0.5, abs=1e-6)


def test_a_sheet_that_moves_within_itself_carries_a_box_up_to_its_speed():
    vertices = moved(lambda points, time: np.array([0.6 * time, 0, 0]))
    frames = sc.Simulation(scene(belt(vertices), crate())).run()
    np.testing.assert_allclose(frames[-1].velocities[1, :3], (0.6, 0, 0), atol=1e-4)
    # It slips until mu g t is the belt's speed, and lags by v^2 / (2 mu g) for good.
    lag = 0.6**2 / (2.0 * 0.81 * 9.81)
    assert frames[-1].poses[1, 0] - 0.03 == pytest.approx(0.6 - lag, abs=2e-3)


def test_a_hill_that_grows_beside_a_box_pushes_it_down_the_slope():
    vertices = moved(lambda points, time: np.outer(0.6 * time * np.clip(1.0 - np.abs(points[:, 0] + 0.5), 0, None), (0, 0, 1)))
    slippery = replace(crate(), material=MaterialSpec(0.05, 0.05))
    frames = sc.Simulation(scene(belt(vertices), slippery)).run()
    assert max(frame.poses[1, 2] for frame in frames) > 0.3
    assert frames[-1].poses[1, 0] > 0.5 and frames[-1].poses[1, 2] == pytest.approx(0.2, abs=2e-3)
    assert max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames) < 2e-4


@pytest.mark.slow
def test_deformation_goes_with_an_animated_body():
    """A sheet that sinks in its own axes as fast as its body rises stays where it is, turned over or not."""
    vertices = moved(lambda points, time: np.array([0, 0, 0.4 * time]))
    path = np.zeros((FRAMES, 7))
    path[:, 2] = 0.4 * np.arange(FRAMES) / FPS
    path[:, 3:] = np.roll(Rotation.from_rotvec([np.pi, 0, 0]).as_quat(), 1)
    animated = replace(belt(vertices), kind=BodyKind.ANIMATED, path=path)
    frames = sc.Simulation(scene(animated, crate())).run()
    assert frames[-1].poses[1, 2] == pytest.approx(0.2, abs=1e-3)
    assert np.abs(frames[-1].velocities[1]).max() < 1e-6


@pytest.mark.slow
def test_two_bodies_of_one_mesh_deform_apart():
    still, rising = moved(lambda points, time: np.zeros(3)), moved(lambda points, time: np.array([0, 0, 0.5 * time]))
    far = np.array([20.0, 0, 0])
    bodies = [
        belt(still),
        crate(),
        replace(belt(rising), name="Lift", position=far),
        replace(crate(), name="Load", position=far + np.array([0, 0, 0.2])),
        BodySpec("Plain", BodyKind.PASSIVE, belt(still).shape, position=-far),
    ]
    frames = sc.Simulation(scene(*bodies)).run()
    assert frames[-1].poses[1, 2] == pytest.approx(0.2, abs=1e-3)
    assert frames[-1].poses[3, 2] == pytest.approx(0.7, abs=1e-3)


def test_a_run_resumed_from_a_checkpoint_is_the_same_to_the_last_bit():
    spec = scene(belt(moved(lambda points, time: np.outer(np.sin(4 * time + points[:, 0]), (0, 0, 0.1)))), crate(0.4))
    whole = sc.Simulation(spec)
    frames = whole.run(6)
    checkpoint = whole.checkpoint()
    frames += [whole.advance() for _ in range(4)]
    resumed = sc.Simulation(spec)
    resumed.restore(frames[6].frame, checkpoint)
    for later in frames[7:]:
        np.testing.assert_array_equal(resumed.advance().poses, later.poses)


def test_a_deformation_comes_back_from_its_snapshot(tmp_path):
    spec = scene(belt(moved(lambda points, time: np.array([0, 0, time]))), crate())
    write_snapshot(tmp_path / "scene.stiction", spec, SolverSettings())
    back, _ = read_snapshot(tmp_path / "scene.stiction")
    np.testing.assert_array_equal(back.bodies[0].deformation, spec.bodies[0].deformation)
    assert back.bodies[1].deformation is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: replace(body, kind=BodyKind.ACTIVE, mass=1.0), "active"),
        (lambda body: replace(body, shape=ShapeSpec(ShapeKind.HULL, CUBE)), "shape Mesh"),
        (lambda body: replace(body, deformation=body.deformation[:-1]), "frames"),
        (
            lambda body: replace(
                body, deformation=body.deformation * np.where(np.arange(FRAMES) == 3, np.nan, 1)[:, None, None]
            ),
            "frame 4",
        ),
    ],
)
def test_what_is_wrong_with_a_deformation_is_named(change, words):
    with pytest.raises(SceneError) as raised:
        validate(scene(change(belt(moved(lambda points, time: np.zeros(3)))), crate()), SolverSettings())
    problem = next(problem for problem in raised.value.problems if problem.field == "deformation")
    assert problem.object == "Belt" and words in problem.message
