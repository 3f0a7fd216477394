# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about the start of a scene that depend on its contacts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...scene.spec import SceneWarning
from ...scene.words import distance
from ..model.rest_gaps import rest_offsets

__all__ = ["begun_overlaps"]

HELD_BY_THE_WORLD = (
    "as joints hold both to the world, they keep that, and push only where they are deeper; begin with them apart"
)


def begun_overlaps(
    contacts: ContactSet, size: NDArray[np.float64], names: list[str], frame: int, held: bool = False
) -> tuple[SceneWarning, ...]:
    """Return a warning for each pair of bodies that overlap at a frame by more than their rest offset.

    size: (n,) m, half sizes. held: whether joints to the world hold the bodies in place.
    """
    then = HELD_BY_THE_WORLD if held else "they are pushed apart slowly"
    deepest: dict[tuple[int, int], float] = {}
    overlapping = contacts.gap < -rest_offsets(np.minimum(size[contacts.body_a], size[contacts.body_b]))
    contacts = contacts.chosen(overlapping)
    for a, b, gap in zip(contacts.body_a.tolist(), contacts.body_b.tolist(), contacts.gap.tolist(), strict=True):
        deepest[a, b] = min(gap, deepest.get((a, b), 0.0))
    return tuple(
        SceneWarning(
            (names[a], names[b]),
            "overlap",
            f"{names[a]} and {names[b]} overlap by {distance(-gap)} at frame {frame}: {then}",
        )
        for (a, b), gap in deepest.items()
    )
