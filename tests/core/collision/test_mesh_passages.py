# SPDX-License-Identifier: GPL-3.0-or-later
"""What passes right through a mesh when a scene begins is said, and finds its way out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

from ..meshes import CUBE, CUBE_TRIANGLES, blocks, sheet, torus
from ..shapes import mesh

NO_GRAVITY = np.zeros(3)


def block(*size, cells=None):
    """A box as a mesh, its faces cut into cells."""
    if cells is None:
        return mesh((CUBE * size, CUBE_TRIANGLES))
    xs, ys, zs = (np.linspace(-0.5, 0.5, n + 1) * s for n, s in zip(cells, size, strict=True))
    return mesh(blocks(xs, ys, zs, np.ones(cells, bool)))


def along_z(kind, half, radius):
    ends = np.array([[0.0, 0.0, -half], [0.0, 0.0, half]])
    if kind is ShapeKind.HULL:
        return ShapeSpec(kind, ends, margin=radius)
    return ShapeSpec(kind, ends, radius=radius)


RODS = {
    "mesh": block(0.02, 0.02, 0.4),
    "fine mesh": block(0.02, 0.02, 0.4, cells=(2, 2, 40)),
    "coarse mesh": block(0.02, 0.02, 0.4, cells=(1, 1, 7)),
    "hull": ShapeSpec(ShapeKind.HULL, CUBE * (0.02, 0.02, 0.4)),
    "capsule": along_z(ShapeKind.HULL, 0.19, 0.01),
    "cylinder": along_z(ShapeKind.CYLINDER, 0.2, 0.01),
    "card without thickness": ShapeSpec(ShapeKind.HULL, CUBE * (0.1, 0.0, 0.4), margin=0.0005),
}
PLATES = {
    "block": block(0.4, 0.4, 0.02),
    "fine block": block(0.4, 0.4, 0.02, cells=(13, 17, 2)),
    "thin block": block(0.4, 0.4, 0.002),
    "sheet": mesh(sheet(5, 0.4)),
}


def scene(plate, rod, position, tilt=0.0, size=1.0):
    shapes = [replace(s, vertices=size * s.vertices, margin=size * s.margin, radius=size * s.radius) for s in (plate, rod)]
    turned = np.roll(Rotation.from_rotvec((tilt, 0.5 * tilt, 0.0)).as_quat(), 1)
    through = BodySpec(
        "Rod", BodyKind.ACTIVE, shapes[1], position=size * np.asarray(position), orientation=turned, mass=size**3
    )
    return SceneSpec((BodySpec("Plate", BodyKind.PASSIVE, shapes[0]), through), gravity=NO_GRAVITY, fps=24.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plate", "rod"),
    [
        # each rod through two plates, each plate with three rods or more
        pytest.param(plate, rod, marks=() if (i + j) % 2 == 0 else pytest.mark.long)
        for i, plate in enumerate(PLATES)
        for j, rod in enumerate(RODS)
    ],
)
def test_what_passes_right_through_is_named_with_how_far_it_is_from_coming_out(plate, rod):
    """The rod reaches 0.25 m up and 0.15 m down: the shortest way out is up, by what is below the plate's upper side. Where it
    is upright its sides and those of the plate's triangles meet edge on edge."""
    way = 0.15 + 0.5 * np.ptp(PLATES[plate].vertices[:, 2])
    for tilt, size in ((0.0, 1.0), (0.2, 0.02), (0.2, 30.0)):
        simulation = sc.Simulation(scene(PLATES[plate], RODS[rod], (0.013, 0.017, 0.05), tilt, size))
        (warning,) = (warning for warning in simulation.warnings if warning.field == "overlap")
        assert warning.objects == ("Plate", "Rod")
        first = simulation.advance()
        assert np.abs(first.velocities).max() < 1e-9
        assert first.poses[1, 2] > 0.05 * size
        overlap = first.statistics.deepest_overlap[0] / size
        if plate == "sheet" and RODS[rod].kind is ShapeKind.MESH and len(RODS[rod].vertices) > 8:
            # beside a sheet the vertices that are nearest to it count
            assert overlap > 0.005
        else:
            assert way - 0.025 < overlap < way + 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rod", "position", "way"),
    [("mesh", (0.0, 0.0, 0.15), (0, 0, 1)), ("fine mesh", (0.0, 0.0, -0.15), (0, 0, -1)), ("capsule", (0.19, 0, 0), (1, 0, 0))],
)
def test_it_comes_out_where_that_is_shortest(rod, position, way):
    """At rest, apart, and moved along the way out alone. Of the fine rod one ring of vertices after another is in the faces."""
    simulation = sc.Simulation(scene(PLATES["thin block"], RODS[rod], position))
    frames = simulation.run(72)
    moved = frames[-1].poses[1, :3] - frames[0].poses[1, :3]
    assert frames[-1].statistics.deepest_overlap[-1] == 0.0
    assert moved @ way == pytest.approx(np.linalg.norm(moved), rel=1e-2)
    assert np.linalg.norm(moved) < 0.07
    assert max(np.abs(frame.velocities).max() for frame in frames) < 1e-9


