# SPDX-License-Identifier: GPL-3.0-or-later
"""`residuals` says how wrong a result is, where, and in which unit: solved results are tampered with by a known amount."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import solver_core as sc

# Four contacts that do not know of each other: pressed and pushed less than friction holds, pressed and pushed more, parting,
# pressed without friction. Every contact has its own effective mass, so closed forms of all velocities are at hand.
STICKS, SLIDES, PARTS, SMOOTH = range(4)
SOFTNESS = np.array([2.0, 0.5, 1.0, 4.0])
FREE = np.array([[-2.0, 0.6, 0.8], [-1.0, 3.0, 4.0], [1.0, 1.0, 0.0], [-4.0, 0.0, 2.0]])
MU = np.array([0.8, 0.5, 0.7, 0.0])
FASTEST = np.sqrt(26.0)

KINDS = ("penetration", "cone", "complementarity", "dissipation", "natural_map", "consistency")


def problem():
    return sc.ContactProblem.from_delassus(np.diag(np.repeat(SOFTNESS, 3)), FREE, MU)


def solution():
    """By hand: the first contact stops, the second slides on against 1/2 of its 2 N s, the third is free, the fourth slides."""
    impulse = np.array([[1.0, -0.3, -0.4], [2.0, -0.6, -0.8], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    return with_impulse(impulse)


def with_impulse(impulse):
    velocity = FREE + SOFTNESS[:, None] * impulse
    stats = sc.Statistics(1, 0, np.zeros(2, np.int64), np.zeros(1), np.zeros(1), np.zeros(1), 0.0)
    return sc.Result(sc.Status.SOLVED, impulse, velocity, np.zeros(12), stats, "by hand")


def tampered(contact, **axes):
    """The solution with some impulses of one contact changed, and velocities that follow."""
    impulse = solution().impulse.copy()
    for name, value in axes.items():
        impulse[contact, ("n", "t1", "t2").index(name)] = value
    return with_impulse(impulse)


def test_a_solution_by_hand_has_no_residuals():
    found = sc.residuals(problem(), solution())
    for kind in KINDS:
        assert getattr(found, kind).value <= 1e-15
    assert found.coulomb <= 1e-15


def test_the_solver_finds_the_solution_by_hand():
    np.testing.assert_allclose(sc.solve(problem(), tolerance=1e-10).impulse, solution().impulse, atol=1e-9)


def test_units():
    found = sc.residuals(problem(), solution())
    units = {kind: getattr(found, kind).unit for kind in KINDS}
    energy = dict.fromkeys(("complementarity", "dissipation"), "J")
    assert units == {"penetration": "m/s", "consistency": "m/s", "cone": "N s", "natural_map": "m/s"} | energy


def test_too_small_a_normal_impulse_is_penetration():
    found = sc.residuals(problem(), tampered(SMOOTH, n=0.9)).penetration
    assert found.index == SMOOTH
    assert found.value == pytest.approx(0.1 * SOFTNESS[SMOOTH])
    assert found.relative == pytest.approx(0.1 * SOFTNESS[SMOOTH] / FASTEST)


def test_too_large_a_normal_impulse_works_on_what_separates():
    found = sc.residuals(problem(), tampered(SMOOTH, n=1.1))
    assert found.penetration.value == 0.0
    assert found.complementarity.index == SMOOTH
    assert found.complementarity.value == pytest.approx(1.1 * 0.1 * SOFTNESS[SMOOTH])


def test_an_impulse_on_a_parting_contact_is_not_complementary():
    found = sc.residuals(problem(), tampered(PARTS, n=0.25)).complementarity
    assert found.index == PARTS
    assert found.value == pytest.approx(0.25 * (1.0 + 0.25 * SOFTNESS[PARTS]))


def test_glue_is_outside_the_cone():
    found = sc.residuals(problem(), tampered(PARTS, n=-0.25)).cone
    assert found.index == PARTS
    assert found.value == pytest.approx(0.25)


@pytest.mark.parametrize("factor", [1.1, 2.0])
def test_more_friction_than_coulomb_allows_is_outside_the_cone(factor):
    result = tampered(SLIDES, t1=-0.6 * factor, t2=-0.8 * factor)
    found = sc.residuals(problem(), result).cone
    assert found.index == SLIDES
    assert found.value == pytest.approx(factor - 1.0)
    assert found.relative == pytest.approx((factor - 1.0) / np.hypot(2.0, factor))


def test_any_friction_without_a_coefficient_is_outside_the_cone():
    found = sc.residuals(problem(), tampered(SMOOTH, t2=-0.05)).cone
    assert found.index == SMOOTH
    assert found.value == pytest.approx(0.05)


def test_too_little_friction_dissipates_too_little():
    """Half the friction while sliding at 4.75 m/s: mu lam_n |u| - |lam_t| |u| = 1/2 4.75 J."""
    found = sc.residuals(problem(), tampered(SLIDES, t1=-0.3, t2=-0.4))
    assert found.cone.value == 0.0
    assert found.dissipation.index == SLIDES
    assert found.dissipation.value == pytest.approx(0.5 * 4.75)
    assert found.dissipation.relative == pytest.approx(0.5 * 4.75 / (FASTEST * np.hypot(2.0, 0.5)))


def test_friction_that_pushes_along_is_twice_as_wrong_as_none():
    none, along = (sc.residuals(problem(), tampered(SLIDES, t1=f * 0.6, t2=f * 0.8)).dissipation for f in (0.0, 1.0))
    assert none.index == along.index == SLIDES
    assert none.value == pytest.approx(5.0)
    assert along.value == pytest.approx(2.0 * 5.5)


def test_friction_across_the_motion_is_wrong_too():
    found = sc.residuals(problem(), tampered(SLIDES, t1=0.8, t2=-0.6))
    assert found.cone.value <= 1e-15
    assert found.dissipation.index == SLIDES
    assert found.dissipation.value > 1.0


def test_a_contact_that_creeps_though_friction_could_hold_it_is_seen():
    found = sc.residuals(problem(), tampered(STICKS, t1=-0.29)).dissipation
    assert found.index == STICKS
    assert found.value == pytest.approx(0.8 * 0.02 - 0.29 * 0.02)


@pytest.mark.parametrize("contact", range(4))
@pytest.mark.parametrize("axis", ["n", "t1", "t2"])
def test_every_changed_impulse_shows_in_the_natural_map(contact, axis):
    value = solution().impulse[contact, ("n", "t1", "t2").index(axis)] + 0.01
    found = sc.residuals(problem(), tampered(contact, **{axis: value})).natural_map
    assert found.index == contact
    assert 1e-4 < found.value < 0.1


def test_velocities_that_do_not_belong_to_the_impulses_are_inconsistent():
    result = solution()
    velocity = result.velocity.copy()
    velocity[PARTS, 1] += 0.125
    found = sc.residuals(problem(), dataclasses.replace(result, velocity=velocity))
    assert found.consistency.index == PARTS
    assert found.consistency.value == pytest.approx(0.125)
    assert found.consistency.relative == pytest.approx(0.125 / FASTEST)
    assert found.coulomb <= 1e-15  # the others are measured from the impulses, whatever velocities the result claims


def test_the_status_of_a_result_does_not_sway_its_residuals():
    result = dataclasses.replace(tampered(SMOOTH, n=0.9), status=sc.Status.MAX_ITERATIONS)
    assert sc.residuals(problem(), result) == sc.residuals(problem(), tampered(SMOOTH, n=0.9))


def test_the_coulomb_figure_is_the_worst_of_the_five():
    for result in (tampered(SMOOTH, n=0.9), tampered(PARTS, n=-0.2), tampered(PARTS, n=0.4), tampered(SLIDES, t1=0.6)):
        found = sc.residuals(problem(), result)
        assert found.coulomb == max(
            found.penetration.relative,
            found.cone.relative,
            found.complementarity.relative,
            found.dissipation.relative,
            found.natural_map.relative,
        )


def particle_on_a_slab(**tampered):
    """A particle of 1 kg that is pushed along a slab of 1e6 kg on the ground, and sticks to it: by hand, one step of 1/240 s.

    Rows: the slab on the ground, the particle on the slab, each (n, t1, t2). Friction of the particle takes its speed."""
    h = 9.81 / 240.0
    J = np.zeros((6, 6))
    J[:3, :3] = np.eye(3)[[2, 0, 1]]
    J[3:, 3:], J[3:, :3] = np.eye(3)[[2, 0, 1]], -np.eye(3)[[2, 0, 1]]
    inverse = np.diag([1e-6] * 3 + [1.0] * 3)
    v = np.array([0.0, 0.0, -h, 0.01, 0.0, -h])
    problem = sc.ContactProblem.from_delassus(J @ inverse @ J.T, J @ v, 0.5)
    impulse = np.array([[(1e6 + 1.0) * h, -0.01, 0.0], [h, -0.01, 0.0]])
    for name, factor in tampered.items():
        impulse[1, ("n", "t1", "t2").index(name)] *= factor
    velocity = (problem.delassus @ impulse.ravel()).reshape(2, 3) + problem.free_velocity
    result = sc.Result(sc.Status.SOLVED, impulse, velocity, np.zeros(6), sc.Statistics(1, 0, 0.0), "by hand")
    return problem, result


def test_a_light_body_on_a_heavy_one_is_not_lost_in_the_scale():
    """The impulse below the slab is a million times that of the particle, whose errors are errors all the same."""
    problem, result = particle_on_a_slab()
    assert sc.residuals(problem, result).coulomb <= 1e-12
    assert sc.residuals(problem, result).static_friction <= 1e-12
    for wrong, least in ({"t1": 0.0}, 0.1), ({"t1": 0.9}, 0.01), ({"n": 1.2}, 0.1), ({"n": 0.8}, 0.1), ({"t1": -1.0}, 0.1):
        found = sc.residuals(*particle_on_a_slab(**wrong))
        assert found.natural_map.index == 1
        assert found.coulomb > least
        assert found.static_friction > least


@pytest.mark.parametrize("method", ["staggered", "pivot"])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
def test_both_methods_solve_for_the_light_body_too(method, tolerance):
    problem, wanted = particle_on_a_slab()
    result = sc.solve(problem, method, tolerance=tolerance)
    assert result.status is sc.Status.SOLVED
    np.testing.assert_allclose(result.velocity, wanted.velocity, atol=tolerance * 0.05)


def test_a_far_gap_makes_nothing_more_accurate():
    """An open gap of 1 m and a step of 1/240 s is a slack of 240 m/s, and no speed of anything."""
    for gap in (0.0, 1.0, 1e6):
        G, g = np.kron(np.eye(2), np.eye(3)), np.array([-1.0, 0.5, 0.0, -1.0, 0.0, 0.0])
        problem = sc.ContactProblem.from_delassus(G, g, 0.3, slack=[0.0, gap])
        result = with_impulse_of(problem, np.array([[0.9, -0.27, 0.0], [0.0 if gap else 1.0, 0.0, 0.0]]))
        assert sc.residuals(problem, result).penetration.relative == pytest.approx(0.1 / np.sqrt(1.25))


def with_impulse_of(problem, impulse):
    velocity = (problem.delassus @ impulse.ravel()).reshape(-1, 3) + problem.free_velocity
    return sc.Result(sc.Status.SOLVED, impulse, velocity, np.zeros(6), sc.Statistics(1, 0, 0.0), "by hand")


def test_slack_shifts_what_penetration_means():
    """With c = 1/2 a contact may close at 1/2 m/s, with c = -1/2 it has to separate at that speed."""
    for slack, speed in ((0.5, -0.5), (-0.5, 0.5)):
        shifted = sc.ContactProblem.from_delassus(np.eye(3), [-1.0, 0.0, 0.0], 0.0, slack=slack)
        result = sc.solve(shifted, tolerance=1e-12)
        assert result.velocity[0, 0] == pytest.approx(speed)
        assert sc.residuals(shifted, result).coulomb <= 1e-12
        less = dataclasses.replace(result, impulse=result.impulse - [0.1, 0.0, 0.0])
        assert sc.residuals(shifted, less).penetration.value == pytest.approx(0.1)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3])
def test_units_of_mass_do_not_change_relative_residuals(scale):
    """The same velocities with impulses in other units."""
    result = tampered(SLIDES, t1=-0.3, n=2.1)
    scaled_problem = sc.ContactProblem.from_delassus(np.diag(np.repeat(SOFTNESS, 3)) / scale, FREE, MU)
    scaled = sc.residuals(scaled_problem, dataclasses.replace(result, impulse=scale * result.impulse))
    for kind in KINDS:
        expected = getattr(sc.residuals(problem(), result), kind)
        assert getattr(scaled, kind).relative == pytest.approx(expected.relative, abs=1e-15)


@pytest.mark.parametrize("sides", [4, 8, 16])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 0.99])
def test_a_polygon_result_is_exact_for_the_polygon_and_off_the_disk_by_its_defect(sides, part):
    """Pushed aside at an angle from a corner of the K-gon, friction can oppose motion with the cosine of that angle."""
    angle = part * np.pi / sides
    pushed = sc.ContactProblem.from_delassus(np.eye(3), [-1.0, -50.0 * np.cos(angle), 50.0 * np.sin(angle)], 0.5)
    result = sc.solve(pushed, tolerance=1e-10, polygon_sides=sides)
    own, coulomb = sc.residuals(pushed, result, polygon_sides=sides), sc.residuals(pushed, result)
    assert result.status == sc.Status.SOLVED
    assert own.dissipation.relative <= 1e-10
    slip = np.linalg.norm(result.velocity[0, 1:])
    expected = 0.5 * slip * (1.0 - abs(result.velocity[0, 1]) / slip)
    assert coulomb.dissipation.value == pytest.approx(expected, rel=1e-6, abs=1e-8)
    assert expected <= 0.5 * slip * (1.0 - np.cos(np.pi / sides))


def test_no_contacts_have_no_residuals():
    empty = sc.ContactProblem.from_delassus(np.zeros((0, 0)), [], [])
    found = sc.residuals(empty, sc.solve(empty))
    for kind in KINDS:
        assert getattr(found, kind).value == getattr(found, kind).relative == 0.0
        assert getattr(found, kind).index == -1


def test_two_dimensional_problems_are_measured_the_same_way():
    plane = [0, 1, 3, 4]  # the first two contacts without their second tangent
    flat_problem = sc.ContactProblem.from_delassus(np.diag(np.repeat(SOFTNESS, 3)[plane]), FREE[:2, :2], MU[:2], dim=2)
    result = sc.solve(flat_problem, tolerance=1e-12)
    np.testing.assert_allclose(result.impulse, [[1.0, -0.3], [2.0, -1.0]], atol=1e-10)
    less = dataclasses.replace(result, impulse=result.impulse + np.array([[0.0, 0.0], [0.0, 0.25]]))
    found = sc.residuals(flat_problem, less).dissipation
    assert found.index == 1
    assert found.value == pytest.approx(0.25 * (3.0 - 0.75 * 0.5))
