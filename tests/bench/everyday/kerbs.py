# SPDX-License-Identifier: GPL-3.0-or-later
"""Real steps in a floor: kerbs that stop what slides or rolls, and chamfers that deflect it."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from solver_core.scene.parts import axis_angle, box_shape, cylinder_shape, sphere_shape

from .experiment import Catalog, Experiment, Film, G, at_least, equals
from .parts import OFFSET, active, convex, fixed, keeps, scene, slab, stays_straight, surface

WHY_KERB = (
    "The kerb and the floor push on the lower front edge alone, so the angular momentum about the kerb's edge is kept while "
    "the box begins to turn about it. It then tips as far as its energy lifts it, and as it falls back without friction it "
    "leaves as fast as it turned. The impact begins in one step and may end in the next: for two steps gravity pulls at half "
    "a length."
)


def box_meets_kerb(height: float) -> Experiment:
    """A box without friction slides against a kerb, tips up about it and slides back."""
    material, speed, length, tall, start = surface(0.0), 1.5, 0.2, 0.1, 0.3
    floor = slab("Floor", (-3.0, -1.0, -0.1), (start + 0.5 * length, 1.0, 0.0), material)
    kerb = slab("Kerb", (start + 0.5 * length, -1.0, -0.1), (3.0, 1.0, height), material)
    box = active("Box", box_shape((length, 0.2, tall)), (0.0, 0.0, 0.5 * tall), material, velocity=(speed, 0.0, 0.0))
    # the kerb pushes at its edge
    arm = 0.5 * tall - height
    inertia = (length**2 + tall**2) / 12.0 + 0.25 * length**2 + arm**2
    spin = speed * arm / inertia
    # the energy lifts the centre, whose lower front edge stays on the floor
    reach, angle = 0.5 * math.hypot(length, tall), math.atan2(tall, length)
    tip = math.asin(math.sin(angle) + 0.5 * spin**2 * inertia / (G * reach)) - angle
    blur = (
        G * 0.5 * length / (speed * arm)
    )  # 1/s: the share of the angular momentum that gravity takes in a step, over the step

    def tipped(film: Film) -> float:
        along = film.axis("Box", (1.0, 0.0, 0.0))
        return peak(np.arctan2(-along[:, 2], along[:, 0]))

    back = -spin * arm
    claims = (
        equals("tip", "rad", tipped, tip, 2e-3, per_step=4.0 * blur * tip),
        equals("speed back", "m/s", lambda film: float(film.velocity("Box")[-1, 0]), back, 5e-3, per_step=4.0 * blur * -back),
        stays_straight("Box"),
    )
    return Experiment(scene(floor, kerb, box), 0.75, claims, WHY_KERB)


def peak(values: np.ndarray) -> float:
    """The largest of values in equal times, by the parabola through the three about it."""
    k = int(np.clip(values.argmax(), 1, len(values) - 2))
    a, b, c = values[k - 1 : k + 2]
    curvature = a - 2.0 * b + c
    return float(b if curvature == 0.0 else b - 0.125 * (c - a) ** 2 / curvature)


def kerb_stops(height: float) -> Experiment:
    """A box with friction slides against a kerb: it comes no farther."""
    material, speed = surface(0.3), 1.0
    floor = slab("Floor", (-1.0, -1.0, -0.1), (0.2, 1.0, 0.0), material)
    kerb = slab("Kerb", (0.2, -1.0, -0.1), (2.0, 1.0, height), material)
    box = active("Box", box_shape((0.2, 0.2, 0.05)), (0.0, 0.0, 0.025), material, velocity=(speed, 0.0, 0.0))

    def front(film: Film) -> float:
        low = [film.point("Box", (0.1, y, -0.025))[:, 0].max() for y in (-0.1, 0.1)]
        return float(max(low)) - 0.2

    claims = (
        equals("front edge past the kerb", "m", front, 0.0, 4.0 * OFFSET * 0.1),
        stays_straight("Box"),
    )
    why = (
        "A real step stops what slides against it. The lower front edge comes to it, but for a rest offset, and goes back "
        "while the box leans over."
    )
    return Experiment(scene(floor, kerb, box), 0.5, claims, why)


def ball_meets_chamfer(degrees: float) -> Experiment:
    """A ball without friction slides against a slope: what of its velocity points into the slope is lost, and it goes up."""
    material, speed, radius, slope = surface(0.0), 3.0, 0.05, math.radians(degrees)
    length = 3.0
    foot, top = 0.6, length * math.tan(slope)
    wedge = convex([[x, y, z] for x, z in ((foot, 0.0), (foot + length, top), (foot + length, 0.0)) for y in (-0.5, 0.5)])
    ball = active("Ball", sphere_shape(radius), (0.0, 0.0, radius), material, velocity=(speed, 0.0, 0.0))
    floor = slab("Floor", (-1.0, -1.0, -0.1), (6.0, 1.0, 0.0), material)
    along = speed * math.cos(slope)
    rise = along**2 / (2.0 * G)
    claims = (
        equals("rise", "m", lambda film: film.rise("Ball"), rise, 1e-4, per_step=along, per_square=G),
        stays_straight("Ball"),
    )
    seconds = foot / speed + along / (G * math.sin(slope)) + 0.05
    why = (
        "The impact takes the part of the velocity along the slope's normal (e = 0); what is left climbs to v^2 cos^2 a / 2g. "
        "In the step of the impact gravity acts for h more or less, by g h, which changes the height by v h."
    )
    return Experiment(scene(floor, fixed("Wedge", wedge, (0.0, 0.0, 0.0), material), ball), seconds, claims, why)


def ball_climbs_kerb(share: float) -> Experiment:
    """A ball rolls against a kerb and climbs it if it is fast enough; share: of the speed needed."""
    material, radius, kerb = surface(2.0), 0.1, 0.02
    # angular momentum about the kerb's edge is kept, then the energy has to lift the ball by the kerb
    factor = 1.0 - 5.0 / 7.0 * kerb / radius
    needed = math.sqrt(10.0 / 7.0 * G * kerb) / factor
    speed = share * needed
    floor = slab("Floor", (-3.0, -1.0, -0.1), (0.3, 1.0, 0.0), material)
    step = slab("Kerb", (0.3, -1.0, -0.1), (3.0, 1.0, kerb), material)
    ball = active(
        "Ball",
        sphere_shape(radius),
        (0.0, 0.0, radius),
        material,
        velocity=(speed, 0.0, 0.0),
        angular_velocity=(0.0, speed / radius, 0.0),
    )

    def up(film: Film) -> float:
        return float(film.places("Ball")[-1, 0] > 0.3)

    claims = (
        equals("is up", "", up, 1.0 if share > 1.0 else 0.0, 0.1),
        stays_straight("Ball"),
    )
    why = (
        "About the kerb's edge (1 - 5k / 7R) of the angular momentum is left, whose energy has to lift the ball by k. A speed "
        "8 % from that is as far as one step of gravity, 0.04 of 0.57 m/s, at 240 steps a second."
    )
    return Experiment(scene(floor, step, ball), 1.5, claims, why, longest_step=1.0 / 200.0)


def drops_off_a_kerb() -> Experiment:
    """A long plank without friction glides off a table: once its centre is past the edge it turns about it."""
    material, speed, length = surface(0.0), 2.0, 0.4
    table = slab("Table", (-2.0, -1.0, -0.5), (0.0, 1.0, 0.0), material)
    plank = active("Plank", box_shape((length, 0.1, 0.02)), (-0.5, 0.0, 0.01), material, velocity=(speed, 0.0, 0.0))
    seconds = 0.5 / speed

    claims = (
        keeps("Plank", "velocity", "m/s", (speed, 0.0, 0.0), 1e-4),
        equals("level until its centre is past the edge", "rad", lambda film: film.most_turned("Plank"), 0.0, 2e-4),
    )
    why = "The weight is over the table until the centre passes its edge, so the plank stays level and its velocity is kept."
    return Experiment(scene(table, plank), seconds - 1.0 / 60.0, claims, why)


def drum_meets_wall() -> Experiment:
    """A drum rolls against a wall and stays there."""
    material, speed, radius = surface(0.0), 1.0, 0.2
    floor = slab("Floor", (-2.0, -1.0, -0.1), (2.0, 1.0, 0.0), material)
    wall = slab("Wall", (0.5 + radius, -1.0, 0.0), (1.2, 1.0, 1.0), material)
    drum = active(
        "Drum",
        cylinder_shape(radius, 0.3),
        (0.0, 0.0, radius),
        material,
        orientation=axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi),
        velocity=(speed, 0.0, 0.0),
        angular_velocity=(0.0, speed / radius, 0.0),
    )
    claims = (
        keeps("Drum", "velocity", "m/s", (0.0, 0.0, 0.0), 1e-4),
        keeps("Drum", "spin", "rad/s", (0.0, speed / radius, 0.0), 1e-3),
        equals("place", "m", lambda film: float(film.places("Drum")[-1, 0]), 0.5, 2.0 * OFFSET * radius),
        at_least("height", "m", lambda film: float(film.places("Drum")[:, 2].min()), radius, 1e-5),
    )
    why = "A wall without friction or bounce takes the velocity and leaves the spin."
    return Experiment(scene(floor, wall, drum), 1.0, claims, why)


SCENES: Catalog = {
    "box against a kerb of 0.1 mm": partial(box_meets_kerb, 1e-4),
    "box against a kerb of 1 mm": partial(box_meets_kerb, 1e-3),
    "box against a kerb of 5 mm": partial(box_meets_kerb, 5e-3),
    "box stopped by a kerb of 0.1 mm": partial(kerb_stops, 1e-4),
    "box stopped by a kerb of 5 mm": partial(kerb_stops, 5e-3),
    "ball against a slope of 20 degrees": partial(ball_meets_chamfer, 20.0),
    "ball against a slope of 40 degrees": partial(ball_meets_chamfer, 40.0),
    "ball climbs a kerb": partial(ball_climbs_kerb, 1.08),
    "ball does not climb a kerb": partial(ball_climbs_kerb, 0.92),
    "plank glides to a table's edge": drops_off_a_kerb,
    "drum against a wall": drum_meets_wall,
}
