# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints on bodies that bend, against closed forms of beams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.deformable.bricks import attached
from solver_core.deformable.reduced_body import joint_loads, preparation_digest, prepared
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box as rigid_box
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec
from solver_core.validation.self_stress import has_unique_reaction

from ..bodies import material
from ..deformable.beams import DENSITY, divided

SIZE, YOUNG = np.array([1.0, 0.08, 0.04]), 4e8
STIFFNESS = YOUNG * SIZE[1] * SIZE[2] ** 3 / 12.0
WEIGHT = DENSITY * SIZE[1] * SIZE[2] * 9.81
SPEC = DeformableSpec(young=YOUNG, modes=12, resolution=50, damping_ratio=0.5)
LIVELY = replace(SPEC, young=2e7, damping_ratio=0.0)
TURNS = (LOCKED, FREE_AXIS, LOCKED)
ANY = (FREE_AXIS, FREE_AXIS, FREE_AXIS)
METHODS = ["staggered", "pivot", "energy"]


def board(name="Board", length=1.0, middle=0.0, **changes) -> BodySpec:
    shape = divided(SIZE * [length, 1.0, 1.0], (16, 2, 1))
    spec = replace(changes.pop("spec", SPEC), resolution=round(50 * length))
    return replace(
        BodySpec(name, BodyKind.ACTIVE, shape, density=DENSITY, deformable=spec, material=material(0.5)),
        position=np.array([middle, 0.0, 0.0]),
        **changes,
    )


def joint(name, a, b, x, angular=(LOCKED, LOCKED, LOCKED), linear=(LOCKED, LOCKED, LOCKED), z=0.0, **more) -> JointSpec:
    return JointSpec(name, a, b, np.array([x, 0.0, z]), linear=linear, angular=angular, **more)


def held(spec, frame, k, x):
    """(3,) m: where what a joint holds at x of the k-th body is in the world."""
    body, first, at = modes(spec, k), k * SPEC.modes, np.array([x, 0.0, 0.0])
    own = at + attached(body.bricks, at)[0] @ frame.modal[first : first + SPEC.modes]
    return frame.poses[k, :3] + Rotation.from_quat(frame.poses[k, 3:], scalar_first=True).apply(own)


def supports(left, right):
    """One end turns, the other rolls."""
    rolls = joint("Roll", "", right, 0.5, ANY, (FREE_AXIS, FREE_AXIS, LOCKED))
    return joint("Hinge", "", left, -0.5, TURNS), rolls


KNOWN = {}


def modes(spec, k):
    """Of the k-th body, which several tests have."""
    loads = joint_loads(spec, k)
    digest = preparation_digest(spec.bodies[k], loads)
    if digest not in KNOWN:
        KNOWN[digest] = prepared(spec.bodies[k], loads)
    return KNOWN[digest]


def simulation_of(spec, **settings):
    bends = [k for k, body in enumerate(spec.bodies) if body.deformable is not None]
    return sc.Simulation(spec, modes={k: modes(spec, k) for k in bends}, **{"sleeping": False, **settings})


def place(spec, frame, k, x):
    """(3,) m: the mean of vertices of the k-th body at x of its own, in the world."""
    first = sum(modes(spec, i).shapes.shape[2] for i, body in enumerate(spec.bodies[:k]) if body.deformable is not None)
    vertices, shapes = spec.bodies[k].shape.vertices, modes(spec, k).shapes
    there = np.abs(vertices[:, 0] - x) < 1e-6
    own = vertices[there] + shapes[there] @ frame.modal[first : first + shapes.shape[2]]
    return frame.poses[k, :3] + Rotation.from_quat(frame.poses[k, 3:], scalar_first=True).apply(own).mean(axis=0)


def at_rest(spec, frames=30, **settings):
    return simulation_of(spec, **settings).run(frames)[-1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["staggered", *(pytest.param(one, marks=pytest.mark.long) for one in ("pivot", "energy"))])
