# SPDX-License-Identifier: GPL-3.0-or-later
"""Everyday scenes do what they are there for: dishes rest, belts carry, and toys with a heavy foot rise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.dynamics.simulation import Simulation
from solver_core.geometry.mass_properties import mass_properties
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec
from solver_core.scenes.everyday import bin_of_mugs, conveyor, lathe_shape, mug_shape, roly_polies, table_for_twelve


def is_closed(triangles: np.ndarray) -> bool:
    """Whether each edge is passed once in either direction."""
    edges = Counter((int(one[i]), int(one[(i + 1) % 3])) for one in triangles for i in range(3))
    return all(count == 1 and edges[end, start] == 1 for (start, end), count in edges.items())


def test_a_lathe_makes_a_closed_solid_of_the_volume_of_its_profile():
    """A cylinder of 24 sides has the area 12 r^2 sin(15 degrees) and its height."""
    shape = lathe_shape(((0.1, 0.0), (0.1, 0.3)))
    assert is_closed(shape.triangles)
    volume = mass_properties(shape.vertices, shape.triangles, density=1.0).mass
    assert volume == pytest.approx(12.0 * 0.1**2 * np.sin(np.radians(15.0)) * 0.3, rel=1e-12)


def test_a_mug_is_one_closed_solid_with_one_hole_through_its_handle():
    """Euler's characteristic of a torus is 0, of a cup without a handle 2."""
    mug = mug_shape()
    assert is_closed(mug.triangles) and len(mug.vertices) - len(mug.triangles) / 2 == 0
    assert set(mug.triangles.ravel()) == set(range(len(mug.vertices)))
    cup = lathe_shape(((0.03, 0.0), (0.04, 0.09), (0.036, 0.09), (0.025, 0.008)))
    assert len(cup.vertices) - len(cup.triangles) / 2 == 2
    # the handle reaches beyond the wall on one side
    assert mug.vertices[:, 0].max() > 0.07 and mug.vertices[:, 0].min() == pytest.approx(-0.042, abs=1e-6)


def some_of(spec: SceneSpec, names: tuple[str, ...]) -> SceneSpec:
    """The scene with its passive bodies, and with the active ones of these names."""
    return replace(spec, bodies=tuple(b for b in spec.bodies if b.kind is not BodyKind.ACTIVE or b.name in names))


@pytest.mark.slow
def test_a_place_at_the_table_comes_to_rest_where_it_is_laid():
    spec = some_of(table_for_twelve(), ("Plate 1", "Cup 1", "Fork 1", "Knife 1"))
    settled = sc.settle(spec, max_seconds=4.0)
    moving = [i for i, body in enumerate(spec.bodies) if body.kind is BodyKind.ACTIVE]
    assert settled.rests[moving].all() and not settled.lost.any() and settled.overlap < 1e-4
    for i in moving:
        start, end = spec.bodies[i].position, settled.poses[i, :3]
        assert np.linalg.norm((end - start)[:2]) < 0.05 and 0.0 < start[2] - end[2] < 0.1


@pytest.mark.slow
def test_mugs_stay_in_their_bin():
    spec = bin_of_mugs(mugs=3)
    settled = sc.settle(spec, max_seconds=4.0)
    places = np.array([pose[:3] for body, pose in zip(spec.bodies, settled.poses, strict=True) if body.name.startswith("Mug")])
    assert not settled.lost.any() and settled.overlap < 1e-4
    assert (np.abs(places[:, 0]) < 0.25).all() and (np.abs(places[:, 1]) < 0.18).all() and (places[:, 2] > 0.02).all()


@pytest.mark.slow
def test_belts_carry_a_parcel_down_and_around_the_corner():
    spec = conveyor(parcels=1, frames=73)
    still = replace(spec, bodies=tuple(replace(body, surface_motion=None) for body in spec.bodies))
    carried, left = (Simulation(one).run(72)[-1].poses[-1, :3] for one in (spec, still))
    start = spec.bodies[-1].position
    assert carried[0] > 0.0 and carried[1] > start[1] + 0.5 and carried[2] < start[2] - 0.3
    assert np.abs(left - start).max() < 1e-3


@pytest.mark.slow
def test_a_roly_poly_rises_by_its_center_of_mass_alone():
    spec = roly_polies(count=1, frames=121)
    ordinary = replace(spec, bodies=tuple(replace(body, center_of_mass=None) for body in spec.bodies))
    upright = []
    for one in (spec, ordinary):
        _, x, y, _ = Simulation(one).run(120)[-1].poses[-1, 3:]
        upright.append(1.0 - 2.0 * (x * x + y * y))
    # it begins at 0.36, and rocks for a while
    assert upright[0] > 0.85 and upright[1] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [30.0, 89.0])
def test_a_sheet_of_paper_that_falls_on_its_short_side_ends_flat(degrees):
    """A tenth of a millimeter thick."""
    angle = np.radians(degrees)
    height = 0.5 * 0.297 * np.sin(angle) + 0.1
    turn = parts.axis_angle((1.0, 0.0, 0.0), angle)
    sheet = parts.box("Sheet", (0.21, 0.297, 1e-4), (0.0, 0.0, height), parts.pair_material(0.25), 0.005, turn)
    frames = sc.Simulation(SceneSpec((parts.ground(parts.pair_material(0.25)), sheet)), substeps=10).run(60)
    _, x, y, _ = frames[-1].poses[1, 3:]
    assert abs(1.0 - 2.0 * (x**2 + y**2)) > np.cos(np.radians(0.5))
    assert abs(frames[-1].poses[1, 2] - 5e-5) < 1e-4
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames[1:])


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 10])
def test_a_marble_runs_through_a_groove_of_pieces_as_through_one(pieces):
    """In a groove of a right angle it rolls about points at r / sqrt(2) from its axis: a = g sin / (1 + 2 / 5 * 2)."""
    radius, length, slope = 0.05, 4.0, np.radians(20.0)
    groove, material = [], parts.pair_material(0.9)
    for side in (-1.0, 1.0):
        rotation = Rotation.from_rotvec([side * 0.25 * np.pi, 0.0, 0.0])
        for i in range(pieces):
            middle = rotation.apply([(i + 0.5) * length / pieces - 0.2, side * 0.2, -0.05])
            shape = parts.box_shape((length / pieces, 0.4, 0.1))
            turn = rotation.as_quat(scalar_first=True)
            groove.append(BodySpec(f"Board {side} {i}", BodyKind.PASSIVE, shape, middle, turn, material=material))
    place = np.array([0.0, 0.0, np.sqrt(2.0) * radius])
    marble = BodySpec("Marble", BodyKind.ACTIVE, parts.sphere_shape(radius), place, mass=0.1, material=material)
    gravity = 9.81 * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    spec = SceneSpec((marble, *groove), gravity=gravity)
    frames = sc.Simulation(spec, substeps=10).run(30)
    seconds = 30.0 / spec.fps
    assert frames[-1].poses[0, 0] == pytest.approx(0.5 * 9.81 * np.sin(slope) / 1.8 * seconds**2, rel=0.01)
    assert abs(frames[-1].poses[0, 1]) < 1e-3 and abs(frames[-1].poses[0, 2] - place[2]) < 1e-3
