# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that are solved are checked once more: what the contact law does not explain is counted by name, and nothing else is.

The wrong scenes are made by taking a part of the stepper away, so that what is solved is not what physics asks for.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.contact.directions import Chosen, Directions
from solver_core.dynamics.look_ahead.impacts import NO_IMPACTS
from solver_core.dynamics.model.violations import Violation
from solver_core.dynamics.solve import lowered_rebounds, step_solver
from solver_core.dynamics.solve.step_solver import StepSolver
from solver_core.scene.parts import box_shape, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec
from solver_core.scenes.plain import card_house

from ..bodies import material

NO_GRAVITY = np.zeros(3)
ACTIVE, PASSIVE = BodyKind.ACTIVE, BodyKind.PASSIVE


def over_tiles() -> SceneSpec:
    """A box at 2 m/s slides over the seams of level tiles."""
    surface = material(0.5)
    tiles = [
        BodySpec(f"Tile {i}", PASSIVE, box_shape((0.5, 2.0, 0.1)), np.array([0.5 * i - 0.05, 0.0, -0.05]), material=surface)
        for i in range(4)
    ]
    place, velocity = np.array([0.0, 0.0, 0.05]), np.array([2.0, 0.0, 0.0])
    box = BodySpec("Box", ACTIVE, box_shape((0.2, 0.2, 0.1)), place, velocity=velocity, mass=1.0, material=surface)
    return SceneSpec((*tiles, box))


def past_an_edge() -> SceneSpec:
    """A box at 20 m/s passes 0.1 mm above another."""
    surface = material(0.5)
    block = BodySpec("Block", PASSIVE, box_shape((0.5, 0.5, 0.5)), np.array([1.0, 0.0, -0.25]), material=surface)
    place, velocity = np.array([0.0, 0.0, 0.1001]), np.array([20.0, 0.0, 0.0])
    box = BodySpec("Box", ACTIVE, box_shape((0.2, 0.2, 0.2)), place, velocity=velocity, mass=1.0, material=surface)
    return SceneSpec((block, box), gravity=NO_GRAVITY)


def two_balls() -> SceneSpec:
    """A ball at 3 m/s meets another of the same kind at 45 degrees."""
    surface, aside = material(0.0, 0.95), 0.1 * math.sin(math.radians(45.0))
    hit = BodySpec("Hit", ACTIVE, sphere_shape(0.05), np.array([0.5, aside, 0.0]), mass=1.0, material=surface)
    velocity = np.array([3.0, 0.0, 0.0])
    moving = BodySpec("Moving", ACTIVE, sphere_shape(0.05), np.zeros(3), velocity=velocity, mass=1.0, material=surface)
    return SceneSpec((moving, hit), gravity=NO_GRAVITY)


def bouncing() -> SceneSpec:
    """Three balls with spin that bounce on the ground and on each other."""
    surface, rng = material(0.3, 0.9), np.random.default_rng(5)
    balls = [
        BodySpec(
            f"Ball {i}",
            ACTIVE,
            sphere_shape(0.05),
            np.array([0.03 * i, 0.02 * i, 0.2 + 0.15 * i]),
            velocity=rng.normal(size=3),
            angular_velocity=5.0 * rng.normal(size=3),
            mass=1.0,
            material=surface,
        )
        for i in range(3)
    ]
    return SceneSpec((ground(surface), *balls))


def heap() -> SceneSpec:
    """Eight cubes that fall on each other with spin."""
    surface, rng = material(0.4), np.random.default_rng(3)
    cubes = []
    for i in range(8):
        place = 0.4 * np.array([i & 1, i >> 1 & 1, 1 + (i >> 2)]) + rng.uniform(-0.05, 0.05, 3)
        turn = rng.normal(size=4)
        cube = BodySpec(
            f"Cube {i}",
            ACTIVE,
            box_shape((0.2, 0.2, 0.2)),
            place,
            turn / np.linalg.norm(turn),
            velocity=rng.normal(size=3),
            angular_velocity=4.0 * rng.normal(size=3),
            mass=1.0,
            material=surface,
        )
        cubes.append(cube)
    return SceneSpec((ground(surface), *cubes))


