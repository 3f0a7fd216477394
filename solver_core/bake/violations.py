# SPDX-License-Identifier: GPL-3.0-or-later
"""Report entries and warnings about violations of the contact law (`dynamics/solve/law_check.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..dynamics.model.frame import Frame, FrameStatistics
from ..dynamics.model.violations import Violation
from ..scene.spec import SceneSpec, SceneWarning

__all__ = [
    "FIELD",
    "NAMES_OF_VIOLATIONS",
    "all_counts",
    "kind_of",
    "violating_pair",
    "violation_counts",
    "violation_entries",
    "violation_warnings",
    "violation_words",
]

# The field of warnings about violations.
FIELD = "contact_law"

NAMES_OF_VIOLATIONS = {
    Violation.DISTANCE: "contact at a distance",
    Violation.ANGLE: "bounce at a wrong angle",
    Violation.BOUNCE: "lost bounce",
    Violation.ENERGY: "energy out of nothing",
    Violation.MOMENTUM: "momentum out of nothing",
}
SAID = {
    Violation.DISTANCE: "{} were pushed apart at frame {} although they would not have met",
    Violation.ANGLE: "{} bounced at frame {} along another line than that in which they met",
    Violation.BOUNCE: "{} met before frame {} and did not part as their restitution asks",
    Violation.ENERGY: "the contacts of {} gave more energy at frame {} than their impacts took",
    Violation.MOMENTUM: "{} has a velocity at frame {} that no impulse gave",
}
ADVICE = "; more substeps may help, and a report of this scene is welcome"


def kind_of(which: Violation) -> str:
    """Return the key of a kind in a report."""
    return which.name.lower()


def violation_counts(statistics: FrameStatistics) -> dict[str, int]:
    """Return the number of violations of each kind in the steps of a frame."""
    return {kind_of(which): int(statistics.violations[:, which].sum()) for which in Violation}


def all_counts(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return the sums of `violation_counts` over the rows of frames."""
    counts = [row["violations"] for row in rows]
    return {kind_of(which): sum(count[kind_of(which)] for count in counts) for which in Violation}


def violating_pair(statistics: FrameStatistics) -> list[int]:
    """Return the indices of the bodies of the first violation in the steps of a frame; empty without a violation."""
    steps, kinds = np.nonzero(statistics.violations)
    return [] if not len(steps) else [int(body) for body in statistics.violating_pairs[steps[0], kinds[0]] if body >= 0]


def violation_entries(frame: Frame, spec: SceneSpec) -> Iterator[dict[str, Any]]:
    """Yield the number of violations of each kind in each step of a frame, and the bodies of the first. substep starts at 1."""
    statistics = frame.statistics
    for step, kind in zip(*np.nonzero(statistics.violations), strict=True):
        bodies = [spec.bodies[body].name for body in statistics.violating_pairs[step, kind] if body >= 0]
        count = int(statistics.violations[step, kind])
        yield {
            "frame": frame.frame,
            "substep": int(step) + 1,
            "kind": kind_of(Violation(int(kind))),
            "count": count,
            "bodies": bodies,
        }


def violation_warnings(frame: Frame, spec: SceneSpec, warned: set[tuple[str, tuple[str, ...]]]) -> tuple[SceneWarning, ...]:
    """Return a warning for each new kind of violation and its bodies in a frame, and add these to `warned`."""
    found = []
    for entry in violation_entries(frame, spec):
        kind, names = entry["kind"], tuple(entry["bodies"])
        if (kind, names) in warned:
            continue
        warned.add((kind, names))
        words = violation_words(Violation[kind.upper()], names, frame.frame)
        found.append(SceneWarning(names, FIELD, words + ADVICE))
    return tuple(found)


def violation_words(which: Violation, names: tuple[str, ...], frame: int) -> str:
    """Return the description of a violation, with its bodies and its frame."""
    return SAID[which].format(" and ".join(names) or "bodies", frame)
