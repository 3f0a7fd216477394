# SPDX-License-Identifier: GPL-3.0-or-later
"""Billiard shots, bowling balls and marbles: slip, roll, and what passes from ball to ball."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.scene.parts import axis_angle, cylinder_shape, sphere_shape
from solver_core.scene.spec import BodySpec, MaterialSpec, PairSpec

from .experiment import Catalog, Experiment, Film, Floats, G, equals
from .parts import NO_GRAVITY, OFFSET, active, convex, does_not_rise, fixed, keeps, scene, slab, stays_straight, surface

RADIUS, BALL_MASS, CLOTH = 0.0285, 0.17, 0.2
WHY_ROLL = (
    "Friction of the cloth has no moment about the point of contact, so 5/7 v + 2/7 w R of each ball is kept until it rolls "
    "at that speed. Compression and rebound may lie in two steps, in each of which the cloth changes the speed of a ball that "
    "slips by mu g h."
)


def final_roll(velocity: Floats, spin: Floats) -> Floats:
    """(3,) m/s at which a ball rolls in the end, of its velocity and its spin (3,) now."""
    return 5.0 / 7.0 * velocity + 2.0 / 7.0 * RADIUS * np.cross(spin, [0.0, 0.0, 1.0])


def shot(degrees: float, rolling: float, restitution: float = 0.94) -> Experiment:
    """A cue ball meets another at a cut angle; rolling: its spin over that of a ball that rolls, so -1 is a draw shot."""
    speed, angle = 1.4, math.radians(degrees)
    ball = MaterialSpec(0.0, 0.0, math.sqrt(restitution), name="Ball")
    cloth = MaterialSpec(0.0, 0.0, 0.0, name="Cloth")
    table = slab("Table", (-2.0, -2.0, -0.1), (2.0, 2.0, 0.0), cloth)
    velocity, spin = np.array([speed, 0.0, 0.0]), np.array([0.0, rolling * speed / RADIUS, 0.0])
    normal = np.array([math.cos(angle), math.sin(angle), 0.0])
    place = 2.0 * RADIUS * normal + [1e-3, 0.0, RADIUS]
    cue = active(
        "Cue",
        sphere_shape(RADIUS),
        (0.0, 0.0, RADIUS),
        ball,
        mass=BALL_MASS,
        velocity=tuple(velocity),
        angular_velocity=tuple(spin),
    )
    target = active("Target", sphere_shape(RADIUS), tuple(place), ball, mass=BALL_MASS)
    taken = 0.5 * (1.0 + restitution) * speed * math.cos(angle)
    pushed, left = taken * normal, velocity - taken * normal
    turn = speed * math.sin(angle) / (2.0 * RADIUS)
    blur = 1.5 * taken * turn + 2.0 * CLOTH * G
    pairs = (PairSpec("Ball", "Cloth", CLOTH, CLOTH), PairSpec("Ball", "Ball", 0.0, 0.0))
    claims = (
        keeps("Target", "velocity", "m/s", tuple(final_roll(pushed, np.zeros(3))), 5e-4 * speed, per_step=blur),
        keeps("Cue", "velocity", "m/s", tuple(final_roll(left, spin)), 5e-4 * speed, per_step=blur),
        equals("rise", "m", lambda film: max(film.rise("Cue"), film.rise("Target")), 0.0, 2.0 * OFFSET * RADIUS),
    )
    why = f"{WHY_ROLL} The impact is along the line of centres, which turns by v sin(a) h / 2R in a step."
    return Experiment(scene(table, cue, target, pairs=pairs), 0.75, claims, why)


def right_angle() -> Experiment:
    """Two equal balls that collide without loss leave at a right angle."""
    radius, speed, angle, material = RADIUS, 1.0, math.radians(40.0), surface(0.0, 1.0)
    cue = active("Cue", sphere_shape(radius), NO_GRAVITY, material, velocity=(speed, 0.0, 0.0))
    across = 2.0 * radius * math.sin(angle)
    target = active("Target", sphere_shape(radius), (0.3, across, 0.0), material)

    def between(film: Film) -> float:
        a, b = film.velocity("Cue")[-1], film.velocity("Target")[-1]
        return math.degrees(math.acos(float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b))))

    def energy(film: Film) -> float:
        return float((film.velocities[-1, :, :3] ** 2).sum()) / speed**2

    turn = speed * math.sin(angle) / (2.0 * radius)
    claims = (
        equals("angle between the balls", "deg", between, 90.0, 0.01, per_step=1.5 * math.degrees(turn)),
        equals("energy left", "share", energy, 1.0, 1e-4, per_step=1.5 * turn),
    )
    why = (
        "Equal masses, momentum and energy kept: the velocities after are perpendicular (Pythagoras). Compression and rebound "
        "may lie in two steps, between which the line of centres turns by v sin(a) h / 2R."
    )
    return Experiment(scene(cue, target, gravity=NO_GRAVITY), 0.5, claims, why)


def bowling_ball(tiles: int) -> Experiment:
    """A bowling ball is thrown without spin onto a lane of boards; it rolls at 5/7 of its speed."""
    mu, speed, radius = 0.2, 3.0, 0.108
    material = surface(mu)
    ends = np.linspace(-0.5, 3.0, tiles + 1)
    lane = [slab(f"Board {i}", (low, -0.5, -0.1), (high, 0.5, 0.0), material) for i, (low, high) in enumerate(pairwise(ends))]
    ball = active("Ball", sphere_shape(radius), (0.0, 0.0, radius), material, mass=6.0, velocity=(speed, 0.0, 0.0))
    slips = 2.0 * speed / (7.0 * mu * G)
    seconds = math.ceil(60.0 * (slips + 0.1)) / 60.0
    way = 12.0 * speed**2 / (49.0 * mu * G) + 5.0 / 7.0 * speed * (seconds - slips)
    claims = (
        keeps("Ball", "velocity", "m/s", (5.0 / 7.0 * speed, 0.0, 0.0), 2e-4 * speed, per_step=OFFSET * speed),
        keeps("Ball", "spin", "rad/s", (0.0, 5.0 / 7.0 * speed / radius, 0.0), 1e-3 * speed / radius),
        equals("way", "m", lambda film: film.way("Ball"), way, 5e-4, per_square=mu * G),
        does_not_rise("Ball", radius),
        stays_straight("Ball"),
    )
    why = (
        "It slides with mu g until v = w R, at 5/7 of its speed, after 12 v^2 / 49 mu g. A ball that rests an offset of 2e-4 "
        "R above the floor has a lever that much longer. The step in which slip ends is off by mu g h^2 at most."
    )
    return Experiment(scene(*lane, ball), seconds, claims, why)


def down_a_ramp(kind: str, pieces: int) -> Experiment:
    """A ball, a drum or a hoop rolls down a ramp of boards from rest."""
    slope, radius, seconds, material = math.radians(20.0), 0.1, 0.9, surface(0.8)
    gravity = G * np.array([math.sin(slope), 0.0, -math.cos(slope)])
    ends = np.linspace(-0.3, 2.1, pieces + 1)
    ramp = [slab(f"Board {i}", (low, -0.5, -0.1), (high, 0.5, 0.0), material) for i, (low, high) in enumerate(pairwise(ends))]
    lying = axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi)
    place, mass = (0.0, 0.0, radius), 2.0
    if kind == "ball":
        share, body = 0.4, active("Roller", sphere_shape(radius), place, material, mass=mass)
    else:
        share = 0.5 if kind == "drum" else 1.0
        body = active("Roller", cylinder_shape(radius, 0.2), place, material, mass=mass, orientation=lying)
        if kind == "hoop":
            across = 0.5 * mass * radius**2 + mass * 0.2**2 / 12.0
            body = replace(body, inertia=np.diag([across, across, mass * radius**2]))
    way = 0.5 * G * math.sin(slope) / (1.0 + share) * seconds**2
    claims = (
        equals("way", "m", lambda film: film.way("Roller"), way, 1e-3 * way, per_square=G),
        does_not_rise("Roller", radius),
        stays_straight("Roller"),
    )
    why = (
        "What rolls has the inertia m + I / R^2: g sin a / (1 + I / m R^2). It rolls an offset of 2e-4 R above the floor, so "
        "its lever is so much longer and I / R^2 smaller by twice that."
    )
    return Experiment(scene(*ramp, body, gravity=gravity), seconds, claims, why)


def marble_run(pieces: int) -> Experiment:
    """A marble rolls down a groove with a right angle, which is put together of pieces."""
    slope, radius, seconds, material = math.radians(12.0), 0.02, 1.0, surface(0.9)
    gravity = G * np.array([math.sin(slope), 0.0, -math.cos(slope)])
    ends, half = np.linspace(-0.2, 1.0, pieces + 1), 0.06
    bodies: list[BodySpec] = []
    for i, (low, high) in enumerate(pairwise(ends)):
        for side in (-1.0, 1.0):
            corners = ((0.0, 0.0), (side * half, half), (side * half, -0.02), (0.0, -0.02))
            prism = convex([[x, y, z] for x in (low, high) for y, z in corners])
            bodies.append(fixed(f"Side {i} {side:+.0f}", prism, NO_GRAVITY, material))
    marble = active("Marble", sphere_shape(radius), (0.0, 0.0, math.sqrt(2.0) * radius), material, mass=0.08)
    # the lever about the line through the two points of contact is R / sqrt 2
    way = 0.5 * G * math.sin(slope) / (1.0 + 0.8) * seconds**2
    claims = (
        equals("way", "m", lambda film: film.way("Marble"), way, 1e-3 * way, per_square=G),
        does_not_rise("Marble", 2.0 * radius),
        stays_straight("Marble"),
    )
    why = (
        "It turns about the line through its two points of contact, R / sqrt 2 below its centre: 5/9 g sin a. Rest offsets "
        "lengthen that lever by 2e-4 of it."
    )
    return Experiment(scene(*bodies, marble, gravity=gravity), seconds, claims, why)


def bent_duct(facets: int) -> Experiment:
    """A ball without friction or bounce flies through a duct bent by a right angle, along its outer wall of flat pieces."""
    radius, bend, speed, material = 0.05, 0.5, 2.0, surface(0.0)
    step = 0.5 * math.pi / facets
    # the outer wall touches a circle of the radius `bend` about the origin at the middle of each piece
    bodies: list[BodySpec] = []
    half = bend * math.tan(0.5 * step)
    for k in range(facets + 1):
        angle = step * k - 0.5 * math.pi
        turn = Rotation.from_euler("z", angle + 0.5 * math.pi)
        # of a piece in its own axes: along x, outside at y < -bend
        low = -1.0 if k == 0 else -half
        high = 1.0 if k == facets else half
        corners = [[x, -bend - deep, z] for x in (low, high) for deep in (0.0, 0.05) for z in (-0.2, 0.2)]
        bodies.append(fixed(f"Wall {k}", convex(turn.apply(corners)), NO_GRAVITY, material))
    ball = active("Ball", sphere_shape(radius), (-0.5, radius - bend, 0.0), material, velocity=(speed, 0.0, 0.0))
    kept = speed * math.cos(step) ** facets
    claims = (
        keeps("Ball", "velocity", "m/s", (0.0, kept, 0.0), 2e-4 * speed),
        equals("speed", "m/s", lambda film: float(np.linalg.norm(film.velocity("Ball")[-1])), kept, 2e-4 * speed),
        stays_straight("Ball", 2),
    )
    why = (
        "Each piece of the wall takes the part of the velocity that points into it and leaves cos(a) of the rest: no friction "
        "and no gravity do anything between, so neither the radius nor the step matters."
    )
    seconds = (0.5 + 0.5 * math.pi * bend) / kept + 0.1
    return Experiment(scene(*bodies, ball, gravity=NO_GRAVITY), seconds, claims, why)


SCENES: Catalog = {
    "follow shot": partial(shot, 0.0, 1.0),
    "draw shot": partial(shot, 0.0, -1.0),
    "stun shot at 30 degrees": partial(shot, 30.0, 0.0),
    "rolling cut shot at 30 degrees": partial(shot, 30.0, 1.0),
    "rolling cut shot at 50 degrees": partial(shot, 50.0, 1.0),
    "right angle of equal balls": right_angle,
    "bowling ball on one board": partial(bowling_ball, 1),
    "bowling ball on ten boards": partial(bowling_ball, 10),
    "ball down a ramp": partial(down_a_ramp, "ball", 1),
    "ball down a ramp of boards": partial(down_a_ramp, "ball", 8),
    "drum down a ramp of boards": partial(down_a_ramp, "drum", 8),
    "hoop down a ramp": partial(down_a_ramp, "hoop", 1),
    "marble run in one piece": partial(marble_run, 1),
    "marble run in six pieces": partial(marble_run, 6),
    "ball through a duct of 6 pieces": partial(bent_duct, 6),
    "ball through a duct of 18 pieces": partial(bent_duct, 18),
}
