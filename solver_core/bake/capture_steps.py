# SPDX-License-Identifier: GPL-3.0-or-later
"""Which time steps' contact problems are captured, as command lines say it; without what `capture.py` loads."""

from __future__ import annotations

import re

from ..process.command_line import UsageError

__all__ = ["CAPTURE_FORMATS", "steps_named"]

CAPTURE_FORMATS = ("npz", "hdf5")
RANGE_OF_STEPS = re.compile(r"(\d+)(?::(\d+))?")


def steps_named(text: str) -> range:
    """The time steps that "12" or "10:20" names, the last one with them. Raises UsageError."""
    match = RANGE_OF_STEPS.fullmatch(text)
    if match is None:
        raise UsageError(f"--capture-steps: {text} is neither a time step, as 12, nor a range of them, as 10:20")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"--capture-steps: {text} ends before it begins")
    return range(first, last + 1)
