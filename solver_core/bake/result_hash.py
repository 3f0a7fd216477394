# SPDX-License-Identifier: GPL-3.0-or-later
"""The hash of a bake's result: two bakes with one hash put all bodies into the same places, to the last bit."""

from __future__ import annotations

import hashlib

import numpy as np

from ..dynamics.model.frame import Frame

__all__ = ["ResultHash"]


class ResultHash:
    """The SHA-256 of the frames of a bake, taken one after the other.

    Of each frame: its number as 64 bits, then the poses (bodies, 7) and the modes of bodies that bend as doubles, all with the
    lowest byte first. Statistics, among them seconds, have no part in it.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, frame: Frame) -> None:
        """Take in the next frame."""
        self._hash.update(int(frame.frame).to_bytes(8, "little", signed=True))
        for array in (frame.poses, frame.modal):
            self._hash.update(np.ascontiguousarray(array, dtype="<f8").tobytes())

    def hexdigest(self) -> str:
        """The hash of the frames so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()
