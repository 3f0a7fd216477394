# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes touch where their triangles do: gaps against brute force, and motions that no inner edge disturbs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.collision.grouping import MAX_GROUP_CONTACTS
from solver_core.geometry import build_shapes
from solver_core.geometry.solids import shape_mass_properties
from solver_core.geometry.surfaces import mesh_surface
from solver_core.io.snapshot import read_snapshot, write_snapshot
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import validate

from ..meshes import CUBE, CUBE_TRIANGLES, angle_bracket, blocks, bumpy, chair, distances, sheet, torus
from ..shapes import ball, box, detected, find, hull, mesh

PLANE = ShapeSpec(ShapeKind.PLANE)
GRIP = MaterialSpec(0.8, 0.8)


def body(name, kind, shape, position=(0, 0, 0), rotation=(0, 0, 0), **more):
    if kind is BodyKind.ACTIVE:
        more.setdefault("density", 1000.0)
    orientation = np.roll(Rotation.from_rotvec(rotation).as_quat(), 1)
    more.setdefault("material", GRIP)
    return BodySpec(name, kind, shape, position=np.array(position, dtype=np.float64), orientation=orientation, **more)


def ground(shape):
    return body("Ground", BodyKind.PASSIVE, shape)


# An oracle of its own: the distance of all triangles of two surfaces, corner to face and edge to edge.


def corner_to_face(p, t):
    a, b, c = t[..., 0, :], t[..., 1, :], t[..., 2, :]
    normal = np.cross(b - a, c - a)
    height = (normal * (p - a)).sum(-1)
    over = np.ones(height.shape, dtype=bool)
    for u, v in ((a, b), (b, c), (c, a)):
        over &= (np.cross(v - u, p - u) * normal).sum(-1) >= 0.0
    return np.where(over, height**2 / (normal**2).sum(-1), np.inf).min()


def edge_to_edge(p, q, r, s):
    d, e, w = q - p, s - r, p - r
    dd, ee, de = (d * d).sum(-1), (e * e).sum(-1), (d * e).sum(-1)
    dw, ew = (d * w).sum(-1), (e * w).sum(-1)

    def squared(along, other):
        return ((w + along[..., None] * d - other[..., None] * e) ** 2).sum(-1)

    determinant = dd * ee - de * de
    crossing = determinant > 1e-14 * dd * ee
    safe = np.where(crossing, determinant, 1.0)
    along, other = (de * ew - dw * ee) / safe, (dd * ew - de * dw) / safe
    inner = crossing & (along >= 0) & (along <= 1) & (other >= 0) & (other <= 1)
    best = np.where(inner, squared(along, other), np.inf)
    for end in (np.zeros_like(best), np.ones_like(best)):
        best = np.minimum(best, squared(end, np.clip((de * end + ew) / ee, 0.0, 1.0)))
        best = np.minimum(best, squared(np.clip((de * end - dw) / dd, 0.0, 1.0), end))
    return best.min()


def distance(first, second):
    """Of triangles (t, 3, 3) and (s, 3, 3) that do not cross."""
    middle, radius = zip(*(bounding_ball(triangles) for triangles in (first, second)), strict=True)
    between = np.linalg.norm(middle[0][:, None] - middle[1], axis=2)
    # pairs whose balls are farther apart than any two middles are not the nearest
    i, j = np.nonzero(between - radius[0][:, None] - radius[1] <= between.min())
    a, b = first[i], second[j]
    best = np.inf
    for i in range(3):
        best = min(best, corner_to_face(a[:, i], b), corner_to_face(b[:, i], a))
        for k in range(3):
            best = min(best, edge_to_edge(a[:, i], a[:, (i + 1) % 3], b[:, k], b[:, (k + 1) % 3]))
    return np.sqrt(best)


def bounding_ball(triangles):
    """About the middle of each of (t, 3, 3): (t, 3) and (t,)."""
    middle = triangles.mean(axis=1)
    return middle, np.linalg.norm(triangles - middle[:, None], axis=2).max(axis=1)


def cube_faces(*sizes):
    return (CUBE * sizes)[CUBE_TRIANGLES]


