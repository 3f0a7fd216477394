# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes with flexible boards, cards, rubber and foam, in m, kg and s. See `plain.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..linalg.in_order import length
from ..scene.deformable import DeformableSpec
from ..scene.parts import axis_angle, box, cylinder_shape, ground, let_go, pair_material
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeSpec
from .creatures import bone_mesh
from .published import cells_shape

__all__ = ["bookshelf", "card_bridge", "diving_board", "soft_heap"]

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
    """A board on a fulcrum, held down by a bar at one end. A box falls on the free end; the board throws it up and vibrates.

    young: Young's modulus [Pa].
    length, thickness: of the board, a third of which is behind the fulcrum [m].
    mass: of the box [kg].
    height: fall height of the box [m].
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
    """A board on two brackets that sags under books, and rattles when another book falls on it.

    young: Young's modulus [Pa]. thickness: of the board [m].
    """
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


def soft_heap(
    crates: int = 12, mu: float = 0.5, rubber: float = 1e6, foam: float = 1e5, modes: int = 12, seed: int = 1, frames: int = 97
) -> SceneSpec:
    """A rubber ball and a foam cube under falling crates: the ball yields and bounces, the cube is compressed.

    rubber, foam: Young's moduli [Pa].
    """
    material, random, bodies = pair_material(mu), np.random.default_rng(seed), []
    ball, edge, crate = bone_mesh((((-0.01, 0.0, 0.0), (0.01, 0.0, 0.0), 0.5, 0.5),), 0.3, 10), 0.3, 0.16
    soft = (
        ("Ball", ball, -0.25, 1100.0, DeformableSpec(young=rubber, poisson=0.45, modes=modes)),
        ("Foam", sheet((edge, edge, edge), (5, 5, 5)), 0.25, 50.0, DeformableSpec(young=foam, poisson=0.1, modes=modes)),
    )
    for name, shape, x, density, spec in soft:
        body = BodySpec(name, BodyKind.ACTIVE, shape, np.array([x, 0.0, 0.55 * edge]), density=density, material=material)
        bodies.append(replace(body, deformable=replace(spec, damping_ratio=0.1, resolution=12)))
    for i in range(crates):
        layer, place = divmod(i, 4)
        center = (place % 2 - 0.5) * 0.5, (place // 2 - 0.5) * 0.34, 0.6 + 0.3 * layer
        turn = random.normal(size=4)
        bodies.append(box(f"Crate {i + 1}", (crate,) * 3, center, material, 300.0 * crate**3, turn / length(turn)))
    return SceneSpec((ground(material), *bodies), frame_end=frames)


def card_bridge(
    cards: int = 2,
    coins: int = 5,
    young: float = 3e9,
    thickness: float = 3e-4,
    mu: float = 0.4,
    modes: int = 8,
    frames: int = 73,
) -> SceneSpec:
    """Playing cards across two blocks, which sag under falling coins.

    young: Young's modulus [Pa]. thickness: of a card [m].
    """
    material, (length, width), gap, level = pair_material(mu), (0.088, 0.063), 0.06, 0.03
    bodies = [ground(material)]
    for name, side in (("Left Block", -1.0), ("Right Block", 1.0)):
        bodies.append(still(name, (0.05, 0.08, level), (side * 0.5 * (gap + 0.05), 0.0, 0.5 * level), material))
    shape = sheet((length, width, thickness), (8, 2, 1))
    for i in range(cards):
        place = np.array([0.0, 0.0, level + thickness * (1.02 * i + 0.51)])
        body = BodySpec(f"Card {i + 1}", BodyKind.ACTIVE, shape, place, density=800.0, material=material)
        bodies.append(replace(body, deformable=DeformableSpec(young=young, modes=modes, damping_ratio=0.05)))
    radius, thick = 0.012, 0.002
    for i in range(coins):
        place = np.array([0.0, 0.0, level + cards * thickness + 0.01 + 0.01 * i])
        coin = BodySpec(f"Coin {i + 1}", BodyKind.ACTIVE, cylinder_shape(radius, thick), place, mass=0.0075, material=material)
        bodies.append(let_go(coin, round(FPS * 0.25 * (i + 1))))
    return SceneSpec(tuple(bodies), frame_end=frames)


def sheet(size: tuple[float, float, float], cells: tuple[int, int, int]) -> ShapeSpec:
    """Return a board around its own center with subdivided faces, so that its bending is visible."""
    x, y, z = (np.linspace(-0.5 * s, 0.5 * s, n + 1) for s, n in zip(size, cells, strict=True))
    return cells_shape(x, y, z, np.ones(cells, dtype=bool))


def still(name: str, size: tuple[float, float, float], place: tuple[float, float, float], material: MaterialSpec) -> BodySpec:
    """Return a passive box."""
    body = box(name, size, place, material, 1.0)
    return BodySpec(name, BodyKind.PASSIVE, body.shape, body.position, material=material)
