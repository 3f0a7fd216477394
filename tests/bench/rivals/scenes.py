# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of boxes on the ground z = 0 that every engine can take, as plain numbers.

`cubes:N` fall into a heap; `house` is a card house of 5 levels, `house@MU` the same at another coefficient of friction; `tower`
has ten cubes, the top one a thousand times as heavy as the others; `slope@MU` is a box on a slope of tan 0.5, as a gravity that
leans.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec
from solver_core.scenes import plain

from ..heap_scenes import FPS, heap_of_cubes

__all__ = ["FPS", "BoxScene", "box_scene", "spec_of"]

Floats = NDArray[np.float64]

HEAP_SECONDS, STANDING_SECONDS, SLIDING_SECONDS = 3, 10, 5
SLOPE = 0.5  # its tangent


@dataclass(frozen=True)
class BoxScene:
    """half: (n, 3) m. pose: (n, 7) m and w x y z. mass: (n,) kg. mu: of every pair. gravity: (3,) m/s^2. frames: of a film at
    FPS."""

    name: str
    half: Floats
    pose: Floats
    mass: Floats
    mu: float
    gravity: Floats
    frames: int

    def plain(self) -> Mapping[str, object]:
        """The same as numbers and lists, for other programs."""
        arrays = {"half": self.half, "pose": self.pose, "mass": self.mass, "gravity": self.gravity}
        lists = {name: array.tolist() for name, array in arrays.items()}
        return lists | {"mu": self.mu, "frames": self.frames, "fps": FPS}


def _half(body: BodySpec) -> Floats:
    return np.abs(body.shape.vertices).max(axis=0)


def _mass(body: BodySpec) -> float:
    return float(body.mass if body.mass is not None else (body.density or 0.0) * np.prod(2.0 * _half(body)))


def _of_spec(name: str, spec: SceneSpec, mu: float, seconds: int) -> BoxScene:
    boxes = [body for body in spec.bodies if body.kind is BodyKind.ACTIVE]
    half, mass = np.array([_half(body) for body in boxes]), np.array([_mass(body) for body in boxes])
    pose = np.array([[*body.position, *body.orientation] for body in boxes])
    return BoxScene(name, half, pose, mass, mu, np.array(spec.gravity, dtype=float), seconds * FPS)


def _slope(name: str, mu: float) -> BoxScene:
    half = np.array([[0.15, 0.15, 0.1]])
    pose = np.array([[0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]])
    gravity = 9.81 / math.hypot(1.0, SLOPE) * np.array([SLOPE, 0.0, -1.0])
    return BoxScene(name, half, pose, np.ones(1), mu, gravity, SLIDING_SECONDS * FPS)


def box_scene(name: str) -> BoxScene:
    """The scene of a name; ValueError for one that is none."""
    kind, _, given = name.partition("@")
    kind, _, number = kind.partition(":")
    if kind == "cubes" and number:
        return _of_spec(name, heap_of_cubes(int(number)), 0.6, HEAP_SECONDS)
    if kind == "house":
        mu = float(given or 0.8)
        return _of_spec(name, plain.card_house(levels=5, mu=mu), mu, STANDING_SECONDS)
    if kind == "tower":
        return _of_spec(name, plain.tower(), 0.5, STANDING_SECONDS)
    if kind == "slope" and given:
        return _slope(name, float(given))
    raise ValueError(f"{name!r} is no scene: cubes:N, house, house@MU, tower or slope@MU")


def spec_of(scene: BoxScene) -> SceneSpec:
    """The scene for Stiction."""
    material = parts.pair_material(scene.mu)
    box = partial(parts.box, material=material)
    boxes = [
        box(f"Box {i + 1}", tuple(2.0 * half), pose[:3], mass=mass, orientation=pose[3:])
        for i, (half, pose, mass) in enumerate(zip(scene.half, scene.pose, scene.mass, strict=True))
    ]
    return SceneSpec((parts.ground(material), *boxes), fps=FPS, gravity=scene.gravity, frame_end=scene.frames + 1)
