# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounces of balls, cubes, dice, cans and coins: Newton's law of impact, -u_n' / u_n = e, at any angle and with any spin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from solver_core.scene.parts import axis_angle, box_shape, cylinder_shape, sphere_shape
from solver_core.scene.spec import BodySpec, ShapeSpec

from .experiment import Catalog, Claim, Experiment, Film, Floats, G, at_most, equals
from .kerbs import peak
from .parts import NO_GRAVITY, OFFSET, active, fixed, keeps, moving, plane, scene, slab, stays_straight, surface

UP = np.array([0.0, 0.0, 1.0])
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
WHY_OBLIQUE = (
    "Without friction the impulse is along the line of centres at the moment of contact, (1 + e) / 2 of the velocity along it "
    "for equal masses. The impact lies somewhere in a step, in which that line turns by v sin(a) h / 2R, while curvature opens "
    "a gap that takes half as much to close. Momentum is kept exactly."
)
WHY_CORNER = (
    "One corner meets the floor, so the impulse is (1 + e) u_n over the effective mass, with the lever of the moment of "
    "contact, and -u_n' / u_n = e there. The impact lies somewhere in a step, between whose compression and rebound the body "
    "turns: the margin is how fast the result changes with that moment."
)


def balls_collide(
    degrees: float, speed: float, restitution: float = 0.95, *, mass: float = 1.0, phase: float = 0.0
) -> Experiment:
    """A ball meets one at rest at a cut angle; mass: of the one at rest over that of the other; phase: m farther away."""
    radius, angle, material = 0.0285, math.radians(degrees), surface(0.0, restitution)
    across = 2.0 * radius * math.sin(angle)
    cue = active("Cue", sphere_shape(radius), NO_GRAVITY, material, velocity=(speed, 0.0, 0.0), mass=0.17)
    place = (2.0 * radius + 0.25 * speed + phase, across, 0.0)
    target = active("Target", sphere_shape(radius), place, material, mass=0.17 * mass)
    normal = np.array([math.cos(angle), math.sin(angle), 0.0])
    taken = (1.0 + restitution) * speed * math.cos(angle) / (1.0 + mass)
    turn = speed * math.sin(angle) / (2.0 * radius)  # rad/s of the line of centres
    after = np.array([speed, 0.0, 0.0]) - mass * taken * normal

    def coefficient(film: Film) -> float:
        relative = film.velocity("Target")[-1] - film.velocity("Cue")[-1]
        return float(relative @ normal) / (speed * math.cos(angle))

    def momentum(film: Film) -> float:
        total = film.velocity("Cue")[-1] + mass * film.velocity("Target")[-1]
        return float(np.linalg.norm(total - [speed, 0.0, 0.0]))

    def energy(film: Film) -> float:
        return float((film.velocity("Cue")[-1] ** 2).sum() + mass * (film.velocity("Target")[-1] ** 2).sum()) / speed**2

    blur = 1.5 * mass * taken * turn
    claims = (
        equals("e", "", coefficient, restitution, 1e-4, per_step=1.5 * (1.0 + restitution) * math.tan(angle) * turn),
        keeps("Target", "velocity", "m/s", tuple(taken * normal), 1e-4 * speed, per_step=1.5 * taken * turn),
        keeps("Cue", "velocity", "m/s", tuple(after), 1e-4 * speed, per_step=blur),
        at_most("momentum off", "m/s", momentum, 0.0, 1e-8 * speed),
        at_most("energy left", "share", energy, 1.0 - (1.0 - restitution**2) * mass / (1.0 + mass) * math.cos(angle) ** 2, 1e-4,
                per_step=2.0 * blur / speed),
    )  # fmt: skip
    longest = 0.5 / turn if turn else math.inf
    spec = scene(cue, target, gravity=NO_GRAVITY)
    return Experiment(spec, 0.25 + 0.2, claims, WHY_OBLIQUE, longest_step=longest)


