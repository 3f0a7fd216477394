# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints whose reactions are not unique: those of structures that are held more than once, and no others."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.bake.report import build_report
from solver_core.dynamics.model.predict import predicted_step
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box
from solver_core.scene.spec import BodyKind, MaterialSpec, SceneSpec, SolverSettings
from solver_core.validation.self_stress import has_unique_reaction

from ..random_joints import random_jointed_scene

SURFACE = MaterialSpec(0.5, 0.5)
WELD = (LOCKED,) * 3, (LOCKED,) * 3
BALL = (LOCKED,) * 3, (FREE_AXIS,) * 3
HINGE = (LOCKED,) * 3, (LOCKED, LOCKED, FREE_AXIS)
SLIDING_BALL = (LOCKED, LOCKED, FREE_AXIS), (FREE_AXIS,) * 3
TURNED = Rotation.random(random_state=5)


def joint(kind, a, b, at, name="", orientation=(1.0, 0.0, 0.0, 0.0)):
    linear, angular = kind
    return JointSpec(name or f"{a}-{b}", a, b, np.asarray(at, dtype=float), np.asarray(orientation), linear, angular)


def shared(bodies, joints, scale=1.0, turn=TURNED):
    """The names of the joints whose reactions are not unique, of a scene in m times a scale, turned as a whole."""

    def placed(one):
        own = Rotation.from_quat(one.orientation, scalar_first=True)
        return replace(one, position=scale * turn.apply(one.position), orientation=(turn * own).as_quat(scalar_first=True))

    spec = SceneSpec(tuple(map(placed, bodies)), joints=tuple(map(placed, joints)))
    return [one.name for one, unique in zip(spec.joints, has_unique_reaction(spec), strict=True) if not unique]


def row_of(count):
    return [box(str(i), (0.9, 0.1, 0.1), (i, 0.0, 0.0), SURFACE) for i in range(count)]


def chain(kind, count, ends=("",)):
    """Links of one metre along a parabola, hung from the world at their first end, or at both."""
    height = lambda x: 0.2 * (2.0 * x / count - 1.0) ** 2  # noqa: E731
    names = [*ends[:1], *map(str, range(count)), *ends[1:]]
    return [joint(kind, a, b, (i - 0.5, 0.0, height(i)), f"{i}") for i, (a, b) in enumerate(pairwise(names))]


@pytest.mark.parametrize("kind", [WELD, BALL, HINGE])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_what_a_chain_with_a_free_end_bears_is_its_weight(kind, scale):
    assert shared(row_of(300), chain(kind, 300), scale) == []


def test_a_chain_of_ball_joints_between_two_posts_sags_and_bears_what_the_curve_says_but_not_once_it_is_straight():
    """A rope's tension follows from its sag; a straight row of bars can be pulled tight."""
    assert shared(row_of(50), chain(BALL, 50, ("", ""))) == []
    straight = [replace(one, position=one.position * (1.0, 1.0, 0.0)) for one in chain(BALL, 50, ("", ""))]
    assert len(shared(row_of(50), straight)) == 51


@pytest.mark.parametrize("count", [3, 40])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_ring_of_welds_is_not_unique_anywhere_and_what_hangs_from_it_is(count, scale):
    turn = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    bodies = [box(str(i), (0.1,) * 3, (np.cos(t), np.sin(t), 0.0), SURFACE) for i, t in enumerate(turn)]
    ring = [joint(WELD, str(i), str((i + 1) % count), bodies[i].position, f"ring {i}") for i in range(count)]
    more = [joint(HINGE, "", "0", (1.0, 0.0, 1.0), "nail"), joint(WELD, "1", "weight", (0.0, 0.0, -1.0), "string")]
    bodies.append(box("weight", (0.1,) * 3, (0.0, 0.0, -1.2), SURFACE))
    assert shared(bodies, [*ring, *more], scale) == [one.name for one in ring]


@pytest.mark.parametrize(
    ("kinds", "is_unique"),
    [((HINGE,), True), ((HINGE, HINGE), False), ((HINGE, BALL), False), ((BALL, BALL), False), ((BALL, SLIDING_BALL), True)],
)
def test_a_door_on_two_hinges_is_held_twice_and_on_a_ball_and_one_that_slides_along_its_edge_once(kinds, is_unique):
    door = box("Door", (0.8, 0.04, 2.0), (0.4, 0.0, 1.0), SURFACE)
    hinges = [joint(kind, "", "Door", (0.0, 0.0, z), f"{z}") for kind, z in zip(kinds, (0.2, 1.8), strict=False)]
    assert shared([door], hinges) == ([] if is_unique else [one.name for one in hinges])


@pytest.mark.parametrize("moves", [False, True])
def test_a_beam_welded_on_two_posts_is_not_unique_where_the_posts_are_fixed(moves):
    posts = [box(name, (0.1, 0.1, 1.0), (x, 0.0, 0.5), SURFACE) for name, x in (("Left", -1.0), ("Right", 1.0))]
    if not moves:
        posts = [replace(one, kind=BodyKind.PASSIVE, mass=None) for one in posts]
    beam = box("Beam", (2.2, 0.1, 0.1), (0.0, 0.0, 1.05), SURFACE)
    joints = [joint(WELD, one.name, "Beam", np.add(one.position, (0.0, 0.0, 0.5))) for one in posts]
    assert len(shared([*posts, beam], joints)) == (0 if moves else 2)


