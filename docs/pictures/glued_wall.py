# SPDX-License-Identifier: GPL-3.0-or-later
"""A wall broken into Voronoi cells that fit each other exactly, glued face by face, and a ball that is keyed to fly at it.

What an add-on that fractures makes of a wall, with a breakable *Fixed* constraint for each face that two cells share; Blender's
own simulation moves the same file.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import numpy as np
from scipy.spatial import Voronoi
from scipy.spatial.transform import Rotation

from stiction.solver_core.geometry.solids import shape_mass_properties
from stiction.solver_core.scene.joints import JointSpec
from stiction.solver_core.scene.parts import ground, let_go, pair_material, sphere_shape
from stiction.solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

Floats = np.ndarray
SIZE = np.array([3.0, 0.3, 2.0])  # m
PIECES = 90
DENSITY = 1800.0  # kg/m^3
STONE = pair_material(0.6)
STRENGTH = 25.0  # N s in a time step, of each face
BALL, SHOT = 200.0, np.array([0.0, 16.0, 1.0])  # kg, m/s
LET_GO, FRAMES = 24, 97  # frames from the first on
OPEN = 0.01  # m by which the two sides of a face have come apart where it is counted as cracked


def cells(seed: int = 7) -> tuple[list[Floats], list[tuple[int, int, Floats]]]:
    """Corners (n, 3) m of the cells of random points in the wall, and the faces that two cells share, by their middles (3,) m.

    The wall's own faces are those between the points and their images in them.
    """
    low, high = SIZE * [-0.5, -0.5, 0.0], SIZE * [0.5, 0.5, 1.0]
    points = np.random.default_rng(seed).uniform(low, high, (PIECES, 3))
    images = [np.where(np.arange(3) == axis, 2.0 * side - points, points) for axis in range(3) for side in (low, high)]
    diagram = Voronoi(np.concatenate([points, *images]))
    corners = [diagram.vertices[diagram.regions[region]] for region in diagram.point_region[:PIECES]]
    between = zip(diagram.ridge_points.tolist(), diagram.ridge_vertices, strict=True)
    faces = [(a, b, diagram.vertices[face].mean(axis=0)) for (a, b), face in between if max(a, b) < PIECES]
    return corners, faces


def glued_wall() -> SceneSpec:
    """The wall on the ground, and the ball, which has its speed a second after the film begins."""
    corners, faces = cells()
    bodies = []
    for i, cell in enumerate(corners):
        place = cell.mean(axis=0)
        shape = ShapeSpec(ShapeKind.HULL, cell - place)
        bodies.append(BodySpec(f"Piece {i}", BodyKind.ACTIVE, shape, place, density=DENSITY, material=STONE))
    glue = [JointSpec(f"Glue {a} {b}", f"Piece {a}", f"Piece {b}", at, breaking_impulse=STRENGTH) for a, b, at in faces]
    ball = BodySpec("Ball", BodyKind.ACTIVE, sphere_shape(0.25), np.array([0.3, -1.5, 1.3]), velocity=SHOT, mass=BALL)
    return SceneSpec((ground(STONE), *bodies, let_go(ball, LET_GO)), frame_end=FRAMES, joints=tuple(glue))


def energy(spec: SceneSpec, film: Floats) -> Floats:
    """J of all that moves, between each two frames of a film (frames, bodies, 4, 4) of the spec's bodies."""
    total = np.zeros(len(film) - 1)
    for k, body in enumerate(spec.bodies):
        if body.kind is not BodyKind.ACTIVE:
            continue
        solid = shape_mass_properties(body.shape, mass=body.mass, density=body.density)
        middle = film[:, k, :3, :3] @ solid.center_of_mass + film[:, k, :3, 3]
        velocity = spec.fps * np.diff(middle, axis=0)
        turned = Rotation.from_matrix(film[:, k, :3, :3])
        spin = spec.fps * (turned[:-1].inv() * turned[1:]).as_rotvec()
        total += 0.5 * solid.mass * (velocity**2).sum(axis=1) + 0.5 * ((spin @ solid.inertia) * spin).sum(axis=1)
        total -= solid.mass * spec.gravity[2] * 0.5 * (middle[:-1, 2] + middle[1:, 2])
    return total


def figures(spec: SceneSpec, film: Floats) -> str:
    """What a film (frames, bodies, 4, 4) of the spec's bodies shows."""
    names = [body.name for body in spec.bodies]
    pieces = [k for k, name in enumerate(names) if name.startswith("Piece")]
    apart = []
    for joint in spec.joints:
        sides = [film[:, names.index(name)] for name in (joint.body_a, joint.body_b)]
        first, second = (side @ np.linalg.solve(side[0], np.append(joint.position, 1.0)) for side in sides)
        apart.append(np.linalg.norm(first - second, axis=1))
    hit = LET_GO + 2  # the first frame of it; frames count from 0 here
    moved = np.linalg.norm(film[:hit, :, :3, 3] - film[0, :, :3, 3], axis=2)[:, pieces].max()
    cracked = (np.array(apart) > OPEN).sum(axis=0)
    after = energy(spec, film)[LET_GO:]
    return (
        f"{len(pieces)} pieces, {len(apart)} faces; before the hit pieces moved by {1e3 * moved:.2f} mm, "
        f"{cracked[hit - 1]} faces cracked; at the end {cracked[-1]} cracked; energy {after[0] - after[-1]:.0f} J less than "
        f"when the ball flies, largest gain of a frame {max(np.diff(after).max(), 0.0):.0f} J"
    )
