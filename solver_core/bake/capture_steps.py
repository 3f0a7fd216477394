# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line argument for the time steps to capture. Separate from `capture.py`, so that it loads quickly."""

from __future__ import annotations

import re

from ..process.command_line import UsageError

__all__ = ["CAPTURE_FORMATS", "steps_named"]

CAPTURE_FORMATS = ("npz", "hdf5")
RANGE_OF_STEPS = re.compile(r"(\d+)(?::(\d+))?")


def steps_named(text: str) -> range:
    """Return the time steps given as "12" or "10:20", the last one included. Raises UsageError."""
    match = RANGE_OF_STEPS.fullmatch(text)
    if match is None:
        raise UsageError(f"--capture-steps: {text} is neither a time step, as 12, nor a range of them, as 10:20")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"--capture-steps: {text} ends before it begins")
    return range(first, last + 1)