PAIRS = {
    "torus and torus": (torus(1.0, 0.4, 12, 8), torus(0.8, 0.2, 10, 6)),
    "bracket and bracket": (angle_bracket(), angle_bracket()),
    "bracket and sheet": (angle_bracket(), bumpy(4, 2.5, 0.25)),
    "torus and thin bracket": (torus(1.0, 0.4, 12, 8), (angle_bracket()[0] * (1, 1, 0.01), angle_bracket()[1])),
    "sheet and box": (bumpy(4, 2.5, 0.25), (0.8, 0.6, 1.0)),
    "bracket and card": (angle_bracket(), (1.0, 0.8, 0.004)),
    "torus and needle": (torus(1.0, 0.4, 12, 8), (1.5, 0.002, 0.002)),
}


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_the_smallest_gap_is_the_distance_of_the_triangles(pair):
    first, second = PAIRS[pair]
    is_box = not isinstance(second[0], np.ndarray)
    own = first[0][first[1]]
    other = cube_faces(*second) if is_box else second[0][second[1]]
    table = build_shapes([mesh(first), box(*second) if is_box else mesh(second)])
    random = np.random.default_rng(17)
    tried = 0
    while tried < 5:
        rotation = Rotation.from_rotvec(random.normal(size=3) * random.choice([1e-6, 0.02, 2.0])).as_matrix()
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        shift, turned, wanted = 4.0 * direction, other @ rotation.T, 10.0 ** random.uniform(-5.0, -1.5)
        for _ in range(12):
            true = distance(own, turned + shift)
            if true < 1.5 * wanted:
                break
            shift = shift - (true - wanted) * direction
        if true >= 1.5 * wanted:
            continue
        tried += 1
        for reach in (1.6 * wanted, 0.5):
            contacts = detected(table, [np.zeros(3), shift], [np.eye(3), rotation], reach)
            assert contacts.gap.min(initial=np.inf) == pytest.approx(true, abs=1e-9)


def test_a_large_ball_over_small_bumps_is_as_near_as_its_nearest_triangle():
    """It bends over many triangles, whose planes reach into it without their touching it."""
    points, triangles = bumpy(12, 1.2, 0.02)
    table = build_shapes([mesh((points, triangles)), ball(0.2)])
    random = np.random.default_rng(3)
    for _ in range(100):
        centre = np.array([*random.uniform(-0.2, 0.2, 2), 0.3])
        for _ in range(4):
            true = distances(centre[None], points[triangles])[0] - 0.2
            contacts = detected(table, [np.zeros(3), centre], reach=0.2)
            assert contacts.gap.min() == pytest.approx(true, abs=1e-9)
            centre[2] -= true


def test_a_sheet_is_the_same_whichever_way_its_triangles_are_turned():
    """Also below a ridge, which is a valley from there: both of its planes bound what is in it."""
    points, triangles = sheet(2, 2.0, lambda x, y: -0.6 * np.abs(x))
    cube = mesh((0.2 * CUBE, CUBE_TRIANGLES))
    for x in np.linspace(-0.15, 0.15, 13):
        top = -0.6 * (abs(x) + 0.1) - 1e-3
        found = []
        for turned_over in (triangles, np.ascontiguousarray(triangles[:, ::-1])):
            contacts = find([mesh((points, turned_over)), cube], [[0, 0, 0], [x, 0.3, top - 0.1]])
            found.append(np.sort(np.round(np.column_stack([contacts.gap, contacts.normal, contacts.point]), 9), axis=0))
        assert len(found[0]) > 0
        np.testing.assert_allclose(found[0], found[1], atol=1e-9)


@pytest.mark.parametrize("where", [(0.0, 0.0), (0.5, 0.25), (0.5, 0.5), (0.13, 0.13), (0.5, 0.17), (0.31, 0.77)])
def test_inner_edges_and_vertices_of_a_flat_ground_add_no_directions(where):
    for specs, low in ((box(1, 1, 1), 0.5), (ball(0.5), 0.5), (hull(CUBE[::3], 0.1), 0.6)):
        contacts = find([mesh(sheet(8, 4.0)), specs], [[0, 0, 0], [*where, low + 1e-4]])
        assert len(contacts) > 0
        np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1], (len(contacts), 1)), atol=1e-12)
        np.testing.assert_allclose(contacts.gap, 1e-4, atol=1e-12)