def ball_meets_peg(degrees: float) -> Experiment:
    """A ball bounces off a thin fixed peg, as on a Galton board."""
    radius, peg, speed, restitution, angle = 0.1, 0.02, 2.0, 0.6, math.radians(degrees)
    material = surface(0.0, restitution)
    across = (radius + peg) * math.sin(angle)
    post = fixed("Peg", cylinder_shape(peg, 1.0), NO_GRAVITY, material)
    ball = active("Ball", sphere_shape(radius), (-0.5, across, 0.0), material, velocity=(speed, 0.0, 0.0))
    normal = np.array([-math.cos(angle), math.sin(angle), 0.0])
    after = np.array([speed, 0.0, 0.0]) + (1.0 + restitution) * speed * math.cos(angle) * normal
    turn = speed * math.sin(angle) / (radius + peg)
    kick = (1.0 + restitution) * speed * math.cos(angle)
    claims = (
        keeps("Ball", "velocity", "m/s", tuple(after), 1e-4 * speed, per_step=1.5 * kick * turn),
        equals(
            "e",
            "",
            lambda film: float(film.velocity("Ball")[-1] @ normal) / (speed * math.cos(angle)),
            restitution,
            1e-4,
            per_step=1.5 * (1.0 + restitution) * math.tan(angle) * turn,
        ),
        stays_straight("Ball", 2),
    )
    return Experiment(scene(post, ball, gravity=NO_GRAVITY), 0.4, claims, WHY_OBLIQUE)


def ball_bounces_off_floor(speed: tuple[float, float], spin: float, mu: float, restitution: float) -> Experiment:
    """A ball comes down on a rough floor with a forward speed, a downward one, and a spin about y."""
    radius, material = 0.05, surface(mu, restitution)
    forward, down = speed
    floor = slab("Floor", (-5.0, -5.0, -0.5), (5.0, 5.0, 0.0), material)
    ball = active(
        "Ball",
        sphere_shape(radius),
        (0.0, 0.0, radius + 0.3),
        material,
        velocity=(forward, 0.0, -down),
        angular_velocity=(0.0, spin, 0.0),
    )
    slip = forward - spin * radius
    # friction stops the slip if it can, over an effective mass of 2/7
    push = -math.copysign(min(2.0 / 7.0 * abs(slip), mu * (1.0 + restitution) * down), slip)
    after = (forward + push, 0.0, restitution * down)
    turned = spin - 2.5 * push / radius
    size = math.hypot(forward, down) + abs(spin) * radius

    def about_contact(film: Film) -> float:
        return float(film.velocity("Ball")[-1, 0] + 0.4 * radius * film.spin("Ball")[-1, 1])

    # the share by which the lever may be longer: where the ball is as the impact begins, midway to the floor
    offset, lever = 2.0 * OFFSET * abs(push), 0.5 * down / radius * abs(push)
    claims = (
        keeps("Ball", "velocity", "m/s", after, 1e-4 * size + offset, per_step=lever),
        keeps(
            "Ball", "spin", "rad/s", (0.0, turned, 0.0), (1e-4 * size + 2.5 * offset) / radius, per_step=2.5 * lever / radius
        ),
        equals(
            "angular momentum about the contact",
            "m/s",
            about_contact,
            forward + 0.4 * radius * spin,
            1e-6 * size + offset,
            per_step=lever,
        ),
    )
    why = (
        "Garwin (1969): no impulse has a moment about the point of contact, so v + 2/5 R w is kept. Friction stops the slip, "
        "2/7 of it over the mass, or is mu (1 + e) of the downward speed if that is less. (A superball that also turns the "
        "slip round is elastic along the surface, which is no part of Coulomb's law.) The impact begins somewhere in a step, "
        "up to v h above the floor: its middle is a lever longer by v h / 2."
    )
    return Experiment(scene(floor, ball, gravity=NO_GRAVITY), 0.3 / down + 0.1, claims, why)


