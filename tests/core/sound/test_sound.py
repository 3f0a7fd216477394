# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies ring at the frequencies of theory, as long as their material says, and as loud as they are hit; rest is silent."""

from __future__ import annotations

import csv
import io
import json
import math
import wave
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import cont2discrete

from solver_core.debris import DebrisKind, collected
from solver_core.io.outputs import refuse_output
from solver_core.process.command_line import ExitStatus, UsageError
from solver_core.process.plain_files import PathRefused
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.sound.__main__ import main
from solver_core.sound.contact_table import ContactSide, contacts_of, hertz_duration
from solver_core.sound.excitation import SAMPLE_RATE, Forces, hit_forces, scrape_forces
from solver_core.sound.materials import PRESETS, material_of, read_materials
from solver_core.sound.synthesis import SoundOrder, contacts_with_voices, pressure_of_body, resonator, sound_of
from solver_core.sound.voices import Voice, modes_of, solid_surface
from solver_core.sound.wav import PEAK, WAV, wav_bytes

from ..bake.test_debris import baked

GRAVITY = 9.81
MASS, BOUNCE = 260.0, 0.7
MATERIALS = read_materials()
STEEL = MATERIALS["Steel"]
# of a free bar in bending: cos(x) cosh(x) = 1
FREE_BAR = np.array([4.730041, 7.853205, 10.995608])


@pytest.mark.slow
def test_a_free_steel_bar_rings_at_the_frequencies_of_euler_and_bernoulli():
    length, width, height = 0.5, 0.03, 0.01
    found = modes_of(solid_surface(parts.box_shape((length, width, height))), STEEL).omega / (2.0 * math.pi)
    flat = FREE_BAR**2 / (2.0 * math.pi * length**2) * math.sqrt(STEEL.young * height**2 / (12.0 * STEEL.density))
    upright = flat[0] * width / height
    assert found[0] == pytest.approx(flat[0], rel=0.005) and found[1] == pytest.approx(flat[1], rel=0.005)
    # the width is a sixteenth of the length, so shear lowers it by some per cent
    assert found[2] == pytest.approx(upright, rel=0.03)


def rung(impulse: float, hertz: float = 1000.0, loss: float = 0.01, seconds: float = 0.5) -> np.ndarray:
    """What a body with one mode radiates that is hit at once."""
    voice = Voice(replace(STEEL, loss=loss), 1.0, solid_surface(parts.box_shape((0.1, 0.1, 0.1))))
    forces = hit_forces(np.array([0.01]), np.array([1e-4]), np.array([impulse]), np.array([0]))
    driven = forces, np.ones((1, 1))
    return pressure_of_body(voice, np.array([2.0 * math.pi * hertz]), 0.0, driven, int(seconds * SAMPLE_RATE))


def test_a_mode_decays_with_its_loss_factor_and_is_as_loud_as_the_impulse():
    sound = rung(1.0)
    start, later, window = (int(seconds * SAMPLE_RATE) for seconds in (0.05, 0.15, 0.02))
    ratio = np.linalg.norm(sound[later : later + window]) / np.linalg.norm(sound[start : start + window])
    assert ratio == pytest.approx(math.exp(-0.5 * 0.01 * 2.0 * math.pi * 1000.0 * 0.1), rel=0.01)
    spectrum = np.abs(np.fft.rfft(sound[start:]))
    assert np.argmax(spectrum) * SAMPLE_RATE / len(sound[start:]) == pytest.approx(1000.0, abs=2.0)
    np.testing.assert_allclose(rung(3.0), 3.0 * sound, rtol=1e-9, atol=1e-12)


def test_the_filter_of_a_mode_is_exact_for_forces_that_are_constant_over_a_sample():
    omega, damping = 9000.0, 400.0
    expected, denominator, _ = cont2discrete(([1.0, 0.0, 0.0], [1.0, damping, omega**2]), 1.0 / SAMPLE_RATE, method="zoh")
    found = resonator(omega, damping)
    np.testing.assert_allclose(found[0], np.ravel(expected), atol=1e-12)
    np.testing.assert_allclose(found[1], denominator, atol=1e-12)


def test_balls_touch_as_long_as_hertz_says():
    radius, speed = 0.01, 1.0
    mass = 4.0 / 3.0 * math.pi * radius**3 * STEEL.density
    modulus = STEEL.young / (1.0 - STEEL.poisson**2)
    # the depth at which all energy is elastic, and the time to there and back (Johnson 1985, (11.23))
    depth = (15.0 * mass * speed**2 / (16.0 * math.sqrt(radius) * modulus)) ** 0.4
    ball = ContactSide(1.0 / mass, 1.0 / radius, 1.0 / modulus)
    assert hertz_duration(ball, ContactSide(), speed) == pytest.approx(2.9432 * depth / speed, rel=2e-3)
    assert hertz_duration(ContactSide(1.0, 1.0), ContactSide(), speed) == 0.0