@pytest.mark.parametrize("depth", [3e-7, 1e-6, 3e-6])
@pytest.mark.parametrize("twist", [0.0, 0.4, 1.3])
def test_a_corner_that_overlaps_a_mesh_by_micrometers_has_one_contact(depth, twist):
    """Its curve of intersection has a point on each of three edges, and one on each inner edge of a face."""
    diagonal = Rotation.align_vectors([[0, 0, -1]], [[1, 1, 1]])[0]
    turned = (Rotation.from_rotvec([0.0, 0.0, twist]) * diagonal).as_matrix()
    size = 0.09
    lowest = 0.5 * size * np.sqrt(3.0)
    floor = mesh((CUBE * [2.0, 2.0, 0.2], CUBE_TRIANGLES))
    top = 0.2 * CUBE[:, 2].max()
    cube = mesh((size * CUBE / np.ptp(CUBE[:, 0]), CUBE_TRIANGLES))
    contacts = find([floor, cube], [[0, 0, 0], [0.1, 0.2, top + lowest - depth]], [np.eye(3), turned])
    overlapping = contacts.gap < 0.0
    assert overlapping.sum() == 1
    np.testing.assert_allclose(contacts.gap[overlapping], -depth, rtol=0.05)
    np.testing.assert_allclose(contacts.point[overlapping], [[0.1, 0.2, top]], atol=10.0 * depth)


def test_a_box_over_the_rim_of_a_mesh_stands_on_the_rim():
    table = blocks([-1, 0, 1], [-1, 0, 1], [-1, 0], np.ones((2, 2, 1), dtype=bool))
    contacts = find([mesh(table), box(1, 1, 1)], [[0, 0, 0], [0.8, 0.1, 0.5 + 1e-4]])
    corners = {tuple(row) for row in contacts.point[:, :2].round(9).tolist()}
    assert {(0.3, -0.4), (0.3, 0.6), (1.0, -0.4), (1.0, 0.6)} <= corners
    np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1], (len(contacts), 1)), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "height", "speed"),
    [
        (box(0.5, 0.4, 0.3), 0.15, (1.0, 0.4, 0.0)),
        (ball(0.2), 0.2, (1.0, 0.3, 0.0)),
        (box(0.3, 0.3, 0.3), 0.3, (0.7, 0.0, 0.0)),
    ],
)
def test_what_slides_rolls_or_tumbles_on_triangles_does_so_as_on_a_plane(shape, height, speed):
    def run(floor):
        thing = body("Thing", BodyKind.ACTIVE, shape, (0, 0, height), velocity=np.array(speed), material=MaterialSpec(0.5, 0.5))
        return sc.Simulation(SceneSpec((ground(floor), thing)), tolerance=1e-10).run(24)

    on_plane, on_mesh = run(PLANE), run(mesh(sheet(11, 6.0)))
    assert np.linalg.norm(on_plane[-1].poses[1, :2]) > 0.1
    for one, other in zip(on_plane, on_mesh, strict=True):
        np.testing.assert_allclose(one.poses[1], other.poses[1], atol=1e-7)


@pytest.mark.slow
def test_a_box_slides_off_a_slope_onto_the_level_without_dipping_in():
    """Its front corners meet the plane ahead before they have crossed the valley's edge."""
    ramp = mesh(sheet(8, 8.0, lambda x, y: np.clip(-0.5 * x, 0.0, None)))
    angle = np.arctan(0.5)
    start = np.array([-1.5, 0.1, 0.75]) + 0.101 * np.array([np.sin(angle), 0, np.cos(angle)])
    smooth = MaterialSpec(0.0, 0.0)
    crate = body("Crate", BodyKind.ACTIVE, box(0.4, 0.3, 0.2), start, (0, angle, 0), material=smooth)
    frames = sc.Simulation(SceneSpec((ground(ramp), crate))).run(36)
    assert frames[-1].poses[1, 0] > 0.5
    assert max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames) < 5e-4


