# SPDX-License-Identifier: GPL-3.0-or-later
"""The ruler by which other people's solvers are compared, and what is made of its figures."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc

from ..bench.problems.compare import OURS, profile, summary, time_to
from ..bench.problems.ruler import error
from .contact_problems import random_stack

BLOCK = np.eye(3), np.array([-1.0, 0.4, 0.0]), np.array([0.3])


@pytest.mark.parametrize(
    ("r", "off"),
    [
        ([1.0, -0.3, 0.0], 0.0),  # it slides, with all its friction against it
        ([1.0, -0.4, 0.0], 0.1),  # friction is outside the cone by 0.1
        ([1.0, 0.0, 0.0], 0.3),  # and missing
        ([0.9, -0.27, 0.0], 0.1044),  # presses too little by a tenth, so its cone is smaller
        ([0.0, 0.0, 0.0], 1.0),
    ],
)
def test_an_error_is_the_velocity_that_is_lacking_over_the_fastest(r, off):
    W, q, mu = BLOCK
    fastest = np.hypot(1.0, 0.4)
    assert error(W, q, mu, np.array(r)) == pytest.approx(off / fastest, abs=0.05 * off + 1e-12)
    assert error(100.0 * W, q, mu, np.array(r) / 100.0) == pytest.approx(error(W, q, mu, np.array(r)), abs=1e-12)


def test_it_agrees_with_what_a_solver_claims():
    for seed in range(10):
        G, g, mu = random_stack(np.random.default_rng(seed), 3)
        result = sc.solve(sc.ContactProblem.from_delassus(G, g, mu), tolerance=1e-8)
        assert result.status is sc.Status.SOLVED and error(G, np.ravel(g), mu, result.impulse) < 2e-8
    assert error(*BLOCK, np.full(3, np.nan)) == np.inf


def test_times_are_of_answers_that_have_the_error_and_factors_of_the_least():
    rows = [
        {
            "kind": "captured",
            "solver": name,
            "problem": "p, step 1",
            "contacts": 3,
            "overhead_s": 1e-5,
            "error": off,
            "solve_s": seconds,
        }
        for name, off, seconds in ((OURS, 1e-3, 1.0), (OURS, 1e-9, 4.0), ("other", 1e-5, 0.5), ("other", 1e-7, 1.0))
    ]
    assert time_to(rows, OURS, "p, step 1", 1e-4) == 4.0 and time_to(rows, "other", "p, step 1", 1e-4) == 0.5
    assert time_to(rows, "other", "p, step 1", 1e-8) == np.inf
    curves = profile({OURS: [4.0, 1.0], "other": [0.5, np.inf]})
    assert dict(curves[OURS])[1.0] == 50.0 and dict(curves[OURS])[8.0] == 100.0 and dict(curves["other"])[1024.0] == 50.0
    line = next(line for line in summary(rows) if line["solver"] == "other" and line["to"] == 1e-4)
    assert (line["solved"], line["of"], line["over_ours"], line["over_ours_small"], line["p_ms"]) == (1, 1, "", 0.125, "500")
    assert next(line for line in summary(rows) if line["solver"] == "other" and line["to"] == 1e-8)["p_ms"] == "-"
