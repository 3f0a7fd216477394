# SPDX-License-Identifier: GPL-3.0-or-later
"""What surprises in a valid scene is said of the bodies it is about, and nothing is said of plain scenes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.deformable import DeformableSpec
from solver_core.scene.spec import BodyKind, BodySpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.validation.surprises import surprises, thickness

from ..deformable.beams import BEAM, DENSITY, divided
from ..meshes import torus
from ..shapes import box

FLOOR = BodySpec("Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE))


def body(name="Box", size=1.0, mass=1.0, **values):
    return BodySpec(name, BodyKind.ACTIVE, box(size, size, size), mass=mass, **values)


def said(*bodies, substeps=10, **values):
    settings = SolverSettings(substeps=substeps)
    return [(one.objects, one.field) for one in surprises(sc.SceneSpec((FLOOR, *bodies), **values), settings)]


def test_of_a_box_on_a_floor_there_is_nothing_to_say():
    assert said(body()) == []


@pytest.mark.parametrize("scene", [sc.scenes.card_house(levels=2), sc.scenes.arch()], ids=["house", "arch"])
def test_the_scenes_that_are_measured_surprise_nobody(scene):
    assert surprises(scene, SolverSettings()) == ()


def test_masses_beyond_what_was_measured_are_named():
    assert said(body("Light", mass=1e-3), body("Heavy", mass=2e3)) == [(("Heavy", "Light"), "mass")]
    assert said(body("Light", mass=1e-3), body("Heavy", mass=9e2)) == []


@pytest.mark.parametrize("substeps", [5, 10, 40])
def test_tiny_is_what_falls_by_its_thickness_in_two_steps(substeps):
    """g t^2 / 2 is the way that something falls from rest."""
    two_steps = 2.0 / (24.0 * substeps)
    way = 9.81 * two_steps**2 / 2.0
    assert said(body(size=1.01 * way), substeps=substeps) == []
    assert said(body(size=0.99 * way), substeps=substeps) == [(("Box",), "substeps")]
    assert said(body(size=0.99 * way), substeps=substeps, gravity=np.zeros(3)) == []


def test_the_substeps_that_are_named_are_enough():
    scene = sc.SceneSpec((FLOOR, body(size=1e-4)))
    (warning,) = surprises(scene, SolverSettings())
    wanted = int(warning.message.split(" substeps give ")[0].split()[-1])
    assert surprises(scene, SolverSettings(substeps=wanted)) == ()
    assert surprises(scene, SolverSettings(substeps=wanted - 1)) != ()


def test_an_animated_body_that_is_too_fast_is_named_with_its_frame():
    path = np.zeros((10, 7))
    path[:, 3] = 1.0
    path[5:, 0] = 11.0
    pusher = replace(body("Pusher", mass=None), kind=BodyKind.ANIMATED, path=path)
    scene = sc.SceneSpec((FLOOR, body(), pusher), frame_start=1, frame_end=10)
    (warning,) = surprises(scene, SolverSettings(substeps=10))
    assert warning.objects == ("Pusher", "Box") and "from frame 5 to 6" in warning.message
    assert surprises(scene, SolverSettings(substeps=12)) == ()


def test_what_spins_too_fast_for_its_steps_is_named_with_those_that_it_needs():
    turning = [replace(body(), angular_velocity=np.array([0.0, rate, 0.0])) for rate in (119.0, -200.0)]
    assert said(turning[0]) == []
    assert said(turning[1]) == [(("Box",), "substeps")]
    spec = sc.SceneSpec((turning[1],))
    (warning,) = surprises(spec, SolverSettings())
    wanted = int(warning.message.split(" substeps reduce it")[0].split()[-1])
    assert wanted == 17
    assert surprises(spec, SolverSettings(substeps=wanted)) == ()


def test_a_room_that_nobody_knows_of_is_named():
    points, triangles = torus(4.0, 1.0, 12, 8)
    mesh = ShapeSpec(ShapeKind.MESH, points, np.asarray(triangles, dtype=np.int32))
    room = BodySpec("Room", BodyKind.PASSIVE, replace(mesh, triangles=mesh.triangles[:, ::-1].copy()))
    assert said(body(), room) == [(("Room",), "normals")]
    assert said(body(), replace(room, shape=mesh)) == []


def test_thickness_is_that_of_the_thinnest_part():
    assert thickness(box(1.0, 0.2, 3.0, margin=0.05)) == pytest.approx(0.3)
    assert thickness(ShapeSpec(ShapeKind.CYLINDER, np.array([[0, 0, 0], [0, 0, 2.0]]), radius=0.1)) == pytest.approx(0.2)
    assert thickness(FLOOR.shape) == np.inf


@pytest.mark.parametrize(("cells", "is_named"), [(1, True), (2, False), (8, False)])
def test_a_mesh_that_is_too_coarse_to_show_a_bend_is_named(cells, is_named):
    board = BodySpec("Board", BodyKind.ACTIVE, divided(BEAM, (cells, 1, 1)), density=DENSITY, deformable=DeformableSpec())
    assert said(board) == ([(("Board",), "shape")] if is_named else [])


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "is_named"), [(40, False), (50, True)])
def test_a_mesh_that_is_so_fine_that_bending_it_takes_all_the_time_is_named(cells, is_named):
    shape = divided(BEAM, (cells, cells, 1))
    board = BodySpec("Board", BodyKind.ACTIVE, shape, density=DENSITY, deformable=DeformableSpec())
    warnings = surprises(sc.SceneSpec((board,)), SolverSettings())
    found = [warning for warning in warnings if "follow its surface" in warning.message]
    assert len(found) == is_named
    assert not is_named or found[0].message.startswith(f"its {len(shape.triangles):,} triangles")
