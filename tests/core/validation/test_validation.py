# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that cannot be simulated is named by object and field, all of it at once."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.scene import parts
from solver_core.scene.spec import (
    BodyKind,
    BodySpec,
    ChildSpec,
    ContactMethod,
    Grain,
    MaterialSpec,
    PairSpec,
    SceneSpec,
    ShapeKind,
    ShapeSpec,
    SolverSettings,
    SurfaceMotion,
)
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import scene_warnings, validate

CUBE = ShapeSpec(ShapeKind.HULL, np.array(list(itertools.product((-0.5, 0.5), repeat=3))))
BODY = BodySpec("Cube", BodyKind.ACTIVE, CUBE, mass=1.0)
FLOOR = BodySpec("Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE))
SPEC = SceneSpec((BODY, FLOOR), frame_start=1, frame_end=3)
STILL = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (3, 1))
nan, inf = math.nan, math.inf


def points(*rows):
    return dataclasses.replace(CUBE, vertices=np.array(rows, dtype=float))


def named(changes):
    """The name of a test case: the field, and what is in it."""
    return repr(changes)[:60]


def problems(spec, settings=SolverSettings()):  # noqa: B008 (frozen)
    """What validation objects to, (object, field); nothing where it lets the scene pass."""
    try:
        validate(spec, settings)
    except SceneError as error:
        assert all(problem.message and str(problem) in str(error) for problem in error.problems)
        return {(problem.object, problem.field) for problem in error.problems}
    return set()


