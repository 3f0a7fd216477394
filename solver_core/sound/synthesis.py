# SPDX-License-Identifier: GPL-3.0-or-later
"""The sound of a bake at a listener: forces of contacts, filtered by the modes of the bodies, and radiated.

The surface of a body of mass m moves with the acceleration

    a = (F + sum_i q_i'') / m,      q_i'' + eta omega_i q_i' + omega_i^2 q_i = sqrt(m) phi_i . F,

the root mean square over its volume of each mode and of its motion as a whole, which is the click of a body too small or too
hard to ring (Chadwick, Zheng, James 2012). The pressure at a distance r is that of a sphere of the same area A. It radiates
little below the frequency where its circumference is a wave length:

    p = rho A / (4 pi r) a s / (s + c / R),         A = 4 pi R^2.

It has the radiation of an oscillating sphere at low frequencies up to a factor (Landau, Lifshitz: Fluid Mechanics, section 74).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from ..debris import DebrisEvents, DebrisKind, frames_after
from ..geometry.compounds import rotation_matrix
from ..io.cache import FrameCacheReader
from ..process.command_line import UsageError
from ..scene.spec import SceneSpec
from ..scene.timing import Timing
from .contact_table import contacts_of, sides_of, with_durations
from .excitation import SAMPLE_RATE, Forces, hit_forces, joined, scrape_forces
from .materials import SoundMaterial
from .voices import SharedModes, Voice, Voices, voices_of

__all__ = ["Contacts", "Sound", "SoundOrder", "contacts_with_voices", "pressure_of_body", "sound_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# kg/m^3 and m/s
DENSITY_OF_AIR, SPEED_OF_SOUND = 1.2, 343.0
# Time constants of a mode after which it is no longer heard: -139 dB.
DECAYED = 16.0
# s, at the end of the sound, where bodies may still ring.
FADE_OUT = 0.01
# m, that a listener is away from all contacts where there is none.
COMMON_DISTANCE = 1.0
# rad
NO_ANGLE = 1e-12


@dataclass(frozen=True)
class SoundOrder:
    """How a bake is made audible.

    Attributes
    ----------
    materials : names of sound materials by the names of bodies
    volumes : factors by the names of bodies, 1 for all others
    listener : (frames, 3) m, at each frame of the scene's range, or (1, 3) for one that does not move; None for a listener at
        1 m from every contact
    scraping : share of the sliding power that each mode takes
    support_loss : loss factor that is added to that of each material, for what supports and the air take
    seed : of the random profiles of surfaces
    """

    materials: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, float] = field(default_factory=dict)
    listener: Array | None = None
    scraping: float = 1e-4
    support_loss: float = 0.002
    seed: int = 0

    def __post_init__(self) -> None:
        numbers = {"scraping": self.scraping, "support loss": self.support_loss, "seed": self.seed}
        for name, value in (*numbers.items(), *self.volumes.items()):
            if not (math.isfinite(value) and value >= 0.0):
                raise UsageError(f"{name}: {value} is no value for a sound; it has to be 0 or more, and finite")


@dataclass(frozen=True)
class Contacts:
    """The contacts of a bake, and the bodies that they sound by.

    Attributes
    ----------
    events : in the order of time, hits with the durations of their pulses
    voices : of bodies that take part
    """

    events: DebrisEvents
    voices: Voices


def contacts_with_voices(
    reader: FrameCacheReader, spec: SceneSpec, chosen: Mapping[str, str], presets: Mapping[str, SoundMaterial]
) -> Contacts:
    """Return the contacts of a bake.

    Parameters
    ----------
    reader : the cache of the bake
    spec : its scene
    chosen : names of materials by the names of bodies
    presets : the materials by name

    Raises CacheError, OSError, and UsageError for the name of no material.
    """
    events = contacts_of(reader)
    touched = {int(index) for index in np.concatenate([events.body_a, events.body_b]) if index >= 0}
    voices = voices_of(spec, touched, chosen, presets)
    return Contacts(with_durations(events, sides_of(spec, voices)), voices)


@dataclass(frozen=True)
class Sound:
    """A sound.

    Attributes
    ----------
    pressure : (n,) Pa at SAMPLE_RATE
    without_modes : why bodies have no modes, by name
    """

    pressure: Array
    without_modes: dict[str, str]


def sound_of(contacts: Contacts, spec: SceneSpec, reader: FrameCacheReader, order: SoundOrder) -> Sound:
    """Return the sound of a bake, from its first frame to its last.

    Parameters
    ----------
    contacts : of the bake
    spec, reader : its scene and cache
    order : how it is made audible

    Raises CacheError and OSError, and UsageError where there is nothing to hear.
    """
    events, timing = contacts.events, Timing(spec)
    if not len(events):
        raise UsageError(f"{reader.path}: nothing hits or scrapes in this bake, so there is no sound")
    if not contacts.voices.of_bodies:
        raise UsageError(
            f"{reader.path}: bodies touch, and none of them makes a sound; choose a sound material for one that has a volume"
        )
    count = max(math.ceil((len(reader.frames) - 1) / spec.fps * SAMPLE_RATE), 1)
    whole = np.zeros(count)
    half = np.where(events.kind == DebrisKind.SCRAPE, 0.5 * events.duration, 0.0)
    begin, end = (timing.frames_at(np.maximum(moment, 0.0)) / spec.fps for moment in (events.time - half, events.time + half))
    distances = distances_of(events, begin, spec, order.listener)
    forces_of_pairs = scrapes_by_pair(events, (begin, end), spec, order.seed) if order.scraping > 0.0 else {}
    points, normals = in_bodies(events, spec, reader)
    shared, without_modes = SharedModes(), dict(contacts.voices.without_volume)
    for index, voice in contacts.voices.of_bodies.items():
        loudness = order.volumes.get(spec.bodies[index].name, 1.0)
        if loudness <= 0.0:
            continue
        rows = np.flatnonzero((events.body_a == index) | (events.body_b == index))
        side = (events.body_b[rows] == index).astype(np.int64)
        modes = shared.of(voice)
        if modes.why_none:
            without_modes[spec.bodies[index].name] = modes.why_none
        gains = np.zeros((len(events), len(modes.omega)))
        gains[rows] = modes.gains(points[rows, side], normals[rows, side])
        near = loudness / np.maximum(distances, math.sqrt(voice.area / (4.0 * math.pi)))
        hits = rows[events.kind[rows] == DebrisKind.HIT]
        parts = [hit_forces(begin[hits], events.duration[hits], events.impulse[hits], hits)]
        parts += [
            forces.times(math.sqrt(order.scraping * voice.mass)) for pair, forces in forces_of_pairs.items() if index in pair
        ]
        whole += pressure_of_body(voice, modes.omega, order.support_loss, (joined(parts, near), gains), count)
    fade = min(int(FADE_OUT * SAMPLE_RATE), count)
    whole[count - fade :] *= np.linspace(1.0, 0.0, fade)
    if not np.abs(whole).max() > 0.0:
        raise UsageError(f"{reader.path}: the sound is silent, since the volume of all bodies that sound is 0")
    return Sound(whole, without_modes)


def scrapes_by_pair(
    events: DebrisEvents, span: tuple[Array, Array], spec: SceneSpec, seed: int
) -> dict[tuple[int, int], Forces]:
    """Return the forces of all scrapes by the indices of their two bodies. span: (n,) s at which each event begins and ends."""
    rows = np.flatnonzero((events.kind == DebrisKind.SCRAPE) & (span[1] > span[0]) & (events.speed > 0.0))
    found = {}
    pairs, which = np.unique(np.column_stack([events.body_a[rows], events.body_b[rows]]), axis=0, return_inverse=True)
    for k, (a, b) in enumerate(pairs.tolist()):
        of_pair = rows[which.ravel() == k]
        names = [spec.bodies[index].name if index >= 0 else "" for index in (a, b)]
        found[a, b] = scrape_forces(events, of_pair, (span[0][of_pair], span[1][of_pair]), names, seed)
    return found


def pressure_of_body(voice: Voice, omega: Array, support_loss: float, driven: tuple[Forces, Array], count: int) -> Array:
    """Return (count,) Pa at 1 m, what a body radiates.

    Parameters
    ----------
    voice : of the body
    omega : (r,) rad/s, of its modes
    support_loss : loss factor beside that of the material
    driven : the forces on the body, and (events, r) phi_i sqrt(mass) along the force of each event
    count : of samples at SAMPLE_RATE
    """
    forces, gains = driven
    pressure = np.zeros(count)
    in_range = (forces.sample >= 0) & (forces.sample < count)
    if not in_range.any():
        return pressure
    sample, newtons, event = forces.sample[in_range], forces.newtons[in_range], forces.event[in_range]
    first = int(sample.min())
    sample -= first
    acceleration = np.bincount(sample, newtons, count - first)
    lasts = int(sample.max()) + 1
    for k, frequency in enumerate(omega.tolist()):
        damping = (voice.material.loss + support_loss) * frequency
        if damping >= 2.0 * frequency:
            # it creeps back, and nothing swings
            continue
        rings = 2.0 * DECAYED / damping * SAMPLE_RATE if damping > 0.0 else math.inf
        ends = int(min(lasts + rings, len(acceleration)))
        on_mode = np.bincount(sample, newtons * gains[event, k], ends)
        acceleration[:ends] += np.asarray(lfilter(*resonator(frequency, damping), on_mode))
    low = SPEED_OF_SOUND / (2.0 * math.sqrt(voice.area / (4.0 * math.pi)) * SAMPLE_RATE)
    radiated = np.asarray(lfilter([1.0 / (1.0 + low), -1.0 / (1.0 + low)], [1.0, (low - 1.0) / (low + 1.0)], acceleration))
    pressure[first:] = DENSITY_OF_AIR * voice.area / (4.0 * math.pi * voice.mass) * radiated
    return pressure


def resonator(omega: float, damping: float) -> tuple[list[float], list[float]]:
    """Return numerator and denominator of the filter from forces, constant over each sample, to q'' of a mode that swings.

    It is (1 - 1/z) times the z-transform of the samples of exp(-a t) (cos(b t) - a / b sin(b t)), whose Laplace transform is
    s / (s^2 + damping s + omega^2), with a = damping / 2 and b^2 = omega^2 - a^2.
    """
    a = 0.5 * damping
    b = math.sqrt(omega**2 - a**2)
    decay = math.exp(-a / SAMPLE_RATE)
    cosine, sine = decay * math.cos(b / SAMPLE_RATE), decay * math.sin(b / SAMPLE_RATE)
    back = cosine + a / b * sine
    return [1.0, -1.0 - back, back], [1.0, -2.0 * cosine, decay**2]


def distances_of(events: DebrisEvents, begin: Array, spec: SceneSpec, listener: Array | None) -> Array:
    """Return (n,) m from the listener to each event. begin: (n,) s of the shot. listener: as of `SoundOrder`."""
    if listener is None:
        return np.full(len(events), COMMON_DISTANCE)
    frames = begin * spec.fps
    places = np.stack([np.interp(frames, np.arange(len(listener)), listener[:, k]) for k in range(3)], axis=1)
    return np.linalg.norm(places - events.position, axis=1)


def in_bodies(events: DebrisEvents, spec: SceneSpec, reader: FrameCacheReader) -> tuple[Array, Array]:
    """Return (n, 2, 3) m and (n, 2, 3), the places and the normals of events in the axes of their bodies a and b.

    An event is looked back at from the end of its frame, with the velocity that the body has there. After an impact the body
    flies freely to the end of the frame, and before it the body had another velocity.
    """
    frames, timing = frames_after(events.time, reader, spec), Timing(spec)
    points, normals = np.zeros((len(events), 2, 3)), np.zeros((len(events), 2, 3))
    for number in np.unique(frames):
        frame = reader.read(int(number))
        rows = np.flatnonzero(frames == number)
        ahead = timing.begin(int(number) - spec.frame_start) - events.time[rows]
        for side, bodies in enumerate((events.body_a[rows], events.body_b[rows])):
            poses, twists = frame.poses[bodies], frame.velocities[bodies]
            turns = np.array([rotation_matrix(pose[3:]) for pose in poses])
            arms = events.position[rows] - poses[:, :3] + twists[:, :3] * ahead[:, None]
            spins = twists[:, 3:] * ahead[:, None]
            points[rows, side] = np.einsum("kji,kj->ki", turns, turned(arms, spins))
            normals[rows, side] = np.einsum("kji,kj->ki", turns, turned(events.normal[rows], spins))
    return points, normals


def turned(vectors: Array, spins: Array) -> Array:
    """Return vectors (k, 3) turned by rotation vectors (k, 3) rad: Rodrigues' formula."""
    angle = np.linalg.norm(spins, axis=1, keepdims=True)
    axis = spins / np.where(angle > NO_ANGLE, angle, 1.0)
    along = np.einsum("ij,ij->i", vectors, axis)[:, None] * axis
    return along + np.cos(angle) * (vectors - along) + np.sin(angle) * np.cross(axis, vectors)
