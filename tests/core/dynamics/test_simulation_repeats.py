# SPDX-License-Identifier: GPL-3.0-or-later
"""The same scene gives the same bits: again, resumed in the middle, and beside another one that it does not touch."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import MaterialSpec

ROUGH = MaterialSpec(0.7, 0.7, 0.2)


def tumble():
    """A box falls on a leaning pile: contacts come, stick, slide and go."""
    bodies = [box(f"Box {i}", (0.2, 0.2, 0.2), (0.06 * i, 0.03 * i, 0.1 + 0.2 * i), ROUGH) for i in range(3)]
    tilt, speed = (0.8, 0.0, 0.6, 0.0), (4.0, 0.0, 0.0)
    thrown = box("Thrown", (0.3, 0.1, 0.1), (-0.6, 0.05, 0.6), ROUGH, orientation=tilt, velocity=speed)
    return sc.SceneSpec((ground(ROUGH), *bodies, thrown), frame_end=25)


def digest(frames):
    state = hashlib.sha256()
    for frame in frames:
        state.update(frame.poses.tobytes())
        state.update(frame.velocities.tobytes())
    return state.hexdigest()


def shifted(spec, offset, suffix):
    """The bodies of a scene but its ground, moved along."""
    return tuple(
        dataclasses.replace(body, name=body.name + suffix, position=body.position + np.asarray(offset))
        for body in spec.bodies[1:]
    )


SCENES = {"pile": tumble(), "card house": sc.scenes.card_house(levels=2), "slope": sc.scenes.slope(mu=0.49, yaw=0.3)}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SCENES))
def test_a_second_run_gives_the_same_bits(name):
    first, second = (sc.Simulation(SCENES[name]).run(16) for _ in range(2))
    assert digest(first) == digest(second)


@pytest.mark.parametrize("name", list(SCENES))
@pytest.mark.parametrize("at", [pytest.param(1, marks=pytest.mark.slow), 7])
def test_a_run_resumed_in_the_middle_gives_the_same_bits(name, at):
    whole = sc.Simulation(SCENES[name])
    frames = whole.run(at)
    kept = {key: array.copy() for key, array in whole.checkpoint().items()}
    rest = [whole.advance() for _ in range(8)]
    resumed = sc.Simulation(SCENES[name])
    resumed.restore(frames[-1].frame, kept)
    assert digest([resumed.advance() for _ in range(8)]) == digest(rest)


def test_a_checkpoint_is_a_copy_and_can_be_used_twice():
    simulation = sc.Simulation(tumble())
    frames = simulation.run(5)
    checkpoint = simulation.checkpoint()
    results = []
    for _ in range(2):
        results.append(digest([simulation.advance() for _ in range(4)]))
        simulation.restore(frames[-1].frame, checkpoint)
    assert results[0] == results[1]


def test_the_first_frame_after_restoring_is_the_one_that_was_kept():
    simulation = sc.Simulation(tumble())
    frames = simulation.run(5)
    other = sc.Simulation(tumble())
    other.restore(frames[-1].frame, simulation.checkpoint())
    again = other.first_frame()
    assert again.frame == frames[-1].frame
    np.testing.assert_array_equal(again.poses, frames[-1].poses)
    np.testing.assert_array_equal(again.velocities, frames[-1].velocities)


@pytest.mark.slow
def test_scenes_that_do_not_touch_do_not_know_of_each_other():
    """Islands: a pile beside another scene that is far away moves with the same bits as the pile alone."""
    pile = tumble()
    alone = sc.Simulation(pile).run(16)
    both = dataclasses.replace(pile, bodies=pile.bodies + shifted(sc.scenes.card_house(levels=2), (0.0, 50.0, 0.0), " far"))
    together = sc.Simulation(both).run(16)
    count = len(pile.bodies)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(other.poses[:count], one.poses)
        np.testing.assert_array_equal(other.velocities[:count], one.velocities)
    assert max(frame.statistics.islands.max() for frame in together[1:]) > max(f.statistics.islands.max() for f in alone[1:])


def test_two_copies_move_alike_where_numbers_are_alike():
    """A copy 64 m away: rounding differs in the last bits of positions, so poses agree to far below what is seen."""
    pile = tumble()
    both = dataclasses.replace(pile, bodies=pile.bodies + shifted(pile, (0.0, 64.0, 0.0), " copy"))
    frames = sc.Simulation(both).run(8)
    count = len(pile.bodies)
    first, second = frames[-1].poses[1:count], frames[-1].poses[count:]
    np.testing.assert_allclose(second[:, :3] - [0.0, 64.0, 0.0], first[:, :3], atol=1e-6)
    np.testing.assert_allclose(second[:, 3:], first[:, 3:], atol=1e-5)


def test_what_happened_before_in_the_process_does_not_matter():
    reference = digest(sc.Simulation(tumble()).run(8))
    sc.Simulation(sc.scenes.card_house(levels=1), tolerance=1e-4).run(3)
    one, other = sc.Simulation(tumble()), sc.Simulation(sc.scenes.slope())
    frames = [one.first_frame()]
    for _ in range(8):
        frames.append(one.advance())
        other.advance()
    assert digest(frames) == reference