def body_fields(**changes):
    found = problems(dataclasses.replace(SPEC, bodies=(dataclasses.replace(BODY, **changes), FLOOR)))
    assert {name for name, _ in found} == {"Cube"}
    return {field for _, field in found}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"shape": points()}, "vertices"),
        ({"shape": dataclasses.replace(CUBE, vertices=np.zeros((4, 2)))}, "vertices"),
        ({"shape": points([0, 0, 0], [1, 0, nan], [0, 1, 0], [0, 0, 1])}, "vertices"),
        ({"shape": points([0, 0, 0], [1, 0, -inf], [0, 1, 0], [0, 0, 1])}, "vertices"),
        ({"shape": dataclasses.replace(CUBE, triangles=np.array([[0, 1, 8]]))}, "triangles"),
        ({"shape": dataclasses.replace(CUBE, triangles=np.array([[0, 1, -1]]))}, "triangles"),
        ({"shape": dataclasses.replace(CUBE, triangles=np.array([[0.0, 1.0, 2.0]]))}, "triangles"),
        ({"shape": dataclasses.replace(CUBE, margin=-0.01)}, "margin"),
        ({"shape": dataclasses.replace(CUBE, margin=nan)}, "margin"),
        ({"shape": dataclasses.replace(CUBE, margin=10**400)}, "margin"),
        ({"shape": ShapeSpec(ShapeKind.PLANE)}, "shape"),
        ({"position": np.array([0.0, nan, 0.0])}, "position"),
        ({"position": np.zeros(2)}, "position"),
        ({"orientation": np.array([1.0, nan, 0.0, 0.0])}, "orientation"),
        ({"orientation": np.zeros(4)}, "orientation"),
        ({"orientation": np.array([1.0, 0.1, 0.0, 0.0])}, "orientation"),
        ({"velocity": np.array([inf, 0.0, 0.0])}, "velocity"),
        ({"angular_velocity": np.array([0.0, 0.0, nan])}, "angular_velocity"),
        ({"linear_factor": np.array([1.0, 0.5, 1.0])}, "linear_factor"),
        ({"angular_factor": np.array([1.0, nan, 1.0])}, "angular_factor"),
        ({"mass": None}, "mass"),
        ({"mass": 0.0}, "mass"),
        ({"mass": -1.0}, "mass"),
        ({"mass": nan}, "mass"),
        ({"mass": inf}, "mass"),
        ({"density": 1000.0}, "mass"),
        ({"mass": None, "density": 0.0}, "density"),
        ({"mass": None, "density": nan}, "density"),
        ({"material": MaterialSpec(mu_static=-0.1, mu_dynamic=0.0)}, "mu_static"),
        ({"material": MaterialSpec(mu_static=nan)}, "mu_static"),
        ({"material": MaterialSpec(mu_dynamic=-0.1)}, "mu_dynamic"),
        ({"material": MaterialSpec(mu_dynamic=inf)}, "mu_dynamic"),
        ({"material": MaterialSpec(restitution=1.01)}, "restitution"),
        ({"material": MaterialSpec(restitution=nan)}, "restitution"),
        ({"material": MaterialSpec(rolling=-0.1)}, "rolling"),
        ({"material": MaterialSpec(torsion=nan)}, "torsion"),
        ({"material": MaterialSpec(grain=Grain((0.0, 0.0, 0.0)))}, "grain.direction"),
        ({"material": MaterialSpec(grain=Grain((1.0, nan, 0.0)))}, "grain.direction"),
        ({"material": MaterialSpec(grain=Grain((1.0, 0.0)))}, "grain.direction"),
        ({"material": MaterialSpec(grain=Grain(mu_static=-0.1))}, "grain.mu_static"),
        ({"material": MaterialSpec(grain=Grain(mu_dynamic=inf))}, "grain.mu_dynamic"),
        ({"material": MaterialSpec(grain="along x")}, "grain"),
        ({"material": MaterialSpec(grain=Grain("x"))}, "grain.direction"),
        ({"center_of_mass": np.array([0.0, nan, 0.0])}, "center_of_mass"),
        ({"center_of_mass": np.zeros(2)}, "center_of_mass"),
        ({"inertia": np.diag([1.0, 1.0, 2.1])}, "inertia"),
        ({"inertia": np.diag([1.0, 1.0, 0.0])}, "inertia"),
        ({"inertia": np.diag([1.0, 1.0, -1.0])}, "inertia"),
        ({"inertia": np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])}, "inertia"),
        ({"inertia": np.full((3, 3), nan)}, "inertia"),
        ({"shape": ShapeSpec(ShapeKind.NONE)}, "inertia"),
        ({"shape": ShapeSpec(ShapeKind.NONE), "inertia": np.eye(3), "mass": None, "density": 1.0}, "density"),
        ({"surface_motion": SurfaceMotion(velocity=np.zeros(2))}, "surface_motion.velocity"),
        ({"surface_motion": SurfaceMotion(velocity=np.zeros((2, 3)))}, "surface_motion.velocity"),
        ({"surface_motion": SurfaceMotion(spin=np.array([0.0, inf, 0.0]))}, "surface_motion.spin"),
        ({"linear_damping": -0.1}, "linear_damping"),
        ({"angular_damping": 1.5}, "angular_damping"),
        ({"angular_damping": nan}, "angular_damping"),
        ({"kind": BodyKind.ANIMATED, "path": None}, "path"),
        ({"kind": BodyKind.ANIMATED, "path": STILL[:2]}, "path"),
        ({"kind": BodyKind.ANIMATED, "path": np.full((3, 7), nan)}, "path"),
        ({"kind": BodyKind.ANIMATED, "path": STILL * 2.0}, "path"),
        ({"shape": points([0, 0, 0]), "mass": 1.0}, "mass"),
        ({"shape": points([0, 0, 0], [1, 1, 1])}, "mass"),
        ({"shape": points([0, 0, 0], [1, 0, 0], [0, 1, 0]), "mass": None, "density": 5.0}, "density"),
        ({"shape": dataclasses.replace(points([0, 0, 0], [1, 0, 0]), margin=1e-8)}, "inertia"),
    ],
)
def test_each_wrong_value_of_a_body_is_named_by_its_field(changes, field):
    spec_of_an_animated_one = changes.get("kind") is BodyKind.ANIMATED
    if spec_of_an_animated_one:
        animated = dataclasses.replace(BODY, name="Pusher", **changes)
        assert problems(dataclasses.replace(SPEC, bodies=(BODY, animated))) == {("Pusher", field)}
    else:
        assert body_fields(**changes) - {"bodies"} == {field}


