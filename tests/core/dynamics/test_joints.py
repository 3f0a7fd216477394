# SPDX-License-Identifier: GPL-3.0-or-later
"""What hangs, turns, slides and pulls: joints against the closed forms of mechanics."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

import solver_core as sc
from solver_core.dynamics.joints import tension
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.dynamics.solve import islands
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import BodyKind, MaterialSpec

from ..bodies import gaps, point, poses
from ..chains import G, ball, hung_on_a_light_chain, scene
from ..jointed_runs import NONE, ROD, ROUGH, box_moments, energies, hinge, run, solved

UPRIGHT = np.array([math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0])  # Z along x


@pytest.mark.parametrize(
    "method", [pytest.param("staggered", marks=pytest.mark.slow), pytest.param("pivot", marks=pytest.mark.long)]
)
def test_a_rod_on_a_hinge_has_the_period_of_a_physical_pendulum_and_loses_no_height(method):
    rod = box("Rod", ROD, (0.5, 0.0, 0.0), ROUGH, mass=3.0)
    frames = run(scene([rod], [hinge("Nail", "", "Rod", NONE)]), 720, method=method)
    moment = box_moments(ROD, 1.0)[1] + 0.25
    period = 4.0 * math.sqrt(moment / (G * 0.5)) * ellipk(0.5)
    angle = np.unwrap([2.0 * math.atan2(q[2], q[0]) for q in poses(frames, 0)[:, 3:]]) - math.pi / 2
    times = [i + angle[i] / (angle[i] - angle[i + 1]) for i in range(720) if angle[i] * angle[i + 1] < 0.0]
    assert 2.0 * np.diff(times).mean() / 240.0 == pytest.approx(period, rel=2e-4)
    np.testing.assert_allclose(point(frames, 0, [-0.5, 0.0, 0.0]), 0.0, atol=1e-7)
    energy = energies(frames, 3.0, box_moments(ROD, 3.0))
    assert abs(energy - energy[0]).max() < 1e-3 * 3.0 * G * 0.5
    assert solved(frames)


@pytest.mark.slow
def test_a_double_pendulum_keeps_its_energy():
    rods = [box(f"Rod {i}", (0.5, 0.05, 0.05), (0.25 + 0.5 * i, 0.0, 0.0), ROUGH) for i in range(2)]
    joints = [hinge("Nail", "", "Rod 0", NONE), hinge("Pin", "Rod 0", "Rod 1", (0.5, 0.0, 0.0))]
    frames = run(scene(rods, joints, excluded=(("Rod 0", "Rod 1"),)), 480)
    energy = energies(frames, 1.0, box_moments((0.5, 0.05, 0.05), 1.0))
    assert abs(energy - energy[0]).max() < 5e-3 * G * 0.5
    gap = point(frames, 0, [0.25, 0.0, 0.0]) - point(frames, 1, [-0.25, 0.0, 0.0])
    assert np.linalg.norm(gap, axis=1).max() < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_slender_body_that_swings_and_spins_keeps_its_energy(seed):
    """A board on a ball joint, thrown about any axis; its angular momentum is not along what it turns about."""
    size = np.array([0.27, 0.06, 0.03])
    spin = 8.0 * np.random.default_rng(seed).uniform(-1.0, 1.0, 3)
    board = box("Board", size, (0.15, 0.0, 0.0), MaterialSpec())
    board = replace(board, angular_velocity=spin, velocity=np.cross(spin, [0.15, 0.0, 0.0]))
    frames = run(scene([board], [ball("Nail", "", "Board", NONE)], fps=120.0), 600, sleeping=False)
    energy = energies(frames, 1.0, box_moments(size, 1.0))
    tenth = len(energy) // 10
    assert solved(frames)
    assert energy[-tenth:].mean() == pytest.approx(energy[:tenth].mean(), abs=2e-3 * G * 0.15)


def test_a_light_chain_that_is_pulled_taut_does_not_shake():
    """Between pulls of 490 N a link of 20 g would swing by seven rad a step; it hangs in line, and the weight swings on."""
    spec = hung_on_a_light_chain(0.02, 0.5)
    frames = run(spec, 480)
    x = np.array([frame.poses[:, 0] for frame in frames])
    assert solved(frames)
    assert sum(int(frame.statistics.cuts.sum()) for frame in frames) == 0
    assert gaps(frames, spec).max() < 5e-6
    # all links are in line with the nail and the weight
    np.testing.assert_allclose(x[:, :10], x[:, 9:10] * (np.arange(10) + 0.5) / 9.5, atol=2e-3)
    mass = np.array([one.mass for one in spec.bodies])
    energy = energies(frames, mass, build_bodies(spec)[0].model.inertia.diagonal(axis1=1, axis2=2))
    assert np.abs(energy - energy[0]).max() < 1e-3 * 50.0 * 0.5**2


def test_what_holds_a_light_chain_in_line_is_nothing_to_a_chain_that_the_step_follows(monkeypatch):
    """Links of 1 kg swing by one rad a step: they move as they do without it, to the last bit."""
    spec = hung_on_a_light_chain(1.0, 0.5)
    with_it = run(spec, 48)
    monkeypatch.setattr(tension, "FOLLOWED", np.inf)
    np.testing.assert_array_equal(with_it[-1].poses, run(spec, 48)[-1].poses)


@pytest.mark.parametrize(
    "spec", [pytest.param(sc.scenes.chain(15), marks=pytest.mark.long, id="chain"), pytest.param(sc.scenes.ring(12), id="ring")]
)
def test_a_chain_and_a_closed_ring_swing_and_no_joint_opens(spec):
    frames = run(spec, 24, substeps=10)
    assert gaps(frames, spec).max() < 1e-5
    assert abs(poses(frames, len(spec.bodies) - 1)[-1, :3] - frames[0].poses[-1, :3]).max() > 0.1
    assert solved(frames)


@pytest.mark.parametrize("speed", [100.0, 627.0])  # rad/s; the last is what a chain of 100 links has been seen at
def test_a_link_that_is_thrown_round_stays_in_its_joint(speed):
    """At 240 steps a second, in which it turns by up to two and a half radians."""
    spec = sc.scenes.chain(3)
    length = 0.1
    last = replace(
        spec.bodies[-1], velocity=np.array([0.0, 0.0, -0.5 * length * speed]), angular_velocity=np.array([0.0, speed, 0.0])
    )
    spec = replace(spec, bodies=(*spec.bodies[:-1], last))
    frames = run(spec, 12, substeps=10)
    assert max(abs(frame.velocities[:, 3:]).max() for frame in frames[1:]) > 0.5 * speed
    assert gaps(frames, spec).max() < 1e-4 * length
    assert solved(frames)


def test_two_hinges_of_one_door_hold_it_like_one():
    door = box("Door", (0.8, 0.04, 2.0), (0.4, 0.0, 0.0), ROUGH, mass=20.0, velocity=(0.0, 1.0, 0.0))
    door = replace(door, angular_velocity=np.array([0.0, 0.0, 2.5]))
    hinges = [hinge(f"Hinge {z}", "", "Door", (0.0, 0.0, z), axis=2) for z in (-0.7, 0.0, 0.7)]
    one, three = (run(scene([door], hinges[:k]), 120) for k in (1, 3))
    np.testing.assert_allclose(poses(three, 0), poses(one, 0), atol=1e-5)
    assert solved(three)


def test_a_slider_slides_down_its_axis_and_does_nothing_else():
    tilt = 0.4
    frame = Rotation.from_euler("y", tilt)
    sledge = box("Sledge", (0.2, 0.1, 0.1), NONE, ROUGH, orientation=frame.as_quat(scalar_first=True))
    rail = JointSpec("Rail", "", "Sledge", orientation=frame.as_quat(scalar_first=True), linear=(FREE_AXIS, LOCKED, LOCKED))
    frames = run(scene([sledge], [rail]), 240)
    way = 0.5 * G * math.sin(tilt) * (np.arange(241) / 240.0) ** 2
    np.testing.assert_allclose(poses(frames, 0)[:, :3], way[:, None] * frame.as_matrix()[:, 0], atol=1e-6)
    np.testing.assert_allclose(poses(frames, 0)[:, 3:], np.tile(frames[0].poses[0, 3:], (241, 1)), atol=1e-9)


def test_a_piston_turns_about_its_axis_and_goes_on_turning():
    piston = box("Piston", (0.2, 0.1, 0.3), NONE, ROUGH, velocity=(0.5, 0.0, 0.0))
    piston = replace(piston, angular_velocity=np.array([3.0, 0.0, 0.0]))
    joint = JointSpec("Cylinder", "", "Piston", linear=(FREE_AXIS, LOCKED, LOCKED), angular=(FREE_AXIS, LOCKED, LOCKED))
    frames = run(scene([piston], [joint]), 240)
    np.testing.assert_allclose(frames[-1].velocities[0], [0.5, 0.0, 0.0, 3.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(poses(frames, 0)[-1, :3], [0.5, 0.0, 0.0], atol=1e-6)


def test_boxes_fixed_to_each_other_fly_like_one_body_and_keep_their_momenta():
    sizes, places, masses = ((0.3, 0.2, 0.1), (0.1, 0.4, 0.2)), ((0.0, 0.0, 0.0), (0.4, 0.1, 0.0)), (2.0, 1.0)
    spin, center = np.array([1.0, 2.0, 3.0]), np.array([0.4, 0.1, 0.0]) / 3.0
    parts = [replace(box(f"Part {i}", sizes[i], places[i], ROUGH, mass=masses[i]), angular_velocity=spin) for i in range(2)]
    parts = [replace(part, velocity=np.cross(spin, part.position - center)) for part in parts]
    glue = JointSpec("Glue", "Part 0", "Part 1", position=np.array([0.2, 0.0, 0.0]))
    simulation = sc.Simulation(scene(parts, [glue], gravity=NONE), substeps=1, sleeping=False)
    frames, momenta = [], []
    for frame in simulation.frames(240):
        frames.append(frame)
        state, mass = simulation._steps.state, np.array(masses)[:, None]
        turning = state.angular_momentum + mass * np.cross(state.position, state.velocity)
        momenta.append(np.append((mass * state.velocity).sum(axis=0), turning.sum(axis=0)))
    np.testing.assert_allclose(momenta, np.tile(momenta[0], (241, 1)), atol=1e-6)
    a, b = (Rotation.from_quat(frames[-1].poses[k, 3:], scalar_first=True) for k in range(2))
    assert (a.inv() * b).magnitude() < 1e-5
    assert solved(frames)


def test_what_holds_a_weight_feels_it():
    weight = box("Weight", (0.2, 0.2, 0.2), (0.5, 0.0, 0.0), ROUGH, mass=4.0)
    frames = run(scene([weight], [JointSpec("Arm", "", "Weight")]), 24, sleeping=False)
    expected = [0.0, 0.0, 4.0 * G, 0.0, -4.0 * G * 0.5, 0.0]
    np.testing.assert_allclose(frames[-1].reactions[0], expected, atol=1e-6 * 4.0 * G)
    np.testing.assert_allclose(frames[-1].poses, frames[0].poses, atol=1e-7)


@pytest.mark.parametrize(("strength", "breaks"), [(0.99, True), (1.01, False)])
def test_a_joint_breaks_when_an_impulse_in_a_step_is_what_it_stands(strength, breaks):
    weight = box("Weight", (0.2, 0.2, 0.2), NONE, ROUGH, mass=4.0)
    rope = ball("Rope", "", "Weight", NONE, breaking_impulse=strength * 4.0 * G / 240.0)
    frames = run(scene([weight], [rope]), 48, sleeping=False)
    # the first step has the force of half a step
    assert [bool(frame.broken[0]) for frame in frames[:3]] == [False, False, breaks]
    assert frames[-1].broken[0] == breaks
    fallen = 0.5 * G * (46.0 / 240.0) ** 2 if breaks else 0.0
    assert frames[-1].poses[0, 2] == pytest.approx(-fallen, abs=1e-4 + 0.03 * fallen)


@pytest.mark.slow
def test_what_hangs_still_falls_asleep_and_wakes_with_what_it_hangs_on():
    weight = box("Weight", (0.2, 0.2, 0.2), (0.0, 0.0, -0.5), ROUGH)
    hook = replace(box("Hook", (0.1, 0.1, 0.1), NONE, ROUGH), kind=BodyKind.ANIMATED, mass=None)
    path = np.tile(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), (60, 1))
    path[45:, 0] = 0.02 * np.arange(15)
    spec = scene([replace(hook, path=path), weight], [ball("Rope", "Hook", "Weight", NONE)], fps=24.0)
    frames = run(replace(spec, frame_end=60), 59, substeps=10)
    asleep = [int(frame.statistics.asleep[-1]) if len(frame.statistics.asleep) else 0 for frame in frames]
    assert asleep[40] == 1 and asleep[-1] == 0
    ropes = point(frames, 1, [0.0, 0.0, 0.5]) - poses(frames, 0)[:, :3]
    assert np.linalg.norm(ropes, axis=1).max() < 1e-5
    assert frames[-1].poses[1, 0] > 0.05


@pytest.mark.slow
def test_a_bridge_of_planks_carries_a_weight():
    spec = sc.scenes.bridge(8)
    frames = run(spec, 30, substeps=10)
    middle = frames[-1].poses[3:5, 2].mean()
    # what does not stretch comes down by nothing to speak of, and swings up and down by as little
    assert abs(middle) < 0.01
    assert frames[-1].poses[-1, 2] > middle + 0.12
    assert gaps(frames, spec).max() < 1e-4
    carried = np.cumsum([f.reactions[[0, 1], 2].sum() - f.reactions[[-1, -2], 2].sum() for f in frames[1:]]) / 24.0
    mass = np.array([body.mass for body in spec.bodies])
    # velocities are those of the middle of the last step, where it was not cut
    whole = [k for k in range(1, 31) if frames[k].statistics.cuts[-1] == 0]
    assert len(whole) >= 10
    for k in whole:
        weight = mass.sum() * G * (k / 24.0 - 0.5 / 240.0)
        assert carried[k - 1] == pytest.approx(weight + mass @ frames[k].velocities[:, 2], rel=1e-6)


@pytest.mark.slow
def test_a_bridge_that_catches_a_load_gives_it_no_energy():
    """A thousand planks' weight pulls them straight within less than a step; joints do no work, also where that is a jerk."""
    spec = replace(sc.scenes.bridge(12, load=1000.0), fps=240.0)
    frames = run(spec, 240, sleeping=False)
    mass = np.array([body.mass for body in spec.bodies])
    energy = energies(frames, mass, build_bodies(spec)[0].model.inertia.diagonal(axis1=1, axis2=2))
    assert solved(frames) and gaps(frames, spec).max() < 2e-5
    # it has 1,962 J over where it begins
    assert energy.max() < energy[0] + 5.0
    # it falls by 5 cm, onto planks that come to lie level; in later jumps it turns, and is up to a millimeter lower
    assert 0.15 < min(frame.poses[-1, 2] for frame in frames[:48]) < 0.153
    assert min(frame.poses[-1, 2] for frame in frames) > 0.149


