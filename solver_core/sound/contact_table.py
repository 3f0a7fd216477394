# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact events of a bake with what a synthesizer needs, and their table.

A hit is a force pulse as long as two balls touch that meet by Hertz's law, one of the volume and the mass of each body:

    T = 2.87 (m^2 / (R E*^2 v))^(1/5)                          Johnson 1985, (11.24)

with 1/m = 1/m_a + 1/m_b, 1/R = 1/R_a + 1/R_b, 1/E* = (1 - nu_a^2) / E_a + (1 - nu_b^2) / E_b. A body that does not move has no
1/m, a plane no 1/R, and a body without a sound material no 1/E.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..debris import DebrisEvents, DebrisKind, collected, contact_events
from ..io import tables
from ..io.cache import FrameCacheReader
from ..scene.spec import BodyKind, SceneSpec
from ..scene.timing import Timing
from .materials import SoundMaterial
from .voices import Voices

__all__ = ["ContactSide", "contact_table", "contacts_of", "hertz_duration", "sides_of", "with_durations"]

Array = NDArray[np.float64]

# What two bodies have of impacts within this time is one hit, whatever the time step: shorter gaps are heard as one sound.
HEARD_AS_ONE = 0.01
HERTZ = 2.87


@dataclass(frozen=True)
class ContactSide:
    """What one body is in Hertz's law.

    Attributes
    ----------
    inverse_mass : 1/kg, 0 for a body that does not move
    curvature : 1/m, of the ball of its volume, 0 for a plane
    compliance : 1/Pa, (1 - nu^2) / E, 0 for a body without a material
    """

    inverse_mass: float = 0.0
    curvature: float = 0.0
    compliance: float = 0.0


def contacts_of(reader: FrameCacheReader) -> DebrisEvents:
    """Return the hits and scrapes of a bake; hits have no duration yet. Raises CacheError and OSError."""
    return collected([*contact_events(reader, HEARD_AS_ONE)])


def sides_of(spec: SceneSpec, voices: Voices) -> list[ContactSide]:
    """Return what each body of a scene is in Hertz's law, and at the end what the world is."""
    sides = []
    for index, body in enumerate(spec.bodies):
        voice, material = voices.of_bodies.get(index), voices.materials.get(index)
        curvature = (4.0 * math.pi / (3.0 * voice.surface.volume)) ** (1.0 / 3.0) if voice is not None else 0.0
        inverse_mass = 1.0 / voice.mass if voice is not None and body.kind is BodyKind.ACTIVE else 0.0
        compliance = (1.0 - material.poisson**2) / material.young if material is not None else 0.0
        sides.append(ContactSide(inverse_mass, curvature, compliance))
    return [*sides, ContactSide()]


def hertz_duration(a: ContactSide, b: ContactSide, speed: float) -> float:
    """Return how long two bodies touch after they meet at a speed [m/s], by Hertz; 0 if both are rigid, or none has a mass or
    radius [s].
    """
    mass, curvature = a.inverse_mass + b.inverse_mass, a.curvature + b.curvature
    compliance = a.compliance + b.compliance
    if not (mass > 0.0 and curvature > 0.0 and speed > 0.0):
        return 0.0
    return HERTZ * (curvature * compliance**2 / (mass**2 * speed)) ** 0.2


def with_durations(events: DebrisEvents, sides: list[ContactSide]) -> DebrisEvents:
    """Return events whose hits last as long as their bodies touch. sides: as of `sides_of`."""
    duration = events.duration.copy()
    for k in np.flatnonzero(events.kind == DebrisKind.HIT):
        a, b = sides[events.body_a[k]], sides[events.body_b[k]]
        duration[k] = hertz_duration(a, b, float(events.speed[k]))
    return replace(events, duration=duration)


def power_of(events: DebrisEvents) -> Array:
    """Return the power (n,) that friction dissipates while bodies slide; 0 for hits [W]."""
    lasts = (events.kind == DebrisKind.SCRAPE) & (events.duration > 0.0)
    return np.where(lasts, events.energy / np.where(lasts, events.duration, 1.0), 0.0)


def contact_table(events: DebrisEvents, spec: SceneSpec, materials: dict[int, SoundMaterial]) -> bytes:
    """Return the events as comma separated values, one row per event, in the order of time.

    materials: the sound materials of bodies that have one, by index.

    The columns:
        time: in the shot, since its first frame [s]. frame: of the scene, with its fraction.
        kind: "hit" or "scrape".
        duration: of the contact [s].
        impulse: of the normal force of a hit, of the friction force of a scrape [N s].
        speed: closing speed of a hit, sliding speed of a scrape [m/s].
        power: work of friction in a scrape, divided by its duration; 0 for a hit [W].
        energy: dissipated [J].
        point_x ... point_z: position in the world [m].
        normal_x ... normal_z: unit vector in the world, from body_a to body_b.
        slip_x ... slip_z: velocity of body_b relative to body_a along the surface [m/s].
        body_a, body_b: names, empty for the world.
        material_a, material_b: names of the sound materials, empty for bodies without one.
    """
    vectors = [f"{name}_{axis}" for name in ("point", "normal", "slip") for axis in "xyz"]
    header = ["time", "frame", "kind", "duration", "impulse", "speed", "power", "energy", *vectors]
    header += ["body_a", "body_b", "material_a", "material_b"]
    frames, power = Timing(spec).frames_at(events.time), power_of(events)
    rows = []
    for k in range(len(events)):
        moment = [f"{value:.7g}" for value in (frames[k] / spec.fps, spec.frame_start + frames[k])]
        numbers = (events.duration[k], events.impulse[k], events.speed[k], power[k], events.energy[k])
        coordinates = (*events.position[k], *events.normal[k], *events.slip[k])
        bodies = (int(events.body_a[k]), int(events.body_b[k]))
        names = [spec.bodies[index].name if index >= 0 else "" for index in bodies]
        names += [materials[index].name if index in materials else "" for index in bodies]
        kind = DebrisKind(int(events.kind[k])).name.lower()
        rows.append([*moment, kind, *(f"{value:.7g}" for value in (*numbers, *coordinates)), *names])
    return tables.table(header, rows)
