# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies do not come into each other: what a step's motion runs into is solved for in the same step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.collision.contact_set import NO_CONTACTS, ContactSet, merged
from solver_core.collision.detect import detect
from solver_core.dynamics.contact.build import NO_TURNING, Beyond, build_system
from solver_core.dynamics.contact.material_rules import rules_of
from solver_core.dynamics.look_ahead.impacts import NO_IMPACTS, Cut
from solver_core.dynamics.model.island_motion import Asked
from solver_core.dynamics.model.rest_gaps import rest_offsets
from solver_core.dynamics.motion.rotation import matrices
from solver_core.dynamics.pacing.parts import MAX_CUTS, Parts
from solver_core.dynamics.solve.separation import BodyIslands, ContactGaps, stop_deepening_islands
from solver_core.dynamics.stepper import MAX_TRIES
from solver_core.geometry.shapes import build_shapes
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..meshes import CUBE, CUBE_TRIANGLES, angle_bracket, sheet, torus

NO_GRAVITY = np.zeros(3)
TENTH_OF_A_PERCENT = 1e-3  # of the smaller body's half extent
SHAPES = {
    "cube": ShapeSpec(ShapeKind.HULL, 0.2 * CUBE),
    "plate": ShapeSpec(ShapeKind.HULL, CUBE * (0.3, 0.2, 0.016)),
    "tetrahedron": ShapeSpec(ShapeKind.HULL, 0.1 * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1.0)])),
    "ball": ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1),
    "capsule": ShapeSpec(ShapeKind.HULL, np.array([[0, 0, -0.08], [0, 0, 0.08]]), margin=0.05),
    "cylinder": ShapeSpec(ShapeKind.CYLINDER, np.array([[0, 0, -0.1], [0, 0, 0.1]]), radius=0.08),
    "cone": ShapeSpec(ShapeKind.CONE, np.array([[0, 0, -0.1], [0, 0, 0.1]]), radius=0.1),
    "bracket": ShapeSpec(ShapeKind.MESH, 0.1 * angle_bracket()[0], angle_bracket()[1]),
}


def body(name, shape, random, position, velocity=(0.0, 0.0, 0.0), spin=0.0, mass=1.0, mu=0.6, restitution=0.0):
    """An active body turned at random; spin: rad/s, about a random axis."""
    axis = random.normal(size=3)
    return BodySpec(
        name,
        BodyKind.ACTIVE,
        shape,
        position=np.asarray(position, dtype=float),
        orientation=np.roll(Rotation.random(random_state=random).as_quat(), 1),
        velocity=np.asarray(velocity, dtype=float),
        angular_velocity=spin * axis / np.linalg.norm(axis),
        mass=mass,
        material=MaterialSpec(math.sqrt(mu), math.sqrt(mu), math.sqrt(restitution)),
    )


def deepest(simulation):
    """The deepest overlap now, looked for anew, in half extents of the smaller body."""
    bodies, state = simulation._steps.bodies, simulation._steps.state
    none, movable = np.zeros(len(state.position)), bodies.model.dof >= 0
    rotation = matrices(state.orientation)
    found = detect(bodies.shapes, state.position, rotation, none, bodies.model.collections, movable, bodies.excluded)
    size = np.minimum(bodies.model.size[found.body_a], bodies.model.size[found.body_b])
    return float((-found.gap / size).max(initial=0.0))