def found(spec: SceneSpec, frames: int, fps: float = 240.0) -> dict[Violation, set[tuple[str, ...]]]:
    """The names of the bodies of each kind of violation in some frames of one step."""
    out: dict[Violation, set[tuple[str, ...]]] = {}
    for frame in sc.Simulation(spec, fps=fps, substeps=1).run(frames):
        for step, kind in np.argwhere(frame.statistics.violations):
            pair = frame.statistics.violating_pairs[step, kind]
            out.setdefault(Violation(kind), set()).add(tuple(spec.bodies[body].name for body in pair if body >= 0))
    return out


@pytest.fixture
def contacts_of_the_begin(monkeypatch):
    """Contacts stay as they are where a step begins, whatever direction the bodies go in."""

    def choose(self, begin, state, memory, jointed):
        return Chosen(begin.contacts, np.zeros(len(begin.contacts), np.bool_), NO_IMPACTS)

    monkeypatch.setattr(Directions, "choose", choose)


def change_rebounds(monkeypatch, factor):
    """Multiply all speeds that bodies are to part at, and let nothing lower them."""
    build = step_solver.build_system

    def changed(*given):
        problem = build(*given)
        slack = problem.system.slack
        slack[slack < 0.0] *= factor
        return problem

    monkeypatch.setattr(step_solver, "build_system", changed)
    monkeypatch.setattr(lowered_rebounds, "lowered", lambda problem, v: None)


@pytest.mark.parametrize(
    ("scene", "frames"), [(over_tiles, 100), (past_an_edge, 30), (two_balls, 60), (bouncing, 150), (card_house, 20)]
)
def test_nothing_is_said_of_correct_motion(scene, frames):
    assert found(scene(), frames) == {}


@pytest.mark.slow
def test_nothing_is_said_of_a_heap_that_falls():
    assert found(heap(), 250) == {}


def test_a_box_that_a_seam_stops_was_stopped_at_a_distance(contacts_of_the_begin):
    assert found(over_tiles(), 60)[Violation.DISTANCE] == {("Tile 1", "Box")}


def test_a_box_that_an_edge_below_it_stops_was_stopped_at_a_distance(contacts_of_the_begin):
    assert found(past_an_edge(), 30)[Violation.DISTANCE] == {("Block", "Box")}


def test_balls_that_part_along_the_line_between_them_a_step_before_they_meet_bounced_at_a_wrong_angle(contacts_of_the_begin):
    assert found(two_balls(), 20, fps=60.0)[Violation.ANGLE] == {("Moving", "Hit")}


def test_a_rebound_that_is_forgotten_is_a_lost_bounce(monkeypatch):
    change_rebounds(monkeypatch, 0.0)
    assert found(two_balls(), 60) == {Violation.BOUNCE: {("Moving", "Hit")}}


def test_a_rebound_that_is_a_fifth_too_fast_gives_energy(monkeypatch):
    change_rebounds(monkeypatch, 1.2)
    assert found(two_balls(), 60) == {Violation.ENERGY: {("Moving", "Hit")}}


def test_velocities_that_impulses_do_not_give_are_momentum_out_of_nothing(monkeypatch):
    solve = StepSolver._solve_bounces

    def faster(self, *given):
        problem, v, *rest = solve(self, *given)
        return problem, 1.001 * v, *rest

    monkeypatch.setattr(StepSolver, "_solve_bounces", faster)
    assert ("Moving",) in found(two_balls(), 60)[Violation.MOMENTUM]


def test_the_first_pair_of_a_step_that_was_cut_is_kept_and_its_counts_are_added():
    spec = bouncing()
    runs = [sc.Simulation(spec, fps=60.0, substeps=4).run(10) for _ in range(2)]
    for one, other in zip(*runs, strict=True):
        steps = len(one.statistics.status)
        assert one.statistics.violations.shape == (steps, len(Violation))
        assert one.statistics.violating_pairs.shape == (steps, len(Violation), 2)
        np.testing.assert_array_equal(one.statistics.violations, other.statistics.violations)
