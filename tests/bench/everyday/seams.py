# SPDX-License-Identifier: GPL-3.0-or-later
"""What slides, glides or rolls over floors that are put together of level pieces: the pieces act as one."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.scene.parts import axis_angle, box_shape, cylinder_shape, sphere_shape
from solver_core.scene.spec import BodySpec, MaterialSpec, ShapeKind, ShapeSpec

from .experiment import Catalog, Experiment, Film, G, at_most, equals
from .parts import (
    OFFSET,
    active,
    compound,
    convex,
    does_not_rise,
    fixed,
    keeps,
    mesh_box,
    scene,
    slab,
    stays_straight,
    stays_upright,
    stopping,
    surface,
)

TILE, THICK, WIDE, TILES = 0.5, 0.1, 2.0, 10
CRATE = (0.2, 0.2, 0.1)
AROUND = 2.0 * np.pi * np.arange(64) / 64
PRISM = convex([[0.1 * math.cos(u), 0.1 * math.sin(u), z] for z in (-0.05, 0.05) for u in AROUND])
WHY_LEVEL = (
    "Friction alone decelerates a body on a level floor, by mu g, so it slides v^2 / (2 mu g). The step in which it stops "
    "is off by mu g h^2 / 8 at most. It neither rises nor turns, but by rest offsets."
)


def tile_places(gap: float = 0.0) -> list[tuple[float, float, float]]:
    """Middles of tiles whose tops are at z = 0, in a row along x from -0.3 m on."""
    return [(-0.05 + (TILE + gap) * i, 0.0, -0.5 * THICK) for i in range(TILES)]


def floor(kind: str, material: MaterialSpec, gap: float = 0.0) -> tuple[BodySpec, ...]:
    """A level floor in x from -0.3 to 4.7 m: one slab, two, tiles of several kinds, a compound of tiles, or loose bricks."""
    places, one = tile_places(gap), (TILE, WIDE, THICK)
    end = TILE * TILES - 0.3
    match kind:
        case "slab":
            return (slab("Slab", (-0.3, -1.0, -THICK), (end, 1.0, 0.0), material),)
        case "two slabs":
            low, middle, high = -1.0, 0.35, 6.0
            return (
                slab("Slab 1", (low, -1.0, -THICK), (middle, 1.0, 0.0), material),
                slab("Slab 2", (middle, -1.0, -THICK), (high, 1.0, 0.0), material),
            )
        case "tiles":
            return tuple(fixed(f"Tile {i}", box_shape(one), place, material) for i, place in enumerate(places))
        case "meshes":
            return tuple(fixed(f"Tile {i}", mesh_box(one), place, material) for i, place in enumerate(places))
        case "compound":
            return (fixed("Floor", compound((box_shape(one), place) for place in places), (0.0, 0.0, 0.0), material),)
        case "bricks":
            bed = slab("Bed", (-1.0, -2.0, -THICK - 1.0), (6.0, 2.0, -THICK), material)
            loose = (active(f"Brick {i}", box_shape(one), p, material, mass=50.0) for i, p in enumerate(places))
            return bed, *loose
        case "sheet":
            xs = [-0.3 + TILE * i for i in range(TILES + 1)]
            corners = np.array([[x, y, 0.0] for x in xs for y in (-1.0, 1.0)])
            faces = [face for k in range(0, 2 * TILES, 2) for face in ((k, k + 2, k + 3), (k, k + 3, k + 1))]
            return (fixed("Sheet", ShapeSpec(ShapeKind.MESH, corners, np.array(faces, np.int32)), (0.0, 0.0, 0.0), material),)
    raise ValueError(f"no floor is called {kind}")


def slides(
    kind: str,
    speed: float = 2.0,
    mu: float = 0.3,
    *,
    shape: ShapeSpec | None = None,
    half: float = 0.05,
    yaw: float = 0.0,
    gap: float = 0.0,
) -> Experiment:
    """A body slides over a level floor until it stops; half: m, of its height; yaw: degrees; gap: m between tiles."""
    material = surface(mu)
    turn = axis_angle((0.0, 0.0, 1.0), math.radians(yaw))
    shape = shape or box_shape(CRATE)
    crate = active("Crate", shape, (0.0, 0.0, half), material, velocity=(speed, 0.0, 0.0), orientation=turn)
    # loose bricks, two meters wide, come to rest an offset of their own above what they lie on
    half_extents = 0.1 + (1.0 if kind == "bricks" else 0.0)
    rise = does_not_rise("Crate", half_extents)
    claims = [stopping("Crate", speed, mu * G), stays_straight("Crate"), rise, stays_upright("Crate")]
    return Experiment(scene(*floor(kind, material, gap), crate), speed / (mu * G) + 0.1, tuple(claims), WHY_LEVEL)


def over_one_seam() -> Experiment:
    """A box of 0.3 m at 4 m/s meets the seam of two slabs."""
    return slides("two slabs", 4.0, 0.25, shape=box_shape((0.3, 0.3, 0.3)), half=0.15)


def down_boards() -> Experiment:
    """A crate slides down a slope of twelve boards for a second: g (sin - mu cos) t^2 / 2 from rest."""
    slope, mu, seconds = math.radians(25.0), 0.25, 1.0
    material = surface(mu)
    gravity = G * np.array([math.sin(slope), 0.0, -math.cos(slope)])
    boards = [slab(f"Board {i}", (0.5 * i - 0.2, -0.4, -0.1), (0.5 * i + 0.3, 0.4, 0.0), material) for i in range(12)]
    crate = active("Crate", box_shape((0.3, 0.2, 0.15)), (0.0, 0.0, 0.075), material)
    way = 0.5 * G * (math.sin(slope) - mu * math.cos(slope)) * seconds**2
    claims = (
        equals("way", "m", lambda film: film.way("Crate"), way, 1e-5 * way),
        stays_straight("Crate"),
        does_not_rise("Crate", 0.15),
        stays_upright("Crate"),
    )
    why = "Constant acceleration g (sin a - mu cos a), which leapfrog integrates exactly. The slope is gravity that leans."
    return Experiment(scene(*boards, crate, gravity=gravity), seconds, claims, why)


def glides(kind: str, speed: float) -> Experiment:
    """A crate glides without friction over slats, fixed rollers or balls whose tops are level."""
    material, bed = surface(0.0), []
    size, count = (0.3, 0.2, 0.1), 26
    upright = axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi)
    for i in range(count):
        x = -0.2 + 0.08 * i
        if kind == "slats":
            bed.append(slab(f"Slat {i}", (x - 0.025, -0.3, -0.03), (x + 0.025, 0.3, 0.0), material))
        elif kind == "rollers":
            bed.append(fixed(f"Roller {i}", cylinder_shape(0.03, 0.6), (x, 0.0, -0.03), material, orientation=upright))
        else:
            bed += [fixed(f"Ball {i} {y}", sphere_shape(0.03), (x, y, -0.03), material) for y in (-0.08, 0.08)]
    seconds = min(1.5 / speed, 1.5)
    crate = active("Crate", box_shape(size), (0.0, 0.0, 0.05), material, velocity=(speed, 0.0, 0.0))
    claims = (
        keeps("Crate", "velocity", "m/s", (speed, 0.0, 0.0), 1e-5 * speed + 1e-5),
        equals("way", "m", lambda film: film.way("Crate"), speed * film_time(seconds), 1e-5),
        does_not_rise("Crate", 0.15),
        stays_upright("Crate"),
    )
    why = "Without friction nothing pushes along a level floor: the velocity is kept, to the solver's tolerance."
    return Experiment(scene(*bed, crate), seconds, claims, why)


def film_time(seconds: float) -> float:
    """s that a film takes, in whole frames."""
    return math.ceil(60.0 * seconds - 1e-9) / 60.0


def along_a_wall() -> Experiment:
    """A crate without friction is pressed by a side wind of gravity against a wall of blocks and glides along it."""
    material, speed, seconds = surface(0.0), 2.0, 1.2
    ground = slab("Floor", (-1.0, -1.0, -0.2), (4.0, 2.0, 0.0), material)
    wall = [slab(f"Block {i}", (0.4 * i - 0.35, 0.1, 0.0), (0.4 * i + 0.05, 0.3, 0.3), material) for i in range(9)]
    crate = active("Crate", box_shape(CRATE), (0.0, 0.0, 0.05), material, velocity=(speed, 0.0, 0.0))
    claims = (
        keeps("Crate", "velocity", "m/s", (speed, 0.0, 0.0), 3e-5),
        equals("aside", "m", lambda film: film.farthest("Crate", 1), 0.0, 2.0 * OFFSET * 0.1),
        does_not_rise("Crate", 0.1),
        stays_upright("Crate"),
    )
    why = "Normal forces alone act across the motion: the velocity along the wall is kept."
    return Experiment(scene(ground, *wall, crate, gravity=(0.0, 3.0, -G)), seconds, claims, why)


def rolls_over_tiles(speed: float) -> Experiment:
    """A ball rolls over sixteen seams."""
    material, radius = surface(0.8), 0.1
    tiles = [slab(f"Tile {i}", (0.25 * i - 0.125, -0.5, -0.1), (0.25 * i + 0.125, 0.5, 0.0), material) for i in range(24)]
    ball = active(
        "Ball",
        sphere_shape(radius),
        (0.0, 0.0, radius),
        material,
        velocity=(speed, 0.0, 0.0),
        angular_velocity=(0.0, speed / radius, 0.0),
    )
    seconds = 4.1 / speed
    claims = (
        keeps("Ball", "velocity", "m/s", (speed, 0.0, 0.0), 1e-4 * speed),
        keeps("Ball", "spin", "rad/s", (0.0, speed / radius, 0.0), 1e-4 * speed / radius),
        does_not_rise("Ball", radius),
        stays_straight("Ball"),
    )
    why = (
        "A ball that rolls on a level floor has no reason to change its motion; friction does no work. 1e-4 is a hundred times "
        "the solver's tolerance, for some hundred steps."
    )
    return Experiment(scene(*tiles, ball), seconds, claims, why)


def wheel_over_tiles(sides: int, speed: float) -> Experiment:
    """A wheel, round or of n sides, rolls over flush slabs; n sides hop no higher than v_n^2 / 2g."""
    material, radius, width = surface(0.8), 0.3, 0.1
    slabs = [slab(f"Slab {i}", (1.5 * i - 1.0, -1.0, -0.2), (1.5 * i + 0.5, 1.0, 0.0), material) for i in range(18)]
    lying = axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi)
    if sides:
        angles = 2.0 * np.pi * np.arange(sides) / sides
        rim = [[radius * math.sin(u), y, -radius * math.cos(u)] for u in angles for y in (-0.5 * width, 0.5 * width)]
        shape, orientation = convex(rim), axis_angle((0.0, 1.0, 0.0), 0.0)
    else:
        shape, orientation = cylinder_shape(radius, width), lying
    wheel = active(
        "Wheel",
        shape,
        (0.0, 0.0, radius),
        material,
        orientation=orientation,
        velocity=(speed, 0.0, 0.0),
        angular_velocity=(0.0, speed / radius, 0.0),
    )
    half_angle = math.pi / sides if sides else 0.0
    hop = (speed * math.sin(half_angle)) ** 2 / (2.0 * G)
    seconds = min(20.0 / speed, 1.0)
    claims = [
        at_most("hop", "m", lambda film: film.rise("Wheel"), hop, 2.0 * OFFSET * radius, per_step=speed * math.sin(half_angle)),
        stays_straight("Wheel"),
        equals("lean", "rad", lambda film: float(np.abs(film.axis("Wheel", axle(sides))[:, [0, 2]]).max()), 0.0, 1e-4),
    ]
    if not sides:
        claims.append(keeps("Wheel", "velocity", "m/s", (speed, 0.0, 0.0), 1e-4 * speed))
    why = (
        "A corner of a polygon that rolls comes down, and leaves, with at most v sin(pi / n): it cannot lift the axle by more "
        "than the square of that over 2g. An impact lies in a step, in which the axle comes up by that speed times h. The "
        "scene is its own mirror image, so nothing goes aside. A round wheel keeps its speed."
    )
    turns = 0.5 * radius / speed  # s in which it turns by half a radian, beyond which rims are coarse
    return Experiment(scene(*slabs, wheel), seconds, tuple(claims), why, longest_step=turns)


def axle(sides: int) -> tuple[float, float, float]:
    """Of a wheel, in its own axes."""
    return (0.0, 1.0, 0.0) if sides else (0.0, 0.0, 1.0)


def over_rail_joints() -> Experiment:
    """A wheel rolls over gaps of rails, down one edge and up the other, and loses at the second what an impact takes."""
    material, radius, speed, gap, joints, mass_share = surface(0.9), 0.3, 1.2, 0.03, 4, 0.5
    pitch = 0.4
    rails = []
    for i in range(joints + 1):
        low, high = pitch * i - (0.5 if i == 0 else 0.0), pitch * (i + 1) - gap
        rails.append(slab(f"Rail {i}", (low, -0.2, -0.1), (high if i < joints else high + 1.0, 0.2, 0.0), material))
    wheel = active(
        "Wheel",
        cylinder_shape(radius, 0.1),
        (0.0, 0.0, radius),
        material,
        orientation=axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi),
        velocity=(speed, 0.0, 0.0),
        angular_velocity=(0.0, speed / radius, 0.0),
    )
    half = math.asin(0.5 * gap / radius)
    kept = (mass_share + math.cos(2.0 * half)) / (mass_share + 1.0)
    drop = 2.0 * G * radius * (1.0 - math.cos(half)) / (1.0 + mass_share)
    squared = speed * speed
    for _ in range(joints):
        squared = (squared + drop) * kept**2 - drop
    lost = 1.0 - squared / speed**2
    seconds = (pitch * joints + 0.3) / speed

    def loss(film: Film) -> float:
        # energy of rolling over that at the begin
        linear, angular = film.velocity("Wheel")[-1], film.spin("Wheel")[-1]
        energy = 0.5 * linear @ linear + 0.5 * mass_share * radius**2 * angular @ angular
        return 1.0 - energy / (0.5 * (1.0 + mass_share) * speed**2)

    # gravity acts for a step more or less at each impact, on a wheel that turns down by its half angle
    blur = 2.0 * joints * G * math.sin(half) / speed
    claims = (
        equals("energy lost", "share", loss, lost, 2e-4, per_step=blur),
        stays_straight("Wheel"),
        does_not_rise("Wheel", radius),
    )
    why = (
        "The wheel turns about the first edge, down by R (1 - cos b), meets the second one, where its angular momentum about "
        "that edge is kept, (1/2 + cos 2b) / (3/2) of it, and climbs as high again. An impact lies in a step: for as long "
        "as h gravity pulls along the way by g sin b, twice at each joint."
    )
    return Experiment(scene(*rails, wheel), seconds, claims, why)


def curling_stone() -> Experiment:
    """A curling stone on a sheet of ice in pieces."""
    mu, speed = 0.05, 1.5
    material = surface(mu)
    ice = [slab(f"Ice {i}", (0.6 * i - 0.4, -1.0, -0.1), (0.6 * i + 0.2, 1.0, 0.0), material) for i in range(6)]
    stone = active("Stone", cylinder_shape(0.14, 0.114), (0.0, 0.0, 0.057), material, mass=19.0, velocity=(speed, 0.0, 0.0))
    claims = (
        stopping("Stone", speed, mu * G),
        stays_straight("Stone"),
        does_not_rise("Stone", 0.14),
        stays_upright("Stone"),
    )
    return Experiment(scene(*ice, stone), speed / (mu * G) + 0.1, claims, WHY_LEVEL)


def turning_on_tiles() -> Experiment:
    """A plank spins flat over the corner where four tiles meet, without friction: it keeps its spin."""
    material, rate = surface(0.0), 6.0
    tiles = [
        slab(f"Tile {x:+.0f}{y:+.0f}", (min(x, 0.0), min(y, 0.0), -0.1), (max(x, 0.0), max(y, 0.0), 0.0), material)
        for x in (-1.0, 1.0)
        for y in (-1.0, 1.0)
    ]
    plank = active("Plank", box_shape((0.6, 0.1, 0.04)), (0.1, 0.05, 0.02), material, angular_velocity=(0.0, 0.0, rate))
    claims = (
        keeps("Plank", "spin", "rad/s", (0.0, 0.0, rate), 1e-4 * rate),
        keeps("Plank", "velocity", "m/s", (0.0, 0.0, 0.0), 1e-4),
        does_not_rise("Plank", 0.3),
    )
    why = "No force has a moment about the vertical, so the spin is kept; no force acts along the floor."
    return Experiment(scene(*tiles, plank), 1.0, claims, why)


def dealt_cards() -> Experiment:
    """A card is dealt over two cards that lie edge to edge on a table."""
    mu, speed, thick = 0.25, 0.9, 3e-4
    material = surface(mu)
    table = slab("Table", (-1.0, -1.0, -0.1), (1.0, 1.0, 0.0), material)
    size = (0.063, 0.088, thick)
    below = [fixed(f"Card {i}", box_shape(size), (0.063 * i, 0.0, 0.5 * thick), material) for i in range(5)]
    dealt = active("Dealt", box_shape(size), (0.0, 0.0, 1.5 * thick), material, mass=0.002, velocity=(speed, 0.0, 0.0))
    claims = (
        stopping("Dealt", speed, mu * G),
        stays_straight("Dealt"),
        does_not_rise("Dealt", 0.044),
        at_most("turn", "rad", lambda film: film.most_turned("Dealt"), 0.0, 2.0 * OFFSET * 2.0),
    )
    return Experiment(scene(table, *below, dealt), speed / (mu * G) + 0.1, claims, WHY_LEVEL)


def domino_falls_on_tiles(where: str) -> Experiment:
    """A domino falls over about its lower edge, which stands on a slab, or just before or on a seam of tiles."""
    material, size, tilt = surface(1.0), (0.008, 0.024, 0.048), math.radians(16.0)
    seams = {"slab": (-1.0, 1.0), "tiles": (-1.0, -0.03, 0.001, 0.02, 0.04, 1.0), "seam": (-1.0, -0.05, 0.0, 0.03, 1.0)}[where]
    pieces = [
        slab(f"Tile {i}", (low, -0.2, -0.02), (high, 0.2, 0.0), material) for i, (low, high) in enumerate(pairwise(seams))
    ]
    turn = Rotation.from_euler("y", tilt)
    place = -turn.apply([0.5 * size[0], 0.0, -0.5 * size[2]])
    domino = active(
        "Domino", box_shape(size), tuple(place), material, mass=0.01, orientation=tuple(turn.as_quat(scalar_first=True))
    )
    # about the edge: I a'' = m g r sin(angle of the centre from the vertical)
    reach, lean = 0.5 * math.hypot(size[0], size[2]), math.atan2(size[0], size[2])
    rate = 3.0 * G * reach / (size[0] ** 2 + size[2] ** 2)
    seconds = 0.12

    def tilted(film: Film) -> float:
        along = film.axis("Domino", (0.0, 0.0, 1.0))[-1]
        return math.atan2(along[0], along[2])

    expected = pendulum_angle(tilt - lean, rate, film_time(seconds)) + lean
    claims = (
        equals("tilt", "rad", tilted, expected, 5e-3, per_square=rate),
        stays_straight("Domino"),
    )
    why = (
        "An inverted pendulum about the lower edge, integrated by scipy, which friction 1 keeps in place. Its foot rests 1e-4 "
        "of its size above the floor, which turns a tilt of 0.2 rad by 1e-3; leapfrog is off by the order of (w h)^2."
    )
    return Experiment(scene(*pieces, domino), seconds, claims, why)


def pendulum_angle(angle: float, rate: float, seconds: float) -> float:
    """Of an inverted pendulum let go at an angle, a'' = rate sin a."""
    from scipy.integrate import solve_ivp

    found = solve_ivp(lambda _, y: [y[1], rate * math.sin(y[0])], (0.0, seconds), [angle, 0.0], rtol=1e-10, atol=1e-12)
    return float(found.y[0, -1])


SCENES: Catalog = {
    "box over one seam": over_one_seam,
    "box on a slab": partial(slides, "slab"),
    "box over tiles": partial(slides, "tiles"),
    "box over tiles, slowly": partial(slides, "tiles", 0.5, 0.05),
    "box over tiles, turned by 10 degrees": partial(slides, "tiles", yaw=10.0),
    "box over tiles 1 mm apart": partial(slides, "tiles", gap=1e-3),
    "box over tiles of meshes": partial(slides, "meshes"),
    "box over a floor of parts": partial(slides, "compound"),
    "box over a sheet of faces": partial(slides, "sheet"),
    "box over loose bricks": partial(slides, "bricks"),
    "can over tiles": partial(slides, "tiles", shape=cylinder_shape(0.1, 0.1)),
    "prism of 64 sides over tiles": partial(slides, "tiles", shape=PRISM),
    "mesh crate over tiles": partial(slides, "tiles", shape=mesh_box(CRATE)),
    "crate down twelve boards": down_boards,
    "crate over slats, 2 m/s": partial(glides, "slats", 2.0),
    "crate over slats, 0.5 m/s": partial(glides, "slats", 0.5),
    "crate over rollers, 2 m/s": partial(glides, "rollers", 2.0),
    "crate over balls, 2 m/s": partial(glides, "balls", 2.0),
    "crate along a wall of blocks": along_a_wall,
    "ball over tiles, 1 m/s": partial(rolls_over_tiles, 1.0),
    "ball over tiles, 5 m/s": partial(rolls_over_tiles, 5.0),
    "round wheel over slabs, 10 m/s": partial(wheel_over_tiles, 0, 10.0),
    "wheel of 64 sides, 5 m/s": partial(wheel_over_tiles, 64, 5.0),
    "wheel of 64 sides, 20 m/s": partial(wheel_over_tiles, 64, 20.0),
    "wheel over rail joints": over_rail_joints,
    "curling stone on ice in pieces": curling_stone,
    "plank spins on four tiles": turning_on_tiles,
    "card dealt over cards": dealt_cards,
    "domino falls on a slab": partial(domino_falls_on_tiles, "slab"),
    "domino falls before a seam": partial(domino_falls_on_tiles, "tiles"),
    "domino falls on a seam": partial(domino_falls_on_tiles, "seam"),
}
