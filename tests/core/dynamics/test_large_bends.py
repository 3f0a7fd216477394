# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies in large bends, in simulations: what they keep, what they lose, and that small bends are as ever."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.bake.report import missed_steps
from solver_core.deformable.reduced_body import reduced_body
from solver_core.deformable.stvk import energy
from solver_core.dynamics.model.large_bends import FlexibleBody, LargeBend
from solver_core.dynamics.model.predict import StepTimes
from solver_core.dynamics.model.spinning import ModalState
from solver_core.dynamics.solve import bent_further
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.parts import box as rigid_box
from solver_core.scene.parts import ground
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..bodies import material
from ..deformable.beams import BEAM, DENSITY, YOUNG, box, divided, mesh
from ..meshes import uv_sphere

SPEC = DeformableSpec(kind=Elasticity.STVK, young=YOUNG, modes=9, resolution=40, damping_ratio=0.0)
WEIGHTLESS = np.zeros(3)


def beam(spec=SPEC, shape=None, **changes) -> BodySpec:
    return replace(
        BodySpec("Beam", BodyKind.ACTIVE, box() if shape is None else shape, density=DENSITY, deformable=spec), **changes
    )


@cache
def slender():
    """The beam of eight vertices, which several tests have."""
    return reduced_body(box(), SPEC, density=DENSITY)


def alone(**settings):
    """It, in empty space."""
    return sc.Simulation(SceneSpec((beam(),), gravity=WEIGHTLESS), modes={0: slender()}, **settings)


def moving(simulation, velocity=(), q=()):
    """The simulation with its modes set."""
    state = simulation.checkpoint()
    state["modal"][: len(q)], state["modal_velocity"][: len(velocity)] = q, velocity
    simulation.restore(simulation.first_frame().frame, state)
    return simulation


def total_energy(simulation, body):
    """J, of a scene whose first body is the only one that moves."""
    state, frame = simulation.checkpoint(), simulation.first_frame()
    v, w = state["velocity"][0], frame.velocities[0, 3:]
    assert body.large is not None
    motion = body.mass * v @ v + w @ state["angular_momentum"][0] + state["modal_velocity"] @ state["modal_velocity"]
    return 0.5 * motion + energy(body.large.gram, state["modal"]) + 9.81 * body.mass * state["position"][0, 2]


@pytest.mark.slow
def test_a_free_beam_keeps_its_frequency_and_its_amplitude():
    """At 240 steps a second, in bends of a thousandth of its length: the phase tells the frequency."""
    omega = slender().omega[0]
    q = np.array([frame.modal[0] for frame in moving(alone(), velocity=[1e-3 * omega]).frames(24)])
    # velocities begin half a step early, which the amplitude has, once for all
    swing = np.sin(omega * np.arange(25) / 24.0)
    np.testing.assert_allclose(q, (q @ swing) / (swing @ swing) * swing, atol=1e-3 * 1e-5 * omega)
    assert np.abs(q).max() == pytest.approx(1e-3 * np.abs(swing).max(), rel=0.01)


@pytest.mark.slow
def test_a_beam_that_bends_by_a_tenth_of_its_length_swings_on_and_more_slowly():
    """Its ends come inwards twice a swing, so its frequency falls, as much at any step."""
    found = []
    for fps, seconds in ((240, 1.0), (480, 0.7)):
        q = np.array(
            [frame.modal[0] for frame in moving(alone(fps=fps, substeps=1), velocity=[3.2]).frames(int(fps * seconds))]
        )
        down = np.flatnonzero((q[:-1] > 0.0) & (q[1:] <= 0.0))[:3]
        crossings = (down + q[down] / (q[down] - q[down + 1])) / fps
        found.append(2.0 / (crossings[-1] - crossings[0]))
        if fps == 240:
            assert 0.998 < np.abs(q[-120:]).max() / np.abs(q[:120]).max() <= 1.0
    tip = np.linalg.norm(slender().shapes[..., 0], axis=1).max() * np.abs(q).max()
    assert tip > 0.1
    assert found[0] == pytest.approx(found[1], rel=1e-3)
    assert 0.9 < 2.0 * np.pi * found[1] / slender().omega[0] < 0.98


