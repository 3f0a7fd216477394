# SPDX-License-Identifier: GPL-3.0-or-later
"""What tumbles, spins and rolls in circles, beside Euler's equations."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from solver_core.scene.parts import box_shape, cylinder_shape, sphere_shape

from ...core import spinning
from .experiment import Catalog, Experiment, Film, Floats, G, at_most, equals
from .parts import NO_GRAVITY, OFFSET, active, compound, fixed, keeps, plane, scene, slab, surface

UP = np.array([0.0, 0.0, 1.0])


def tumbling(spin: tuple[float, float, float]) -> Experiment:
    """A box tumbles freely: Euler's equations, and its angular momentum and energy."""
    size, seconds, mass = np.array([0.1, 0.2, 0.4]), 2.0, 2.0
    squares = size**2
    inertia = mass / 12.0 * (squares.sum() - squares)
    box = active("Box", box_shape(tuple(size)), NO_GRAVITY, surface(0.5), mass=mass, angular_velocity=spin)

    def change(_: float, y: Floats) -> Floats:
        turn, w = y[:9].reshape(3, 3), y[9:]
        return np.concatenate([(turn @ spinning.cross_matrix(w)).ravel(), -np.cross(w, inertia * w) / inertia])

    begin = np.concatenate([np.eye(3).ravel(), spin])
    exact = solve_ivp(change, (0.0, seconds), begin, method="DOP853", rtol=1e-11, atol=1e-12).y[:9, -1].reshape(3, 3)
    fastest = math.hypot(*spin)

    def off(film: Film) -> float:
        return float((film.turns("Box")[-1] * Rotation.from_matrix(exact).inv()).magnitude())

    def momentum(film: Film) -> float:
        world = film.turns("Box").as_matrix()
        found = np.einsum("fij,j,fkj,fk->fi", world, inertia, world, film.spin("Box"))
        return float(
            np.linalg.norm(found - inertia * np.array(spin), axis=1)[1:].max() / np.linalg.norm(inertia * np.array(spin))
        )

    claims = (
        # the phase of a free rotation is off by (w h)^2 / 24 of its angle, and an unstable axis makes ten times that of it
        at_most("turn off", "rad", off, 0.0, 1e-6, per_square=10.0 * fastest**3 * seconds / 24.0),
        at_most("angular momentum off", "share", momentum, 0.0, 1e-6, per_step=fastest),
        keeps("Box", "velocity", "m/s", NO_GRAVITY, 1e-9),
    )
    why = (
        "Euler's equations by scipy to 1e-11. The integrator is of second order: (w h)^2 / 24 of the angle, grown by what an "
        "unstable axis makes of it. The momentum is exact, but spins belong to mid-step and orientations to its end, w h "
        "apart."
    )
    return Experiment(scene(box, gravity=NO_GRAVITY), seconds, claims, why)


def top_on_its_tip(rate: float, tilt: float) -> Experiment:
    """A top precesses and nods on its tip, beside scipy."""
    seconds = 1.0
    exact = spinning.axis_of_top(rate, tilt, seconds)
    spec = spinning.top(rate, tilt)

    def off(film: Film) -> float:
        axis = -film.axis("Top", (0.0, 0.0, 1.0))[-1]
        return float(np.degrees(np.arccos(np.clip(axis @ exact[-1], -1.0, 1.0))))

    claims = (
        at_most("axis off", "deg", off, 0.0, 0.02, per_square=math.degrees(rate**2 * 0.15)),
        at_most("tip moved", "m", lambda film: tip_moved(film), 0.0, 4.0 * OFFSET * 0.5, per_square=0.5 * rate * rate * 0.02),
    )
    why = (
        "Newton and Euler with the tip fixed, by scipy to 1e-9. The integrator is of second order in the turn of a step, w h: "
        "for a tilt of 0.15 rad that is w^2 h^2 of it."
    )
    return Experiment(spec, seconds, claims, why, longest_step=0.5 / rate)


