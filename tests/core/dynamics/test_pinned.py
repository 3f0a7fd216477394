# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that bend and are pinned somewhere, in simulations, against closed forms of cantilevers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.deformable.reduced_body import prepared
from solver_core.scene.deformable import DeformableSpec
from solver_core.scene.parts import box as rigid_box
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..bodies import material
from ..deformable.beams import CANTILEVER, DENSITY, divided, frequency

SIZE, YOUNG = np.array([1.0, 0.08, 0.04]), 4e8
SHAPE = divided(SIZE, (16, 2, 1))
ROOT = np.flatnonzero(SHAPE.vertices[:, 0] < -0.499).astype(np.int32)
TIP = np.flatnonzero(SHAPE.vertices[:, 0] > 0.499)
INERTIA = SIZE[1] * SIZE[2] ** 3 / 12.0
SPEC = DeformableSpec(young=YOUNG, modes=8, resolution=50, damping_ratio=0.0, pinned=ROOT)


def board(**changes) -> BodySpec:
    return replace(
        BodySpec("Board", BodyKind.ACTIVE, SHAPE, density=DENSITY, deformable=SPEC, material=material(0.5)), **changes
    )


def tips(spec, frames, **settings):
    """(frames, 3) m: how far the end is from where it began, in the world."""
    board = spec.bodies[0]
    shapes = prepared(board).shapes[TIP].mean(axis=0)
    found = []
    for frame in sc.Simulation(spec, **settings).frames(frames):
        turn = Rotation.from_quat(frame.poses[0, 3:], scalar_first=True)
        assert np.array_equal(frame.poses[0, :3], board.position)
        found.append(turn.apply(shapes @ frame.modal[: shapes.shape[1]]))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("turn", [pytest.param(None, marks=pytest.mark.long), [0.0, 0.0, 1.2]])
def test_a_board_that_is_let_go_swings_about_its_sag_with_its_own_frequency(turn):
    """w = q L^4 / (8 E I) at rest; let go from straight it swings between 0 and twice that."""
    pose = {} if turn is None else {"orientation": Rotation.from_rotvec(turn).as_quat(scalar_first=True)}
    found = tips(SceneSpec((board(**pose),)), 48)[:, 2]
    sag = DENSITY * SIZE[1] * SIZE[2] * 9.81 / (8.0 * YOUNG * INERTIA)
    assert -found.min() == pytest.approx(2.0 * sag, rel=0.03) and found.max() < 0.02 * sag
    swings = found + sag
    crossings = np.flatnonzero(np.diff(np.sign(swings)))
    exact = crossings + swings[crossings] / (swings[crossings] - swings[crossings + 1])
    period = 2.0 * np.diff(exact).mean() / 24.0
    assert 1.0 / period == pytest.approx(frequency(CANTILEVER, SIZE, young=YOUNG), rel=0.03)


@pytest.mark.slow
def test_a_load_at_its_end_bends_it_as_the_textbook_says():
    """P L^3 / (3 E I), beside what the board weighs."""
    damped = replace(SPEC, damping_ratio=0.5)
    load = rigid_box("Load", (0.02, 0.08, 0.04), (0.48, 0.0, 0.0405), material(0.8), 0.2)
    alone, loaded = (tips(SceneSpec((board(deformable=damped), *more)), 48)[-1, 2] for more in ((), (load,)))
    arm = 0.98
    at_load = 0.2 * 9.81 * arm**3 / (3.0 * YOUNG * INERTIA)
    slope = 0.2 * 9.81 * arm**2 / (2.0 * YOUNG * INERTIA)
    assert alone - loaded == pytest.approx(at_load + slope * (1.0 - arm), rel=0.03)


def test_without_gravity_nothing_moves():
    assert not tips(SceneSpec((board(),), gravity=np.zeros(3)), 5).any()


@pytest.mark.slow
def test_energy_of_a_pinned_board_that_something_falls_on_never_grows():
    falls = rigid_box("Ball", (0.05, 0.05, 0.05), (0.45, 0.0, 0.2), material(0.3), 0.2)
    spec = SceneSpec((board(), falls))
    body = prepared(spec.bodies[0])
    simulation = sc.Simulation(spec)
    found = []
    for frame in simulation.frames(36):
        state = simulation.checkpoint()
        q, v = state["modal"], state["modal_velocity"]
        bends = 0.5 * (v @ v + (body.omega * q) @ (body.omega * q)) + 9.81 * body.inertia.momentum[:, 2] @ q
        w, momentum = frame.velocities[1, 3:], state["angular_momentum"][1]
        moves = 0.1 * state["velocity"][1] @ state["velocity"][1] + 0.5 * w @ momentum
        found.append(bends + moves + 9.81 * 0.2 * state["position"][1, 2])
    assert max(found) - found[0] < 0.02 * 0.2 * 9.81 * 0.2


def test_what_is_pinned_has_to_begin_at_rest():
    with pytest.raises(sc.SceneError, match="velocity: pinned vertices do not move"):
        sc.Simulation(SceneSpec((board(velocity=np.array([1.0, 0.0, 0.0])),)))
