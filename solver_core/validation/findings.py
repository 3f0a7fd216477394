# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said about a scene that cannot be simulated, and what is asked of single values."""

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

# What is wrong with a body: the field's name, and a sentence that says what and what to do.
Findings = Iterator[tuple[str, str]]
Array = NDArray[Any]

# How far from 1 the length of an orientation quaternion may be.
UNIT = 1e-6
# Radians in a step: up to that a top on its tip stays within 0.3 degrees and 1 mm of its motion for 2 s, at 0.63 it does not.
# Here, for what only looks at a bake asks for it, and would load scipy with what looks for surprises.
FARTHEST_TURN = 0.5
# Names that a message gives at most.
FEW = 4


@dataclass(frozen=True)
class SceneProblem:
    """One thing that is wrong: the object's name, the field's, and a sentence that says what and what to do."""

    object: str
    field: str
    message: str

    def __str__(self) -> str:
        return one_line(f"{self.object}: {self.field}: {self.message}")


class SceneError(ValueError):
    """The scene cannot be simulated; `problems` names every object and field that is wrong."""

    def __init__(self, problems: tuple[SceneProblem, ...]):
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class Alike(NamedTuple):
    """A finding that several objects share: the field, the message, and the names of the objects."""

    field: str
    message: str
    objects: tuple[str, ...]


def alike(problems: Iterable[SceneProblem]) -> list[Alike]:
    """Problems whose field and message are the same as one, in the order of the first of each."""
    names: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        names.setdefault((problem.field, problem.message), []).append(problem.object)
    return [Alike(*what, tuple(dict.fromkeys(objects))) for what, objects in names.items()]


def is_finite(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether it is an array of this shape of finite numbers."""
    array = np.asarray(value)
    return array.shape == shape and array.dtype.kind in "fiu" and bool(np.isfinite(array).all())


def is_positive(value: float) -> bool:
    """Whether it is finite and above 0."""
    return _is_a_float(value) and value > 0.0


def is_not_negative(value: float) -> bool:
    """Whether it is finite and not below 0."""
    return _is_a_float(value) and value >= 0.0


def _is_a_float(value: float) -> bool:
    """Whether it is finite, and no whole number beyond the largest float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def first_few(names: Sequence[str]) -> str:
    """Names in a row, of many the first few and how many there are beside."""
    row = ", ".join(names[:FEW])
    return row if len(names) <= FEW else f"{row} and {len(names) - FEW} more"


def listed(names: Sequence[str]) -> str:
    """Two names or more in a sentence, the first few of many."""
    return first_few(names) if len(names) > FEW else f"{', '.join(names[:-1])} and {names[-1]}"


def describe(value: Any) -> str:
    """A number or an array in a line or two; of a long one the ends."""
    return np.array2string(np.asarray(value), separator=", ", threshold=8)