@pytest.mark.parametrize(
    "changes",
    [
        {"material": MaterialSpec(0.0, 0.0, 1.0)},
        {"material": MaterialSpec(3.0, 2.0)},
        {"linear_damping": 1.0, "angular_damping": 0.0},
        {"material": MaterialSpec(rolling=0.01, torsion=0.02)},
        {"material": MaterialSpec(0.0, 0.0, grain=Grain((0.0, -1e-300, 0.0), 5.0, 0.0))},
        {"center_of_mass": np.array([0.0, 0.0, -5.0])},
        {"inertia": np.diag([1.0, 1.0, 2.0])},
        # a flat body in single precision
        {"inertia": np.diag(np.array([0.1, 0.2, 0.3], dtype=np.float32)).astype(float)},
        {"shape": ShapeSpec(ShapeKind.NONE), "inertia": np.diag([1.0, 2.0, 2.5])},
        {"kind": BodyKind.PASSIVE, "shape": ShapeSpec(ShapeKind.NONE), "mass": None},
        {"surface_motion": SurfaceMotion(np.array([1.0, 0.0, 0.0]), np.zeros((3, 3)))},
        {"shape": points([0, 0, 0], [1, 0, 0], [0, 1, 0])},
        {"shape": dataclasses.replace(points([0, 0, 0]), margin=0.1), "mass": None, "density": 2.0},
        {"shape": dataclasses.replace(points([0, 0, 0], [1, 0, 0], [0, 1, 0]), margin=0.1), "mass": None, "density": 2.0},
        {"kind": BodyKind.PASSIVE, "mass": None},
        {"kind": BodyKind.PASSIVE, "shape": points([0, 0, 0])},
        {"kind": BodyKind.ANIMATED, "path": STILL, "mass": None},
        {"orientation": np.array([0.6, 0.0, -0.8, 0.0]) * (1.0 + 1e-8)},
        {"linear_factor": np.array([0.0, 1.0, 0.0]), "angular_factor": np.zeros(3)},
    ],
)
def test_what_is_unusual_but_sound_passes(changes):
    other = dataclasses.replace(BODY, name="Other", **changes)
    assert problems(dataclasses.replace(SPEC, bodies=(BODY, other, FLOOR))) == set()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"bodies": ()}, "bodies"),
        ({"bodies": (FLOOR,)}, "bodies"),
        ({"frame_end": 0}, "frame_end"),
        ({"fps": 0.0}, "fps"),
        ({"fps": nan}, "fps"),
        ({"time_scale": -1.0}, "time_scale"),
        ({"time_scale": inf}, "time_scale"),
        ({"gravity": np.array([0.0, 0.0, nan])}, "gravity"),
        ({"gravity": np.array([0.0, -9.81])}, "gravity"),
        ({"excluded": ((FLOOR.name, "Nobody"),)}, "excluded"),
        ({"excluded": ((FLOOR.name, FLOOR.name),)}, "excluded"),
        ({"excluded": ((FLOOR.name,),)}, "excluded"),
    ],
)
def test_each_wrong_value_of_the_scene_is_named(changes, field):
    assert problems(dataclasses.replace(SPEC, **changes)) == {("Scene", field)}


@pytest.mark.parametrize(
    "changes",
    [
        {"tolerance": 0.0},
        {"tolerance": -1e-6},
        {"tolerance": nan},
        {"tolerance": inf},
        {"max_iterations": 0},
        {"substeps": 0},
        {"polygon_sides": 2},
        {"polygon_sides": -3},
    ],
)
def test_each_wrong_setting_is_named(changes):
    assert problems(SPEC, dataclasses.replace(SolverSettings(), **changes)) == {("Solver settings", *changes)}


def test_a_polygon_is_refused_where_pivoting_would_take_the_exact_cone_all_the_same():
    assert problems(SPEC, SolverSettings(ContactMethod.PIVOT, polygon_sides=8)) == {("Solver settings", "polygon_sides")}
    assert problems(SPEC, SolverSettings(ContactMethod.PIVOT)) == set()


