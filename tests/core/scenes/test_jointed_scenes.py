# SPDX-License-Identifier: GPL-3.0-or-later
"""The demos with joints end as their names promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import solver_core as sc
from solver_core.bake.joints import breaking_warnings
from solver_core.dynamics.motion.rotation import matrices
from solver_core.scenes import jointed as jointed_scenes


def index(spec, name):
    return [body.name for body in spec.bodies].index(name)


def apart(spec, frame) -> np.ndarray:
    """How far the two ends of each joint are from each other, m."""
    first = {body.name: (body.position, matrices(body.orientation[None])[0]) for body in spec.bodies}
    now = {
        body.name: (pose[:3], matrices(np.ascontiguousarray(pose[None, 3:]))[0])
        for body, pose in zip(spec.bodies, frame.poses, strict=True)
    }

    def end(name, at):
        (old, turned), (new, turn) = first[name], now[name]
        return new + turn @ turned.T @ (at - old)

    return np.array([np.linalg.norm(end(j.body_a, j.position) - end(j.body_b, j.position)) for j in spec.joints])


@pytest.mark.slow
def test_a_chain_between_two_posts_catches_a_box_and_stays_whole():
    spec = jointed_scenes.hanging_chain()
    frames = sc.Simulation(spec).run(48)
    gaps = np.array([apart(spec, frame).max() for frame in frames])
    # a hundredth of a link when it is hit, and hardly anything afterwards
    assert gaps.max() < 1e-3 and gaps[-1] < 1e-4
    load = np.array([frame.poses[index(spec, "Load"), 2] for frame in frames])
    assert load[20:].min() > 0.7 and load[20:].max() < load[0]


@pytest.mark.slow
def test_rings_that_go_through_each_other_hang_from_each_other():
    """Each is as far from the next as a taut chain allows: had one left the other, both would lie on the ground."""
    spec = jointed_scenes.chain_of_rings(links=5)
    frames = sc.Simulation(spec).run(24)
    rings = np.array([frame.poses[index(spec, "Ring 1") :, :3] for frame in frames])
    apart_by = np.linalg.norm(np.diff(rings, axis=1), axis=2)
    # as far as the two inner edges are from the middles of the rings, but for the flats of their polygons
    assert apart_by[0] == pytest.approx(np.full(4, 0.171), rel=1e-2)
    assert apart_by.max() < 2.0 * 0.09 + 1e-3 and apart_by[-1].min() > 0.9 * 2.0 * 0.09
    assert rings[-1, :, 2].min() > 1.3
    assert max(apart(spec, frame).max() for frame in frames) < 1e-4
    assert max(frame.statistics.deepest_overlap.max() for frame in frames[1:]) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("planks", [20, pytest.param(50, marks=pytest.mark.long)])
def test_a_bridge_of_planks_stands_under_a_thousandfold_load_and_pulls_at_its_banks_as_a_hanging_chain_does(planks):
    """Nobody moves by a tenth of a millimetre, and no rope opens by a thousandth of one."""
    spec = jointed_scenes.rope_bridge(planks=planks)
    frames = sc.Simulation(spec, substeps=jointed_scenes.BRIDGE_SUBSTEPS, sleeping=False).run(18)
    poses = np.array([frame.poses for frame in frames])
    assert np.linalg.norm((poses - poses[0])[:, :, :3], axis=2).max() < 1e-4
    assert max(apart(spec, frame).max() for frame in frames) < 1e-6
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames[1:])
    # weights to either side of the middle of the loaded plank are borne by the bank on that side, both pull alike
    middle = (planks - 1) // 2
    pull = 0.5 * 1002.0 * 9.81 / 0.5
    borne = np.mean([frame.reactions[:, :3] for frame in frames[2:]], axis=0)
    # a reaction is on the second body: the first plank, and the bank on the right
    first, last = borne[[0, 1]].sum(axis=0), borne[[-2, -1]].sum(axis=0)
    assert first == pytest.approx([-pull, 0.0, 9.81 * (500.5 + middle)], rel=0.01, abs=1.0)
    assert last == pytest.approx([-pull, 0.0, -9.81 * (500.5 + planks - middle - 1)], rel=0.01, abs=1.0)


@pytest.mark.slow
def test_the_bridge_stands_at_the_default_steps_too_in_which_its_planks_would_swing_by_three_radians():
    spec = jointed_scenes.rope_bridge()
    frames = sc.Simulation(spec, sleeping=False).run(24)
    poses = np.array([frame.poses for frame in frames])
    assert np.linalg.norm((poses - poses[0])[:, :, :3], axis=2).max() < 1e-4
    assert max(apart(spec, frame).max() for frame in frames) < 5e-6
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames[1:])


@pytest.mark.slow
def test_a_drawbridge_rises_to_its_limit_and_its_crates_slide_to_the_bank():
    spec = jointed_scenes.drawbridge()
    frame = sc.Simulation(spec).run(110)[-1]
    w, _, y, _ = frame.poses[index(spec, "Bridge"), 3:]
    assert abs(2.0 * math.atan2(-y, w) - math.radians(70.0)) < 1e-3
    for name in ("Crate A", "Crate B"):
        x, _, z = frame.poses[index(spec, name), :3]
        assert x < 0.0 and abs(z - 1.15) < 0.01


def test_a_wall_holds_until_a_ball_breaks_some_of_it():
    spec = jointed_scenes.breakable_wall(columns=5, rows=3)
    frames = sc.Simulation(spec).run(24)
    broken = [int(frame.broken.sum()) for frame in frames]
    assert broken[2] == 0 and 0 < broken[-1] < len(spec.joints)
    assert all(late >= early for early, late in itertools.pairwise(broken))
    held = ~frames[-1].broken
    # springs among them give way a little
    assert apart(spec, frames[-1])[held].max() < 5e-3 < apart(spec, frames[-1])[~held].max()
    # what breaks is told once, all of a frame together
    told, known = [], set()
    for frame in frames:
        found = list(breaking_warnings(frame, spec, known))
        assert len(found) <= 1
        told += [name for warning in found for name in warning.objects]
        known.update(told)
    assert sorted(told) == sorted(joint.name for joint, is_held in zip(spec.joints, held, strict=True) if not is_held)


@pytest.mark.slow
@pytest.mark.parametrize("raised", [1, pytest.param(2, marks=pytest.mark.long)])
def test_as_many_balls_of_newtons_cradle_swing_on_as_have_come(raised):
    """A swing to either side: those that were hit rise as high as those that came, what is between them hardly moves."""
    spec = jointed_scenes.newtons_cradle(raised=raised)
    substeps = jointed_scenes.CRADLE_SUBSTEPS
    frames = sc.Simulation(spec, substeps=substeps, sleeping=False).run(37)
    x = np.array([frame.poses[:, 0] for frame in frames])
    rest = 0.102 * (np.arange(5) - 2.0)
    swing = 0.5 * math.sin(math.radians(20.0))
    out, back = (x - rest).max(axis=0), (x - rest).min(axis=0)
    assert out[5 - raised :] == pytest.approx(swing, rel=0.03)
    assert back[:raised] == pytest.approx(-swing, rel=0.03)
    if raised == 1:
        assert np.abs(x - rest)[:, 1:4].max() < 0.1 * swing


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1e-4, 2e-3])
def test_the_cradle_swings_on_with_steps_in_which_all_its_balls_are_hit(gap):
    """At the defaults a ball goes 3 mm in a step, further than all gaps together; each impact has its turn all the same."""
    spec = jointed_scenes.newtons_cradle(gap=gap)
    frames = sc.Simulation(spec).run(48)
    x = np.array([frame.poses[:, 0] for frame in frames])
    rest = (0.1 + gap) * (np.arange(5) - 2.0)
    swing = 0.5 * math.sin(math.radians(20.0))
    assert (x - rest)[:, 4].max() == pytest.approx(swing, rel=0.02)
    assert (x - rest)[24:, 0].min() == pytest.approx(-swing, rel=0.02)
    assert np.abs(x - rest)[:, 1:4].max() < 0.1 * swing


@pytest.mark.slow
def test_without_bounce_the_balls_of_the_cradle_swing_on_together():
    """All momentum is shared by five, so five swing on with a fifth of the speed, and nearly together."""
    spec = jointed_scenes.newtons_cradle(restitution=0.0)
    frames = sc.Simulation(spec, substeps=20, sleeping=False).run(10)
    fastest = math.sqrt(2.0 * 9.81 * 0.5 * (1.0 - math.cos(math.radians(20.0))))
    assert frames[-1].velocities[:, 0] == pytest.approx(fastest / 5.0, rel=0.05)


@pytest.mark.slow
def test_the_solid_on_the_turning_plane_comes_to_turn_with_it():
    spec = jointed_scenes.four_ball_solid()
    frame = sc.Simulation(spec).run(36)[-1]
    balls = slice(1, 5)
    round_axle = np.cross([0.0, 0.0, 1.0], frame.poses[balls, :3])
    # velocities are those of the way to the pose, in the middle of which the solid was half a step before
    np.testing.assert_allclose(frame.velocities[balls, :3], round_axle, atol=5e-3)
    np.testing.assert_allclose(frame.poses[balls, 2], 0.05, atol=1e-4)
