# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies in small bends that spin faster than they swing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.deformable.reduced_body import reduced_body
from solver_core.dynamics.model.predict import StepTimes
from solver_core.dynamics.model.spinning import ModalState, spun_modes
from solver_core.scene.deformable import DeformableSpec
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..deformable.beams import DENSITY, box

ROD = box((1.0, 0.03, 0.03))
SPEC = DeformableSpec(young=2.5e8, modes=4, resolution=40, damping_ratio=0.0)
REDUCED = reduced_body(ROD, SPEC, density=DENSITY)
# What tension adds to the square of the first frequency over that of the spin, see `test_inertia.py`.
FLAP, IN_PLANE = 3.05, 2.05


def spun(turning, shape=ROD, spec=SPEC, body=REDUCED, bent=2, **settings):
    """A free body that turns with (3,) rad/s, with its end moved by a millimetre across by some first modes, and how modes move
    this end."""
    one = BodySpec("Rod", BodyKind.ACTIVE, shape, density=DENSITY, deformable=spec, angular_velocity=np.asarray(turning, float))
    simulation = sc.Simulation(SceneSpec((one,), gravity=np.zeros(3)), modes={0: body}, threads=1, **settings)
    state = simulation.checkpoint()
    end = int(np.argmax(shape.vertices[:, 0]))
    state["modal"][:bent] = np.linalg.lstsq(body.shapes[end, 1:, :bent], [1e-3, 1e-3], rcond=None)[0]
    simulation.restore(simulation.first_frame().frame, state)
    return simulation, body.shapes[end]


def frequency(values, rate) -> float:
    """Hz of the strongest swing."""
    padded = 16 * len(values)
    return float(np.argmax(np.abs(np.fft.rfft((values - values.mean()) * np.hanning(len(values)), padded))) * rate / padded)


def alone(turning, rate, seconds=1.0):
    """(n, 3) m, how far the end of the rod is bent in each step of a spin (3,) rad/s that stays as it is."""
    end, turning, h = REDUCED.shapes[int(np.argmax(ROD.vertices[:, 0]))], np.asarray(turning, float), 1.0 / rate
    q, v, moved = np.zeros(4), np.zeros(4), []
    q[:2] = np.linalg.solve(end[1:, :2], [1e-3, 1e-3])
    for _ in range(round(seconds * rate)):
        v = spun_modes(REDUCED, ModalState(q, v), turning, StepTimes(h, h, h), np.arange(4)).velocity
        q = q + h * v
        moved.append(end @ q)
    return np.array(moved)


@pytest.mark.parametrize("share", [0.5, 1.1, 1.5, 3.0])
def test_modes_of_a_spinning_rod_are_those_of_a_beam_under_tension(share):
    """At one and a half times its first frequency the rod used to bend by 124 m."""
    spin = share * REDUCED.omega[0]
    moved = alone([0.0, 0.0, spin], 960.0)
    assert np.abs(moved[:, 1:]).max() < 1.5e-3
    for axis, added in ((1, IN_PLANE), (2, FLAP)):
        exact = np.sqrt(REDUCED.omega[0] ** 2 + added * spin**2) / (2.0 * np.pi)
        assert frequency(moved[:, axis], 960.0) == pytest.approx(exact, rel=5e-3)


@pytest.mark.parametrize("rate", [60.0, 240.0, 960.0])
@pytest.mark.parametrize("turning", [(0.5, 0.0, 0.0), (3.0, 0.0, 0.0), (8.0, 0.0, 0.0), (2.0, 0.5, 0.3)])
def test_what_spins_about_its_length_whirls_and_does_not_grow(turning, rate):
    """Its stiffness is below zero, and the Coriolis force alone stabilizes it, in steps of any length. In the frame of the
    world the end begins with the speed of the spin times the bend, and moves by that over the first frequency."""
    moved = alone(REDUCED.omega[0] * np.array(turning), rate, 4.0)
    begins = np.hypot(1e-3, 1e-3)
    assert np.abs(moved).max() < 1.5 * begins * (1.0 + np.linalg.norm(turning))


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, pytest.param(1.1, marks=pytest.mark.long), 3.0])
def test_a_spinning_rod_swings_as_a_beam_under_tension(share):
    """The whole step agrees, with a frame that has the momentum of the rod."""
    spin = share * REDUCED.omega[0]
    simulation, end = spun([0.0, 0.0, spin], fps=960.0, substeps=1)
    moved = np.array([end @ frame.modal for frame in simulation.frames(480)])
    assert np.abs(moved[:, 1:]).max() < 2.5e-3
    for axis, added in ((1, IN_PLANE), (2, FLAP)):
        exact = np.sqrt(REDUCED.omega[0] ** 2 + added * spin**2) / (2.0 * np.pi)
        assert frequency(moved[:, axis], 960.0) == pytest.approx(exact, rel=0.015)


@pytest.mark.slow
@pytest.mark.parametrize("share", [pytest.param(0.5, marks=pytest.mark.long), 3.0])
def test_a_rod_that_spins_about_itself_whirls_on(share):
    """There is no tension, and the Coriolis force keeps the rod together. In its frame it whirls at the sum and the difference
    of both frequencies."""
    simulation, end = spun([share * REDUCED.omega[0], 0.0, 0.0], fps=960.0, substeps=1)
    moved = np.array([end @ frame.modal for frame in simulation.frames(960)])
    assert np.abs(moved).max() < 1.5e-3 * (1.0 + share)
    # the direction of the swing turns, its amplitude does not change
    swing = np.linalg.norm(moved, axis=1)
    first, last = (swing[part].max() for part in (slice(0, 240), slice(-240, None)))
    assert last == pytest.approx(first, rel=0.05)


@pytest.mark.slow
def test_a_strip_of_rubber_that_tumbles_fast_keeps_its_length():
    """It makes five turns a second about a skew axis. Its first frequency is 2.4 Hz."""
    strip, spec = box((0.3, 0.03, 0.006)), replace(SPEC, young=3e6, modes=8, resolution=0, damping_ratio=0.02)
    body = reduced_body(strip, spec, density=DENSITY)
    simulation, _ = spun([3.0, 25.0, 15.0], strip, spec, body, bent=1)
    bends = [np.linalg.norm(body.shapes @ frame.modal, axis=1).max() for frame in simulation.frames(48)]
    assert max(bends) < 0.15 * 0.3
