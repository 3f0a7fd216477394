# SPDX-License-Identifier: GPL-3.0-or-later
"""Large islands in motion are solved to a tolerance of their own, what stands and what is few to the scene's."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.model.island_motion import (
    CALM,
    CALM_FOR,
    HALF_TIME,
    LEAST_SCALE,
    BodyMotion,
    GravityStep,
    MotionTolerances,
    classify_bodies,
)
from solver_core.dynamics.motion.rotation import matrices
from solver_core.problem.system import System

from ..chains import ball
from ..piles import falling_cubes, pile

FPS = 24
ROWS = ("body_a", "body_b", "jacobian_a", "jacobian_b", "bias")
LAWS = ("cone", "complementarity", "dissipation", "natural_map")


def rotated(turn, vector):
    return matrices(turn[None])[0] @ vector


def worst(frames):
    return max(float(getattr(frame.statistics, name).max(initial=0.0)) for frame in frames for name in LAWS)


@pytest.mark.slow
def test_a_heap_that_tumbles_is_in_motion_to_its_tolerance_and_falls_asleep_soon_after_rest():
    frames = sc.Simulation(falling_cubes(96)).run(10 * FPS)
    moving_bodies = np.concatenate([frame.statistics.moving for frame in frames[1:]])
    status = np.concatenate([frame.statistics.status for frame in frames[1:]])
    assert 64 < moving_bodies.max() <= 96
    assert not status.any()
    assert 1e-6 < worst(frames) <= 1e-3
    moving = [np.abs(after.poses - before.poses).max() > 1e-6 for before, after in pairwise(frames)]
    at_rest = int(np.flatnonzero(moving)[-1]) + 1
    asleep = np.array([frame.statistics.asleep[-1] for frame in frames[1:]])
    assert asleep[-1] == 96
    assert int(np.argmax(asleep == 96)) <= at_rest + FPS
    assert moving_bodies[-1] == 0


def test_what_stands_is_not_in_motion_however_many_it_is():
    frames = sc.Simulation(pile(14, 5), sleeping=False).run(6)
    assert not any(frame.statistics.moving.any() for frame in frames[1:])
    assert worst(frames) <= 1e-6


def test_a_few_that_tumble_keep_the_tolerance_of_the_scene():
    frames = sc.Simulation(falling_cubes(30)).run(FPS)
    assert not any(frame.statistics.moving.any() for frame in frames[1:])
    assert worst(frames) <= 1e-6


def test_a_coarser_tolerance_of_the_scene_is_that_in_motion_too():
    frames = sc.Simulation(falling_cubes(80), tolerance=1e-2, moving_tolerance=1e-4).run(20)
    assert not any(frame.statistics.moving.any() for frame in frames[1:])


def pushed_pile():
    """A pile whose slab slides."""
    spec = pile(14, 5)
    slab = replace(spec.bodies[1], velocity=np.array([1.0, 0.0, 0.0]))
    return replace(spec, bodies=(spec.bodies[0], slab, *spec.bodies[2:]))


def test_a_joint_in_a_pile_in_motion_stays_closed_at_the_tolerance_in_motion():
    spec = pushed_pile()
    first, second = spec.bodies[2], spec.bodies[3]
    middle = 0.5 * (first.position + second.position)
    frames = sc.Simulation(replace(spec, joints=(ball("Joint", first.name, second.name, middle),))).run(6)
    assert frames[-1].statistics.moving.max() == 71
    assert 1e-4 < worst(frames) <= 1e-3
    for frame in frames:
        ends = [
            pose[:3] + rotated(pose[3:], middle - one.position)
            for one, pose in zip((first, second), frame.poses[2:4], strict=True)
        ]
        assert np.linalg.norm(ends[1] - ends[0]) < 1e-5 * np.linalg.norm(second.position - first.position)


def test_what_is_in_motion_is_left_with_half_of_its_rest_offset_and_does_not_overlap():
    frames = sc.Simulation(pushed_pile()).run(6)
    assert max(frame.statistics.deepest_overlap.max() for frame in frames[1:]) <= 1e-15


def test_what_was_published_has_one_tolerance():
    assert sc.Simulation(pushed_pile()).run(1)[-1].statistics.moving.max() == 71
    plain = sc.Simulation(pushed_pile(), staggering="published").run(1)[-1]
    assert plain.statistics.moving.max() == 0


def test_a_bake_goes_on_with_the_islands_in_motion_that_it_had():
    whole = sc.Simulation(pushed_pile())
    whole.run(2)
    assert whole.checkpoint()["moving_members"].any()
    other = sc.Simulation(pushed_pile())
    other.restore(3, whole.checkpoint())
    np.testing.assert_array_equal(other.advance().poses, whole.advance().poses)


def test_an_invalid_tolerance_is_reported_by_name():
    with pytest.raises(sc.SceneError, match="moving_tolerance"):
        sc.Simulation(falling_cubes(2), moving_tolerance=0.0)


def chain_of_contacts(bodies, velocity):
    """Bodies side by side, each with one contact with the next; velocity: (bodies,) across them."""
    m = bodies - 1
    jacobian = np.zeros((m, 3, 6))
    jacobian[:, 0, 0] = jacobian[:, 1, 1] = jacobian[:, 2, 2] = 1.0
    eye = np.tile(np.eye(6).ravel(), bodies)
    v = np.zeros((bodies, 6))
    v[:, 1] = velocity
    return System(
        np.arange(0, 6 * bodies + 1, 6),
        np.arange(0, 36 * bodies + 1, 36),
        eye,
        eye,
        v.ravel(),
        np.arange(m),
        np.arange(1, bodies),
        -jacobian,
        jacobian,
        np.zeros((m, 3)),
        np.zeros(m),
        np.ones(m),
        np.zeros((0, 3, 3)),
        0.0,
    )


def asked_of(system, tumbling, calm=0.0, gravity_speed=0.05):
    """Who tumbles, who is a member, and the tolerances, of bodies some of which tumbled.

    calm: s, for how long all bodies have been calm. gravity_speed: m/s, what gravity gives in a step.
    """
    count = len(tumbling)
    tumbled, member, settled = tumbling.copy(), np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    motion = BodyMotion(tumbled, member, settled, np.full(count, calm), np.zeros(count))
    step, tolerances = GravityStep(gravity_speed, 1.0 / 240.0), MotionTolerances(1e-6, 1e-4, 1e-3)
    tolerance, tumbles, least_scale = classify_bodies(system, np.arange(count), system.velocity, step, tolerances, motion)
    np.testing.assert_array_equal(tumbles, tumbled)
    np.testing.assert_array_equal(least_scale, np.where(member, LEAST_SCALE, 1.0))
    assert not (settled & (tumbled | member)).any()
    return tumbles, member, tolerance


def test_it_is_motion_against_each_other_that_counts():
    carried, stirred = np.full(80, 5.0), np.full(80, 5.0)
    stirred[40] += 0.1
    nobody = np.zeros(80, dtype=bool)
    for velocity, expected, asked in ((carried, False, 1e-6), (stirred, True, 1e-3)):
        tumbling, member, tolerance = asked_of(chain_of_contacts(80, velocity), nobody)
        assert (tumbling == expected).all()
        assert (member == expected).all()
        np.testing.assert_array_equal(tolerance, asked)
    some = nobody.copy()
    some[79] = True
    assert asked_of(chain_of_contacts(80, carried), some)[0].all()
    stirred[40] += 1.0
    system = chain_of_contacts(80, stirred)
    np.testing.assert_array_equal(asked_of(system, nobody)[2], 1e-3)
    for before in (np.zeros(30, dtype=bool), np.ones(30, dtype=bool)):
        tumbling, member, tolerance = asked_of(chain_of_contacts(30, stirred[25:55]), before)
        assert tumbling.all()
        assert not member.any()
        np.testing.assert_array_equal(tolerance, 1e-6)


@pytest.mark.parametrize(("triples", "asked"), [(0, 1e-3), (78, 1e-3), (79, 1e-4), (240, 1e-4)])
def test_an_island_in_motion_with_no_fewer_joints_than_contacts_is_asked_for_a_tenth(triples, asked):
    stirred = np.zeros(80)
    stirred[40] = 1.0
    system = chain_of_contacts(80, stirred)
    more = np.arange(triples) % 79
    rows = {name: np.concatenate([array := getattr(system, name), array[more]]) for name in ROWS}
    joined = system._replace(**rows, box=np.tile([-np.inf, np.inf, 0.0], (triples, 3, 1)))
    np.testing.assert_array_equal(asked_of(joined, np.zeros(80, dtype=bool))[2], asked)


@pytest.mark.parametrize(
    ("calm_for", "speed", "asked"),
    [
        # not calm for long enough, and calm, but faster than an error of the moving tolerance shows
        (0.99 * CALM_FOR, 1e-6, 1e-3),
        (CALM_FOR, 0.9 * CALM * 0.05, 1e-3),
        # the error, relative to ten times 0.05 m/s, is a quarter of the speed
        (CALM_FOR, 1e-3, 0.25 * 1e-3 / 0.5),
        (CALM_FOR, 1e-5, 0.25 * 1e-5 / 0.5),
        # and less, the longer the island has been calm
        (CALM_FOR + HALF_TIME, 1e-3, 0.125 * 1e-3 / 0.5),
        (CALM_FOR + 3.0 * HALF_TIME, 1e-3, 0.03125 * 1e-3 / 0.5),
    ],
)
def test_an_island_that_has_been_calm_is_solved_to_a_part_of_its_motion(calm_for, speed, asked):
    calm = np.zeros(80)
    calm[40:] = speed
    everybody = np.ones(80, dtype=bool)
    tumbling, member, tolerance = asked_of(chain_of_contacts(80, calm), everybody, calm_for)
    assert tumbling.all() and member.all()
    np.testing.assert_allclose(tolerance, asked, rtol=1e-9)


def test_an_island_that_moves_slowly_for_seconds_is_solved_to_the_tolerance_of_the_scene_at_last():
    """A ball beside a wall may roll for minutes, slower than the wall's error: the wall must not creep all that time."""
    calm = np.zeros(80)
    calm[40:] = 1e-3
    tumbling, member, tolerance = asked_of(chain_of_contacts(80, calm), np.ones(80, dtype=bool), CALM_FOR + 9.0 * HALF_TIME)
    assert not tumbling.any() and not member.any()
    np.testing.assert_array_equal(tolerance, 1e-6)