@pytest.mark.slow
def test_what_is_round_meets_no_plane_of_a_mesh_that_ends_before_it():
    """Behind a chair's leg the plane of its seat, from which the leg rises, is not there: the gap is the distance."""
    random = np.random.default_rng(5)
    points, triangles = chair()
    specs = [mesh((points, triangles)), hull([[0.0, 0.0, -0.3], [0.0, 0.0, 0.3]], 0.2), ball(0.2)]
    table = build_shapes(specs)
    near = 0
    for _ in range(150):
        turns = [np.eye(3), *Rotation.random(2, random_state=random).as_matrix()]
        places = [np.zeros(3), *random.uniform((-0.6, -0.6, -0.4), (0.6, 0.6, 1.4), (2, 3))]
        contacts = detected(table, places, turns, 0.3)
        for i, half in ((1, 0.3), (2, 0.0)):
            along = np.linspace(-half, half, 61 if half else 1)
            true = distances(places[i] + along[:, None] * turns[i][:, 2], points[triangles]).min()
            gaps = contacts.gap[(contacts.body_a == 0) & (contacts.body_b == i)]
            # cores that are in it have a depth, not a distance
            if 0.02 < true < 0.45:
                near += 1
                assert gaps.min() == pytest.approx(true - 0.2, abs=1e-3)
    assert near > 50


def test_features_persist_while_a_box_slides_over_triangles():
    table = build_shapes([mesh(sheet(11, 6.0)), box(1, 1, 1)])
    first = detected(table, [[0, 0, 0], [0, 0, 0.5001]])
    for at in np.linspace(0.0, 1.0, 9):
        later = detected(table, [[0, 0, 0], [at, 0.3 * at, 0.5001]])
        np.testing.assert_array_equal(first.feature, later.feature)


@pytest.mark.slow
def test_two_meshes_have_a_bounded_number_of_contacts_and_each_feature_once():
    contacts = find([mesh(bumpy(40, 2.0, 0.02)), mesh(bumpy(40, 2.0, 0.02, 1))], [[0, 0, 0], [0, 0, 0.05]], reach=0.2)
    assert len(contacts) == MAX_GROUP_CONTACTS
    assert (np.diff(contacts.feature.astype(object)) > 0).all()


def test_a_mesh_of_loose_triangles_with_mixed_normals_is_the_same_surface():
    points, triangles = torus(1.0, 0.3, 20, 12)
    mixed = triangles.copy()
    mixed[::3] = mixed[::3, ::-1]
    soup = points[mixed].reshape(-1, 3)
    surface = mesh_surface(soup, np.arange(len(soup)).reshape(-1, 3))
    reference = mesh_surface(points, triangles)
    assert surface.solid and len(surface.vertices) == len(points)
    assert surface.volume == pytest.approx(reference.volume, rel=1e-12)


def test_a_chair_weighs_what_its_blocks_weigh():
    solid = shape_mass_properties(mesh(chair()), density=500.0)
    volume = 4 * 0.045 * 0.04 * 0.43 + 0.45 * 0.45 * 0.04 + 0.45 * 0.04 * 0.53
    assert solid.volume == pytest.approx(volume, rel=1e-12)
    assert solid.mass == pytest.approx(500.0 * volume, rel=1e-12)


@pytest.mark.slow
def test_a_torus_hangs_in_a_torus():
    ring = mesh(torus(1.0, 0.3, 36, 20))
    upright = (np.pi / 2.0, 0, 0)
    across = tuple((Rotation.from_euler("z", 90, degrees=True) * Rotation.from_rotvec(upright)).as_rotvec())
    hook = body("Hook", BodyKind.PASSIVE, ring, rotation=upright)
    spec = SceneSpec((hook, body("Ring", BodyKind.ACTIVE, ring, (0.02, 0.01, -1.39), across)))
    frames = sc.Simulation(spec).run(30)
    # The hook's bore ends at -0.7 and the ring's tube is 0.6 thick, so the ring hangs with its centre at about -1.4.
    heights = np.array([frame.poses[1, 2] for frame in frames])
    assert heights.min() > -1.41 and heights.max() < -1.3
    assert max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames) < 1e-4


