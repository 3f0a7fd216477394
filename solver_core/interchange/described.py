# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene between Stiction and the files of other tools: its rigid bodies, what they look like, and their motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..scene.spec import BodySpec, SceneSpec, SceneWarning, SolverSettings
from ..validation.findings import SceneError, SceneProblem

__all__ = [
    "Described",
    "Found",
    "Look",
    "say_activation_left_out",
    "say_surface_left_out",
    "seconds_a_step",
    "shortened",
    "together",
]

Array = NDArray[np.float64]
LONGEST_WORDS = 200


@dataclass(frozen=True)
class Look:
    """Polygons that show a body: points (n, 3) m in the body frame, how many corners each face has (f,), and the numbers of
    their points, face by face. color: (3,) linear, of all."""

    points: Array
    counts: NDArray[np.int32]
    corners: NDArray[np.int32]
    colour: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Described:
    """A scene with its settings. looks: of bodies, by their names. motion: (frames, 7) m and quaternions (w, x, y, z), poses
    at the frames of the scene from the first on, of bodies that the solver has moved, by their names."""

    spec: SceneSpec
    settings: SolverSettings = field(default_factory=SolverSettings)
    looks: Mapping[str, Look] = field(default_factory=dict)
    motion: Mapping[str, Array] = field(default_factory=dict)


@dataclass
class Found:
    """What is wrong in a scene, and what of it is left out or altered on the way, each with the path of its prim or node.

    signs: called for everything that is read; a sign that the reader is alive.
    """

    problems: list[SceneProblem] = field(default_factory=list)
    warnings: list[SceneWarning] = field(default_factory=list)
    signs: Callable[[], None] = lambda: None

    def wrong(self, where: str, what: str, message: str) -> None:
        """Add something for which nothing can be read or written."""
        self.problems.append(SceneProblem(where, what, message))

    def odd(self, where: str, what: str, message: str) -> None:
        """Add something that is left out or altered."""
        self.warnings.append(SceneWarning((where,), what, message))

    def refuse(self) -> None:
        """Raise SceneError if something is wrong."""
        if self.problems:
            raise SceneError(tuple(dict.fromkeys(self.problems)))

    def is_finite(self, where: str, what: str, value: object) -> bool:
        """Return True if a value consists of finite numbers. Adds a problem if not."""
        if not has_only_numbers(value):
            self.wrong(where, what, f"{shortened(value)} is not a number; correct it in the file")
            return False
        try:
            finite = bool(np.isfinite(np.asarray(value, dtype=np.float64)).all())
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite:
            self.wrong(where, what, f"{shortened(value)} is not finite; correct it in the file")
        return finite


def seconds_a_step(spec: SceneSpec, settings: SolverSettings) -> float:
    """How long a time step is, s; an impulse that breaks a joint divided by it is a force."""
    return spec.time_scale / (spec.fps * settings.substeps)


def say_surface_left_out(body: BodySpec, what: str, found: Found) -> None:
    """Add what of a body's surface has no place in a file; what: the name of the schema."""
    if body.surface_motion is not None:
        found.odd(body.name, "surface_motion", f"{what} has no place for the motion of a surface; it is left out")
    if body.material.rolling > 0.0 or body.material.torsion > 0.0:
        found.odd(body.name, "rolling", f"{what} has no place for rolling and torsional friction; they are left out")
    if body.material.grain is not None:
        found.odd(body.name, "grain", f"{what} has no place for a grain; friction along it is written for all directions")


def say_activation_left_out(spec: SceneSpec, what: str, found: Found) -> None:
    """Add what wakes bodies, which has no place in a file; what: the name of the schema."""
    for one in spec.activations:
        found.odd(one.name, "activation", f"{what} has no place for what wakes bodies; they move from the begin there")


def together(warnings: Iterable[SceneWarning]) -> tuple[SceneWarning, ...]:
    """The same said of several objects, said once of all of them."""
    objects: dict[tuple[str, str], list[str]] = {}
    for one in warnings:
        objects.setdefault((one.field, one.message), []).extend(one.objects)
    return tuple(SceneWarning(tuple(dict.fromkeys(names)), what, message) for (what, message), names in objects.items())


def has_only_numbers(value: object) -> bool:
    """Return True if a value, or the values in a list, are neither text nor truth values. numpy would convert both."""
    if isinstance(value, list):
        return all(map(has_only_numbers, value))
    return not isinstance(value, (bool, str))


def shortened(value: object) -> str:
    """Return a value of a file for a message, the beginning of a long one."""
    words = str(value)
    return words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS]}..."
