# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a scene in which it is read from and written to files of other tools: rigid bodies, looks and motion."""

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
    """Polygons that show a body.

    points: (n, 3) in the body frame [m]. counts: (f,) number of corners of each face. corners: indices of the points of all
    faces, one face after the other. colour: (3,) linear, of all faces.
    """

    points: Array
    counts: NDArray[np.int32]
    corners: NDArray[np.int32]
    colour: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Described:
    """A scene with its settings.

    looks: by body name, of bodies that have one.
    motion: by body name, of baked active bodies: (frames, 7) positions [m] and quaternions (w, x, y, z) at the scene's frames.
    """

    spec: SceneSpec
    settings: SolverSettings = field(default_factory=SolverSettings)
    looks: Mapping[str, Look] = field(default_factory=dict)
    motion: Mapping[str, Array] = field(default_factory=dict)


@dataclass
class Found:
    """Problems and warnings about a scene that is read or written, each with the path of its prim or node.

    problems: errors; the scene is refused. warnings: features that are left out or altered.
    signs: called whenever something was read, as a sign of life.
    """

    problems: list[SceneProblem] = field(default_factory=list)
    warnings: list[SceneWarning] = field(default_factory=list)
    signs: Callable[[], None] = lambda: None

    def wrong(self, where: str, field: str, message: str) -> None:
        """Add a problem, for which the scene is refused."""
        self.problems.append(SceneProblem(where, field, message))

    def odd(self, where: str, field: str, message: str) -> None:
        """Add a warning about a feature that is left out or altered."""
        self.warnings.append(SceneWarning((where,), field, message))

    def refuse(self) -> None:
        """Raise SceneError if there are problems."""
        if self.problems:
            raise SceneError(tuple(dict.fromkeys(self.problems)))

    def is_finite(self, where: str, field: str, value: object) -> bool:
        """Return True if a value consists of finite numbers. Adds a problem if not."""
        if not has_only_numbers(value):
            self.wrong(where, field, f"{shortened(value)} is not a number; correct it in the file")
            return False
        try:
            finite = bool(np.isfinite(np.asarray(value, dtype=np.float64)).all())
        except (TypeError, ValueError, OverflowError):
            finite = False
        if not finite:
            self.wrong(where, field, f"{shortened(value)} is not finite; correct it in the file")
        return finite


def seconds_a_step(spec: SceneSpec, settings: SolverSettings) -> float:
    """Return the time step [s]. The breaking impulse of a joint divided by it is a force."""
    return spec.time_scale / (spec.fps * settings.substeps)


def say_surface_left_out(body: BodySpec, schema: str, found: Found) -> None:
    """Add a warning for each surface property that a schema lacks. schema: name of the schema."""
    if body.surface_motion is not None:
        found.odd(body.name, "surface_motion", f"{schema} has no surface motion; it is left out")
    if body.material.rolling > 0.0 or body.material.torsion > 0.0:
        found.odd(body.name, "rolling", f"{schema} has no rolling or torsional friction; they are left out")
    if body.material.grain is not None:
        found.odd(body.name, "grain", f"{schema} has no grain; the friction along it is written for all directions")


def say_activation_left_out(spec: SceneSpec, schema: str, found: Found) -> None:
    """Add a warning for each activation, which no schema has. schema: name of the schema."""
    for one in spec.activations:
        found.odd(one.name, "activation", f"{schema} has no activation; the bodies move from the first frame there")


def together(warnings: Iterable[SceneWarning]) -> tuple[SceneWarning, ...]:
    """Return warnings in which objects with the same field and message are combined."""
    objects: dict[tuple[str, str], list[str]] = {}
    for one in warnings:
        objects.setdefault((one.field, one.message), []).extend(one.objects)
    return tuple(SceneWarning(tuple(dict.fromkeys(names)), name, message) for (name, message), names in objects.items())


def has_only_numbers(value: object) -> bool:
    """Return True if a value, or the values in a list, are neither text nor truth values. numpy would convert both."""
    if isinstance(value, list):
        return all(map(has_only_numbers, value))
    return not isinstance(value, (bool, str))


def shortened(value: object) -> str:
    """Return a value of a file for a message, the beginning of a long one."""
    words = str(value)
    return words if len(words) <= LONGEST_WORDS else f"{words[:LONGEST_WORDS]}..."
