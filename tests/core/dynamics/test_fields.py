# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields move bodies as closed forms have it, and whom they push is awake.

Their laws, shape by shape and falloff by falloff, are compared with Blender's own simulation in
tests/addon/read/test_fields.py.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.io.snapshot import read_snapshot, write_snapshot
from solver_core.scene.fields import AbsorberSpec, FieldKind, FieldShape, FieldSpec, Keyed
from solver_core.scene.parts import ground
from solver_core.scene.spec import BodyKind, SolverSettings

from ..bodies import body, material, run, scene, track

WEIGHT = 9.81
FPS = 24.0


def free(*fields, frames=48, **changes):
    """One body of 1 kg that nothing but fields pulls at, and the frames that follow."""
    return scene(body(**changes), gravity=np.zeros(3), frame_end=1 + frames, fields=fields)


def times(frames):
    return np.arange(frames + 1) / FPS


def test_a_harmonic_field_swings_with_the_period_of_its_spring():
    field = FieldSpec("Spring", FieldKind.HARMONIC, strength=9.0)
    poses, _ = track(run(free(field, position=(0.7, 0.0, 0.0)), 48))
    # leapfrog: the period is right to (omega h)^2 / 24, here 7e-6
    np.testing.assert_allclose(poses[:, 0], 0.7 * np.cos(3.0 * times(48)), atol=5e-5)


def test_a_harmonic_field_with_a_damping_of_1_is_critically_damped():
    field = FieldSpec("Spring", FieldKind.HARMONIC, strength=9.0, damping=1.0)
    poses, _ = track(run(free(field, position=(0.7, 0.0, 0.0)), 48))
    np.testing.assert_allclose(poses[:, 0], 0.7 * (1.0 + 3.0 * times(48)) * np.exp(-3.0 * times(48)), atol=0.01 * 0.7)


@pytest.mark.parametrize("strength", [0.5, 2.0])
def test_linear_drag_is_an_exponential(strength):
    field = FieldSpec("Air", FieldKind.DRAG, strength=0.0, damping=strength)
    _, velocities = track(run(free(field, velocity=(3.0, 0.0, 0.0)), 24))
    # the velocity that is told lies half a step before the frame
    at = np.maximum(times(24) - 0.5 / 240.0, 0.0)
    np.testing.assert_allclose(velocities[:, 0], 3.0 * np.exp(-strength * at), rtol=1e-12)


def test_flow_is_the_drag_of_still_air():
    field = FieldSpec("Air", FieldKind.FLOW, flow=1.5)
    _, velocities = track(run(free(field, velocity=(3.0, 0.0, 0.0)), 24))
    np.testing.assert_allclose(velocities[-1, 0], 3.0 * math.exp(-1.5 * (1.0 - 0.5 / 240.0)), rtol=1e-12)


def test_quadratic_drag_slows_down_as_one_over_time():
    field = FieldSpec("Air", FieldKind.DRAG, strength=1.0, damping=0.0)
    _, velocities = track(run(free(field, velocity=(3.0, 0.0, 0.0)), 24))
    np.testing.assert_allclose(velocities[-1, 0], 3.0 / (1.0 + 3.0), rtol=0.01)


def test_drag_never_turns_a_velocity_round():
    field = FieldSpec("Tar", FieldKind.FLOW, flow=1e6)
    poses, velocities = track(run(free(field, velocity=(3.0, 0.0, 0.0)), 3))
    assert (velocities[1:, 0] >= 0.0).all() and velocities[-1, 0] < 1e-12
    assert 0.0 <= poses[-1, 0] < 0.02


def test_wind_blows_a_body_as_fast_as_flow_allows():
    wind = FieldSpec("Wind", FieldKind.WIND, strength=6.0, flow=3.0, axis=np.array([0.0, 1.0, 0.0]))
    _, velocities = track(run(free(wind), 96))
    np.testing.assert_allclose(velocities[-1, :3], [0.0, 2.0, 0.0], atol=1e-4)


