# SPDX-License-Identifier: GPL-3.0-or-later
"""A step that loose joints will cut is not solved for the bodies that no joint holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, MaterialSpec

from ..chains import G, hung_on_a_light_chain

FRAMES = 6


def spun_chain_beside_a_stack():
    """A chain that turns so fast about its nail that steps are cut, and two cubes on the ground; with the rows of the cubes."""
    chain = hung_on_a_light_chain(0.05, 25.0)
    cubes = [parts.box(f"Cube {i}", (0.2,) * 3, (5.0, 0.0, 0.1 + 0.2 * i), MaterialSpec()) for i in range(2)]
    floor = parts.box("Floor", (2.0, 2.0, 0.2), (5.0, 0.0, -0.1), MaterialSpec())
    floor = replace(floor, kind=BodyKind.PASSIVE, mass=None)
    return replace(chain, bodies=(*chain.bodies, floor, *cubes), fps=60.0), slice(-2, None)


def solutions():
    """Of each solution of some frames whether joints are loose, and the fastest that a cube moves, in what gravity gives it."""
    spec, cubes = spun_chain_beside_a_stack()
    simulation = sc.Simulation(spec, substeps=1, sleeping=False)
    solver, seen = simulation._steps._solver, []
    solve = solver.solve

    def watched(begin, *arguments):
        solution = solve(begin, *arguments)
        seen.append((solution.is_loose, np.abs(solution.twist[cubes]).max() / (G * begin.force_time)))
        return solution

    # the cubes take up their rest gap
    simulation.advance()
    solver.solve = watched
    frames = [simulation.advance() for _ in range(FRAMES)]
    assert not any(frame.statistics.status.any() for frame in frames)
    return seen


def test_cubes_are_solved_for_in_the_steps_that_stay_and_in_no_other():
    seen = solutions()
    in_steps_that_stay = [speed for is_loose, speed in seen if not is_loose]
    in_steps_that_are_cut = [speed for is_loose, speed in seen if is_loose]
    assert max(in_steps_that_stay) < 1e-5
    # what is not solved for falls
    assert in_steps_that_are_cut and min(in_steps_that_are_cut) == pytest.approx(1.0)
