# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of arguments common to all solvers. Each raises ValueError with the name of the argument and the requirement."""

from __future__ import annotations

import numpy as np

__all__ = ["require_limits", "require_number", "require_truth", "require_whole"]


def require_number(name: str, value) -> None:
    """Raise ValueError unless the value is a real number; a bool is not."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{name} must be a number, not {value!r}")


def require_whole(name: str, value) -> None:
    """Raise ValueError unless the value has an integer type; 2.0 does not."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be a whole number, not {value!r}")


def require_truth(name: str, value) -> None:
    """Raise ValueError unless the value is a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}")


def require_limits(tolerance, max_iterations, time_limit) -> None:
    """Raise ValueError unless the tolerance, the iterations and the time limit [s] are positive and the tolerance is finite."""
    require_number("tolerance", tolerance)
    if not (np.isfinite(tolerance) and tolerance > 0.0):
        raise ValueError(f"tolerance must be a positive number, not {tolerance!r}")
    require_whole("max_iterations", max_iterations)
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations!r}")
    require_number("time_limit", time_limit)
    if not time_limit > 0.0:
        raise ValueError(f"time_limit must be a positive number of seconds, not {time_limit!r}")
