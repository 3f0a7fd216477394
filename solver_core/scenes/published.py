# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenes of Kaufman et al. 2008, the rods of Baraff 1991 and the bar of Faure 1996, in SI units.

Kaufman et al. give coefficients of friction, numbers of degrees of freedom, and the outcome. All sizes and masses are ours, and
so are all numbers that a docstring does not attribute to a paper.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..linalg.in_order import length
from ..scene.deformable import DeformableSpec
from ..scene.parts import axis_angle, block, box, ground, let_go, pair_material, sphere_shape
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from .plain import card_house

__all__ = [
    "ArchLine",
    "ArchSection",
    "bar_on_four_feet",
    "bombarded_card_house",
    "catenary_arch",
    "chairs",
    "jamming_tube",
    "log_house",
    "rods_of_1991",
]

FPS = 24.0
# Positions at which blocks fall on the house of cards, as fractions of half its width: on its top, and on its sides.
TARGETS = 0.07, 0.6, -0.6, -0.3
NEAR_TARGET = 0.05  # m; a block falls on the highest card within this distance of its target
DENSITY, OF_WOOD = 2400.0, 500.0  # of stone and of wood, kg / m^3


class ArchLine(NamedTuple):
    """The center line of an arch: span and height in m."""

    span: float
    height: float


class ArchSection(NamedTuple):
    """The cross section of an arch: depth and thickness in m."""

    depth: float
    thickness: float


LINE = ArchLine(2.0, 1.5)
SECTION = ArchSection(0.4, 0.11)


def bombarded_card_house(
    levels: int = 6,
    blocks: int = 2,
    mu: float = 0.8,
    restitution: float = 0.1,
    edge: float = 0.015,
    first: float = 1.0,
    every: float = 3.0,
    frames: int = 193,
) -> SceneSpec:
    """Return a house of cards on which small blocks fall. A section collapses, and the rest comes to rest again.

    The paper gives mu, the restitution and 348 degrees of freedom, which are six levels of 57 cards and one block.

    Parameters
    ----------
    levels, blocks : number of levels and of blocks
    mu, restitution : coefficients
    edge : m, edge length of a block
    first, every : s, release time of the first block, and the interval between blocks
    frames : last frame
    """
    house = card_house(levels=levels, mu=mu, lean=math.radians(28.0))
    material = pair_material(mu, restitution=restitution)
    bodies = [replace(body, material=material) for body in house.bodies]
    places = np.array([body.position for body in bodies[1:]])
    for i in range(blocks):
        x = TARGETS[i % len(TARGETS)] * places[:, 0].max()
        below = places[np.abs(places[:, 0] - x) < NEAR_TARGET, 2].max()
        dropped = box(f"Block {i + 1}", (edge, edge, edge), (x, 0.0, below + 0.145), material, 1000.0 * edge**3)
        bodies.append(let_go(dropped, round(FPS * (first + i * every))))
    return replace(house, bodies=tuple(bodies), frame_end=frames)


