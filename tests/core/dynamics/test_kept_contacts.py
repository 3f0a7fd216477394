# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts that a simulation keeps say what bears, sticks and slides, and obey the laws of statics and of impact."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.model.frame import ContactState
from solver_core.scene.parts import ground
from solver_core.scene.spec import SceneSpec
from solver_core.scenes.plain import dropped_cube, slope

from ..bodies import body, material

GRAVITY = 9.81
SIZE = 0.2


def last_contacts(spec, frames, **settings):
    contacts = sc.Simulation(spec, keep_contacts=True, **settings).run(frames)[-1].contacts
    assert contacts is not None
    return contacts


@pytest.mark.parametrize(("mu", "state"), [(0.6, ContactState.STICKING), (0.3, ContactState.SLIDING)])
def test_a_box_on_a_slope_is_borne_by_its_weight_and_held_by_friction(mu, state):
    contacts = last_contacts(slope(tangent=0.5, mu=mu), 12)
    angle = math.atan(0.5)
    up, down = np.array([math.sin(angle), 0.0, math.cos(angle)]), np.array([math.cos(angle), 0.0, -math.sin(angle)])
    assert set(contacts.state) == {state}
    # 1 kg
    assert contacts.force.sum() == pytest.approx(GRAVITY * math.cos(angle), rel=1e-5)
    held = min(math.sin(angle), mu * math.cos(angle))
    np.testing.assert_allclose(contacts.friction.sum(axis=0), -held * GRAVITY * down, atol=2e-4)
    np.testing.assert_allclose(contacts.normal, np.tile(up, (len(contacts), 1)), atol=1e-5)
    np.testing.assert_allclose(contacts.mu, mu, rtol=1e-6)
    if state is ContactState.SLIDING:
        speed = GRAVITY * (math.sin(angle) - mu * math.cos(angle)) * 12 / 24.0
        np.testing.assert_allclose(contacts.slip, np.tile(speed * down, (len(contacts), 1)), rtol=1e-2, atol=1e-3)


def test_what_comes_near_and_does_not_touch_bears_nothing():
    spec = dropped_cube(height=GRAVITY / 2 * (6 / 24.0) ** 2)
    approaching = sc.Simulation(spec, keep_contacts=True, substeps=2)
    seen = [frame.contacts for frame in approaching.frames(5)]
    assert seen[0] is None
    for contacts in seen[1:]:
        assert contacts is not None and set(contacts.state) <= {ContactState.SEPARATING}
        assert not contacts.force.any() and not contacts.impacts.time.size


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_an_impact_has_the_time_the_place_and_the_momentum_of_the_fall(restitution):
    height = 0.5
    spec = dropped_cube(height=height, restitution=restitution)
    frames = sc.Simulation(spec, keep_contacts=True).run(9)
    impacts = [frame.contacts.impacts for frame in frames if frame.contacts is not None and frame.contacts.impacts.time.size]
    times = np.concatenate([one.time for one in impacts])
    impulse = np.concatenate([one.impulse for one in impacts])
    fall, speed = math.sqrt(2.0 * height / GRAVITY), math.sqrt(2.0 * GRAVITY * height)
    assert times[0] == pytest.approx(fall, abs=1.0 / 240.0)
    assert times[-1] - times[0] <= 2.0 / 240.0
    # what stops it, sends it up again, and bears it meanwhile
    assert impulse.sum() == pytest.approx((1.0 + restitution) * speed, abs=3.0 * GRAVITY / 240.0)
    assert impacts[0].speed[0] == pytest.approx(speed, abs=2.0 * GRAVITY / 240.0)
    # midway between surfaces that meet before the step ends
    np.testing.assert_allclose(impacts[0].point[0], [0.0, 0.0, 0.25 * speed / 240.0], atol=0.26 * speed / 240.0)
    np.testing.assert_allclose(impacts[0].point[0, :2], 0.0, atol=1e-6)
    np.testing.assert_allclose(impacts[0].normal[0], [0.0, 0.0, 1.0], atol=1e-6)
    assert (impacts[0].body_a[0], impacts[0].body_b[0]) == (0, 1)


def test_a_body_at_rest_is_borne_by_what_it_weighs_at_the_time():
    lying = slope(tangent=0.0, mu=0.5)
    path = np.zeros((9, 3))
    path[:, 2] = np.where(np.arange(9) < 5, -GRAVITY, -2.0 * GRAVITY)
    spec = dataclasses.replace(lying, frame_end=lying.frame_start + 8, gravity_path=path)
    frames = sc.Simulation(spec, keep_contacts=True).run()
    borne = [frame.contacts.force.sum() for frame in frames if frame.contacts is not None]
    np.testing.assert_allclose(borne[1:4] + borne[5:], [GRAVITY] * 3 + [2.0 * GRAVITY] * 3, rtol=1e-3)


def test_keeping_contacts_changes_no_bit_of_the_motion():
    surface = material(0.5, 0.2, 0.3)
    spec = SceneSpec(
        (
            ground(surface),
            body("Lower", position=(0.0, 0.0, 0.5 * SIZE), material=surface),
            body("Upper", position=(0.03, 0.0, 1.6 * SIZE), velocity=(0.5, 0.2, 0.0), material=surface),
        )
    )
    plain, kept = sc.Simulation(spec), sc.Simulation(spec, keep_contacts=True)
    for one, other in zip(plain.frames(10), kept.frames(10), strict=True):
        assert one.contacts is None
        assert one.poses.tobytes() == other.poses.tobytes() and one.velocities.tobytes() == other.velocities.tobytes()
        for field in dataclasses.fields(one.statistics):
            if field.name != "seconds":
                assert getattr(one.statistics, field.name).tobytes() == getattr(other.statistics, field.name).tobytes()
    assert plain.checkpoint().keys() == kept.checkpoint().keys()