def cushion(degrees: float, mu: float, restitution: float) -> Experiment:
    """A ball without spin slides over a smooth table into a rough cushion; degrees: from the normal."""
    radius, speed, angle = 0.0285, 1.5, math.radians(degrees)
    smooth, rough = surface(0.0), surface(mu, restitution)
    table = slab("Table", (-2.0, -2.0, -0.1), (2.0, 2.0, 0.0), smooth)
    rail = slab("Cushion", (0.5, -2.0, 0.0), (0.6, 2.0, 0.06), rough)
    into, along = speed * math.cos(angle), speed * math.sin(angle)
    ball = active("Ball", sphere_shape(radius), (0.0, 0.0, radius), rough, mass=0.17, velocity=(into, along, 0.0))
    push = -min(2.0 / 7.0 * along, mu * (1.0 + restitution) * into)
    after = (-restitution * into, along + push, 0.0)
    # the lever is R along x, so a push along y turns the ball about z
    spin = 2.5 * push / radius
    offset, lever = 2.0 * OFFSET * abs(push), 0.5 * into / radius * abs(push)
    claims = (
        keeps("Ball", "velocity", "m/s", after, 1e-4 * speed + offset, per_step=lever),
        keeps("Ball", "spin", "rad/s", (0.0, 0.0, spin), (1e-4 * speed + 2.5 * offset) / radius, per_step=2.5 * lever / radius),
        at_most("rise", "m", lambda film: film.rise("Ball"), 0.0, 1e-4),
    )
    why = (
        "Into the cushion e of the speed comes back; along it friction takes 2/7 of the speed, or mu (1 + e) times the normal "
        "speed if that is less, and gives the ball side spin. The table has no friction. The impact begins somewhere in a "
        "step, up to v h before the cushion: its middle is a lever longer by v h / 2."
    )
    return Experiment(scene(table, rail, ball), 0.5 / into + 0.2, claims, why)


def corner_twist(turn: Rotation, spin: Floats, speed: float, restitution: float) -> tuple[Floats, Floats, Floats]:
    """Of a cube of 1 m and 1 kg on a floor without friction, whose lowest corner meets it: the velocity (3,) and the spin (3,)
    after the impact, and the lever (3,)."""
    levers = turn.apply(CORNERS)
    # the middle of an edge or a face that meets the floor as a whole
    lever = levers[levers[:, 2] < levers[:, 2].min() + 1e-9].mean(axis=0)
    moment = np.cross(lever, UP)
    closing = -speed + np.cross(spin, lever) @ UP
    impulse = -(1.0 + restitution) * closing / (1.0 + 6.0 * moment @ moment)
    return np.array([0.0, 0.0, -speed + impulse]), spin + 6.0 * impulse * moment, lever


def lowest(turn: Rotation) -> float:
    """How far a cube of 1 m reaches below its centre, m."""
    return -float(turn.apply(CORNERS)[:, 2].min())


def cube_on_a_corner(rate: float, quaternion: Sequence[float], restitution: float = 0.8) -> Experiment:
    """A cube of 1 m falls at 3 m/s without gravity while it spins about y, on a corner or an edge."""
    speed, height, material = 3.0, 1.2, surface(0.0, restitution)
    begin, spin = Rotation.from_quat(np.asarray(quaternion), scalar_first=True), np.array([0.0, rate, 0.0])

    def turned(seconds: float) -> Rotation:
        return Rotation.from_rotvec(spin * seconds) * begin

    times = np.linspace(0.0, 0.4, 4001)
    heights = np.array([height - speed * t - lowest(turned(t)) for t in times])
    before = int(np.flatnonzero(heights < 0.0)[0])
    meets = brentq(lambda t: height - speed * t - lowest(turned(t)), times[before - 1], times[before])
    velocity, spun, lever = corner_twist(turned(meets), spin, speed, restitution)
    free = next_contact(turned(meets), velocity[2], spun, height - speed * meets)
    look = meets + min(0.05, 0.7 * free)
    changes = impact_changes(turned(meets), spin, speed, restitution)
    closing = -speed + np.cross(spin, lever)[2]

    def coefficient(film: Film) -> float:
        k = film.at(look)
        return float(film.velocity("Cube")[k, 2] + np.cross(film.spin("Cube")[k], lever)[2]) / -closing

    def off(film: Film, name: str, exact: Floats) -> float:
        k = film.at(look)
        seen = film.velocity("Cube")[k] if name == "velocity" else film.spin("Cube")[k]
        return float(np.linalg.norm(seen - exact))

    floor = slab("Floor", (-5.0, -5.0, -1.0), (5.0, 5.0, 0.0), material)
    orientation = tuple(begin.as_quat(scalar_first=True))
    cube = active(
        "Cube",
        box_shape((1.0, 1.0, 1.0)),
        (0.0, 0.0, height),
        material,
        orientation=orientation,
        velocity=(0.0, 0.0, -speed),
        angular_velocity=tuple(spin),
    )
    blur = (changes[0] + changes[1] * math.hypot(lever[0], lever[1])) / -closing
    claims = (
        equals("e", "", coefficient, restitution, 2e-3, per_step=blur),
        at_most("velocity off", "m/s", lambda film: off(film, "velocity", velocity), 0.0, 5e-3, per_step=changes[0]),
        at_most("spin off", "rad/s", lambda film: off(film, "spin", spun), 0.0, 1e-2, per_step=changes[1]),
    )
    why = f"{WHY_CORNER} A rest offset of 0.1 mm turns the cube by 1e-3 rad at most."
    spec = scene(floor, cube, gravity=NO_GRAVITY)
    return Experiment(spec, look + 1.0 / 60.0, claims, why, longest_step=(look - meets) / 3.0)


