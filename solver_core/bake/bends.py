# SPDX-License-Identifier: GPL-3.0-or-later
"""Report entries and warnings about flexible bodies: frequencies, deflections and stresses."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics.model.frame import Frame
from ..io.kept_modes import SceneModes
from ..scene.spec import SceneSpec, SceneWarning, ShapeSpec, SolverSettings
from ..scene.words import distance, figure
from ..validation.stiffness import followed_modes, is_too_stiff, swings

__all__ = ["add_bends", "bend_warnings", "bending_entries", "largest_bends"]

# Deflection, relative to a body's longest side, above which linear modes lengthen the body visibly.
LARGE_BEND = 0.15
# Length of a surface edge, relative to its rest length, below which a body with large deformations becomes softer under
# compression: the pressure of the Saint Venant-Kirchhoff law is largest at 1 / sqrt(3).
PRESSED = 3.0**-0.5


def bending_entries(spec: SceneSpec, settings: SolverSettings, modes: SceneModes) -> list[dict[str, Any]]:
    """Return the report's entry for each flexible body.

    An entry contains the name, the number of modes and how many of them oscillate with these steps, the first and the last
    frequency in Hz, the number of bricks, whether the deflection is too small to be seen, a summary in words, the largest
    deflection in m so far with its frame (None before any), and the largest stress in Pa with its frame.
    """
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
    """Return m, the largest displacement of a vertex of each flexible body from its position in the rigid body."""
    rows = modes.rows
    return [
        float(np.linalg.norm(one.shapes @ frame.modal[rows[index]], axis=1).max(initial=0.0))
        for index, one in zip(modes.bodies, modes.reduced, strict=True)
    ]


def add_bends(frame: Frame, modes: SceneModes, entries: list[dict[str, Any]]) -> None:
    """Update the entries with a frame."""
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
    """Yield a warning for each body that deforms too far for its model in the frame, except for known names."""
    for index, one, bend in zip(modes.bodies, modes.reduced, largest_bends(frame, modes), strict=True):
        name, when = spec.bodies[index].name, f"at frame {frame.frame}"
        if (name,) in known:
            continue
        if one.large is None:
            share = bend / longest_side(spec, index)
            message = (
                f"it bends by {distance(bend)} {when}, {figure(100.0 * share, 2)} % of its length: bends are taken as small, "
                "and it looks swollen where they are not; enable Large Bends, or choose a higher stiffness"
            )
            is_wrong = share > LARGE_BEND
        else:
            share = shortest_edge(spec.bodies[index].shape, one.shapes @ frame.modal[modes.rows[index]])
            message = (
                f"it is pressed to {figure(100.0 * share, 2)} % of its length in places {when}: below {100.0 * PRESSED:.0f} % "
                "it gives way the more it is pressed; a higher stiffness helps"
            )
            is_wrong = share < PRESSED
        if is_wrong:
            yield SceneWarning((name,), "deformable", message)


def shortest_edge(shape: ShapeSpec, moved: NDArray[np.float64]) -> float:
    """Return the smallest ratio of an edge's length to its length at rest, in a mesh with vertices moved by (n, 3) m."""
    pairs = np.concatenate([shape.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    rest = shape.vertices[pairs[:, 1]] - shape.vertices[pairs[:, 0]]
    bent = rest + moved[pairs[:, 1]] - moved[pairs[:, 0]]
    length = np.linalg.norm(rest, axis=1)
    return float((np.linalg.norm(bent, axis=1)[length > 0.0] / length[length > 0.0]).min(initial=1.0))
