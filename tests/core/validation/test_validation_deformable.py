# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that cannot bend are named, with the field and what to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.joints import JointSpec
from solver_core.scene.parts import box_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, SolverSettings
from solver_core.validation.deformable import deformable_problems
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import validate

from ..deformable.beams import box, mesh
from ..meshes import CUBE, CUBE_TRIANGLES, sheet

BODY = BodySpec("Board", BodyKind.ACTIVE, box(), density=700.0)


def found(body=BODY, **changes):
    return {problem.field: str(problem) for problem in deformable_problems(body, replace(DeformableSpec(), **changes))}


def test_a_board_can_bend():
    assert found() == {}
    assert found(pinned=np.arange(4, dtype=np.int32), poisson=0.0, damping_ratio=0.0, modes=60, resolution=40) == {}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("young", 0.0, "stiffness must be above 0 and finite"),
        ("young", np.inf, "stiffness must be above 0 and finite"),
        ("poisson", 0.5, "nearly incompressible"),
        ("poisson", -0.1, "must be 0 (cork) to"),
        ("poisson", np.nan, "must be 0 (cork) to"),
        ("modes", 0, "choose 1 to 60"),
        ("modes", 61, "choose 1 to 60"),
        ("resolution", -1, "bricks along the longest side"),
        ("damping_ratio", -0.1, "must be 0"),
        ("damping_ratio", np.nan, "must be 0"),
        ("pinned", np.array([0, 8]), "are vertices 0 to 8; there are 8"),
        ("pinned", np.array([[0, 1]]), "they must be a list of vertex indices"),
        ("young", "stiff", "it must be a real number"),
        ("kind", "linear", "Elasticity.LINEAR"),
    ],
)
def test_values_out_of_range_are_named(field, value, message):
    problems = found(**{field: value})
    assert list(problems) == [field]
    assert problems[field].startswith(f"Board: {field}: ")
    assert message in problems[field]


def test_bodies_that_are_no_active_meshes_are_named():
    assert "only an active body" in found(replace(BODY, kind=BodyKind.PASSIVE, density=None))["deformable"]
    assert "choose the shape Mesh" in found(replace(BODY, shape=box_shape((1.0, 1.0, 1.0))))["shape"]


def test_open_and_inside_out_meshes_are_named():
    said = found(replace(BODY, shape=mesh(*sheet(4, 1.0)), deformable=DeformableSpec()))["shape"]
    assert "the mesh is open" in said and "voxel remesh" in said
    assert "point inward" in found(replace(BODY, shape=mesh(CUBE, CUBE_TRIANGLES[:, ::-1])))["normals"]
    assert "has no faces" in found(replace(BODY, shape=mesh(CUBE, CUBE_TRIANGLES[:0])))["triangles"]


def test_bodies_without_a_mass_are_named():
    assert "needs a mass or a density" in found(replace(BODY, density=None))["mass"]


def test_a_body_thinner_than_a_brick_is_named_with_the_bricks_it_needs():
    assert "40 are fine enough; choose so many, or 0" in found(resolution=10)["resolution"]
    assert found(resolution=40) == {}
    card = replace(BODY, shape=replace(BODY.shape, vertices=BODY.shape.vertices * [1.0, 1.0, 0.01]))
    assert "0.5 mm thin" in (said := found(card, resolution=40)["resolution"]) and "; choose 0, for" in said
    assert found(card) == {}


def test_a_body_in_two_parts_is_named():
    apart = np.concatenate([CUBE, CUBE + np.array([3.0, 0.0, 0.0])])
    problems = found(replace(BODY, shape=mesh(apart, np.concatenate([CUBE_TRIANGLES, CUBE_TRIANGLES + 8]))))
    assert "2 parts that hang on each other by nothing" in problems["shape"]


def test_large_bends_have_fewer_shapes_for_they_cost_more():
    assert found(kind=Elasticity.STVK, modes=40, resolution=40) == {}
    assert "choose 1 to 40" in found(kind=Elasticity.STVK, modes=41)["modes"]


def test_more_modes_than_bricks_have_are_named():
    cube = replace(BODY, shape=box((1.0, 1.0, 1.0)))
    assert "1 bricks have only 18; choose fewer modes or more bricks" in found(cube, resolution=1)["modes"]
    assert "pin less" in found(cube, resolution=1, pinned=np.arange(8, dtype=np.int32))["modes"]


def problems_of(body, **scene):
    try:
        validate(SceneSpec((body,), **scene), SolverSettings())
    except SceneError as error:
        return {problem.field: problem.message for problem in error.problems}
    return {}


def test_what_a_body_that_bends_cannot_do_in_a_simulation_is_named():
    bends = replace(BODY, deformable=DeformableSpec())
    assert problems_of(bends) == {}
    moving = replace(bends, deformable=DeformableSpec(pinned=np.arange(4)), velocity=np.array([0.0, 1.0, 0.0]))
    assert "start the body at rest" in problems_of(moving)["velocity"]
    assert problems_of(replace(bends, angular_factor=np.array([1.0, 0.0, 1.0]))) == {}
    assert "follows from the mesh" in problems_of(replace(bends, inertia=np.eye(3)))["inertia"]
    assert problems_of(bends, joints=(JointSpec("Hinge", "Board", ""),)) == {}
    assert "bounciness" in problems_of(replace(bends, material=MaterialSpec(restitution=2.0)))["restitution"]
