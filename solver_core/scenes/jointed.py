# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes with joints for demos and tests, in m, kg and s. See `plain.py`."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..linalg.in_order import length
from ..scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from ..scene.parts import axis_angle, box, cylinder_shape, ground, sphere_shape
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

__all__ = [
    "breakable_wall",
    "chain_of_rings",
    "drawbridge",
    "four_ball_solid",
    "hanging_chain",
    "newtons_cradle",
    "rope_bridge",
]

STONE, TIMBER = MaterialSpec(0.8, 0.8), MaterialSpec(0.7, 0.6)
# Quaternions of the rotations from Z to Y, X to Z, and X to Y.
Z_TO_Y = np.array([math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0])
X_TO_Z = np.array([math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0])
X_TO_Y = np.array([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])
BALL = FREE_AXIS, FREE_AXIS, FREE_AXIS
# Time steps per frame of `newtons_cradle`. No ball moves farther than half a gap in a step, so impacts need no propagation.
CRADLE_SUBSTEPS = 40
# Time steps per frame of `rope_bridge`. A plank of mass m and length l under a tension T oscillates with the angular frequency
# sqrt(4 T / (m l)) = 471 rad/s, half a radian per step. In longer steps, planks stay in line but oscillate too slowly.
BRIDGE_SUBSTEPS = 40


def hanging_chain(links: int = 24, span: float = 2.0, slack: float = 1.3, load: float = 1.0, frames: int = 241) -> SceneSpec:
    """A chain between two posts, and a box that falls into it.

    span: distance of the posts [m]. slack: length of the chain relative to the span. load: mass of the box [kg].
    """
    half = half_arc(slack)
    radius, height = 0.5 * span / math.sin(half), 1.5
    angles = np.linspace(-half, half, links + 1)
    places = [np.array([radius * math.sin(a), 0.0, height + radius * (math.cos(half) - math.cos(a))]) for a in angles]
    length = 2.0 * radius * math.sin(half / links)
    size = 0.9 * length, 0.3 * length, 0.3 * length
    bodies = [ground(STONE)]
    for side, anchor in (("Left", places[0]), ("Right", places[-1])):
        post = box(
            f"{side} Post", (0.1, 0.1, anchor[2]), (anchor[0] + math.copysign(0.05, anchor[0]), 0.0, 0.5 * anchor[2]), STONE
        )
        bodies.append(still(post))
    for i, (begin, end) in enumerate(pairwise(places)):
        lean = 0.5 * math.atan2(end[2] - begin[2], end[0] - begin[0])
        turn = (math.cos(lean), 0.0, -math.sin(lean), 0.0)
        bodies.append(box(f"Link {i}", size, 0.5 * (begin + end), TIMBER, 0.25, turn))
    bodies.append(box("Load", (0.2, 0.2, 0.2), (0.0, 0.0, height - radius * (1.0 - math.cos(half)) + 0.4), TIMBER, load))
    names = ["Left Post", *(f"Link {i}" for i in range(links)), "Right Post"]
    joints = [JointSpec(f"Joint {i}", names[i], names[i + 1], place, angular=BALL) for i, place in enumerate(places)]
    return SceneSpec(tuple(bodies), frame_end=frames, excluded=tuple(pairwise(names)), joints=tuple(joints))


def chain_of_rings(
    links: int = 13, slack: float = 1.15, ring: float = 0.12, wire: float = 0.03, frames: int = 121
) -> SceneSpec:
    """A chain of linked rings between two posts that hold the first and the last ring; only contact holds it together.

    slack: length of the chain relative to the distance of the posts.
    ring, wire: radii of a ring's center line and of its wire [m].
    """
    pitch, half, height = 1.9 * (ring - wire), half_arc(slack), 1.6
    length = (links - 1) * pitch + 2.0 * ring
    radius = 0.5 * length / half

    def place(along: float) -> tuple[np.ndarray, float]:
        """Return the position of the chain and its slope [rad] at a distance from its middle."""
        angle = along / radius
        return np.array([radius * math.sin(angle), 0.0, height + radius * (math.cos(half) - math.cos(angle))]), angle

    bodies, shape = [ground(STONE)], torus_shape(ring, wire)
    for side, sign in (("Left", -1.0), ("Right", 1.0)):
        point = place(sign * 0.5 * length)[0]
        bodies.append(
            still(box(f"{side} Post", (0.1, 0.1, point[2] + 0.1), (point[0] + sign * 0.08, 0.0, 0.5 * point[2] + 0.05), STONE))
        )
    for i in range(links):
        point, slope = place((i - 0.5 * (links - 1)) * pitch)
        turn = axis_angle((0.0, 1.0, 0.0), -slope)
        if i % 2 == 0:
            # a quarter turn about the chain
            turn = math.sqrt(0.5) * np.array([turn[0], turn[0], turn[2], -turn[2]])
        body = box(f"Ring {i + 1}", (ring, ring, ring), point, MaterialSpec(0.5, 0.5), 0.5, turn)
        bodies.append(replace(body, shape=shape))
    ends = ("Left", "Left Post", "Ring 1", -0.5 * length), ("Right", f"Ring {links}", "Right Post", 0.5 * length)
    joints = tuple(JointSpec(f"{side} Shackle", a, b, place(along)[0], angular=BALL) for side, a, b, along in ends)
    excluded = tuple((joint.body_a, joint.body_b) for joint in joints)
    return SceneSpec(tuple(bodies), frame_end=frames, excluded=excluded, joints=joints)


