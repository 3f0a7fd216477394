# SPDX-License-Identifier: GPL-3.0-or-later
"""What sleeps is shown with the contacts at which it came to rest, until it moves again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.resting_contacts import RestingContacts, chosen

from ..caches import DIGEST, SETTINGS, SPEC, frame, with_contacts

FIRST = SPEC.frame_start


def on(number, *pairs):
    """Contacts of these pairs, whose normal forces say in which frame they were solved."""
    some = chosen(with_contacts(number).contacts, np.zeros(len(with_contacts(number).contacts), dtype=bool))
    a, b = (np.array([pair[side] for pair in pairs], dtype=some.body_a.dtype) for side in (0, 1))
    count = len(pairs)
    columns = {
        "force": np.full(count, number, np.float32),
        "gap": np.zeros(count, np.float32),
        "mu": np.ones(count, np.float32),
    }
    vectors = {name: np.zeros((count, 3), np.float32) for name in ("point", "normal", "friction", "slip")}
    vectors["ellipse"] = np.zeros((count, 2, 3), np.float32)
    return replace(some, body_a=a, body_b=b, state=np.ones(count, np.uint8), **columns, **vectors)


@pytest.fixture
def contacts_of(tmp_path):
    """Makes a cache of frames, each with the heights of three bodies and their contacts, and asks for those of frames."""

    def make(*told):
        path = tmp_path / "frames.cache"
        with FrameCacheWriter.create(path, SPEC, SETTINGS, digest=DIGEST) as writer:
            for number, (heights, *pairs) in enumerate(told, start=FIRST):
                poses = np.zeros((3, 7))
                poses[:, 2], poses[:, 3] = heights, 1.0
                contacts = None if number == FIRST else on(number, *pairs)
                writer.append(replace(frame(number), poses=poses, contacts=contacts), {})
        reader = FrameCacheReader(path)

        def told_of(*numbers):
            resting = RestingContacts(reader)
            for number in numbers:
                found = resting.of_frame(number)
            return sorted(zip(found.body_a.tolist(), found.body_b.tolist(), found.force.tolist(), strict=True))

        return told_of

    return make


def test_a_stack_that_sleeps_keeps_its_last_contacts(contacts_of):
    floor, low, high = 0, 1, 2
    pairs = (floor, low), (low, high)
    told = contacts_of((3 * [0.0],), ([0, 1, 2], *pairs), ([0, 1, 2], *pairs), ([0, 1, 2],), ([0, 1, 2],))
    expected = [(0, 1, FIRST + 2.0), (1, 2, FIRST + 2.0)]
    assert told(FIRST + 4) == expected == told(FIRST + 3, FIRST + 4) == told(FIRST + 4, FIRST + 3)


def test_what_was_thrown_off_has_no_contact_any_more(contacts_of):
    told = contacts_of((3 * [0.0],), ([0, 1, 2], (0, 1), (1, 2)), ([0, 1, 3],), ([0, 1, 4],))
    # the lower one sleeps, the upper one flies
    assert told(FIRST + 3) == told(FIRST + 2, FIRST + 3) == [(0, 1, FIRST + 1.0)]


def test_contacts_that_are_solved_come_once(contacts_of):
    told = contacts_of((3 * [0.0],), ([0, 1, 2], (0, 1), (0, 2)), ([0, 1, 2], (0, 1)), ([0, 1, 2], (0, 1)))
    assert told(FIRST + 3) == told(FIRST + 2, FIRST + 3) == [(0, 1, FIRST + 3.0), (0, 2, FIRST + 1.0)]


def test_a_body_that_never_touched_anything_has_none(contacts_of):
    told = contacts_of(*[([0, 1, 2],)] * 4)
    assert told(FIRST + 3) == []
