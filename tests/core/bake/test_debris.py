# SPDX-License-Identifier: GPL-3.0-or-later
"""Debris comes from energies and areas: it is the same for any number of time steps, and for any other bodies in the scene."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.debris import DebrisKind, DebrisRates, collected, debris_of, events_of, main, sampled
from solver_core.fracture.bonds import Stresses, bonds_of_bodies
from solver_core.io.cache import CacheError, FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.kept_contacts import contacts_from, contacts_to_arrays
from solver_core.io.snapshot import file_digest, write_snapshot
from solver_core.process.command_line import ExitStatus, UsageError
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, SolverSettings

from ..caches import arrays_of, with_contacts

GRAVITY = 9.81
MASS, SPEED, HEIGHT, MU, BOUNCE = 2.0, 3.0, 1.0, 0.4, 0.6
FPS = 30.0


def sliding_and_bouncing(frames: int = 45) -> SceneSpec:
    """A box that slides to rest, and a ball that falls and bounces."""
    surface = parts.pair_material(MU)
    box = parts.box("Box", (0.3, 0.3, 0.1), (0.0, 0.0, 0.05), surface, mass=MASS)
    lively = replace(parts.pair_material(0.0), restitution=BOUNCE)
    at = np.array([0.0, 5.0, 0.1 + HEIGHT])
    ball = BodySpec("Ball", BodyKind.ACTIVE, parts.sphere_shape(0.1), at, mass=MASS, material=lively)
    floor = parts.ground(replace(surface, restitution=1.0))
    return SceneSpec((floor, replace(box, velocity=np.array([SPEED, 0.0, 0.0])), ball), fps=FPS, frame_end=frames)


def baked(folder, spec, substeps, keep_contacts=True):
    """The reader of a bake in a folder, with its snapshot."""
    settings = SolverSettings(substeps=substeps)
    snapshot, cache = folder / "scene.snapshot", folder / "scene.cache"
    write_snapshot(snapshot, spec, settings)
    simulation = sc.Simulation(spec, keep_contacts=keep_contacts, substeps=substeps)
    with FrameCacheWriter.create(cache, spec, settings) as writer:
        for frame in simulation.frames(spec.frame_end - spec.frame_start):
            writer.append(frame, simulation.checkpoint())
    return FrameCacheReader.of_snapshot(cache, spec, file_digest(snapshot))


@pytest.mark.slow
def test_debris_of_60_to_960_steps_a_second_has_the_same_count_and_impulse(tmp_path):
    spec = sliding_and_bouncing()
    rates = DebrisRates(per_joule_of_hits=40.0, per_joule_of_scrapes=40.0, least_speed=0.8)
    counts, impulses = [], []
    for substeps in (2, 8, 32):
        folder = tmp_path / str(substeps)
        folder.mkdir()
        debris = debris_of(baked(folder, spec, substeps), spec, rates)
        kinds = [debris.events.kind == kind for kind in (DebrisKind.HIT, DebrisKind.SCRAPE)]
        counts.append([int(rows.sum()) for rows in kinds])
        impulses.append([float(debris.events.impulse[rows].sum()) for rows in kinds])
    # the whole kinetic energy of the box, and what the ball loses in its bounces to 0.8 m/s
    assert np.array(counts)[:, 1] / (40.0 * 0.5 * MASS * SPEED**2) == pytest.approx(1.0, abs=0.02)
    assert np.array(impulses)[:, 1] / (MASS * SPEED) == pytest.approx(1.0, abs=0.03)
    assert np.ptp(counts, axis=0) / np.mean(counts, axis=0) == pytest.approx(0.0, abs=0.01)
    assert np.ptp(impulses, axis=0) / np.mean(impulses, axis=0) == pytest.approx(0.0, abs=0.04)


def test_a_scrape_dissipates_the_kinetic_energy_and_lies_along_the_path(tmp_path):
    spec = sliding_and_bouncing(frames=30)
    debris = debris_of(baked(tmp_path, spec, 4), spec, DebrisRates(per_joule_of_scrapes=100.0))
    rows = debris.events.chosen(debris.events.kind == DebrisKind.SCRAPE)
    assert rows.energy.sum() == pytest.approx(0.5 * MASS * SPEED**2, rel=0.02)
    # evenly over the path of v^2 / (2 mu g), since friction is constant
    path = SPEED**2 / (2.0 * MU * GRAVITY)
    assert rows.position[:, 0].mean() == pytest.approx(0.5 * path, rel=0.05)
    assert np.abs(rows.position[:, 1]).max() <= 0.15 * math.sqrt(3.0) and np.abs(rows.position[:, 2]).max() < 0.01
    assert (np.diff(debris.events.time) >= 0.0).all()
    # the box is b against the floor a, and slides along x; the floor has no velocity
    np.testing.assert_allclose(rows.velocity[:, 0], 0.5 * rows.slip[:, 0], atol=0.5 * MU * GRAVITY / FPS)
    assert (rows.slip[:, 0] > 0.0).all() and np.allclose(np.abs(rows.normal[:, 2]), 1.0, atol=1e-5)


def test_a_resumed_run_has_the_same_impacts_and_scrapes_also_in_the_middle_of_an_impact():
    spec, resumed_inside = sliding_and_bouncing(frames=24), 0
    whole = sc.Simulation(spec, keep_contacts=True, substeps=2)
    for _ in range(22):
        frame, checkpoint = whole.advance().frame, whole.checkpoint()
        if not len(checkpoint["begun_body_a"]):
            continue
        resumed_inside += 1
        resumed = sc.Simulation(spec, keep_contacts=True, substeps=2)
        resumed.restore(frame, checkpoint)
        again = resumed.advance().contacts
        assert len(again.impacts.time) and len(again.scrapes.time)
        assert arrays_of(again) == arrays_of(whole.advance().contacts)
    assert resumed_inside


def test_contacts_of_caches_without_scrapes_are_read():
    arrays = contacts_to_arrays(with_contacts(3).contacts)
    earlier = {name: array for name, array in arrays.items() if not name.startswith("scrape.")}
    assert len(contacts_from(arrays, 100).scrapes.time) and not len(contacts_from(earlier, 100).scrapes.time)
    del earlier["impact.energy"]
    impacts = contacts_from(earlier, 100).impacts
    np.testing.assert_array_equal(impacts.energy, np.float32(0.5) * impacts.impulse * impacts.speed)


def row(time, energy, a=0, b=1, kind=DebrisKind.HIT):
    return {"kind": kind, "time": time, "energy": energy, "impulse": energy, "body_a": a, "body_b": b, "normal": (0, 0, 1)}


def test_points_stay_where_they_are_when_events_are_cut_in_parts_or_bodies_are_added():
    rates = DebrisRates(per_joule_of_hits=50.0)
    whole = sampled(collected([row(0.0, 4.0)]), ["A", "B"], rates)
    parted = sampled(collected([row(0.1 * k, 1.0) for k in range(4)]), ["A", "B"], rates)
    more = sampled(collected([row(0.0, 4.0, 1, 2), row(0.0, 3.0, 0, 2)]), ["New", "A", "B"], rates)
    assert len(whole) == len(parted) == int((more.events.body_a == 1).sum())
    np.testing.assert_array_equal(whole.random, parted.random)
    np.testing.assert_array_equal(whole.random, more.random[more.events.body_a == 1])
    assert whole.events.impulse.sum() == pytest.approx(4.0, abs=1.0 / 50.0)
    assert not np.array_equal(whole.random, sampled(collected([row(0.0, 4.0)]), ["A", "B"], replace(rates, seed=1)).random)


def test_weak_rates_make_points_in_proportion_over_many_pairs():
    events = collected([row(0.0, 0.3, 2 * k, 2 * k + 1) for k in range(2000)])
    found = sampled(events, [f"Body {k}" for k in range(4000)], DebrisRates(per_joule_of_hits=1.0))
    assert len(found) == pytest.approx(600, abs=70)


def test_too_many_points_and_senseless_rates_are_refused():
    with pytest.raises(UsageError, match="lower the rates"):
        sampled(collected([row(0.0, 1e9)]), ["A", "B"], DebrisRates())
    for value in (-1.0, math.nan, math.inf):
        with pytest.raises(UsageError, match="per area of the debris"):
            DebrisRates(per_area=value)


def test_a_bond_breaks_where_it_is_and_makes_points_by_its_area(tmp_path):
    surface = parts.pair_material(0.5)
    wall = parts.box("Wall", (0.2, 0.4, 0.5), (-0.1, 0.0, 2.0), surface)
    bodies = [
        replace(wall, kind=BodyKind.PASSIVE, mass=None),
        parts.box("Arm", (1.0, 0.4, 0.5), (0.5, 0.0, 2.0), surface, mass=400.0),
    ]
    joints = bonds_of_bodies(bodies, Stresses(1e3, 1e3), 1e-3)
    spec = SceneSpec(tuple(bodies), joints=tuple(joints), frame_end=4)
    reader = baked(tmp_path, spec, 4)
    events = events_of(reader, spec, DebrisRates())
    broken = events.chosen(events.kind == DebrisKind.BREAK)
    assert len(broken) == 1 and broken.area[0] == pytest.approx(0.2)
    np.testing.assert_allclose(broken.position[0], [0.0, 0.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(np.abs(broken.normal[0]), [1.0, 0.0, 0.0], atol=1e-6)
    nameless = replace(spec, joints=(replace(joints[0], strength=replace(joints[0].strength, area=0.0)),))
    assert events_of(reader, nameless, DebrisRates(joint_area=0.03)).area[0] == 0.03
    points = debris_of(reader, spec, DebrisRates(per_area=1000.0)).events
    points = points.chosen(points.kind == DebrisKind.BREAK)
    assert len(points) == pytest.approx(200, abs=1) and points.area.sum() == pytest.approx(0.2, rel=0.01)
    np.testing.assert_allclose(points.position[:, 0], 0.0, atol=1e-6)


def test_the_table_names_kinds_bodies_and_times_and_needs_contacts(tmp_path, capsys):
    spec = sliding_and_bouncing(frames=20)
    reader = baked(tmp_path, spec, 4)
    files = [str(tmp_path / name) for name in ("scene.snapshot", "scene.cache", "debris.csv")]
    assert main(files) == main([*files, "--per-joule-of-hits", "1"]) == ExitStatus.DONE
    rows = list(csv.DictReader((tmp_path / "debris.csv").read_text().splitlines()))
    assert {one["kind"] for one in rows} == {"hit", "scrape"}
    hit = next(one for one in rows if one["kind"] == "hit")
    assert {hit["body_a"], hit["body_b"]} == {"Ground", "Ball"}
    fall = math.sqrt(2.0 * HEIGHT / GRAVITY)
    assert float(hit["time"]) == pytest.approx(fall, abs=0.02) and float(hit["frame"]) == pytest.approx(1 + FPS * fall, abs=0.6)
    assert main([*files, "--per-area", "-1"]) == ExitStatus.BAD_INPUT
    assert "must be 0 or more" in capsys.readouterr().err
    assert reader.has_contacts
    bare = baked(tmp_path, spec, 4, keep_contacts=False)
    with pytest.raises(CacheError, match="bake again with Keep Contacts"):
        debris_of(bare, spec, DebrisRates())