def impact_changes(turn: Rotation, spin: Floats, speed: float, restitution: float) -> tuple[float, float]:
    """How fast the velocity and the spin after an impact change with the time at which it is taken, m/s^2 and rad/s^2.

    The cube turns with the spin that it has before, and between compression and rebound with the one after a plastic impact.
    """
    short, changes = 1e-5, np.zeros(2)
    for rate in (spin, corner_twist(turn, spin, speed, 0.0)[1]):
        ends = [corner_twist(Rotation.from_rotvec(t * rate) * turn, spin, speed, restitution) for t in (-short, short)]
        changes += [float(np.linalg.norm(ends[1][k] - ends[0][k])) / (2.0 * short) for k in (0, 1)]
    return float(changes[0]), float(changes[1])


def next_contact(turn: Rotation, rise: float, spin: Floats, height: float) -> float:
    """s after which a cube of 1 m on its corner meets the floor again, without gravity; at most 0.1."""
    for t in np.linspace(1e-3, 0.1, 100):
        if height + rise * t < lowest(Rotation.from_rotvec(spin * t) * turn):
            return float(t)
    return 0.1


def dice(restitution: float) -> Experiment:
    """Twelve dice of 0.2 m are dropped by about a metre with spin: each meets the floor with one corner."""
    side, material, random = 0.2, surface(0.0, restitution), np.random.default_rng(4)
    bodies: list[BodySpec] = [slab("Floor", (-40.0, -40.0, -1.0), (40.0, 40.0, 0.0), material)]
    exact: dict[str, Bounce] = {}
    while len(exact) < 12:
        quaternion, spin, height = random.normal(size=4), random.normal(size=3) * 6.0, random.uniform(0.9, 1.1)
        begin = Rotation.from_quat(quaternion / np.linalg.norm(quaternion))
        found = first_bounce(begin, spin, height, side, restitution)
        if found is None:
            continue
        name, place = f"Die {len(exact)}", (1.3 * len(exact), 0.0, height)
        exact[name] = found
        orientation = tuple(begin.as_quat(scalar_first=True))
        bodies.append(
            active(name, box_shape((side,) * 3), place, material, orientation=orientation, angular_velocity=tuple(spin))
        )

    def twist(film: Film, name: str) -> tuple[Floats, Floats]:
        """Velocity and spin just after the impact: velocities belong to the middle of the step before a picture."""
        k = film.at(exact[name].seconds + 0.05)
        fallen = G * (film.times[k] - 0.5 * film.step - exact[name].seconds)
        return film.velocity(name)[k] + fallen * UP, film.spin(name)[k]

    def coefficients(film: Film) -> Floats:
        found = []
        for name, bounce in exact.items():
            velocity, spin = twist(film, name)
            found.append((velocity[2] + np.cross(spin, bounce.lever)[2]) / bounce.closing)
        return np.array(found)

    def beyond(film: Film) -> float:
        margins = [0.01 + bounce.change * film.step for bounce in exact.values()]
        return float((np.abs(coefficients(film) - restitution) > margins).sum())

    mean = float(np.mean([bounce.velocity[2] for bounce in exact.values()]))
    # errors of different dice have no common sign: three standard deviations of a mean, each anywhere within its margin
    blur, speed = (
        math.sqrt(3.0 * sum(change**2 for change in changes)) / len(exact)
        for changes in ([b.change for b in exact.values()], [b.speed_change for b in exact.values()])
    )
    claims = (
        equals("mean e", "", lambda film: float(coefficients(film).mean()), restitution, 5e-3, per_step=blur),
        equals("dice with a wrong e", "", beyond, 0.0, 0.1),
        equals(
            "mean speed after the bounce",
            "m/s",
            lambda film: float(np.mean([twist(film, name)[0][2] for name in exact])),
            mean,
            0.01,
            per_step=G + speed,
        ),
    )
    why = (
        f"{WHY_CORNER} Gravity acts for a step more or less, by g h. Each die has a margin of its own, the mean one of three "
        "of its standard deviations."
    )
    latest = max(bounce.seconds for bounce in exact.values())
    return Experiment(scene(*bodies), latest + 0.07, claims, why)


