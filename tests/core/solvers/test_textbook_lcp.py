# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear complementarity problems with known answers: of the literature, by closed form, and by trying all complementary bases.

[M] K. G. Murty 1988, Linear Complementarity, Linear and Nonlinear Programming. [CPS] R. W. Cottle, J.-S. Pang, R. E. Stone
1992, The Linear Complementarity Problem. [F] Y. Fathi 1979, Math. Programming 17. [K] M. M. Kostreva 1979, Math. Programming
16.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import solver_core as sc

METHODS = ["lemke", "pivot"]
ANY_MATRIX = ["lemke"]  # what pivots on a zero diagonal, as in a linear program, is not in the class of pivot
BEYOND_PIVOT = {"CPS 4.4.7", "CPS 4.4.23, a bimatrix game", "K, second example"}  # neither semidefinite nor P-matrices
SOLVED, RAY = sc.Status.SOLVED, sc.Status.RAY


def murty(n):
    """Lower triangular, ones on the diagonal and twos below: a P-matrix, f = (1, 0, ..., 0) for b = -1 [M, chapter 6]."""
    return 2.0 * np.tril(np.ones((n, n))) - np.eye(n)


def csizmadia(n):
    return 2.0 * np.eye(n) - np.tril(np.ones((n, n)))


def all_solutions(A, b):
    """Every nondegenerate solution, by a linear solve for each of the 2^n index sets."""
    found = []
    for size in range(len(b) + 1):
        for clamped in map(list, itertools.combinations(range(len(b)), size)):
            f = np.zeros(len(b))
            block = A[np.ix_(clamped, clamped)]
            if size and np.linalg.matrix_rank(block) < size:
                continue
            f[clamped] = np.linalg.solve(block, -b[clamped])
            if min(f.min(), (A @ f + b).min()) >= -1e-9 * max(1.0, abs(f).max()):
                found.append(f)
    return found


def check_solution(A, b, f, tolerance=1e-9):
    a = np.asarray(A, dtype=float) @ f + b
    assert f.min() >= 0.0
    assert a.min() >= -tolerance * np.abs(b).max()
    assert np.abs(f * a).max() <= tolerance * np.abs(b).max() * max(np.abs(f).max(), 1e-300)


def check_ray(A, ray):
    """(10): z >= 0, not zero, and what it acts on is not driven apart."""
    assert (ray >= 0.0).all() and ray.max() == 1.0
    pushed = ray > 0.0
    assert ((A @ ray)[pushed] <= 1e-12 * (np.abs(A) @ ray)[pushed]).all()


