# SPDX-License-Identifier: GPL-3.0-or-later
"""Debris of a bake, for effects: python -m solver_core.debris SNAPSHOT CACHE FILE.csv

A bake has three kinds of debris events: bonds break, bodies hit each other, and bodies scrape along each other. Points of
debris are sampled from them: a number per area of a broken bond, and a number per joule of a hit or a scrape. Each pair of
bodies has a running sum of its area or energy. Point k appears where the sum passes (k + u_k) / rate, with a random number u_k
that depends on the seed, the kind of event and the names of the bodies. So neither the number of points nor their impulses
depend on the time step.
"""

from __future__ import annotations

import math
import sys
import zlib
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dynamics.model.frame import FrameScrapes
from .impacts import STEPS_OF_AN_IMPACT, merged_impacts
from .io import tables
from .io.bake_command import bake_of, bake_parser, run_on_bake
from .io.cache import CacheError, FrameCacheReader
from .io.outputs import TABLE, refuse_output, write_output
from .process.command_line import UsageError
from .process.console import prepare_streams
from .scene.spec import SceneSpec
from .scene.timing import Timing

__all__ = [
    "Debris",
    "DebrisEvents",
    "DebrisKind",
    "DebrisRates",
    "collected",
    "contact_events",
    "debris_of",
    "events_of",
    "frames_after",
    "main",
    "sampled",
    "write_debris",
]

Array = NDArray[np.float64]

# Impacts between two bodies within this time are one hit, for any time step.
HIT_SECONDS = 0.05
# Largest number of points; Blender can show a few hundred thousand at a time.
MOST_POINTS = 2_000_000
# Frames; with this tolerance, an event at the end of a frame belongs to that frame in spite of round-off.
SAME_FRAME = 1e-6
# Half the width of a uniform distribution, in standard deviations.
HALF_WIDTH = math.sqrt(3.0)


class DebrisKind(IntEnum):
    """The kinds of events that make debris."""

    BREAK = 0
    HIT = 1
    SCRAPE = 2


@dataclass(frozen=True)
class DebrisRates:
    """The amount of debris that events make.

    Attributes
    ----------
    per_area : points per m² of a broken bond
    joint_area : m², assumed for a broken joint without a known bond area
    per_joule_of_hits, per_joule_of_scrapes : points per J dissipated by a hit or a scrape
    least_impulse : N s, weaker hits make no debris
    least_speed : m/s, slower hits make no debris
    seed : seed of the random numbers
    """

    per_area: float = 500.0
    joint_area: float = 0.01
    per_joule_of_hits: float = 2.0
    per_joule_of_scrapes: float = 2.0
    least_impulse: float = 0.1
    least_speed: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value >= 0.0):
                raise UsageError(f"{field.name.replace('_', ' ')} of the debris is {value}; it must be 0 or more and finite")


