# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes in which bonded pieces break, in m, kg and s.

Each scene lists the bodies that are bonded where their faces touch, and the strength of the bonds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..scene import parts
from ..scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

if TYPE_CHECKING:
    from ..fracture.bonds import Stresses

__all__ = [
    "BondedScene",
    "bonded_bridge",
    "brick_wall",
    "falling_chimney",
    "ice_on_a_lake",
    "lost_column",
    "window",
]

Array = NDArray[np.float64]

DRY_STONE = parts.pair_material(0.6)
WET_ICE = parts.pair_material(0.1)
BRICK_DENSITY, CONCRETE_DENSITY, GLASS_DENSITY, ICE_DENSITY, IRON_DENSITY = 1800.0, 2400.0, 2500.0, 917.0, 7800.0  # kg/m^3
GAP = 1e-3  # m; default of collections
MPA = 1e6


@dataclass(frozen=True)
class BondedScene:
    """A scene with bonded bodies.

    Attributes
    ----------
    spec : the scene without its bonds
    bonded : names of the bodies that are bonded where their faces touch
    stresses : strength of the bonds
    """

    spec: SceneSpec
    bonded: tuple[str, ...]
    stresses: Stresses

    def with_bonds(self) -> SceneSpec:
        """Return the scene with its bonds as joints."""
        chosen = [body for body in self.spec.bodies if body.name in set(self.bonded)]
        # Imported here because it loads scipy, which registering the add-on should not do.
        from ..fracture.bonds import bonds_of_bodies

        return replace(self.spec, joints=tuple(bonds_of_bodies(chosen, self.stresses, GAP)))


def brick_wall(columns: int = 10, rows: int = 8, shot: float = 12.0, tension: float = 1.0) -> BondedScene:
    """A free-standing wall of bricks and mortar, and a flying ball of 40 kg that hits it.

    Parameters
    ----------
    columns, rows : bricks in a course, and number of courses
    shot : m/s, speed of the ball
    tension : MPa, tensile strength of the mortar, half its shear strength
    """
    size = np.array([0.4, 0.2, 0.2])
    bricks = [
        parts.box(
            f"Brick {row} {i}",
            size,
            ((i - 0.5 * (columns - row % 2 - 1)) * size[0], 0.0, (row + 0.5) * size[2]),
            DRY_STONE,
            mass=float(BRICK_DENSITY * size.prod()),
        )
        for row in range(rows)
        for i in range(columns - row % 2)
    ]
    start, velocity = np.array([0.1, -0.9, 0.56 * rows * size[2]]), np.array([0.0, shot, 0.0])
    ball = replace(ball_of("Ball", 0.2, start, 40.0), velocity=velocity)
    spec = SceneSpec((parts.ground(DRY_STONE), *bricks, ball), frame_end=73)
    return BondedScene(spec, names(bricks), bearing(tension * MPA, 2.0 * tension * MPA))