@pytest.mark.slow
def test_a_chair_rests_on_uneven_ground_without_jitter():
    spec = SceneSpec(
        (ground(mesh(bumpy(30, 3.0, 0.01))), body("Chair", BodyKind.ACTIVE, mesh(chair()), (0, 0, 0.05), (0, 0, 0.3)))
    )
    frames = sc.Simulation(spec).run(60)
    for frame in frames[-12:]:
        np.testing.assert_allclose(frame.poses[1], frames[-1].poses[1], atol=1e-6)
        assert np.abs(frame.velocities[1]).max() < 1e-5
        assert len(set(frame.statistics.contacts.tolist())) == 1
    assert frames[-1].poses[1, 2] > -0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("floor", "shape", "height"),
    [
        (mesh((CUBE * (4, 4, 2) - (0, 0, 1), CUBE_TRIANGLES)), box(0.4, 0.4, 0.4), 0.05),
        (mesh((CUBE * (4, 4, 2) - (0, 0, 1), CUBE_TRIANGLES)), ball(0.2), 0.02),
        pytest.param(
            *(mesh((CUBE * (4, 4, 2) - (0, 0, 1), CUBE_TRIANGLES)), mesh((CUBE * 0.4, CUBE_TRIANGLES)), -0.25),
            marks=pytest.mark.long,
        ),
        pytest.param(mesh(sheet(9, 4.0)), box(0.4, 0.4, 0.4), 0.05, marks=pytest.mark.long),
        (mesh(sheet(9, 4.0)), mesh((CUBE * 0.4, CUBE_TRIANGLES)), 0.05),
    ],
)
def test_what_begins_deep_inside_comes_out_where_it_is_nearest(floor, shape, height):
    thing = body("Thing", BodyKind.ACTIVE, shape, (0.03, 0.02, height))
    simulation = sc.Simulation(SceneSpec((ground(floor), thing)))
    assert any("overlap" in warning.message for warning in simulation.warnings)
    frames = simulation.run(300)
    assert frames[-1].poses[1, 2] == pytest.approx(0.2, abs=1e-3)
    np.testing.assert_allclose(frames[-1].poses[1, :2], (0.03, 0.02), atol=5e-3)
    speeds = [np.abs(frame.velocities[1, :3]).max() for frame in frames]
    assert max(speeds) < 0.1


OVERLAPS = {
    "cube and cube": ((CUBE * 0.4, CUBE_TRIANGLES), (CUBE * 0.4, CUBE_TRIANGLES), (0.03, 0.02, 0.2), (0, 0, 0)),
    "torus and torus": (torus(0.3, 0.1, 24, 12), torus(0.3, 0.1, 24, 12), (0.0, 0.0, 0.1), (0, 0, 0)),
    "bracket and bracket": (angle_bracket(), angle_bracket(), (0.5, 0.5, 0.5), (0.2, 0.1, 0.3)),
    "chair and chair": (chair(), chair(), (0.2, 0.1, 0.2), (0, 0, 0.5)),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "pair",
    [
        "torus and torus",
        "bracket and bracket",
        pytest.param("cube and cube", marks=pytest.mark.long),
        pytest.param("chair and chair", marks=pytest.mark.long),
    ],
)
def test_meshes_that_begin_half_inside_each_other_part_slowly_and_without_energy(pair):
    first, second, shift, rotation = OVERLAPS[pair]
    bodies = body("A", BodyKind.ACTIVE, mesh(first)), body("B", BodyKind.ACTIVE, mesh(second), shift, rotation)
    spec = SceneSpec(bodies, gravity=np.zeros(3))
    # they part by as much a second in longer steps
    simulation = sc.Simulation(spec, substeps=4)
    size = 0.5 * np.ptp(first[0], axis=0).max()
    overlap = []
    last = simulation.first_frame()
    for _ in range(240):
        frame = simulation.advance()
        overlap.append(frame.statistics.deepest_overlap[-1])
        assert np.abs(frame.velocities).max() < 1e-9
        assert np.linalg.norm(frame.poses[:, :3] - last.poses[:, :3], axis=1).max() < 1.2 * size / 24.0
        last = frame
        if max(overlap[-3:]) == 0.0:
            break
    assert overlap[0] > 0.02 * size
    assert max(overlap[-3:]) == 0.0
    # Nothing is thrown far: they end beside each other.
    assert np.linalg.norm(last.poses[1, :3] - last.poses[0, :3]) < 3.0 * size


