# SPDX-License-Identifier: GPL-3.0-or-later
"""Pendulums, springs, cradles and glue."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.integrate import solve_ivp

from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import axis_angle, box_shape, sphere_shape
from solver_core.scene.spec import BodySpec

from .experiment import FPS, Catalog, Experiment, Film, Floats, G, at_most, equals
from .parts import NO_GRAVITY, active, animated, keeps, plane, scene, slab, stays_straight, surface
from .sliding import steady_path

BALL = (FREE_AXIS,) * 3
HINGE = (LOCKED, LOCKED, FREE_AXIS)
# z of the joint's frame along y of the world
ABOUT_Y = axis_angle((1.0, 0.0, 0.0), -0.5 * math.pi)


def swung(change: object, begin: list[float], seconds: float) -> Floats:
    """The state at the end, by scipy to 1e-10."""
    return solve_ivp(change, (0.0, seconds), begin, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]


def pendulum(degrees: float) -> Experiment:
    """A bar swings on a hinge from an angle."""
    length, angle, seconds = 1.0, math.radians(degrees), 1.6
    # of a bar with its middle half a length from the hinge, the depth included
    rate_squared = 0.5 * length * G / ((length**2 + 0.05**2) / 12.0 + 0.25 * length**2)
    exact = swung(lambda _, y: [y[1], -rate_squared * math.sin(y[0])], [angle, 0.0], seconds)[0]
    place = 0.5 * length * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    # turned about -y, the bar hangs to +x
    bar = active(
        "Bar",
        box_shape((0.05, 0.05, length)),
        tuple(place),
        surface(0.5),
        orientation=tuple(axis_angle((0.0, 1.0, 0.0), -angle)),
    )
    hinge = JointSpec("Hinge", "", "Bar", np.zeros(3), ABOUT_Y, angular=HINGE)

    def at_end(film: Film) -> float:
        x, _, z = film.places("Bar")[-1]
        return math.atan2(x, -z)

    claims = (
        equals("angle", "rad", at_end, exact, 1e-4, per_square=rate_squared * math.sqrt(rate_squared) * seconds * angle),
        stays_straight("Bar"),
    )
    why = "A pendulum by scipy to 1e-10. Leapfrog is off by w^2 h^2 / 24 of the phase; a multiple of that is allowed."
    return Experiment(scene(bar, joints=(hinge,)), seconds, claims, why)


def conical_pendulum() -> Experiment:
    """A ball on a rod goes around in a circle, at g / L cos a of the square of its rate."""
    length, angle, seconds, radius = 0.8, 0.6, 1.5, 0.05
    # a rigid ball that keeps its face to the axis turns with it: its own inertia counts
    own = 0.4 * radius**2
    rate = math.sqrt(G * length / ((length**2 + 0.0 * own) * math.cos(angle)))
    place = length * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    ball = active(
        "Ball",
        sphere_shape(radius),
        tuple(place),
        surface(0.5),
        velocity=(0.0, rate * place[0], 0.0),
        angular_velocity=(0.0, 0.0, rate),
    )
    pivot = JointSpec("Pivot", "", "Ball", np.zeros(3), angular=BALL)

    def height(film: Film) -> float:
        return float(np.abs(film.places("Ball")[:, 2] - place[2]).max())

    def around(film: Film) -> float:
        x, y, _ = film.places("Ball")[-1]
        return math.remainder(math.atan2(y, x) - rate * film.times[-1], 2.0 * math.pi)

    claims = (
        at_most("height off", "m", height, 0.0, 1e-5, per_square=rate**2 * length),
        equals("angle off", "rad", around, 0.0, 1e-5, per_square=rate**3 * seconds),
    )
    why = (
        "The weight has to be borne along the rod and turn the momentum: w^2 = g / L cos a, where the ball, whose inertia is "
        "the same about any axis, turns about the vertical as the rod does. Leapfrog is of second order in w h."
    )
    return Experiment(scene(ball, joints=(pivot,)), seconds, claims, why)


def double_pendulum() -> Experiment:
    """Two balls on light rods swing from rest, both level (by Lagrange and scipy)."""
    length, radius, seconds, angle = 0.5, 0.03, 0.8, math.radians(50.0)
    masses = (1.0, 1.0)
    first = length * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    second = first + length * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    bodies = [
        active(f"Ball {i}", sphere_shape(radius), tuple(place), surface(0.5), mass=mass)
        for i, (place, mass) in enumerate(zip((first, second), masses, strict=True))
    ]
    joints = (
        JointSpec("Upper", "", "Ball 0", np.zeros(3), angular=BALL),
        JointSpec("Lower", "Ball 0", "Ball 1", first.copy(), angular=BALL),
    )
    own = 0.4 * radius**2

    def change(_: float, y: Floats) -> list[float]:
        a, b, va, vb = y
        c, s = math.cos(a - b), math.sin(a - b)
        # each rod turns with its ball
        matrix = np.array([[2.0 * length**2 + own, length**2 * c], [length**2 * c, length**2 + own]])
        right = [
            -(length**2) * s * vb**2 - 2.0 * G * length * math.sin(a),
            length**2 * s * va**2 - G * length * math.sin(b),
        ]
        faster = np.linalg.solve(matrix, right)
        return [va, vb, faster[0], faster[1]]

    a, b = swung(change, [angle, angle, 0.0, 0.0], seconds)[:2]
    exact = length * np.array([math.sin(a) + math.sin(b), 0.0, -math.cos(a) - math.cos(b)])
    claims = (
        at_most(
            "lower ball off",
            "m",
            lambda film: float(np.linalg.norm(film.places("Ball 1")[-1] - exact)),
            0.0,
            1e-4,
            per_square=(2.0 * G / length) * length * 4.0,
        ),
        stays_straight("Ball 1"),
    )
    why = "Lagrange's equations by scipy to 1e-10; leapfrog is of second order in w h, with w^2 = 3.4 g / L of the faster mode."
    return Experiment(scene(*bodies, joints=joints), seconds, claims, why)


def spring_and_mass() -> Experiment:
    """A mass on a spring swings about its equilibrium."""
    stiffness, mass, seconds = 100.0, 1.0, 1.4
    box = active("Mass", box_shape((0.1, 0.1, 0.1)), NO_GRAVITY, surface(0.5), mass=mass)
    along = AxisSpec(stiffness=stiffness)
    spring = JointSpec("Spring", "", "Mass", np.zeros(3), linear=(LOCKED, LOCKED, along), angular=(LOCKED,) * 3)
    rate, sag = math.sqrt(stiffness / mass), mass * G / stiffness
    exact = -sag * (1.0 - math.cos(rate * seconds))
    claims = (
        equals("place", "m", lambda film: float(film.places("Mass")[-1, 2]), exact, 1e-5, per_square=sag * rate**3 * seconds),
        equals("lowest", "m", lambda film: float(film.places("Mass")[:, 2].min()), -2.0 * sag, 1e-5, per_square=sag * rate**2),
    )
    why = "Harmonic about m g / k below. The scheme is of second order in w h."
    return Experiment(scene(box, joints=(spring,)), seconds, claims, why)


def cradle(count: int) -> Experiment:
    """Newton's cradle: balls on hinged rods that touch; the first is let go, the last one swings as high."""
    material, radius, length, angle = surface(0.0, 1.0), 0.05, 0.5, 0.5
    bodies: list[BodySpec] = []
    joints = []
    for i in range(count):
        x = 2.0 * radius * i
        tilt = angle if i == 0 else 0.0
        place = np.array([x - length * math.sin(tilt), 0.0, -length * math.cos(tilt)])
        bodies.append(active(f"Ball {i}", sphere_shape(radius), tuple(place), material))
        joints.append(JointSpec(f"Hinge {i}", "", f"Ball {i}", np.array([x, 0.0, 0.0]), ABOUT_Y, angular=HINGE))
    own = 0.4 * radius**2
    rate = math.sqrt(G * length / (length**2 + own))
    # a quarter of a swing each way, at this amplitude longer by angle^2 / 16
    quarter = 0.5 * math.pi / rate * (1.0 + angle**2 / 16.0)
    speed = math.sqrt(2.0 * G * length * (1.0 - math.cos(angle)))

    def swing(film: Film) -> float:
        x, _, z = (film.places(f"Ball {count - 1}") - [2.0 * radius * (count - 1), 0.0, 0.0]).T
        return float(np.arctan2(x, -z).max())

    def others(film: Film) -> float:
        return max(film.farthest(f"Ball {i}", 0) for i in range(1, count - 1))

    claims = (
        equals("angle of the last one", "rad", swing, angle, 2e-3, per_step=G * math.sin(angle) / speed * angle),
        at_most("way of the others", "m", others, 0.0, 2e-3, per_step=0.02 * speed),
    )
    why = (
        "Equal masses exchange their velocities (e = 1), so the last ball rises as high as the first fell; balls that touch "
        "are parted by rest offsets, so those between are pushed by some 1e-5 m. An impact lies in a step, in which gravity "
        "pulls little."
    )
    return Experiment(scene(*bodies, joints=tuple(joints)), 2.0 * quarter + 0.05, claims, why)