def test_small_bends_swing_as_linear_modes_do():
    speeds, found = 1e-3 * np.array([1.0, -0.5, 0.7]), []
    for spec in (SPEC, replace(SPEC, kind=Elasticity.LINEAR, modes=3)):
        damped = replace(spec, damping_ratio=0.02)
        simulation = moving(sc.Simulation(SceneSpec((beam(damped),), gravity=WEIGHTLESS)), velocity=speeds)
        found.append(np.array([frame.modal[:3] for frame in simulation.frames(24)]))
    np.testing.assert_allclose(found[0], found[1], atol=1e-4 * np.abs(found[1]).max())


def test_a_beam_in_flight_keeps_its_momenta():
    spinning = beam(angular_velocity=np.array([1.0, 4.0, -3.0]), velocity=np.array([1.0, 2.0, 3.0]))
    simulation = moving(sc.Simulation(SceneSpec((spinning,), gravity=WEIGHTLESS)), velocity=[3.0, -2.0])
    before = simulation.checkpoint()
    simulation.run(24)
    after = simulation.checkpoint()
    np.testing.assert_allclose(after["angular_momentum"], before["angular_momentum"], rtol=1e-12)
    np.testing.assert_allclose(after["velocity"], before["velocity"], rtol=1e-12)


@pytest.mark.slow
def test_a_stiff_body_is_the_rigid_one():
    turn = Rotation.from_rotvec([0.0, np.arctan(0.55), 0.0])
    pose = {"orientation": turn.as_quat(scalar_first=True), "position": turn.apply([0.0, 0.0, 0.026])}
    slider = beam(replace(SPEC, young=1e13), material=material(0.5), **pose)
    plane = ground(material(0.5), pose["orientation"])
    bending, rigid = (
        sc.Simulation(SceneSpec((body, plane))).run(24)[-1].poses[0] for body in (slider, replace(slider, deformable=None))
    )
    np.testing.assert_allclose(bending, rigid, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("young", "speed"), [(YOUNG, 0.0), pytest.param(1e5, 0.0, marks=pytest.mark.long), (1e5, -12.0)])
def test_a_bouncing_beam_gains_no_energy(young, speed):
    """Nor does one of foam that is thrown at the ground so hard that it is pressed flat."""
    spec = replace(SPEC, young=young, modes=20)
    falls = beam(spec, divided(BEAM, (10, 1, 1)), position=np.array([0.0, 0.0, 0.3]), velocity=np.array([0.0, 0.0, speed]))
    turn = Rotation.from_rotvec([0.0, 0.2, 0.1]).as_quat(scalar_first=True)
    tilted = replace(falls, orientation=turn, material=material(0.3))
    body = reduced_body(tilted.shape, spec, density=DENSITY)
    simulation = sc.Simulation(SceneSpec((tilted, ground(material(0.3)))), modes={0: body})
    found = [total_energy(simulation, body)]
    for _ in range(20):
        simulation.advance()
        found.append(total_energy(simulation, body))
    assert max(found) <= found[0] * (1.0 + 1e-9)
    assert found[-1] < 0.5 * found[0]


RADIUS, FALL = 0.1, 1.0
JELLY = DeformableSpec(Elasticity.STVK, 1e5, 0.45, modes=12, resolution=12, damping_ratio=0.02)


@cache
def jelly(kind=Elasticity.STVK):
    """A ball of jelly with a first frequency of some 22 Hz."""
    return reduced_body(mesh(*uv_sphere(RADIUS, 24, 16)), replace(JELLY, kind=kind), density=1100.0)


def rise(substeps, kind=Elasticity.STVK):
    """m, how high a ball of jelly comes back from a fall of FALL, and the parts in which its steps were taken."""
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        mesh(*uv_sphere(RADIUS, 24, 16)),
        density=1100.0,
        deformable=replace(JELLY, kind=kind),
        material=material(0.5),
        position=np.array([0.0, 0.0, RADIUS + 0.01]),
        velocity=np.array([0.0, 0.0, -np.sqrt(2.0 * 9.81 * (FALL - 0.01))]),
    )
    simulation = sc.Simulation(SceneSpec((ball, ground(material(0.5)))), modes={0: jelly(kind)}, substeps=substeps)
    frames = [simulation.advance() for _ in range(3)]
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames)
    parts = sum(int((1 + frame.statistics.cuts).sum()) for frame in frames)
    upward = frames[-1].velocities[0, 2]
    return frames[-1].poses[0, 2] - RADIUS + upward * abs(upward) / (2.0 * 9.81), parts