@dataclass(frozen=True)
class Bounce:
    """Of a die on the floor: when, s; velocity and spin after; lever of the corner, m; closing speed, m/s; and by how much the
    coefficient of restitution and the speed change with the moment at which the impact is taken, 1/s and m/s^2."""

    seconds: float
    velocity: Floats
    spin: Floats
    lever: Floats
    closing: float
    change: float
    speed_change: float


NEXT_CORNER = 4e-3  # m; a corner moves by up to 30 mm in a step at 240 steps a second


def first_bounce(begin: Rotation, spin: Floats, height: float, side: float, restitution: float) -> Bounce | None:
    """Of a die that falls on a corner; None if another corner comes within `NEXT_CORNER` of the floor in the next 0.08 s.

    A corner that passes closer meets the floor or not, depending on the step in which gravity last acts before the impact.
    """

    def gaps(times: Floats) -> Floats:
        turns = (Rotation.from_rotvec(np.outer(times, spin)) * begin).as_matrix()
        return height - 0.5 * G * times**2 + side * (turns @ CORNERS.T)[:, 2].min(axis=1)

    times = np.linspace(0.0, 0.6, 2401)
    below = int(np.flatnonzero(gaps(times) < 0.0)[0])
    meets = brentq(lambda t: float(gaps(np.array([t]))[0]), times[below - 1], times[below])
    turn = Rotation.from_rotvec(spin * meets) * begin
    # in units of a cube of 1 m
    velocity, spun, lever = corner_twist(turn, spin, G * meets / side, restitution)
    velocity, lever = side * velocity, side * lever
    changes = impact_changes(turn, spin, G * meets / side, restitution)
    later = np.linspace(5e-4, 0.08, 160)
    turns = (Rotation.from_rotvec(np.outer(later, spun)) * turn).as_matrix()
    centre = side * lowest(turn) + velocity[2] * later - 0.5 * G * later**2
    corners = centre[:, None] + side * (turns @ CORNERS.T)[:, 2]
    meeting = int((turn.as_matrix() @ CORNERS.T)[2].argmin())
    if (corners < 0.0).any() or (np.delete(corners, meeting, axis=1) < NEXT_CORNER).any():
        return None
    closing = G * meets - np.cross(spin, lever)[2]
    change = side * changes[0] + changes[1] * math.hypot(lever[0], lever[1])
    return Bounce(meets, velocity, spun, lever, closing, change / closing, side * changes[0])