def catenary_arch(
    blocks: int = 27,
    mu: float = 0.6,
    dropped: int = 1,
    thrown: int = 2,
    speed: float = 10.0,
    line: ArchLine = LINE,
    section: ArchSection = SECTION,
    frames: int = 241,
) -> SceneSpec:
    """Return an arch of blocks without mortar along an inverted catenary. Blocks fall on it and hit one of its legs.

    The paper gives mu, 162 degrees of freedom, which are 27 bodies, and the outcome: the arch finds a new equilibrium under the
    blocks that fall on its keystone, and collapses when its leg is hit.

    Parameters
    ----------
    blocks : number of blocks in the arch
    mu : coefficient of friction
    dropped : number of blocks released above the keystone, one per second
    thrown : number of blocks that hit the left leg afterwards
    speed : m/s, of these blocks
    line : center line of the arch
    section : its cross section
    frames : last frame
    """
    material = pair_material(mu)
    (span, height), (depth, thickness), edge = line, section, 0.25
    scale = _catenary_scale(0.5 * span, height)
    reach = scale * math.sinh(0.5 * span / scale)  # arc length from the crown to one foot
    bodies = [ground(material)]
    cuts = []
    for s in np.linspace(-reach, reach, blocks + 1):
        x, slope = scale * math.asinh(s / scale), s / scale
        middle = np.array([x, 0.0, height - scale * (math.cosh(x / scale) - 1.0)])
        outward = np.array([slope, 0.0, 1.0]) / math.hypot(1.0, slope)
        cuts.append((middle - 0.5 * thickness * outward, middle + 0.5 * thickness * outward))
    # The feet are cut along the ground, because the outer edge of a square cut would be below it.
    for i, (near, far) in ((0, cuts[0]), (-1, cuts[-1])):
        along = np.array([far[2] - near[2], 0.0, near[0] - far[0]]) / thickness
        cuts[i] = tuple(edge - edge[2] / along[2] * along for edge in (near, far))
    for i in range(blocks):
        corners = np.array(
            [
                edge + np.array([0.0, y, 0.0])
                for edges in zip(cuts[i + 1], cuts[i], strict=True)
                for y in (-0.5 * depth, 0.5 * depth)
                for edge in edges
            ]
        )
        bodies.append(block(f"Voussoir {i + 1}", corners, material, DENSITY))
    mass = DENSITY * edge**3
    for i in range(dropped):
        place = (0.0, 0.0, height + 0.5 * thickness + 0.5 * edge + 0.5 + 1.5 * i * edge)
        bodies.append(let_go(box(f"Dropped {i + 1}", (edge, edge, edge), place, material, mass), round(FPS * (1.0 + i))))
    for i in range(thrown):
        place = (-0.5 * span - 2.0 - 1.5 * i * edge, 0.0, 0.3 * height)
        flying = box(f"Thrown {i + 1}", (edge, edge, edge), place, material, mass, velocity=(speed, 0.0, 1.0))
        bodies.append(let_go(flying, round(FPS * (dropped + 2.5 + 0.5 * i))))
    return SceneSpec(tuple(bodies), frame_end=frames)


def jamming_tube(
    mu: float = 0.5,
    layers: int = 6,
    edge: float = 0.1,
    neck: float = 2.2,
    taper: float = math.radians(25.0),
    seed: int = 1,
    frames: int = 121,
) -> SceneSpec:
    """Return cubes that fall into a square tube with a neck. They pass without friction, and jam sooner with more friction.

    The paper drops rigid and deformable bodies into tight tubes, which jam less with a smaller mu.

    Parameters
    ----------
    mu : coefficient of friction
    layers : number of layers of four cubes
    edge : m, edge length of a cube
    neck : width of the neck, relative to `edge`; the tube above it is 4.2 edges wide
    taper : rad, angle between the sides of the taper and the vertical
    seed : of the random orientations
    frames : last frame
    """
    material = pair_material(mu)
    half, wide, bottom, rise = 0.5 * neck * edge, 2.1 * edge, 6.5 * edge, (2.0 * layers + 2.0) * edge
    shoulder = bottom + 2.5 * edge
    collar = shoulder + (wide - half) / math.tan(taper)
    bodies = [ground(material)]
    sections = (
        ("Neck", half, bottom, half, shoulder),
        ("Taper", half, shoulder, wide, collar),
        ("Tube", wide, collar, wide, collar + rise),
    )
    for name, low_reach, low, high_reach, high in sections:
        outer = high_reach + 0.5 * edge
        profile = ((low_reach, low), (high_reach, high), (outer, high), (outer, low))
        corners = np.array([[x, y, z] for x, z in profile for y in (-outer, outer)])
        centre = corners.mean(axis=0)
        for k in range(4):
            angle = 0.5 * math.pi * k
            place = np.array([math.cos(angle) * centre[0], math.sin(angle) * centre[0], centre[2]])
            shape = ShapeSpec(ShapeKind.HULL, corners - centre)
            turn = axis_angle((0.0, 0.0, 1.0), angle)
            bodies.append(
                BodySpec(f"{name} {k + 1}", BodyKind.PASSIVE, shape, position=place, orientation=turn, material=material)
            )
    random = np.random.default_rng(seed)
    for layer in range(layers):
        for i, (x, y) in enumerate(((-edge, -edge), (-edge, edge), (edge, -edge), (edge, edge))):
            turn = random.normal(size=4)
            place = (x, y, collar + edge * (1.0 + 2.0 * layer))
            bodies.append(box(f"Cube {4 * layer + i + 1}", (edge, edge, edge), place, material, 1.0, turn / length(turn)))
    return SceneSpec(tuple(bodies), frame_end=frames)