def rope_bridge(planks: int = 50, load: float = 1000.0, mass: float = 1.0, rise: float = 0.5, frames: int = 241) -> SceneSpec:
    """A bridge of planks on two ropes, at rest under a load of a thousand planks on the middle one.

    It hangs in equilibrium: the ropes support half the weight of the loaded plank and its load at each of its ends, and from
    one plank to the next one more weight. The tension along the bridge, half of load and plank over the rise, is the same
    everywhere. Planks under this tension oscillate fast, which BRIDGE_SUBSTEPS per frame resolve.

    mass: of a plank [kg].
    rise: tangent of the slope of the ropes at the loaded plank.
    """
    pitch, width, thickness, gravity = 0.2, 0.6, 0.03, 9.81
    middle, foot = (planks - 1) // 2, (0.16, 0.4, 0.3)
    pull = 0.5 * (load + 2.0 * mass) * gravity / rise
    # tangents of the slopes of the planks after the loaded one, each from the moments about its end closer to that plank
    slopes = (0.5 * (load + mass) + mass * (np.arange(planks - middle - 1) + 0.5)) * gravity / pull
    slopes = np.concatenate([-slopes[:middle][::-1], [0.0], slopes])
    steps = pitch / np.sqrt(1.0 + slopes**2)
    nodes = np.zeros((planks + 1, 3))
    nodes[1:, 0], nodes[1:, 2] = np.cumsum(steps), np.cumsum(steps * slopes)
    nodes -= 0.5 * (nodes[middle] + nodes[middle + 1]) - np.array([0.0, 0.0, 1.0])
    bodies = [
        box(
            f"Plank {i + 1}",
            (0.9 * pitch, width, thickness),
            0.5 * (nodes[i] + nodes[i + 1]),
            TIMBER,
            mass,
            axis_angle((0.0, 1.0, 0.0), -math.atan(slopes[i])),
        )
        for i in range(planks)
    ]
    for side, end, outward in (("Left", nodes[0], -1.0), ("Right", nodes[-1], 1.0)):
        bank = box(f"{side} Bank", (1.0, 2.0 * width, end[2]), (end[0] + 0.55 * outward, 0.0, 0.5 * end[2]), STONE)
        bodies.append(still(bank))
    names = ["Left Bank", *(f"Plank {i + 1}" for i in range(planks)), "Right Bank"]
    joints = [
        JointSpec(f"Rope {i + 1} {side}", names[i], names[i + 1], node + np.array([0.0, y, 0.0]), angular=BALL)
        for i, node in enumerate(nodes)
        for side, y in (("Left", 0.4 * width), ("Right", -0.4 * width))
    ]
    place = (0.0, 0.0, 1.0 + 0.5 * (thickness + foot[2]))
    bodies = [ground(STONE), *bodies, box("Load", foot, place, TIMBER, load)]
    return SceneSpec(tuple(bodies), frame_end=frames, excluded=tuple(pairwise(names)), joints=tuple(joints))


