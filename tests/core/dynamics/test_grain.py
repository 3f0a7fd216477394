# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces with a grain: friction in an ellipse, with maximal dissipation, beside closed forms and scipy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.joints import AxisSpec, JointSpec
from solver_core.scene.parts import ground, sphere_shape
from solver_core.scene.spec import (
    BodyKind,
    BodySpec,
    ChildSpec,
    FrictionCombine,
    Grain,
    MaterialSpec,
    PairSpec,
    SceneSpec,
    ShapeKind,
    ShapeSpec,
)

from ..bodies import body, poses, to_matrix, track
from ..shapes import quaternion

G = 9.81
SMOOTH = MaterialSpec(1.0, 1.0)
# with how far from the default method they may be in half a second, m
METHODS = [
    ({"method": "pivot"}, 3e-4),
    ({"method": "energy"}, 1e-5),
    ({"staggering": "plain"}, 1e-5),
    ({"staggering": "published"}, 1e-5),
]
NAMES = ["pivot", "energy", "plain", "published"]


def grained(along, across, angle=0.0, axis=(0.0, 0.0, 1.0), dynamic=None):
    """A surface whose grain is the x axis, turned by an angle in degrees about an axis; dynamic: the other two coefficients."""
    direction = Rotation.from_rotvec(math.radians(angle) * np.array(axis)).apply((1.0, 0.0, 0.0))
    along_dynamic, across_dynamic = dynamic or (along, across)
    return MaterialSpec(along, along_dynamic, grain=Grain(tuple(direction.tolist()), across, across_dynamic))


def on_slope(tangent, surface, of_ground=SMOOTH, velocity=(0.0, 0.0, 0.0), **changes):
    """A flat block on a plane; gravity leans towards +x by a slope of that tangent."""
    tilt = math.atan(tangent)
    block = body("Block", (0.4, 0.3, 0.04), (0.0, 0.0, 0.02), 2.0, material=surface, velocity=velocity)
    gravity = G * np.array([math.sin(tilt), 0.0, -math.cos(tilt)])
    changes = {"friction_combine": FrictionCombine.PRODUCT} | changes
    return SceneSpec((ground(of_ground), block), gravity=gravity, **changes)


def ellipse(along, across, angle):
    """The matrix M of a friction ellipse: friction is N M y with |y| <= 1."""
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    turn = np.array([[c, -s], [s, c]])
    return turn @ np.diag([along, across]) @ turn.T


def steepest(matrix):
    """The tangent of the steepest slope towards +x on which friction holds."""
    return 1.0 / np.linalg.norm(np.linalg.solve(matrix, [1.0, 0.0]))


def way_of_block(tangent, matrix, velocity, times):
    """(k, 2) m: where a block is that slides with maximal dissipation, w' = g (sin, 0) - g cos M^2 w / |M w|."""
    tilt = math.atan(tangent)

    def rates(_, state):
        w = state[2:]
        friction = matrix @ matrix @ w / np.linalg.norm(matrix @ w)
        return [*w, *(G * np.array([math.sin(tilt), 0.0]) - G * math.cos(tilt) * friction)]

    return solve_ivp(rates, (0.0, times[-1]), [0.0, 0.0, *velocity], t_eval=times, rtol=1e-10, atol=1e-12).y[:2].T


@pytest.mark.parametrize("angle", [0.0, 35.0, 90.0, 140.0])
def test_a_sliding_block_drifts_along_its_grain_as_scipy_has_it(angle):
    """Friction is not opposed to the sliding, but has the direction that takes most energy: the way bends towards the grain."""
    velocity = (1.0, 0.8)
    spec = on_slope(0.3, grained(0.15, 0.5, angle), velocity=(*velocity, 0.0))
    found = poses(sc.Simulation(spec, substeps=20).run(12), 1)[:, :2]
    exact = way_of_block(0.3, ellipse(0.15, 0.5, angle), velocity, np.arange(13) / 24.0)
    np.testing.assert_allclose(found, exact, atol=6e-4)
    isotropic = way_of_block(0.3, 0.325 * np.eye(2), velocity, np.arange(13) / 24.0)
    assert np.abs(found - isotropic).max() > 0.02


