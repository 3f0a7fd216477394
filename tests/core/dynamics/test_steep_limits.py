# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of three angles, of which the middle one comes near a right angle and passes it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from solver_core.dynamics.joints.coordinates import EULER, EULER_STEEP, angular_form, measured
from solver_core.dynamics.joints.limits import farthest_off, row_direction, row_value
from solver_core.dynamics.joints.table import joint_table
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.dynamics.motion.rotation import matrices
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box
from solver_core.scene.spec import MaterialSpec

from ..bodies import poses
from ..chains import scene
from ..jointed_runs import NONE, run, solved

Axes = tuple[AxisSpec, AxisSpec, AxisSpec]

ARM = (0.1, 0.11, 0.3)
SHOULDER = ((-150.0, 60.0), (-90.0, 90.0), (-40.0, 40.0))
PAST_A_RIGHT_ANGLE = ((-10.0, 10.0), (-120.0, 120.0), (-10.0, 10.0))
ACROSS = ((-20.0, 100.0), (-85.0, 85.0), (-120.0, 120.0))
SPINS = ((0.5, 8.0, -7.5), (-6.5, -4.0, 8.0), (7.0, 9.0, 1.0))  # rad/s
NARROW = ((-5.0, 5.0), (-90.0, 90.0), (-5.0, 5.0))


def limited(limits) -> Axes:
    """Limits of the three angles in degrees, as a file in single precision has them."""
    x, y, z = (AxisSpec(*(float(np.float32(math.radians(value))) for value in pair)) for pair in limits)
    return x, y, z


def arm(limits, spin=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, -9.81), position=(0.0, 0.0, -0.15), fps=30.0):
    """An arm that hangs from the world on a joint at the origin and turns about it, with limits in degrees or axes."""
    angular = limits if isinstance(limits[0], AxisSpec) else limited(limits)
    spin, position = np.asarray(spin, dtype=float), np.asarray(position, dtype=float)
    body = box("Arm", ARM, position, MaterialSpec(), mass=2.5)
    body = replace(body, angular_velocity=spin, velocity=np.cross(spin, position))
    return scene([body], [JointSpec("Shoulder", "", "Arm", angular=angular)], gravity=gravity, fps=fps)


def distance(rotation: Rotation, limits) -> float:
    """The least angle of a rotation, rad, that brings an orientation within limits in degrees: searched, for an oracle."""
    low, high = np.radians(np.transpose(limits))

    def angle(x):
        return (Rotation.from_euler("xyz", x).inv() * rotation).magnitude() ** 2

    x, y, z = rotation.as_euler("xyz")
    best = np.inf
    for x0, y0, z0 in ((x, y, z), (x + np.pi, np.pi - y, z + np.pi), (x - z, y, 0.0), (x + z, y, 0.0)):
        start = [
            v - 2.0 * np.pi * round((v - 0.5 * (a + b)) / (2.0 * np.pi))
            for v, a, b in zip((x0, y0, z0), low, high, strict=True)
        ]
        found = minimize(
            angle, np.clip(start, low, high), bounds=list(zip(low, high, strict=True)), options={"ftol": 1e-16, "gtol": 1e-12}
        )
        best = min(best, math.sqrt(found.fun))
    return best


@pytest.fixture(scope="module")
def tables():
    """The rows of joints with limits, and what `measured` says of an orientation of the second body."""
    found = {}
    for limits in (SHOULDER, PAST_A_RIGHT_ANGLE, ACROSS, NARROW):
        spec = arm(limits)
        spec = replace(spec, joints=(replace(spec.joints[0], linear=(FREE_AXIS,) * 3),))
        bodies, state = build_bodies(spec)[:2]
        found[limits] = joint_table(spec, bodies.model, state)
    return found


def coordinates(table, rotation: Rotation, near=(0.0, 0.0, 0.0)):
    orientation = rotation.as_quat(scalar_first=True)[None]
    return measured(table.frames, np.ones(1, bool), np.zeros((1, 3)), matrices(orientation), np.array([near]))


