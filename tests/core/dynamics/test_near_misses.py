# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that pass each other on either side of a plane keep their motion, whatever their shapes, their spins and the steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial import Delaunay
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.dynamics.model.rest_gaps import REST_OFFSET
from solver_core.scene.parts import box_shape, cylinder_shape, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

Floats = NDArray[np.float64]

CASES, SECONDS, FPS = 16, 0.5, 60
FASTEST_TURN = 0.25  # rad a step; bodies that turn faster are left out at that step length
CLEARANCES = (1.3, 3.0, 20.0)  # rest offsets


class Passing(NamedTuple):
    """A shape, the points whose hull it is but for a margin [m], and the motion of its body."""

    shape: ShapeSpec
    points: Floats
    margin: float
    turn: Rotation
    spin: Floats

    def extremes(self, times: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and the highest z over the center of mass at each time [m]."""
        turns = (Rotation.from_rotvec(np.outer(times, self.spin)) * self.turn).as_matrix()
        heights = turns[:, 2] @ self.points.T
        return heights.min(axis=1) - self.margin, heights.max(axis=1) + self.margin

    @property
    def half_extent(self) -> float:
        return 0.5 * float(np.ptp(self.points, axis=0).max()) + self.margin


def random_hull(random: np.random.Generator, size: Floats) -> Floats:
    """Points on an ellipsoid, relative to the center of mass of their hull."""
    points = random.normal(size=(random.integers(5, 20), 3))
    points *= 0.5 * size / np.linalg.norm(points, axis=1)[:, None]
    simplices = points[Delaunay(points).simplices]
    volumes = np.abs(np.linalg.det(simplices[:, 1:] - simplices[:, :1]))
    return points - volumes @ simplices.mean(axis=1) / volumes.sum()


def random_body(random: np.random.Generator) -> Passing:
    kind, size = random.integers(6), random.uniform(0.05, 0.6, 3)
    turn, spin = Rotation.random(random_state=random.integers(1 << 30)), random.normal(size=3) * random.choice([0.0, 2.0, 6.0])
    if kind == 0:
        return Passing(sphere_shape(0.5 * size[0]), np.zeros((1, 3)), 0.5 * size[0], turn, spin)
    if kind == 1:
        points = random_hull(random, size)
        return Passing(ShapeSpec(ShapeKind.HULL, points), points, 0.0, turn, spin)
    if kind == 2:
        angles = np.linspace(0.0, 2.0 * np.pi, 721)
        rim = 0.5 * size[0] * np.column_stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)])
        middle = np.array([0.0, 0.0, 0.5 * size[1]])
        return Passing(cylinder_shape(0.5 * size[0], size[1]), np.concatenate([rim + middle, rim - middle]), 0.0, turn, spin)
    box = box_shape({3: tuple(size), 4: (size[0], size[1], 0.02), 5: (1.2, 0.03, 0.03)}[int(kind)])
    return Passing(box, box.vertices, box.margin, turn, spin)


def scene_of(seed: int) -> tuple[SceneSpec, float]:
    """Return two bodies that pass each other in the middle of the film, and the faster spin [rad/s].

    B moves in the half-space above a plane that moves with it, A below, and their distance across the plane is smallest then.
    """
    random = np.random.default_rng(seed)
    a, b = random_body(random), random_body(random)
    times = np.linspace(0.0, SECONDS, 4001)
    angle, speed = random.uniform(0.0, 2.0 * np.pi), random.choice([1.0, 5.0, 15.0])
    velocity = speed * np.array([np.cos(angle), np.sin(angle), random.uniform(-0.3, 0.3)])
    distance = b.extremes(times)[0] - a.extremes(times)[1] + velocity[2] * times
    nearest = int(distance.argmin())
    clearance = random.choice(CLEARANCES) * REST_OFFSET * min(a.half_extent, b.half_extent)
    place = np.array([0.0, 0.0, clearance - distance[nearest]]) - times[nearest] * velocity * (1.0, 1.0, 0.0)
    bodies = tuple(
        BodySpec(
            name,
            BodyKind.ACTIVE,
            body.shape,
            position=position,
            orientation=body.turn.as_quat(scalar_first=True),
            velocity=speed_of,
            angular_velocity=body.spin,
            mass=1.0,
            inertia=0.01 * np.eye(3),
            material=pair_material(0.5),
        )
        for name, body, position, speed_of in (("A", a, np.zeros(3), np.zeros(3)), ("B", b, place, velocity))
    )
    spec = SceneSpec(bodies, gravity=np.zeros(3), fps=float(FPS), frame_start=1, frame_end=1 + round(SECONDS * FPS))
    return spec, float(max(np.linalg.norm(a.spin), np.linalg.norm(b.spin)))


@pytest.mark.slow
@pytest.mark.parametrize("rate", [60, 240, 960])
def test_what_passes_on_either_side_of_a_plane_keeps_its_motion(rate):
    tried = 0
    for seed in range(CASES):
        spec, spin = scene_of(seed)
        if spin > FASTEST_TURN * rate:
            continue
        simulation = sc.Simulation(spec, substeps=rate // FPS)
        begin = simulation.first_frame().velocities
        for _ in range(round(SECONDS * FPS)):
            frame = simulation.advance()
        assert np.abs(frame.velocities - begin).max() < 1e-9, f"case {seed}"
        tried += 1
    assert tried > CASES // 2