def glued_row(limit: float) -> Experiment:
    """Ten glued blocks in space, the first of which is rammed: the glue passes on what it bears and no more."""
    material, count, mass, speed = surface(0.5), 10, 50.0, 6.0
    size = (0.3, 0.3, 0.3)
    bodies = [active(f"Block {i}", box_shape(size), (0.3 * i, 0.0, 0.0), material, mass=mass) for i in range(count)]
    bodies.append(active("Ram", box_shape(size), (-0.9, 0.0, 0.0), material, mass=200.0, velocity=(speed, 0.0, 0.0)))
    # the glue of the first block is sheared: the ram comes along y
    bodies[-1] = active("Ram", box_shape(size), (0.0, -0.9, 0.0), material, mass=200.0, velocity=(0.0, speed, 0.0))
    joints = tuple(
        JointSpec(f"Glue {i}", f"Block {i}", f"Block {i + 1}", np.array([0.3 * i + 0.15, 0.0, 0.0]), breaking_impulse=limit)
        for i in range(count - 1)
    )

    def passed(film: Film) -> float:
        return float(mass * np.linalg.norm(film.velocities[-1, 1:count, :3].sum(axis=0)))

    def total(film: Film) -> float:
        return float(mass * film.velocities[-1, :count, 1].sum() + 200.0 * film.velocity("Ram")[-1, 1]) - 200.0 * speed

    claims = (
        equals("first joint is broken", "", lambda film: float(film.broken[0]), 1.0, 0.1),
        equals("joints broken", "", lambda film: float(film.broken.sum()), 1.0, 0.1),
        # in shear and in tension, each up to the limit in one step
        at_most("impulse passed on", "N s", passed, math.sqrt(3.0) * limit, 1e-3 * limit),
        equals("momentum off", "N s", total, 0.0, 1e-4),
    )
    why = (
        "A joint that breaks at p has passed on p at most in each of its three directions, so the nine other blocks have p "
        "sqrt(3) of momentum at most; the second joint passes on less than the first. The ram and the first block share the "
        "rest."
    )
    return Experiment(scene(*bodies, gravity=NO_GRAVITY, joints=joints), 0.25, claims, why)