def test_the_samples_of_hits_sum_to_their_impulses_however_short_they_are():
    begin = np.array([0.1, 0.2, 0.30001])
    forces = hit_forces(begin, np.array([0.0, 3e-6, 5e-3]), np.array([1.0, 2.0, 3.0]), np.arange(3))
    assert np.bincount(forces.event, forces.newtons) / SAMPLE_RATE == pytest.approx([1.0, 2.0, 3.0])
    middle = np.bincount(forces.event, forces.newtons * (forces.sample + 0.5)) / np.bincount(forces.event, forces.newtons)
    assert middle[2] / SAMPLE_RATE == pytest.approx(begin[2] + 2.5e-3, abs=1.0 / SAMPLE_RATE)


def scraped(speed: float, energy: float, seed: int = 0) -> Forces:
    """The noise of two bodies that slide for a second, in frames of a tenth."""
    row = {"kind": DebrisKind.SCRAPE, "duration": 0.1, "speed": speed, "energy": energy, "body_a": 0, "body_b": 1}
    events = collected([row | {"time": 0.1 * k + 0.05} for k in range(10)])
    span = events.time - 0.05, events.time + 0.05
    return scrape_forces(events, np.arange(10), span, ("A", "B"), seed)


def test_a_scrape_is_noise_by_the_root_of_its_power_and_its_pitch_follows_the_speed():
    quiet, loud, fast = scraped(0.2, 1.0), scraped(0.2, 4.0), scraped(0.4, 1.0)
    np.testing.assert_allclose(loud.newtons, 2.0 * quiet.newtons)
    np.testing.assert_array_equal(quiet.newtons, scraped(0.2, 1.0).newtons)
    assert not np.array_equal(quiet.newtons, scraped(0.2, 1.0, seed=1).newtons)
    centroids = []
    for forces in (quiet, fast):
        power = np.abs(np.fft.rfft(forces.newtons)) ** 2
        centroids.append(float(power @ np.arange(len(power)) / power.sum()))
    assert centroids[1] / centroids[0] == pytest.approx(2.0, rel=0.1)
    # f^2 = 4 P B with B = v / (2 spacing)
    assert np.mean(quiet.newtons**2) == pytest.approx(4.0 * 10.0 * 0.2 / 2e-4, rel=0.1)


def test_materials_are_those_of_flexible_bodies_and_are_guessed_by_name_and_density():
    data = json.loads(PRESETS.read_text(encoding="utf-8"))
    assert {entry["name"] for entry in data["materials"]} == set(MATERIALS)
    assert all(entry["loss"]["source"] in data["sources"] and entry["loss"]["value"] > 0.0 for entry in data["materials"])
    box = parts.box("Box", (1.0, 1.0, 1.0), (0.0, 0.0, 0.0), parts.pair_material(0.5), mass=7000.0)
    assert material_of(box, 1.0, "", MATERIALS) == STEEL
    assert material_of(replace(box, mass=2500.0), 1.0, "", MATERIALS).name == "Glass"
    assert material_of(replace(box, mass=1.0), 1.0, "", MATERIALS).name == "Oak"
    assert material_of(replace(box, material=replace(box.material, name="Foam")), 1.0, "", MATERIALS).name == "Foam"
    passive = replace(box, kind=BodyKind.PASSIVE)
    assert material_of(passive, 1.0, "", MATERIALS) is None and material_of(passive, 1.0, "Steel", MATERIALS) == STEEL
    with pytest.raises(UsageError, match="Box: there is no sound material Cheese"):
        material_of(box, 1.0, "Cheese", MATERIALS)


def test_a_ball_sounds_alike_wherever_it_is_hit():
    """Modes of one frequency are any basis of their family. A part of a family would favor some points, by 20 %, and which ones
    would depend on the number of threads of the eigensolver. The points of the ball's surface are not quite symmetric."""
    modes = modes_of(solid_surface(parts.sphere_shape(0.2)), STEEL)
    corners = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    loudness = (modes.gains(0.1 * corners, corners / np.sqrt(3.0)) ** 2).sum(axis=1)
    np.testing.assert_allclose(loudness, loudness.mean(), rtol=0.03)


def bouncing(frames: int = 36) -> SceneSpec:
    """A steel ball that falls on the ground from half a meter and bounces."""
    lively = replace(parts.pair_material(0.0), restitution=BOUNCE)
    radius = 0.2
    ball = BodySpec(
        "Ball", BodyKind.ACTIVE, parts.sphere_shape(radius), np.array([0.0, 0.0, radius + 0.5]), mass=MASS, material=lively
    )
    return SceneSpec((parts.ground(replace(lively, restitution=1.0)), ball), fps=30.0, frame_end=frames)