@pytest.mark.slow
def test_half_the_step_is_half_the_error_of_a_block_whose_slip_turns():
    """As without a grain: friction has the direction that it should have at the end of the step."""
    exact = way_of_block(0.3, ellipse(0.1, 0.6, 50.0), (0.4, 1.2), np.array([0.0, 0.5]))[-1]
    spec = on_slope(0.3, grained(0.1, 0.6, 50.0), velocity=(0.4, 1.2, 0.0))
    off = [np.abs(poses(sc.Simulation(spec, substeps=steps).run(12), 1)[-1, :2] - exact).max() for steps in (4, 8, 16)]
    assert off[0] / off[1] == pytest.approx(2.0, rel=0.1)
    assert off[1] / off[2] == pytest.approx(2.0, rel=0.1)
    assert off[2] < 1e-3


@pytest.mark.parametrize(("angle", "where"), [(0.0, "block"), (30.0, "ground"), (75.0, "block"), (90.0, "ground")])
def test_a_block_holds_up_to_the_slope_of_its_ellipse_and_slides_beyond(angle, where):
    surface, limit = grained(0.2, 0.6, angle), steepest(ellipse(0.2, 0.6, angle))
    surfaces = (surface, SMOOTH) if where == "block" else (SMOOTH, surface)
    holds, slides = (poses(sc.Simulation(on_slope(share * limit, *surfaces)).run(12), 1) for share in (0.999, 1.001))
    assert np.abs(holds[:, :2]).max() < 1e-8
    assert np.linalg.norm(slides[-1, :2]) > 1e-4


def test_a_block_stands_across_its_grain_on_a_slope_on_which_it_slides_along_it():
    stands = poses(sc.Simulation(on_slope(0.4, grained(0.1, 0.5, 90.0))).run(24), 1)
    assert np.abs(stands[:, :2]).max() < 1e-8
    slides = poses(sc.Simulation(on_slope(0.4, grained(0.1, 0.5, 0.0))).run(24), 1)
    np.testing.assert_allclose(slides[-1, 0], 0.5 * G * math.cos(math.atan(0.4)) * 0.3, rtol=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("angle", [0.0, 20.0, 40.0])
def test_a_block_at_rest_does_not_creep(angle, share):
    """Under a share of what it bears, askew to its grain, for 2 s without sleep: it is not solved again either.

    The errors of its rows are a fourteenth of those of its velocity, so that it moved by 1e-11 m a second.
    """
    limit = steepest(ellipse(0.05, 0.7, angle))
    simulation = sc.Simulation(on_slope(share * limit, grained(0.05, 0.7, angle), frame_end=49), sleeping=False)
    frames = list(simulation.run(48))
    found = poses(frames, 1)
    assert np.abs(found[24:] - found[24]).max() < 1e-13
    assert sum(int(frame.statistics.factorisations.sum()) for frame in frames[2:]) == 0


@pytest.mark.parametrize("angle", [20.0, 65.0])
def test_without_friction_along_the_grain_a_block_slides_down_it_as_on_a_rail(angle):
    found = poses(sc.Simulation(on_slope(0.3, grained(0.0, 2.0, angle))).run(24), 1)
    pull = G * math.sin(math.atan(0.3)) * math.cos(math.radians(angle))
    rail = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    np.testing.assert_allclose(found[-1, :2], 0.5 * pull * rail, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "margin"), [*METHODS[:2], *(pytest.param(*one, marks=pytest.mark.long) for one in METHODS[2:])], ids=NAMES
)
def test_all_methods_agree(settings, margin):
    """On a block that slides askew, and on one that stands. Pivoting has friction against the slip as the step begins."""
    for tangent, velocity, off in ((0.1, (0.6, 0.5, 0.0), margin), (0.2, (0.0, 0.0, 0.0), 1e-6)):
        spec = on_slope(tangent, grained(0.2, 0.5, 40.0), velocity=velocity)
        default, other = (poses(sc.Simulation(spec, **some).run(6), 1) for some in ({}, settings))
        np.testing.assert_allclose(other, default, atol=off)


def test_a_polygon_lies_in_the_ellipse():
    """64 sides: the slope that holds is less by no more than 1 - cos(pi / 64)."""
    limit = steepest(ellipse(0.2, 0.6, 50.0))
    holds, slides = (
        poses(sc.Simulation(on_slope(share * limit, grained(0.2, 0.6, 50.0)), polygon_sides=64).run(12), 1)
        for share in (math.cos(math.pi / 64.0) - 1e-4, 1.0 + 1e-4)
    )
    assert np.abs(holds[:, :2]).max() < 1e-7
    assert np.linalg.norm(slides[-1, :2]) > 1e-5