def drawbridge(length: float = 2.0, speed: float = 0.35, torque: float = 4000.0, frames: int = 241) -> SceneSpec:
    """A bridge on a hinge that a motor raises to 70 degrees, with two crates on it that slide off.

    length: of the bridge [m]. speed: of the motor [rad/s]. torque: largest torque of the motor [N m].
    """
    thickness, width, height = 0.08 * length, 0.6 * length, 1.0
    deck = box("Bridge", (length, width, thickness), (0.5 * length, 0.0, height - 0.5 * thickness), TIMBER, 60.0)
    bank = box("Bank", (length, 1.5 * width, height), (-0.5 * length, 0.0, 0.5 * height), STONE)
    far = box("Far Bank", (length, 1.5 * width, height - thickness), (1.45 * length, 0.0, 0.5 * (height - thickness)), STONE)
    crates = [
        box(f"Crate {name}", (0.3, 0.3, 0.3), (x * length, y, height + 0.15), TIMBER, 20.0)
        for name, x, y in (("A", 0.35, -0.2), ("B", 0.6, 0.25))
    ]
    hinge_position = np.array([0.0, 0.0, height])
    # About Y, which points backward, so a rising bridge rotates in the negative direction.
    hinge = AxisSpec(math.radians(-70.0), 0.0)
    joints = (
        JointSpec("Hinge", "Bank", "Bridge", hinge_position, Z_TO_Y, angular=(LOCKED, LOCKED, hinge)),
        JointSpec(
            "Motor",
            "Bank",
            "Bridge",
            hinge_position,
            X_TO_Y,
            BALL,
            (AxisSpec(motor_velocity=-speed, motor_force=torque), FREE_AXIS, FREE_AXIS),
        ),
    )
    bodies = (ground(STONE), still(bank), still(far), deck, *crates)
    return SceneSpec(bodies, frame_end=frames, excluded=(("Bank", "Bridge"),), joints=joints)


def breakable_wall(columns: int = 10, rows: int = 6, strength: float = 3.0, shot: float = 12.0, frames: int = 145) -> SceneSpec:
    """A wall of bricks, each fixed to its neighbors and connected by a spring to the one below, and a fired ball.

    strength: breaking impulse of a joint in a time step [N s]. shot: speed of the ball [m/s].
    """
    size = 0.4, 0.2, 0.2
    bodies, joints, names = [ground(STONE)], [], {}
    for row in range(rows):
        for column in range(columns):
            names[row, column] = f"Brick {row} {column}"
            # There are gaps for the mortar between the bricks, which do not touch.
            center = (size[0] * (column - 0.5 * (columns - 1)), 0.0, size[2] * (row + 0.495))
            bodies.append(box(names[row, column], [0.99 * edge for edge in size], center, STONE, 4.0))
    spring = AxisSpec(stiffness=2e5, damping=2e3)
    hold = AxisSpec(stiffness=2e4, damping=2e2)
    for (row, column), name in names.items():
        x, z = size[0] * (column - 0.5 * (columns - 1)), size[2] * (row + 0.5)
        if column:
            place = np.array([x - 0.5 * size[0], 0.0, z])
            joints.append(JointSpec(f"Beside {name}", names[row, column - 1], name, place, breaking_impulse=strength))
        if row:
            place = np.array([x, 0.0, z - 0.5 * size[2]])
            sprung = JointSpec(f"Below {name}", names[row - 1, column], name, place, breaking_impulse=strength)
            joints.append(replace(sprung, linear=(spring, spring, spring), angular=(hold, hold, hold)))
    height = 0.5 * rows * size[2]
    ball = BodySpec("Ball", BodyKind.ACTIVE, ball_shape(0.2), mass=8.0, material=STONE, position=np.array([0.1, -2.0, height]))
    ball.velocity[:] = (0.0, shot, 1.5)
    excluded = tuple((joint.body_a, joint.body_b) for joint in joints)
    return SceneSpec((*bodies, ball), frame_end=frames, excluded=excluded, joints=tuple(joints))


def newtons_cradle(
    balls: int = 5,
    raised: int = 1,
    angle: float = math.radians(20.0),
    radius: float = 0.05,
    length: float = 0.5,
    gap: float = 0.002,
    restitution: float = 1.0,
    frames: int = 241,
) -> SceneSpec:
    """Newton's cradle: steel balls on strings, the first ones raised. As many balls leave on the other side.

    The strings are rigid links that swing in one plane. With CRADLE_SUBSTEPS per frame, the swing has the accuracy of the
    leapfrog.

    angle: initial angle of the raised balls [rad].
    gap: distance between neighbors, which may be zero [m].
    """
    surface = MaterialSpec(0.0, 0.0, math.sqrt(restitution))
    height, mass = length + 2.0 * radius, 7800.0 * 4.0 / 3.0 * math.pi * radius**3
    bodies, joints = [], []
    for i in range(balls):
        nail = np.array([(i - 0.5 * (balls - 1)) * (2.0 * radius + gap), 0.0, height])
        lean = angle if i < raised else 0.0
        place = nail - length * np.array([math.sin(lean), 0.0, math.cos(lean)])
        bodies.append(
            BodySpec(f"Ball {i + 1}", BodyKind.ACTIVE, sphere_shape(radius), position=place, mass=mass, material=surface)
        )
        joints.append(JointSpec(f"String {i + 1}", "", f"Ball {i + 1}", nail, Z_TO_Y, angular=(LOCKED, LOCKED, FREE_AXIS)))
    return SceneSpec(tuple(bodies), frame_end=frames, joints=tuple(joints))


