# SPDX-License-Identifier: GPL-3.0-or-later
"""All experiments by their subjects and names, and which of them are also baked from a .blend file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import billiards, impacts, jointed, kerbs, passing, seams, sliding, spinning
from .experiment import Catalog, Experiment

__all__ = ["BAKED", "SUBJECTS", "Entry", "find"]

SUBJECTS: dict[str, Catalog] = {
    "seams": seams.SCENES,
    "kerbs": kerbs.SCENES,
    "passing": passing.SCENES,
    "impacts": impacts.SCENES,
    "billiards": billiards.SCENES,
    "sliding": sliding.SCENES,
    "spinning": spinning.SCENES,
    "jointed": jointed.SCENES,
}

# Blender can say all of these with its own objects: no compounds, no friction of pairs, no inertia of their own.
BAKED = frozenset(
    {
        "box over one seam",
        "box over tiles",
        "box over tiles of meshes",
        "mesh crate over tiles",
        "can over tiles",
        "crate down twelve boards",
        "crate over slats, 2 m/s",
        "crate over rollers, 2 m/s",
        "crate along a wall of blocks",
        "ball over tiles, 1 m/s",
        "ball over tiles, 5 m/s",
        "round wheel over slabs, 10 m/s",
        "wheel over rail joints",
        "curling stone on ice in pieces",
        "card dealt over cards",
        "domino falls on a seam",
        "box against a kerb of 0.1 mm",
        "box against a kerb of 5 mm",
        "ball against a slope of 40 degrees",
        "ball climbs a kerb",
        "box past a ledge at 20 m/s, 0.1 mm",
        "can past a ledge at 20 m/s, 0.1 mm",
        "ball through a hole, 1 mm",
        "crate through a doorway, 5 mm",
        "crate through a doorway, 0.5 mm",
        "drawer with 0.2 mm of play",
        "piston with 0.1 mm of play",
        "book pulled from a shelf",
        "balls collide at 30 degrees, 1 m/s",
        "balls collide at 45 degrees, 2 m/s",
        "superball with backspin",
        "cushion at 30 degrees, sticks",
        "cube on its edge",
        "cube on its corner, spinning",
        "twelve dice",
        "cans dropped flat, e 0.9",
        "boxes dropped flat, e 0.8",
        "ball bounces, e 0.9",
        "bowling ball on ten boards",
        "ball down a ramp of boards",
        "drum down a ramp of boards",
        "marble run in six pieces",
        "right angle of equal balls",
        "crate slides down a slope",
        "box put on a belt of plates",
        "plank on two turning rollers",
        "box on a sled on ice",
        "tall box stands on a slope",
        "rocking block",
        "ten dominoes on tiles",
        "coin spins on its edge",
        "pendulum from 20 degrees",
        "mass on a spring",
        "cradle of five",
        "glued blocks are rammed",
        "block glued to a still post",
    }
)


@dataclass(frozen=True)
class Entry:
    """An experiment's place in the catalog."""

    subject: str
    name: str

    @property
    def is_baked(self) -> bool:
        """Whether it is also baked from a .blend file."""
        return self.name in BAKED

    def made(self) -> Experiment:
        """The experiment."""
        return SUBJECTS[self.subject][self.name]()


def find(subjects: Iterable[str], words: Iterable[str] = ()) -> Iterator[Entry]:
    """The experiments of these subjects whose name has one of the words; all of them without words."""
    lower = [word.lower() for word in words]
    for subject in subjects:
        for name in SUBJECTS[subject]:
            if not lower or any(word in name.lower() for word in lower):
                yield Entry(subject, name)