OF_NO_FITTING_TYPE = [
    *(
        {"shape": dataclasses.replace(CUBE, vertices=v)}
        for v in ("a", None, [[0, 0], [0]], [[1j, 0, 0]], np.array([["a"] * 3]))
    ),
    *({"shape": shape} for shape in (None, "hull", CUBE.vertices)),
    *({"material": MaterialSpec(mu_static=value)} for value in ("a", None, True, 1e300)),
    *({"mass": value} for value in ("a", True, [1.0], np.ones(1), 10**400)),
    *({"collections": value} for value in (1.0, "a", 2**63, -(2**63) - 1, None)),
    *({"kind": value} for value in ("active", None, ShapeKind.HULL)),
    *({"angular_velocity": value} for value in ([1e300, 0, 0], "abc", None, [True, False, True])),
    {"linear_damping": "0.5"},
    {"path": "a"},
]


@pytest.mark.parametrize("changes", OF_NO_FITTING_TYPE, ids=named)
def test_a_field_of_a_body_that_is_of_no_fitting_type_is_named(changes):
    ((field, value),) = changes.items()
    inner = {MaterialSpec: "mu_static", ShapeSpec: "vertices"}.get(type(value), field)
    assert body_fields(**changes) == {inner}


@pytest.mark.parametrize(
    "child", [None, CUBE, ChildSpec(dataclasses.replace(CUBE, kind="hull")), ChildSpec(CUBE, "a")], ids=named
)
def test_a_part_of_no_fitting_type_is_named_by_its_number(child):
    compound = ShapeSpec(ShapeKind.COMPOUND, children=(ChildSpec(CUBE), child))
    (field,) = body_fields(shape=compound)
    assert field.startswith("children.1")


@pytest.mark.parametrize(
    "changes",
    [
        *({"bodies": value} for value in (None, "ab", 3)),
        *({"frame_start": value} for value in (1.0, "1", True)),
        *({"frame_end": value} for value in (1.5, None, 2**63)),
        *({"fps": value} for value in ("a", None, 1j)),
        *({"friction_combine": value} for value in ("product", None, BodyKind.ACTIVE)),
        {"restitution_combine": "product"},
        {"gravity": "down"},
        {"gravity": [0, 0, -1e41]},
        {"excluded": "Cube"},
    ],
    ids=named,
)
def test_a_field_of_the_scene_that_is_of_no_fitting_type_is_named(changes):
    assert problems(dataclasses.replace(SPEC, **changes)) == {("Scene", *changes)}


def test_what_stands_in_place_of_a_body_or_of_a_pair_is_named_by_its_number():
    assert problems(dataclasses.replace(SPEC, bodies=(BODY, None))) == {("Scene", "bodies.1")}
    assert problems(dataclasses.replace(SPEC, bodies=(dataclasses.replace(BODY, name=None),))) == {("Body 0", "name")}
    assert problems(dataclasses.replace(SPEC, excluded=((BODY.name, FLOOR.name), FLOOR.name))) == {("Scene", "excluded.1")}
    assert problems(None) == {("Scene", "scene")}


@pytest.mark.parametrize(
    "changes",
    [
        *({"method": value} for value in ("pivot", None)),
        *({"tolerance": value} for value in ("a", None, True)),
        *({"max_iterations": value} for value in (2.5, "a", nan, 2**63)),
        *({"substeps": value} for value in (1.5, 10.0, "a", True)),
        *({"polygon_sides": value} for value in (3.5, 8.0, True)),
        *({"warm_start": value} for value in (1, None)),
        {"sleeping": "no"},
    ],
    ids=named,
)
def test_a_setting_of_no_fitting_type_is_named(changes):
    assert problems(SPEC, dataclasses.replace(SolverSettings(), **changes)) == {("Solver settings", *changes)}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        *(({"fps": value}, "Scene: fps") for value in (0, -1, nan, "a")),
        *(({"substeps": value}, "Solver settings: substeps") for value in (0, 1.5, True)),
        *(({"polygon_sides": value}, "Solver settings: polygon_sides") for value in (3.5, 2)),
        ({"max_iterations": 2.5}, "Solver settings: max_iterations"),
        ({"polygon_sides": 8, "method": "pivot"}, "Solver settings: polygon_sides"),
        *(({"method": value}, "method must be one of staggered, pivot") for value in ("x", None, ["pivot"])),
    ],
)
def test_arguments_of_a_simulation_are_judged_as_the_fields_that_they_stand_for(changes, named):
    with pytest.raises(ValueError, match=named):
        sc.Simulation(SPEC, **changes)


