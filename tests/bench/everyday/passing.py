# SPDX-License-Identifier: GPL-3.0-or-later
"""What passes others closely: nothing touches, so nothing changes."""

from __future__ import annotations

import math
from functools import partial

from solver_core.scene.parts import axis_angle, box_shape, cylinder_shape, sphere_shape
from solver_core.scene.spec import BodySpec

from .experiment import Catalog, Experiment, Film, G, at_most, equals
from .parts import (
    NO_GRAVITY,
    OFFSET,
    active,
    does_not_rise,
    fixed,
    keeps,
    scene,
    slab,
    stays_straight,
    stays_upright,
    stopping,
    surface,
)
from .seams import WHY_LEVEL, film_time

WHY_MISS = "Nothing is touched, so by Newton's first law the twist after is the twist before, to rounding."
SHAPES = {
    "box": (box_shape((0.2, 0.2, 0.1)), 0.05),
    "ball": (sphere_shape(0.1), 0.1),
    "can": (cylinder_shape(0.1, 0.1), 0.05),
    "peg": (cylinder_shape(0.02, 0.3), 0.15),
}


def unchanged(name: str, velocity: tuple[float, float, float], spin: tuple[float, float, float] = NO_GRAVITY) -> tuple:
    """Claims that a body still has the twist that it began with."""
    size = math.hypot(*velocity) + math.hypot(*spin)
    return (
        keeps(name, "velocity", "m/s", velocity, 1e-9 * size),
        keeps(name, "spin", "rad/s", spin, 1e-8 * size),
    )


def past_a_ledge(kind: str, speed: float, clearance: float) -> Experiment:
    """A body flies past the edge of a ledge, so far above it."""
    shape, half = SHAPES[kind]
    material, velocity = surface(0.5, 0.5), (speed, 0.0, 0.0)
    ledge = slab("Ledge", (0.9, -1.0, -0.5), (1.7, 1.0, 0.0), material)
    body = active("Body", shape, (0.0, 0.0, half + clearance), material, velocity=velocity)
    spec = scene(ledge, body, gravity=NO_GRAVITY)
    return Experiment(spec, 2.6 / speed, unchanged("Body", velocity), WHY_MISS)


def turning_past_a_post(clearance: float) -> Experiment:
    """A rod that turns in its plane passes a post with its tip."""
    material, rate, length = surface(0.5, 0.5), 5.0, 1.0
    post = fixed("Post", cylinder_shape(0.05, 1.0), (0.0, 0.5 * math.hypot(length, 0.04) + 0.05 + clearance, 0.0), material)
    rod = active("Rod", box_shape((length, 0.04, 0.04)), NO_GRAVITY, material, angular_velocity=(0.0, 0.0, rate))
    claims = unchanged("Rod", NO_GRAVITY, (0.0, 0.0, rate))
    return Experiment(scene(post, rod, gravity=NO_GRAVITY), 1.4, claims, WHY_MISS)


def through_a_gap(clearance: float) -> Experiment:
    """A tumbling ball flies through a square hole, that far from all four edges."""
    material, radius, velocity, spin = surface(0.5, 0.5), 0.1, (6.0, 0.0, 0.0), (3.0, 5.0, 7.0)
    hole = radius + clearance
    bars = [
        slab("Below", (0.9, -1.0, -1.0), (1.1, 1.0, -hole), material),
        slab("Above", (0.9, -1.0, hole), (1.1, 1.0, 1.0), material),
        slab("Left", (0.9, hole, -hole), (1.1, 1.0, hole), material),
        slab("Right", (0.9, -1.0, -hole), (1.1, -hole, hole), material),
    ]
    ball = active("Ball", sphere_shape(radius), NO_GRAVITY, material, velocity=velocity, angular_velocity=spin)
    spec = scene(*bars, ball, gravity=NO_GRAVITY)
    return Experiment(spec, 0.35, unchanged("Ball", velocity, spin), WHY_MISS)


def two_trains() -> Experiment:
    """Two rows of boxes pass each other on parallel tracks, 1 mm apart."""
    material, bodies, claims = surface(0.5, 0.5), [], []
    for i in range(4):
        for side in (-1.0, 1.0):
            name, velocity = f"Car {i} {side:+.0f}", (4.0 * side, 0.0, 0.0)
            place = (-side * (0.5 + 0.25 * i), side * 0.0505, 0.0)
            bodies.append(active(name, box_shape((0.2, 0.1, 0.1)), place, material, velocity=velocity))
            claims += unchanged(name, velocity)
    return Experiment(scene(*bodies, gravity=NO_GRAVITY), 0.6, tuple(claims), WHY_MISS)