def test_a_frame_of_bars_on_balls_is_stiff_with_one_diagonal_and_has_one_bar_too_many_with_both():
    """Each bar ends in a knot at a corner."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.1, 0.9, 0.0], [0.0, 1.0, 0.0]])
    pin = (LOCKED, LOCKED, LOCKED), (FREE_AXIS, FREE_AXIS, FREE_AXIS)

    def frame(bars):
        bodies = [box(f"{a}{b}", (0.05,) * 3, 0.5 * (corners[a] + corners[b]), SURFACE) for a, b in bars]
        knots = [box(f"k{i}", (0.05,) * 3, place, SURFACE) for i, place in enumerate(corners)]
        joints = [joint(pin, f"k{end}", f"{a}{b}", corners[end]) for a, b in bars for end in (a, b)]
        return shared([*bodies, *knots], joints)

    sides = [(0, 1), (1, 2), (2, 3), (0, 3)]
    assert frame([*sides, (0, 2)]) == []
    assert len(frame([*sides, (0, 2), (1, 3)])) == 12


def test_a_body_whose_axes_are_locked_is_held_by_these_as_well():
    """A weight on a rail that its locks already are; along the free axis a joint alone bears."""
    weight = replace(box("Weight", (0.1,) * 3, (0.0, 0.0, 0.0), SURFACE), linear_factor=np.array([1.0, 0.0, 0.0]))
    at_the_middle = joint(((LOCKED, FREE_AXIS, FREE_AXIS), (FREE_AXIS,) * 3), "", "Weight", (0.0, 0.0, 0.0))
    beside = joint(BALL, "", "Weight", (0.0, 0.5, 0.0))
    straight = Rotation.identity()
    assert shared([weight], [at_the_middle], turn=straight) == []
    assert shared([weight], [joint(WELD, "", "Weight", (0.0, 0.5, 0.0))], turn=straight) != []
    assert shared([weight], [beside], turn=straight) == []


def test_limits_springs_and_motors_and_what_is_switched_off_share_nothing():
    crate = box("Crate", (0.2,) * 3, (0.0, 0.0, 0.0), SURFACE)
    weld = joint(WELD, "", "Crate", (0.0, 0.0, 0.0), "weld")
    for axis in (AxisSpec(-0.1, 0.1), AxisSpec(stiffness=10.0), AxisSpec(motor_velocity=1.0, motor_force=2.0)):
        assert shared([crate], [weld, joint(((axis,) * 3, (axis,) * 3), "", "Crate", (0.0, 0.0, 0.0), "other")]) == []
    other = replace(weld, name="other")
    assert shared([crate], [weld, other]) == ["weld", "other"]
    assert shared([crate], [weld, replace(other, enabled=False)]) == []


def without_null_vectors(spec):
    """(joints,) the same by the rows with which the simulation steps, and all null vectors of them."""
    simulation = sc.Simulation(spec)
    joints, step, movable = simulation._steps.joints, simulation._steps.step, simulation._steps.bodies.model.dof >= 0
    still = np.zeros((len(spec.bodies), 6))
    begin = predicted_step(simulation._steps.bodies.model, simulation._steps.state, still, movable, 0.0, step, 0.0, step)
    made = joints.step(begin, simulation._steps.state)
    rows = made.straight_rows(np.inf, 0.0)
    held = (rows.box[..., 0] == -np.inf) & (rows.box[..., 1] == np.inf) & (made.holding(rows.box)[..., 0] == -np.inf)
    whole = np.zeros((*held.shape, int(begin.offset[-1])))
    for body, jacobian in ((rows.body_a, rows.jacobian_a), (rows.body_b, rows.jacobian_b)):
        for triple in np.flatnonzero(body >= 0):
            first = begin.offset[body[triple]]
            whole[triple, :, first : first + 6] += jacobian[triple]
    null = null_space(whole[held].T, rcond=1e-10)
    part = np.zeros(held.shape)
    part[held] = np.linalg.norm(null, axis=1)
    of_triple = dict(zip(joints._table.rows.triple.tolist(), joints._table.rows.joint.tolist(), strict=True))
    unique = np.ones(len(spec.joints), dtype=bool)
    for place, triple in enumerate(made.triples.tolist()):
        unique[of_triple[triple]] &= part[place].max() < 1e-6
    return unique


def test_the_null_vectors_of_random_scenes_rows_say_the_same_joints():
    both = np.zeros(2, dtype=int)
    for seed in range(40):
        spec = random_jointed_scene(seed)
        unique = has_unique_reaction(spec)
        np.testing.assert_array_equal(unique, without_null_vectors(spec), err_msg=f"seed {seed}")
        both += np.count_nonzero(unique), np.count_nonzero(~unique)
    assert (both > 30).all()


def test_the_report_says_of_each_joint_whether_its_reaction_is_unique():
    door = box("Door", (0.8, 0.04, 2.0), (0.4, 0.0, 1.0), SURFACE)
    bell = box("Bell", (0.1,) * 3, (0.8, 0.0, 1.0), SURFACE)
    joints = [joint(HINGE, "", "Door", (0.0, 0.0, z), name) for z, name in ((0.2, "Lower"), (1.8, "Upper"))]
    spec = SceneSpec((door, bell), joints=(*joints, joint(WELD, "Door", "Bell", (0.8, 0.0, 1.0), "Cord")))
    report = build_report(spec, SolverSettings(), [])
    assert {entry["joint"]: entry["unique"] for entry in report["joints"]} == {"Lower": False, "Upper": False, "Cord": True}
