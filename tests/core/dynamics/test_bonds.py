# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds break at the loads of beam theory, at several substeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.fracture.bonds import Stresses, bonds
from solver_core.fracture.touching import Faces, touching_sections
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, SceneSpec

DENSITY, GRAVITY = 2000.0, 9.81
HALF_A_MM = 5e-4
QUADS = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
TRIANGLES = np.array([(a, b, c) for q in QUADS for a, b, c in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))])


def block(name, size, place, kind=BodyKind.ACTIVE):
    # without friction, or supports would push against the ends of a beam and bear a part of its moment
    made = parts.box(name, size, place, parts.pair_material(0.0), mass=DENSITY * float(np.prod(size)))
    return made if kind is BodyKind.ACTIVE else replace(made, kind=kind, mass=None)


def bonded(blocks, stresses):
    """The bonds of boxes that are not turned: (name, size, place, kind)."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    faces = [Faces.of(np.array(place) + corners * np.array(size), TRIANGLES) for _, size, place, _ in blocks]
    return bonds(touching_sections(faces, HALF_A_MM), [one[0] for one in blocks], stresses)


def broken(blocks, stresses, substeps, frames=2, gravity=(0.0, 0.0, -GRAVITY)):
    """Which bonds are broken after so many frames."""
    joints = bonded(blocks, stresses)
    spec = SceneSpec(bodies=tuple(block(*one) for one in blocks), joints=tuple(joints), gravity=np.array(gravity))
    frame = sc.Simulation(spec, substeps=substeps).run(frames)[-1]
    return [joint.name for joint, is_broken in zip(joints, frame.broken, strict=True) if is_broken]


def bar(count, length, size, axis):
    """A bar of so many blocks along an axis, and before it a block that stands still."""
    along = np.eye(3)[axis] * (1.0 if axis < 2 else -1.0)
    step = length / count
    sizes = np.array(size, dtype=float)
    sizes[axis] = step
    blocks = [("Wall", tuple(sizes), tuple(-0.5 * step * along), BodyKind.PASSIVE)]
    return blocks + [(f"Block {i:02d}", tuple(sizes), tuple((i + 0.5) * step * along), BodyKind.ACTIVE) for i in range(count)]


CASES = [(4, 1), (4, 10)]


@pytest.mark.parametrize(("count", "substeps"), CASES)
@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_bar_in_tension_breaks_at_the_stress_of_its_weight(count, substeps, share):
    length = 3.0
    stress = DENSITY * GRAVITY * length
    found = broken(bar(count, length, (0.2, 0.1, 0.0), 2), Stresses(share * stress, 1e9), substeps)
    assert found == (["bond of Wall and Block 00"] if share < 1.0 else [])


@pytest.mark.parametrize(("count", "substeps"), CASES)
@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_cantilever_breaks_at_its_root_at_the_bending_stress_of_its_weight(count, substeps, share):
    length, width, height = 2.0, 0.15, 0.2
    moment = DENSITY * GRAVITY * width * height * length**2 / 2.0
    stress = moment / (width * height**2 / 6.0)
    found = broken(bar(count, length, (0.0, width, height), 0), Stresses(share * stress, 1e9), substeps)
    assert found == (["bond of Wall and Block 00"] if share < 1.0 else [])


@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_short_cantilever_shears_off_at_its_weight_over_its_section(share):
    length = 0.1
    found = broken(bar(4, length, (0.0, 0.3, 0.3), 0), Stresses(1e9, share * DENSITY * GRAVITY * length), 4)
    assert found == (["bond of Wall and Block 00"] if share < 1.0 else [])


@pytest.mark.parametrize(("count", "substeps"), [(4, 10)])
@pytest.mark.parametrize("share", [0.97, 1.03])
def test_a_beam_of_bricks_on_two_supports_breaks_in_the_middle(count, substeps, share):
    length, width, height = 2.0, 0.12, 0.2
    step, edge = length / count, 1e-3
    bricks = [(f"Brick {i:02d}", (step, width, height), ((i + 0.5) * step, 0.0, 0.0), BodyKind.ACTIVE) for i in range(count)]
    supports = [
        (f"Support {name}", (edge, width, 0.1), (x, 0.0, -0.5 * (height + 0.1)), BodyKind.PASSIVE)
        for name, x in (("left", 0.5 * edge), ("right", length - 0.5 * edge))
    ]
    span = length - edge
    load = DENSITY * GRAVITY * width * height
    stress = (load * length * span / 4.0 - load * length**2 / 8.0) / (width * height**2 / 6.0)
    joints = bonded(bricks, Stresses(share * stress, 1e9))
    spec = SceneSpec(bodies=tuple(block(*one) for one in (*bricks, *supports)), joints=tuple(joints))
    frame = sc.Simulation(spec, substeps=substeps).run(2)[-1]
    found = [joint.name for joint, is_broken in zip(joints, frame.broken, strict=True) if is_broken]
    assert found == ([f"bond of Brick {count // 2 - 1:02d} and Brick {count // 2:02d}"] if share < 1.0 else [])


def test_pressure_breaks_nothing_and_helps_against_bending():
    """A column under gravity along it and across it: the stress of bending may be larger by that of the pressure."""
    length, width, across = 2.0, 0.2, 0.5
    column = [(name, size, tuple(-np.array(place)), kind) for name, size, place, kind in bar(4, length, (width, width, 0.0), 2)]
    pressure = DENSITY * GRAVITY * length
    bending = DENSITY * across * length**2 / 2.0 / (width / 6.0)
    for share in (0.95, 1.05):
        found = broken(column, Stresses(share * (bending - pressure), 1e9), 5, gravity=(across, 0.0, -GRAVITY))
        assert bool(found) == (share < 1.0)
    assert not broken(column, Stresses(1.0, 1e9), 5)


def test_a_bond_that_breaks_transmits_no_more_than_its_strength():
    """A block is shot away from another: the bond takes from it no more than its strength times a time step."""
    blocks = [
        ("Left", (0.2, 0.2, 0.2), (0.0, 0.0, 0.0), BodyKind.ACTIVE),
        ("Right", (0.2, 0.2, 0.2), (0.2, 0.0, 0.0), BodyKind.ACTIVE),
    ]
    (joint,) = bonded(blocks, Stresses(1e4, 1e4))
    left, right = (block(*one) for one in blocks)
    spec = SceneSpec(
        bodies=(left, replace(right, velocity=np.array([3.0, 0.0, 0.0]))), joints=(joint,), gravity=np.zeros(3), fps=24.0
    )
    frame = sc.Simulation(spec, substeps=10).run(1)[-1]
    assert frame.broken.all()
    impulse = 1e4 * 0.04 / 240.0
    assert frame.velocities[0, 0] == pytest.approx(impulse / left.mass, rel=1e-3)