def tip_moved(film: Film) -> float:
    """How far the tip of a top ever was from where it began, m."""
    tips = film.point("Top", (0.0, 0.0, 0.5 * spinning.HEIGHT))
    return float(np.linalg.norm(tips - tips[0], axis=1).max())


def coin_on_its_edge() -> Experiment:
    """A coin spins on its edge about the vertical without friction: it stays upright and keeps its spin."""
    radius, thick, rate, material = 0.012, 0.002, 12.0, surface(0.0)
    turn = Rotation.from_euler("x", 90.0, degrees=True)
    coin = active(
        "Coin",
        cylinder_shape(radius, thick),
        (0.0, 0.0, radius),
        material,
        mass=0.006,
        orientation=tuple(turn.as_quat(scalar_first=True)),
        angular_velocity=(0.0, 0.0, rate),
    )
    claims = (
        keeps("Coin", "spin", "rad/s", (0.0, 0.0, rate), 1e-3 * rate),
        keeps("Coin", "velocity", "m/s", NO_GRAVITY, 1e-4),
        at_most("lean", "rad", lambda film: float(np.abs(film.axis("Coin", (0.0, 0.0, 1.0))[:, 2]).max()), 0.0, 1e-3),
    )
    why = "No force has a moment about the vertical, and its flat edge of 2 mm keeps it upright for half a second."
    return Experiment(scene(plane(material), coin), 0.5, claims, why)


def unbalanced(rate: float, radius: float, around: float, lean: float) -> float:
    """The moment about the direction of motion less the one that a thin disc of mass 1 needs to roll on a circle (Routh 1884).

    radius: m, of the disc; around: m, of the circle of its centre; lean: rad, inwards from the vertical; rate: rad/s.
    """
    # the centre goes along x, the middle of the circle is at +y; axle and the way from the centre to the contact
    axle, arm = np.array([0.0, -math.cos(lean), math.sin(lean)]), radius * np.array([0.0, -math.sin(lean), -math.cos(lean)])
    spin = disc_spin(rate, axle, arm, around)
    along = (spin @ axle) * axle
    momentum = radius**2 * (0.5 * along + 0.25 * (spin - along))
    force = np.array([0.0, rate**2 * around, G])
    return float((np.cross(arm, force) - np.cross(rate * UP, momentum))[0])


def disc_spin(rate: float, axle: Floats, arm: Floats, around: float) -> Floats:
    """(3,) rad/s of a disc that goes round at a rate without slipping: v + w x arm = 0."""
    missing = rate * around + np.cross(rate * UP, arm)[0]
    return rate * UP - missing / np.cross(axle, arm)[0] * axle


def disc_in_a_circle(degrees: float) -> Experiment:
    """A thin disc rolls steadily in a circle, leaning inwards."""
    radius, around, thick, lean, material = 0.15, 0.5, 0.001, math.radians(degrees), surface(2.0)
    seconds = 0.8
    rate = brentq(unbalanced, 0.1, 30.0, args=(radius, around, lean))
    turn = Rotation.from_euler("x", 90.0 - degrees, degrees=True)
    arm = radius * np.array([0.0, -math.sin(lean), -math.cos(lean)])
    spin = disc_spin(rate, turn.apply(UP), arm, around)
    # the rim of a thin cylinder that touches is half a thickness off its middle
    place = (0.0, -around, radius * math.cos(lean) + 0.5 * thick * math.sin(lean))
    disc = active(
        "Disc",
        cylinder_shape(radius, thick),
        place,
        material,
        orientation=tuple(turn.as_quat(scalar_first=True)),
        velocity=(rate * around, 0.0, 0.0),
        angular_velocity=tuple(spin),
    )
    turning = float(np.linalg.norm(spin))

    def off(film: Film) -> float:
        angle = rate * film.times[-1]
        return float(np.linalg.norm(film.places("Disc")[-1, :2] - around * np.array([math.sin(angle), -math.cos(angle)])))

    def lean_off(film: Film) -> float:
        return float(np.abs(np.arcsin(np.abs(film.axis("Disc", (0.0, 0.0, 1.0))[:, 2])) - lean).max())

    claims = (
        at_most("lean off", "rad", lean_off, 0.0, 0.02, per_square=4.0 * turning**2 * lean),
        at_most("place off", "m", off, 0.0, 0.02, per_square=4.0 * turning**2 * around),
    )
    why = (
        "A thin disc that rolls steadily (Routh): friction and weight turn its angular momentum at the rate of the circle. "
        "The disc is 1 mm thick, 0.7 % of its radius, which shifts its contact and its balance by as much; the integrator is "
        "of second order in the turn of a step."
    )
    return Experiment(scene(plane(material), disc), seconds, claims, why, longest_step=0.3 / turning)