def test_a_board_on_a_hinge_and_a_roller_sags_as_a_simply_supported_beam(method):
    """5 w L^4 / (384 E I), and each support bears half."""
    spec = SceneSpec((board(),), joints=supports("Board", "Board"))
    frame = at_rest(spec, method=method)
    assert -place(spec, frame, 0, 0.0)[2] == pytest.approx(5.0 * WEIGHT / (384.0 * STIFFNESS), rel=0.01)
    np.testing.assert_allclose(frame.reactions[:, 2], 0.5 * WEIGHT, rtol=1e-3)


@pytest.mark.slow
def test_a_board_that_is_fixed_at_one_end_sags_as_a_cantilever():
    """w L^4 / (8 E I); the joint grips a thirtieth of the length, and bears the weight and its moment."""
    spec = SceneSpec((board(),), joints=(joint("Bolt", "", "Board", -0.5),))
    frame = at_rest(spec, 48)
    sag = place(spec, frame, 0, -0.5)[2] - place(spec, frame, 0, 0.5)[2]
    assert sag == pytest.approx(WEIGHT / (8.0 * STIFFNESS), rel=0.12)
    np.testing.assert_allclose(frame.reactions[0, [2, 4]], [WEIGHT, -0.5 * WEIGHT], rtol=5e-3)


@pytest.mark.slow
def test_a_board_that_is_fixed_to_what_accelerates_bends_as_under_gravity():
    """An animated base rises with 1 g: what is fixed to it sags as if it stood still and had weight."""
    base = rigid_box("Base", (0.05, 0.05, 0.05), (-0.55, 0.0, 0.0), material(0.5), 1.0)
    path = np.zeros((49, 7))
    path[:, 0], path[:, 2], path[:, 3] = -0.55, 0.5 * 9.81 * (np.arange(49) / 24.0) ** 2, 1.0
    rises = replace(base, kind=BodyKind.ANIMATED, mass=None, path=path)
    stands = replace(rises, kind=BodyKind.PASSIVE, path=None)
    spec = SceneSpec((board(), rises), joints=(joint("Bolt", "Base", "Board", -0.5),), frame_end=49)
    still, found = replace(spec, bodies=(board(), stands)), []
    for one, gravity in ((replace(spec, gravity=np.zeros(3)), 0.0), (still, 9.81)):
        frame = at_rest(replace(one, gravity=np.array([0.0, 0.0, -gravity])), 30)
        found.append(place(one, frame, 0, 0.5)[2] - place(one, frame, 0, -0.5)[2])
    assert found[0] < -0.01 and found[0] == pytest.approx(found[1], rel=0.02)


