# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that joints hold to each other: contacts between them agree with the joints on the gap that they began with."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.collision import detect
from solver_core.dynamics.model.checkpoints import OF_PAIRS, checkpoint_problem
from solver_core.geometry import build_shapes
from solver_core.scene.joints import FREE_AXIS, LOCKED, JointChange, JointSpec
from solver_core.scene.parts import box, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..bodies import poses
from ..fractured import fractured

G = 9.81
ROUGH = MaterialSpec(0.7, 0.7)
MASS = 50.0
STEP = 1.0 / 240.0
ANGULAR = {
    "fixed": (LOCKED, LOCKED, LOCKED),
    "point": (FREE_AXIS, FREE_AXIS, FREE_AXIS),
    "hinge": (LOCKED, LOCKED, FREE_AXIS),
}
PAIR, SQUARE, BLOCK = (2, 1, 1), (2, 2, 1), (3, 3, 3)


def glued(counts, gap=0.0, kind="fixed", size=0.3, turn=None, height=2.0, breaking=np.inf, left_out=()):
    """Cubes in a grid, each jointed to its neighbours but for the pairs left out, about a place above the origin."""
    rotation = Rotation.identity() if turn is None else Rotation.random(random_state=turn)
    orientation = rotation.as_quat(scalar_first=True)
    cells = list(itertools.product(*map(range, counts)))
    middle, mass = (np.array(counts) - 1.0) / 2.0, MASS * (size / 0.3) ** 3
    above = np.array([0.0, 0.0, height * size])
    place = {cell: above + rotation.apply((cell - middle) * (size + gap)) for cell in cells}
    cubes = [replace(box(str(cell), (size,) * 3, place[cell], ROUGH, mass), orientation=orientation) for cell in cells]
    pairs = [(a, b) for a, b in itertools.combinations(cells, 2) if np.abs(np.subtract(a, b)).sum() == 1]
    joints = [
        JointSpec(
            f"{a}{b}",
            str(a),
            str(b),
            0.5 * (place[a] + place[b]),
            orientation,
            angular=ANGULAR[kind],
            breaking_impulse=breaking,
        )
        for a, b in pairs
        if (a, b) not in left_out
    ]
    return scene(cubes, joints)


def scene(bodies, joints, **more):
    return SceneSpec(tuple(bodies), joints=tuple(joints), gravity=np.array([0.0, 0.0, -G]), frame_end=10**6, **more)


def run(spec, frames, **settings):
    """Frames of ten steps of 1/240 s."""
    return list(sc.Simulation(replace(spec, fps=24.0), substeps=10, **settings).frames(frames))


def forces(frames):
    """(frames, joints) N: the largest component of each joint's reaction."""
    return np.array([np.abs(frame.reactions[:, :3]).max(axis=1) for frame in frames])


def solved(frames):
    return all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames)


def weight(spec):
    return spec.bodies[0].mass * G