@pytest.mark.slow
def test_a_bouncing_ball_is_heard_at_the_times_and_by_the_impulses_of_theory_at_any_time_step(tmp_path):
    spec, speed = bouncing(frames=26), math.sqrt(2.0 * GRAVITY * 0.5)
    times = speed / GRAVITY * np.array([1.0, 1.0 + 2.0 * BOUNCE])
    sounds = []
    for substeps in (2, 8, 32):
        folder = tmp_path / str(substeps)
        folder.mkdir()
        reader = baked(folder, spec, substeps)
        contacts = contacts_with_voices(reader, spec, {}, MATERIALS)
        hits = contacts.events.chosen(contacts.events.kind == DebrisKind.HIT)
        # a bounce may come up to a step late
        np.testing.assert_allclose(hits.time, times, atol=1.0 / (30.0 * substeps))
        np.testing.assert_allclose(hits.impulse, MASS * (1.0 + BOUNCE) * speed * np.array([1.0, BOUNCE]), rtol=0.05)
        if substeps == 8:
            continue
        sounds.append(sound_of(contacts, spec, reader, SoundOrder(support_loss=0.02)).pressure)
        first, second = (np.linalg.norm(sounds[-1][int(t * SAMPLE_RATE) - 100 :][: SAMPLE_RATE // 50]) for t in hits.time)
        # a click is J / T^2, and T goes with v^(-1/5)
        assert second / first == pytest.approx(BOUNCE**1.4, rel=0.05)
        # nothing is heard before the first hit
        assert not sounds[-1][: int(hits.time[0] * SAMPLE_RATE) - 2].any()
    assert np.linalg.norm(sounds[0]) == pytest.approx(np.linalg.norm(sounds[1]), rel=0.02)


@pytest.mark.slow
def test_the_sound_of_a_bake_is_the_same_bits_and_is_told_as_a_table(tmp_path, capsys):
    spec = bouncing(frames=12)
    baked(tmp_path, spec, 2)
    bake = [str(tmp_path / name) for name in ("scene.snapshot", "scene.cache")]
    file, again, table = (tmp_path / name for name in ("one.wav", "two.wav", "events.csv"))
    assert main([*bake, str(file), "--material", "Ball=Glass", "--listener", "0", "-3", "1"]) == ExitStatus.DONE
    assert main([*bake, str(again), "--material", "Ball=Glass", "--listener", "0", "-3", "1"]) == ExitStatus.DONE
    assert file.read_bytes() == again.read_bytes()
    with wave.open(str(file)) as read:
        assert (read.getframerate(), read.getsampwidth(), read.getnchannels()) == (SAMPLE_RATE, 2, 1)
        assert read.getnframes() == math.ceil(11 / 30.0 * SAMPLE_RATE)
        samples = np.frombuffer(read.readframes(read.getnframes()), "<i2")
    assert np.abs(samples).max() == round(PEAK * 32767)
    assert main([*bake, str(table), "--material", "Ball=Glass"]) == ExitStatus.DONE
    (row,) = csv.DictReader(io.StringIO(table.read_text()))
    assert (row["kind"], row["body_a"], row["body_b"]) == ("hit", "Ground", "Ball")
    assert (row["material_a"], row["material_b"]) == ("", "Glass")
    assert 1e-4 < float(row["duration"]) < 1e-2 and float(row["impulse"]) > 0.0
    for more, said in (
        (["--material", "Ball=Cheese"], "no sound material Cheese"),
        (["--material", "Cube=Glass"], "no such body"),
        (["--volume", "Ball=0"], "the sound is silent"),
        (["--volume", "Ball"], "BODY=VALUE"),
        (["--scraping", "-1"], "0 or more"),
    ):
        assert main([*bake, str(file), *more]) == ExitStatus.BAD_INPUT
        assert said in capsys.readouterr().err
    assert main([*bake, str(tmp_path / "sound.mp3")]) == ExitStatus.BAD_INPUT
    assert ".wav for the sound" in capsys.readouterr().err


def test_a_scene_at_rest_is_silent_and_a_bake_without_contacts_is_refused(tmp_path):
    surface = parts.pair_material(0.5)
    box = parts.box("Box", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1), surface)
    spec = SceneSpec((parts.ground(surface), box), frame_end=4)
    reader = baked(tmp_path, spec, 2)
    assert not len(contacts_of(reader))
    with pytest.raises(UsageError, match="nothing hits or scrapes"):
        sound_of(contacts_with_voices(reader, spec, {}, MATERIALS), spec, reader, SoundOrder())


def test_a_sheet_has_no_modes_and_says_why_and_other_sounds_are_not_written_over(tmp_path):
    sheet = ShapeSpec(ShapeKind.HULL, np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    with pytest.raises(ValueError, match="flat"):
        solid_surface(sheet)
    other = tmp_path / "song.wav"
    with wave.open(str(other), "wb") as written:
        written.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
        written.writeframes(b"\0\0" * 200)
    with pytest.raises(PathRefused, match="not a sound of Stiction"):
        refuse_output(other, WAV)
    other.write_bytes(wav_bytes(np.zeros(8)))
    refuse_output(other, WAV)