def dropped_flat(shape: ShapeSpec, half: float, restitution: float) -> Experiment:
    """Nine bodies are dropped flat from heights of their own: they leave flat and come up by e^2 of their height."""
    material = surface(0.3, restitution)
    heights = 0.3 + 0.1 * np.arange(9)
    bodies = [plane(material)]
    bodies += [active(f"Body {i}", shape, (0.6 * i, 0.0, half + height), material) for i, height in enumerate(heights)]

    def turned(film: Film) -> float:
        return max(film.most_turned(f"Body {i}") for i in range(len(heights)))

    def off(film: Film) -> float:
        worst = 0.0
        for i, height in enumerate(heights):
            falls = math.sqrt(2.0 * height / G)
            first, last = film.at(falls * (1.0 + 0.5 * restitution)), film.at(falls * (1.0 + 1.5 * restitution))
            top = peak(film.places(f"Body {i}")[first:last, 2]) - half
            worst = max(worst, abs(top - restitution**2 * height))
        return worst

    fastest = math.sqrt(2.0 * G * heights[-1])
    claims = (
        at_most("turn", "rad", turned, 0.0, 1e-3),
        at_most("height of the bounce off", "m", off, 0.0, 5e-4, per_step=restitution**2 * fastest),
    )
    why = (
        "By symmetry what falls flat leaves flat. It comes up by e^2 of its height; gravity acts for up to a step more or less "
        "about the impact, g h of its speed v, which is e^2 v h of the height."
    )
    seconds = (1.0 + 2.0 * restitution) * math.sqrt(2.0 * heights[-1] / G)
    return Experiment(scene(*bodies), seconds, claims, why)


def bouncing_ball(restitution: float, bounces: int) -> Experiment:
    """A ball bounces: the peaks are e^2n of its height."""
    material, radius, height = surface(0.3, restitution), 0.05, 1.0
    ball = active("Ball", sphere_shape(radius), (0.0, 0.0, radius + height), material)
    speed = math.sqrt(2.0 * G * height)
    fall = speed / G
    claims: list[Claim] = []
    for n in range(1, bounces + 1):
        middle = fall * (1.0 + 2.0 * sum(restitution**k for k in range(1, n)) + restitution**n)
        half = 0.5 * fall * restitution**n

        def top(film: Film, middle: float = middle, half: float = half) -> float:
            return peak(film.places("Ball")[film.at(middle - half) : film.at(middle + half) + 1, 2]) - radius

        blur = n * restitution**n * speed
        claims.append(equals(f"peak {n}", "m", top, restitution ** (2 * n) * height, 2e-4, per_step=blur))
    claims += [stays_straight("Ball", 0), stays_straight("Ball", 1)]
    why = (
        "Each bounce leaves e^2 of the height. Each impact lies somewhere in a step, so its speed is uncertain by g h, which "
        "adds v h to the height with the speed v of that bounce, for each of the bounces so far."
    )
    seconds = fall * (1.0 + 2.0 * sum(restitution**k for k in range(1, bounces + 1)))
    return Experiment(scene(plane(material), ball), seconds, tuple(claims), why)


def between_walls() -> Experiment:
    """A ball bounces between two walls without loss, at an angle."""
    material, radius, velocity = surface(0.0, 1.0), 0.05, (3.0, 0.4, 0.2)
    walls = [
        slab("Left", (-1.1, -2.0, -2.0), (-1.0, 2.0, 2.0), material),
        slab("Right", (1.0, -2.0, -2.0), (1.1, 2.0, 2.0), material),
    ]
    ball = active("Ball", sphere_shape(radius), NO_GRAVITY, material, velocity=velocity)
    claims = (
        equals("speed", "m/s", lambda film: float(np.linalg.norm(film.velocity("Ball")[-1])), math.hypot(*velocity), 1e-4),
        moving("Ball", "velocity", 1, 0.4, 1e-5),
        moving("Ball", "velocity", 2, 0.2, 1e-5),
    )
    why = "Each wall turns the velocity across it round, and nothing else, so its size is kept (e = 1)."
    return Experiment(scene(*walls, ball, gravity=NO_GRAVITY), 3.0, claims, why)


