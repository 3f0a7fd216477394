# SPDX-License-Identifier: GPL-3.0-or-later
"""How many threads there are."""

from __future__ import annotations

import os

__all__ = ["MOST_ASKED", "number_of_threads"]

MOST_BY_ITSELF = 8  # threads where nobody asks for a number: the pieces of a stage are not many more
MOST_ASKED = 256


def number_of_threads(requested: int) -> int:
    """How many threads there are to be: those that were asked for, or for 0 one for each processor that this process may use.
    Raises ValueError for what is no number of threads."""
    if isinstance(requested, bool) or not isinstance(requested, int) or not 0 <= requested <= MOST_ASKED:
        raise ValueError(f"threads must be a whole number from 1 to {MOST_ASKED}, or 0 for one a processor, not {requested!r}")
    if requested > 0:
        return requested
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(allowed or 1, MOST_BY_ITSELF)