def turned(spec, rotation):
    """A scene turned as a whole."""

    def of_body(one):
        own = Rotation.from_quat(one.orientation, scalar_first=True)
        place = {"position": rotation.apply(one.position), "velocity": rotation.apply(one.velocity)}
        spin = rotation.apply(one.angular_velocity)
        return replace(one, **place, orientation=quaternion(rotation * own), angular_velocity=spin)

    return replace(spec, bodies=tuple(map(of_body, spec.bodies)), gravity=rotation.apply(spec.gravity))


@pytest.mark.parametrize("vector", [(0.0, 0.0, 1.1), (0.7, -0.4, 2.0), (math.pi, 0.0, 0.0)])
def test_the_grain_turns_with_the_world(vector):
    rotation = Rotation.from_rotvec(vector)
    spec = on_slope(0.3, grained(0.15, 0.5, 35.0), velocity=(1.0, 0.8, 0.0))
    plain, other = (poses(sc.Simulation(one).run(12), 1)[:, :3] for one in (spec, turned(spec, rotation)))
    np.testing.assert_allclose(rotation.inv().apply(other), plain, atol=1e-6)


def test_a_mirrored_grain_gives_the_mirror_image():
    specs = (on_slope(0.3, grained(0.15, 0.5, angle), velocity=(1.0, speed, 0.0)) for angle, speed in ((35, 0.8), (-35, -0.8)))
    left, right = (poses(sc.Simulation(spec).run(12), 1) for spec in specs)
    np.testing.assert_allclose(left[:, :3] * (1.0, -1.0, 1.0), right[:, :3], atol=1e-8)


def test_the_opposite_direction_of_any_length_is_the_same_grain():
    surface = grained(0.15, 0.5, 35.0)
    opposite = replace(surface.grain, direction=tuple(-1e-3 * x for x in surface.grain.direction))
    one, other = (
        poses(sc.Simulation(on_slope(0.3, some, velocity=(1.0, 0.8, 0.0))).run(12), 1)
        for some in (surface, replace(surface, grain=opposite))
    )
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_equal_coefficients_are_no_grain():
    spec = on_slope(0.3, MaterialSpec(0.2, 0.15), velocity=(1.0, 0.8, 0.0))
    same = on_slope(0.3, grained(0.2, 0.2, 35.0, dynamic=(0.15, 0.15)), velocity=(1.0, 0.8, 0.0))
    one, other = (poses(sc.Simulation(some).run(24), 1) for some in (spec, same))
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize(("angle", "friction"), [(90.0, 0.6), (45.0, math.sqrt(0.5 * (0.2**2 + 0.6**2))), (0.0, 0.2)])
def test_a_grain_that_leans_out_of_the_plane_goes_over_into_friction_across(angle, friction):
    """Turned up about y: the plane sees its shadow, and at the end of a log friction is that across, in all directions."""
    surface = grained(0.2, 0.6, angle, (0.0, 1.0, 0.0))
    holds, slides = (poses(sc.Simulation(on_slope(share * friction, surface)).run(12), 1) for share in (0.999, 1.001))
    assert np.abs(holds[:, :2]).max() < 1e-8
    assert np.linalg.norm(slides[-1, :2]) > 1e-4


def test_friction_at_the_end_of_the_grain_has_no_direction():
    """A grain a millionth of a radian off the normal of the contact is friction across all the same."""
    way = []
    for lean in (0.0, 1e-6):
        surface = grained(0.2, 0.6, 90.0 - math.degrees(lean), (0.0, 1.0, 0.0))
        way.append(poses(sc.Simulation(on_slope(0.3, surface, velocity=(2.0, 1.6, 0.0))).run(6), 1)[:, :2])
    np.testing.assert_allclose(way[0], way_of_block(0.3, 0.6 * np.eye(2), (2.0, 1.6), np.arange(7) / 24.0), atol=6e-4)
    np.testing.assert_allclose(way[1], way[0], atol=1e-7)


def test_static_friction_ends_where_the_ellipse_does_and_sliding_has_the_dynamic_one():
    surface, tangent = grained(0.3, 0.6, 30.0, dynamic=(0.1, 0.4)), 0.25
    assert tangent < steepest(ellipse(0.3, 0.6, 30.0))
    stands = poses(sc.Simulation(on_slope(tangent, surface)).run(24), 1)
    assert np.abs(stands[:, :2]).max() < 1e-8
    found = poses(sc.Simulation(on_slope(tangent, surface, velocity=(0.5, 0.5, 0.0))).run(12), 1)[:, :2]
    exact = way_of_block(tangent, ellipse(0.1, 0.4, 30.0), (0.5, 0.5), np.arange(13) / 24.0)
    np.testing.assert_allclose(found, exact, atol=6e-4)


