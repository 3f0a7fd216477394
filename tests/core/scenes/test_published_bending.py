# SPDX-License-Identifier: GPL-3.0-or-later
"""The papers' scenes with what bends, with animals and with a machine."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.deformable import Elasticity
from solver_core.scene.spec import BodyKind
from solver_core.scenes import flexible, machines, published, published_bending
from solver_core.scenes.creatures import bunny, dinosaur
from solver_core.validation.scene import validate


def degrees(spec):
    active = [body for body in spec.bodies if body.kind is BodyKind.ACTIVE]
    return sum(6 + (body.deformable.modes if body.deformable else 0) for body in active)


def heights(spec, frame, begin):
    return np.array([frame.poses[i, 2] for i, body in enumerate(spec.bodies) if body.name.startswith(begin)])


def test_they_have_the_papers_degrees_of_freedom():
    assert degrees(published_bending.composites(mu=(0.5,), young=(1e8,))) == 192
    assert degrees(published_bending.dinosaurs()) == 315
    assert degrees(published_bending.bunny_drop(2046)) == 12276
    assert abs(degrees(published.chairs(40, modes=38)) - 1766) < 10


@pytest.mark.parametrize("animal", [bunny, dinosaur])
def test_animals_are_closed_and_of_one_piece_without_a_hole(animal):
    shape = animal()
    a, b, c = shape.triangles.T
    edges = Counter(zip(np.concatenate([a, b, c]).tolist(), np.concatenate([b, c, a]).tolist(), strict=True))
    assert set(edges.values()) == {1} and all(edge[::-1] in edges for edge in edges)
    assert len(shape.vertices) - len(edges) // 2 + len(shape.triangles) == 2
    corners = shape.vertices[shape.triangles]
    assert np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        published_bending.bunnies_on_arches(each=1, modes=6, cells=10),
        published_bending.rubber_jam(layers=1, modes=6),
        pytest.param(flexible.soft_heap(crates=1, modes=6), marks=pytest.mark.long),
        flexible.card_bridge(cards=1, coins=1, modes=4),
    ],
)
def test_nothing_is_wrong_with_them_and_nothing_overlaps_as_they_begin(spec):
    validate(spec, sc.SolverSettings())
    assert not [one for one in sc.Simulation(spec).warnings if one.field == "overlap"]


@pytest.mark.slow
def test_the_feeder_takes_a_block_out_of_the_pile_with_every_turn():
    spec = machines.block_feeder()
    frames = sc.Simulation(spec).run(66)
    places = np.array([frame.poses[:, :3] for frame in frames])
    blocks = [i for i, body in enumerate(spec.bodies) if body.name.startswith("Block")]
    for turn in (1, 2):
        out = places[24 * turn + 14, blocks, 0] > 0.1
        assert out[:turn].all() and not out[turn + 1 :].any()
    assert (places[:, blocks, 2] > 0.349).all()


def sunk(mu, young, frames):
    """How far the strands along z of a woven square have sunk after so many frames, in m."""
    spec = published_bending.composites(mu=(mu,), young=(young,))
    first, last = (heights(spec, frame, "Warp") for frame in sc.Simulation(spec, tolerance=1e-4).run(frames)[::frames])
    return (first - last).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    "mu, young, holds", [(0.3, 6e7, True), (0.1, 6e7, False), pytest.param(0.3, 3.2e7, False, marks=pytest.mark.long)]
)
def test_woven_strands_cohere_by_friction_and_stiffness_together(mu, young, holds):
    """They sink by what their bends take up. Where that is more than a half of the pitch they come apart."""
    assert (sunk(mu, young, 6) < 0.012) if holds else (sunk(mu, young, 6) > 0.025)


@pytest.mark.slow
def test_contacts_of_a_woven_square_that_holds_do_not_come_and_go():
    """It swings on its pegs by a micrometre, and each step is solved from the one before."""
    spec = published_bending.composites(mu=(0.5,), young=(6e7,))
    last = [frame.statistics for frame in sc.Simulation(spec).run(20)[-3:]]
    assert len(set(np.concatenate([one.contacts for one in last]).tolist())) == 1
    assert np.mean([one.factorisations for one in last]) < 6.0


@pytest.mark.slow
@pytest.mark.parametrize("mu", [pytest.param(0.05, marks=pytest.mark.long), 0.6])
def test_the_jack_rises_by_a_tooth_a_stroke_and_does_not_fall(mu):
    spec = machines.double_action_jack(mu=mu)
    frames = sc.Simulation(spec).run(64)
    names = [body.name for body in spec.bodies]
    rack, load = (np.array([frame.poses[names.index(name), :3] for frame in frames]) for name in ("Rack", "Load"))
    teeth = (rack[:, 2] - rack[0, 2]) / 0.06
    # the lever turns every 16 frames; the two struts' strokes differ by a quarter, as their pins lie
    assert np.diff(teeth[[9, 25, 41, 57]]) == pytest.approx([1.0, 1.0, 1.0], abs=0.15)
    assert teeth[64] - teeth[32] == pytest.approx(2.0, abs=0.02)
    assert (np.maximum.accumulate(teeth) - teeth).max() < 0.3
    assert np.ptp(load - rack, axis=0).max() < 1e-3
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames[1:])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Elasticity.LINEAR, pytest.param(Elasticity.STVK, marks=pytest.mark.long)])
def test_dinosaurs_thrown_together_end_at_rest(kind):
    spec = published_bending.dinosaurs(count=2, modes=6, cells=14, kind=kind)
    frames = sc.Simulation(spec).run(60)
    assert np.abs(frames[-1].velocities).max() < 1e-2
    found = heights(spec, frames[-1], "Dinosaur")
    assert found.min() > 0.0 and found.max() < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec, come_through",
    [
        (published.jamming_tube(mu=0.5, layers=2), False),
        pytest.param(published_bending.rubber_jam(mu=0.5, layers=2, modes=6), True, marks=pytest.mark.long),
        pytest.param(published_bending.rubber_jam(mu=0.9, layers=2, modes=6), False, marks=pytest.mark.long),
    ],
)
def test_most_cubes_of_rubber_come_through_a_neck_in_which_rigid_and_rougher_ones_jam(spec, come_through):
    """How many of eight do depends on how they fall: over four draws 30, beside 17 and 8 of 32."""
    frame = sc.Simulation(spec).run(36)[-1]
    found = heights(spec, frame, "Cube") < 0.65
    assert (np.count_nonzero(found) > 0.5 * len(found)) == come_through


@pytest.mark.slow
def test_a_card_sags_under_a_coin_as_a_plate_does():
    """It bears on two lines, a from the supports: there it is lower by P a^2 (3 L - 4 a) (1 - nu^2) / (12 E I)."""
    spec = flexible.card_bridge(cards=1, coins=1, modes=6)
    frame = sc.Simulation(spec).run(30)[-1]
    coin = next(i for i, body in enumerate(spec.bodies) if body.name == "Coin 1")
    sag = 0.03 + 3e-4 + 1e-3 - frame.poses[coin, 2]
    span, inertia = 0.06, 0.063 * 3e-4**3 / 12.0
    a = 0.5 * span - 0.012
    exact = 0.0075 * 9.81 * a * a * (3.0 * span - 4.0 * a) * (1.0 - 0.3**2) / (12.0 * 3e9 * inertia)
    assert sag == pytest.approx(exact, rel=0.05)
