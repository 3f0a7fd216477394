# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands takes a factorisation or two a step as it begins, however many bodies it has, and none when it has settled."""

from __future__ import annotations

import dataclasses
from functools import partial
from itertools import chain

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.fields.pull import Pull
from solver_core.dynamics.model.frame import Frame
from solver_core.scene.parts import box, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec
from solver_core.solvers.criteria import LARGE

BRICK = np.array([0.4, 0.2, 0.2])


def wall_of_closed_joints(columns: int, courses: int, mirrored: bool) -> SceneSpec:
    """A wall in running bond, half bricks at its ends, whose bricks touch on all sides to the last bit that numbers have."""
    material = pair_material(0.6)
    bodies = [ground(material)]
    for course in range(courses):
        lengths = [1.0] * columns if course % 2 == 0 else [0.5, *[1.0] * (columns - 1), 0.5]
        x = -0.5 * columns
        for i, length in enumerate(lengths):
            at = BRICK * ((x + 0.5 * length) * (-1.0 if mirrored else 1.0), 0.0, course + 0.5)
            bodies.append(box(f"Brick {course} {i}", tuple(BRICK * (length, 1.0, 1.0)), tuple(at), material))
            x += length
    return SceneSpec(tuple(bodies))


@pytest.mark.slow
@pytest.mark.parametrize("mirrored", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_wall_with_closed_joints_stands_for_a_few_factorisations_a_step(mirrored):
    """Nearly none once its bricks have come to their rest offsets; what has no clearance has other contacts in each step until
    then."""
    spec = wall_of_closed_joints(10, 14, mirrored)
    assert len(spec.bodies) - 1 > LARGE
    simulation = sc.Simulation(spec)
    start = simulation.first_frame().poses
    parting, standing = simulation.advance(), simulation.advance()
    for frame in (parting, standing):
        assert (frame.statistics.status == sc.Status.SOLVED).all()
    assert parting.statistics.factorisations[0] <= 3
    assert parting.statistics.factorisations.mean() <= 30
    assert standing.statistics.factorisations.mean() <= 5
    assert np.abs(standing.poses[:, :3] - start[:, :3]).max() <= 1e-3


@pytest.mark.slow
def test_a_wall_beside_a_ball_whose_impacts_cut_each_step_is_not_solved_again():
    """A ball shuttles between two blocks, so that each frame has two partial steps. Forces are the same in all of them.

    With the impulses of the step before instead of its forces, the wall took 1,900 factorizations in twelve frames.
    """
    wall, hard = sc.scenes.wall(courses=6, bricks=4), MaterialSpec(0.5, 0.5, restitution=1.0)
    flies = {"position": np.array([0.0, -2.0, 4.0]), "velocity": np.array([20.0, 0.0, 0.0])}
    ball = BodySpec("Ball", BodyKind.ACTIVE, sphere_shape(0.02), mass=1.0, material=hard, **flies)
    ends = [box(f"End {x}", (0.1, 2.0, 10.0), (x, -2.0, 2.0), hard) for x in (-0.5, 0.5)]
    passive = [dataclasses.replace(end, kind=BodyKind.PASSIVE, mass=None) for end in ends]
    factorisations = []
    for bodies in (wall.bodies, wall.bodies[:1]):
        spec = dataclasses.replace(wall, bodies=(*bodies, *passive, ball))
        frames = list(sc.Simulation(spec, sleeping=False).run(16))[5:]
        assert sum(int(frame.statistics.cuts.sum()) for frame in frames) >= 10
        assert not any(chain.from_iterable(frame.statistics.status.tolist() for frame in frames))
        factorisations.append(sum(int(frame.statistics.factorisations.sum()) for frame in frames))
    beside_the_wall, alone = factorisations
    assert beside_the_wall <= alone + 200


@pytest.mark.slow
def test_a_card_house_of_ten_levels_costs_a_contact_what_one_of_nine_does():
    """155 cards and 126: one is beyond the bound from which islands are taken for large."""
    factorisations = []
    for levels in (9, 10):
        statistics = sc.Simulation(sc.scenes.card_house(levels=levels)).advance().statistics
        assert (statistics.status == sc.Status.SOLVED).all()
        factorisations.append(statistics.factorisations.sum() / statistics.contacts.sum())
    assert factorisations[1] <= 1.5 * factorisations[0]


@pytest.mark.slow
@pytest.mark.parametrize("scene", [partial(sc.scenes.card_house, levels=5), sc.scenes.arch, sc.scenes.wall])
def test_what_stands_awake_moves_by_no_bit_and_takes_no_factorisation(scene):
    simulation = sc.Simulation(scene(), sleeping=False)
    settled = simulation.run(12)[-1]
    for _ in range(24):
        frame = simulation.advance()
        assert (frame.statistics.status == sc.Status.SOLVED).all()
        assert frame.statistics.contacts.min() > 0
        assert frame.statistics.natural_map.max() <= 1e-6
        assert not frame.statistics.factorisations.any()
        np.testing.assert_array_equal(frame.poses, settled.poses)


@pytest.mark.slow
def test_steps_that_are_known_come_out_as_those_that_are_taken():
    """Who is shown each problem has each step taken."""
    spec, shown = sc.scenes.card_house(levels=2), []
    known = sc.Simulation(spec, keep_contacts=True, sleeping=False).run(20)
    taken = sc.Simulation(spec, keep_contacts=True, sleeping=False, see=lambda step, *_: shown.append(step)).run(20)
    assert len(set(shown)) == 20 * sc.SolverSettings().substeps
    for one, other in zip(known, taken, strict=True):
        assert same_but_for_time(one, other)


def test_a_run_goes_on_bit_for_bit_from_where_nothing_moved():
    spec = sc.scenes.card_house(levels=2)
    whole = sc.Simulation(spec, sleeping=False)
    frame = whole.run(14)[-1]
    resumed = sc.Simulation(spec, sleeping=False)
    resumed.restore(frame.frame, whole.checkpoint())
    for _ in range(3):
        assert same_but_for_time(whole.advance(), resumed.advance())


@pytest.mark.slow
def test_what_stands_is_hit_and_pulled_as_if_it_had_never_stood_still():
    """A cube that falls for a second onto two that stand, and later a hand that pulls the lowest away."""
    cube = (0.2, 0.2, 0.2)
    stack = [box(f"Cube {i}", cube, (0.0, 0.0, 0.1 + 0.2 * i), pair_material(0.6)) for i in range(2)]
    spec = SceneSpec((ground(pair_material(0.6)), *stack, box("Falls", cube, (0.05, 0.0, 3.5), pair_material(0.6))))
    known, taken = (sc.Simulation(spec, sleeping=False, see=see) for see in (None, lambda *_: None))
    for frame in range(60):
        if frame == 48:
            known.pull = taken.pull = Pull(1, np.zeros(3), np.array([2.0, 0.0, 0.1]))
        one, other = known.advance(), taken.advance()
        assert same_but_for_time(one, other)
    assert one.poses[1, 0] > 0.1


def same_but_for_time(one: Frame, other: Frame) -> bool:
    """Whether two frames are the same to the last bit, but for the seconds that they took."""
    ours, theirs = (dataclasses.asdict(frame) for frame in (one, other))
    ours["statistics"].pop("seconds")
    theirs["statistics"].pop("seconds")
    np.testing.assert_equal(ours, theirs)
    return True
