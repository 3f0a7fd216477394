# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about the result of settling, and its JSON report."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ...solver_core.bake.report import error_report
from ...solver_core.scene.words import distance
from ...solver_core.validation.findings import SceneProblem, listed
from .place import Placed
from .reading import Drop, Options
from .work import Outcome

__all__ = ["describe", "refusal_bytes", "report_bytes", "summary", "troubles"]

# version of the layout of the report
VERSION = 1
# m; smallest overlap in a message about the result
VISIBLE_OVERLAP = 1e-4


def describe(problems: Iterable[SceneProblem]) -> str:
    """Return why nothing can settle, with one sentence per object."""
    lines = [f"{problem.object}: {problem.message}" for problem in problems]
    return "\n".join([f"Not settled, and nothing was changed: {lines[0]}", *lines[1:]])


def summary(outcome: Outcome, placed: Placed) -> str:
    """Return the result in one line."""
    count, resting = len(outcome.poses), len(outcome.resting)
    objects = "1 object" if count == 1 else f"{count} objects"
    overlap = f", deepest overlap {distance(outcome.overlap)}" if outcome.overlap > 0.0 else ", no overlap"
    if not placed.moved and not outcome.lost:
        return f"{objects} rested already, nothing was moved{overlap}"
    return f"{resting} of {objects} rest after {outcome.seconds:.1f} s{overlap}"


def troubles(outcome: Outcome, max_seconds: float) -> list[str]:
    """Yield sentences about problems in the result."""
    found = []
    if outcome.lost:
        stay = "stays where it was" if len(outcome.lost) == 1 else "stay where they were"
        found.append(
            f"{names(outcome.lost)} fell past everything and {stay}; add a Passive rigid body below, or set Land On to Visible "
            "Meshes"
        )
    if outcome.restless:
        still = "moves" if len(outcome.restless) == 1 else "move"
        found.append(f"{names(outcome.restless)} still {still} after {max_seconds:g} s; settle again, or for longer")
    if outcome.missed_steps:
        found.append(f"{outcome.missed_steps} of {outcome.steps} steps did not converge")
    if outcome.overlap > VISIBLE_OVERLAP:
        found.append(f"{' and '.join(outcome.overlapping)} overlap by {distance(outcome.overlap)}; start with them apart")
    return found


def names(objects: Iterable[str]) -> str:
    """Return names for a sentence."""
    ordered = sorted(objects)
    return ordered[0] if len(ordered) == 1 else listed(ordered)


def report_bytes(drop: Drop, options: Options, outcome: Outcome, placed: Placed) -> bytes:
    """Return the report as the content of a file."""
    bodies = [
        {
            "object": name,
            "rests": name in outcome.resting,
            "lost": name in outcome.lost,
            "moved": name in placed.moved,
            "position": pose[:3].tolist(),
            "orientation": pose[3:].tolist(),
        }
        for name, pose in sorted(outcome.poses.items())
    ]
    report = {
        "version": VERSION,
        "bodies": bodies,
        "all_rest": len(outcome.resting) == len(outcome.poses),
        "seconds": outcome.seconds,
        "max_seconds": options.max_seconds,
        "gravity": [float(value) for value in drop.spec.gravity],
        "seed": options.seed,
        "distance": options.distance,
        "angle": options.angle,
        "steps": outcome.steps,
        "missed_steps": outcome.missed_steps,
        "overlap": outcome.overlap,
        "overlapping": list(outcome.overlapping),
        "notes": [*drop.notes, *placed.notes],
    }
    return encoded(report)


def refusal_bytes(message: str, problems: Iterable[SceneProblem]) -> bytes:
    """Return the report of a refused request."""
    return encoded(error_report(message, problems) | {"version": VERSION})


def encoded(report: dict[str, Any]) -> bytes:
    return (json.dumps(report, indent=1, allow_nan=False) + "\n").encode()