def through_a_doorway(clearance: float) -> Experiment:
    """A crate is pushed through a doorway and slides on until it stops."""
    mu, speed, half = 0.3, 2.5, 0.3
    material = surface(mu)
    edge = half + clearance
    bodies: list[BodySpec] = [slab("Floor", (-1.0, -2.0, -0.2), (4.0, 2.0, 0.0), material)]
    bodies += [
        slab("Left jamb", (0.6, edge, 0.0), (0.8, 1.5, 2.0), material),
        slab("Right jamb", (0.6, -1.5, 0.0), (0.8, -edge, 2.0), material),
        slab("Lintel", (0.6, -1.5, 2.0 * half + clearance), (0.8, 1.5, 2.5), material),
    ]
    crate = active("Crate", box_shape((2.0 * half,) * 3), (0.0, 0.0, half), material, mass=20.0, velocity=(speed, 0.0, 0.0))
    claims = (
        stopping("Crate", speed, mu * G),
        stays_straight("Crate"),
        does_not_rise("Crate", half),
        stays_upright("Crate"),
    )
    why = f"{WHY_LEVEL} It touches neither jamb nor lintel."
    return Experiment(scene(*bodies, crate), speed / (mu * G) + 0.1, claims, why)


def drawer(clearance: float) -> Experiment:
    """A drawer with clearance coasts out of its cabinet without friction."""
    material, speed, half = surface(0.0), 0.5, 0.1
    edge, top = 0.15 + clearance, 2.0 * half + clearance
    bodies = [
        slab("Bottom", (-0.5, -0.5, -0.05), (0.4, 0.5, 0.0), material),
        slab("Top", (-0.5, -0.5, top), (0.4, 0.5, top + 0.05), material),
        slab("Left", (-0.5, edge, 0.0), (0.4, edge + 0.05, top), material),
        slab("Right", (-0.5, -edge - 0.05, 0.0), (0.4, -edge, top), material),
    ]
    velocity = (speed, 0.0, 0.0)
    drawn = active("Drawer", box_shape((0.5, 0.3, 2.0 * half)), (0.0, 0.0, half), material, mass=3.0, velocity=velocity)
    seconds = 0.6
    claims = (
        keeps("Drawer", "velocity", "m/s", velocity, 1e-5),
        equals("way", "m", lambda film: film.way("Drawer"), speed * film_time(seconds), 1e-5),
        stays_straight("Drawer"),
        stays_upright("Drawer"),
    )
    why = "It lies on the bottom alone, without friction, and touches nothing else: its velocity is kept."
    return Experiment(scene(*bodies, drawn), seconds, claims, why)


def piston(clearance: float) -> Experiment:
    """A piston slides along the bore of a cylinder block of four walls, with play all around, past the seams of two blocks."""
    mu, speed = 0.2, 1.5
    material = surface(mu)
    edge = 0.05 + clearance
    bodies = []
    for i, (low, high) in enumerate(((-0.2, 0.3), (0.3, 1.2))):
        bodies += [
            slab(f"Below {i}", (low, -0.2, -0.1), (high, 0.2, 0.0), material),
            slab(f"Above {i}", (low, -0.2, 2.0 * edge), (high, 0.2, 2.0 * edge + 0.1), material),
            slab(f"Left {i}", (low, edge, 0.0), (high, 0.2, 2.0 * edge), material),
            slab(f"Right {i}", (low, -0.2, 0.0), (high, -edge, 2.0 * edge), material),
        ]
    rod = active("Piston", box_shape((0.12, 0.1, 0.1)), (0.0, 0.0, 0.05), material, velocity=(speed, 0.0, 0.0))
    claims = (
        stopping("Piston", speed, mu * G),
        stays_straight("Piston"),
        does_not_rise("Piston", 0.06),
        stays_upright("Piston"),
    )
    return Experiment(scene(*bodies, rod), speed / (mu * G) + 0.1, claims, WHY_LEVEL)