def window(pieces: int = 60, shot: float = 18.0, tension: float = 45.0, seed: int = 1) -> BondedScene:
    """A glass pane of 6 mm in a frame, and a flying ball of 6 kg that hits it.

    The pane is bonded to the sill. It has some clearance at the other sides; otherwise its pieces would jam in the frame.

    Parameters
    ----------
    pieces : pieces of the pane, smaller near the point of impact
    shot : m/s, speed of the ball
    tension : MPa, tensile and shear strength of the glass
    seed : seed of the pieces
    """
    width, height, thick, bar, sill, room = 1.2, 1.0, 0.006, 0.08, 0.5, 0.01
    low, high = np.array([-0.5 * width, sill]), np.array([0.5 * width, sill + height])
    middle, random = np.array([0.1, sill + 0.55 * height]), np.random.default_rng(seed)
    near = middle + random.normal(scale=0.16, size=(pieces // 2, 2))
    near = np.clip(near, low + 0.02, high - 0.02)
    points = np.concatenate([near, random.uniform(low, high, (pieces - len(near), 2))])
    upright = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    pane = plates("Glass", cells(points, low, high), thick, upright, GLASS_DENSITY)
    inner = np.concatenate([low - [room, 0.0], high + room])
    outer = inner + bar * np.array([-1.0, -1.0, 1.0, 1.0])
    frame = [
        fixed("Sill", (outer[2] - outer[0], 2.0 * bar, bar), (0.0, 0.0, sill - 0.5 * bar)),
        fixed("Lintel", (outer[2] - outer[0], 2.0 * bar, bar), (0.0, 0.0, inner[3] + 0.5 * bar)),
        fixed("Left Jamb", (bar, 2.0 * bar, height + room), (inner[0] - 0.5 * bar, 0.0, sill + 0.5 * (height + room))),
        fixed("Right Jamb", (bar, 2.0 * bar, height + room), (inner[2] + 0.5 * bar, 0.0, sill + 0.5 * (height + room))),
    ]
    start = np.array([middle[0], -1.0, middle[1]])
    ball = replace(ball_of("Ball", 0.1, start, 6.0), velocity=np.array([0.0, shot, 0.0]))
    spec = SceneSpec((parts.ground(DRY_STONE), *frame, *pane, ball), frame_end=49)
    return BondedScene(spec, names([*frame, *pane]), bearing(tension * MPA, tension * MPA))


def lost_column(pieces: int = 60, speed: float = 8.0, tension: float = 2.9, seed: int = 2) -> BondedScene:
    """A concrete slab on three columns, of which the middle one is pulled out after half a second.

    Parameters
    ----------
    pieces : pieces of the slab
    speed : m/s, speed of the column
    tension : MPa, tensile and shear strength of the concrete
    seed : seed of the pieces
    """
    size, side, high = np.array([6.6, 2.4, 0.3]), 0.4, 2.4
    half = 0.5 * size[:2]
    points = np.random.default_rng(seed).uniform(-half, half, (pieces, 2))
    flat = plates("Slab", cells(points, -half, half), size[2], np.eye(3), CONCRETE_DENSITY)
    slab = [lifted(one, high + 0.5 * size[2]) for one in flat]
    columns = [
        BodySpec(
            name,
            BodyKind.ACTIVE,
            parts.box_shape((side, size[1], high)),
            np.array([x, 0.0, 0.5 * high]),
            density=CONCRETE_DENSITY,
            material=DRY_STONE if x else WET_ICE,
        )
        for name, x in (("Left Column", -3.0), ("Middle Column", 0.0), ("Right Column", 3.0))
    ]
    fps = 24.0
    pulled = np.array([0.0, -speed, 0.0])
    columns[1] = parts.let_go(replace(columns[1], velocity=pulled, position=columns[1].position + 2.0 * pulled / fps), 12, fps)
    spec = SceneSpec((parts.ground(DRY_STONE), *columns, *slab), fps=fps, frame_end=61)
    return BondedScene(spec, names(slab), bearing(tension * MPA, tension * MPA))


def falling_chimney(courses: int = 24, tilt: float = 0.12, tension: float = 1.0) -> BondedScene:
    """A chimney that topples, and breaks in the air below its middle: its base turns faster than a free top would fall.

    Parameters
    ----------
    courses : number of blocks of 0.8 m, one above the other
    tilt : rad, initial tilt of the chimney on its edge
    tension : MPa, tensile strength of the joints, half their shear strength
    """
    side = 0.8
    turn = parts.axis_angle((0.0, 1.0, 0.0), tilt)
    rotation = np.array([[np.cos(tilt), 0.0, np.sin(tilt)], [0.0, 1.0, 0.0], [-np.sin(tilt), 0.0, np.cos(tilt)]])
    # It stands on the edge at x = side / 2.
    edge = np.array([0.5 * side, 0.0, 0.0])
    blocks = [
        parts.box(
            f"Course {i}",
            (side, side, side),
            edge + rotation @ (np.array([0.0, 0.0, (i + 0.5) * side]) - edge),
            DRY_STONE,
            mass=BRICK_DENSITY * side**3,
            orientation=turn,
        )
        for i in range(courses)
    ]
    spec = SceneSpec((parts.ground(parts.pair_material(1.0)), *blocks), frame_end=121)
    return BondedScene(spec, names(blocks), bearing(tension * MPA, 2.0 * tension * MPA))


def bonded_bridge(stones: int = 12, loads: int = 10, tension: float = 1.0) -> BondedScene:
    """A flat bridge of bonded stones between two abutments, which is loaded block by block until it fails.

    Parameters
    ----------
    stones : number of stones in a row
    loads : number of iron blocks of 256 kg, released one after the other
    tension : MPa, tensile and shear strength of the joints
    """
    span, wide, deep, high, load = 3.6, 0.5, 0.4, 1.5, 0.32
    length = span / stones
    abutments = [
        fixed(name, (1.0, 1.0, high + deep), (sign * (0.5 * span + 0.5), 0.0, 0.5 * (high + deep)))
        for name, sign in (("Left Abutment", -1.0), ("Right Abutment", 1.0))
    ]
    row = [
        parts.box(
            f"Stone {i}",
            (length, wide, deep),
            ((i + 0.5) * length - 0.5 * span, 0.0, high + 0.5 * deep),
            DRY_STONE,
            mass=2000.0 * length * wide * deep,
        )
        for i in range(stones)
    ]
    weights = []
    for i in range(loads):
        # In two stacks next to each other, each block 0.5 mm above its support.
        position = np.array([(-0.5 if i % 2 else 0.5) * 1.02 * load, 0.0, high + deep + (i // 2 + 0.5) * load + 5e-4])
        block = parts.box(f"Load {i}", (load, load, load), position, DRY_STONE, mass=IRON_DENSITY * load**3)
        weights.append(parts.let_go(block, 6 + 8 * i))
    spec = SceneSpec((parts.ground(DRY_STONE), *abutments, *row, *weights), frame_end=6 + 8 * loads + 36)
    return BondedScene(spec, names([*abutments, *row]), bearing(tension * MPA, tension * MPA))


def ice_on_a_lake(pieces: int = 70, mass: float = 90.0, tension: float = 1.4, seed: int = 3) -> BondedScene:
    """A sheet of ice of 15 cm that is frozen to the shore, and a falling boulder. There is no water.

    Parameters
    ----------
    pieces : pieces of the sheet, smaller near the point of impact
    mass : kg, mass of the boulder
    tension : MPa, tensile and shear strength of the ice
    seed : seed of the pieces
    """
    side, thick, high, rim = 6.0, 0.15, 0.8, 0.6
    half, random = 0.5 * side, np.random.default_rng(seed)
    near = np.clip(random.normal(scale=0.9, size=(pieces // 2, 2)), 0.05 - half, half - 0.05)
    points = np.concatenate([near, random.uniform(-half, half, (pieces - len(near), 2))])
    corner = np.full(2, half)
    sheet = [lifted(one, high) for one in plates("Ice", cells(points, -corner, corner), thick, np.eye(3), ICE_DENSITY)]
    sheet = [replace(one, material=WET_ICE) for one in sheet]
    top = high + 0.5 * thick
    shore = [
        fixed(f"Shore {name}", size, (x, y, 0.5 * top))
        for name, x, y, size in (
            ("West", -half - 0.5 * rim, 0.0, (rim, side + 2.0 * rim, top)),
            ("East", half + 0.5 * rim, 0.0, (rim, side + 2.0 * rim, top)),
            ("South", 0.0, -half - 0.5 * rim, (side, rim, top)),
            ("North", 0.0, half + 0.5 * rim, (side, rim, top)),
        )
    ]
    boulder = ball_of("Boulder", 0.2, np.array([0.1, 0.05, top + 1.6]), mass)
    spec = SceneSpec((parts.ground(DRY_STONE), *shore, *sheet, boulder), frame_end=61)
    return BondedScene(spec, names([*shore, *sheet]), bearing(tension * MPA, tension * MPA))


def bearing(tension: float, shear: float) -> Stresses:
    """Return the strength of a material [Pa]."""
    # Imported here because it loads scipy, which registering the add-on should not do.
    from ..fracture.bonds import Stresses

    return Stresses(tension, shear)


def names(bodies: Sequence[BodySpec]) -> tuple[str, ...]:
    """Return the names of bodies."""
    return tuple(body.name for body in bodies)


def ball_of(name: str, radius: float, position: Array, mass: float) -> BodySpec:
    """Return an active ball with a radius [m] and a mass [kg]."""
    return BodySpec(name, BodyKind.ACTIVE, parts.sphere_shape(radius), position, mass=mass, material=DRY_STONE)


def fixed(name: str, size: Sequence[float], position: Sequence[float]) -> BodySpec:
    """Return a passive box with the given sizes (3,) [m]."""
    return BodySpec(name, BodyKind.PASSIVE, parts.box_shape(size), np.array(position, dtype=np.float64), material=DRY_STONE)


def lifted(body: BodySpec, height: float) -> BodySpec:
    """Return the body, raised by a height [m]."""
    return replace(body, position=body.position + np.array([0.0, 0.0, height]))


def cells(points: Array, low: Array, high: Array) -> list[Array]:
    """Return the Voronoi cells of points in a rectangle.

    The sides of the rectangle are the boundaries between the points and their mirror images.

    Parameters
    ----------
    points : (n, 2) m, inside
    low, high : (2,) m, corners of the rectangle

    Returns
    -------
    list of (k, 2) : m, the corners of each cell in order around it
    """
    # Imported here because it loads scipy, which registering the add-on should not do.
    from scipy.spatial import Voronoi

    images = [np.where(np.arange(2) == axis, 2.0 * side - points, points) for axis in range(2) for side in (low, high)]
    diagram = Voronoi(np.concatenate([points, *images]))
    found = []
    for region in diagram.point_region[: len(points)]:
        corners = diagram.vertices[diagram.regions[region]]
        around = corners - corners.mean(axis=0)
        found.append(corners[np.argsort(np.arctan2(around[:, 1], around[:, 0]))])
    return found


def plates(name: str, polygons: Sequence[Array], thickness: float, axes: Array, density: float) -> list[BodySpec]:
    """Return prisms with polygonal bases (k, 2) [m], whose middle plane contains the origin.

    Parameters
    ----------
    thickness : m
    axes : (3, 3), the rows are the two axes of the polygons and their normal
    density : kg/m^3
    """
    bodies = []
    for i, polygon in enumerate(polygons):
        outline = np.concatenate([polygon, polygon])
        heights = np.repeat([-0.5 * thickness, 0.5 * thickness], len(polygon))
        corners = np.column_stack([outline, heights]) @ axes
        middle = corners.mean(axis=0)
        shape = ShapeSpec(ShapeKind.HULL, corners - middle, prism_triangles(len(polygon)))
        bodies.append(BodySpec(f"{name} {i}", BodyKind.ACTIVE, shape, middle, density=density, material=DRY_STONE))
    return bodies


def prism_triangles(sides: int) -> NDArray[np.int32]:
    """Return the outward triangles (4 sides - 4, 3) of a prism.

    Its corners are those of the lower polygon, then of the upper one.
    """
    fan, around = np.arange(1, sides - 1), np.arange(sides)
    after = (around + 1) % sides
    lower = np.column_stack([np.zeros_like(fan), fan + 1, fan])
    upper = sides + np.column_stack([np.zeros_like(fan), fan, fan + 1])
    near, far = np.column_stack([around, after, after + sides]), np.column_stack([around, after + sides, around + sides])
    return np.concatenate([lower, upper, near, far]).astype(np.int32)
