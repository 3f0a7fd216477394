# SPDX-License-Identifier: GPL-3.0-or-later
"""Sparse problems take memory for what they have, and are the problems that their dense matrices are."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import solver_core as sc
from solver_core.problem import delassus
from solver_core.problem.forms import global_form_of, local_form_of

from ..contact_problems import box_on_ground, random_bodies, random_stack, tower


def pairs(count, seed=0):
    """(G, g) of bodies that two contacts hold each."""
    random = np.random.default_rng(seed)
    J = random.normal(size=(count, 6, 6))
    blocks, free = J @ J.transpose(0, 2, 1), (J @ random.normal(size=(count, 6, 1))).ravel()
    return sparse.block_diag(blocks, format="csr"), free


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, sparse.lil_matrix])
@pytest.mark.parametrize("seed", range(3))
def test_a_sparse_matrix_is_the_problem_that_the_dense_one_is(kind, seed):
    G, g, mu = random_stack(np.random.default_rng(seed), 3)
    dense, thin = (sc.solve(sc.ContactProblem.from_delassus(one, g, mu), tolerance=1e-10) for one in (G, kind(G)))
    assert dense.status is thin.status is sc.Status.SOLVED
    assert np.allclose(thin.velocity, dense.velocity, atol=1e-9)


def test_memory_is_for_what_is_stored():
    """A dense one of these would have 1.2 GB, and was there several times."""
    count = 2000
    G, g = pairs(count)
    # what is compiled is not counted
    sc.solve(sc.ContactProblem.from_delassus(G, g, 0.5), tolerance=1e-8)
    tracemalloc.start()
    problem = sc.ContactProblem.from_delassus(G, g, 0.5)
    result = sc.solve(problem, tolerance=1e-8)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.status is sc.Status.SOLVED
    assert most < 100 * G.data.nbytes


def test_wide_and_narrow_islands_are_solved_as_if_they_were_alone():
    (tall, g_tall), (low, g_low) = tower(12), tower(14, sideways=0.2)
    few, g_few = pairs(5)
    G, g = sparse.block_diag([tall, few, low]), np.concatenate([g_tall, g_few, g_low])
    problem = sc.ContactProblem.from_delassus(G, g, 0.6)
    together = sc.solve(problem, tolerance=1e-9)
    assert together.status is sc.Status.SOLVED
    assert sc.residuals(problem, together).coulomb <= 1e-9
    alone = [
        sc.solve(sc.ContactProblem.from_delassus(*one, 0.6), tolerance=1e-9)
        for one in ((tall, g_tall), (few, g_few), (low, g_low))
    ]
    assert np.allclose(together.velocity, np.vstack([one.velocity for one in alone]), atol=1e-8)
    # and from impulses that each island has its own of
    again = sc.solve(problem, tolerance=1e-9, warm_start=together.impulse)
    assert again.status is sc.Status.SOLVED and again.stats.iterations <= together.stats.iterations


def test_what_does_not_fit_into_memory_is_refused_beforehand(monkeypatch):
    G, g = tower(3)
    monkeypatch.setattr(delassus, "free_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"G couples 36 rows .* give the problem by its bodies"):
        sc.ContactProblem.from_delassus(sparse.csr_matrix(G), g, 0.6)


def chain(bodies):
    """(G, g) of bodies in the plane, each of which touches the ground and the next one: one island, 8 entries a row."""
    random = np.random.default_rng(1)
    rows, columns, values = [], [], []
    for body in range(bodies):
        for contact, others in ((2 * body, (body,)), (2 * body + 1, (body, (body + 1) % bodies))):
            for other in others:
                for axis in range(2):
                    rows += [2 * contact + axis] * 3
                    columns += range(3 * other, 3 * other + 3)
                    values += random.normal(size=3).tolist()
    J = sparse.csr_matrix((values, (rows, columns)), shape=(4 * bodies, 3 * bodies))
    return J @ J.T, J @ random.normal(size=3 * bodies)


def test_an_island_too_wide_to_be_dense_is_solved_by_its_matrix():
    """A dense factor of it would have 200 MB, and there were several."""
    G, g = chain(1300)
    # what is compiled is not counted
    sc.solve(sc.ContactProblem.from_delassus(G, g, 0.4, dim=2), tolerance=1e-7)
    tracemalloc.start()
    problem = sc.ContactProblem.from_delassus(G, g, 0.4, dim=2)
    result = sc.solve(problem, tolerance=1e-7)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.status is sc.Status.SOLVED
    assert most < 100 * (G.data.nbytes + G.indices.nbytes)
    u, r = (G @ result.impulse.ravel() + g).reshape(-1, 2), result.impulse
    fastest, largest = np.abs(g).max(), np.abs(r).max()
    assert u[:, 0].min() > -1e-6 * fastest and r[:, 0].min() >= 0.0
    assert np.abs(r[:, 0] * u[:, 0]).max() < 1e-6 * fastest * largest
    assert (np.abs(r[:, 1]) - 0.4 * r[:, 0]).max() < 1e-6 * largest
    again = sc.solve(problem, tolerance=1e-7, warm_start=result.impulse)
    assert again.status is sc.Status.SOLVED and again.stats.factorisations <= result.stats.factorisations
    with pytest.raises(ValueError, match="use the method staggered without options"):
        sc.solve(problem, "pivot")


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_by_its_matrix_alone_a_problem_has_the_answer_that_it_has_by_its_factor(monkeypatch, tolerance):
    G, g = tower(14, sideways=0.3)
    dense = sc.solve(sc.ContactProblem.from_delassus(G, g, 0.6), tolerance=1e-9)
    monkeypatch.setattr(delassus, "MOST_DENSE_ROWS", 30)
    problem = sc.ContactProblem.from_delassus(sparse.csr_matrix(G), g, 0.6)
    result = sc.solve(problem, tolerance=tolerance)
    assert problem.matrix is not None and result.status is sc.Status.SOLVED
    assert sc.residuals(problem, result).coulomb <= tolerance
    assert np.allclose(problem.delassus, G)
    assert np.allclose(result.velocity, dense.velocity, atol=30 * tolerance * np.abs(g).max())


def test_a_wide_matrix_with_negative_eigenvalues_or_asymmetry_is_refused(monkeypatch):
    monkeypatch.setattr(delassus, "MOST_DENSE_ROWS", 30)
    G, g = tower(4)
    with pytest.raises(ValueError, match="semidefinite: it has an eigenvalue below -1e-05 of its largest entry"):
        sc.ContactProblem.from_delassus(sparse.csr_matrix(G - 1e-3 * np.abs(G).max() * np.eye(len(G))), g, 0.6)
    rough = G * (1.0 + 1e-6 * np.random.default_rng(0).normal(size=G.shape))
    problem = sc.ContactProblem.from_delassus(sparse.csr_matrix(rough), g, 0.6)
    result = sc.solve(problem, tolerance=1e-7)
    assert problem.rounded is not None and result.status is sc.Status.SOLVED
    assert np.allclose(result.velocity.ravel(), rough @ result.impulse.ravel() + g, atol=1e-12)


def test_an_entry_that_is_no_number_is_named():
    G, g = pairs(2)
    G[7, 8] = np.nan
    with pytest.raises(ValueError, match=r"G\[7, 8\] is nan"):
        sc.ContactProblem.from_delassus(G, g, 0.5)


@pytest.mark.parametrize("make", [lambda: random_bodies(3, 8, 4), box_on_ground, lambda: random_bodies(5, 10, 2)])
def test_a_problem_keeps_its_solution_in_both_forms(make):
    problem = make()
    expected = sc.solve(problem, tolerance=1e-10)
    for form in (global_form_of(problem), local_form_of(problem)):
        result = sc.solve(form.problem(), tolerance=1e-10)
        assert result.status is sc.Status.SOLVED
        assert np.allclose(result.velocity, expected.velocity, atol=1e-8)
        assert np.allclose(form.solution(result.impulse, result.bilateral).u, result.velocity.ravel(), atol=1e-8)


def test_bodies_are_found_in_a_mass_matrix_whatever_their_order():
    problem = random_bodies(7, 9, 4)
    form = global_form_of(problem)
    order = np.random.default_rng(0).permutation(form.M.shape[0])
    shuffled = sc.GlobalForm(form.M[order][:, order], form.H[order], form.f[order], form.w, form.mu)
    assert np.diff(shuffled.problem().system.offset).tolist() == [6] * 4
    result = sc.solve(shuffled.problem(), tolerance=1e-10)
    assert np.allclose(result.velocity, sc.solve(problem, tolerance=1e-10).velocity, atol=1e-8)
    # the velocities of a solution are in the order of the form
    v = shuffled.solution(result.impulse, result.bilateral).v
    assert np.allclose(form.solution(result.impulse, result.bilateral).v[order], v, atol=1e-10)


def test_a_contact_that_touches_three_bodies_is_one_of_the_matrix():
    random = np.random.default_rng(1)
    H = random.normal(size=(9, 6))
    form = sc.GlobalForm(np.eye(9), H, random.normal(size=9), np.zeros(6), 0.3)
    problem = form.problem()
    assert (problem.system.body_a < 0).all()
    result = sc.solve(problem, tolerance=1e-9)
    assert result.status is sc.Status.SOLVED
    assert np.allclose(problem.delassus, H.T @ H)


def test_a_link_that_is_held_bears_what_hangs_on_it():
    """A mass on a rod: G holds its height, the contact beside it has nothing to bear."""
    form = sc.GlobalForm(2.0 * np.eye(3), np.eye(3), [-1.0, 0.0, 0.0], np.zeros(3), 0.5, G=np.eye(3)[:, :1], b=[0.0])
    result = sc.solve(form.problem(), tolerance=1e-10)
    assert result.status is sc.Status.SOLVED
    assert result.bilateral[0] == pytest.approx(1.0) and np.abs(result.impulse).max() < 1e-9
    local = sc.solve(form.local().problem(), tolerance=1e-10)
    assert local.bilateral[0] == pytest.approx(1.0)


def test_a_problem_without_contacts_is_solved():
    form = sc.GlobalForm(sparse.eye(600), sparse.csr_matrix((600, 0)), np.ones(600), np.zeros(0), np.zeros(0), dim=2)
    assert sc.solve(form.problem()).status is sc.Status.SOLVED


LOCAL = {"W": np.eye(6), "q": np.zeros(6), "mu": 0.5}
GLOBAL = {"M": np.eye(6), "H": np.ones((6, 3)), "f": np.zeros(6), "w": np.zeros(3), "mu": [0.5]}


@pytest.mark.parametrize(
    ("kind", "good", "bad", "message"),
    [
        (sc.LocalForm, LOCAL, {"W": np.ones((6, 5))}, r"W must have shape \(6, 6\)"),
        (sc.LocalForm, LOCAL, {"q": np.zeros(5)}, "q must have 6 entries, not 5"),
        (sc.LocalForm, LOCAL, {"mu": [0.5, -np.inf]}, r"mu\[1\] is -inf"),
        (sc.LocalForm, LOCAL, {"mu": [0.5, 0.5, 0.5]}, "mu must have 2 entries"),
        (sc.LocalForm, LOCAL, {"mu": [0.5, 0.5j]}, "mu must be an array of numbers: they are complex"),
        (sc.LocalForm, LOCAL, {"dim": 4}, "dim must be 2 or 3"),
        (sc.LocalForm, LOCAL, {"W": np.eye(5), "q": np.zeros(5)}, "5 rows of contacts are no multiple"),
        (sc.LocalForm, LOCAL, {"V": np.ones((6, 1))}, "V and R must be given together"),
        (sc.LocalForm, LOCAL, {"s": [1.0]}, "s is given without V and R"),
        (sc.GlobalForm, GLOBAL, {"H": np.ones((5, 3))}, r"H must have shape \(6, any\)"),
        (sc.GlobalForm, GLOBAL, {"f": [np.nan] * 6}, r"f\[0\] is nan"),
        (sc.GlobalForm, GLOBAL, {"b": [1.0]}, "b is given without G"),
    ],
)
def test_matrices_that_do_not_fit_together_are_named(kind, good, bad, message):
    with pytest.raises(ValueError, match=message):
        kind(**(good | bad))


@pytest.mark.parametrize("M", [np.diag([1.0, -1.0, 1.0]), np.zeros((3, 3)), np.eye(3) + np.eye(3, k=1)])
def test_masses_that_are_none_are_refused(M):
    form = sc.GlobalForm(M, np.eye(3), np.ones(3), np.zeros(3), 0.5)
    with pytest.raises(ValueError, match=r"must be (positive definite|symmetric)"):
        form.problem()
