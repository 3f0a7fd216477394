# SPDX-License-Identifier: GPL-3.0-or-later
"""The set pieces stand, slide and stop as mechanics has it, and every step is as accurate as it was asked to be."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import solver_core as sc
from solver_core.dynamics.model.rest_gaps import REST_OFFSET
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind
from solver_core.scenes.plain import CardSize

GRAVITY = 9.81
FPS = 24


def poses_of(frames):
    return np.array([frame.poses for frame in frames])


def furthest_move(poses, body_vertices):
    """The longest way in m that any vertex of any body is from where it was in the first of these poses."""
    worst = 0.0
    for i, vertices in enumerate(body_vertices):
        if not len(vertices):
            continue
        placed = np.array([place(pose, vertices) for pose in poses[:, i]])
        worst = max(worst, np.linalg.norm(placed - placed[0], axis=2).max())
    return worst


def place(pose, vertices):
    w, axis = pose[3], pose[4:]
    return pose[:3] + vertices + 2.0 * np.cross(axis, np.cross(axis, vertices) + w * vertices)


def figures(frames):
    """The worst of every accuracy figure over all steps."""
    steps = [frame.statistics for frame in frames[1:]]
    return {name: max(getattr(s, name).max() for s in steps) for name in ("cone", "complementarity", "dissipation")}


def solved(frames):
    return all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames)


# --- what must stand


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("card house", sc.scenes.card_house(levels=5, mu=0.8)),
        ("arch", sc.scenes.arch(blocks=11, mu=0.6)),
        ("tower", sc.scenes.tower(boxes=10, heaviest=1000.0)),
    ],
    ids=["card house", "arch", "tower"],
)
def test_it_stands_for_ten_seconds(name, spec):
    """Nothing, down to the last corner, moves 1 mm after the first half second: neither the house, the arch nor the tower."""
    frames = sc.Simulation(spec, sleeping=False).run(10 * FPS)
    poses = poses_of(frames)
    vertices = [body.shape.vertices for body in spec.bodies]
    assert furthest_move(poses[FPS // 2 :], vertices) <= 1e-3, name
    assert furthest_move(poses, vertices) <= 5e-3, name
    assert solved(frames)
    assert max(figures(frames).values()) <= 1e-6
    assert max(frame.statistics.deepest_overlap.max() for frame in frames[1:]) <= 1e-5


def test_a_house_of_five_levels_has_forty_cards():
    assert sum(body.kind is BodyKind.ACTIVE for body in sc.scenes.card_house(levels=5).bodies) == 40
    assert sum(body.kind is BodyKind.ACTIVE for body in sc.scenes.arch().bodies) == 11


@pytest.mark.slow
@pytest.mark.parametrize("thickness", [3e-4, 5e-4])
@pytest.mark.parametrize(("degrees", "clearance"), [(15.0, 0.0), (22.0, -1e-5), (20.0, 1e-4)])
def test_houses_of_thin_cards_stand_without_a_missed_step(thickness, degrees, clearance):
    """Four levels; what the clearances of all levels let them sink by is less than ten of them."""
    spec = sc.scenes.card_house(4, card=CardSize(thickness, 0.063, 0.088), lean=math.radians(degrees), clearance=clearance)
    frames = sc.Simulation(spec).run(FPS)
    assert solved(frames)
    vertices = [body.shape.vertices for body in spec.bodies]
    assert furthest_move(poses_of(frames), vertices) < 1e-4 + 10.0 * abs(clearance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("thickness", "degrees", "mu"), [pytest.param(3e-4, 22.0, 0.35, marks=pytest.mark.long), (5e-4, 17.0, 0.15)]
)
def test_a_house_of_thin_cards_that_falls_misses_no_step(thickness, degrees, mu):
    spec = sc.scenes.card_house(4, mu, card=CardSize(thickness, 0.063, 0.088), lean=math.radians(degrees), clearance=1e-5)
    frames = sc.Simulation(spec).run(14)
    assert solved(frames)
    poses = poses_of(frames)
    assert poses[-1, 1:, 2].max() < 0.5 * poses[0, 1:, 2].max()


@pytest.mark.slow
def test_without_friction_the_house_comes_down():
    """The same cards at mu 0.05: it is friction that holds them, and the tests above can fail."""
    spec = sc.scenes.card_house(levels=2, mu=0.05)
    poses = poses_of(sc.Simulation(spec).run(FPS))
    assert poses[-1, 1:, 2].max() < 0.5 * poses[0, 1:, 2].max()


@pytest.mark.slow
def test_an_arch_with_too_little_friction_falls():
    spec = sc.scenes.arch(mu=0.1)
    poses = poses_of(sc.Simulation(spec, tolerance=1e-4).run(FPS))
    crown = 1 + 11 // 2
    assert poses[-1, crown, 2] < poses[0, crown, 2] - 0.1


@pytest.mark.parametrize("name", filter(str.islower, sc.scenes.__all__))
def test_the_normals_of_every_body_point_outwards(name):
    """By the divergence theorem the flux of x through an outward surface is three times the volume of its hull."""
    shapes = [body.shape for body in getattr(sc.scenes, name)().bodies if len(body.shape.triangles)]
    assert shapes
    for shape in shapes:
        a, b, c = (shape.vertices[shape.triangles[:, k]] for k in range(3))
        flux = 0.5 * np.einsum("ij,ij->", a, np.cross(b - a, c - a))
        assert flux == pytest.approx(3.0 * ConvexHull(shape.vertices).volume, rel=1e-9)


@pytest.mark.slow
def test_a_row_of_dominoes_falls_to_the_last():
    spec = sc.scenes.dominoes()
    frames = sc.Simulation(spec).run(2 * FPS)
    upright = 1.0 - 2.0 * (poses_of(frames)[:, 1:, 4:6] ** 2).sum(axis=2)
    assert (upright[0] == 1.0).all() and (upright[-1] < 0.7).all()
    assert abs(frames[-1].velocities).max() < 1e-3
    # one after the other
    falls = (upright < 0.9).argmax(axis=0)
    assert (np.diff(falls) >= 0).all() and falls[-1] > falls[0] + 6


def test_dominoes_that_do_not_reach_each_other_stand():
    # in a bow the first one's edge would touch the corner of the second
    frames = sc.Simulation(sc.scenes.dominoes(tiles=3, pitch=0.06, bend=0.0)).run(FPS)
    upright = 1.0 - 2.0 * (frames[-1].poses[1:, 4:6] ** 2).sum(axis=1)
    assert upright[0] < 0.1 and (upright[1:] > 1.0 - 1e-9).all()


def test_what_is_let_go_waits_and_then_has_its_velocity():
    ball = parts.box("Box", (0.1, 0.1, 0.1), (1.0, 2.0, 3.0), parts.pair_material(0.5), velocity=(4.0, 0.0, 1.0))
    let = parts.let_go(ball, 6)
    spec = sc.scene.spec.SceneSpec((let,), gravity=np.zeros(3), frame_end=20)
    frames = sc.Simulation(spec).run(12)
    places = np.array([frame.poses[0, :3] for frame in frames])
    np.testing.assert_allclose(places[:4], np.tile(let.position, (4, 1)), atol=1e-12)
    np.testing.assert_allclose(places[6], [1.0, 2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(frames[-1].velocities[0, :3], [4.0, 0.0, 1.0], atol=1e-9)


# --- slopes


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [0.0, 17.0, 45.0, 90.0])
def test_a_box_a_little_rougher_than_the_slope_stays(degrees):
    spec = sc.scenes.slope(tangent=0.5, mu=0.51, yaw=math.radians(degrees))
    frames = sc.Simulation(spec, sleeping=False).run(5 * FPS)
    poses = poses_of(frames)
    assert np.linalg.norm(poses[:, 1, :3] - poses[0, 1, :3], axis=1).max() < 1e-4
    assert solved(frames)


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [0.0, 17.0, 45.0])
def test_a_box_a_little_smoother_than_the_slope_slides_with_g_sin_minus_mu_cos(degrees):
    spec = sc.scenes.slope(tangent=0.5, mu=0.49, yaw=math.radians(degrees))
    frames = sc.Simulation(spec, sleeping=False).run(2 * FPS)
    poses = poses_of(frames)[:, 1, :3]
    angle = math.atan(0.5)
    down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    way = (poses[-1] - poses[0]) @ down
    assert way == pytest.approx(0.5 * GRAVITY * (math.sin(angle) - 0.49 * math.cos(angle)) * 4.0, rel=0.005)
    assert abs(poses[:, 1]).max() <= 1e-4 * way
    assert solved(frames)


@pytest.mark.slow
def test_a_slope_whose_friction_is_exactly_its_tangent_does_not_run_away():
    poses = poses_of(sc.Simulation(sc.scenes.slope(tangent=0.5, mu=0.5)).run(2 * FPS))[:, 1, :3]
    assert np.linalg.norm(poses[-1] - poses[0]) < 1e-2


# --- sliding and falling


@pytest.mark.parametrize(("speed", "mu"), [(2.0, 0.4), (1.0, 0.8), (3.0, 0.6)])
def test_a_box_slides_v_squared_over_two_mu_g_and_then_stands(speed, mu):
    spec = sc.scenes.sliding_box(speed=speed, mu=mu)
    frames = sc.Simulation(spec).run(math.ceil(FPS * (speed / (mu * GRAVITY) + 0.5)))
    poses = poses_of(frames)[:, 1]
    assert poses[-1, 0] == pytest.approx(speed**2 / (2.0 * mu * GRAVITY), rel=0.01)
    # at rest a contact may err by the tolerance, 1e-6, of the velocity that gravity gives in a step of 1/240 s for one frame
    moved = abs(poses[-1] - poses[-2])
    moved[3:] *= 2.0 * 0.1  # half angles, at the edge of the box of 0.2 m
    assert moved.max() <= 1e-6 * GRAVITY / 240.0 / FPS
    assert abs(poses[:, 1]).max() <= 1e-6


def test_on_ice_a_box_slides_on():
    frames = sc.Simulation(sc.scenes.sliding_box(speed=2.0, mu=0.0)).run(FPS)
    assert frames[-1].poses[1, 0] == pytest.approx(2.0, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.25, 0.0])
def test_a_cube_dropped_flat_from_four_metres_rests_where_it_fell(mu):
    spec = sc.scenes.dropped_cube(height=4.0, mu=mu)
    frames = sc.Simulation(spec).run(3 * FPS)
    poses = poses_of(frames)[:, 1]
    assert np.linalg.norm(poses[-1, :2]) <= 1e-4
    assert poses[-1, 2] == pytest.approx(0.5, abs=2e-4)
    np.testing.assert_allclose(poses[-1, 3:], [1.0, 0.0, 0.0, 0.0], atol=1e-5)
    assert abs(frames[-1].velocities).max() <= 1e-6
    assert poses[:, 2].min() >= 0.5 - 1e-6


# --- accuracy


ACCURACY = {
    "card house": (sc.scenes.card_house(levels=3), 12),
    "arch": (sc.scenes.arch(), 12),
    "tower": (sc.scenes.tower(), 12),
    "slope, slides": (sc.scenes.slope(mu=0.49, yaw=0.3), 24),
    "slope, sticks": (sc.scenes.slope(mu=0.51, yaw=0.3), 24),
    "dropped cube": (sc.scenes.dropped_cube(height=0.5, restitution=0.3), 24),
    "falling house": (sc.scenes.card_house(levels=2, mu=0.1), 12),
}


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
@pytest.mark.parametrize("name", list(ACCURACY))
def test_every_step_is_as_accurate_as_asked(name, tolerance):
    spec, count = ACCURACY[name]
    frames = sc.Simulation(spec, tolerance=tolerance).run(count)
    assert solved(frames)
    for kind, worst in figures(frames).items():
        assert worst <= tolerance, kind
    assert sum(frame.statistics.contacts.sum() for frame in frames) > 0


@pytest.mark.slow
def test_a_step_that_is_stopped_early_says_so_and_still_does_not_penetrate():
    """One cold iteration a step is too little friction for an arch: it opens, but no block sinks into another or the ground.

    A pair that is expected to end with an overlap of half a rest offset is left alone (`contact/directions.py`).
    """
    settings = {"max_iterations": 1, "tolerance": 1e-10, "warm_start": False, "staggering": "plain"}
    frames = sc.Simulation(sc.scenes.arch(), **settings).run(8)
    statuses = np.concatenate([frame.statistics.status for frame in frames[1:]])
    assert set(statuses) == {sc.Status.MAX_ITERATIONS}
    assert max(frame.statistics.overlap_ratio.max() for frame in frames[1:]) <= 0.5 * REST_OFFSET
    poses = poses_of(frames)
    assert abs(poses[-1] - poses[0]).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("substeps", [10, 20, 40])
def test_cards_that_collapse_and_turn_fast_overlap_by_less_than_a_tenth_of_a_card(substeps):
    """Contact holds for velocities, which turning bodies leave by a straight step: where that is too much, steps are cut."""
    frames = sc.Simulation(sc.scenes.card_house(levels=2, mu=0.0), substeps=substeps).run(6)
    assert max(frame.statistics.deepest_overlap.max() for frame in frames[1:]) <= 1e-4


@pytest.mark.slow
def test_with_an_octagon_the_slope_is_right_to_the_octagons_defect():
    """mu is between cos(pi / 8) mu and mu, by yaw of the contact axes: 0.56 holds in every direction, 0.49 in none."""
    for mu, stays in ((0.56, True), (0.49, False)):
        for yaw in (0.0, 0.4):
            frames = sc.Simulation(sc.scenes.slope(mu=mu, yaw=yaw), polygon_sides=8).run(FPS)
            assert solved(frames)
            moved = np.linalg.norm(frames[-1].poses[1, :3] - frames[0].poses[1, :3])
            assert (moved < 1e-4) == stays


@pytest.mark.slow
def test_warm_starts_save_iterations_and_change_nothing_that_is_seen():
    spec = sc.scenes.card_house(levels=3)
    warm, cold = (sc.Simulation(spec, warm_start=flag).run(12) for flag in (True, False))
    effort = [sum(frame.statistics.factorisations.sum() for frame in frames) for frames in (warm, cold)]
    assert effort[0] < 0.7 * effort[1]
    np.testing.assert_allclose(poses_of(warm), poses_of(cold), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_a_scene_of_another_size_moves_like_the_same_scene(scale):
    """Lengths by s and times by sqrt(s), gravity as it is: a box slides s times as far."""
    plain = sc.scenes.sliding_box(speed=2.0, mu=0.4)
    scaled = sc.scenes.sliding_box(speed=2.0 * math.sqrt(scale), mu=0.4, size=tuple(scale * np.array([0.3, 0.3, 0.2])))
    scaled = dataclasses.replace(scaled, fps=scaled.fps / math.sqrt(scale))
    a, b = (sc.Simulation(spec).run(FPS)[-1].poses[1] for spec in (plain, scaled))
    np.testing.assert_allclose(b[:3] / scale, a[:3], atol=1e-5)
    np.testing.assert_allclose(b[3:], a[3:], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "speed"), [(2.0, 3.0), (1.4, 3.0), (1.5, 6.0)])
def test_a_rod_that_jams_misses_no_step(mu, speed):
    for frame in sc.Simulation(sc.scenes.jamming_rod(speed=speed, mu=mu)).run(12)[1:]:
        assert (frame.statistics.status == sc.Status.SOLVED).all()


def test_a_rod_jams_at_once_above_a_friction_of_four_thirds_and_goes_over_its_tip():
    """Its tip stops by an impulse, about which it keeps its angular momentum: 3 v h^2 / l^2 of a speed v, h^2 / l^2 = 1 / 5."""

    def after(mu, seconds, **settings):
        frames = sc.Simulation(sc.scenes.jamming_rod(speed=3.0, mu=mu), **settings).run(seconds)
        return frames[-1].velocities[1, 0], frames[-1].poses[1], np.abs(frames[-1].velocities).max()

    assert after(2.0, 1, fps=2400.0, substeps=1)[0] == pytest.approx(0.6 * 3.0, rel=0.01)
    assert after(1.0, 1, fps=2400.0, substeps=1)[0] > 2.9
    _, pose, fastest = after(2.0, 40)
    # it fell forward, and lies on its side at a rest offset of 2e-4 of half of its length of 1 m
    assert fastest < 1e-3 and pose[2] == pytest.approx(0.002 + 1e-4, abs=1e-5) and 0.5 < pose[0] < 1.0


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
@pytest.mark.parametrize("heaviest", [1e4, 1e6])
def test_a_tower_carries_a_thousand_tonnes(heaviest, tolerance):
    run = sc.Simulation(sc.scenes.tower(heaviest=heaviest), tolerance=tolerance, sleeping=False).run(4)
    for frame in run[1:]:
        assert (frame.statistics.status == sc.Status.SOLVED).all()
        assert frame.statistics.factorisations.max() < 200
    np.testing.assert_allclose(run[-1].poses[:, 2], run[0].poses[:, 2], atol=2.5e-4)