def test_numbers_lists_and_arrays_of_any_numeric_type_fit():
    round_shape = ShapeSpec(ShapeKind.CYLINDER, [[0, 0, 0], [0, 0, 1]], radius=np.float32(1))
    pose = {"position": (5, 0, 1), "velocity": np.zeros(3, np.float32)}
    drum = BodySpec("Drum", BodyKind.ACTIVE, round_shape, **pose, mass=1, collections=np.int64(1))
    cube = box_mesh((1, 1, 1))
    listed = ShapeSpec(ShapeKind.MESH, cube.vertices.tolist(), cube.triangles.tolist())
    mesh = BodySpec("Mesh", BodyKind.ANIMATED, listed, path=[[0, 0, 0, 1, 0, 0, 0]] * 3, deformation=[listed.vertices] * 3)
    spec = SceneSpec([drum, mesh], gravity=[0, 0, -10], frame_end=np.int64(3), fps=24)
    assert problems(spec, SolverSettings(substeps=np.int32(2), warm_start=np.False_)) == set()
    bodies, state = build_bodies(spec)
    assert bodies.model.mass[0] == 1.0 and state.position[0].tolist() == [5.0, 0.0, 1.5]


def box_mesh(size):
    return dataclasses.replace(parts.box_shape(size), kind=ShapeKind.MESH)


@pytest.mark.parametrize(
    ("mesh", "is_open"),
    [
        (box_mesh((1, 1, 1e-8)), False),
        (box_mesh((1, 1, 0)), False),
        (box_mesh((1, 1, -0.0)), False),
        (dataclasses.replace(box_mesh((1, 1, 1)), triangles=np.array([[0, 1, 2], [2, 1, 0]])), False),
        (dataclasses.replace(box_mesh((1, 1, 1)), triangles=np.array([[0, 1, 2]])), True),
        (dataclasses.replace(box_mesh((1, 1, 1e-8)), triangles=box_mesh((1, 1, 1)).triangles[1:]), True),
    ],
    ids=["thin", "flat", "flat from below", "sheet with two sides", "triangle", "thin with a hole"],
)
def test_a_mesh_without_inside_is_called_open_only_where_it_has_a_hole(mesh, is_open):
    body = dataclasses.replace(BODY, shape=mesh)
    with pytest.raises(SceneError) as raised:
        validate(dataclasses.replace(SPEC, bodies=(body, FLOOR)), SolverSettings())
    (problem,) = raised.value.problems
    assert (problem.object, problem.field) == ("Cube", "shape")
    assert ("the mesh is open" in problem.message, "thinner than" in problem.message) == (is_open, not is_open)


def test_a_mesh_whose_vertices_all_merge_is_named():
    """Its faces are long and so thin that none is left once their ends are merged."""
    needle = ShapeSpec(ShapeKind.MESH, np.array([[0, 0, 0], [1, 0, 0], [1, 1e-7, 0]]), np.array([[0, 1, 2]]))
    for kind in (BodyKind.ACTIVE, BodyKind.PASSIVE):
        other = BodySpec("Needle", kind, needle, mass=1.0 if kind is BodyKind.ACTIVE else None)
        assert problems(dataclasses.replace(SPEC, bodies=(BODY, other))) == {("Needle", "triangles")}


@pytest.mark.parametrize("shrunk", [0.0, (1.0, 0.0, 0.0)], ids=["point", "line"])
def test_a_deforming_mesh_that_loses_its_area_is_named_with_the_frame(shrunk):
    mesh = box_mesh((1, 1, 1))
    deformation = np.array([mesh.vertices, 1e-3 * mesh.vertices, mesh.vertices * shrunk])
    sack = BodySpec("Sack", BodyKind.PASSIVE, mesh, deformation=deformation)
    spec = dataclasses.replace(SPEC, bodies=(BODY, sack), frame_start=5, frame_end=7)
    with pytest.raises(SceneError, match=r"Sack: deformation: .* at frame 7;"):
        validate(spec, SolverSettings())
    flat = dataclasses.replace(sack, deformation=deformation[[0, 1, 1]] * (1.0, 1.0, 0.0))
    assert problems(dataclasses.replace(spec, bodies=(BODY, flat))) == set()