def test_kept_contacts_have_the_axes_of_the_ellipse():
    """At a grain of 35 degrees, 0.2 along it and 0.5 across; the plane has no grain."""
    contacts = sc.Simulation(on_slope(0.1, grained(0.2, 0.5, 35.0)), keep_contacts=True).advance().contacts
    along = np.array([math.cos(math.radians(35.0)), math.sin(math.radians(35.0)), 0.0])
    across = np.array([-along[1], along[0], 0.0])
    form = np.einsum("mki,mkj->mij", contacts.ellipse, contacts.ellipse)
    expected = 0.04 * np.outer(along, along) + 0.25 * np.outer(across, across)
    np.testing.assert_allclose(form, np.broadcast_to(expected, form.shape), atol=1e-6)


def root_of(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(np.sqrt(values)) @ vectors.T


def combined(rule, first, second):
    """The ellipse of two grains, by the congruence that makes one of them a disk: M of P^1/2 f(P^-1/2 Q P^-1/2) P^1/2."""
    root = root_of(first @ first)
    back = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(back @ second @ second @ back)
    of_rule = FrictionCombine.GEOMETRIC_MEAN if rule is FrictionCombine.PRODUCT else rule
    middle = vectors @ np.diag([of_rule.pair(1.0, math.sqrt(value)) ** 2 for value in values]) @ vectors.T
    squared = root @ middle @ root
    return squared if rule is FrictionCombine.PRODUCT else root_of(squared)


@pytest.mark.parametrize(
    ("rule", "angles"), [*((rule, (20.0, 65.0)) for rule in FrictionCombine), (FrictionCombine.PRODUCT, (0.0, 90.0))]
)
def test_two_grains_on_each_other(rule, angles):
    first, second = (0.5, 0.9, angles[0]), (0.4, 0.7, angles[1])
    limit = steepest(combined(rule, ellipse(*first), ellipse(*second)))
    if angles == (0.0, 90.0):
        assert limit == pytest.approx(rule.pair(0.5, 0.7))
    surfaces = grained(*first), grained(*second)
    scenes = (on_slope(share * limit, *surfaces, friction_combine=rule) for share in (0.999, 1.001))
    holds, slides = (poses(sc.Simulation(spec).run(12), 1) for spec in scenes)
    assert np.abs(holds[:, :2]).max() < 1e-8
    assert np.linalg.norm(slides[-1, :2]) > 1e-4


@pytest.mark.parametrize("angle", [1e-3, 30.0, 90.0])
def test_the_least_of_two_grains_lies_in_both_ellipses(angle):
    """And the largest around both: whatever the direction, friction is neither more nor less than that of each."""
    first, second = ellipse(0.2, 0.8, 0.0), ellipse(0.3, 0.6, angle)
    least, most = (combined(rule, first, second) for rule in (FrictionCombine.MINIMUM, FrictionCombine.MAXIMUM))
    for turn in np.linspace(0.0, math.pi, 50):
        d = np.array([math.cos(turn), math.sin(turn)])
        radii = [1.0 / np.linalg.norm(np.linalg.solve(matrix, d)) for matrix in (least, first, second, most)]
        assert radii[0] <= min(radii[1:3]) * (1.0 + 1e-9)
        assert radii[3] >= max(radii[1:3]) * (1.0 - 1e-9)


def test_two_rails_without_friction_along_them_hold_nothing_where_they_cross():
    surfaces = grained(0.0, 1.0, 0.0), grained(0.0, 1.0, 40.0)
    found = poses(sc.Simulation(on_slope(0.2, *surfaces)).run(12), 1)
    np.testing.assert_allclose(found[-1, 0], 0.125 * G * math.sin(math.atan(0.2)), rtol=1e-6)
    parallel = poses(sc.Simulation(on_slope(0.2, *(grained(0.0, 1.0, 90.0),) * 2)).run(12), 1)
    assert np.abs(parallel[:, :2]).max() < 1e-8


def test_a_pair_of_materials_has_one_friction_in_all_directions():
    surfaces = replace(grained(0.1, 0.9, 0.0), name="Ski"), replace(SMOOTH, name="Snow")
    pairs = (PairSpec("Ski", "Snow", 0.4, 0.4),)
    for angle in (0.0, 90.0):
        turned_by = replace(surfaces[0], grain=grained(0.1, 0.9, angle).grain)
        holds, slides = (
            poses(sc.Simulation(on_slope(tangent, turned_by, surfaces[1], pairs=pairs)).run(6), 1) for tangent in (0.399, 0.401)
        )
        assert np.abs(holds[:, :2]).max() < 1e-8
        assert np.linalg.norm(slides[-1, :2]) > 1e-5


FEET = np.array([[0.25, 0.0], [-0.15, 0.12], [-0.15, -0.14]])
RADIUS, HEIGHT, MASS = 0.02, 0.08, 3.0
INERTIA = np.diag([0.03, 0.06, 0.08])


def tripod(surface, velocity, spin, tangent=0.0):
    """A body on three small balls, whose grain turns with it; its center of mass is HEIGHT above the ground."""
    feet = tuple(ChildSpec(sphere_shape(RADIUS), np.array([*foot, RADIUS - HEIGHT])) for foot in FEET)
    skate = BodySpec(
        "Skate",
        BodyKind.ACTIVE,
        ShapeSpec(ShapeKind.COMPOUND, children=feet),
        position=np.array([0.0, 0.0, HEIGHT]),
        velocity=np.array([*velocity, 0.0]),
        angular_velocity=np.array([0.0, 0.0, spin]),
        mass=MASS,
        inertia=INERTIA,
        center_of_mass=np.zeros(3),
        material=surface,
    )
    tilt = math.atan(tangent)
    return SceneSpec((ground(SMOOTH), skate), gravity=G * np.array([math.sin(tilt), 0.0, -math.cos(tilt)]))


def way_of_tripod(along, across, velocity, spin, tangent, times):
    """(k, 3): x and y of the center of mass in m, and the heading in rad. Three feet share the load in one way: forces and
    moments that keep the body upright are linear in the normal forces, for friction is."""
    tilt = math.atan(tangent)

    def rates(_, state):
        heading, w, rate = state[2], state[3:5], state[5]
        matrix = ellipse(along, across, math.degrees(heading))
        c, s = math.cos(heading), math.sin(heading)
        arms = FEET @ np.array([[c, s], [-s, c]])
        slips = w + rate * np.stack([-arms[:, 1], arms[:, 0]], axis=1)
        drag = -np.array([matrix @ matrix @ slip / np.linalg.norm(matrix @ slip) for slip in slips])
        # moments about the center of mass, per unit of normal force: r x (f, 1) with r = (arm, -HEIGHT)
        moments = np.array([np.cross([*arm, -HEIGHT], [*one, 1.0]) for arm, one in zip(arms, drag, strict=True)])
        # a body that spins about its vertical axis has no gyroscopic moment across it: the principal axis is vertical
        normal = np.linalg.solve(np.vstack([np.ones(3), moments[:, :2].T]), [MASS * G * math.cos(tilt), 0.0, 0.0])
        force = normal @ drag / MASS + np.array([G * math.sin(tilt), 0.0])
        return [*w, rate, *force, normal @ moments[:, 2] / INERTIA[2, 2]]

    start = [0.0, 0.0, 0.0, *velocity, spin]
    return solve_ivp(rates, (0.0, times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-11).y[:3].T


def headings(found):
    return np.unwrap([math.atan2(to_matrix(pose[3:])[1, 0], to_matrix(pose[3:])[0, 0]) for pose in found])


@pytest.mark.slow
@pytest.mark.parametrize(("velocity", "spin", "tangent"), [((3.0, 0.0), 4.0, 0.0), ((0.5, 2.0), -6.0, 0.1)])
def test_a_skate_that_turns_carries_its_grain_with_it_as_scipy_has_it(velocity, spin, tangent):
    """Its blade steers it: friction along it is a fifth of that across."""
    times = np.arange(9) / 24.0
    exact = way_of_tripod(0.1, 0.5, velocity, spin, tangent, times)
    assert abs(exact[-1, 2]) > 0.5
    spec = tripod(grained(0.1, 0.5), velocity, spin, tangent)
    found = poses(sc.Simulation(spec, substeps=40).run(8), 1)
    np.testing.assert_allclose(found[:, :2], exact[:, :2], atol=1e-3)
    np.testing.assert_allclose(headings(found), exact[:, 2], atol=3e-3)


@pytest.mark.slow
def test_friction_with_a_grain_never_gives_energy():
    """A skate that spins and slides comes to rest; in no frame is it faster than in the one before."""
    frames = sc.Simulation(tripod(grained(0.05, 0.6, 20.0), (1.0, -0.5), 12.0)).run(36)
    _, velocity = track(frames, 1)
    energy = 0.5 * MASS * (velocity[:, :3] ** 2).sum(axis=1) + 0.5 * (velocity[:, 3:] ** 2 @ np.diag(INERTIA))
    assert (np.diff(energy) <= 1e-9 * energy[0]).all()
    assert energy[-1] < 0.2 * energy[0]


@pytest.mark.parametrize("angle", [0.0, 35.0, 90.0])
def test_an_impact_loses_what_the_ellipse_takes(angle):
    """A plate meets the ground flat and slides on: friction takes M^2 u / |M u| of the normal impulse, u as it leaves."""
    matrix, speed = ellipse(0.1, 0.4, angle), 2.0
    spec = on_slope(0.0, grained(0.1, 0.4, angle), velocity=(1.5, 1.0, -speed))
    frames = sc.Simulation(replace(spec, gravity=np.zeros(3))).run(1)
    after = frames[-1].velocities[1, :2]

    def missing(u):
        return u - np.array([1.5, 1.0]) + speed * matrix @ matrix @ u / np.linalg.norm(matrix @ u)

    np.testing.assert_allclose(missing(after), 0.0, atol=1e-5)
    assert np.abs(frames[-1].velocities[1, 2:]).max() < 1e-5


def test_contacts_are_reported_with_the_friction_of_their_direction():
    spec = on_slope(0.3, grained(0.15, 0.5, 35.0), velocity=(1.0, 0.8, 0.0))
    contacts = sc.Simulation(spec, keep_contacts=True).run(6)[-1].contacts
    friction = np.linalg.norm(contacts.friction, axis=1)
    bears = contacts.force > 0.0
    np.testing.assert_allclose(friction[bears], (contacts.mu * contacts.force)[bears], rtol=1e-4)
    assert ((contacts.mu > 0.15) & (contacts.mu < 0.5)).all()
    velocity = sc.Simulation(spec).run(6)[-1].velocities[1, :2]
    across = np.cross(contacts.friction[bears, :2], contacts.slip[bears, :2])
    np.testing.assert_allclose(np.abs(contacts.slip[bears, :2]), np.abs(np.tile(velocity, (bears.sum(), 1))), rtol=2e-2)
    assert (np.abs(across) > 0.1 * friction[bears] * np.linalg.norm(contacts.slip[bears], axis=1)).all()


def test_joints_hold_bodies_with_a_grain():
    """Two halves of a block, fixed to each other, slide as the whole does."""
    surface = grained(0.15, 0.5, 35.0)
    whole = on_slope(0.3, surface, velocity=(1.0, 0.8, 0.0))
    halves = tuple(
        body(name, (0.2, 0.3, 0.04), (x, 0.0, 0.02), 1.0, material=surface, velocity=(1.0, 0.8, 0.0))
        for name, x in (("Left", -0.1), ("Right", 0.1))
    )
    locked = (AxisSpec(0.0, 0.0),) * 3
    joint = JointSpec("Glue", "Left", "Right", np.array([0.0, 0.0, 0.02]), linear=locked, angular=locked)
    spec = replace(whole, bodies=(whole.bodies[0], *halves), joints=(joint,), excluded=(("Left", "Right"),))
    one, other = poses(sc.Simulation(whole).run(12), 1), poses(sc.Simulation(spec).run(12), 1)
    np.testing.assert_allclose(other[:, :2] + (0.1, 0.0), one[:, :2], atol=2e-5)


def test_torsion_and_a_grain_are_laws_side_by_side():
    """A ball that spins on the spot, with torsional friction: dw/dt = -length m g / I, whatever its grain. Velocities are those
    of the middle of the last step."""
    surface = replace(grained(0.1, 0.6, 20.0), torsion=0.01)
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        sphere_shape(0.1),
        position=np.array([0.0, 0.0, 0.1]),
        angular_velocity=np.array([0.0, 0.0, 20.0]),
        mass=1.0,
        material=surface,
    )
    frames = sc.Simulation(SceneSpec((ground(SMOOTH), ball))).run(12)
    np.testing.assert_allclose(frames[-1].velocities[1, 5], 20.0 - 0.01 * G / (0.4 * 0.01) * (0.5 - 0.5 / 240.0), rtol=1e-4)