def book_from_a_shelf() -> Experiment:
    """A book is pulled from between others that stand flush beside it on two boards; the others stay."""
    mu, speed, thick = 0.3, 1.2, 0.03
    material = surface(mu)
    bodies = [
        slab("Shelf", (-1.0, -1.0, -0.03), (0.05, 1.0, 0.0), material),
        slab("Board", (0.05, -1.0, -0.03), (1.5, 1.0, 0.0), material),
    ]
    for i in (-2, -1, 0, 1, 2):
        velocity = (speed if i == 0 else 0.0, 0.0, 0.0)
        name = "Pulled" if i == 0 else f"Book {i:+d}"
        bodies.append(
            active(name, box_shape((0.17, thick, 0.24)), (0.0, thick * i, 0.12), material, mass=0.6, velocity=velocity)
        )

    def others(film: Film) -> float:
        return max(film.farthest(f"Book {i:+d}", axis) for i in (-2, -1, 1, 2) for axis in (0, 1, 2))

    claims = (
        stopping("Pulled", speed, mu * G),
        at_most("aside", "m", lambda film: film.farthest("Pulled", 1), 0.0, 2.0 * OFFSET * 0.12),
        stays_upright("Pulled"),
        at_most("others moved", "m", others, 0.0, 4.0 * OFFSET * 0.12),
    )
    why = (
        "Nothing presses the books together, so friction acts at the bottom alone: v^2 / 2 mu g. It does not tip: its height "
        "over its depth times mu is 0.42. The books stand flush, so each may be parted from the next by a rest offset."
    )
    return Experiment(scene(*bodies), speed / (mu * G) + 0.1, claims, why)


def peg_through_sleeves() -> Experiment:
    """A round peg slides through two sleeves of four bars each with 0.5 mm of play, on the lower bars."""
    mu, speed, radius, play = 0.25, 1.0, 0.02, 5e-4
    material = surface(mu)
    bodies = []
    for i, x in enumerate((-0.1, 0.15, 0.4)):
        near, far = x - 0.04, x + 0.04
        bodies += [
            slab(f"Below {i}", (near, -0.1, -0.05), (far, 0.1, 0.0), material),
            slab(f"Above {i}", (near, -0.1, 2.0 * radius + play), (far, 0.1, 0.1), material),
            slab(f"Left {i}", (near, radius + play, 0.0), (far, 0.1, 2.0 * radius + play), material),
            slab(f"Right {i}", (near, -0.1, 0.0), (far, -radius - play, 2.0 * radius + play), material),
        ]
    lying = axis_angle((0.0, 1.0, 0.0), 0.5 * math.pi)
    peg = active(
        "Peg", cylinder_shape(radius, 0.5), (0.02, 0.0, radius), material, orientation=lying, velocity=(speed, 0.0, 0.0)
    )
    claims = (
        stopping("Peg", speed, mu * G),
        stays_straight("Peg"),
        at_most("lean", "rad", lambda film: film.most_turned("Peg"), 0.0, 2e-3),
    )
    why = f"{WHY_LEVEL} The peg lies on the lower bars of at least two sleeves, level with each other."
    return Experiment(scene(*bodies, peg), speed / (mu * G) + 0.1, claims, why)


SCENES: Catalog = {
    **{
        f"{kind} past a ledge at {speed:.0f} m/s, {1e3 * clearance:g} mm": partial(past_a_ledge, kind, speed, clearance)
        for kind in SHAPES
        for speed, clearance in ((2.0, 1e-3), (20.0, 1e-4))
    },
    "box past a ledge at 20 m/s, 0.1 mm": partial(past_a_ledge, "box", 20.0, 1e-4),
    "rod turns past a post, 0.1 mm": partial(turning_past_a_post, 1e-4),
    "ball through a hole, 1 mm": partial(through_a_gap, 1e-3),
    "two trains pass": two_trains,
    "crate through a doorway, 5 mm": partial(through_a_doorway, 5e-3),
    "crate through a doorway, 0.5 mm": partial(through_a_doorway, 5e-4),
    "drawer with 0.2 mm of play": partial(drawer, 2e-4),
    "piston with 0.1 mm of play": partial(piston, 1e-4),
    "book pulled from a shelf": book_from_a_shelf,
    "peg through three sleeves": peg_through_sleeves,
}