def test_joined_bodies_are_one_island_and_stand_on_the_ground_by_friction():
    boxes = [box(f"Box {i}", (0.2, 0.2, 0.2), (0.5 * i, 0.0, 0.1), ROUGH, velocity=(1.0, 0.0, 0.0)) for i in range(2)]
    bar = JointSpec("Bar", "Box 0", "Box 1", position=np.array([0.25, 0.0, 0.1]))
    joined, apart = (run(scene([ground(ROUGH), *boxes], joints, fps=24.0), 24, substeps=10) for joints in ([bar], []))
    assert int(joined[2].statistics.islands[0]) == 1 and int(apart[2].statistics.islands[0]) == 2
    np.testing.assert_allclose(joined[-1].poses[1:, 0], apart[-1].poses[1:, 0], atol=2e-3)
    assert solved(joined)


def test_a_run_resumed_in_the_middle_gives_the_same_bits():
    spec = sc.scenes.chain(4)
    joints = tuple(replace(joint, breaking_impulse=0.03) for joint in spec.joints)
    floor = replace(ground(ROUGH), position=np.array([0.0, 0.0, -0.2]))
    spec = replace(spec, joints=joints, bodies=(*spec.bodies, floor))
    whole = sc.Simulation(spec, substeps=10)
    frames = list(whole.frames(6))
    kept = {key: array.copy() for key, array in whole.checkpoint().items()}
    rest = [whole.advance() for _ in range(8)]
    resumed = sc.Simulation(spec, substeps=10)
    resumed.restore(frames[-1].frame, kept)
    again = [resumed.advance() for _ in range(8)]
    for a, b in zip(rest, again, strict=True):
        assert a.poses.tobytes() == b.poses.tobytes()
        assert a.reactions.tobytes() == b.reactions.tobytes()
        assert a.broken.tobytes() == b.broken.tobytes()