def test_a_magnetic_field_leads_a_body_in_circles_and_gives_it_no_energy():
    field = FieldSpec("Magnet", FieldKind.MAGNETIC, FieldShape.PLANE, strength=4.0)
    poses, velocities = track(run(free(field, velocity=(2.0, 0.0, 0.0), frames=80), 80))
    np.testing.assert_allclose(np.linalg.norm(velocities[:, :3], axis=1), 2.0, rtol=1e-11)
    # clockwise seen along the field, with the radius m v / B about (0, -r)
    np.testing.assert_allclose(np.hypot(poses[:, 0], poses[:, 1] + 0.5), 0.5, rtol=0.01)


def test_an_attractor_of_inverse_square_keeps_a_body_in_orbit():
    sun = FieldSpec("Sun", FieldKind.FORCE, strength=-4.0, inverse_square=True)
    poses, _ = track(run(free(sun, position=(1.0, 0.0, 0.0), velocity=(0.0, 2.0, 0.0), frames=96), 96))
    np.testing.assert_allclose(np.linalg.norm(poses[:, :2], axis=1), 1.0, atol=1e-3)


def test_fields_push_the_centre_of_mass_and_turn_nothing():
    frames = run(free(FieldSpec("Wind", FieldKind.WIND, strength=6.0), angular_velocity=(0.0, 0.0, 1.0)), 24)
    poses, velocities = track(frames)
    np.testing.assert_allclose(velocities[-1, 3:], [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(poses[-1, 2], 3.0, rtol=1e-12)


def sleepers(frames):
    """How many bodies sleep at the end of each frame; none at the first."""
    return np.array([0, *(frame.statistics.asleep[-1] for frame in frames[1:])])


def windy_floor(force, **keyed):
    """A box of 1 kg on a floor, with mu 0.5, and a wind along X."""
    wind = FieldSpec("Wind", FieldKind.WIND, axis=np.array([1.0, 0.0, 0.0]), strength=force, **keyed)
    box = body(position=(0.0, 0.0, 0.1), material=material(0.5))
    return scene(ground(material(0.5)), box, frame_end=73, fields=(wind,))


@pytest.mark.parametrize(
    ("share", "slides", "method"),
    [
        (0.98, False, "staggered"),
        (1.02, True, "staggered"),
        (0.98, False, "pivot"),
        pytest.param(1.02, True, "pivot", marks=pytest.mark.long),
    ],
)
def test_wind_moves_what_rests_when_it_is_stronger_than_friction(share, slides, method):
    spec = windy_floor(share * 0.5 * WEIGHT)
    poses, _ = track(run(spec, 72, method=method), 1)
    moved = poses[-1, 0]
    if slides:
        np.testing.assert_allclose(moved, 0.5 * 0.02 * 0.5 * WEIGHT * 3.0**2, rtol=0.02)
    else:
        assert abs(moved) < 1e-5


def test_what_wind_cannot_move_falls_asleep_and_a_stronger_one_wakes_it():
    strong = 48
    values = np.full(73, 0.5 * 0.5 * WEIGHT)
    values[strong:] = 1.5 * 0.5 * WEIGHT
    spec = windy_floor(0.0, keyed=(Keyed("strength", values),))
    frames = run(spec, 72)
    asleep = sleepers(frames)
    poses, _ = track(frames, 1)
    # the values of frame 48, counted from the first, act on the way to it
    assert asleep[strong - 1] == 1 and not asleep[strong:].any()
    assert abs(poses[strong - 1, 0]) < 1e-5
    np.testing.assert_allclose(poses[-1, 0], 0.5 * 0.5 * 0.5 * WEIGHT * ((73 - strong) / FPS) ** 2, rtol=0.02)


def test_what_starts_asleep_is_woken_by_a_field_and_by_no_gravity():
    still, pushed = (body(name, position=(x, 0.0, 5.0), starts_asleep=True) for name, x in (("Still", -9.0), ("Pushed", 9.0)))
    field = FieldSpec("Pull", FieldKind.FORCE, position=np.array([9.0, 0.0, 0.0]), strength=1.0, max_distance=6.0)
    frames = run(scene(still, pushed, frame_end=13, fields=(field,)), 12)
    assert track(frames, 0)[0][-1, 2] == 5.0
    assert track(frames, 1)[0][-1, 2] < 4.0


def test_what_a_body_carries_goes_with_it():
    magnet = body("Magnet", velocity=(2.0, 0.0, 0.0), feels_fields=False, collections=1)
    chaser = body("Chaser", position=(-1.0, 0.0, 0.0), velocity=(2.0, 0.0, 0.0), collections=2)
    spring = FieldSpec("Spring", FieldKind.HARMONIC, carrier="Magnet", strength=9.0, position=np.array([-0.3, 0.0, 0.0]))
    frames = run(scene(magnet, chaser, gravity=np.zeros(3), frame_end=49, fields=(spring,)), 48)
    apart = track(frames, 1)[0][:, 0] - track(frames, 0)[0][:, 0]
    np.testing.assert_allclose(apart, -0.3 - 0.7 * np.cos(3.0 * times(48)), atol=1e-4)


def test_what_sleeps_is_woken_by_a_field_that_a_body_carries_past():
    box = body(position=(0.0, 0.0, 0.1), material=material(0.5))
    magnet = body("Magnet", position=(-60.0, 0.0, 1.0), velocity=(10.0, 0.0, 0.0), linear_factor=(1.0, 0.0, 0.0))
    magnet = replace(magnet, feels_fields=False)
    lift = FieldSpec("Lift", FieldKind.WIND, carrier="Magnet", strength=20.0, max_distance=2.0)
    spec = scene(ground(material(0.5)), box, magnet, frame_end=163, fields=(lift,))
    frames = run(spec, 162)
    height, asleep = track(frames, 1)[0][:, 2], sleepers(frames)
    # it is there after 6 s, and comes within 2 m a little before
    assert asleep[130] == 1 and height[:130].max() < 0.101 and height.max() > 0.2


def test_what_absorbs_leaves_the_lee_calm():
    corners = np.array([[1.0, -1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 0.0, 2.0]])
    screen = AbsorberSpec("Screen", corners, np.array([[0, 1, 2]], dtype=np.int32), absorption=0.75)
    push = FieldSpec("Push", FieldKind.FORCE, strength=2.0, absorbed=True)
    bodies = body("Lee", position=(2.0, 0.0, 0.0)), body("Open", position=(-2.0, 0.0, 0.0))
    spec = scene(*bodies, gravity=np.zeros(3), frame_end=13, fields=(push,), absorbers=(screen,))
    frames = run(spec, 12)
    lee, outside = (np.abs(track(frames, index)[0][-1, 0]) - 2.0 for index in range(2))
    np.testing.assert_allclose(lee, 0.25 * outside, rtol=1e-9)


def test_what_sleeps_is_woken_when_what_absorbed_the_wind_falls_away():
    corners = np.array([[0.0, -1.0, -1.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
    shield = body("Shield", position=(-1.0, 0.0, 0.0), velocity=(0.0, 0.5, 0.0), linear_factor=(0.0, 1.0, 0.0))
    screen = AbsorberSpec("Screen", corners, triangles, carrier="Shield", absorption=1.0)
    spec = windy_floor(1.5 * 0.5 * WEIGHT, absorbed=True, position=np.array([-9.0, 0.0, 0.1]))
    spec = replace(spec, bodies=(*spec.bodies, replace(shield, collections=0)), absorbers=(screen,), frame_end=97)
    poses, _ = track(run(spec, 96), 1)
    # the shield is 2 m wide and has gone half of that after 2 s
    assert abs(poses[46, 0]) < 1e-5
    np.testing.assert_allclose(poses[-1, 0], 0.5 * 0.25 * WEIGHT * 2.0**2, rtol=0.1)


def test_a_bake_with_fields_goes_on_from_a_checkpoint_bit_for_bit():
    noisy = FieldSpec("Storm", FieldKind.TURBULENCE, strength=9.0, size=0.5, noise=2.0, flow=0.2)
    values = np.sin(np.arange(13))
    spec = windy_floor(0.0, keyed=(Keyed("strength", 9.0 * np.resize(values, 73)),))
    spec = replace(spec, fields=(*spec.fields, noisy))
    whole = sc.Simulation(spec)
    frames = whole.run(8)
    checkpoint = whole.checkpoint()
    after = [whole.advance() for _ in range(4)]
    resumed = sc.Simulation(spec)
    resumed.restore(frames[-1].frame, checkpoint)
    for frame in after:
        np.testing.assert_array_equal(resumed.advance().poses, frame.poses)


def test_fields_come_back_from_a_snapshot(tmp_path):
    screen = AbsorberSpec("Screen", np.eye(3), np.array([[0, 1, 2]], dtype=np.int32), absorption=0.5)
    keyed = (Keyed("strength", np.arange(49.0)), Keyed("max_distance", np.full(49, np.inf)))
    field = FieldSpec("Wind", FieldKind.WIND, FieldShape.POINTS, vertices=np.eye(3), normals=np.eye(3), keyed=keyed)
    spec = replace(free(field), absorbers=(screen,))
    write_snapshot(tmp_path / "scene", spec, SolverSettings())
    again, _ = read_snapshot(tmp_path / "scene")
    assert again.fields[0].shape is FieldShape.POINTS and again.fields[0].max_distance == math.inf
    np.testing.assert_array_equal(again.fields[0].keyed[0].values, keyed[0].values)
    np.testing.assert_array_equal(again.absorbers[0].vertices, screen.vertices)
    assert again.bodies[0].feels_fields


BAD = {
    "carrier": {"carrier": "Nobody"},
    "strength": {"strength": math.nan},
    "max_distance": {"max_distance": math.nan},
    "rate": {"rate": 0.0},
    "noise": {"noise": -1.0},
    "position": {"position": np.zeros((3, 3))},
    "axis": {"axis": np.array([0.0, 0.0, 2.0])},
    "vertices": {"vertices": np.full((3, 3), np.nan), "shape": FieldShape.SURFACE},
    "triangles": {"vertices": np.eye(3), "triangles": np.array([[0, 1, 3]], dtype=np.int32)},
    "normals": {"vertices": np.eye(3), "shape": FieldShape.POINTS},
    "permutation": {"permutation": np.zeros(256)},
    "keyed": {"keyed": (Keyed("seed", np.zeros(49)),)},
    "flow": {"keyed": (Keyed("flow", np.zeros(3)),)},
    "size": {"keyed": (Keyed("size", np.full(49, np.nan)),)},
    "kind": {"kind": "wind"},
}


@pytest.mark.parametrize("wrong", BAD)
def test_what_is_wrong_with_a_field_is_said_by_its_name(wrong):
    field = replace(FieldSpec("Wind", FieldKind.WIND), **BAD[wrong])
    with pytest.raises(sc.SceneError) as caught:
        sc.Simulation(free(field))
    assert {(one.object, one.field) for one in caught.value.problems} == {("Wind", wrong)}


def test_two_fields_of_one_name_and_what_pushes_nobody_are_named():
    field = FieldSpec("Wind", FieldKind.WIND)
    with pytest.raises(sc.SceneError, match="2 fields have this name"):
        sc.Simulation(free(field, field))
    spec = free(field)
    spec = replace(spec, bodies=tuple(replace(one, feels_fields=False) for one in spec.bodies))
    assert ("field", ("Wind",)) in {(one.field, one.objects) for one in sc.Simulation(spec).warnings}


def test_what_is_let_go_flies_on_from_the_velocity_of_its_path():
    path = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (4, 1))
    path[:, 0] = np.arange(4) / FPS
    wind = FieldSpec("Wind", FieldKind.WIND, strength=6.0, axis=np.array([1.0, 0.0, 0.0]))
    poses, _ = track(run(free(wind, path=path, frames=24), 24))
    flight = times(24)[:22]
    np.testing.assert_allclose(poses[3:, 0], 3.0 / FPS + flight + 3.0 * flight**2, rtol=1e-10)


def test_only_active_bodies_feel_fields():
    path = np.tile([0.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0], (25, 1))
    follower = replace(body("Follower"), kind=BodyKind.ANIMATED, mass=None, path=path)
    spec = scene(body(), follower, gravity=np.zeros(3), frame_end=25, fields=(FieldSpec("Wind", FieldKind.WIND),))
    frames = run(spec, 24)
    np.testing.assert_array_equal(track(frames, 1)[0], path)
