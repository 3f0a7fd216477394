# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenes that demos, tests and benchmarks share, in m, kg and s.

Those with joints are in `jointed`, those of the papers in `published`.
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
