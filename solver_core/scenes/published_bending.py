# SPDX-License-Identifier: GPL-3.0-or-later
"""The flexible scenes of Kaufman et al. 2008, and their drop of many animals, in m, kg and s. See `published.py`.

The paper gives coefficients, numbers of degrees of freedom and the outcome. Sizes, stiffnesses and animals are not from the
paper, nor are linear modes, where the paper has large deformations.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..linalg.in_order import length
from ..scene.deformable import DeformableSpec, Elasticity
from ..scene.parts import axis_angle, block, cylinder_shape, ground, pair_material
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeSpec
from .creatures import bunny, dinosaur
from .flexible import sheet, still
from .published import cells_shape, jamming_tube

__all__ = ["bunnies_on_arches", "bunny_drop", "composites", "dinosaurs", "rubber_jam"]

OF_RUBBER = 1100.0  # kg / m^3
OF_STONE = 2400.0
STRANDS = 4  # number of strands of a woven square in each direction
BLOCKS = 15  # of each round arch


def composites(
    mu=(0.5, 0.3, 0.1),
    young=(6e7, 3.2e7),
    modes: int = 18,
    pitch: float = 0.05,
    divisions: int = 1,
    frames: int = 73,
) -> SceneSpec:
    """Squares woven from eight strands, each on two pegs, one for each coefficient and stiffness. With too little of both, a
    square comes apart.

    From the paper: the three coefficients mu of the columns, a stiffer and a softer row, and the 192 degrees of freedom of one
    square, which are eight strands with 18 modes. At rest the strands lie over and under each other, so they must bend to
    slide.

    young: Young's modulus of each row [Pa].
    pitch: distance of strands [m].
    divisions: faces across a strand, which increase the number of contacts.
    """
    shape, side, half = _strand(pitch, divisions), STRANDS * pitch, 0.5 * (STRANDS - 1)
    bodies, peg = [ground(pair_material(0.5))], 0.12 * pitch
    # along x and along z, each in front of and behind the first strand that it crosses
    wefts = axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi), axis_angle((1.0, 0.0, 0.0), -0.5 * math.pi)
    warps = np.array([0.5, -0.5, -0.5, -0.5]), np.array([0.5, 0.5, -0.5, 0.5])
    for row, stiffness in enumerate(young):
        spec = DeformableSpec(young=stiffness, poisson=0.4, modes=modes, resolution=40, damping_ratio=0.2)
        for column, coefficient in enumerate(mu):
            middle = side * np.array([1.8 * (column - 0.5 * (len(mu) - 1)), 0.0, 0.8 + 1.8 * (len(young) - 1 - row)])
            material, square = pair_material(coefficient), f"{row + 1}.{column + 1}"
            for i in range(STRANDS):
                offset = (i - half) * pitch
                for name, turns, place in (("Weft", wefts, (0.0, 0.0, offset)), ("Warp", warps, (offset, 0.0, 0.0))):
                    strand = BodySpec(f"{name} {square}.{i + 1}", BodyKind.ACTIVE, shape, middle + place, turns[i % 2])
                    bodies.append(replace(strand, density=OF_RUBBER, material=material, deformable=spec))
            under = (half - 0.25) * pitch - peg - 1e-5
            for name, x in (("Left", -pitch), ("Right", pitch)):
                place = middle + np.array([x, 0.0, under])
                post = cylinder_shape(peg, 1.2 * pitch)
                bodies.append(BodySpec(f"{name} Peg {square}", BodyKind.PASSIVE, post, place, wefts[0], material=material))
    return SceneSpec(tuple(bodies), frame_end=frames)


def dinosaurs(
    count: int = 9,
    speed: float = 1.5,
    mu: float = 0.5,
    young: float = 2e6,
    modes: int = 29,
    cells: int = 22,
    kind: Elasticity = Elasticity.LINEAR,
    frames: int = 121,
) -> SceneSpec:
    """Rubber dinosaurs thrown together from all sides, which end in a pile.

    From the paper: mu, 315 degrees of freedom, which are nine bodies with 29 modes, and large deformations, which take twice as
    long.

    speed: initial speed [m/s]. young: Young's modulus [Pa]. cells: faces along a body.
    """
    shape, material, bodies = dinosaur(cells=cells), pair_material(mu), []
    bending = DeformableSpec(kind, young, 0.4, modes, resolution=24, damping_ratio=0.1) if modes else None
    for i in range(count):
        angle, level = 2.0 * math.pi * i / count, 0.35 + 0.25 * (i % 3)
        outward = np.array([math.cos(angle), math.sin(angle), 0.0])
        turn = axis_angle((0.0, 0.0, 1.0), angle + math.pi)
        body = BodySpec(f"Dinosaur {i + 1}", BodyKind.ACTIVE, shape, 0.8 * outward + np.array([0.0, 0.0, level]), turn)
        flying = replace(body, velocity=-speed * outward + np.array([0.0, 0.0, 1.0]), density=OF_RUBBER, material=material)
        bodies.append(replace(flying, deformable=bending))
    return SceneSpec((ground(material), *bodies), frame_end=frames)


def bunnies_on_arches(
    each: int = 4,
    mu=(0.4, 0.1),
    mu_arch: float = 0.5,
    young: float = 2e6,
    modes: int = 14,
    cells: int = 14,
    kind: Elasticity = Elasticity.LINEAR,
    frames: int = 145,
) -> SceneSpec:
    """Two groups of rubber bunnies that slide down a ramp into arches of stone blocks. The red ones stick, the blue ones slip.

    From the paper: the coefficients of red and blue bunnies, and of the blocks of semicircular arches, and the large
    deformations of the bunnies.

    each: bunnies in a group.
    mu: coefficients of the red and of the blue bunnies. mu_arch: of the blocks.
    young: Young's modulus of the bunnies [Pa]. modes: of each bunny, 0 for rigid ones.
    cells: faces along a bunny.
    kind: linear modes, or large deformations as in the paper.
    """
    stone, length = pair_material(mu_arch), 0.2
    bodies = [ground(stone)]
    for side, y in (("Left", -0.35), ("Right", 0.35)):
        bodies += _round_arch(side, np.array([1.1, y, 0.0]), BLOCKS, stone)
    profile = ((-1.2, 0.0), (0.35, 0.0), (-1.2, 0.9))
    corners = np.array([[x, y, z] for y in (-0.8, 0.8) for x, z in profile])
    middle = corners.mean(axis=0)
    ramp = ShapeSpec(bodies[1].shape.kind, corners - middle)
    bodies.append(BodySpec("Ramp", BodyKind.PASSIVE, ramp, middle, material=stone))
    slope, shape = math.atan2(0.9, 1.55), bunny(length, cells)
    bending = DeformableSpec(kind, young, 0.4, modes, resolution=16, damping_ratio=0.1) if modes else None
    turn = axis_angle((0.0, 1.0, 0.0), slope)
    for name, y, coefficient in (("Red", -0.35, mu[0]), ("Blue", 0.35, mu[1])):
        for i in range(each):
            x = -0.9 + 0.3 * (i // 2)
            height = 0.9 * (0.35 - x) / 1.55 + 0.25 + 0.02 * i
            place = np.array([x, y + 0.13 * (2 * (i % 2) - 1), height])
            body = BodySpec(f"{name} {i + 1}", BodyKind.ACTIVE, shape, place, turn, density=OF_RUBBER)
            bodies.append(replace(body, material=pair_material(coefficient), deformable=bending))
    return SceneSpec(tuple(bodies), frame_end=frames)


def bunny_drop(count: int = 64, mu: float = 0.5, cells: int = 10, seed: int = 1, frames: int = 97) -> SceneSpec:
    """Rigid bunnies that fall into a box. The paper has 12,276 degrees of freedom, which are 2,046 bunnies."""
    material, shape, extent = pair_material(mu), bunny(0.2, cells), 0.2
    across = max(2, math.ceil((count / 2.0) ** (1.0 / 3.0)))
    pitch, wall = 1.25 * extent, 0.1
    half, random = 0.55 * across * pitch, np.random.default_rng(seed)
    bodies = [ground(material)]
    for i, (x, y) in enumerate(((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))):
        reach, tall = half + 0.5 * wall, 0.8 * across * pitch
        size = (wall, 2.0 * half + 2.0 * wall, tall) if x else (2.0 * half, wall, tall)
        bodies.append(still(f"Wall {i + 1}", size, (x * reach, y * reach, 0.5 * tall), material))
    for i in range(count):
        layer, place = divmod(i, across * across)
        row, column = divmod(place, across)
        center = pitch * np.array([column - 0.5 * (across - 1), row - 0.5 * (across - 1), layer + 0.8])
        turn = random.normal(size=4)
        body = BodySpec(f"Bunny {i + 1}", BodyKind.ACTIVE, shape, center, turn / length(turn), density=OF_RUBBER)
        bodies.append(replace(body, material=material))
    return SceneSpec(tuple(bodies), frame_end=frames)


def rubber_jam(
    young: float = 2e5, mu: float = 0.5, layers: int = 4, neck: float = 2.2, modes: int = 12, seed: int = 1, frames: int = 121
) -> SceneSpec:
    """`jamming_tube` with rubber cubes, which pass where rigid ones jam, but not with high friction.

    young: Young's modulus [Pa].
    """
    rigid = jamming_tube(mu=mu, layers=layers, neck=neck, seed=seed, frames=frames)
    spec = DeformableSpec(young=young, poisson=0.4, modes=modes, resolution=6, damping_ratio=0.2)
    bodies = []
    for body in rigid.bodies:
        if body.kind is BodyKind.ACTIVE:
            cube = sheet(tuple(np.ptp(body.shape.vertices, axis=0)), (3, 3, 3))
            body = replace(body, shape=cube, deformable=spec)
        bodies.append(body)
    return replace(rigid, bodies=tuple(bodies))


def _strand(pitch: float, divisions: int) -> ShapeSpec:
    """Return a strand along x, over and under STRANDS others, that hooks behind the next.

    It is half a pitch wide and a fifth thick.
    """
    wide, thick = 0.5 * pitch, 0.2 * pitch
    lines, level = [], []
    for i in range(-1, STRANDS + 1):
        middle = (i - 0.5 * (STRANDS - 1)) * pitch
        lines += [middle - 0.5 * wide, middle + 0.5 * wide]
        level += 2 * [(0.5 * thick + 2e-5) * (1 - 2 * (i % 2))]
    lines[0], lines[-1] = lines[0] + 0.85 * wide, lines[-1] - 0.85 * wide
    y, z = np.linspace(-0.5 * wide, 0.5 * wide, divisions + 1), (-0.5 * thick, 0.5 * thick)
    shape = cells_shape(lines, y, z, np.ones((len(lines) - 1, divisions, 1), dtype=bool))
    bent = shape.vertices + np.interp(shape.vertices[:, :1], lines, level) * np.array([0.0, 0.0, 1.0])
    return ShapeSpec(shape.kind, bent, shape.triangles)


def _round_arch(name: str, foot: np.ndarray, blocks: int, material: MaterialSpec) -> list[BodySpec]:
    """Return a semicircular arch of stone in the x-z plane, around the middle of its feet."""
    inner, outer, depth = 0.3, 0.42, 0.2
    found = []
    angles = np.linspace(0.0, math.pi, blocks + 1)
    for i in range(blocks):
        corners = np.array(
            [
                foot + np.array([radius * math.cos(angle), y, radius * math.sin(angle)])
                for angle in angles[[i + 1, i]]
                for y in (-0.5 * depth, 0.5 * depth)
                for radius in (inner, outer)
            ]
        )
        found.append(block(f"{name} {i + 1}", corners, material, OF_STONE))
    return found