def test_a_room_with_its_normals_inwards_holds_what_is_in_it():
    room = mesh((CUBE * 2.0, CUBE_TRIANGLES[:, ::-1]))
    thing = body("Thing", BodyKind.ACTIVE, box(0.4, 0.4, 0.4), (0.1, 0, -0.6), velocity=np.array([3.0, 1.0, 0.0]))
    frames = sc.Simulation(SceneSpec((ground(room), thing))).run(48)
    assert np.abs(frames[-1].poses[1, :3]).max() < 0.85
    assert frames[-1].poses[1, 2] == pytest.approx(-0.8, abs=1e-3)


def test_a_chair_of_two_meshes_in_a_compound_stands_on_a_plane():
    points, triangles = chair()
    halves = ShapeSpec(
        ShapeKind.COMPOUND,
        children=(ChildSpec(mesh((points, triangles)), np.zeros(3)), ChildSpec(box(0.3, 0.3, 0.02), np.array([0, 0, 0.6]))),
    )
    frames = sc.Simulation(SceneSpec((ground(PLANE), body("Chair", BodyKind.ACTIVE, halves, (0, 0, 0.01))))).run(24)
    assert frames[-1].poses[1, 2] == pytest.approx(0.0, abs=1e-3)
    assert frames[-1].statistics.contacts[-1] >= 4
    assert np.abs(frames[-1].velocities[1]).max() < 1e-6


def test_a_mesh_comes_back_from_its_snapshot(tmp_path):
    spec = SceneSpec((ground(mesh(sheet(3, 1.0), 0.01)), body("Chair", BodyKind.ACTIVE, mesh(chair()))))
    write_snapshot(tmp_path / "scene.stiction", spec, SolverSettings())
    back, _ = read_snapshot(tmp_path / "scene.stiction")
    assert back.bodies[0].shape.kind is ShapeKind.MESH and back.bodies[0].shape.margin == 0.01
    np.testing.assert_array_equal(back.bodies[1].shape.triangles, spec.bodies[1].shape.triangles)


BROKEN = [
    (BodyKind.PASSIVE, (np.zeros((0, 3)), np.zeros((0, 3))), "vertices", "no vertices"),
    (BodyKind.PASSIVE, (CUBE, np.zeros((0, 3))), "triangles", "no faces"),
    (BodyKind.PASSIVE, (CUBE * (1, 0, 0), CUBE_TRIANGLES), "triangles", "area"),
    (BodyKind.PASSIVE, (CUBE * (1, np.nan, 1), CUBE_TRIANGLES), "vertices", "not finite"),
    (BodyKind.PASSIVE, (CUBE, CUBE_TRIANGLES + 1), "triangles", "refer to vertices"),
    (BodyKind.ACTIVE, (CUBE, CUBE_TRIANGLES[:-1]), "shape", "open"),
    (BodyKind.ACTIVE, sheet(3, 1.0), "shape", "open"),
    (BodyKind.ACTIVE, (CUBE, CUBE_TRIANGLES[:, ::-1]), "normals", "inward"),
]


@pytest.mark.parametrize(("kind", "surface", "field", "words"), BROKEN)
def test_what_is_wrong_with_a_mesh_is_named(kind, surface, field, words):
    more = {"mass": 1.0} if kind is BodyKind.ACTIVE else {}
    spec = SceneSpec((body("Fine", BodyKind.ACTIVE, box(1, 1, 1)), BodySpec("Broken", kind, mesh(surface), **more)))
    with pytest.raises(SceneError) as raised:
        validate(spec, SolverSettings())
    assert {problem.object for problem in raised.value.problems} == {"Broken"}
    problem = next(problem for problem in raised.value.problems if problem.field == field)
    assert words in problem.message


def test_features_tell_all_corners_of_a_cube_mesh_apart():
    contacts = find([mesh((CUBE, CUBE_TRIANGLES)), PLANE], [[0, 0, 0.5001], [0, 0, 0]])
    corners = {(x, y) for x, y in itertools.product((-0.5, 0.5), repeat=2)}
    assert corners == {tuple(row) for row in contacts.point[:, :2].round(9).tolist()}
    assert len(contacts) == 4
