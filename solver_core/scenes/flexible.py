# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes in which boards bend, in m, kg and s; as in `plain.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..scene.deformable import DeformableSpec
from ..scene.parts import axis_angle, box, ground, let_go, pair_material
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeSpec
from .published import cells_shape

__all__ = ["bookshelf", "diving_board"]

FPS = 24.0


def diving_board(
    young: float = 4e9,
    length: float = 3.0,
    thickness: float = 0.04,
    mass: float = 60.0,
    height: float = 0.6,
    mu: float = 0.6,
    modes: int = 12,
    frames: int = 97,
) -> SceneSpec:
    """A board on a fulcrum, with a bar over its other end, on whose free end a box falls: the board throws it up and swings on.

    young: Pa. length, thickness: m, of the board, a third of which is behind the fulcrum. mass: kg, of the box; height: m, that
    it falls by.
    """
    material, width, bar = pair_material(mu), 0.5, 0.06
    board = sheet((length, width, thickness), (16, 2, 1))
    level, edge = 1.0, 0.3
    spec = DeformableSpec(young=young, modes=modes, damping_ratio=0.01)
    middle = np.array([0.5 * length, 0.0, level])
    bodies = [ground(material), BodySpec("Board", BodyKind.ACTIVE, board, middle, density=600.0, material=material)]
    bodies[1] = replace(bodies[1], deformable=spec)
    for name, x, side in (("Bar", 0.5 * bar, 1.0), ("Fulcrum", length / 3.0, -1.0)):
        bodies.append(still(name, (bar, 1.2 * width, bar), (x, 0.0, level + side * 0.5 * (thickness + bar)), material))
    falls = box("Diver", (edge, edge, edge), (0.93 * length, 0.0, level + 0.5 * (thickness + edge) + height), material, mass)
    return SceneSpec((*bodies, falls), frame_end=frames)


def bookshelf(
    young: float = 3e9,
    thickness: float = 0.015,
    books: int = 12,
    mu: float = 0.5,
    modes: int = 12,
    frames: int = 97,
) -> SceneSpec:
    """A board on two brackets that sags under books, and rattles when one more falls on it. young: Pa. thickness: m."""
    material, (length, width) = pair_material(mu), (1.2, 0.25)
    deep, tall, thick, level, bracket = 0.18, 0.24, 0.035, 1.0, 0.04
    board = sheet((length, width, thickness), (16, 2, 1))
    shelf = BodySpec("Shelf", BodyKind.ACTIVE, board, np.array([0.0, 0.0, level]), density=650.0, material=material)
    bodies = [ground(material), replace(shelf, deformable=DeformableSpec(young=young, modes=modes, damping_ratio=0.03))]
    for name, side in (("Left Bracket", -1.0), ("Right Bracket", 1.0)):
        place = side * 0.5 * (length - bracket), 0.0, level - 0.5 * (thickness + bracket)
        bodies.append(still(name, (bracket, width, bracket), place, material))
    for i in range(books):
        place = (thick * (i - 0.5 * (books - 1)) * 1.02, 0.0, level + 0.5 * (thickness + tall))
        bodies.append(box(f"Book {i + 1}", (thick, deep, tall), place, material, 900.0 * thick * deep * tall))
    place = (0.4 * length, 0.0, level + 0.3)
    last = box("Last Book", (tall, deep, thick), place, material, 900.0 * thick * deep * tall, axis_angle((0.0, 1.0, 0.0), 0.2))
    bodies.append(let_go(last, round(FPS)))
    return SceneSpec(tuple(bodies), frame_end=frames)


def sheet(size: tuple[float, float, float], cells: tuple[int, int, int]) -> ShapeSpec:
    """A board around its own centre whose faces are divided, so that it can be seen to bend."""
    x, y, z = (np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(size, cells, strict=True))
    return cells_shape(x, y, z, np.ones(cells, dtype=bool))


def still(name: str, size: tuple[float, float, float], place: tuple[float, float, float], material: MaterialSpec) -> BodySpec:
    """A passive box."""
    made = box(name, size, place, material, 1.0)
    return BodySpec(name, BodyKind.PASSIVE, made.shape, made.position, material=material)
