# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints that contradict each other: told from all others, named, and the motion goes on with the least error."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.bake.joints import contradiction_warnings
from solver_core.bake.report import build_report
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box
from solver_core.scene.spec import BodyKind, MaterialSpec, SceneSpec
from solver_core.solvers.infeasible import contradiction

from ..bodies import gaps
from ..jointed_problems import HELD, LOWER, UPPER, random_joined

BALL = FREE_AXIS, FREE_AXIS, FREE_AXIS
SURFACE = MaterialSpec(0.8, 0.8)


def can_be_kept_to(problem) -> bool:
    """Whether there are velocities that keep to all contacts and joints, by linear programming."""
    system, contacts = problem.system, problem.system.mu.size
    rows, free = problem.jacobian.reshape(problem.contacts, 3, -1), problem.free_velocity
    low, high = system.box[..., 0], system.box[..., 1]
    held, lower, upper = (low == -np.inf) & (high == np.inf), (low == 0.0) & (high > 0.0), (high == 0.0) & (low < 0.0)
    of_joints, free_joints = rows[contacts:], free[contacts:]
    above = np.vstack([rows[:contacts, 0], of_joints[lower], -of_joints[upper]])
    least = np.concatenate([free[:contacts, 0] + system.slack, free_joints[lower], -free_joints[upper]])
    n = rows.shape[2]
    found = linprog(np.zeros(n), -above, least, of_joints[held], -free_joints[held], bounds=(None, None))
    return found.status == 0


def test_what_is_called_a_contradiction_is_what_linear_programming_cannot_solve():
    told, solvable = [], []
    for seed in range(60):
        problem = random_joined(seed, contacts=seed % 5, bodies=2 + seed % 3, triples=2 + seed % 5, kinds=(HELD, LOWER, UPPER))
        told.append(contradiction(problem) is None)
        solvable.append(can_be_kept_to(problem))
    assert told == solvable
    assert 5 < sum(solvable) < 55


def test_a_proof_moves_nothing_and_presses_limits_only_the_way_they_hold():
    proofs = 0
    for seed in range(40):
        problem = random_joined(seed, contacts=3, bodies=2, triples=6, kinds=(HELD, LOWER, UPPER))
        proof = contradiction(problem)
        if proof is None:
            continue
        proofs += 1
        low, high = problem.system.box[..., 0], problem.system.box[..., 1]
        of_joints = proof[problem.system.mu.size :]
        assert np.abs(problem.jacobian.T @ proof.ravel()).max() < 1e-9
        assert (of_joints >= low).all() and (of_joints <= high).all() and (proof[: problem.system.mu.size, 0] >= 0.0).all()
        wanted = problem.free_velocity.copy()
        wanted[: problem.system.mu.size, 0] += problem.system.slack
        assert (proof * wanted).sum() < 0.0
    assert proofs > 10


@pytest.mark.parametrize("method", ["staggered", "pivot"])
def test_a_solver_says_that_there_is_no_solution_and_which_rows_have_none(method):
    problem = random_joined(15, contacts=6, bodies=3, triples=8, kinds=(HELD,))
    result = sc.solve(problem, method, tolerance=1e-8)
    assert not can_be_kept_to(problem)
    assert result.status == sc.Status.INFEASIBLE
    assert np.abs(result.ray[problem.system.mu.size :]).max() > 0.1


def pulled(name, at, by):
    """A body that goes along x by so much in 59 frames."""
    path = np.tile([*at, 1.0, 0.0, 0.0, 0.0], (60, 1))
    path[:, 0] += np.linspace(0.0, by, 60)
    return replace(box(name, (0.1, 0.1, 0.1), at, SURFACE), kind=BodyKind.ANIMATED, mass=None, path=path)


def crate():
    return box("Crate", (0.2, 0.2, 0.2), (0.0, 0.0, 0.0), SURFACE)


def rail(name, lower, upper):
    return JointSpec(name, "", "Crate", linear=(AxisSpec(lower, upper), LOCKED, LOCKED))


def fixed_and_pulled():
    arm = JointSpec("Arm", "Crate", "Hand", np.array([0.25, 0.0, 0.0]))
    bodies = crate(), pulled("Hand", (0.5, 0.0, 0.0), 0.2)
    return SceneSpec(bodies, joints=(JointSpec("Wall", "", "Crate"), arm), frame_end=60)


def locked_and_limited():
    return SceneSpec((crate(),), joints=(JointSpec("Lock", "", "Crate"), rail("Rail", 0.05, 0.2)), frame_end=60)


def two_limits():
    return SceneSpec((crate(),), joints=(rail("Left", -1.0, -0.05), rail("Right", 0.05, 0.2)), frame_end=60)


