# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of a frame of a cache, including the contacts of sleeping bodies.

A frame has no contacts of sleeping bodies, because nothing is solved for them. They have not moved since the last frame that
has their contacts, and the forces of that frame still support them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from ..dynamics.model.frame import FrameContacts
from .cache import FrameCacheReader

__all__ = ["RestingContacts"]

Flags = NDArray[np.bool_]


class RestingContacts:
    """Finds contacts in a cache. It remembers those of one frame, so that reading consecutive frames is fast."""

    def __init__(self, reader: FrameCacheReader):
        self._reader = reader
        self._last: tuple[int, FrameContacts] | None = None

    def of_frame(self, frame: int) -> FrameContacts | None:
        """Return the contacts of a frame, those of sleeping bodies last; None if they were not stored. Raises CacheError and
        OSError."""
        now = self._reader.contacts(frame)
        if now is None:
            return None
        found = joined([now, *self._of_sleepers(frame, now)])
        self._last = frame, found
        return found

    def _of_sleepers(self, frame: int, now: FrameContacts) -> list[FrameContacts]:
        """Return the last contacts of the bodies that have none in a frame and have not moved since."""
        poses = self._reader.read(frame).poses
        still, waits = np.ones(len(poses), dtype=bool), ~touched(now, len(poses))
        found = []
        for earlier in range(frame - 1, self._reader.frames[0], -1):
            still &= (self._reader.read(earlier).poses == poses).all(axis=1)
            waits &= still
            if not waits.any():
                break
            is_known = self._last is not None and self._last[0] == earlier
            there = self._last[1] if self._last is not None and is_known else self._reader.contacts(earlier)
            if there is None:
                break
            a, b = there.body_a, there.body_b
            theirs = chosen(there, still[a] & still[b] & (waits[a] | waits[b]))
            if len(theirs):
                found.append(theirs)
                waits &= ~touched(theirs, len(poses))
            if is_known:
                # It includes those of all earlier frames.
                break
        return found


def touched(contacts: FrameContacts, bodies: int) -> Flags:
    """Return for each body (bodies,) whether it has a contact."""
    result = np.zeros(bodies, dtype=bool)
    result[contacts.body_a] = result[contacts.body_b] = True
    return result


def chosen(contacts: FrameContacts, which: Flags) -> FrameContacts:
    """Return some of the contacts, with all impacts."""
    return replace(contacts, **{name: getattr(contacts, name)[which] for name in columns()})


def joined(parts: Sequence[FrameContacts]) -> FrameContacts:
    """Return the contacts of several parts, with the impacts of the first."""
    if len(parts) == 1:
        return parts[0]
    return replace(parts[0], **{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns()})


def columns() -> list[str]:
    """Return the fields of contacts that have one row per contact."""
    return [field.name for field in fields(FrameContacts) if field.name not in ("impacts", "scrapes")]
