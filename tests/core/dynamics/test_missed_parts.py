# SPDX-License-Identifier: GPL-3.0-or-later
"""A step whose contact problem is not solved: shorter parts of it are other problems, and are tried, but not for ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.pacing.parts import MAX_MISSES
from solver_core.problem.result import Status
from solver_core.scene import parts

STEP = 1.0 / 240.0


def longest_solved(longest):
    """A simulation of a block on the ground, whose solver misses all parts of a step longer than `longest`, in steps; and the
    lengths of what was solved for, in steps."""
    material = parts.pair_material(0.5)
    block = parts.box("Block", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1), material)
    scene = sc.SceneSpec((parts.ground(material), replace(block, velocity=np.array([1.0, 0.0, 0.0]))), fps=240.0)
    simulation = sc.Simulation(scene, substeps=1, sleeping=False)
    solver, lengths = simulation._steps._solver, []
    solve = solver.solve

    def missing(begin, *arguments):
        solution = solve(begin, *arguments)
        lengths.append(begin.h / STEP)
        status = solution.totals.status if begin.h <= 1.001 * longest * STEP else Status.MAX_ITERATIONS
        return solution._replace(totals=solution.totals._replace(status=status))

    solver.solve = missing
    return simulation, lengths


def test_a_step_that_is_missed_is_solved_in_two_halves():
    simulation, lengths = longest_solved(0.5)
    assert not simulation.advance().statistics.status.any()
    assert lengths == pytest.approx([1.0, 0.5, 0.5])


def test_a_half_that_is_missed_is_cut_again_and_so_is_what_is_left_after_one_that_is_solved():
    """As where a bridge catches a load: a part that joints had made short was missed, and taken as it was."""
    simulation, lengths = longest_solved(0.25)
    assert not simulation.advance().statistics.status.any()
    # a quarter, then the rest is tried whole, halved, and halved again
    quarters = [1.0, 0.5, 0.25, 0.75, 0.375, 0.1875, 0.5625, 0.28125, 0.140625, 0.421875, 0.2109375, 0.2109375]
    assert lengths == pytest.approx(quarters)


def test_a_step_that_no_part_solves_is_given_up_soon_and_is_missed():
    simulation, lengths = longest_solved(0.0)
    assert simulation.advance().statistics.status.tolist() == [Status.MAX_ITERATIONS]
    assert len(lengths) == 1 + MAX_MISSES + 1
