# SPDX-License-Identifier: GPL-3.0-or-later
"""No sample is further from the lines between keys than the tolerance, and no key can be left out alone."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.bake.thinning import interpolated, keys_within, sharp_turns


def bouncing(samples=200):
    t = np.linspace(0.0, 8.0, samples)
    return np.column_stack([t, 0.1 * np.sin(t), np.abs(np.sin(2.0 * t))])


def wandering(rng, samples=200):
    return np.cumsum(rng.normal(size=(samples, 3)) * rng.choice([0.0, 1.0], p=[0.7, 0.3], size=(samples, 1)), axis=0)


def motions():
    rng = np.random.default_rng(3)
    still = np.ones((200, 3))
    straight = np.linspace(0.0, 1.0, 200)[:, None] * [1.0, 2.0, 3.0]
    return np.array([bouncing(), still, straight, *(wandering(rng) for _ in range(6)), bouncing()[::-1]])


def from_values(values, tolerance):
    """Euclidean distance, the plainest of deviations."""
    rows = values.reshape(-1, values.shape[-1])
    return lambda which, others: np.linalg.norm(others - rows[which], axis=-1) / tolerance


def keys_of(values, tolerance, times=None, kept=None):
    times = np.arange(values.shape[1], dtype=float) if times is None else times
    kept = np.zeros(values.shape[:2], dtype=bool) if kept is None else kept
    return keys_within(times, values, from_values(values, tolerance), kept)


def by_interpolation(times, values, keys):
    """What numpy makes of the keys, channel by channel."""
    return np.column_stack([np.interp(times, times[keys], channel[keys]) for channel in values.T])


@pytest.mark.parametrize("tolerance", [1e-9, 0.01, 0.3, 1e3])
@pytest.mark.parametrize("uneven", [False, True])
def test_no_sample_is_off_and_no_key_is_idle(tolerance, uneven):
    values = motions()
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 100, 200)) if uneven else np.arange(200.0)
    keys = keys_of(values, tolerance, times)
    for motion, chosen in zip(values, keys, strict=True):
        assert chosen[0] and chosen[-1]
        off = np.linalg.norm(by_interpolation(times, motion, chosen) - motion, axis=1)
        assert off.max() <= tolerance * (1 + 1e-9)
        for key in np.flatnonzero(chosen)[1:-1]:
            without = chosen.copy()
            without[key] = False
            off = np.linalg.norm(by_interpolation(times, motion, without) - motion, axis=1)
            assert off.max() > tolerance * (1 - 1e-9)
    assert np.allclose(
        interpolated(times, values, keys),
        [by_interpolation(times, motion, chosen) for motion, chosen in zip(values, keys, strict=True)],
        rtol=0,
        atol=1e-12,
    )


def test_what_stands_or_goes_straight_has_two_keys_and_a_kink_one_more():
    line = np.linspace(0.0, 1.0, 50)
    kinked = np.minimum(line, 0.6 * line[20] + 0.4 * line)
    values = np.array([np.zeros(50), line, kinked])[..., None]
    keys = keys_of(values, 1e-6)
    assert keys.sum(axis=1).tolist() == [2, 2, 3] and keys[2, 20]


def test_every_motion_is_done_as_if_alone():
    values = motions()
    together = keys_of(values, 0.05)
    alone = [keys_of(values[i : i + 1], 0.05)[0] for i in range(len(values))]
    assert np.array_equal(together, alone)


def test_kept_samples_stay_also_where_nothing_happens():
    kept = np.zeros((1, 200), dtype=bool)
    kept[0, [50, 51]] = True
    keys = keys_of(np.zeros((1, 200, 3)), 1.0, kept=kept)
    assert np.flatnonzero(keys[0]).tolist() == [0, 50, 51, 199]


def test_what_is_not_a_number_is_never_thinned_away():
    values = np.zeros((1, 20, 1))
    values[0, 7] = np.nan
    assert keys_of(values, 1.0)[0, 7]


@pytest.mark.parametrize("samples", [1, 2])
def test_the_shortest_motions_keep_all(samples):
    assert keys_of(np.arange(float(3 * samples)).reshape(3, samples, 1), 1e-3).all()


def test_both_samples_beside_a_jump_of_the_velocity_are_named():
    velocity = np.zeros((2, 10, 3))
    velocity[0, :, 2] = -0.4 * np.arange(10)
    velocity[0, 6:, 2] += 5.0
    assert [np.flatnonzero(row).tolist() for row in sharp_turns(velocity, 0.8)] == [[5, 6], []]
