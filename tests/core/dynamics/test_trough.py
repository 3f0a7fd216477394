# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball that rolls to and fro in a trough of flat facets loses energy at each corner, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from ..bodies import track
from ..meshes import triangulated

G = 9.81
STEP = 2.0 * np.pi / 64  # rad from facet to facet; corner k is at k of them from the lowest
RADIUS, BALL = 1.0, 0.1  # m
CENTRES = RADIUS * np.cos(0.5 * STEP) - BALL  # m, from the axis of the trough, where the ball is in the middle of a facet


def across(k, radius):
    """(k, 3) m: points at both ends of the trough."""
    angle = STEP * np.repeat(k, 2)
    return np.stack([radius * np.sin(angle), np.tile([-0.5, 0.5], len(k)), -radius * np.cos(angle)], axis=1)


def as_mesh():
    corners = 2 * np.arange(32)
    quads = np.stack([corners, corners + 2, corners + 3, corners + 1], axis=1)
    return ShapeSpec(ShapeKind.MESH, across(np.arange(-16, 17), RADIUS), triangulated(quads))


def as_hulls():
    facets = [np.array([k, k + 1]) for k in range(-16, 16)]
    hulls = [np.concatenate([across(k, RADIUS), across(k, 1.2 * RADIUS)]) for k in facets]
    return ShapeSpec(ShapeKind.COMPOUND, children=tuple(ChildSpec(ShapeSpec(ShapeKind.HULL, hull)) for hull in hulls))


def left_by_half_swings(facet, count):
    """(count + 1,) J of a ball of 1 kg let go in the middle of a facet, above the middle of one at the bottom, after so many.

    At a corner its angular momentum about the line that it comes to touch stays: I w + m r^2 w cos(STEP), I = 2/5 m r^2.
    """
    kept = ((0.4 + np.cos(STEP)) / 1.4) ** 2
    corners = CENTRES * (1.0 - np.cos(STEP * np.arange(-16, 17)) / np.cos(0.5 * STEP))
    energy, way, found = CENTRES * (1.0 - np.cos(STEP * (facet + 0.5))) * G, -1, []
    for _ in range(count + 1):
        found.append(energy)
        while energy > (height := G * corners[16 + facet + (way > 0)]):
            energy, facet = height + kept * (energy - height), facet + way
        way = -way
    return np.array(found)


def let_go(trough, facet):
    """A ball in the middle of a facet."""
    angle, material = STEP * (facet + 0.5), pair_material(1.0)
    place = CENTRES * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    ball = BodySpec("Ball", BodyKind.ACTIVE, sphere_shape(BALL), place, mass=1.0, material=material)
    return SceneSpec((BodySpec("Trough", BodyKind.PASSIVE, trough, material=material), ball))


@pytest.mark.slow
@pytest.mark.parametrize(("trough", "facet"), [(as_hulls, 1), (as_mesh, 3), (as_hulls, 5), (as_mesh, 8)])
def test_a_ball_in_a_trough_loses_what_its_corners_take(trough, facet):
    spec = let_go(trough(), facet)
    poses, velocities = track(sc.Simulation(spec).run(48), 1)
    speeds = np.square(velocities[:, :3]).sum(axis=1) + 0.4 * BALL**2 * np.square(velocities[:, 3:]).sum(axis=1)
    # velocities are those of the middle of the last step
    energy = 0.5 * speeds + G * (poses[:, 2] - velocities[:, 2] / 480.0 + CENTRES)
    back = 2 + np.flatnonzero(np.diff(np.sign(velocities[2:, 0])))
    exact = left_by_half_swings(facet, 1)
    # the first frame, before any corner, has the gap at rest
    assert energy[1] == pytest.approx(exact[0], abs=G * 3e-5)
    assert 1.0 - energy[back[0]] / energy[1] == pytest.approx(1.0 - exact[1] / exact[0], rel=0.01)


def test_contacts_bear_what_changes_the_momentum_at_corners_too():
    """Each time step is a frame; forces act from the middle of one to that of the next."""
    frames = sc.Simulation(let_go(as_mesh(), 3), fps=240.0, substeps=1, keep_contacts=True).run(120)
    velocities = track(frames, 1)[1][1:, :3]
    corners = 0
    for before, after, frame in zip(velocities[:-1], velocities[1:], frames[2:], strict=True):
        contacts = frame.contacts
        forces = contacts.force[:, None] * contacts.normal + contacts.friction
        pushed = np.where((contacts.body_b == 1)[:, None], forces, -forces).sum(axis=0)
        np.testing.assert_allclose(pushed - [0.0, 0.0, G], 240.0 * (after - before), atol=1e-3)
        corners += int((contacts.force > 0.0).sum() > 1)
    assert corners > 1
