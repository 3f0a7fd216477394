# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands with joints and their corrections in one kernel: the motion of solves one by one, and the same bits every time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.solve import system_solver
from solver_core.dynamics.solve.joined_islands import Corrected
from solver_core.scene.parts import ground

from ..bodies import material
from ..dolls import doll, together
from ..jointed_runs import run, solved
from ..rigs import skirt

ELIMINATION, START = sc.Found.ELIMINATION, sc.Found.START


def fallen_doll():
    """A doll that falls over, onto the ground."""
    spec = together(doll((0.0, 0.0, 0.85), velocity=np.array([0.8, 0.1, 0.0])), bodies=(ground(material(0.5)),))
    return replace(spec, fps=24.0)


def one_by_one(system, impulse, requests, step, effort, again):
    """`solve_corrected` that solves nothing, so that all is left to the loop of solves."""
    drift = np.zeros(len(again.outcomes.status))
    drift[again.which] = np.inf
    return Corrected(np.zeros(len(drift), np.bool_), drift)


def found(frames):
    return np.concatenate([frame.statistics.found for frame in frames]).sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("make", [fallen_doll, lambda: skirt(10)], ids=["doll", "skirt"])
def test_one_kernel_has_the_motion_of_solves_one_by_one(make, monkeypatch):
    """A quarter of a second, before a touch more or less of the doll can make it another motion."""
    at_once = run(make(), 6, substeps=10)
    monkeypatch.setattr(system_solver, "solve_corrected", one_by_one)
    apart = run(make(), 6, substeps=10)
    assert solved(at_once) and solved(apart)
    for one, other in zip(at_once, apart, strict=True):
        np.testing.assert_allclose(one.poses, other.poses, atol=1e-6)


@pytest.mark.slow
def test_a_doll_that_falls_over_is_solved_with_joints_eliminated():
    frames = run(fallen_doll(), 24, substeps=10)
    counts = found(frames)
    assert solved(frames)
    assert counts[ELIMINATION] > 100
    assert counts[ELIMINATION] + counts[START] >= 0.99 * counts.sum()
    # fifteen a solve, of several a step, without elimination
    assert np.mean(np.concatenate([frame.statistics.factorisations for frame in frames[1:]])) < 12.0


@pytest.mark.slow
def test_dolls_have_the_same_bits_in_any_number_of_threads_and_after_a_resume():
    spec = together(fallen_doll(), doll((2.0, 0.0, 1.0), name=" two"))
    runs = [run(spec, 10, substeps=10, threads=threads) for threads in (1, 2, 4)]
    for frames in runs[1:]:
        assert all(one.poses.tobytes() == other.poses.tobytes() for one, other in zip(runs[0], frames, strict=True))
    whole = sc.Simulation(spec, substeps=10)
    frames = list(whole.frames(6))
    kept = {key: array.copy() for key, array in whole.checkpoint().items()}
    resumed = sc.Simulation(spec, substeps=10)
    resumed.restore(frames[-1].frame, kept)
    for _ in range(4):
        assert whole.advance().poses.tobytes() == resumed.advance().poses.tobytes()


@pytest.mark.slow
def test_a_doll_and_its_mirror_image_fall_alike():
    """Left and right are mirrored in x; a doll that falls straight back has no side."""
    spec = together(doll((0.0, 0.0, 0.85), velocity=np.array([0.0, 0.8, 0.0])), bodies=(ground(material(0.5)),))
    frames = run(replace(spec, fps=24.0), 12, substeps=10)
    names = [body.name for body in spec.bodies]
    for left in (name for name in names if name.endswith("left")):
        one, other = (np.array([f.poses[names.index(n), :3] for f in frames]) for n in (left, left.replace("left", "right")))
        np.testing.assert_allclose(one * [-1.0, 1.0, 1.0], other, atol=1e-5)