def log_house(
    courses: int = 15,
    roof: int = 9,
    speed: float = 7.0,
    mu: float = 0.5,
    mu_ground: float = 0.1,
    length: float = 1.4,
    log: float = 0.1,
    frames: int = 97,
) -> SceneSpec:
    """Return a house of notched logs that slides over the ground, jumps off a ramp, hits a curb and breaks up.

    The paper gives 414 degrees of freedom, which are 69 logs, and the outcome.

    Parameters
    ----------
    courses : number of logs in each of the four walls
    roof : number of planks across the top
    speed : m/s
    mu, mu_ground : coefficients of friction between logs, and of logs on the ground and on the ramp
    length, log : m, length of a log, and the edges of its cross section
    frames : last frame
    """
    material = pair_material(mu)
    slippery = MaterialSpec(mu_ground / material.mu_static, mu_ground / material.mu_static)
    # Logs rest only in the notches of others, because their height is less than the distance between courses.
    lower = 0.98 * log
    notch_offset = 0.5 * length - log
    notched = _notched_log((length, log, lower), notch_offset, 1.02 * log, 0.25 * log - 0.5 * (log - lower))
    mass = OF_WOOD * log * lower * length
    across = axis_angle((0.0, 0.0, 1.0), 0.5 * math.pi)
    first = -0.5 * length - 0.5

    def laid(name: str, place, turn=(1.0, 0.0, 0.0, 0.0)) -> BodySpec:
        where = np.array([first, 0.0, 0.0]) + place
        body = box(name, (length, log, log), where, material, mass, turn, (speed, 0.0, 0.0))
        return replace(body, shape=notched)

    curb = box("Curb", (0.3, 2.0 * length, 0.25), (5.0, 0.0, 0.125), material)
    bodies = [
        ground(slippery),
        replace(_ramp(2.0, 0.3, 2.0 * length), material=slippery),
        replace(curb, kind=BodyKind.PASSIVE, mass=None),
    ]
    for i in range(courses):
        for side, y in (("Left", notch_offset), ("Right", -notch_offset)):
            bodies.append(laid(f"{side} {i + 1}", (0.0, y, (i + 0.5) * log - 0.5 * (log - lower))))
        for side, x in (("Front", notch_offset), ("Back", -notch_offset)):
            bodies.append(laid(f"{side} {i + 1}", (x, 0.0, (i + 1.0) * log - 0.5 * (log - lower)), across))
    top = (courses + 0.5) * log
    for i in range(roof):
        x = (i - 0.5 * (roof - 1)) * 2.0 * (notch_offset - log) / max(roof - 1, 1)
        plank = box(f"Roof {i + 1}", (0.5 * log, length, 0.3 * log), (first + x, 0.0, top), material, 0.15 * mass)
        bodies.append(replace(plank, velocity=np.array([speed, 0.0, 0.0])))
    return SceneSpec(tuple(bodies), frame_end=frames)