def glued_to_a_post() -> Experiment:
    """A block on the floor is glued to an animated post that does not move: the glue holds."""
    material, seconds = surface(0.5), 1.0
    frames = 1 + round(FPS * seconds)
    post = animated("Post", box_shape((0.2, 0.2, 1.0)), steady_path(frames, (0.0, 0.0, 0.5), NO_GRAVITY), material)
    block = active("Block", box_shape((0.2, 0.2, 0.2)), (0.2, 0.0, 0.1), material, mass=10.0)
    glue = JointSpec("Glue", "Post", "Block", np.array([0.1, 0.0, 0.1]), breaking_impulse=10.0)

    def force(film: Film) -> float:
        return float(np.linalg.norm(film.reactions[:, 0, :3], axis=1).max())

    claims = (
        equals("is broken", "", lambda film: float(film.broken[0]), 0.0, 0.1),
        at_most("force", "N", force, 10.0 * G, 1e-2 * 10.0 * G),
        equals("block moved", "m", lambda film: film.farthest("Block", 0), 0.0, 1e-4),
        equals("block rose", "m", lambda film: film.farthest("Block", 2), 0.0, 1e-4),
    )
    why = "Floor and glue bear the weight together, 98 N: no share of it is more. 0.41 N s in a step are far from 10 N s."
    return Experiment(scene(plane(material), post, block, joints=(glue,)), seconds, claims, why)