@njit
def all_rows(rows, frames, found):
    """(r, 4) the value of each row and its derivative."""
    out = np.empty((rows.joint.size, 4))
    for r in range(rows.joint.size):
        out[r, 0] = row_value(rows, r, frames, found)
        out[r, 1], out[r, 2], out[r, 3] = row_direction(rows, r, frames, found)
    return out


def off(table, rotation: Rotation) -> float:
    out = np.zeros(1)
    farthest_off(table.rows, table.frames, coordinates(table, rotation), out)
    return float(out[0])


def test_only_joints_whose_middle_angle_may_come_near_a_right_angle_have_other_rows():
    hip, sixty = ((-25.0, 100.0), (-35.0, 35.0), (-20.0, 20.0)), ((-25.0, 100.0), (-60.0, 60.0), (-20.0, 20.0))
    of = [angular_form(JointSpec("J", "A", "B", angular=limited(limits))) for limits in (SHOULDER, hip, sixty)]
    assert of == [EULER_STEEP, EULER, EULER]
    assert angular_form(JointSpec("J", "A", "B", angular=(FREE_AXIS, AxisSpec(-1.5, 1.5), FREE_AXIS))) == EULER
    assert angular_form(JointSpec("J", "A", "B", angular=(LOCKED, FREE_AXIS, FREE_AXIS))) == EULER_STEEP


@pytest.mark.slow
@pytest.mark.parametrize("limits", [SHOULDER, PAST_A_RIGHT_ANGLE, ACROSS, NARROW])
@pytest.mark.parametrize("spread", [1e-9, 1e-3, 0.1, 1.0], ids=["at the pole", "a milliradian off", "0.1 off", "anywhere"])
def test_a_rotation_is_off_if_and_only_if_no_triple_of_angles_within_the_limits_makes_it(tables, limits, spread):
    """Beside a search for the nearest triple: a row is off by no more than the distance, and one of them by a good part."""
    random = np.random.default_rng(round(-math.log10(spread)))
    low, high = np.radians(np.transpose(limits))
    for sign in (1.0, -1.0, 1.0, -1.0):
        x, _, z = random.uniform(low, high)
        y = np.clip(sign * (0.5 * np.pi + spread * random.uniform(-1.0, 1.0)), low[1], high[1])
        inside = Rotation.from_euler("xyz", [x, y, z])
        assert off(tables[limits], inside) < 1e-7
        turned = Rotation.from_rotvec(random.normal(size=3) * random.choice([1e-4, 1e-2, 0.1])) * inside
        true = distance(turned, limits)
        assert 0.2 * true - 1e-6 < off(tables[limits], turned) < true + 1e-6


@pytest.mark.parametrize("limits", [SHOULDER, PAST_A_RIGHT_ANGLE, ACROSS, NARROW])
def test_rows_are_the_derivatives_of_their_values_up_to_the_pole(tables, limits):
    table, random = tables[limits], np.random.default_rng(3)
    for cosine in (1e-4, 2e-3, 0.02, 0.3, 0.6):
        x, z = np.radians([random.uniform(*limits[0]), random.uniform(*limits[2])])
        y = min(math.acos(cosine), math.radians(limits[1][1]))
        at, step = Rotation.from_euler("xyz", [x, y, z]), min(1e-5, 0.01 * cosine)
        middle, axis = coordinates(table, at), Rotation.random(rng=random).apply([1.0, 0.0, 0.0])
        ends = [coordinates(table, Rotation.from_rotvec(s * step * axis) * at, (x, y, z)) for s in (-1.0, 1.0)]
        direction = all_rows(table.rows, table.frames, middle)[:, 1:]
        before, after = (all_rows(table.rows, table.frames, end)[:, 0] for end in ends)
        acts = before != after  # all but those that cannot act there
        # of the twist at 60 degrees sqrt(2 / (1 + sin 60)), of all others 1 at most
        assert np.linalg.norm(direction[acts], axis=1).max() < 1.0353
        assert acts.sum() >= 4
        np.testing.assert_allclose((after - before)[acts] / (2.0 * step), (direction @ axis)[acts], atol=2e-4)