def test_both_methods_move_what_is_joined_alike():
    spec = replace(sc.scenes.chain(5), fps=240.0)
    limited = replace(spec.joints[3], angular=(AxisSpec(-0.2, 0.3),) * 3)
    spec = replace(spec, joints=(*spec.joints[:3], limited, spec.joints[4]))
    ours, pivoted = (run(spec, 60, method=method, tolerance=1e-9) for method in ("staggered", "pivot"))
    assert solved(ours) and solved(pivoted)
    np.testing.assert_allclose(pivoted[-1].poses, ours[-1].poses, atol=1e-4)


def test_only_what_is_off_at_the_end_of_a_step_is_solved_again(monkeypatch):
    """Each correction of a link that is thrown round solved whatever else there was once more. With a friction polygon no joint
    is eliminated, and each correction is a solve of its own."""
    seen, solve_in_turn = [], islands._solve_in_turn

    def see(system, requests, again, *rest):
        seen.append(again[0].copy())
        return solve_in_turn(system, requests, again, *rest)

    monkeypatch.setattr(islands, "_solve_in_turn", see)
    spin = np.array([0.0, 6.0, 0.0])
    hanging = box("Weight", (0.2, 0.2, 0.2), (0.0, 0.0, -0.5), ROUGH, 1.0)
    link = box("Link", (0.2, 0.02, 0.02), (5.1, 0.0, 0.0), ROUGH, 1.0)
    link = replace(link, velocity=np.cross(spin, (0.1, 0.0, 0.0)), angular_velocity=spin)
    joints = ball("Hook", "", "Weight", NONE), ball("Nail", "", "Link", (5.0, 0.0, 0.0))
    assert solved(run(scene((hanging, link), joints, fps=24.0), 1, substeps=10, polygon_sides=8)[1:])
    of_hanging, of_link = np.bincount(np.concatenate(seen))
    assert of_hanging == 10
    assert of_link > 1.5 * of_hanging