def test_an_island_without_gravity_stands_once_nothing_in_it_moves():
    still = chain_of_contacts(80, np.zeros(80))
    tumbling, member, tolerance = asked_of(still, np.ones(80, dtype=bool), CALM_FOR, gravity_speed=0.0)
    assert not tumbling.any() and not member.any()
    np.testing.assert_array_equal(tolerance, 1e-6)


def test_an_island_stands_once_it_has_the_tolerance_of_the_scene_unless_it_is_stirred():
    everybody, calm = np.ones(80, dtype=bool), np.zeros(80)
    tumbling, member, tolerance = asked_of(chain_of_contacts(80, calm), everybody, CALM_FOR + 10.0 / 240.0)
    assert not tumbling.any() and not member.any()
    np.testing.assert_array_equal(tolerance, 1e-6)
    calm[40:] = 2.0 * CALM * 0.05
    tumbling, member, tolerance = asked_of(chain_of_contacts(80, calm), everybody, CALM_FOR + 10.0 / 240.0)
    assert tumbling.all() and member.all()
    np.testing.assert_array_equal(tolerance, 1e-3)


def test_a_few_bodies_stand_as_soon_as_they_have_been_calm():
    for calm, expected in ((0.5 * CALM_FOR, True), (CALM_FOR, False)):
        tumbling, member, tolerance = asked_of(chain_of_contacts(20, np.zeros(20)), np.ones(20, dtype=bool), calm)
        assert (tumbling == expected).all()
        assert not member.any()
        np.testing.assert_array_equal(tolerance, 1e-6)


def test_a_checkpoint_has_how_long_islands_have_been_calm_and_may_be_of_a_version_that_did_not_know():
    whole, other = sc.Simulation(falling_cubes(2)), sc.Simulation(falling_cubes(2))
    checkpoint = whole.checkpoint()
    checkpoint["calm"][:] = 0.2
    checkpoint["settled"][1] = True
    other.restore(1, checkpoint)
    for name in ("calm", "settled"):
        np.testing.assert_array_equal(other.checkpoint()[name], checkpoint[name])
    other.restore(1, {name: array for name, array in checkpoint.items() if name not in ("calm", "settled")})
    assert not other.checkpoint()["calm"].any() and not other.checkpoint()["settled"].any()