def heap(kinds, count, seed, spacing=0.36):
    """Bodies at random turns on a loose grid over the ground."""
    random = np.random.default_rng(seed)
    side = round(count ** (1.0 / 3.0))
    bodies = []
    for i in range(count):
        cell = np.array([i % side, i // side % side, i // side**2]) - (0.5 * (side - 1), 0.5 * (side - 1), 0.0)
        place = spacing * cell + (0.0, 0.0, 0.25) + random.uniform(-0.02, 0.02, 3) * (1.0, 1.0, 0.0)
        bodies.append(body(f"{i}", SHAPES[kinds[i % len(kinds)]], random, place))
    ground = BodySpec("Ground", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE), material=MaterialSpec(0.8, 0.8))
    return SceneSpec((ground, *bodies))


@pytest.mark.slow
@pytest.mark.parametrize(("spacing", "seed"), [(0.36, 1), (0.40, 2)])
def test_cubes_that_fall_on_a_heap_do_not_sink_into_it(spacing, seed):
    """They hit at 3 m/s, with corners and edges that were not near each other when the step began."""
    simulation = sc.Simulation(heap(["cube"], 64, seed, spacing), tolerance=1e-4)
    solves = steps = 0
    for _ in range(14):
        statistics = simulation.advance().statistics
        solves, steps = solves + statistics.solves.sum(), steps + len(statistics.solves)
        assert statistics.solves.max() < MAX_TRIES  # what a try could not mend is not tried again
        assert max(deepest(simulation), statistics.overlap_ratio.max()) <= TENTH_OF_A_PERCENT
        assert not statistics.status.any()
    assert solves > 1.1 * steps  # the motion did run into what was not near


@pytest.mark.slow
def test_bodies_of_all_shapes_that_fall_on_a_heap_do_not_sink_into_it():
    simulation = sc.Simulation(heap(list(SHAPES), 27, 3), tolerance=1e-4)
    for _ in range(14):
        assert max(simulation.advance().statistics.overlap_ratio.max(), deepest(simulation)) <= TENTH_OF_A_PERCENT


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 3])
def test_a_swarm_that_comes_together_faster_than_steps_can_follow_is_followed_in_shorter_ones(seed):
    """Bodies of all shapes and of masses 1 to 10,000 at 100 m/s and 200 rad/s: each comes four half extents in a step."""
    random = np.random.default_rng(seed)
    ways = random.normal(size=(12, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    bodies = []
    for i, way in enumerate(ways):
        place = (0.25 + 0.12 * i) * way
        while any(np.linalg.norm(place - other.position) < 0.75 for other in bodies):
            place = 1.1 * place
        shape = SHAPES[list(SHAPES)[(i + seed) % len(SHAPES)]]
        bodies.append(body(f"{i}", shape, random, place, -100.0 * way, 200.0, 10.0 ** random.uniform(-2.0, 2.0)))
    simulation = sc.Simulation(SceneSpec(tuple(bodies), gravity=NO_GRAVITY, fps=240.0), substeps=1)
    hits = 0
    for _ in range(6):
        statistics = simulation.advance().statistics
        hits += int(statistics.contacts.max() > 0)
        assert max(deepest(simulation), statistics.overlap_ratio.max()) <= TENTH_OF_A_PERCENT
        assert not statistics.status.any()
    assert hits >= 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHAPES)
def test_two_bodies_that_crash_keep_their_momenta_and_stay_apart(kind):
    """At 10 m/s, spinning at 20 rad/s: with what they run into told at the step's begin, both have the impulse at one point."""
    hits = 0
    for seed in range(6):
        random = np.random.default_rng([seed, len(kind)])
        masses = 10.0 ** random.uniform(-1.0, 1.0, 2)
        bodies = []
        for i, sign in enumerate((-1.0, 1.0)):
            shape = SHAPES[kind if i == 0 else list(SHAPES)[seed % len(SHAPES)]]
            place, velocity = sign * np.array([0.3, 0.03, 0.02]), (-5.0 * sign, 0.3, 0.0)
            bodies.append(body("AB"[i], shape, random, place, velocity, 20.0, masses[i], restitution=random.choice([0.0, 0.4])))
        simulation = sc.Simulation(SceneSpec(tuple(bodies), gravity=NO_GRAVITY))
        momenta, energies = [], []
        for _ in range(4):
            statistics = simulation.advance().statistics
            hits += int(statistics.contacts.max() > 0)
            assert max(deepest(simulation), statistics.overlap_ratio.max()) <= TENTH_OF_A_PERCENT
            state, model = simulation._steps.state, simulation._steps.bodies.model
            linear = model.mass[:, None] * state.velocity
            momenta.append([linear.sum(axis=0), (np.cross(state.position, linear) + state.angular_momentum).sum(axis=0)])
            turned = matrices(state.orientation) @ model.inertia @ matrices(state.orientation).transpose(0, 2, 1)
            rates = np.linalg.solve(turned, state.angular_momentum[:, :, None])[:, :, 0]
            energies.append(0.5 * np.sum(linear * state.velocity) + 0.5 * np.sum(rates * state.angular_momentum))
        scale = np.abs(linear).max()
        np.testing.assert_allclose(np.array(momenta)[:, 0], momenta[0][0][None].repeat(4, 0), atol=1e-9 * scale)
        # overlaps and rest offsets are opened without momentum, which shifts what moves at some m/s
        np.testing.assert_allclose(np.array(momenta)[:, 1], momenta[0][1][None].repeat(4, 0), atol=2e-3 * scale)
        assert max(energies) <= 1.02 * energies[0]
    assert hits > 6


@pytest.mark.parametrize("target", ["plate", "sheet"])
def test_sixteen_shots_at_one_thin_mesh_in_the_same_step_all_stay_on_their_side(target):
    random = np.random.default_rng(7)
    surface = sheet(6, 0.4) if target == "sheet" else (CUBE * (0.4, 0.4, 0.002), CUBE_TRIANGLES)
    plate = BodySpec("Plate", BodyKind.PASSIVE, ShapeSpec(ShapeKind.MESH, *surface), material=MaterialSpec(0.7, 0.7))
    shots = []
    for i in range(16):
        place = np.array([0.09 * (i % 4) - 0.135, 0.09 * (i // 4) - 0.135, 0.5]) + random.uniform(-0.01, 0.01, 3)
        shape = ShapeSpec(ShapeKind.HULL, CUBE * 0.008) if i % 2 else ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.005)
        aim = (*random.uniform(-8.0, 8.0, 2), -60.0)
        shots.append(body(f"Shot {i}", shape, random, place, aim, 20.0, 0.01))
    frames = sc.Simulation(SceneSpec((plate, *shots), gravity=NO_GRAVITY, fps=240.0), substeps=1).run(6)
    poses = np.array([frame.poses[1:] for frame in frames])
    beside = (np.abs(poses[:, :, :2]) > 0.19).any(axis=2)  # what slid off the plate is free to go on
    assert (beside | (poses[:, :, 2] > 0.0)).all()
    assert beside[-1].sum() < 8
    assert (np.array([frame.velocities[1:, 2] for frame in frames[1:]])[-1] > -1.0).all()  # all were stopped


def test_a_burst_of_pellets_that_fly_side_by_side_has_contacts_only_where_it_hits():
    """150 balls of 5 mm at 100 m/s: each comes 0.4 m in a step, none against any other."""
    random = np.random.default_rng(5)
    wall = BodySpec("Wall", BodyKind.PASSIVE, ShapeSpec(ShapeKind.HULL, CUBE * (0.01, 1.0, 1.0)))
    grid = [(-1.5, 0.03 * (i % 15) - 0.21, 0.03 * (i // 15) - 0.135) for i in range(150)]
    pellet = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.0025)
    pellets = [body(f"{i}", pellet, random, place, (100.0, 0.0, 0.0), 0.0, 0.001) for i, place in enumerate(grid)]
    simulation = sc.Simulation(SceneSpec((wall, *pellets), gravity=NO_GRAVITY))
    flight = simulation.advance()
    assert flight.statistics.contacts[:3].max() == 0
    for _ in range(2):
        frame = simulation.advance()
        assert (frame.poses[1:, 0] < -0.005).all()
        assert frame.statistics.contacts.max() <= 400
        assert deepest(simulation) <= 0.01


@pytest.mark.slow
def test_an_edge_of_a_mesh_behind_another_part_of_it_is_no_overlap_however_far_contacts_are_looked_for():
    """A segment has no inside to go by: the far side of a ring looked like one that it had sunk into."""
    ring = torus(0.2, 0.06, 16, 8)
    random = np.random.default_rng(11)
    found = 0
    for _ in range(200):
        capsule = ShapeSpec(ShapeKind.HULL, np.array([[0, 0, -0.1], [0, 0, 0.1]]), margin=random.choice([0.0, 0.03]))
        shapes = build_shapes([ShapeSpec(ShapeKind.MESH, *ring), capsule])
        position = np.array([np.zeros(3), random.uniform(-0.4, 0.4, 3)])
        rotation = np.ascontiguousarray([np.eye(3), Rotation.random(random_state=random).as_matrix()])
        masks, movable = np.ones(2, np.int64), np.ones(2, bool)

        def smallest(reach, shapes=shapes, position=position, rotation=rotation, masks=masks, movable=movable):
            return detect(shapes, position, rotation, np.full(2, 0.5 * reach), masks, movable).gap.min(initial=np.inf)

        near, far = smallest(1e-3), smallest(0.4)
        if near > 0.0:  # apart, or beyond the small reach
            found += 1
            assert far > 0.0
    assert found > 100


@pytest.mark.parametrize("speed", [0.1, 0.4])
def test_what_overlaps_is_parted_at_the_speed_that_was_asked_for_and_gains_none(speed):
    box = ShapeSpec(ShapeKind.HULL, 0.2 * CUBE)
    pair = [BodySpec(n, BodyKind.ACTIVE, box, position=np.array([x, 0.0, 0.0]), mass=1.0) for n, x in (("A", 0.0), ("B", 0.19))]
    simulation = sc.Simulation(SceneSpec(tuple(pair), gravity=NO_GRAVITY), recovery_speed=speed)
    apart = [frame.poses[1, 0] - frame.poses[0, 0] for frame in (simulation.advance() for _ in range(5))]
    opened = np.diff(apart)
    np.testing.assert_allclose(opened, speed * 0.1 / 24.0, rtol=0.02)
    assert np.abs(simulation.first_frame().velocities).max() < 1e-9


def contacts(*rows):
    """A set of contacts from rows of (body a, body b, feature, gap)."""
    a, b, feature, gap = (np.array(column) for column in zip(*rows, strict=True))
    vectors = np.zeros((len(gap), 3))
    return ContactSet(a, b, vectors, vectors.copy(), gap.astype(float), feature.astype(np.uint64))


def test_of_contacts_of_the_same_features_the_later_ones_replace_the_earlier_or_join_them():
    first, second = contacts((0, 1, 7, 1.0), (0, 2, 7, 2.0), (1, 2, 3, 3.0)), contacts((0, 1, 7, 4.0), (1, 2, 9, 5.0))
    both = merged(first, second)
    assert sorted(both.gap.tolist()) == [2.0, 3.0, 4.0, 5.0]
    joined = first.joined(second, 1)
    assert sorted(joined.gap.tolist()) == [1.0, 2.0, 3.0, 4.0, 5.0]
    # what came later keeps its features, which the next step knows it by
    assert joined.feature[joined.gap == 4.0].tolist() == [7]
    keys = list(zip(joined.body_a.tolist(), joined.body_b.tolist(), joined.feature.tolist(), strict=True))
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("lean", [0.0, 0.01])
def test_what_stands_clear_is_not_pushed_by_an_overlap_that_a_neighbour_leaves(lean):
    """A plate a millimetre deep in the ground rises; a block of a million times its mass, which spins three millimetres above
    it and could be met within a step, stays where it is, and the plate does not slip away sideways below it."""
    material = MaterialSpec(0.3, 0.3)
    plate = parts.box("Plate", (0.4, 0.4, 0.02), (0.0, 0.0, 0.009), material)
    place, tilt = (0.0, 0.0, 0.172 + 0.15 * lean), np.roll(Rotation.from_euler("y", lean).as_quat(), 1)
    block = parts.box("Block", (0.3, 0.3, 0.3), place, material, mass=1e6, orientation=tilt)
    block = replace(block, angular_velocity=np.array([0.0, 0.0, 5.0]))
    scene = SceneSpec((parts.ground(material), plate, block), gravity=NO_GRAVITY)
    frames = sc.Simulation(scene).run(3)
    np.testing.assert_allclose(frames[-1].poses[2, :3], place, atol=1e-9)
    np.testing.assert_allclose(frames[-1].poses[1, :2], 0.0, atol=1e-9)
    assert frames[-1].poses[1, 2] > 0.01


def test_a_step_refused_for_an_impact_at_its_very_end_may_still_be_refused_for_an_overlap():
    """Else the last impact of a step uses up all refusals, and what bodies then run into is let in."""
    scene = SceneSpec((body("Ball", SHAPES["ball"], np.random.default_rng(0), np.zeros(3)),), gravity=NO_GRAVITY)
    simulation = sc.Simulation(scene, substeps=1)
    asked, step, advance = [], 1.0 / 24.0, simulation._steps._try_partial_step

    def attempt(at, parts):
        asked.append((parts.h, parts.cuts))
        return Cut(parts.h, repeatedly=False) if len(asked) == 1 else advance(at, parts)

    simulation._steps._try_partial_step = attempt
    simulation.advance()
    assert asked[0] == (pytest.approx(step), MAX_CUTS)
    assert asked[1] == (pytest.approx(0.5 * step), MAX_CUTS - 1)


@pytest.mark.parametrize(("speed", "kept"), [(-0.2, 0.0), (0.2, 0.2)])
def test_a_parting_that_brings_the_deepest_overlap_deeper_is_left_out(speed, kept):
    """As a compromise between overlaps that contradict each other may: a plate in the ground goes no deeper, but may rise."""
    material = MaterialSpec(0.3, 0.3)
    plate = parts.box("Plate", (0.4, 0.4, 0.02), (0.0, 0.0, 0.009), material)
    simulation = sc.Simulation(SceneSpec((parts.ground(material), plate), gravity=NO_GRAVITY))
    h = 1.0 / 240.0
    begin = simulation._steps._predict_and_collide(0.0, h)[0]
    contacts = begin.contacts
    assert contacts.gap.min() == pytest.approx(-0.001)
    state = simulation._steps.state
    beyond = Beyond(np.zeros((len(contacts), 3)), NO_TURNING, NO_TURNING, np.zeros(len(contacts), dtype=bool))
    given = begin, state, contacts, beyond, simulation._steps.memory, rules_of(simulation.spec)
    system = build_system(*given, 1.0, np.zeros(2, dtype=bool)).system
    size, islands, v = np.full(len(contacts), 0.01), np.array([0, 1]), np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0])
    bodies = BodyIslands(begin.model.dof, islands, contacts.body_a, contacts.body_b)
    stop_deepening_islands(system, bodies, ContactGaps(contacts.gap, rest_offsets(size), size), h, v)
    assert v[2] == kept


def test_what_contacts_foresaw_is_not_told_again_but_is_too_far_all_the_same():
    """A box that comes 1 mm into the ground: once by a motion that nothing is known of, once by one that had the contacts."""
    material = MaterialSpec(0.3, 0.3)
    box = parts.box("Box", (0.2, 0.2, 0.2), (0.0, 0.0, 0.105), material)
    simulation = sc.Simulation(SceneSpec((parts.ground(material), box), gravity=NO_GRAVITY))
    h = 1.0 / 240.0
    begin, state = simulation._steps._predict_and_collide(0.0, h)[0], simulation._steps.state
    twist = np.zeros((2, 6))
    twist[1, 2] = -0.006 / h
    moved = state._replace(position=state.position + h * twist[:, :3])
    known = NO_CONTACTS, NO_CONTACTS, state, simulation._steps._motion(begin, twist), moved, NO_IMPACTS, begin.awake
    told = simulation._steps._later.find(*known)
    assert told.too_far and len(told.contacts) == 4
    np.testing.assert_allclose(told.contacts.gap, 0.005, atol=1e-12)
    again = simulation._steps._later.find(NO_CONTACTS, told.contacts, *known[2:])
    assert again.too_far and again.deepened == told.deepened
    assert len(again.contacts) == 0


@pytest.mark.parametrize("in_motion", [False, True])
def test_a_step_is_cut_at_an_impact_of_two_unless_one_is_in_a_large_island_in_motion(in_motion):
    """All others would wait for the two, and the more bodies there are, the surer two of them meet; held by the contacts at
    which it is met, a pellet that flies through a quarter of a metre in a step does not pass either."""
    random, h = np.random.default_rng(0), 1.0 / 240.0
    plate = BodySpec("Plate", BodyKind.PASSIVE, ShapeSpec(ShapeKind.HULL, CUBE * (0.4, 0.4, 0.002)))
    pellet = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.005)
    shot = body("Pellet", pellet, random, (0.02, 0.01, 0.1), (3.0, 1.0, -60.0), 0.0, 0.01)
    simulation = sc.Simulation(SceneSpec((plate, shot), gravity=NO_GRAVITY, fps=240.0), substeps=1)
    simulation._steps.island_motion.look = lambda begin, system: Asked(np.full(1, 1e-6), np.zeros(1, dtype=bool), np.ones(1))
    simulation._steps.island_motion.members[1] = in_motion
    outcome = simulation._steps._try_partial_step(0.0, Parts(h))
    if in_motion:
        assert not isinstance(outcome, Cut)
        assert simulation._steps.state.position[1, 2] > 0.0
    else:
        assert isinstance(outcome, Cut) and outcome.time < 0.5 * h