@pytest.mark.slow
def test_a_rod_through_the_floor_of_a_house_leaves_it_by_the_floor():
    """The house is 2 m wide, with walls of 0.1 m, and the rod in its floor reaches 0.15 m below it."""
    filled = np.ones((3, 3, 3), dtype=bool)
    filled[1, 1, 1] = False
    walls = [-1.0, -0.9, 0.9, 1.0]
    house = mesh(blocks(walls, walls, walls, filled))
    simulation = sc.Simulation(scene(house, RODS["mesh"], (0.1, 0.2, -0.85), 0.1))
    assert 0.1 < simulation.advance().statistics.deepest_overlap[0] < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("clearance", [1e-4, 0.0, -1e-4])
def test_a_peg_that_fills_its_hole_stays_there(clearance):
    """On opposite sides of the peg the overlaps oppose each other, and yet neither goes through: it is not pulled out."""
    walls = [-0.2, -0.05, 0.05, 0.2]
    filled = np.ones((3, 3, 1), dtype=bool)
    filled[1, 1, 0] = False
    frame = mesh(blocks(walls, walls, [-0.05, 0.05], filled))
    peg = block(0.1 - 2.0 * clearance, 0.1 - 2.0 * clearance, 0.3)
    simulation = sc.Simulation(scene(frame, peg, (0.0, 0.0, 0.02)))
    frames = simulation.run(24)
    assert max(frame.statistics.deepest_overlap.max() for frame in frames[1:]) < 2e-4
    np.testing.assert_allclose(frames[-1].poses[1, :3], frames[0].poses[1, :3], atol=1e-4)


@pytest.mark.slow
def test_links_of_a_chain_that_overlap_part_within_each_other():
    """Their tubes cross: the shortest way out of the tube is taken, not that out of the whole ring."""
    ring = torus(0.2, 0.03, 32, 12)
    upright = np.roll(Rotation.from_rotvec((np.pi / 2.0, 0.0, 0.0)).as_quat(), 1)
    place = np.array([0.36, 0.0, 0.0])
    link = BodySpec("Link", BodyKind.ACTIVE, mesh(ring), position=place, orientation=upright, mass=1.0)
    spec = SceneSpec((BodySpec("Hook", BodyKind.PASSIVE, mesh(ring)), link), gravity=NO_GRAVITY, fps=24.0)
    frames = sc.Simulation(spec).run(48)
    assert frames[1].statistics.deepest_overlap[0] > 1e-3
    assert frames[-1].statistics.deepest_overlap[-1] == 0.0
    assert np.linalg.norm(frames[-1].poses[1, :3] - frames[0].poses[1, :3]) < 0.08
