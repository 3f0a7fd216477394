# SPDX-License-Identifier: GPL-3.0-or-later
"""Stiction's own methods, given the same matrix."""

from __future__ import annotations

from protocol import answer

import solver_core as sc


def build(method, W, q, mu):
    problem = sc.ContactProblem.from_delassus(W, q, mu)
    return lambda tolerance: sc.solve(problem, method, tolerance=tolerance).impulse


answer(build)