@pytest.mark.parametrize(("twist", "expected"), [(-180.0, 0.0), (99.0, 0.0), (100.0, 0.0), (101.0, 1.0), (130.0, 30.0)])
def test_at_a_right_angle_the_limits_of_x_and_z_leave_a_twist_from_their_differences(tables, twist, expected):
    """X - Z is all that is left there of X from -150 to 60 and Z from -40 to 40: it is from -190 to 100."""
    for x in (0.0, 35.0, -70.0):
        rotation = Rotation.from_euler("xyz", [x, 90.0, x - twist], degrees=True)
        assert off(tables[SHOULDER], rotation) == pytest.approx(math.radians(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("limits", "substeps", "method"),
    [
        (SHOULDER, 1, "staggered"),
        (ACROSS, 1, "staggered"),
        (SHOULDER, 4, "staggered"),
        (ACROSS, 1, "pivot"),
        pytest.param(ACROSS, 20, "staggered", marks=pytest.mark.long),
        pytest.param(SHOULDER, 4, "pivot", marks=pytest.mark.long),
    ],
)
def test_an_arm_that_is_thrown_about_stays_within_its_limits(tables, limits, substeps, method):
    """Whatever way it goes, and whatever the step."""
    steepest = []
    for spin in SPINS:
        frames = run(arm(limits, spin, fps=60.0), 60, substeps=substeps, sleeping=False, method=method)
        turns = Rotation.from_quat(poses(frames, 0)[:, 3:], scalar_first=True)
        assert max(off(tables[limits], turn) for turn in turns) < 1e-4
        assert solved(frames)
        steepest.append(np.abs(turns.as_euler("xyz")[:, 1]).max())
    assert max(steepest) > math.radians(60.0)


def test_the_mirror_image_of_an_arm_moves_as_its_mirror_image():
    """By the plane across Y: turns about X and Z change their signs."""
    spin, mirror = np.array([6.0, 7.0, -5.0]), np.array([-1.0, 1.0, -1.0])
    (x0, x1), y, (z0, z1) = SHOULDER
    one = run(arm(SHOULDER, spin, fps=60.0), 40, sleeping=False)
    other = run(arm(((-x1, -x0), y, (-z1, -z0)), spin * mirror, fps=60.0), 40, sleeping=False)
    np.testing.assert_allclose(poses(other, 0)[:, :3], poses(one, 0)[:, :3] * [1.0, -1.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("method", ["staggered", "pivot"])
@pytest.mark.parametrize("fps", [30.0, 240.0])
def test_an_arm_swings_past_a_right_angle_at_its_speed_and_stops_at_its_limit(fps, method):
    """It turns about Y at 3 rad/s without gravity: by 3 t, up to 120 degrees."""
    frames = run(arm(PAST_A_RIGHT_ANGLE, (0.0, 3.0, 0.0), NONE, NONE, fps), int(fps), method=method)
    turn = Rotation.from_quat(poses(frames, 0)[:, 3:], scalar_first=True).as_rotvec()
    expected = np.minimum(3.0 * np.arange(len(frames)) / fps, 2.0 * np.pi / 3.0)
    np.testing.assert_allclose(turn[:, 1], expected, atol=2e-6)
    np.testing.assert_allclose(turn[:, [0, 2]], 0.0, atol=1e-9)
    # where nothing moves any more, the residual of Pivoting is rounding and above the tolerance
    assert solved(frames) or method == "pivot"


def test_a_universal_joint_with_a_limit_turns_round_and_round():
    """X is locked, Y free, Z limited: two turns about Y pass four right angles."""
    axes = (LOCKED, FREE_AXIS, AxisSpec(-0.5, 0.5))
    frames = run(arm(axes, (0.0, 10.0, 0.0), NONE, NONE, 120.0), 150)
    np.testing.assert_allclose([frame.velocities[0, 3:] for frame in frames[1:]], [[0.0, 10.0, 0.0]] * 150, atol=1e-6)
    assert solved(frames)