@pytest.mark.parametrize(
    "pairs",
    [
        (PairSpec("", "Ice"),),
        (PairSpec("Steel", "Ice", mu_static=-0.1),),
        (PairSpec("Steel", "Ice", mu_dynamic=float("nan")),),
        (PairSpec("Steel", "Ice"), PairSpec("Ice", "Steel")),
        (PairSpec("Steel", 3),),
        (("Steel", "Ice"),),
    ],
)
def test_a_pair_of_materials_that_means_nothing_is_named(pairs):
    assert {field.split(".")[0] for _, field in problems(dataclasses.replace(SPEC, pairs=pairs))} == {"pairs"}


@pytest.mark.parametrize("sides", [0, 3, 8])
def test_exact_and_polygonal_friction_cones_are_both_sound(sides):
    assert problems(SPEC, SolverSettings(polygon_sides=sides, max_iterations=1, substeps=1)) == set()


def test_one_frame_is_a_range():
    assert problems(dataclasses.replace(SPEC, frame_end=1)) == set()


def test_everything_that_is_wrong_is_said_at_once():
    bodies = (
        dataclasses.replace(BODY, mass=-1.0, material=MaterialSpec(mu_static=nan)),
        dataclasses.replace(BODY, name="Sheet", shape=points(), position=np.full(3, nan)),
        FLOOR,
        FLOOR,
    )
    found = problems(dataclasses.replace(SPEC, bodies=bodies, fps=0.0), SolverSettings(substeps=0))
    assert found == {
        ("Cube", "mass"),
        ("Cube", "mu_static"),
        ("Sheet", "vertices"),
        ("Sheet", "position"),
        ("Floor", "name"),
        ("Scene", "fps"),
        ("Solver settings", "substeps"),
    }


def test_the_message_says_which_vertex_and_which_frame():
    vertices = CUBE.vertices.copy()
    vertices[5, 1] = nan
    path = STILL.copy()
    path[1, 2] = inf
    bodies = (
        dataclasses.replace(BODY, shape=dataclasses.replace(CUBE, vertices=vertices)),
        dataclasses.replace(BODY, name="Pusher", kind=BodyKind.ANIMATED, path=path),
    )
    with pytest.raises(SceneError, match=r"Cube: vertices: vertex 5 (.|\n)*Pusher: path: the pose at frame 2 "):
        validate(dataclasses.replace(SPEC, bodies=bodies), SolverSettings())


def test_dynamic_friction_above_static_is_legal_and_warned_about():
    odd = dataclasses.replace(BODY, material=MaterialSpec(mu_static=0.3, mu_dynamic=0.5))
    spec = dataclasses.replace(SPEC, bodies=(odd, FLOOR))
    assert problems(spec) == set()
    (warning,) = scene_warnings(spec)
    assert (warning.objects, warning.field) == (("Cube",), "mu_dynamic")
    assert "0.5" in warning.message and "0.3" in warning.message
    assert scene_warnings(SPEC) == ()


def test_a_grain_is_warned_about_where_it_may_stutter_and_where_a_pair_of_materials_replaces_it():
    ski = MaterialSpec(0.1, 0.1, name="Ski", grain=Grain((1.0, 0.0, 0.0), 0.3, 0.5))
    bodies = dataclasses.replace(BODY, material=ski), dataclasses.replace(FLOOR, material=MaterialSpec(name="Snow"))
    spec = dataclasses.replace(SPEC, bodies=bodies, pairs=(PairSpec("Ski", "Snow", 0.1, 0.1),))
    assert problems(spec) == set()
    found = {(warning.objects, warning.field): warning.message for warning in scene_warnings(spec)}
    assert set(found) == {(("Cube",), "grain.mu_dynamic"), (("Cube",), "grain")}
    assert "0.5" in found[("Cube",), "grain.mu_dynamic"] and "'Ski'" in found[("Cube",), "grain"]
    elsewhere = dataclasses.replace(spec, pairs=(PairSpec("Ski", "Ice"),))
    assert "grain" not in {warning.field for warning in scene_warnings(elsewhere)}