def chairs(
    count: int = 4,
    slope: float = 0.55,
    mu: float = 0.5,
    modes: int = 12,
    young: float = 1.5e9,
    leg: float = 0.035,
    frames: int = 49,
) -> SceneSpec:
    """Return a row of flexible chairs on a slope steeper than their friction. Their feet stick, bend, slip and lift.

    The paper has 1,766 degrees of freedom, which fits 40 chairs with 38 modes.

    Parameters
    ----------
    count : number of chairs
    slope : tangent of its angle
    mu : coefficient of friction
    modes : of each chair, 0 for rigid chairs
    young : Pa, Young's modulus; with `leg`, it determines the frequency of the chatter
    leg : m, thickness of the legs
    frames : last frame
    """
    half, seat, board, rail, top = 0.26, 0.42, 0.03, 0.72, 0.8
    x = [-half, leg - half, -0.5 * half, 0.0, 0.5 * half, half - leg, half]
    z = [0.0, 0.25 * seat, 0.5 * seat, 0.75 * seat, seat, seat + board, 0.5 * (seat + board + rail), rail, top]
    filled = np.zeros((6, 6, 8), dtype=bool)
    filled[::5, ::5, :4] = filled[:, :, 4] = filled[::5, 5, 5:7] = filled[:, 5, 7] = True
    shape = cells_shape(x, x, z, filled)
    material, bending = pair_material(mu), None
    if modes:
        bending = DeformableSpec(young=young, modes=modes, resolution=40, damping_ratio=0.01)
    turned = axis_angle((0.0, 1.0, 0.0), math.atan(slope))
    bodies: list[BodySpec] = [ground(material, turned)]
    for i in range(count):
        place = np.array([0.0, 2.5 * half * (i - 0.5 * (count - 1)), 0.0])
        chair = BodySpec(f"Chair {i + 1}", BodyKind.ACTIVE, shape, place, turned, density=OF_WOOD, material=material)
        bodies.append(replace(chair, deformable=bending))
    return SceneSpec(tuple(bodies), frame_end=frames)


def rods_of_1991(speed: float = 2.0, mu: float = 0.75, frames: int = 49) -> SceneSpec:
    """Return the two rods of Baraff 1991, whose tips slide over the ground: a rotating one, and one without rotation.

    The paper gives the length of 2 m, tan theta = 3, mu = 3/4, the moment of inertia m / 16, and the spin of figure 3 with
    |omega|^2 sin(theta) - g = 1. A rod with this spin has two valid contact forces, 0 and m. The rod without rotation is that
    of figure 4: friction presses it down by more than any normal force lifts it, so only an impulse ends its sliding. The mass
    is in a block of 0.3 m at the center. With a rod of 48.7 mm this gives the moment of inertia to 3 %.

    speed: m/s, of the tips along -x. mu: coefficient of friction. frames: last frame.
    """
    material = pair_material(mu)
    theta, block, thick = math.atan(3.0), 0.3, 0.0487
    sine, cosine = math.sin(theta), math.cos(theta)
    lines = [-0.5 * block, -0.5 * thick, 0.5 * thick, 0.5 * block]
    filled = np.zeros((3, 3, 3), dtype=bool)
    filled[:, :, 1] = filled[1, 1, :] = True
    rod = cells_shape(lines, lines, [-1.0, lines[0], lines[-1], 1.0], filled)
    turn = axis_angle((0.0, 1.0, 0.0), 0.5 * math.pi - theta)
    # The lower one of the two edges of the end touches the ground.
    height = sine + 0.5 * thick * cosine
    spin = math.sqrt((9.81 + 1.0) / sine)
    bodies = [ground(material)]
    for name, y, omega in (("Turning Rod", -0.5, -spin), ("Sliding Rod", 0.5, 0.0)):
        velocity = (omega * sine - speed, 0.0, -omega * cosine)
        body = box(name, (block, block, block), (0.0, y, height), material, 1.0, turn, velocity)
        bodies.append(replace(body, shape=rod, angular_velocity=np.array([0.0, omega, 0.0])))
    return SceneSpec(tuple(bodies), frame_end=frames)