# A, b and the only solution
UNIQUE = {
    "M example 2.8": ([[1, -1, -1, -1], [-1, 1, -1, -1], [1, 1, 2, 0], [1, 1, 0, 2]], [3, 5, -9, -5], [2, 1, 3, 1]),
    "M example 2.10": ([[1, 0, 0], [2, 1, 0], [2, 2, 1]], [-8, -12, -14], [8, 0, 0]),
    "K cycles without a rule for ties": ([[1, 2, 0], [0, 1, 2], [2, 0, 1]], [-1, -1, -1], [1 / 3, 1 / 3, 1 / 3]),
    "CPS 4.4.7": ([[0, 2, -1], [-1, 0, 1], [2, -2, 0]], [-3, 6, -1], None),
    "a degenerate one, all of it tied": (np.eye(4), [0, 0, 0, 0], [0, 0, 0, 0]),
    "exactly touching": ([[2, 1], [1, 2]], [-2, -1], [1, 0]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", UNIQUE)
def test_published_problems_with_one_solution(name, method):
    A, b, wanted = UNIQUE[name]
    result = sc.solve_lcp(A, b, method)
    if method == "pivot" and name in BEYOND_PIVOT:
        assert result.status != SOLVED
        return
    assert result.status == SOLVED
    check_solution(A, b, result.force)
    if wanted is not None:
        np.testing.assert_allclose(result.force, wanted, atol=1e-9)


# A, b of problems with several solutions, which may be found or not (A is in none of the classes that Lemke's method processes)
SEVERAL = {
    "M example 2.11": ([[-1.5, 2], [-4, 4]], [-5, 17]),
    "CPS 4.4.23, a bimatrix game": ([[0, 0, 10, 30], [0, 0, 20, 15], [10, 30, 0, 0], [20, 15, 0, 0]], [-1, -1, -1, -1]),
    "every face of the square": (-np.eye(2), [1, 1]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SEVERAL)
def test_every_nondegenerate_solution_is_found_from_its_own_index_set(name, method):
    A, b = (np.array(part, dtype=float) for part in SEVERAL[name])
    solutions = all_solutions(A, b)
    assert len(solutions) >= 1
    for wanted in solutions:
        result = sc.solve_lcp(A, b, method, start=wanted > 0.0)
        if method == "pivot" and name in BEYOND_PIVOT:
            assert result.status != SOLVED
            continue
        assert result.status == SOLVED
        np.testing.assert_allclose(result.force, wanted, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_redundant_contacts_share_a_load_somehow(method):
    """CPS remark 4.1.14: all f with f_1 + f_2 = 1."""
    result = sc.solve_lcp([[1, 1], [1, 1]], [-1, -1], method)
    assert result.status == SOLVED
    assert result.force.sum() == pytest.approx(1.0, abs=1e-12)
    assert result.force.min() >= 0.0


@pytest.mark.parametrize("method", METHODS)
def test_solutions_without_bound(method):
    """CPS 4.4.16: f = (t, 1 + t) for every t >= 0."""
    result = sc.solve_lcp([[1, -1], [-1, 1]], [1, -1], method)
    assert result.status == SOLVED
    assert result.force[1] - result.force[0] == pytest.approx(1.0, abs=1e-12)


UNSOLVABLE = {
    "M example 2.9": ([[-1, 0, -3], [1, -2, -5], [-2, -1, -2]], [-3, -2, -1]),
    "K, second example": ([[1, -1, 3], [2, -1, 3], [-1, -2, 0]], [-1, -1, -1]),
    "M example 2.2, b = -1": ([[-2, 1], [1, -2]], [-1, -1]),
    "nothing pushes": ([[0]], [-1]),
    "two walls closing in": ([[1, -1], [-1, 1]], [-1, -1]),
    "a quadratic program without a feasible point": (
        [[11, 0, 10, 1], [0, 11, 10, 1], [10, 10, 21, 1], [-1, -1, -1, 0]],
        [50, 50, 10, -6],
    ),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", UNSOLVABLE)
def test_what_has_no_solution_ends_on_a_ray(name, method):
    A, b = (np.array(part, dtype=float) for part in UNSOLVABLE[name])
    assert all_solutions(A, b) == []
    for start in itertools.product([False, True], repeat=len(b)):
        result = sc.solve_lcp(A, b, method, start=start)
        if method == "pivot" and name in BEYOND_PIVOT:
            assert result.status != SOLVED
            continue
        assert result.status == RAY
        check_ray(A, result.ray)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 5, 10])
def test_murtys_exponential_problem(n, method):
    result = sc.solve_lcp(murty(n), -np.ones(n), method, max_iterations=2**n)
    assert result.status == SOLVED
    np.testing.assert_allclose(result.force, np.eye(n)[0], atol=1e-9)


def test_murtys_problem_takes_lemke_through_all_bases():
    pivots = [sc.solve_lcp(murty(n), -np.ones(n)).stats.iterations for n in (4, 6, 8, 10)]
    assert pivots == [2**4, 2**6, 2**8, 2**10]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 8, 20])
def test_fathis_positive_definite_problem(n, method):
    A = murty(n) @ murty(n).T
    result = sc.solve_lcp(A, -np.ones(n), method)
    assert result.status == SOLVED
    np.testing.assert_allclose(result.force, np.eye(n)[0], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [3, 9, 16])
def test_csizmadias_matrix_with_exponential_handicap(n, method):
    """f = (1, 0, 1, ...) and a = (0, 1, 0, ...) by construction; a P-matrix, so there is no other."""
    wanted = np.arange(n) % 2 == 0.0
    result = sc.solve_lcp(csizmadia(n), 1.0 - wanted - csizmadia(n) @ wanted, method)
    assert result.status == SOLVED
    np.testing.assert_allclose(result.force, wanted, atol=1e-9)


@pytest.mark.parametrize("method", ANY_MATRIX)
def test_beales_linear_program_which_makes_the_simplex_method_cycle(method):
    """min c.x, G x <= h, x >= 0 as a complementarity problem; optimum -1/20 at x = (1/25, 0, 1, 0)."""
    c = np.array([-0.75, 150.0, -0.02, 6.0])
    G = np.array([[0.25, -60.0, -0.04, 9.0], [0.5, -90.0, -0.02, 3.0], [0.0, 0.0, 1.0, 0.0]])
    A = np.block([[np.zeros((4, 4)), G.T], [-G, np.zeros((3, 3))]])
    result = sc.solve_lcp(A, np.concatenate([c, [0.0, 0.0, 1.0]]), method)
    assert result.status == SOLVED
    np.testing.assert_allclose(result.force[:4], [0.04, 0.0, 1.0, 0.0], atol=1e-9)


# --- random problems against all complementary bases


def p_matrix(random, n):
    skew = random.normal(size=(n, n))
    factor = random.normal(size=(n, n))
    return factor @ factor.T + 0.1 * np.eye(n) + skew - skew.T


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_p_matrices_have_their_one_solution_found_from_any_start(method):
    random = np.random.default_rng(1)
    for _ in range(60):
        n = int(random.integers(1, 9))
        A, b = p_matrix(random, n), random.normal(size=n)
        (wanted,) = all_solutions(A, b)
        result = sc.solve_lcp(A, b, method, start=random.random(n) < 0.5)
        assert result.status == SOLVED
        np.testing.assert_allclose(result.force, wanted, atol=1e-9 * max(1.0, wanted.max()))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_rank_deficient_problems_with_ties_are_solved_from_any_start(method):
    """Small integers make exact ties; b in the column space of A makes a solution exist. All solutions have the same a."""
    random = np.random.default_rng(2)
    for _ in range(150):
        n, rank = random.integers(1, 11), random.integers(1, 5)
        J = random.integers(-2, 3, size=(n, rank)).astype(float)
        A, b = J @ J.T, J @ random.integers(-2, 3, size=rank)
        free, any_start = sc.solve_lcp(A, b, method), sc.solve_lcp(A, b, method, start=random.random(n) < 0.5)
        for result in (free, any_start):
            assert result.status == SOLVED
            check_solution(A, b, result.force)
        np.testing.assert_allclose(free.acceleration, any_start.acceleration, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_any_matrix_ends_in_a_solution_or_a_ray_and_never_in_both_minds(method):
    random = np.random.default_rng(3)
    ends = []
    for _ in range(200):
        n = int(random.integers(1, 8))
        A, b = random.integers(-2, 3, size=(n, n)).astype(float), random.integers(-2, 3, size=n).astype(float)
        result = sc.solve_lcp(A, b, method, start=random.random(n) < 0.3)
        ends.append(result.status)
        if result.status == SOLVED:
            check_solution(A, b, result.force)
            assert result.ray is None
        else:
            assert result.status == RAY
            check_ray(A, result.ray)
    assert ends.count(SOLVED) > 20 and ends.count(RAY) > 20


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [40, 120])
def test_large_rank_deficient_problems_minimise_the_energy(n, method):
    """For symmetric semidefinite A, f minimises f.A f / 2 + b.f over f >= 0: no other f >= 0 may have less."""
    random = np.random.default_rng(n)
    J = random.normal(size=(n, n // 3))
    A, b = J @ J.T, J @ random.normal(size=n // 3)
    result = sc.solve_lcp(A, b, method)
    assert result.status == SOLVED
    check_solution(A, b, result.force, 1e-10)
    energy = 0.5 * result.force @ A @ result.force + b @ result.force
    for _ in range(50):
        other = np.maximum(0.0, result.force + 0.1 * random.normal(size=n))
        assert 0.5 * other @ A @ other + b @ other >= energy - 1e-12 * abs(energy)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-12, 1e9])
def test_units_do_not_matter(unit, method):
    A, b, wanted = UNIQUE["M example 2.8"]
    result = sc.solve_lcp(unit * np.array(A), 1e3 * np.array(b), method)
    assert result.status == SOLVED
    np.testing.assert_allclose(result.force * unit / 1e3, wanted, rtol=1e-12)


# --- limits and arguments


@pytest.mark.parametrize("method", ANY_MATRIX)
def test_limits_end_the_search_with_the_best_so_far(method):
    n = 10
    for limit in ({"max_iterations": 5}, {"time_limit": 1e-9}):
        result = sc.solve_lcp(murty(n), -np.ones(n), method, **limit)
        assert result.status == sc.Status.MAX_ITERATIONS
        assert result.stats.iterations <= 5
        assert np.isfinite(result.force).all() and result.force.min() >= 0.0
        np.testing.assert_array_equal(result.acceleration, murty(n) @ result.force - 1.0)


def test_the_residual_sees_each_way_of_being_wrong():
    A, b = np.diag([2.0, 4.0]), np.array([-2.0, 1.0])
    assert sc.lcp_residual(A, b, [1.0, 0.0]) == 0.0
    assert sc.lcp_residual(A, b, [0.5, 0.0]) == pytest.approx(0.5)  # a_0 = -1 of 2
    assert sc.lcp_residual(A, b, [1.0, -0.25]) == pytest.approx(0.25)  # f_1 = -1/4 of 1
    assert sc.lcp_residual(A, b, [1.5, 0.0]) == pytest.approx(0.5)  # f_0 a_0 = 1.5 of 3
    assert sc.lcp_residual(A, b, [0.0, 0.0]) == pytest.approx(1.0)
    assert sc.lcp_residual(A, [0.0, 0.0], [1.0, 0.0]) == np.inf
    assert sc.lcp_residual(A, b, [np.nan, 0.0]) == np.inf


def test_an_empty_problem_is_solved():
    result = sc.solve_lcp(np.zeros((0, 0)), [])
    assert result.status == SOLVED
    assert result.force.shape == (0,)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"A": np.zeros((2, 3))}, r"\bA\b.*square.*\(2, 3\)"),
        ({"A": np.zeros(4)}, r"\bA\b.*square"),
        ({"A": [[1.0, np.nan], [0.0, 1.0]]}, r"A\[0, 1\] is nan"),
        ({"A": np.eye(2) * 1j}, r"\bA\b.*complex"),
        ({"A": [[1.0, 2.0], [3.0]]}, r"\bA must be an array of numbers"),
        ({"b": None}, r"\bb\b.*None"),
        ({"b": [1.0, np.inf]}, r"b\[1\] is inf"),
        ({"b": [1.0, 2.0, 3.0]}, r"\bb\b.*\(2,\).*\(3,\)"),
        ({"method": "dantzig"}, r"method must be one of .*lemke"),
        ({"method": None}, r"method must be one of .*lemke"),
        ({"start": [True]}, r"start must be 2 truth values"),
        ({"start": [2, 0]}, r"start must be 2 truth values"),
        ({"tolerance": 0.0}, r"tolerance"),
        ({"max_iterations": 0}, r"max_iterations"),
        ({"max_iterations": 2.5}, r"max_iterations"),
        ({"time_limit": -1.0}, r"time_limit"),
    ],
)
def test_a_bad_argument_is_named(bad, message):
    with pytest.raises(ValueError, match=message):
        sc.solve_lcp(**({"A": np.eye(2), "b": [-1.0, 1.0]} | bad))


def test_forces_of_the_wrong_size_have_no_residual():
    with pytest.raises(ValueError, match=r"force must have shapes"):
        sc.lcp_residual(np.eye(3), np.ones(2), np.ones(3))
