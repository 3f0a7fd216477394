# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says of bodies that bend, and a bake while it goes on: frequencies, and how far they bend."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from ..dynamics.model.frame import Frame
from ..io.kept_modes import SceneModes
from ..scene.spec import SceneSpec, SceneWarning, SolverSettings
from ..scene.words import distance, figure
from ..validation.stiffness import followed_modes, is_too_stiff, swings

__all__ = ["add_bends", "bend_warnings", "bending_entries", "largest_bends"]

# Of a body's longest side: what bends by more is visibly longer than it should be, for linear modes move points straight on.
LARGE_BEND = 0.15


def bending_entries(spec: SceneSpec, settings: SolverSettings, modes: SceneModes) -> list[dict[str, Any]]:
    """Of each body that bends: its name, how many modes it has and how many of them swing at these steps, its first and last
    frequency in Hz, how many bricks it was computed with, whether nobody sees it bend, all this in words, and the largest bend
    in m so far with its frame, None before any; and the largest stress, Pa, with its frame."""
    found = []
    for index, one in zip(modes.bodies, modes.reduced, strict=True):
        body = spec.bodies[index]
        stiff = is_too_stiff(one, spec, settings, longest_side(spec, index))
        found.append(
            {
                "body": body.name,
                "modes": len(one.omega),
                "swinging": followed_modes(one, spec, settings),
                "frequencies": [float(one.frequencies[0]), float(one.frequencies[-1])],
                "bricks": len(one.bricks),
                "too_stiff": stiff,
                "words": swings(one, spec, settings),
                "largest_bend": 0.0,
                "frame": None,
                "largest_stress": 0.0,
                "stress_frame": None,
            }
        )
    return found


def longest_side(spec: SceneSpec, index: int) -> float:
    return float(np.ptp(spec.bodies[index].shape.vertices, axis=0).max())


def largest_bends(frame: Frame, modes: SceneModes) -> list[float]:
    """m: of each body that bends, how far the vertex is that is farthest from where it would be were the body rigid."""
    rows = modes.rows
    return [
        float(np.linalg.norm(one.shapes @ frame.modal[rows[index]], axis=1).max(initial=0.0))
        for index, one in zip(modes.bodies, modes.reduced, strict=True)
    ]


def add_bends(frame: Frame, modes: SceneModes, entries: list[dict[str, Any]]) -> None:
    """Take a frame into the entries."""
    for entry, bend in zip(entries, largest_bends(frame, modes), strict=True):
        if bend > entry["largest_bend"]:
            entry["largest_bend"], entry["frame"] = bend, frame.frame
    rows = modes.rows
    for entry, index, one in zip(entries, modes.bodies, modes.reduced, strict=True):
        stress = float(one.stresses(frame.modal[rows[index]]).max(initial=0.0))
        if stress > entry["largest_stress"]:
            entry["largest_stress"], entry["stress_frame"] = stress, frame.frame


def bend_warnings(
    frame: Frame, spec: SceneSpec, modes: SceneModes, known: Collection[tuple[str, ...]]
) -> Iterator[SceneWarning]:
    """A warning for each body that bends too far for linear modes in the frame, but for those whose names are known."""
    for index, bend in zip(modes.bodies, largest_bends(frame, modes), strict=True):
        share, name = bend / longest_side(spec, index), spec.bodies[index].name
        if share > LARGE_BEND and (name,) not in known:
            message = (
                f"it bends by {distance(bend)} at frame {frame.frame}, {figure(100.0 * share, 2)} % of its length: bends are "
                "taken as small, and it looks swollen where they are not; a higher stiffness helps"
            )
            yield SceneWarning((name,), "deformable", message)