def bar_on_four_feet(head: float = 0.5, frames: int = 49) -> SceneSpec:
    """Return a bar on four feet that is pressed down beyond the last foot and pivots about it: figure 4 of Faure 1996.

    The paper solves this three times: first all four feet carry load, two of them by pulling; then the first two let go; then
    the third. It gives no numbers. Here the force is the weight of a head at the end of the bar.

    head: m, edge length of the head; with less than 0.45 the bar does not tip. frames: last frame.
    """
    thick, inner, top = 0.08, 1.7, 0.6
    z = [-0.5 * thick, 0.5 * thick, head - 0.5 * thick]
    across = [-0.5 * head, -0.5 * thick, 0.5 * thick, 0.5 * head]
    filled = np.zeros((2, 3, 2), dtype=bool)
    filled[0, 1, 0] = filled[1] = True
    bar = cells_shape([-2.0, inner, inner + head], across, z, filled)
    material = pair_material(0.5)
    bodies = [ground(material)]
    for i, x in enumerate((-1.5, -0.5, 0.5, 1.5)):
        place = np.array([x, 0.0, top - 0.5 * thick - 0.05])
        bodies.append(BodySpec(f"Foot {i + 1}", BodyKind.PASSIVE, sphere_shape(0.05), position=place, material=material))
    body = box("Bar", (1.0, 1.0, 1.0), (0.0, 0.0, top), material, 10.0)
    return SceneSpec((*bodies, replace(body, shape=bar)), frame_end=frames)


def cells_shape(x, y, z, filled) -> ShapeSpec:
    """Return the surface of the filled cells of a grid as a mesh.

    x, y, z: (i + 1,), (j + 1,) and (k + 1,) m, positions of the planes of the grid. filled: (i, j, k) bool.
    """
    lines = [np.asarray(line, dtype=np.float64) for line in (x, y, z)]
    inside = np.pad(np.asarray(filled, dtype=bool), 1)
    corners: dict[tuple[int, ...], int] = {}
    triangles = []
    for cell in np.argwhere(inside):
        for axis in range(3):
            u, v = np.eye(3, dtype=int)[[(axis + 1) % 3, (axis + 2) % 3]]
            for side in (0, 1):
                step = np.eye(3, dtype=int)[axis]
                if inside[tuple(cell + (2 * side - 1) * step)]:
                    continue
                begin = cell - 1 + side * step
                loop = [begin, begin + u, begin + u + v, begin + v]
                a, b, c, d = (corners.setdefault(tuple(corner), len(corners)) for corner in (loop if side else loop[::-1]))
                triangles += [[a, b, c], [a, c, d]]
    vertices = np.array([[line[i] for line, i in zip(lines, corner, strict=True)] for corner in corners])
    return ShapeSpec(ShapeKind.MESH, vertices, np.array(triangles, dtype=np.int32))


def _notched_log(size, offset: float, notch: float, depth: float) -> ShapeSpec:
    """Return a log along x with notches on top and below, at both ends.

    size: (3,) m. offset: m, from the center to a notch. notch, depth: m, width and depth of a notch.
    """
    length, width, height = size
    x = [-0.5 * length, *(s * offset + t * 0.5 * notch for s in (-1.0, 1.0) for t in (-1.0, 1.0)), 0.5 * length]
    z = [-0.5 * height, depth - 0.5 * height, 0.5 * height - depth, 0.5 * height]
    filled = np.ones((5, 1, 3), dtype=bool)
    filled[1::2, :, ::2] = False
    return cells_shape(x, [-0.5 * width, 0.5 * width], z, filled)


def _ramp(length: float, height: float, width: float) -> BodySpec:
    """Return a passive wedge that rises along x. Its lower edge is below the ground, so sliding bodies hit its face."""
    low = -0.1
    profile = ((low * length, low * height), (length, low * height), (length, height))
    corners = np.array([[x, y, z] for y in (-0.5 * width, 0.5 * width) for x, z in profile])
    return BodySpec("Ramp", BodyKind.PASSIVE, ShapeSpec(ShapeKind.HULL, corners))


def _catenary_scale(half: float, height: float) -> float:
    """Return c of the catenary z = c (cosh(x / c) - 1) with z = height at x = half, by bisection of half / c."""
    low, high = 1e-6, 50.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.cosh(middle) - 1.0 < height / half * middle else (low, middle)
    return half / low