@pytest.mark.slow
def test_a_soft_ball_comes_back_as_high_whatever_the_step():
    """Backward Euler took the energy of its fast strains: it came back to a twentieth of its fall at 240 steps a second."""
    heights, parts = zip(*(rise(substeps) for substeps in (5, 10, 40)), strict=True)
    np.testing.assert_allclose(heights, heights[-1], rtol=0.15)
    small, _ = rise(40, Elasticity.LINEAR)
    assert heights[-1] == pytest.approx(small, rel=0.15)
    # the steps of the impact are cut, and no others
    assert parts[-1] == 120 and 30 < parts[1] < 60


def test_a_step_is_cut_into_the_parts_that_follow_its_strains():
    """Two radians a step is what steps follow. Only the strain of the fastest shape changes here."""
    body = jelly()
    still, push = np.zeros(12), np.zeros(12)
    push[-1] = 1.0
    rate = body.omega[-1] / 2.0

    def parts(h):
        of, state = FlexibleBody(0, np.arange(12), body), ModalState(still, still)
        return LargeBend.at_start(of, state, StepTimes(h, h, h), still).parts(push)

    assert [parts(share / rate) for share in (0.9, 1.9, 3.9)] == [1, 2, 4]
    # none of its modes swings in such a step, which is by backward Euler whatever it changes
    assert parts(2.02 / body.omega[0]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("stretch", [0.5, 1.5])
def test_a_beam_that_is_let_go_far_from_its_length_gains_no_energy(stretch):
    """Its stretch swings 37 radians a step. The motion of each step is found."""
    spec, shape = replace(SPEC, modes=20), divided(BEAM, (10, 1, 1))
    body = reduced_body(shape, spec, density=DENSITY)
    wanted = shape.vertices * [stretch - 1.0, 0.0, 0.0]
    q = np.linalg.lstsq(body.shapes.reshape(-1, 20), wanted.ravel(), rcond=None)[0]
    assert np.abs(body.shapes @ q - wanted).max() < 0.05
    scene = SceneSpec((beam(spec, shape),), gravity=WEIGHTLESS)
    simulation = moving(sc.Simulation(scene, modes={0: body}), q=q)
    found = [total_energy(simulation, body)]
    for _ in range(12):
        frame = simulation.advance()
        assert (frame.statistics.status == sc.Status.SOLVED).all()
        found.append(total_energy(simulation, body))
    assert max(found) == found[0]


def test_a_bend_that_is_not_found_makes_its_step_a_missed_one_of_that_body(monkeypatch):
    for name in ("STRAYED", "ASTRAY"):
        monkeypatch.setattr(bent_further, name, -1.0)
    spec = SceneSpec((rigid_box("Block", (0.1, 0.1, 0.1), (0.0, 3.0, 0.0), material(0.5), 1.0), beam()), gravity=WEIGHTLESS)
    frame = moving(sc.Simulation(spec, modes={1: slender()}), velocity=[1.0]).advance()
    (row, *_) = missed_steps(frame, spec, sc.SolverSettings())
    assert (row["status"], row["bodies"]) == ("max_iterations", ["Beam"])


@pytest.mark.slow
def test_a_soft_board_hangs_as_the_elastica_of_its_weight():
    """theta'' = w (1 - s) cos theta, w = rho A g L^3 / (E I), clamped at one end; by half its length and more."""
    size, load = np.array([1.0, 0.05, 0.05]), 4.0
    shape = divided(size, (10, 1, 1))
    young = 12.0 * DENSITY * 9.81 / (load * size[2] ** 2)
    pinned = np.flatnonzero(np.isclose(shape.vertices[:, 0], -0.5)).astype(np.int32)
    spec = DeformableSpec(Elasticity.STVK, young, 0.0, modes=20, resolution=40, damping_ratio=0.7, pinned=pinned)
    body = reduced_body(shape, spec, density=DENSITY)
    frames = sc.Simulation(SceneSpec((beam(spec, shape),)), modes={0: body}).run(72)
    tip = np.isclose(shape.vertices[:, 0], 0.5)
    moved = (body.shapes @ frames[-1].modal)[tip].mean(axis=0)
    s = np.linspace(0.0, 1.0, 101)
    ends = solve_bvp(
        lambda s, y: np.array([y[1], -load * (1.0 - s) * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        np.array([0.3 * s, 0.5 * (1.0 - s)]),
        tol=1e-8,
    )
    down, inwards = np.trapz(np.sin(ends.sol(s)[0]), s), 1.0 - np.trapz(np.cos(ends.sol(s)[0]), s)
    assert down > 0.35
    assert -moved[2] == pytest.approx(down, rel=0.01)
    assert -moved[0] == pytest.approx(inwards, rel=0.01)
