# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes for demos, tests and benchmarks, in m, kg and s.

Scenes with joints are in `jointed`, those of the papers in `published`.
"""

from __future__ import annotations

from .plain import (
    arch,
    bridge,
    card_house,
    chain,
    dominoes,
    dropped_cube,
    jamming_rod,
    ring,
    sliding_box,
    slope,
    tower,
    wall,
)

__all__ = [
    "arch",
    "bridge",
    "card_house",
    "chain",
    "dominoes",
    "dropped_cube",
    "jamming_rod",
    "ring",
    "sliding_box",
    "slope",
    "tower",
    "wall",
]
