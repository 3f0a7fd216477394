# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes stand, slide, jam and tip with Baraff's pivoting algorithm as they must."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.published.baraff_1994.contacts import pivot
from solver_core.published.steps import pivot_step

SOLVED, RAY = sc.Status.SOLVED, sc.Status.RAY
METHODS = ("pivot", "staggered")

SCENES = {
    "box on a slope": lambda: sc.scenes.slope(tangent=0.5, mu=0.51, yaw=0.3),
    "tower under a heavy box": sc.scenes.tower,
    "arch": sc.scenes.arch,
    "house of 3 levels": lambda: sc.scenes.card_house(levels=3),
    "wall of 20 bricks": sc.scenes.wall,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*list(SCENES)[:-1], pytest.param("wall of 20 bricks", marks=pytest.mark.long)])
def test_what_should_stand_stands(name):
    frames = sc.Simulation(SCENES[name](), method="pivot").run(12)
    assert max(frame.statistics.status.max(initial=0) for frame in frames) == 0
    moved = np.abs(frames[-1].poses[:, :3] - frames[4].poses[:, :3]).max()
    assert moved < 1e-6


@pytest.fixture(scope="module")
def resting_problems():
    """The last problem of some first steps of each scene that stands."""
    return {name: last_problem(make()) for name, make in SCENES.items()}


def last_problem(spec):
    found = []

    def noted(problem, *arguments):
        found.append(problem)
        return pivot(problem, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pivot_step, "pivot", noted)
        sc.Simulation(spec, method="pivot").advance()
    return found[-1]


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, pytest.param(1e-10, marks=pytest.mark.long)])
def test_guesses_reach_whatever_tolerance_is_asked_for(tolerance, resting_problems):
    """How far forces may keep from those that solve the problem exactly goes with the tolerance; orders from nothing, which are
    what takes seconds, are not needed down to 1e-8. At 1e-10 they are for some problems that rounding has touched."""
    for problem in resting_problems.values():
        result = sc.solve(problem, "pivot", tolerance=tolerance)
        assert result.status is SOLVED
        assert result.stats.restarts < 5 or tolerance < 1e-8


def test_a_box_on_a_slope_too_steep_for_it_slides_as_coulomb_has_it():
    frames = [sc.Simulation(sc.scenes.slope(tangent=0.5, mu=0.45, yaw=0.3), method=method).run(6) for method in METHODS]
    pivot, staggered = (run[-1].poses[1] for run in frames)
    distance = np.linalg.norm(staggered[:3] - frames[1][0].poses[1, :3])
    assert distance > 1e-2
    # friction within an angle t of the sliding dissipates t^2 / 2 too little, of which the tolerance allows 1e-6
    assert np.linalg.norm(pivot[:3] - staggered[:3]) < np.sqrt(2e-6) * distance


def test_a_rod_that_jams_is_stopped_by_impulses(monkeypatch):
    """While it slides no force keeps it out of the ground (Painleve): the step is an impact that takes the sliding away."""
    ends, struck = [], []

    def noted(*arguments):
        result = pivot(*arguments)
        ends.append(result.status)
        return result

    def stepped(*arguments):
        before = len(ends)
        problem, result = solve_step(*arguments)
        if RAY in ends[before:]:
            struck.append(np.linalg.norm(result.velocity[result.impulse[:, 0] > 0.0, 1:], axis=1).min())
        return problem, result

    solve_step = pivot_step.solve_step
    monkeypatch.setattr(pivot_step, "pivot", noted)
    monkeypatch.setattr(pivot_step, "solve_step", stepped)
    simulation = sc.Simulation(sc.scenes.jamming_rod(), method="pivot")
    frame = simulation.advance()
    assert RAY in ends
    assert max(struck) < 1e-9 * 3.0
    assert frame.statistics.status.max() == 0
    assert frame.statistics.deepest_overlap.max() < 1e-5
    # the rod tips over the corner that struck, and spins about its axis, since the impulse acts on one side of it
    before, after = frame.poses[-1], simulation.advance().poses[-1]
    assert before[0] != pytest.approx(after[0], abs=1e-3)
    assert abs(tip(after) - tip(before)).max() < 0.2 * 3.0 / 24.0


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "mu"), [(3.0, 2.0), (3.0, 1.0), (6.0, 1.5)])
def test_neither_impulses_nor_sliding_give_a_rod_energy(speed, mu):
    size, energy = np.array([0.004, 0.004, 1.0]), []
    inertia = (size @ size - size**2) / 12.0
    for frame in sc.Simulation(sc.scenes.jamming_rod(speed, mu), method="pivot").run(16):
        pose, velocity = frame.poses[-1], frame.velocities[-1]
        spin = Rotation.from_quat(np.roll(pose[3:], -1)).apply(velocity[3:], inverse=True)
        energy.append(0.5 * velocity[:3] @ velocity[:3] + 0.5 * inertia @ spin**2 + 9.81 * pose[2])
    assert max(energy) <= energy[0] * (1.0 + 1e-3)


def tip(pose):
    """Where the lower end of the rod's axis is, of its pose (position, quaternion)."""
    w, x, y, z = pose[3:]
    return pose[:3] - 0.5 * np.array([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)])


@pytest.mark.slow
def test_a_box_slides_as_far_as_it_must():
    by_method = [sc.Simulation(sc.scenes.sliding_box(), method=method).run(12)[-1].poses for method in METHODS]
    assert by_method[0] == pytest.approx(by_method[1], abs=1e-6)
