# SPDX-License-Identifier: GPL-3.0-or-later
"""The hash of a bake's result: two bakes with the same hash have the same poses bit for bit."""

from __future__ import annotations

import hashlib

import numpy as np

from ..dynamics.model.frame import Frame

__all__ = ["ResultHash"]


class ResultHash:
    """The SHA-256 hash of the frames of a bake, added in order.

    Each frame contributes its number as a 64-bit integer, then the poses (bodies, 7) and the modes of flexible bodies as
    doubles, all little-endian. Statistics, such as times, do not count.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, frame: Frame) -> None:
        """Add the next frame."""
        self._hash.update(int(frame.frame).to_bytes(8, "little", signed=True))
        for array in (frame.poses, frame.modal):
            self._hash.update(np.ascontiguousarray(array, dtype="<f8").tobytes())

    def hexdigest(self) -> str:
        """Return the hash of the frames so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()
