# SPDX-License-Identifier: GPL-3.0-or-later
"""Published scenes and textbook experiments for demos, tests and benchmarks, in m, kg and s.

All have a ground plane z <= 0 unless stated otherwise. Scenes with joints for the Add menu, and those of the papers, are in
separate files.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..scene.joints import FREE_AXIS, LOCKED, JointSpec
from ..scene.parts import axis_angle, block, box, ground, pair_material
from ..scene.spec import MaterialSpec, SceneSpec

__all__ = [
    "arch",
    "bridge",
    "card_house",
    "chain",
    "dominoes",
    "dropped_cube",
    "jamming_rod",
    "ring",
    "sliding_box",
    "slope",
    "tower",
    "wall",
]


def card_house(
    levels: int = 5,
    mu: float = 0.8,
    card=(0.001, 0.063, 0.088),
    lean: float = math.radians(20.0),
    density: float = 700.0,
    clearance: float = 1.5e-5,
    frames: int = 241,
) -> SceneSpec:
    """A house of cards: pairs of leaning cards under horizontal ones, (3 levels^2 + levels) / 2 cards in all.

    card: thickness, width and length [m].
    lean: angle from the vertical [rad].
    clearance: initial gap between neighbors [m].
    """
    thickness, width, length = card
    material = pair_material(mu)
    mass = density * thickness * width * length
    sine, cosine = math.sin(lean), math.cos(lean)
    leaning_height = length * cosine + thickness * sine
    # half the distance of a pair's centers: the inner top edges are one clearance apart
    half = 0.5 * (length * sine + thickness * cosine + clearance)
    spacing = length + 0.5 * thickness
    bodies = [ground(material)]
    bottom = 0.0
    for level in range(levels):
        pairs = levels - level
        apexes = [(i - 0.5 * (pairs - 1)) * spacing for i in range(pairs)]
        height = bottom + clearance + 0.5 * leaning_height
        for i, x in enumerate(apexes):
            for name, side in (("L", -1.0), ("R", 1.0)):
                bodies.append(
                    box(
                        f"Card {level + 1}.{i + 1}{name}",
                        card,
                        (x + side * half, 0.0, height),
                        material,
                        mass,
                        axis_angle((0.0, 1.0, 0.0), -side * lean),
                    )
                )
        top = bottom + clearance + leaning_height
        for i, (left, right) in enumerate(pairwise(apexes)):
            bodies.append(
                box(
                    f"Card {level + 1}.{i + 1}T",
                    (length, width, thickness),
                    (0.5 * (left + right), 0.0, top + clearance + 0.5 * thickness),
                    material,
                    mass,
                )
            )
        bottom = top + clearance + thickness
    return SceneSpec(tuple(bodies), frame_end=frames)


def arch(
    blocks: int = 11,
    mu: float = 0.6,
    inner: float = 1.0,
    outer: float = 1.3,
    depth: float = 0.4,
    density: float = 2400.0,
    frames: int = 241,
) -> SceneSpec:
    """A semicircular masonry arch of wedge-shaped blocks without mortar. inner, outer: radii [m]. depth: [m]."""
    material = pair_material(mu)
    bodies = [ground(material)]
    # Order of the corners as in box_shape: radial, along the depth, around the arch.
    step = math.pi / blocks
    for i in range(blocks):
        middle = math.pi * (i + 0.5) / blocks
        corners = np.array(
            [
                [r * math.cos(middle + s * step / 2), y * depth / 2, r * math.sin(middle + s * step / 2)]
                for r in (inner, outer)
                for y in (-1.0, 1.0)
                for s in (-1.0, 1.0)
            ]
        )
        bodies.append(block(f"Voussoir {i + 1}", corners, material, density))
    return SceneSpec(tuple(bodies), frame_end=frames)


def tower(
    boxes: int = 10, size: float = 0.2, mu: float = 0.5, mass: float = 1.0, heaviest: float = 1000.0, frames: int = 241
) -> SceneSpec:
    """A tower of cubes whose top cube has `heaviest` times the mass of the others."""
    material = pair_material(mu)
    bodies = [ground(material)]
    for i in range(boxes):
        weight = mass * heaviest if i == boxes - 1 else mass
        bodies.append(box(f"Box {i + 1}", (size, size, size), (0.0, 0.0, (i + 0.5) * size), material, weight))
    return SceneSpec(tuple(bodies), frame_end=frames)


def wall(
    courses: int = 4,
    bricks: int = 5,
    mu: float = 0.6,
    brick=(0.215, 0.1025, 0.065),
    density: float = 1900.0,
    joint: float = 0.01,
    frames: int = 241,
) -> SceneSpec:
    """A dry wall with open vertical joints. Every other course is shifted by a third of a brick, so that its last brick stands.

    brick: length, depth and height [m].
    joint: width of the vertical joints [m].
    density: [kg/m^3].
    """
    material = pair_material(mu)
    length, depth, height = brick
    spacing = length + joint
    bodies = [ground(material)]
    for course in range(courses):
        for i in range(bricks):
            position = ((i + (course % 2) / 3.0) * spacing, 0.0, (course + 0.5) * height)
            bodies.append(box(f"Brick {course + 1}.{i + 1}", brick, position, material, density * length * depth * height))
    return SceneSpec(tuple(bodies), frame_end=frames)


def dominoes(
    tiles: int = 30,
    mu: float = 0.4,
    tile=(0.0075, 0.024, 0.048),
    pitch: float = 0.02,
    bend: float = 0.8,
    push: float = 0.25,
    frames: int = 121,
) -> SceneSpec:
    """A curved row of dominoes. The first one topples onto the next.

    tile: thickness, width and height [m].
    pitch: distance between the middles of neighbors [m].
    bend: total angle of the row [rad].
    push: initial speed of the first one's upper edge [m/s].
    """
    material = pair_material(mu)
    thickness, width, height = tile
    mass = 1200.0 * thickness * width * height
    bodies = [ground(material)]
    place = np.array([0.0, 0.0, 0.5 * height])
    for i in range(tiles):
        heading = bend * (i / max(tiles - 1, 1) - 0.5)
        along = np.array([math.cos(heading), math.sin(heading), 0.0])
        bodies.append(box(f"Domino {i + 1}", tile, place, material, mass, axis_angle((0.0, 0.0, 1.0), heading)))
        if i == 0:
            spin = push / height * np.array([-along[1], along[0], 0.0])
            bodies[-1] = replace(bodies[-1], angular_velocity=spin, velocity=0.5 * push * along)
        place = place + pitch * along
    return SceneSpec(tuple(bodies), frame_end=frames)


def jamming_rod(speed: float = 3.0, mu: float = 2.0, frames: int = 25) -> SceneSpec:
    """A slender rod whose lower end is pushed over the ground ahead of it, like chalk on a blackboard (Painlevé).

    It leans by atan(1 / 2) from the vertical, with its middle behind its tip along the motion +x. With mu above 4/3, no contact
    force can keep a uniform rod out of the ground while its tip slides, because a larger force pulls it in more strongly.
    """
    material = pair_material(mu)
    lean, half, thickness = math.atan(0.5), 0.5, 0.004
    # The lower end of the axis is ahead; the front edge touches the ground.
    sine, cosine = math.sin(lean), math.cos(lean)
    height = half * cosine + 0.5 * thickness * sine
    rod = box(
        "Rod",
        (thickness, thickness, 2.0 * half),
        (0.0, 0.0, height),
        material,
        1.0,
        axis_angle((0.0, 1.0, 0.0), -lean),
        (speed, 0.0, 0.0),
    )
    return SceneSpec((ground(material), rod), frame_end=frames)


def slope(
    tangent: float = 0.5,
    mu: float = 0.51,
    mu_dynamic: float | None = None,
    yaw: float = 0.0,
    size=(0.3, 0.3, 0.2),
    frames: int = 121,
) -> SceneSpec:
    """A box at rest on a slope with the given tangent that descends along +x. yaw: rotation of the box on the slope [rad]."""
    material = pair_material(mu, mu_dynamic)
    angle = math.atan(tangent)
    tilt = axis_angle((0.0, 1.0, 0.0), angle)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    a, c = axis_angle((0.0, 1.0, 0.0), angle), axis_angle((0.0, 0.0, 1.0), yaw)
    turned = np.array([a[0] * c[0], a[2] * c[3], a[2] * c[0], a[0] * c[3]])
    return SceneSpec(
        (ground(material, tilt), box("Box", size, 0.5 * size[2] * normal, material, orientation=turned)), frame_end=frames
    )


def sliding_box(speed: float = 2.0, mu: float = 0.4, size=(0.3, 0.3, 0.2), frames: int = 97) -> SceneSpec:
    """A box that starts to slide along +x on flat ground."""
    material = pair_material(mu)
    return SceneSpec(
        (ground(material), box("Box", size, (0.0, 0.0, 0.5 * size[2]), material, velocity=(speed, 0.0, 0.0))), frame_end=frames
    )


def dropped_cube(
    height: float = 4.0, size: float = 1.0, mu: float = 0.25, restitution: float = 0.0, frames: int = 121
) -> SceneSpec:
    """A cube dropped flat, with its lower face `height` m above the ground."""
    material = pair_material(mu, restitution=restitution)
    return SceneSpec(
        (ground(material), box("Cube", (size, size, size), (0.0, 0.0, height + 0.5 * size), material)), frame_end=frames
    )


BALL = FREE_AXIS, FREE_AXIS, FREE_AXIS


def chain(links: int = 20, length: float = 0.1, mass: float = 0.1) -> SceneSpec:
    """Links of given length and mass in a row along x, with ball joints between them and at the fixed end, swinging down."""
    size, surface = (length, 0.2 * length, 0.2 * length), MaterialSpec(0.5, 0.5)
    bodies = [box(f"Link {i}", size, (length * (i + 0.5), 0.0, 0.0), surface, mass) for i in range(links)]
    names = ["", *(body.name for body in bodies)]
    joints = tuple(
        JointSpec(f"Joint {i}", names[i], names[i + 1], np.array([length * i, 0.0, 0.0]), angular=BALL) for i in range(links)
    )
    return SceneSpec(tuple(bodies), joints=joints, excluded=tuple(pairwise(names[1:])))


def ring(links: int = 20, radius: float = 0.3, mass: float = 0.05) -> SceneSpec:
    """Links in an upright circle, closed by hinges about y between neighbors; another link hangs on a hinge in the middle of
    one."""
    angles = [2.0 * math.pi * i / links for i in range(links)]
    length, inner = 2.0 * radius * math.sin(math.pi / links), radius * math.cos(math.pi / links)
    size, surface = (0.8 * length, 0.1 * length, 0.1 * length), MaterialSpec(0.5, 0.5)

    def place(r: float, angle: float) -> np.ndarray:
        return np.array([r * math.cos(angle), 0.0, r * math.sin(angle)])

    bodies = [
        box(f"Link {i}", size, place(inner, a), surface, mass, axis_angle((0.0, 1.0, 0.0), -a - 0.5 * math.pi))
        for i, a in enumerate(angles)
    ]
    about_y = LOCKED, FREE_AXIS, LOCKED
    joints = [
        JointSpec(f"Hinge {i}", f"Link {i}", f"Link {(i + 1) % links}", place(radius, a + math.pi / links), angular=about_y)
        for i, a in enumerate(angles)
    ]
    top = links // 4
    joints.append(JointSpec("Nail", "", f"Link {top}", place(inner, angles[top]), angular=about_y))
    apart = tuple((f"Link {i}", f"Link {(i + 1) % links}") for i in range(links))
    return SceneSpec(tuple(bodies), joints=tuple(joints), excluded=apart)


def bridge(planks: int = 10, load: float = 50.0, mass: float = 1.0) -> SceneSpec:
    """Planks of given mass that hang in an arc, with two ball joints between neighbors and at the fixed ends, under a load."""
    surface, width, reach = MaterialSpec(0.8, 0.8), 0.2, 0.4
    radius = 0.5 * width / math.sin(reach / planks)

    def place(angle: float, r: float) -> tuple[float, float, float]:
        return r * math.sin(angle), 0.0, radius - r * math.cos(angle)

    step, inner = 2.0 * reach / planks, radius * math.cos(reach / planks)
    bodies = []
    for i in range(planks):
        angle = (i + 0.5) * step - reach
        turn = axis_angle((0.0, 1.0, 0.0), -angle)
        bodies.append(box(f"Plank {i}", (0.9 * width, 0.6, 0.03), place(angle, inner), surface, mass, turn))
    names = ["", *(body.name for body in bodies), ""]
    joints = tuple(
        JointSpec(
            f"Rope {i} {side}", names[i], names[i + 1], place(i * step - reach, radius) + np.array([0.0, y, 0.0]), angular=BALL
        )
        for i in range(planks + 1)
        for side, y in (("left", -0.25), ("right", 0.25))
    )
    weight = box("Load", (0.3, 0.3, 0.3), (0.0, 0.0, 0.2), surface, load)
    return SceneSpec((*bodies, weight), joints=joints, excluded=tuple(pairwise(names[1:-1])))