def puck_spins_to_rest() -> Experiment:
    """A puck on three feet spins on the spot until friction stops it."""
    mu, rate, arm, material = 0.2, 12.0, 0.1, surface(0.2)
    feet = [(sphere_shape(0.01), (arm * math.cos(a), arm * math.sin(a), -0.01)) for a in 2.0 * math.pi * np.arange(3) / 3]
    shape = compound([(cylinder_shape(0.12, 0.02), (0.0, 0.0, 0.01)), *feet])
    inertia = np.diag([0.004, 0.004, 0.0072])
    puck = active("Puck", shape, (0.0, 0.0, 0.02), material, inertia=inertia, angular_velocity=(0.0, 0.0, rate))
    slower = mu * G * arm / 0.0072
    seconds = rate / slower + 0.1
    angle = rate**2 / (2.0 * slower)

    def turned(film: Film) -> float:
        along = film.axis("Puck", (1.0, 0.0, 0.0))
        return float(np.unwrap(np.arctan2(along[:, 1], along[:, 0]))[-1])

    claims = (
        equals("angle", "rad", turned, angle, 1e-3 * angle, per_square=0.25 * slower + rate**2),
        keeps("Puck", "velocity", "m/s", NO_GRAVITY, 1e-4),
    )
    why = (
        "Three feet bear a third each at one distance, whatever the direction: the torque is mu m g r, the angle w^2 / 2a. "
        "The step in which it stops is off by a h^2 / 8; levers turn by w h in a step, to second order."
    )
    floor = slab("Floor", (-1.0, -1.0, -0.1), (1.0, 1.0, 0.0), material)
    return Experiment(scene(floor, puck), seconds, claims, why)


def cross_spin() -> Experiment:
    """A spinning ball is dropped on ice without friction: it goes straight up and keeps its spin."""
    material, spin, height = surface(0.0, 0.8), (20.0, -15.0, 30.0), 0.4
    ball = active("Ball", sphere_shape(0.1), (0.0, 0.0, 0.1 + height), material, angular_velocity=spin)
    floor = fixed("Ice", box_shape((4.0, 4.0, 0.2)), (0.0, 0.0, -0.1), material)
    claims = (
        keeps("Ball", "spin", "rad/s", spin, 1e-6),
        at_most("aside", "m", lambda film: float(np.abs(film.places("Ball")[:, :2]).max()), 0.0, 1e-6),
    )
    why = "Without friction the impulse is through the centre."
    return Experiment(scene(floor, ball), 0.7, claims, why)


SCENES: Catalog = {
    "box tumbles": partial(tumbling, (4.0, 0.5, 6.0)),
    "box turns over, middle axis": partial(tumbling, (0.05, 8.0, 0.05)),
    "top, 60 rad/s": partial(top_on_its_tip, 60.0, 10.0),
    "coin spins on its edge": coin_on_its_edge,
    "disc rolls in a circle": partial(disc_in_a_circle, 20.0),
    "puck on three feet spins": puck_spins_to_rest,
    "spinning ball on ice": cross_spin,
}