@pytest.mark.slow
def test_two_halves_that_are_fixed_together_sag_as_the_whole():
    left, right = board("Left", 0.5, -0.25), board("Right", 0.5, 0.25)
    joints = (joint("Glue", "Left", "Right", 0.0), *supports("Left", "Right"))
    spec = SceneSpec((left, right), joints=joints, excluded=(("Left", "Right"),))
    frame = at_rest(spec)
    middle = [place(spec, frame, 0, 0.25), place(spec, frame, 1, -0.25)]
    np.testing.assert_allclose(*middle, atol=2e-6)
    assert -middle[0][2] == pytest.approx(5.0 * WEIGHT / (384.0 * STIFFNESS), rel=0.12)
    assert frame.reactions[0, 4] == pytest.approx(WEIGHT / 8.0, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("law", [Elasticity.LINEAR, pytest.param(Elasticity.STVK, marks=pytest.mark.long)])
def test_a_weight_that_hangs_from_the_end_of_a_pinned_board_bends_it_as_the_textbook_says(law):
    """F L^3 / (3 E I)."""
    shape = divided(SIZE, (16, 2, 1))
    pinned = replace(SPEC, kind=law, pinned=np.flatnonzero(shape.vertices[:, 0] < -0.499).astype(np.int32))
    weight = rigid_box("Weight", (0.05, 0.05, 0.05), (0.5, 0.0, -0.3), material(0.5), 0.2)
    rope = joint("Rope", "Board", "Weight", 0.5, ANY)
    alone, loaded = (SceneSpec((board(spec=pinned), *more), joints=joints) for more, joints in (((), ()), ((weight,), (rope,))))
    sags = [place(spec, at_rest(spec, 36), 0, 0.5)[2] for spec in (alone, loaded)]
    assert sags[0] - sags[1] == pytest.approx(0.2 * 9.81 / (3.0 * STIFFNESS), rel=0.02)


def swinging(angular=TURNS, law=Elasticity.LINEAR, **more):
    """Two boards that hang on each other, bend and turn, in empty space."""
    lively = replace(LIVELY, kind=law)
    first = board("First", 0.5, -0.25, spec=lively, angular_velocity=np.array([0.2, 3.0, 0.5]))
    other = board("Other", 0.5, 0.25, spec=lively, velocity=np.array([0.1, 0.0, 0.75]))
    return SceneSpec(
        (first, other),
        gravity=np.zeros(3),
        joints=(joint("Joint", "First", "Other", 0.0, angular, **more),),
        excluded=(("First", "Other"),),
    )


def momenta(simulation, spec):
    """(6,) kg m/s and kg m^2/s about the origin."""
    state = simulation.checkpoint()
    mass = np.array([modes(spec, k).mass for k in range(len(spec.bodies))])[:, None]
    linear = mass * state["velocity"]
    return np.concatenate([linear.sum(axis=0), (np.cross(state["position"], linear) + state["angular_momentum"]).sum(axis=0)])


@pytest.mark.slow
def test_joints_keep_the_momenta_of_bodies_that_bend():
    spec = swinging()
    simulation = simulation_of(spec)
    before = momenta(simulation, spec)
    frames = simulation.run(24)
    assert np.abs(np.array([frame.modal for frame in frames])).max() > 1e-4
    # velocities belong to half a step before positions, in which joints push
    np.testing.assert_allclose(momenta(simulation, spec), before, atol=1e-3 * np.abs(before).max())
    np.testing.assert_allclose(momenta(simulation, spec)[:3], before[:3], atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "law"),
    [
        ("staggered", Elasticity.STVK),
        ("pivot", Elasticity.LINEAR),
        pytest.param("energy", Elasticity.LINEAR, marks=pytest.mark.long),
    ],
)
def test_joints_hold_to_micrometres_while_bodies_bend(method, law):
    spec = swinging(ANY, law)
    for frame in simulation_of(spec, method=method).frames(12):
        assert np.linalg.norm(held(spec, frame, 0, 0.25) - held(spec, frame, 1, -0.25)) < 5e-6


def mirrored(spec):
    flip = np.array([1.0, -1.0, 1.0])
    bodies = tuple(
        replace(
            body,
            shape=replace(body.shape, vertices=body.shape.vertices * flip, triangles=body.shape.triangles[:, ::-1]),
            position=body.position * flip,
            velocity=body.velocity * flip,
            angular_velocity=-body.angular_velocity * flip,
        )
        for body in spec.bodies
    )
    return replace(spec, bodies=bodies)


@pytest.mark.slow
def test_a_mirrored_pair_goes_the_mirrored_way():
    spec = swinging()
    found = [simulation_of(one).run(8)[-1].poses[:, :3] for one in (spec, mirrored(spec))]
    np.testing.assert_allclose(found[0] * [1.0, -1.0, 1.0], found[1], atol=1e-6)


@pytest.mark.slow
def test_they_resume_with_the_same_bits():
    spec = swinging(linear=(LOCKED, LOCKED, AxisSpec(stiffness=2e3, damping=5.0)))
    whole = simulation_of(spec)
    whole.run(3)
    checkpoint = whole.checkpoint()
    after = whole.run(3)[1:]
    other = simulation_of(spec, threads=2)
    other.restore(after[0].frame - 1, checkpoint)
    for one, same in zip(after, other.run(3)[1:], strict=True):
        assert np.array_equal(one.poses, same.poses) and np.array_equal(one.modal, same.modal)
        assert np.array_equal(one.reactions, same.reactions)


