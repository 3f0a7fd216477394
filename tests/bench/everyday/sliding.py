# SPDX-License-Identifier: GPL-3.0-or-later
"""Slopes, belts, stacks and throws of a first-year laboratory."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np

from solver_core.scene.parts import axis_angle, box_shape, cylinder_shape, sphere_shape
from solver_core.scene.spec import BodySpec

from .experiment import FPS, Catalog, Experiment, Film, Floats, G, at_least, at_most, equals
from .kerbs import peak
from .parts import (
    NO_GRAVITY,
    OFFSET,
    active,
    animated,
    compound,
    convex,
    does_not_rise,
    keeps,
    plane,
    scene,
    slab,
    stays_straight,
    stays_upright,
    surface,
)


def on_slope(share: float) -> Experiment:
    """A crate on a slope whose tangent is 0.5; share: of the friction that it needs."""
    tangent, seconds = 0.5, 1.0
    mu, angle = share * tangent, math.atan(tangent)
    material = surface(mu)
    gravity = G * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    crate = active("Crate", box_shape((0.3, 0.2, 0.1)), (0.0, 0.0, 0.05), material)
    way = 0.5 * G * math.cos(angle) * max(0.0, tangent - mu) * seconds**2
    claims = (
        equals("way", "m", lambda film: film.way("Crate"), way, 1e-5),
        stays_straight("Crate"),
        does_not_rise("Crate", 0.15),
        stays_upright("Crate"),
    )
    why = "Coulomb: it stays where mu >= tan a, and slides with g (sin a - mu cos a) where it is less. Leapfrog is exact."
    floor = slab("Slope", (-1.0, -1.0, -0.1), (3.0, 1.0, 0.0), material)
    return Experiment(scene(floor, crate, gravity=gravity), seconds, claims, why)


def up_a_slope() -> Experiment:
    """A crate is pushed up a slope, stops and comes back."""
    tangent, mu, speed, seconds = 0.5, 0.2, 2.0, 1.2
    angle, material = math.atan(tangent), surface(mu)
    gravity = G * np.array([-math.sin(angle), 0.0, -math.cos(angle)])
    up, down = G * (math.sin(angle) + mu * math.cos(angle)), G * (math.sin(angle) - mu * math.cos(angle))
    top = speed**2 / (2.0 * up)
    after = seconds - speed / up
    crate = active("Crate", box_shape((0.3, 0.2, 0.1)), (0.0, 0.0, 0.05), material, velocity=(speed, 0.0, 0.0))
    claims = (
        equals("top", "m", lambda film: float(film.places("Crate")[:, 0].max()), top, 1e-5, per_square=up),
        equals(
            "place at the end",
            "m",
            lambda film: film.way("Crate"),
            top - 0.5 * down * after**2,
            1e-5,
            per_step=down * after,
        ),
        stays_upright("Crate"),
    )
    why = (
        "v^2 / 2g (sin a + mu cos a) up, then g (sin a - mu cos a) down. In the step at the top friction turns round: its "
        "speed is off by that deceleration times h at most, for the rest of the time."
    )
    floor = slab("Slope", (-2.0, -1.0, -0.1), (3.0, 1.0, 0.0), material)
    return Experiment(scene(floor, crate, gravity=gravity), seconds, claims, why)


def steady_path(size: int, begin: tuple[float, float, float], velocity: tuple[float, float, float]) -> Floats:
    """(frames, 7) of what moves steadily without turning."""
    times = np.arange(size)[:, None] / FPS
    places = np.array(begin) + times * np.array(velocity)
    return np.concatenate([places, np.tile([1.0, 0.0, 0.0, 0.0], (size, 1))], axis=1)


def onto_a_belt(plates: int) -> Experiment:
    """A box that rests is put on a belt of plates that run at 1.2 m/s: it lags by v^2 / 2 mu g."""
    mu, speed, seconds = 0.4, 1.2, 0.6
    material, frames = surface(mu), 1 + round(FPS * seconds)
    length = 3.6 / plates
    belt: list[BodySpec] = []
    for i in range(plates):
        path = steady_path(frames, (-2.4 + length * (i + 0.5), 0.0, -0.05), (speed, 0.0, 0.0))
        belt.append(animated(f"Plate {i}", box_shape((length, 0.6, 0.1)), path, material))
    box = active("Box", box_shape((0.2, 0.2, 0.1)), (0.0, 0.0, 0.05), material)
    lag = speed**2 / (2.0 * mu * G)
    claims = (
        equals("way", "m", lambda film: film.way("Box"), speed * seconds - lag, 1e-5, per_square=mu * G),
        keeps("Box", "velocity", "m/s", (speed, 0.0, 0.0), 1e-4),
        does_not_rise("Box", 0.1),
        stays_upright("Box"),
    )
    why = "Friction accelerates it by mu g up to the belt's speed; the step in which it sticks is off by mu g h^2 / 8."
    return Experiment(scene(*belt, box), seconds, claims, why)


def plank_on_rollers() -> Experiment:
    """A plank lies on two rollers that turn against each other: it swings like a pendulum (after Timoshenko)."""
    mu, radius, apart, start, seconds = 0.3, 0.1, 0.5, 0.15, 1.5
    material, frames = surface(mu), 1 + round(FPS * seconds)
    bodies: list[BodySpec] = []
    thick, rate = 0.02, 15.0
    for side in (-1.0, 1.0):
        angles = -side * rate * np.arange(frames) / FPS
        lying = axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi)
        turns = [_product(axis_angle((0.0, 1.0, 0.0), a), lying) for a in angles]
        path = np.array([[side * apart, 0.0, -radius, *turn] for turn in turns])
        bodies.append(animated(f"Roller {side:+.0f}", cylinder_shape(radius, 0.4), path, material))
    plank = active("Plank", box_shape((2.4, 0.2, thick)), (start, 0.0, 0.5 * thick), material, mass=2.0)
    # the friction acts half a thickness below the centre, which shifts the loads
    rate_squared = mu * G / (apart - 0.5 * mu * thick)
    claims = (
        equals(
            "place at the end",
            "m",
            lambda film: float(film.places("Plank")[-1, 0]),
            start * math.cos(math.sqrt(rate_squared) * seconds),
            5e-4,
            per_square=rate_squared * start,
        ),
        at_most("aside", "m", lambda film: film.farthest("Plank", 1), 0.0, 1e-4),
        at_most("turn", "rad", lambda film: film.most_turned("Plank"), 0.0, 4.0 * OFFSET),
    )
    why = (
        "The scene is its own mirror image. (Forces towards the middle let a plank that is askew turn on, by cosh 1.75 t, ten "
        "times as far in 1.5 s: 1e-5 of a metre becomes 1e-4.) The rollers always slip towards the middle, and the nearer one "
        "bears more: x'' = -mu g x / (a - mu h), a harmonic motion. Leapfrog is off by the order of (w h)^2; rest offsets of "
        "2e-4 of a size turn the loads by as much."
    )
    return Experiment(scene(*bodies, plank), seconds, claims, why)


def _product(a: Floats, b: Floats) -> Floats:
    """Of two quaternions (w, x, y, z)."""
    return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def box_on_a_sled() -> Experiment:
    """A box is put on a long sled that glides without friction on ice: they end with one velocity."""
    mu, speed, mass, heavy = 0.3, 2.0, 1.0, 3.0
    ice, sled, box = surface(0.0), surface(mu), surface(mu)
    floor = slab("Ice", (-2.0, -1.0, -0.2), (6.0, 1.0, 0.0), ice)
    lower = active("Sled", box_shape((1.6, 0.5, 0.1)), (0.0, 0.0, 0.05), sled, mass=heavy)
    upper = active("Box", box_shape((0.2, 0.2, 0.1)), (-0.6, 0.0, 0.15), box, mass=mass, velocity=(speed, 0.0, 0.0))
    common = speed * mass / (mass + heavy)
    slide = speed**2 / (2.0 * mu * G * (1.0 + mass / heavy))
    seconds = speed / (mu * G * (1.0 + mass / heavy)) + 0.1
    claims = (
        keeps("Box", "velocity", "m/s", (common, 0.0, 0.0), 1e-4),
        keeps("Sled", "velocity", "m/s", (common, 0.0, 0.0), 1e-4),
        equals("slide", "m", lambda film: film.way("Box") - film.way("Sled"), slide, 1e-5, per_square=mu * G),
        stays_straight("Box"),
    )
    why = "Momentum is kept; the relative velocity decays with mu g (1 + m / M). The step in which it sticks is off by its h^2."
    return Experiment(scene(floor, lower, upper), seconds, claims, why)


def wedge_on_ice() -> Experiment:
    """A box slides without friction down a wedge that is free to glide away."""
    slope, mass, heavy, seconds = math.radians(30.0), 1.0, 2.0, 0.35
    material, length = surface(0.0), 1.0
    tall = length * math.tan(slope)
    prism = convex([[x, y, z] for x, z in ((-0.5, 0.0), (0.5, 0.0), (-0.5, tall)) for y in (-0.3, 0.3)])
    sine, cosine = math.sin(slope), math.cos(slope)
    middle = np.array([-0.2, 0.0, 0.7 * tall]) + 0.05 * np.array([sine, 0.0, cosine])
    size = (0.2, 0.2, 0.1)
    floor = slab("Ice", (-3.0, -1.0, -0.2), (3.0, 1.0, 0.0), material)
    wedge = active("Wedge", prism, NO_GRAVITY, material, mass=heavy)
    turn = axis_angle((0.0, 1.0, 0.0), slope)
    box = active("Box", box_shape(size), tuple(middle), material, mass=mass, orientation=tuple(turn))
    # M A = N sin a, along the slope g sin a + A cos a
    away = mass * G * sine * cosine / (heavy + mass * sine**2)
    claims = (
        equals("wedge's way", "m", lambda film: film.way("Wedge"), -0.5 * away * seconds**2, 1e-4),
        equals("fall", "m", lambda film: film.way("Box", 2), -0.5 * (G * sine + away * cosine) * sine * seconds**2, 2e-4),
        equals(
            "momentum along x",
            "kg m/s",
            lambda film: float(heavy * film.velocity("Wedge")[-1, 0] + mass * film.velocity("Box")[-1, 0]),
            0.0,
            1e-5,
        ),
        stays_straight("Box"),
    )
    why = (
        "Lagrange: the wedge goes back with m g sin a cos a / (M + m sin^2 a), the momentum along the ice is kept. A rest "
        "offset of 2e-5 m each adds to the heights."
    )
    seconds = round(seconds * FPS) / FPS
    return Experiment(scene(floor, wedge, box), seconds, claims, why)


def thrown(degrees: float) -> Experiment:
    """A box is thrown, and tumbles: its centre goes along a parabola."""
    speed, angle, seconds = 6.0, math.radians(degrees), 0.8
    velocity = (speed * math.cos(angle), 0.0, speed * math.sin(angle))
    box = active(
        "Box", box_shape((0.1, 0.2, 0.3)), NO_GRAVITY, surface(0.5), velocity=velocity, angular_velocity=(3.0, -5.0, 2.0)
    )
    exact = np.array(velocity) * seconds - [0.0, 0.0, 0.5 * G * seconds**2]
    claims = (
        at_most("place off", "m", lambda film: float(np.linalg.norm(film.places("Box")[-1] - exact)), 0.0, 1e-8),
        at_most(
            "top off", "m", lambda film: abs(film.rise("Box") - velocity[2] ** 2 / (2.0 * G)), 0.0, 1e-8, per_square=G / 8.0
        ),
    )
    why = "A parabola, which leapfrog keeps to rounding; the highest picture is within h / 2 of the top."
    return Experiment(scene(box), seconds, claims, why)


def tips_or_slides(share: float) -> Experiment:
    """A tall box on a rough slope stands as long as its weight is over its base; share: of the tangent at which it falls."""
    size, material = (0.1, 0.2, 0.4), surface(1.0)
    tangent = share * size[0] / size[2]
    angle = math.atan(tangent)
    gravity = G * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    box = active("Box", box_shape(size), (0.0, 0.0, 0.5 * size[2]), material)
    floor = slab("Slope", (-1.0, -1.0, -0.1), (2.0, 1.0, 0.0), material)
    claims = (
        at_most("turn", "rad", lambda film: film.most_turned("Box"), 0.0, 4.0 * OFFSET)
        if share < 1.0
        else at_least("turn", "rad", lambda film: film.most_turned("Box"), 1.2, 0.0),
    )
    why = (
        "It stands where the tangent is below its width over its height, and falls over above. At 1.03 of it, it turns with "
        "the rate sqrt(3g / 2L) from an angle of 0.03 of 0.25, so it lies after 1.5 s."
    )
    return Experiment(scene(floor, box, gravity=gravity), 1.8 if share > 1.0 else 1.0, claims, why)


def overhang(share: float) -> Experiment:
    """Four planks of length 2 on each other overhang by a half, a third and so on of half a length; share: of that."""
    material, size = surface(0.6), (0.4, 0.2, 0.04)
    bodies, x = [slab("Table", (-1.0, -0.5, -0.5), (0.0, 0.5, 0.0), material)], 0.0
    count = 4
    for i in range(count):
        # from below: the edge of what is under it, then so much farther
        x += share * 0.5 * size[0] / (count - i)
        bodies.append(active(f"Plank {i}", box_shape(size), (x - 0.5 * size[0], 0.0, (i + 0.5) * size[2]), material))

    def fell(film: Film) -> float:
        return max(film.most_turned(f"Plank {i}") for i in range(count))

    claims = (at_most("turn", "rad", fell, 0.0, 4.0 * OFFSET) if share < 1.0 else at_least("turn", "rad", fell, 0.1, 0.0),)
    why = (
        "Each plank may overhang the next by half its length over the number of planks above and with it: the harmonic series. "
        "With 3 % more the pile turns over the table's edge."
    )
    return Experiment(scene(*bodies), 1.0 if share < 1.0 else 1.5, claims, why)


def ladder(share: float) -> Experiment:
    """A ladder leans on a smooth wall; share: of the friction that it needs on the floor."""
    length, thick, angle = 2.0, 0.04, math.radians(60.0)
    needed = 0.5 * length * math.cos(angle) / (length * math.sin(angle) + 0.5 * thick)
    rough, smooth = surface(share * needed), surface(0.0)
    floor = slab("Floor", (-2.0, -1.0, -0.2), (3.0, 1.0, 0.0), rough)
    # a sphere at each end, so that it touches at points
    ball = sphere_shape(0.5 * thick)
    ends = [(ball, (side * 0.5 * length, 0.0, 0.0)) for side in (-1.0, 1.0)]
    shape = compound([(box_shape((length, thick, 0.2 * thick)), NO_GRAVITY), *ends])
    foot = np.array([0.0, 0.0, 0.5 * thick])
    along = np.array([math.cos(angle), 0.0, math.sin(angle)])
    middle = foot + 0.5 * length * along
    top = foot + length * along
    wall = slab("Wall", (top[0] + 0.5 * thick, -1.0, 0.0), (top[0] + 0.3, 1.0, 3.0), smooth)
    turn = axis_angle((0.0, 1.0, 0.0), -angle)
    leaning = active("Ladder", shape, tuple(middle), rough, mass=10.0, orientation=tuple(turn))
    claims = (
        at_most("turn", "rad", lambda film: film.most_turned("Ladder"), 0.0, 1e-3)
        if share > 1.0
        else at_least("turn", "rad", lambda film: film.most_turned("Ladder"), 0.05, 0.0),
    )
    why = (
        "Moments about the foot: the wall pushes with half the weight over the tangent, which friction has to bear, so mu >= "
        "1 / 2 tan a, but for the radius of the round ends. With 4 % less it slides down, 0.04 g for a second and a half is "
        "far more than 0.05 rad."
    )
    return Experiment(scene(floor, wall, leaning), 1.0 if share > 1.0 else 1.5, claims, why)


def tipped_can(share: float) -> Experiment:
    """A can that turns about its edge falls over if its energy lifts its centre over that edge; share: of that speed."""
    radius, tall, material = 0.033, 0.12, surface(1.0)
    floor = slab("Floor", (-1.0, -1.0, -0.1), (1.0, 1.0, 0.0), material)
    # about the lowest point of the rim, in a mirror-symmetric fall
    inertia = radius**2 / 4.0 + tall**2 / 12.0 + radius**2 + 0.25 * tall**2
    lift = G * (math.hypot(radius, 0.5 * tall) - 0.5 * tall)
    rate = share * math.sqrt(2.0 * lift / inertia)
    spin = np.array([0.0, rate, 0.0])
    velocity = np.cross(spin, [-radius, 0.0, 0.5 * tall])
    can = active(
        "Can",
        cylinder_shape(radius, tall),
        (0.0, 0.0, 0.5 * tall),
        material,
        mass=0.35,
        velocity=tuple(velocity),
        angular_velocity=tuple(spin),
    )
    claims = (
        at_most("turn", "rad", lambda film: film.most_turned("Can"), math.atan2(radius, 0.5 * tall), 0.0)
        if share < 1.0
        else at_least("turn", "rad", lambda film: film.most_turned("Can"), 1.4, 0.0),
        stays_straight("Can"),
    )
    why = (
        "About its edge the can has I w^2 / 2 and has to lift its centre to the length of its half diagonal. 6 % less speed "
        "falls back, 6 % more falls over; half a step of gravity is 1 % of it at 240 steps a second."
    )
    return Experiment(scene(floor, can), 1.2, claims, why, longest_step=1.0 / 200.0)


def rocking_block(share: float) -> Experiment:
    """A block falls from one edge onto the other (Housner 1963): 1 - 1.5 sin^2 of its slenderness is left of its spin."""
    slender, tall, material = 0.25, 0.5, surface(2.0)
    size = (tall * math.tan(slender), 0.25, tall)
    turn = axis_angle((0.0, 1.0, 0.0), share * slender)
    half = np.array([0.5 * size[0], 0.0, -0.5 * size[2]])
    angle = share * slender
    place = -np.array(
        [math.cos(angle) * half[0] + math.sin(angle) * half[2], 0.0, -math.sin(angle) * half[0] + math.cos(angle) * half[2]]
    )
    block = active("Block", box_shape(size), tuple(place), material, orientation=tuple(turn))
    left = 1.0 - 1.5 * math.sin(slender) ** 2

    def ratio(film: Film) -> float:
        along = film.axis("Block", (1.0, 0.0, 0.0))
        tilt = np.arctan2(-along[:, 2], along[:, 0])
        after = int(np.flatnonzero(tilt < 0.0)[0])
        swing = peak(-tilt[after : after + round(0.7 / (film.times[1] - film.times[0]))])
        risen = [math.cos(slender - abs(a)) - math.cos(slender) for a in (share * slender, swing)]
        return math.sqrt(risen[1] / risen[0])

    speed = math.sqrt(3.0 * G / tall * (math.cos(slender * (1.0 - share)) - math.cos(slender)))
    claims = (
        equals("spin left", "share", ratio, left, 3e-3, per_step=1.5 * G / tall * math.sin(slender) / speed),
        stays_straight("Block"),
    )
    why = (
        "The angular momentum about the edge that it comes down on is kept. Gravity acts for up to a step about the impact, "
        "at half a width: 3g sin / 2L of h over the spin."
    )
    floor = plane(material)
    return Experiment(scene(floor, block), 1.3, claims, why)


def dominoes(count: int, tiled: bool) -> Experiment:
    """A row of dominoes: all fall, in the plane of the row."""
    size, pitch, material = (0.008, 0.024, 0.048), 0.024, surface(0.6)
    bodies: list[BodySpec] = []
    if tiled:
        edges = np.arange(-0.05, pitch * count + 0.2, 0.031)
        for i, (low, high) in enumerate(pairwise(edges)):
            bodies.append(slab(f"Tile {i}", (low, -0.1, -0.01), (high, 0.1, 0.0), material))
    else:
        bodies.append(slab("Slab", (-0.1, -0.1, -0.01), (pitch * count + 0.2, 0.1, 0.0), material))
    tilt = 0.25
    turn = axis_angle((0.0, 1.0, 0.0), tilt)
    half = np.array([0.5 * size[0], 0.0, -0.5 * size[2]])
    corner = np.array(
        [math.cos(tilt) * half[0] + math.sin(tilt) * half[2], 0.0, -math.sin(tilt) * half[0] + math.cos(tilt) * half[2]]
    )
    first = np.array([0.5 * size[0], 0.0, 0.0]) - corner
    bodies.append(active("Domino 0", box_shape(size), tuple(first), material, mass=0.01, orientation=tuple(turn)))
    for i in range(1, count):
        bodies.append(active(f"Domino {i}", box_shape(size), (pitch * i, 0.0, 0.5 * size[2]), material, mass=0.01))

    def least(film: Film) -> float:
        return min(film.most_turned(f"Domino {i}") for i in range(1, count))

    def aside(film: Film) -> float:
        return max(film.farthest(f"Domino {i}", 1) for i in range(count))

    def energy(film: Film) -> float:
        names = [f"Domino {i}" for i in range(count)]
        potential = G * sum(film.places(name)[:, 2] for name in names)
        linear = sum(0.5 * (film.velocity(name) ** 2).sum(axis=1) for name in names)
        turning = sum(0.5 * (size[0] ** 2 + size[2] ** 2) / 12.0 * film.spin(name)[:, 1] ** 2 for name in names)
        total = potential + linear + turning
        return float(total.max() - total[0]) / float(potential[0])

    claims = (
        at_least("least angle", "rad", least, 0.9, 0.0),
        at_most("aside", "m", aside, 0.0, 1e-4),
        at_most("energy gained", "share", energy, 0.0, 1e-3, per_step=3.0),
    )
    why = (
        "A tilt of 0.25 is beyond the angle of balance, 0.165, so the first one falls, and each falls onto the next. Parallel "
        "slabs of this thickness and pitch lie at acos(1/3) = 1.23; friction may keep them a little steeper. The row is its "
        "own mirror image. Energy never grows; velocities belong to mid-step, which is g v h / 2 of the energy of each one "
        "that falls."
    )
    return Experiment(scene(*bodies), 1.0, claims, why)


SCENES: Catalog = {
    "crate holds on a slope": partial(on_slope, 1.02),
    "crate slides down a slope": partial(on_slope, 0.9),
    "crate up a slope and back": up_a_slope,
    "box put on a belt": partial(onto_a_belt, 1),
    "box put on a belt of plates": partial(onto_a_belt, 12),
    "plank on two turning rollers": plank_on_rollers,
    "box on a sled on ice": box_on_a_sled,
    "box down a wedge on ice": wedge_on_ice,
    "box thrown at 60 degrees": partial(thrown, 60.0),
    "tall box stands on a slope": partial(tips_or_slides, 0.97),
    "tall box falls on a slope": partial(tips_or_slides, 1.03),
    "planks overhang": partial(overhang, 0.97),
    "planks overhang too far": partial(overhang, 1.03),
    "ladder stands": partial(ladder, 1.04),
    "ladder slides": partial(ladder, 0.96),
    "can tips and falls back": partial(tipped_can, 0.94),
    "can tips and falls over": partial(tipped_can, 1.06),
    "rocking block": partial(rocking_block, 0.5),
    "ten dominoes on a slab": partial(dominoes, 10, False),
    "ten dominoes on tiles": partial(dominoes, 10, True),
}