def pulled_sled() -> Experiment:
    """A motor pulls a box along a rail against friction: it comes to its speed with F - mu m g."""
    mu, mass, force, seconds = 0.2, 2.0, 10.0, 0.5
    material = surface(mu)
    box = active("Box", box_shape((0.2, 0.2, 0.1)), (0.0, 0.0, 0.05), material, mass=mass)
    floor = slab("Floor", (-1.0, -1.0, -0.1), (3.0, 1.0, 0.0), material)
    drive = AxisSpec(motor_velocity=100.0, motor_force=force)
    motor = JointSpec("Motor", "", "Box", np.array([0.0, 0.0, 0.05]), linear=(drive, FREE_AXIS, FREE_AXIS), angular=BALL)
    gain = force / mass - mu * G
    claims = (
        equals("way", "m", lambda film: film.way("Box"), 0.5 * gain * seconds**2, 2e-5),
        stays_straight("Box"),
    )
    why = "A force that is constant and friction: leapfrog is exact."
    return Experiment(scene(floor, box, joints=(motor,)), seconds, claims, why)


def falling_chain() -> Experiment:
    """Two boxes glued to each other fall and tumble as one: the centre of both on a parabola, the spin about it kept."""
    material, seconds, rate = surface(0.5), 0.7, 4.0
    bodies = [
        active(f"Half {i}", box_shape((0.2, 0.2, 0.2)), (0.2 * i - 0.1, 0.0, 0.0), material,
               velocity=(0.0, rate * (0.2 * i - 0.1), 0.0), angular_velocity=(0.0, 0.0, rate))
        for i in (0, 1)
    ]  # fmt: skip
    glue = JointSpec("Glue", "Half 0", "Half 1", np.zeros(3))

    def centre(film: Film) -> float:
        middle = 0.5 * (film.places("Half 0")[-1] + film.places("Half 1")[-1])
        return float(np.linalg.norm(middle - [0.0, 0.0, -0.5 * G * seconds**2]))

    claims = (
        at_most("centre off", "m", centre, 0.0, 1e-6),
        keeps("Half 0", "spin", "rad/s", (0.0, 0.0, rate), 1e-4 * rate, per_square=rate**3),
        equals(
            "distance",
            "m",
            lambda film: float(np.linalg.norm(film.places("Half 1")[-1] - film.places("Half 0")[-1])),
            0.2,
            1e-5,
        ),
    )
    why = "Inner forces move no common centre and keep the angular momentum; the joint is held to a millionth."
    return Experiment(scene(*bodies, joints=(glue,)), seconds, claims, why)


def ballistic() -> Experiment:
    """A bullet sticks in a hanging block (e = 0): momentum in the impact, energy in the swing."""
    material, length, block, bullet, speed = surface(0.9), 1.0, 2.0, 0.1, 20.0
    hung = active("Block", box_shape((0.2, 0.2, 0.2)), (0.0, 0.0, -length), material, mass=block)
    shot = active("Bullet", sphere_shape(0.02), (-0.5, 0.0, -length), material, mass=bullet, velocity=(speed, 0.0, 0.0))
    hinge = JointSpec("Hinge", "", "Block", np.zeros(3), ABOUT_Y, angular=HINGE)
    own = (0.2**2 + 0.2**2) / 12.0
    # about the hinge; the bullet gives up its momentum at a depth of L and then falls off
    inertia = block * (length**2 + own)
    spin = bullet * speed * length / (inertia + bullet * length**2)

    def rate(film: Film) -> float:
        k = film.at(0.5 / speed + 0.02)
        return float(film.spin("Block")[k, 1])

    claims = (
        # -y: the block swings to +x
        equals("spin after the impact", "rad/s", rate, -spin, 2e-2 * spin, per_step=2.0 * G / length * spin),
        stays_straight("Block"),
    )
    why = (
        "The impact keeps the angular momentum about the hinge and leaves bullet and block with one velocity (e = 0). In the "
        "0.02 s after it gravity slows the swing by w^2 t^2 / 2 = 0.2 %, and the bullet's fall is no part of it."
    )
    return Experiment(scene(hung, shot, joints=(hinge,)), 0.06, claims, why)


SCENES: Catalog = {
    "pendulum from 20 degrees": partial(pendulum, 20.0),
    "pendulum from 120 degrees": partial(pendulum, 120.0),
    "conical pendulum": conical_pendulum,
    "double pendulum": double_pendulum,
    "mass on a spring": spring_and_mass,
    "cradle of five": partial(cradle, 5),
    "glued blocks are rammed": partial(glued_row, 10.0),
    "block glued to a still post": glued_to_a_post,
    "motor pulls a box": pulled_sled,
    "glued boxes tumble": falling_chain,
    "ballistic pendulum": ballistic,
}