@dataclass(frozen=True)
class DebrisEvents:
    """The n events of a bake in the order of time.

    Attributes
    ----------
    kind : (n,) values of `DebrisKind`
    time : (n,) s, simulated time since the first frame
    duration : (n,) s, of a scrape, otherwise 0
    position : (n, 3) m, world
    spread : (n, 3) m, standard deviation of the position along the world axes
    normal : (n, 3) unit, world, from body a to body b
    slip : (n, 3) m/s, velocity of b relative to a along the surface, of a scrape
    velocity : (n, 3) m/s, world, mean velocity of both bodies at the position, at the end of the frame
    impulse : (n,) N s, normal impulse of a hit, friction impulse of a scrape
    speed : (n,) m/s, closing speed of a hit, sliding speed of a scrape
    area : (n,) m², of a broken bond
    energy : (n,) J, dissipated by a hit or a scrape
    body_a, body_b : (n,) indices of bodies, -1 for the world
    """

    kind: NDArray[np.int64]
    time: Array
    duration: Array
    position: Array
    spread: Array
    normal: Array
    slip: Array
    velocity: Array
    impulse: Array
    speed: Array
    area: Array
    energy: Array
    body_a: NDArray[np.int64]
    body_b: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.kind)

    def chosen(self, rows: NDArray[Any]) -> DebrisEvents:
        """Return some of the events, by indices or flags."""
        return DebrisEvents(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


@dataclass(frozen=True)
class Debris:
    """Points of debris in the order of time.

    Attributes
    ----------
    events : the event of each point, with the time and position of the point, and its share of impulse, area and energy
    random : (n,) 0 to 1, for effects that vary from point to point
    """

    events: DebrisEvents
    random: Array

    def __len__(self) -> int:
        return len(self.random)


VECTORS_OF_EVENTS = ("position", "spread", "normal", "slip", "velocity")
NUMBERS_OF_EVENTS = ("kind", "body_a", "body_b")


def collected(rows: Sequence[dict[str, Any]]) -> DebrisEvents:
    """Return the events of rows in any order, sorted by time. Missing fields are 0."""
    names = [field.name for field in fields(DebrisEvents)]
    rows = sorted(rows, key=lambda row: (row["time"], row["kind"], row["body_a"], row["body_b"]))
    columns = {}
    for name in names:
        shape = (len(rows), 3) if name in VECTORS_OF_EVENTS else (len(rows),)
        column = np.zeros(shape, dtype=np.int64 if name in NUMBERS_OF_EVENTS else np.float64)
        for k, row in enumerate(rows):
            column[k] = row.get(name, 0.0)
        columns[name] = column
    return DebrisEvents(**columns)


def events_of(reader: FrameCacheReader, spec: SceneSpec, rates: DebrisRates) -> DebrisEvents:
    """Return the debris events of a bake.

    reader: the cache of the bake.
    spec: its scene.
    rates: hits below their thresholds are left out.

    Raises CacheError, also if contacts were not recorded, and OSError.
    """
    least = rates.least_impulse, rates.least_speed
    events = collected([*contact_events(reader, HIT_SECONDS, *least), *breaks(reader, spec, rates)])
    return replace(events, velocity=velocities_at(events, reader, spec))


def velocities_at(events: DebrisEvents, reader: FrameCacheReader, spec: SceneSpec) -> Array:
    """Return the mean velocities of both bodies at the positions of events, at the end of the frame that contains each event
    (n, 3) [m/s].

    The mean does not include the world, unless both bodies are the world.
    """
    result = np.zeros((len(events), 3))
    if not len(events) or not len(reader.frames):
        return result
    frames = frames_after(events.time, reader, spec)
    both = np.column_stack([events.body_a, events.body_b])
    for number in np.unique(frames):
        rows = np.flatnonzero(frames == number)
        frame = reader.read(int(number))
        bodies = both[rows]
        twists, origins = frame.velocities[bodies], frame.poses[bodies, :3]
        arms = events.position[rows, None] - origins
        at_place = twists[..., :3] + np.cross(twists[..., 3:], arms)
        is_body = bodies >= 0
        share = is_body / np.maximum(is_body.sum(axis=1, keepdims=True), 1)
        result[rows] = np.einsum("ij,ijk->ik", share, at_place)
    return result


def frames_after(time: Array, reader: FrameCacheReader, spec: SceneSpec) -> NDArray[np.int64]:
    """Return (n,) the frames of a bake that end the motion in which moments (n,) s of simulated time are."""
    frames = spec.frame_start + np.ceil(Timing(spec).frames_at(time) - SAME_FRAME).astype(np.int64)
    return np.clip(frames, reader.frames[0], reader.frames[-1])


def breaks(reader: FrameCacheReader, spec: SceneSpec, rates: DebrisRates) -> Iterator[dict[str, Any]]:
    """Yield a row for each joint, at the first frame at which it is broken."""
    # Imported here because it loads scipy, which registering the add-on should not do.
    from .geometry.compounds import rotation_matrix

    timing, index = Timing(spec), {body.name: k for k, body in enumerate(spec.bodies)}
    broken = np.zeros(len(spec.joints), dtype=bool)
    if not len(broken):
        return
    for number in reader.frames:
        frame = reader.read(number)
        for k in np.flatnonzero(frame.broken & ~broken):
            joint = spec.joints[k]
            a, b = index.get(joint.body_a, -1), index.get(joint.body_b, -1)
            place, axes = joint.position, rotation_matrix(joint.orientation)
            carrier = a if a >= 0 else b
            if carrier >= 0:
                body, pose = spec.bodies[carrier], frame.poses[carrier]
                turn = rotation_matrix(pose[3:]) @ rotation_matrix(body.orientation).T
                place, axes = pose[:3] + turn @ (place - body.position), turn @ axes
            area = (joint.strength.area if joint.strength is not None else 0.0) or rates.joint_area
            # As for a square section with sides along X and Y of the bond.
            side = math.sqrt(area / 12.0)
            yield {
                "kind": DebrisKind.BREAK,
                "time": timing.begin(number - spec.frame_start),
                "position": place,
                "spread": side * np.sqrt(axes[:, 0] ** 2 + axes[:, 1] ** 2),
                "normal": axes[:, 2],
                "area": area,
                "body_a": a,
                "body_b": b,
            }
        broken |= frame.broken


def contact_events(
    reader: FrameCacheReader, hit_seconds: float, least_impulse: float = 0.0, least_speed: float = 0.0
) -> Iterator[dict[str, Any]]:
    """Yield a row for each hit, and for each two bodies that scrape in a frame.

    Parameters
    ----------
    reader : the cache of a bake
    hit_seconds : s; impacts of two bodies within this time, or within two and a half time steps, are one hit
    least_impulse : N s, weaker hits are left out
    least_speed : m/s, hits that close more slowly are left out

    Raises CacheError, also for a bake without contacts, and OSError.
    """
    if not reader.has_contacts:
        raise CacheError(f"{reader.path}: this bake has no contacts; bake again with Keep Contacts (--contacts)")
    kept = [(reader.contacts(frame), reader.info.seconds_to(frame) / reader.info.substeps) for frame in reader.frames]
    there = [(contacts, step) for contacts, step in kept if contacts is not None]
    # Hits are merged over `hit_seconds`, or over a longer time if the steps are longer.
    windows = [max(step, hit_seconds / STEPS_OF_AN_IMPACT) for _, step in there]
    for hit in merged_impacts([contacts.impacts for contacts, _ in there], windows):
        if hit.impulse < least_impulse or hit.speed < least_speed:
            continue
        yield {
            "kind": DebrisKind.HIT,
            "time": hit.time,
            "position": hit.point,
            "normal": hit.normal,
            "impulse": hit.impulse,
            "speed": hit.speed,
            "energy": max(hit.energy, 0.0),
            "body_a": hit.body_a,
            "body_b": hit.body_b,
        }
    for contacts, _ in there:
        yield from scrape_rows(contacts.scrapes)


def scrape_rows(scrapes: FrameScrapes) -> Iterator[dict[str, Any]]:
    for k in range(len(scrapes.time)):
        yield {
            "kind": DebrisKind.SCRAPE,
            "time": float(scrapes.time[k]),
            "duration": float(scrapes.duration[k]),
            "position": scrapes.point[k],
            "spread": scrapes.spread[k],
            "normal": scrapes.normal[k],
            "slip": scrapes.slip[k],
            "impulse": float(scrapes.impulse[k]),
            "speed": float(np.linalg.norm(scrapes.slip[k])),
            "energy": float(scrapes.energy[k]),
            "body_a": int(scrapes.body_a[k]),
            "body_b": int(scrapes.body_b[k]),
        }


def sampled(events: DebrisEvents, names: Sequence[str], rates: DebrisRates) -> Debris:
    """Return the debris points of events.

    events: in the order of time.
    names: of the bodies. The random numbers depend only on these names, not on the rest of the scene.
    rates: points per amount.

    Raises UsageError if there are too many points.
    """
    rate = {
        DebrisKind.BREAK: rates.per_area,
        DebrisKind.HIT: rates.per_joule_of_hits,
        DebrisKind.SCRAPE: rates.per_joule_of_scrapes,
    }
    amounts = np.where(events.kind == DebrisKind.BREAK, events.area, events.energy)
    expected = sum(float(amounts[events.kind == kind].sum()) * value for kind, value in rate.items())
    if expected > MOST_POINTS:
        raise UsageError(f"there would be {expected:.3g} points of debris, more than {MOST_POINTS}; lower the rates")
    parts = []
    keys, which = np.unique(np.column_stack([events.kind, events.body_a, events.body_b]), axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.searchsorted(which.ravel()[order], np.arange(len(keys) + 1))
    for k, (kind, a, b) in enumerate(keys.tolist()):
        rows = order[ends[k] : ends[k + 1]]
        label = f"{names[a] if a >= 0 else ''}\n{names[b] if b >= 0 else ''}".encode()
        random = np.random.default_rng([rates.seed, kind, zlib.crc32(label)])
        parts.append(sampled_of_pair(events.chosen(rows), amounts[rows], rate[DebrisKind(kind)], random))
    if not parts:
        return Debris(events, np.zeros(0))
    joined = [np.concatenate([getattr(part.events, field.name) for part in parts]) for field in fields(DebrisEvents)]
    points = DebrisEvents(*joined)
    rows = np.argsort(points.time, kind="stable")
    return Debris(points.chosen(rows), np.concatenate([part.random for part in parts])[rows])


def sampled_of_pair(events: DebrisEvents, amounts: Array, rate: float, random: np.random.Generator) -> Debris:
    """Return the debris points of all events of one kind between two bodies.

    amounts: (n,) area or energy of each event [m^2 or J].
    rate: points per amount.
    random: generator of this pair; each point uses five numbers.
    """
    total = np.cumsum(amounts)
    largest_number = math.ceil(float(total[-1]) * rate) if rate > 0.0 else 0
    numbers = random.random((largest_number, 5))
    passed = (np.arange(largest_number) + numbers[:, 0]) / rate if largest_number else np.zeros(0)
    is_passed = passed <= total[-1]
    passed, numbers = passed[is_passed], numbers[is_passed]
    row = np.searchsorted(total, passed)
    share = 1.0 - (total[row] - passed) / amounts[row]
    found = events.chosen(row)
    part = 1.0 / (rate * amounts[row])
    time = found.time + (share - 0.5) * found.duration
    jitter = HALF_WIDTH * (2.0 * numbers[:, 1:4] - 1.0) * found.spread
    # Keep the point in the plane of the contact.
    jitter -= np.einsum("ij,ij->i", jitter, found.normal)[:, None] * found.normal
    changed = {
        "time": time,
        "position": along_path(events, row, time) + jitter,
        "impulse": part * found.impulse,
        "area": part * found.area,
        "energy": part * found.energy,
    }
    same = {field.name: getattr(found, field.name) for field in fields(found)}
    return Debris(DebrisEvents(**same | changed), numbers[:, 4])


def along_path(events: DebrisEvents, row: NDArray[np.int64], time: Array) -> Array:
    """Return the contact points of two bodies at times between their events (k, 3) [m].

    The point moves in a straight line between an event and the next one, if there is no gap in time between them.

    events: in the order of time.
    row: (k,) event of each time.
    time: (k,) [s].
    """
    later = time > events.time[row]
    other = np.clip(np.where(later, row + 1, row - 1), 0, len(events) - 1)
    between = np.abs(events.time[other] - events.time[row])
    lasts = 0.5 * (events.duration[row] + events.duration[other])
    follows = (between > 0.0) & (between < 1.5 * lasts)
    share = np.where(follows, np.abs(time - events.time[row]) / np.where(between > 0.0, between, 1.0), 0.0)
    return events.position[row] + np.clip(share, 0.0, 1.0)[:, None] * (events.position[other] - events.position[row])


def debris_of(reader: FrameCacheReader, spec: SceneSpec, rates: DebrisRates) -> Debris:
    """Return the debris points of a bake. Raises CacheError, OSError and UsageError, see `events_of` and `sampled`."""
    return sampled(events_of(reader, spec, rates), [body.name for body in spec.bodies], rates)


def table(debris: Debris, spec: SceneSpec) -> bytes:
    """Return the points as comma-separated values. time: s of the shot since its first frame. frame: with a fraction."""
    events = debris.events
    place = [f"{name}_{axis}" for name in ("point", "normal", "slip", "velocity") for axis in "xyz"]
    header = ["time", "frame", "kind", "impulse", "speed", "area", "energy", *place]
    header += ["body_a", "body_b", "material_a", "material_b", "random"]
    frames = Timing(spec).frames_at(events.time)
    rows = []
    for k in range(len(debris)):
        numbers = (events.impulse[k], events.speed[k], events.area[k], events.energy[k])
        places = (*events.position[k], *events.normal[k], *events.slip[k], *events.velocity[k])
        bodies = [spec.bodies[index] if index >= 0 else None for index in (int(events.body_a[k]), int(events.body_b[k]))]
        words = ["" if body is None else body.name for body in bodies]
        words += ["" if body is None else body.material.name for body in bodies]
        when = [f"{value:.7g}" for value in (frames[k] / spec.fps, spec.frame_start + frames[k])]
        kind = DebrisKind(int(events.kind[k])).name.lower()
        rows.append([*when, kind, *(f"{value:.7g}" for value in (*numbers, *places)), *words, f"{debris.random[k]:.7g}"])
    return tables.table(header, rows)


def write_debris(snapshot: Path, cache: Path, file: Path, rates: DebrisRates) -> int:
    """Write the debris of a bake to a file. Returns the number of points. Raises CacheError, ContainerError, UsageError and
    OSError."""
    refuse_output(file, TABLE)
    spec, reader = bake_of(snapshot, cache)
    debris = debris_of(reader, spec, rates)
    write_output(file, TABLE, table(debris, spec))
    return len(debris)


def main(argv: Sequence[str]) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    parser = bake_parser("solver_core.debris", "Writes the debris of a bake.", ("FILE.csv", "the table to write"))
    for field in fields(DebrisRates):
        kind = int if field.name == "seed" else float
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default, help="(%(default)s)")

    def work(arguments: Namespace) -> None:
        rates = DebrisRates(**{field.name: getattr(arguments, field.name) for field in fields(DebrisRates)})
        write_debris(arguments.snapshot, arguments.cache, arguments.file, rates)

    return run_on_bake(parser, argv, work)


if __name__ == "__main__":
    prepare_streams()
    sys.exit(main(sys.argv[1:]))