@pytest.mark.parametrize(
    "gap", [-1e-4, 0.0, 1e-9, 3e-5, 1e-3, *(pytest.param(gap, marks=pytest.mark.long) for gap in (-1e-5, -1e-6, 1e-6, 1e-4))]
)
@pytest.mark.parametrize("kind", ANGULAR)
def test_two_that_fall_freely_bear_nothing_whatever_gap_they_begin_with(gap, kind):
    spec = glued(PAIR, gap, kind)
    frames = run(spec, 2)
    assert forces(frames).max() < 1e-6 * weight(spec)
    between = frames[-1].poses[1, :3] - frames[-1].poses[0, :3]
    np.testing.assert_allclose(between, [0.3 + gap, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("counts", [SQUARE, pytest.param(BLOCK, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ANGULAR)
@pytest.mark.parametrize("gap", [-1e-4, 0.0, 1e-6])
def test_so_do_grids_whose_cubes_are_held_through_others_as_well(counts, kind, gap):
    spec = glued(counts, gap, kind)
    frames = run(spec, 2)
    assert forces(frames).max() < 1e-6 * weight(spec)
    assert solved(frames)


@pytest.mark.parametrize("method", ["staggered", "pivot"])
@pytest.mark.parametrize("turn", [1, 2])
@pytest.mark.parametrize("size", [1e-3, 0.3, 10.0])
def test_so_do_grids_of_any_size_turned_at_random_by_both_methods(size, turn, method):
    spec = glued(SQUARE, 0.0, "fixed", size=size, turn=turn)
    frames = run(spec, 1, method=method)
    assert forces(frames).max() < 1e-6 * weight(spec)


@pytest.mark.parametrize("kind", ANGULAR)
def test_who_is_held_only_through_a_third_bears_nothing_either(kind):
    """A square of four without one of its joints: the two that lacks it touch all the same."""
    spec = glued(SQUARE, 0.0, kind, left_out=[((0, 0, 0), (1, 0, 0))])
    assert len(spec.joints) == 3
    assert forces(run(spec, 2)).max() < 1e-6 * weight(spec)


@pytest.mark.parametrize("kind", ANGULAR)
@pytest.mark.parametrize("gap", [-1e-5, 0.0, 1e-4])
def test_two_that_spin_freely_pull_with_the_centripetal_force_and_keep_momentum_and_energy(kind, gap):
    """The pull is m omega^2 r; about the axis of the largest moment, the only one that Point joints and hinges keep."""
    rate, spec = 5.0, replace(glued(PAIR, gap, kind), gravity=np.zeros(3))
    turning = [
        replace(one, angular_velocity=np.array([0.0, 0.0, rate]), velocity=np.cross([0.0, 0.0, rate], one.position))
        for one in spec.bodies
    ]
    frames = run(replace(spec, bodies=tuple(turning)), 6)
    pull = np.linalg.norm(frames[1].reactions[0, :3])
    # the mean over a frame of a force that turns by 0.21 rad in it
    turned = 0.5 * rate / 24.0
    assert pull == pytest.approx(MASS * rate**2 * 0.5 * (0.3 + gap) * np.sin(turned) / turned, rel=0.06)
    twists = np.array([frame.velocities for frame in frames])
    np.testing.assert_allclose(twists[..., :3].sum(axis=1), 0.0, atol=1e-9)
    energy = (twists**2 * [MASS, MASS, MASS, *[MASS * 0.3**2 / 6.0] * 3]).sum(axis=(1, 2))
    np.testing.assert_allclose(energy[1:], energy[0], rtol=1e-3)
    assert solved(frames)


@pytest.mark.parametrize("gap", [-1e-5, 0.0, 1e-6, 1e-4])
def test_a_column_on_the_floor_bears_in_each_joint_the_weight_above_it(gap):
    spec = glued((1, 1, 4), gap, height=2.0 + 1.5 * gap / 0.3)
    frames = run(replace(spec, bodies=(*spec.bodies, ground(ROUGH))), 6)
    assert frames[-1].reactions[:, 2] == pytest.approx(np.array([3.0, 2.0, 1.0]) * weight(spec), rel=1e-4)


@pytest.mark.parametrize(("share", "breaks"), [(0.999, True), (1.001, False)])
@pytest.mark.parametrize("gap", [0.0, 1e-4])
@pytest.mark.parametrize("kind", ["fixed", "point"])
def test_a_joint_that_something_hangs_on_breaks_at_its_weight_in_a_step(kind, gap, share, breaks):
    """The upper of two cubes is held, the lower one touches it from below: in a step the joint bears m g h."""
    spec = glued((1, 1, 2), gap, kind)
    joint = replace(spec.joints[0], breaking_impulse=share * weight(spec) * STEP)
    nail = JointSpec("nail", "", spec.bodies[1].name, spec.bodies[1].position)
    frames = run(replace(spec, joints=(joint, nail)), 3)
    assert frames[-1].broken.tolist() == [breaks, False]


def test_what_hits_a_glued_block_leaves_it_with_the_momentum_of_an_impact():
    """A ball of steel by a block that joints hold: they go on as one, and nothing is thrown."""
    spec = replace(glued(SQUARE, 0.0), gravity=np.zeros(3))
    hitting = replace(box("Hammer", (0.2, 0.2, 0.2), (-1.0, 0.1, 0.6), ROUGH, 100.0), velocity=np.array([10.0, 0.0, 0.0]))
    frames = run(replace(spec, bodies=(*spec.bodies, hitting)), 8)
    before, after = 100.0 * 10.0, np.array([frame.velocities[:, 0] for frame in frames]) @ ([MASS] * 4 + [100.0])
    np.testing.assert_allclose(after, before, rtol=1e-9)
    moving = frames[-1].velocities
    energy = 0.5 * (np.square(moving) * [1.0, 1.0, 1.0, *[0.3**2 / 6.0] * 3]).sum(axis=1)
    assert (energy * ([MASS] * 4 + [100.0])).sum() < 0.5 * 100.0 * 10.0**2
    between = Rotation.from_quat(moved := poses(frames[-1:], 0)[:, 3:], scalar_first=True).inv()
    apart = between.apply(frames[-1].poses[3, :3] - frames[-1].poses[0, :3])
    np.testing.assert_allclose(apart, [[0.3, 0.3, 0.0]], atol=1e-5)
    assert np.abs(moved).max() < 1.0


@pytest.mark.parametrize("gap", [-1e-5, 0.0, 1e-6, 3e-5])
@pytest.mark.parametrize("kind", ["fixed", "point"])
def test_joints_that_break_leave_the_bodies_where_they_are(gap, kind):
    """Pieces in a floating block without gravity: they are let go, and nobody moves but for overlaps that are undone."""
    spec = replace(glued(SQUARE, gap, kind), gravity=np.zeros(3))
    axes = (LOCKED, LOCKED, LOCKED), ANGULAR[kind]
    joints = [replace(one, changes=(JointChange(2, *axes, enabled=False),)) for one in spec.joints]
    frames = run(replace(spec, joints=tuple(joints)), 6)
    moved = np.abs(frames[-1].poses[:, :3] - frames[0].poses[:, :3]).max()
    assert moved <= max(0.0, -gap) * 1.5 + 1e-9
    assert np.abs(frames[-1].velocities).max() < 1e-9


def test_a_tower_whose_joints_break_stands_and_gains_no_energy():
    spec = glued((1, 1, 4), 0.0, height=2.0)
    joints = [replace(one, changes=(JointChange(4, (LOCKED,) * 3, (LOCKED,) * 3, enabled=False),)) for one in spec.joints]
    frames = run(replace(spec, bodies=(*spec.bodies, ground(ROUGH)), joints=tuple(joints)), 12)
    height = np.array([frame.poses[:4, 2] for frame in frames])
    # a rest offset is 3e-5 m, and the lowest may come up to it from the floor
    assert np.abs(height - height[0]).max() < 4e-5
    assert height[4:].sum(axis=1).max() <= height[4].sum() + 1e-8
    assert np.abs(frames[-1].velocities[:4]).max() < 1e-6


def test_who_is_held_but_meets_later_stops_at_the_rest_offset():
    """Two weights on strings of one beam swing against each other: they come to rest 2e-4 half extents apart."""
    beam = box("Beam", (1.0, 0.1, 0.1), (0.0, 0.0, 1.0), ROUGH, 10.0)
    weights = [box(f"Weight {x}", (0.2, 0.2, 0.2), (x, 0.0, 0.0), ROUGH, 1.0) for x in (-0.11, 0.11)]
    joints = [JointSpec("nail", "", "Beam", beam.position)]
    joints += [
        JointSpec(f"string {x}", "Beam", f"Weight {x}", np.array([0.05 * np.sign(x), 0.0, 0.95]), angular=ANGULAR["point"])
        for x in (-0.11, 0.11)
    ]
    spec = scene([beam, *weights], joints, excluded=())
    frames = run(spec, 48, keep_contacts=True, sleeping=False)
    contacts = frames[-1].contacts
    resting = (contacts.body_a == 1) & (contacts.body_b == 2) & (contacts.force > 0.0)
    assert resting.any()
    assert contacts.gap[resting].min() == pytest.approx(2e-5, rel=0.1)


def test_joints_that_are_enabled_later_take_the_gap_that_there_is_then():
    """Two cubes that rest on each other, at their rest offset, are glued in frame 3: they go on to bear one weight."""
    spec = glued((1, 1, 2), 0.0, height=1.0)
    enabled = JointChange(3, (LOCKED,) * 3, (LOCKED,) * 3)
    spec = replace(spec, joints=(replace(spec.joints[0], enabled=False, changes=(enabled,)),))
    frames = run(replace(spec, bodies=(*spec.bodies, ground(ROUGH))), 8)
    assert frames[-1].reactions[0, 2] == pytest.approx(weight(spec), rel=1e-3)
    assert forces(frames).max() < 3.0 * weight(spec)


def test_a_mirror_image_moves_as_the_mirror_image():
    spec = replace(glued(SQUARE, 0.0, "point", turn=5), gravity=np.array([0.3, 0.0, -G]))
    flip = np.array([-1.0, 1.0, 1.0])
    turned = np.array([1.0, 1.0, -1.0, -1.0])
    bodies = [replace(one, position=flip * one.position, orientation=turned * one.orientation) for one in spec.bodies]
    joints = [replace(one, position=flip * one.position, orientation=turned * one.orientation) for one in spec.joints]
    mirrored = replace(spec, bodies=tuple(bodies), joints=tuple(joints), gravity=flip * spec.gravity)
    for frame, other in zip(run(spec, 4), run(mirrored, 4), strict=True):
        np.testing.assert_allclose(other.poses[:, :3], flip * frame.poses[:, :3], atol=1e-9)


def test_a_run_that_goes_on_from_a_checkpoint_with_some_glue_broken_is_the_same_to_the_last_bit():
    spec = glued((1, 1, 4), breaking=2.5 * MASS * G * STEP)
    spec = replace(spec, bodies=(*spec.bodies, ground(ROUGH)), fps=24.0)
    whole = sc.Simulation(spec, substeps=10)
    for _ in range(4):
        whole.advance()
    other = sc.Simulation(spec, substeps=10)
    other.restore(whole._frame, whole.checkpoint())
    for _ in range(3):
        np.testing.assert_array_equal(whole.advance().poses, other.advance().poses)
    assert whole._steps.joints.memory.broken.tolist() == [True, False, False]


def test_a_checkpoint_may_have_fewer_pairs_than_the_scene_begins_with_but_none_that_are_not():
    spec = glued(PAIR, kind="hinge")
    like = sc.Simulation(spec).checkpoint()
    assert like["together_pair"].tolist() == [1]
    apart = like | {"together_pair": np.zeros(0, np.int64), "together_gap": np.zeros(0)}
    assert checkpoint_problem(apart, like) == ""
    for wrong in ([-1], [2], [3], [4]):
        assert "not of pairs" in checkpoint_problem(like | {"together_pair": np.array(wrong)}, like)
    assert "together_gap" in checkpoint_problem(like | {"together_gap": np.zeros(0)}, like)
    assert "names bodies" in checkpoint_problem(like | {"neighbours": like["neighbours"] + 2}, like)


def test_a_run_goes_on_from_a_checkpoint_that_knows_no_gaps_at_the_gaps_that_there_are():
    spec = glued(PAIR, gap=-1e-4)
    whole = sc.Simulation(spec, fps=24.0, substeps=10)
    for _ in range(2):
        frame = whole.advance()
    known = {name: array for name, array in whole.checkpoint().items() if name not in OF_PAIRS}
    other = sc.Simulation(spec, fps=24.0, substeps=10)
    other.restore(frame.frame, known)
    frames = [other.advance() for _ in range(2)]
    assert solved(frames)
    assert forces(frames).max() < 1e-3 * weight(spec)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "shrunk"), [(12, 0.0), (24, 0.002), pytest.param(24, 0.0, marks=pytest.mark.long)])
def test_a_block_glued_of_broken_pieces_stands_until_it_is_hit_and_cracks_with_the_energy_of_what_hit_it(count, shrunk):
    """Pieces that fit exactly, or shrunk as add-ons do it, fixed to each other wherever they have a face in common."""
    pieces = [corners + np.array([0.0, 0.0, 0.5]) for corners in fractured(3, count, thin=False)]
    middles = np.array([corners.mean(axis=0) for corners in pieces])
    shapes = [ShapeSpec(ShapeKind.HULL, corners - middle) for corners, middle in zip(pieces, middles, strict=True)]
    every = np.ones(len(pieces), dtype=np.int64)
    touch = detect(build_shapes(shapes), middles, np.tile(np.eye(3), (len(pieces), 1, 1)), 1e-6 * every, every, every > 0)
    ends = np.column_stack([touch.body_a, touch.body_b])
    glue = [
        JointSpec(f"{a}-{b}", str(a), str(b), touch.point[(ends == (a, b)).all(axis=1)].mean(axis=0), breaking_impulse=40.0)
        for a, b in np.unique(ends, axis=0).tolist()
        if (ends == (a, b)).all(axis=1).sum() >= 3
    ]
    assert len(glue) > 1.6 * count
    bodies = [
        BodySpec(str(i), BodyKind.ACTIVE, replace(shape, vertices=(1.0 - shrunk) * shape.vertices), position=middle)
        for i, (shape, middle) in enumerate(zip(shapes, middles, strict=True))
    ]
    mass = [2000.0 * ConvexHull(corners).volume for corners in pieces]
    bodies = [replace(one, mass=m, material=ROUGH) for one, m in zip(bodies, mass, strict=True)]
    ball = BodySpec(
        "Ball", BodyKind.ACTIVE, sphere_shape(0.2), mass=100.0, material=ROUGH, position=np.array([0.03, -2.0, 0.6])
    )
    ball.velocity[:] = 0.0, 10.0, 0.6
    energy = 0.5 * ball.mass * float(ball.velocity @ ball.velocity) + G * ball.mass * 0.6
    frames = sc.Simulation(SceneSpec((ground(ROUGH), *bodies, ball), fps=24, joints=tuple(glue)), substeps=10).run(16)
    before, after = frames[3], frames[-1]
    assert not before.broken.any()
    moved = before.poses[1:-1, :3] - middles
    # all by the rest offset, none against the others
    assert np.abs(moved).max() < 2e-4 + shrunk
    assert np.abs(moved - moved.mean(axis=0)).max() < 1e-6 + shrunk
    assert 0 < np.count_nonzero(after.broken) < len(glue)
    for frame in frames[1:]:
        assert (frame.statistics.status == sc.Status.SOLVED).all()
        moving = 0.5 * np.array([*mass, ball.mass]) @ (frame.velocities[1:, :3] ** 2).sum(axis=1)
        assert moving < 1.001 * energy
    # what cracks stays: nothing is blown out of a block that fits
    assert np.abs(after.poses[1:-1, :3] - middles).max() < 0.1


@pytest.mark.parametrize(
    ("overlap", "joined", "said"),
    [(5e-3, False, ["overlap by 5 mm at frame 1: as joints hold both to the world"]), (5e-3, True, []), (-5e-3, False, [])],
)
def test_an_overlap_that_only_joints_to_the_world_keep_is_said(overlap, joined, said):
    cubes = [box(name, (0.3,) * 3, (x, 0.0, 1.0), ROUGH, MASS) for name, x in (("Strut", 0.0), ("Rack", 0.3 - overlap))]
    joints = [JointSpec(f"{cube.name} Axle", cube.name, "", cube.position, angular=ANGULAR["hinge"]) for cube in cubes]
    if joined:
        joints.append(JointSpec("Link", "Strut", "Rack", cubes[0].position, angular=ANGULAR["hinge"]))
    warnings = sc.Simulation(scene(cubes, joints)).warnings
    found = [warning.message for warning in warnings if warning.objects == ("Strut", "Rack") and warning.field == "overlap"]
    assert len(found) == len(said) and all(begin in message for begin, message in zip(said, found, strict=True))
