# SPDX-License-Identifier: GPL-3.0-or-later
"""A contact problem takes what is well posed, says what is not by argument and index, and means what its formulas say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag

import solver_core as sc
from solver_core.problem.system import effective_inverse_mass

from ..contact_problems import problem_of_bodies, problem_of_matrix


def psd(rows, rank, seed=0):
    factor = np.random.default_rng(seed).normal(size=(rows, rank))
    return factor @ factor.T


def bodies(**changes):
    """Three bodies of 6, 3 and 4 degrees of freedom in three contacts, one of them with the world."""
    random = np.random.default_rng(4)
    sizes = (6, 3, 4)
    arguments = {
        "masses": [psd(size, size, size) + np.eye(size) for size in sizes],
        "velocity": random.normal(size=13),
        "body_a": [-1, 0, 2],
        "body_b": [0, 1, 1],
        "jacobian_a": random.normal(size=(3, 3, 6)),
        "jacobian_b": random.normal(size=(3, 3, 6)),
        "mu": [0.1, 0.2, 0.3],
        "bias": random.normal(size=(3, 3)),
        "slack": [0.0, 0.5, -0.25],
    }
    return arguments | changes


def with_entry(array, index, value):
    changed = np.array(array, dtype=float)
    changed[index] = value
    return changed


# --- from the Delassus operator


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("rank", [0, 1, 3, 6])
def test_the_delassus_operator_and_the_free_velocity_come_back(dim, rank):
    G, g = psd(2 * dim, min(rank, 2 * dim)), np.arange(2.0 * dim) - 1.5
    problem = sc.ContactProblem.from_delassus(G, g, 0.5, dim=dim)
    assert (problem.contacts, problem.dim) == (2, dim)
    np.testing.assert_allclose(problem.delassus, G, atol=1e-13 * max(1.0, abs(G).max()))
    np.testing.assert_array_equal(problem.free_velocity, g.reshape(2, dim))


def test_velocities_may_be_given_by_contact():
    G, g = np.eye(6), np.arange(6.0)
    by_row, by_contact = (sc.ContactProblem.from_delassus(G, values, 0.5) for values in (g, g.reshape(2, 3)))
    np.testing.assert_array_equal(by_row.free_velocity, by_contact.free_velocity)


def test_one_coefficient_serves_all_contacts():
    problem = sc.ContactProblem.from_delassus(np.eye(6), np.zeros(6), 0.7)
    np.testing.assert_array_equal(problem.mu, [0.7, 0.7])


def test_the_arguments_are_left_alone():
    G, g = psd(6, 6), np.ones(6)
    kept = G.copy(), g.copy()
    sc.solve(sc.ContactProblem.from_delassus(G, -g, 0.5))
    np.testing.assert_array_equal(G, kept[0])
    np.testing.assert_array_equal(g, kept[1])


def test_frictionless_contacts_are_legal():
    problem = sc.ContactProblem.from_delassus(np.eye(6), -np.ones(6), [0.0, 0.0])
    result = sc.solve(problem)
    assert result.status == sc.Status.SOLVED
    np.testing.assert_allclose(result.impulse, [[1, 0, 0], [1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_no_contacts_are_legal(dim):
    problem = sc.ContactProblem.from_delassus(np.zeros((0, 0)), np.zeros(0), np.zeros(0), dim=dim)
    result = sc.solve(problem)
    assert result.status == sc.Status.SOLVED
    assert result.impulse.shape == result.velocity.shape == (0, dim)


def test_bodies_without_contacts_keep_their_velocity():
    arguments = bodies(body_a=[], body_b=[], jacobian_a=np.zeros((0, 3, 6)), jacobian_b=np.zeros((0, 3, 6)))
    arguments |= {"mu": [], "bias": None, "slack": None}
    result = sc.solve(problem_of_bodies(**arguments))
    assert result.status == sc.Status.SOLVED
    np.testing.assert_array_equal(result.body_velocity, arguments["velocity"])


def test_sliding_contacts_have_the_dynamic_coefficient():
    """Three equal contacts, pressed with 1 N s and pushed aside: only what slides is held by mu_dynamic."""
    problem = sc.ContactProblem.from_delassus(
        np.eye(9),
        np.tile([-1.0, 5.0, 0.0], 3),
        sc.Friction([0.5, 0.5, 0.6], mu_dynamic=[0.3, 0.3, 0.1], sliding=[False, True, True]),
    )
    friction = sc.solve(problem, tolerance=1e-10).impulse[:, 1]
    np.testing.assert_allclose(friction, [-0.5, -0.3, -0.1], atol=1e-9)


BAD_DELASSUS = [
    ({"G": np.zeros((3, 4))}, r"\bG\b.*\(3, 4\)"),
    ({"G": np.zeros(9)}, r"\bG\b.*\(9,\)"),
    ({"G": np.eye(4), "g": np.zeros(4)}, r"\bG\b.*4.*dim"),
    ({"G": with_entry(np.eye(6), (2, 4), np.nan)}, r"G\[2, 4\].*nan"),
    ({"G": with_entry(np.eye(6), (5, 0), np.inf)}, r"G\[5, 0\].*inf"),
    ({"G": with_entry(np.eye(6), (1, 3), 0.5)}, r"G.*symmetric.*G\[[13], [13]\]"),
    ({"G": np.diag([1.0, 1.0, 1.0, 1.0, 1.0, -0.1])}, r"\bG\b.*semidefinite.*-0\.1"),
    ({"G": [["a", "b"], ["c", "d"]]}, r"\bG\b.*numbers"),
    ({"g": np.zeros(5)}, r"\bg\b.*6.*5"),
    ({"g": with_entry(np.zeros(6), 3, np.nan)}, r"g\[3\].*nan"),
    ({"g": with_entry(np.zeros((2, 3)), (1, 2), -np.inf)}, r"g\[1, 2\].*inf"),
    ({"mu": [0.5, -0.1]}, r"mu\[1\].*-0\.1"),
    ({"mu": -0.1}, r"\bmu\b.*-0\.1"),
    ({"mu": [np.nan, 0.5]}, r"mu\[0\].*nan"),
    ({"mu": [0.5, -np.inf]}, r"mu\[1\].*inf"),
    ({"mu": [0.5, 0.5, 0.5]}, r"\bmu\b.*2.*\(3,\)"),
    ({"mu": [[0.5, 0.5]]}, r"\bmu\b.*\(1, 2\)"),
    ({"mu_dynamic": [0.5, -0.2]}, r"mu_dynamic\[1\].*-0\.2"),
    ({"mu_dynamic": [np.nan, 0.1]}, r"mu_dynamic\[0\].*nan"),
    ({"mu_dynamic": [0.1]}, r"mu_dynamic\b.*2.*\(1,\)"),
    ({"sliding": [True]}, r"sliding\b.*2.*\(1,\)"),
    ({"slack": [0.0, np.nan]}, r"slack\[1\].*nan"),
    ({"slack": [0.0, 0.0, 0.0]}, r"slack\b.*2.*\(3,\)"),
    ({"dim": 1}, r"dim\b.*1"),
    ({"dim": 4}, r"dim\b.*4"),
    ({"dim": "3"}, r"dim\b.*'3'"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_DELASSUS, ids=[message for _, message in BAD_DELASSUS])
def test_a_bad_delassus_problem_is_refused_by_argument_and_index(bad, message):
    good = {"G": np.eye(6), "g": np.zeros(6), "mu": 0.5}
    sc.ContactProblem.from_delassus(**good)
    with pytest.raises(ValueError, match=message):
        problem_of_matrix(**(good | bad))


# --- from bodies


def test_bodies_of_any_size_obey_the_dense_formulas():
    arguments = bodies()
    problem = problem_of_bodies(**arguments)
    J = np.zeros((9, 13))
    a, b = arguments["jacobian_a"], arguments["jacobian_b"]
    J[0:3, 0:6] = b[0]
    J[3:6, 0:6], J[3:6, 6:9] = a[1], b[1][:, :3]
    J[6:9, 9:13], J[6:9, 6:9] = a[2][:, :4], b[2][:, :3]
    inverse = np.linalg.inv(block_diag(*arguments["masses"]))
    np.testing.assert_allclose(problem.jacobian, J)
    np.testing.assert_allclose(problem.inverse_mass, inverse, atol=1e-12)
    np.testing.assert_allclose(problem.delassus, J @ inverse @ J.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(problem.free_velocity.ravel(), J @ arguments["velocity"] + arguments["bias"].ravel(), atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_bodies_and_their_delassus_operator_are_the_same_problem(dim):
    arguments = bodies()
    for name in ("jacobian_a", "jacobian_b", "bias"):
        arguments[name] = arguments[name][:, :dim]
    problem = problem_of_bodies(**arguments)
    dense = sc.ContactProblem.from_delassus(
        problem.delassus, problem.free_velocity, arguments["mu"], dim=dim, slack=arguments["slack"]
    )
    first, second = (sc.solve(p, tolerance=1e-10) for p in (problem, dense))
    assert first.status == second.status == sc.Status.SOLVED
    np.testing.assert_allclose(first.velocity, second.velocity, atol=1e-8)
    np.testing.assert_allclose(first.impulse, second.impulse, atol=1e-8)


def test_the_velocity_of_the_bodies_is_the_predicted_one_and_the_impulses_share():
    arguments = bodies()
    problem = problem_of_bodies(**arguments)
    result = sc.solve(problem, tolerance=1e-10)
    expected = arguments["velocity"] + problem.inverse_mass @ problem.jacobian.T @ result.impulse.ravel()
    assert abs(result.impulse).max() > 0.01
    np.testing.assert_allclose(result.body_velocity, expected, atol=1e-12)


def masses_with(index, block):
    return [block if i == index else mass for i, mass in enumerate(bodies()["masses"])]


BAD_BODIES = [
    ({"masses": masses_with(1, np.zeros((3, 2)))}, r"masses\[1\].*\(3, 2\)"),
    ({"masses": masses_with(2, np.diag([1.0, 1.0, 0.0, 1.0]))}, r"masses\[2\].*definite"),
    ({"masses": masses_with(0, -np.eye(6))}, r"masses\[0\].*definite"),
    ({"masses": masses_with(1, np.diag([1.0, np.nan, 1.0]))}, r"masses\[1\]\[1, 1\].*nan"),
    ({"velocity": np.zeros(12)}, r"velocity\b.*13.*12"),
    ({"velocity": with_entry(np.zeros(13), 7, np.inf)}, r"velocity\[7\].*inf"),
    ({"body_a": [-1, 3, 2]}, r"pairs\[0\]\[1\].*3"),
    ({"body_b": [0, 1, -2]}, r"pairs\[1\]\[2\].*-2"),
    ({"body_b": [0, 1]}, r"pairs\[1\].*3.*\(2,\)"),
    ({"body_a": [-1, 1, 2]}, r"pairs\[0\]\[1\].*same body"),
    ({"body_b": [-1, 1, 1]}, r"pairs\[0\]\[0\].*pairs\[1\]\[0\].*same body"),
    ({"jacobian_a": np.zeros((3, 3, 5))}, r"jacobians\[0\].*\(3, 3, 5\)"),
    ({"jacobian_b": np.zeros((3, 2, 6))}, r"jacobians\[1\].*\(3, 2, 6\)"),
    ({"jacobian_b": np.zeros((2, 3, 6))}, r"jacobians\[1\].*\(2, 3, 6\)"),
    ({"jacobian_a": np.zeros((3, 1, 6)), "jacobian_b": np.zeros((3, 1, 6))}, r"jacobians\[0\].*\(3, 1, 6\)"),
    ({"jacobian_b": with_entry(np.zeros((3, 3, 6)), (2, 1, 0), np.nan)}, r"jacobians\[1\]\[2, 1, 0\].*nan"),
    ({"bias": np.zeros((3, 2))}, r"bias\b.*\(3, 2\)"),
    ({"bias": with_entry(np.zeros((3, 3)), (0, 2), np.nan)}, r"bias\[0, 2\].*nan"),
    ({"slack": [0.0, 0.0]}, r"slack\b.*3.*\(2,\)"),
    ({"mu": [0.1, 0.2]}, r"\bmu\b.*3.*\(2,\)"),
    ({"mu": [0.1, 0.2, -1.0]}, r"mu\[2\].*-1"),
    ({"mu_dynamic": [0.1, -0.2, 0.1]}, r"mu_dynamic\[1\].*-0\.2"),
    ({"sliding": [True, False]}, r"sliding\b.*3.*\(2,\)"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_BODIES, ids=[message for _, message in BAD_BODIES])
def test_bad_bodies_are_refused_by_argument_and_index(bad, message):
    with pytest.raises(ValueError, match=message):
        problem_of_bodies(**bodies(**bad))


# --- the door to the solvers


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"method": "magic"}, r"method\b.*staggered.*'magic'"),
        ({"tolerance": 0.0}, r"tolerance\b.*0"),
        ({"tolerance": -1e-6}, r"tolerance\b.*-1e-06"),
        ({"tolerance": np.nan}, r"tolerance\b.*nan"),
        ({"tolerance": np.inf}, r"tolerance\b.*inf"),
        ({"max_iterations": 0}, r"max_iterations\b.*0"),
        ({"polygon_sides": 2}, r"polygon_sides\b.*2"),
        ({"polygon_sides": -8}, r"polygon_sides\b.*-8"),
        ({"warm_start": np.zeros((2, 2))}, r"warm_start\b.*\(2, 3\).*\(2, 2\)"),
        ({"warm_start": np.full((2, 3), np.nan)}, r"warm_start\b.*finite"),
    ],
)
def test_a_bad_option_is_refused_by_name(bad, message):
    problem = sc.ContactProblem.from_delassus(np.eye(6), np.zeros(6), 0.5)
    with pytest.raises(ValueError, match=message):
        sc.solve(problem, **bad)


@pytest.mark.parametrize("name", ["mu", "mu_dynamic", "slack"])
def test_a_single_number_that_is_not_finite_is_refused_by_name(name):
    arguments = {"mu": 0.5, name: float("nan")}
    with pytest.raises(ValueError, match=name):
        problem_of_matrix(G=np.eye(3), g=np.zeros(3), **arguments)


def test_bilateral_constraints_hold_whatever_way_the_problem_is_given():
    # two unit masses joined by a rod, the first on the ground, a force that lifts the second with g / 2
    system = {
        "masses": [np.eye(3), np.eye(3)],
        "velocity": [1.0, 0.0, -1.0, 1.0, 0.0, 0.5],
        "body_a": [-1],
        "body_b": [0],
        "jacobian_a": np.zeros((1, 3, 3)),
        "jacobian_b": np.eye(3)[None, [2, 0, 1]],
        "mu": 0.2,
    }
    rod = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, -1.0]])
    by_bodies = problem_of_bodies(**system, bilateral=(rod, 0.0))
    free = np.append(by_bodies.free_velocity.ravel(), by_bodies.bilateral[1])
    by_delassus = sc.ContactProblem.from_delassus(by_bodies.delassus, free, 0.2, bilateral=1)
    for problem in (by_bodies, by_delassus):
        result = sc.solve(problem, tolerance=1e-9)
        assert result.status is sc.Status.SOLVED
        # together they weigh -0.5: the rod carries 0.5 upwards, the ground the rest, and friction brakes with 0.2 of that
        assert result.impulse[0] == pytest.approx([0.5, -0.1, 0.0], abs=1e-8)
        assert result.bilateral == pytest.approx([0.5], abs=1e-8)
        assert sc.residuals(problem, result).bilateral.value < 1e-8


@pytest.mark.parametrize("dense", [(6, 6, 6), (4, 6, 0), (0, 7, 6), (8, 0, 1)])
def test_effective_inverse_masses_are_the_diagonal_of_the_delassus_operator(dense):
    # blocks of 8, 7 and 6 whose last rows are diagonal, as those of modes are
    sizes = (8, 7, 6)
    masses = [
        block_diag(psd(n, n, n) + np.eye(n), np.diag(np.arange(1.0, size - n + 1.0)))
        for n, size in zip(dense, sizes, strict=True)
    ]
    random = np.random.default_rng(5)
    jacobians = np.zeros((2, 4, 3, 8))
    ends = np.array([[0, 1, -1, 2], [1, 2, 0, 0]])
    for side, contact in np.ndindex(2, 4):
        if (body := ends[side, contact]) >= 0:
            jacobians[side, contact, :, : sizes[body]] = random.normal(size=(3, sizes[body]))
    problem = sc.ContactProblem.from_bodies(masses, np.zeros(21), ends, jacobians, mu=0.5)
    expected = np.diag(problem.delassus).reshape(-1, 3)
    np.testing.assert_allclose(effective_inverse_mass(problem.system), expected, rtol=1e-13)
