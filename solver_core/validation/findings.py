# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems of a scene that cannot be simulated, and checks of single values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..process.console import one_line

__all__ = [
    "FARTHEST_TURN",
    "UNIT",
    "Alike",
    "Array",
    "Findings",
    "SceneError",
    "SceneProblem",
    "alike",
    "describe",
    "first_few",
    "is_finite",
    "is_not_negative",
    "is_positive",
    "listed",
]

# Problems of a body: pairs of a field name and a sentence that states the problem and its remedy.
Findings = Iterator[tuple[str, str]]
Array = NDArray[Any]

# Tolerance of the length of an orientation quaternion, which should be 1.
UNIT = 1e-6
# Rotation per step [rad]. Up to this value, a top on its tip stays within 0.3 degrees and 1 mm of its motion for 2 s; at 0.63
# it does not. The constant is in this module because `surprises.py` loads scipy, which readers of a bake do not need.
FARTHEST_TURN = 0.5
# Largest number of names in a message.
FEW = 4


@dataclass(frozen=True)
class SceneProblem:
    """One problem: the names of the object and of the field, and a sentence that states the problem and its remedy."""

    object: str
    field: str
    message: str

    def __str__(self) -> str:
        return one_line(f"{self.object}: {self.field}: {self.message}")


class SceneError(ValueError):
    """The scene cannot be simulated. `problems` names every wrong object and field."""

    def __init__(self, problems: tuple[SceneProblem, ...]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class Alike(NamedTuple):
    """A problem of several objects: the field, the message, and the names of the objects."""

    field: str
    message: str
    objects: tuple[str, ...]


def alike(problems: Iterable[SceneProblem]) -> list[Alike]:
    """Group problems with the same field and message, in the order of their first occurrence."""
    names: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        names.setdefault((problem.field, problem.message), []).append(problem.object)
    return [Alike(*what, tuple(dict.fromkeys(objects))) for what, objects in names.items()]


def is_finite(value: Any, shape: tuple[int, ...]) -> bool:
    """Return True if the value is an array of this shape with finite numbers."""
    array = np.asarray(value)
    return array.shape == shape and array.dtype.kind in "fiu" and bool(np.isfinite(array).all())


def is_positive(value: float) -> bool:
    """Return True if the value is finite and greater than 0."""
    return _is_a_float(value) and value > 0.0


def is_not_negative(value: float) -> bool:
    """Return True if the value is finite and at least 0."""
    return _is_a_float(value) and value >= 0.0


def _is_a_float(value: float) -> bool:
    """Return True if the value is finite. An integer beyond the largest float is not."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def first_few(names: Sequence[str]) -> str:
    """Join names with commas. Of many names, give the first few and the number of the others."""
    row = ", ".join(names[:FEW])
    return row if len(names) <= FEW else f"{row} and {len(names) - FEW} more"


def listed(names: Sequence[str]) -> str:
    """Join two or more names for a sentence, with "and". Of many names, give the first few and the number of the others."""
    return first_few(names) if len(names) > FEW else f"{', '.join(names[:-1])} and {names[-1]}"


def describe(value: Any) -> str:
    """Format a number or an array in a line or two. A long array is abbreviated."""
    return np.array2string(np.asarray(value), separator=", ", threshold=8)