@pytest.mark.parametrize("method", ["staggered", pytest.param("pivot", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("scene", "pair"), [(fixed_and_pulled, "Arm Wall"), (locked_and_limited, "Lock Rail"), (two_limits, "Left Right")]
)
def test_two_joints_that_contradict_each_other_are_named_before_and_while_they_do(scene, pair, method):
    spec = scene()
    simulation = sc.Simulation(spec, method=method, sleeping=False)
    assert [w.objects for w in simulation.warnings if w.field == "contradiction"] == [tuple(pair.split())]
    frames = [simulation.first_frame(), *(simulation.advance() for _ in range(6))]
    said = [sorted(w.objects) for w in contradiction_warnings(frames[-1], spec, ())]
    assert said == [pair.split()]
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames)


def test_of_two_that_pull_alike_each_has_half_of_the_error():
    spec = fixed_and_pulled()
    frames = sc.Simulation(spec, sleeping=False).run(30)
    asked = frames[-1].poses[1, 0] - 0.5
    assert frames[-1].poses[0, 0] == pytest.approx(0.5 * asked, rel=1e-3)
    np.testing.assert_allclose(frames[-1].giving_way, 0.5 * asked, rtol=1e-3)


def taut_chain():
    """Ten links in a straight line, pulled at one end."""
    links = [box(f"Link {i}", (0.09, 0.03, 0.03), (0.1 * i + 0.05, 0.0, 0.0), SURFACE, 0.1) for i in range(10)]
    names = ["Post", *(link.name for link in links), "Hand"]
    bodies = pulled("Post", (-0.05, 0.0, 0.0), 0.0), *links, pulled("Hand", (1.05, 0.0, 0.0), 0.1)
    joints = tuple(
        JointSpec(f"Joint {i}", a, b, np.array([0.1 * i, 0.0, 0.0]), angular=BALL) for i, (a, b) in enumerate(pairwise(names))
    )
    return SceneSpec(tuple(bodies), joints=joints, excluded=tuple(pairwise(names)), frame_end=60)


@pytest.mark.slow
def test_a_taut_chain_that_is_pulled_longer_opens_where_it_has_to_and_is_not_thrown_about():
    spec = taut_chain()
    frames = sc.Simulation(spec, sleeping=False).run(20)
    pulled_by = frames[-1].poses[-1, 0] - 1.05
    opened = gaps([frames[0], frames[-1]], spec)[:, 1]
    assert opened.sum() < 1.5 * pulled_by
    assert max(abs(frame.velocities[1:-1]).max() for frame in frames[10:]) < 30.0
    said = {name for frame in frames for w in contradiction_warnings(frame, spec, ()) for name in w.objects}
    assert len(said) == len(spec.joints)


@pytest.mark.slow
def test_nothing_that_can_be_kept_to_is_said_to_give_way():
    for spec in (sc.scenes.chain(8), sc.scenes.ring(8), sc.scenes.bridge(16, load=1000.0)):
        frames = sc.Simulation(spec).run(12)
        assert not any(frame.giving_way.any() for frame in frames)
        assert gaps(frames, spec).max() < 1e-4


def test_the_report_says_once_which_joints_contradict_each_other_and_how_far_they_gave_way():
    spec = fixed_and_pulled()
    simulation = sc.Simulation(spec)
    frames = simulation.run(10)
    report = build_report(spec, simulation.settings, frames, ())
    said = [warning["objects"] for warning in report["warnings"] if warning["field"] == "contradiction"]
    assert said == [("Arm", "Wall")]
    assert report["joints"][0]["gave_way"] == pytest.approx(frames[-1].giving_way[0])


@pytest.mark.parametrize("turn", range(4))
def test_joints_of_a_wall_that_agree_but_for_rounding_contradict_nothing(turn):
    """A grid of pieces with a joint between each two neighbours says much twice, each to the last digits of its own."""
    rotation = Rotation.random(random_state=turn)
    orientation = rotation.as_quat(scalar_first=True)
    middle = np.array([7.0, -3.0, 2.0])
    place = {(i, k): middle + rotation.apply([0.11 * i, 0.0, 0.13 * k]) for i in range(5) for k in range(4)}
    pieces = [replace(box(str(cell), (0.1, 0.1, 0.1), at, SURFACE), orientation=orientation) for cell, at in place.items()]
    pairs = [(a, b) for a, b in combinations(place, 2) if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    joints = [JointSpec(f"{a}{b}", str(a), str(b), 0.5 * (place[a] + place[b]), orientation) for a, b in pairs]
    assert not [
        one for one in sc.Simulation(SceneSpec(tuple(pieces), joints=tuple(joints))).warnings if "contradict" in one.message
    ]
