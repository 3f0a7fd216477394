# SPDX-License-Identifier: GPL-3.0-or-later
"""The forces of contacts on a body, sample by sample: half a sine for a hit, noise for a scrape.

A scrape reads a profile of random heights along the path that it slides, so its pitch follows the speed (the phonograph needle
of van den Doel, Kry, Pai 2001). Its amplitude is proportional to the square root of the sliding power, as there. A force of
root mean square f, whose band reaches B = v / (2 spacing) at the speed v, gives f^2 / (4 B m) to each mode of a body of mass m.
So f^2 = 4 B m P gives each mode the power P.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..debris import DebrisEvents, DebrisKind

__all__ = ["SAMPLE_RATE", "Forces", "hit_forces", "joined", "scrape_forces"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Hz
SAMPLE_RATE = 48_000
# m, between the heights of the profile of a surface.
ASPERITY_SPACING = 1e-4
# s, in which a scrape begins and ends; scrapes of two bodies with gaps below two of them are one.
FADE_OF_A_SCRAPE = 2e-3
# The root mean square of standard normal heights with straight lines between them.
RMS_OF_PROFILE = math.sqrt(2.0 / 3.0)


@dataclass(frozen=True)
class Forces:
    """Samples of forces.

    Attributes
    ----------
    sample : (k,) number of the sample
    newtons : (k,) N, along the direction of the event
    event : (k,) row of the event that exerts it
    """

    sample: Indices
    newtons: Array
    event: Indices

    def times(self, factor: float) -> Forces:
        """Return the forces times a factor."""
        return Forces(self.sample, factor * self.newtons, self.event)


def joined(parts: Sequence[Forces], weights: Array) -> Forces:
    """Return all forces together, each times the weight of its event. weights: (events,)."""
    sample, newtons, event = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("sample", "newtons", "event")
    )
    return Forces(sample, newtons * weights[event], event)


def hit_forces(begin: Array, duration: Array, impulse: Array, event: Indices) -> Forces:
    """Return the forces of hits, whose sums over the samples are the impulses whatever the duration.

    Parameters
    ----------
    begin, duration : (n,) s
    impulse : (n,) N s
    event : (n,) rows of the events
    """
    first = np.floor(begin * SAMPLE_RATE).astype(np.int64)
    count = np.floor((begin + duration) * SAMPLE_RATE).astype(np.int64) - first + 1
    hit = np.repeat(np.arange(len(begin)), count)
    sample = np.repeat(first - np.concatenate([[0], np.cumsum(count)[:-1]]), count) + np.arange(len(hit))
    lasts = np.maximum(duration, 1e-9)[hit]

    def given(edge: Indices) -> Array:
        """Share of the impulse before the edge of a sample."""
        phase = np.clip((edge / SAMPLE_RATE - begin[hit]) / lasts, 0.0, 1.0)
        return 0.5 * (1.0 - np.cos(math.pi * phase))

    return Forces(sample, impulse[hit] * (given(sample + 1) - given(sample)) * SAMPLE_RATE, event[hit])


def scrape_forces(events: DebrisEvents, rows: Indices, span: tuple[Array, Array], names: Sequence[str], seed: int) -> Forces:
    """Return the forces of two bodies that slide on each other, for a body of 1 kg each of whose modes takes all of the power.

    The forces grow with the square roots of the mass and of the share that modes take.

    Parameters
    ----------
    events : all of them
    rows : (n,) the scrapes of the two bodies, in the order of time
    span : (n,) s of the shot at which each begins and ends
    names : of the two bodies, which with the seed decide the profile
    seed : of random numbers
    """
    begin, end = span
    middle = 0.5 * (begin + end)
    power = events.energy[rows] / events.duration[rows]
    speed = events.speed[rows]
    follows = begin[1:] - end[:-1] < 2.0 * FADE_OF_A_SCRAPE
    runs = np.split(np.arange(len(rows)), np.flatnonzero(~follows) + 1)
    random = np.random.default_rng([seed, int(DebrisKind.SCRAPE), zlib.crc32("\n".join(names).encode())])
    heights = np.zeros(0)
    path = 0.0
    samples, newtons, owners = [], [], []
    for run in runs:
        first, last = begin[run[0]] - FADE_OF_A_SCRAPE, end[run[-1]] + FADE_OF_A_SCRAPE
        powers_of_run = power[run]
        knots = np.concatenate([[first, begin[run[0]]], middle[run], [end[run[-1]], last]])
        sample = np.arange(math.ceil(first * SAMPLE_RATE), math.floor(last * SAMPLE_RATE) + 1)
        now = sample / SAMPLE_RATE
        powers = np.interp(now, knots, np.concatenate([[0.0], powers_of_run[:1], powers_of_run, powers_of_run[-1:], [0.0]]))
        speeds = np.interp(now, middle[run], speed[run])
        paths = path + np.cumsum(speeds) / SAMPLE_RATE
        path = float(paths[-1])
        more = math.ceil(path / ASPERITY_SPACING) + 2 - len(heights)
        heights = np.concatenate([heights, random.standard_normal(max(more, 0))])
        profile = np.interp(paths / ASPERITY_SPACING, np.arange(len(heights)), heights) / RMS_OF_PROFILE
        samples.append(sample)
        newtons.append(np.sqrt(4.0 * powers * speeds / (2.0 * ASPERITY_SPACING)) * profile)
        owners.append(rows[run[np.searchsorted(0.5 * (middle[run[1:]] + middle[run[:-1]]), now)]])
    return Forces(np.concatenate(samples), np.concatenate(newtons), np.concatenate(owners))
