# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation of checkpoints from files before a simulation continues from them, because kernels do not check indices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .impact_memory import ImpactMemory

__all__ = ["BEGUN", "OF_PAIRS", "checkpoint_problem", "missing_in", "of_this_version"]

Arrays = Mapping[str, NDArray[Any]]

# Prefixes of arrays whose number of rows differs between checkpoints: of contacts, and of pairs of bodies.
REMEMBERED = ("memory_", "asleep_", "begun_", "together_", "neighbours")
# Arrays with indices of bodies.
INDICES = (
    "memory_body_a",
    "memory_body_b",
    "asleep_body_a",
    "asleep_body_b",
    "begun_body_a",
    "begun_body_b",
    "sleep_island",
    "neighbours",
)
# Speeds of bodies in unconverged steps are infinite.
MAY_BE_INFINITE = ("sleep_fastest", "sleep_before")
BEGUN = tuple(f"begun_{name}" for name in ImpactMemory._fields)  # impacts that end in the next step
OF_PAIRS = ("together_pair", "together_gap", "neighbours")  # jointed pairs
# Arrays that checkpoints of earlier versions lack.
MAY_LACK = (
    "takeovers",
    "joint_attached",
    "joint_recent",
    "waits",
    "moving_members",
    "settled",
    "calm",
    "modal",
    "modal_velocity",
    *OF_PAIRS,
    *BEGUN,
)
# Arrays of earlier versions and their present names; None for arrays that are not used any more.
FORMER_ARRAYS = {
    "crowd_members": "moving_members",
    **dict.fromkeys(("asked", "pace_span", "pace_jerk", "pace_acceleration", "pace_force")),
}


def of_this_version(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return a checkpoint, or a part of one, with the array names of this version."""
    named = ((FORMER_ARRAYS.get(name, name), array) for name, array in arrays.items())
    return {name: array for name, array in named if name is not None}


def checkpoint_problem(found: Arrays, like: Arrays) -> str:
    """Return what is wrong with a checkpoint, or a part of one; empty if it is valid.

    like: a valid checkpoint of the same scene.
    """
    bodies = len(like["position"])
    rows: dict[str, int] = {}
    for name, array in found.items():
        wanted = like.get(name)
        if wanted is None:
            return f"there is no {name!r} in a checkpoint"
        first = wanted.shape[0]
        for prefix in REMEMBERED:
            if name.startswith(prefix):
                first = rows.setdefault(prefix, array.shape[0] if array.ndim else 0)
        if array.dtype != wanted.dtype or array.shape != (first, *wanted.shape[1:]):
            return f"{name!r} is of {array.dtype} and shape {array.shape}"
        if name in INDICES and not ((array >= 0) & (array < bodies)).all():
            return f"{name!r} names bodies that the scene of {bodies} does not have"
        if name == "together_pair" and not are_pairs(array, bodies):
            return f"{name!r} is not of pairs, each once and in order, of the {bodies} bodies of the scene"
        if array.dtype.kind == "f" and (np.isnan(array).any() or (name not in MAY_BE_INFINITE and np.isinf(array).any())):
            return f"{name!r} has numbers that are not finite"
    return ""


def are_pairs(pair: NDArray[np.int64], bodies: int) -> bool:
    """Return whether an array (k,) holds pairs as in `RestGaps`."""
    a, b = np.divmod(pair, bodies)
    return bool(((a >= 0) & (a < b)).all() and (pair[1:] > pair[:-1]).all())


def missing_in(found: Arrays, like: Arrays) -> list[str]:
    """Return the names of the required arrays that a whole checkpoint lacks. like: a valid checkpoint of the same scene."""
    return [name for name in like if name not in found and name not in MAY_LACK]