def four_ball_solid(speed: float = 1.0, dark: float = 0.7, light: float = 0.2, frames: int = 241) -> SceneSpec:
    """A solid on four balls, one rougher than the others, on a plane that a motor turns: figure 5 of Faure 1996.

    The coefficients are from the paper, 0.7 for the dark ball and 0.2 for the light ones. The plane starts at its speed, which
    the motor keeps; its torque corresponds to the paper's motion control.

    speed: of the plane [rad/s].
    """
    # Friction is the product of two coefficients; that of the plane is 1.
    centre = np.array([0.5, 0.0, 0.05])
    plane = BodySpec(
        "Plane",
        BodyKind.ACTIVE,
        cylinder_shape(1.5, 0.1),
        position=np.array([0.0, 0.0, -0.05]),
        angular_velocity=np.array([0.0, 0.0, speed]),
        mass=20.0,
        material=MaterialSpec(1.0, 1.0),
    )
    balls = [
        BodySpec(
            name,
            BodyKind.ACTIVE,
            sphere_shape(0.05),
            position=centre + np.array([x, y, 0.0], dtype=np.float64),
            mass=0.25,
            material=MaterialSpec(mu, mu),
        )
        for name, x, y, mu in (
            ("Dark Ball", 0.2, 0.2, dark),
            ("Ball 2", 0.2, -0.2, light),
            ("Ball 3", -0.2, 0.2, light),
            ("Ball 4", -0.2, -0.2, light),
        )
    ]
    motor = AxisSpec(motor_velocity=speed, motor_force=1e4)
    joints = [
        JointSpec("Axle", "", "Plane", plane.position, angular=(LOCKED, LOCKED, FREE_AXIS)),
        JointSpec("Motor", "", "Plane", plane.position, X_TO_Z, BALL, (motor, FREE_AXIS, FREE_AXIS)),
    ]
    joints += [JointSpec(f"Arm {i}", "Dark Ball", f"Ball {i}", centre) for i in (2, 3, 4)]
    return SceneSpec((plane, *balls), frame_end=frames, joints=tuple(joints))


def half_arc(slack: float) -> float:
    """Return half the angle of the arc whose length relative to its chord is given [rad], by Newton's method."""
    half = math.sqrt(6.0 * (slack - 1.0))
    for _ in range(8):
        half -= (half - slack * math.sin(half)) / (1.0 - slack * math.cos(half))
    return half


def torus_shape(major: float, minor: float, segments: int = 24, sides: int = 8) -> ShapeSpec:
    """Return the mesh of a torus around z with these numbers of segments and sides."""
    around, across = (2.0 * math.pi * np.arange(n) / n for n in (segments, sides))
    reach = major + minor * np.cos(across)
    x, y = (np.outer(turn, reach).ravel() for turn in (np.cos(around), np.sin(around)))
    vertices = np.column_stack([x, y, np.tile(minor * np.sin(across), segments)])
    triangles = []
    for i in range(segments):
        for k in range(sides):
            a, b = i * sides + k, i * sides + (k + 1) % sides
            c, d = ((corner + sides) % (segments * sides) for corner in (a, b))
            triangles += [[a, c, d], [a, d, b]]
    return ShapeSpec(ShapeKind.MESH, vertices, np.array(triangles, dtype=np.int32))


def ball_shape(radius: float) -> ShapeSpec:
    """Return the hull of 162 points on a sphere, the vertices of an icosahedron after two subdivisions."""
    golden = 0.5 * (1.0 + math.sqrt(5.0))
    corners = [np.roll([0.0, a, b], k) for k in range(3) for a in (-1.0, 1.0) for b in (-golden, golden)]
    points = np.array(corners) / math.hypot(1.0, golden)
    for edge in (1.1, 0.6):
        near = [(i, j) for i in range(len(points)) for j in range(i) if length(points[i] - points[j]) < edge]
        middles = np.array([points[i] + points[j] for i, j in near])
        points = np.vstack([points, middles / np.linalg.norm(middles, axis=1, keepdims=True)])
    return ShapeSpec(ShapeKind.HULL, radius * points)


def still(body: BodySpec) -> BodySpec:
    """Return the same body as a passive body."""
    return replace(body, kind=BodyKind.PASSIVE, mass=None)