def row_of_balls(count: int, gap: float) -> Experiment:
    """Newton's cradle without strings: a ball meets a row, and the last one leaves with its speed."""
    material, radius, speed = surface(0.0, 1.0), 0.05, 1.0
    bodies = [active("Ball 0", sphere_shape(radius), (-0.3, 0.0, 0.0), material, velocity=(speed, 0.0, 0.0))]
    pitch = 2.0 * radius + gap
    bodies += [active(f"Ball {i}", sphere_shape(radius), (pitch * i, 0.0, 0.0), material) for i in range(1, count)]

    def others(film: Film) -> float:
        return float(np.abs(film.velocities[-1, : count - 1, :3]).max())

    claims = (
        keeps(f"Ball {count - 1}", "velocity", "m/s", (speed, 0.0, 0.0), 1e-4),
        at_most("fastest of the others", "m/s", others, 0.0, 1e-4),
    )
    why = "Equal balls exchange their velocities, one pair after the other (e = 1)."
    return Experiment(scene(*bodies, gravity=NO_GRAVITY), 0.6, claims, why)


EDGE = tuple(axis_angle((0.0, 1.0, 0.0), math.radians(20.0)))
CORNER = (0.85, 0.35, 0.3, 0.2)
SCENES: Catalog = {
    **{f"balls collide at {degrees:.0f} degrees, 1 m/s": partial(balls_collide, degrees, 1.0) for degrees in (0.0, 15.0, 45.0)},
    "balls collide at 30 degrees, 1 m/s": partial(balls_collide, 30.0, 1.0),
    "balls collide at 30 degrees, 1 m/s, a little later": partial(balls_collide, 30.0, 1.0, phase=0.0031),
    "balls collide at 60 degrees, 0.5 m/s": partial(balls_collide, 60.0, 0.5),
    "balls collide at 45 degrees, 2 m/s": partial(balls_collide, 45.0, 2.0),
    "ball meets one of twice its mass at 30 degrees": partial(balls_collide, 30.0, 1.0, 0.8, mass=2.0),
    "plastic balls at 30 degrees": partial(balls_collide, 30.0, 1.0, 0.0),
    "ball off a peg": partial(ball_meets_peg, 30.0),
    "ball off a rough floor, slips": partial(ball_bounces_off_floor, (3.0, 2.0), 0.0, 0.1, 0.8),
    "ball off a rough floor, sticks": partial(ball_bounces_off_floor, (1.0, 2.0), 0.0, 0.6, 0.8),
    "superball with backspin": partial(ball_bounces_off_floor, (2.0, 3.0), -80.0, 1.0, 1.0),
    "ball with topspin off a rough floor": partial(ball_bounces_off_floor, (1.0, 2.0), 100.0, 0.15, 0.9),
    "cushion at 30 degrees, sticks": partial(cushion, 30.0, 0.2, 0.8),
    "cushion at 60 degrees, slips": partial(cushion, 60.0, 0.15, 0.8),
    "cube on its edge": partial(cube_on_a_corner, 0.0, EDGE),
    "cube on its corner": partial(cube_on_a_corner, 0.0, CORNER),
    "cube on its corner, spinning": partial(cube_on_a_corner, 3.0, CORNER),
    "cube on its corner, spinning fast": partial(cube_on_a_corner, 8.0, CORNER),
    "twelve dice": partial(dice, 0.7),
    "cans dropped flat, e 1": partial(dropped_flat, cylinder_shape(0.1, 0.12), 0.06, 1.0),
    "cans dropped flat, e 0.9": partial(dropped_flat, cylinder_shape(0.1, 0.12), 0.06, 0.9),
    "coins dropped flat, e 0.5": partial(dropped_flat, cylinder_shape(0.0116, 0.0023), 0.00115, 0.5),
    "boxes dropped flat, e 0.8": partial(dropped_flat, box_shape((0.2, 0.3, 0.1)), 0.05, 0.8),
    "ball bounces, e 0.9": partial(bouncing_ball, 0.9, 3),
    "ball bounces, e 0.5": partial(bouncing_ball, 0.5, 3),
    "ball between two walls": between_walls,
    "row of five balls that touch": partial(row_of_balls, 5, 0.0),
    "row of five balls 3 mm apart": partial(row_of_balls, 5, 0.003),
}