@pytest.mark.slow
def test_a_spring_between_bodies_that_bend_loses_nothing_and_gains_nothing():
    """Kinetic, bending and spring energy of two boards on a spring, without damping."""
    coil = AxisSpec(stiffness=500.0)
    spec = swinging((LOCKED, LOCKED, LOCKED), linear=(LOCKED, LOCKED, coil))
    spec = replace(spec, bodies=tuple(replace(body, angular_velocity=np.zeros(3)) for body in spec.bodies))
    simulation = simulation_of(spec)
    reduced = [modes(spec, k) for k in range(2)]
    omega = np.concatenate([one.omega for one in reduced])
    slow = omega * (1.0 / 240.0) < 2.0
    found, apart = [], []
    for frame in simulation.frames(24):
        state = simulation.checkpoint()
        gap = place(spec, frame, 1, -0.25)[2] - place(spec, frame, 0, 0.25)[2]
        motion = sum(0.5 * one.mass * state["velocity"][k] @ state["velocity"][k] for k, one in enumerate(reduced))
        motion += sum(0.5 * frame.velocities[k, 3:] @ state["angular_momentum"][k] for k in range(2))
        bends = 0.5 * (state["modal_velocity"] ** 2 + (omega * state["modal"]) ** 2)[slow].sum()
        found.append(motion + bends + 0.5 * 500.0 * gap**2)
        apart.append(gap)
    assert np.ptp(apart) > 0.02
    assert np.max(found) < 1.15 * found[0] and np.mean(found[12:]) == pytest.approx(np.mean(found[1:12]), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "breaks"), [(0.9, True), (1.15, False)])
def test_a_joint_breaks_at_what_it_bears(share, breaks):
    """A board on a hinge and a roller, at rest from the start but for its sag: half its weight on each, a little more as it
    settles."""
    step = 1.0 / 240.0
    spec = SceneSpec((board(spec=replace(SPEC, damping_ratio=3.0)),), joints=supports("Board", "Board"))
    spec = replace(spec, joints=tuple(replace(one, breaking_impulse=share * 0.5 * WEIGHT * step) for one in spec.joints))
    frame = at_rest(spec, 24)
    assert frame.broken.all() == breaks and frame.broken.any() == breaks


@pytest.mark.slow
def test_a_door_that_slams_rattles():
    """A door on two hinges meets its frame at one edge, and trembles; what it has lost does not come back."""
    shape = divided(np.array([0.8, 0.04, 1.2]), (8, 1, 12))
    door = BodySpec("Door", BodyKind.ACTIVE, shape, density=DENSITY, material=material(0.3))
    door = replace(door, deformable=DeformableSpec(young=1e9, modes=12, resolution=30, damping_ratio=0.0))
    door = replace(door, angular_velocity=np.array([0.0, 0.0, 2.0]), velocity=np.array([0.0, 0.8, 0.0]))
    hinges = tuple(
        JointSpec(f"Hinge {z}", "", "Door", np.array([-0.4, 0.0, z]), angular=(LOCKED, LOCKED, FREE_AXIS)) for z in (-0.5, 0.5)
    )
    stop = rigid_box("Stop", (0.04, 0.04, 0.1), (0.38, 0.07, 0.55), material(0.3), 1.0)
    stop = replace(stop, kind=BodyKind.PASSIVE, mass=None)
    spec = SceneSpec((door, stop), gravity=np.zeros(3), joints=hinges)
    frames = simulation_of(spec).run(24)
    modal = np.array([frame.modal for frame in frames])
    assert np.abs(np.diff(modal[12:], axis=0)).max() > 1e-4
    assert (np.concatenate([frame.statistics.status for frame in frames[1:]]) == sc.Status.SOLVED).all()
    spins = np.array([frame.velocities[0, 5] for frame in frames])
    assert np.isclose(spins[0], 2.0) and -2.0 < spins[-1] < 0.0 and np.abs(spins).max() < 2.01


def test_what_bends_shares_its_loads_in_one_way():
    """A board fixed at both ends: of a rigid one nobody can say which end bears what."""
    ends = joint("Left", "", "Board", -0.5), joint("Right", "", "Board", 0.5)
    assert has_unique_reaction(SceneSpec((board(),), joints=ends)).all()
    assert not has_unique_reaction(SceneSpec((replace(board(), deformable=None),), joints=ends)).any()
