# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames with made-up content, their caches, and when two of either are the same."""

from __future__ import annotations

import dataclasses

import numpy as np

from solver_core.dynamics.model.frame import Frame, FrameContacts, FrameImpacts, FrameScrapes, FrameStatistics
from solver_core.dynamics.model.violations import Violation
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.container import encode_chunk
from solver_core.io.snapshot import snapshot_digest
from solver_core.problem.result import Found, Status
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings

from .spoiling import chunks_of

BODIES = 3
SPEC = SceneSpec(
    tuple(BodySpec(f"Body.{k}", BodyKind.ACTIVE, ShapeSpec(ShapeKind.HULL), mass=1.0) for k in range(BODIES)),
    frame_start=10,
    frame_end=20,
)
SETTINGS = SolverSettings(substeps=4)
DIGEST = snapshot_digest(SPEC, SETTINGS)


def frame(number):
    rng = np.random.default_rng(number)
    steps = 0 if number == SPEC.frame_start else SETTINGS.substeps
    statistics = {
        field.name: rng.integers(0, 9, size=steps) if "int" in str(field.type) else rng.normal(size=steps)
        for field in dataclasses.fields(FrameStatistics)
    }
    statistics["status"] = rng.integers(0, len(Status), size=steps)
    statistics["found"] = rng.integers(0, 9, size=(steps, len(Found)))
    statistics["spinning_body"] = rng.integers(-1, BODIES, size=steps)
    statistics["violations"] = rng.integers(0, 3, size=(steps, len(Violation)))
    statistics["violating_pairs"] = rng.integers(-1, BODIES, size=(steps, len(Violation), 2))
    for pair in ("worst_pair", "deepest_pair", "chosen_pair"):
        statistics[pair] = rng.integers(-1, BODIES, size=(steps, 2))
    return Frame(number, rng.normal(size=(BODIES, 7)), rng.normal(size=(BODIES, 6)), FrameStatistics(**statistics))


def checkpoint(number):
    rng = np.random.default_rng(1000 + number)
    # A warm start grows and shrinks with the contacts.
    return {"impulses": rng.normal(size=(number % 4, 3)), "features": rng.integers(0, 2**63, size=number, dtype=np.uint64)}


def write(path, *numbers, kept=()):
    """A cache with these frames, and the checkpoints of those that are `kept`."""
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        append(writer, *numbers, kept=kept)
    return path.read_bytes()


def rewrite(path, change):
    """Have `change` change the kind, fields and arrays of every chunk of a snapshot or a cache."""
    chunks = chunks_of(path)
    for chunk in chunks:
        change(*chunk)
    path.write_bytes(b"".join(encode_chunk(*chunk) for chunk in chunks))


def give_settings_of_an_earlier_version(snapshot, **values):
    """Make a snapshot one of the version that had two settings for heaps that tumble, and one for steps taken as one."""

    def change(kind, fields, arrays):
        del fields["settings"]["moving_tolerance"]
        fields["settings"] |= {"crowd_tolerance": 1e-3, "crowd_limit": 1e-3, "step_accuracy": 0.0} | values

    rewrite(snapshot, change)


def append(writer, *numbers, kept=()):
    for number in numbers:
        writer.append(frame(number), checkpoint(number))
        if number in kept:
            writer.keep_checkpoint()


def same_frames(a, b):
    arrays = [(a.poses, b.poses), (a.velocities, b.velocities)]
    arrays += [(getattr(a.statistics, f.name), getattr(b.statistics, f.name)) for f in dataclasses.fields(FrameStatistics)]
    return a.frame == b.frame and all(x.tobytes() == y.tobytes() and x.shape == y.shape for x, y in arrays)


def same_checkpoints(a, b):
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() and a[key].shape == b[key].shape for key in a)


def with_contacts(number):
    rng = np.random.default_rng(2000 + number)
    m, k = 3 * (number % 3), number % 2

    def bodies(count):
        return rng.integers(0, BODIES, size=count, dtype=np.int32)

    def singles(*shape):
        return rng.normal(size=shape).astype(np.float32)

    names = ("point", "normal", "friction", "slip")
    impacts = FrameImpacts(
        rng.normal(size=k), bodies(k), bodies(k), singles(k, 3), singles(k, 3), *(singles(k) for _ in range(3))
    )
    scrapes = FrameScrapes(
        rng.normal(size=k),
        bodies(k),
        bodies(k),
        **{name: singles(k, 3) for name in ("point", "spread", "normal", "slip")},
        **{name: singles(k) for name in ("impulse", "energy", "duration")},
    )
    contacts = FrameContacts(
        body_a=bodies(m),
        body_b=bodies(m),
        **{name: singles(m, 3) for name in names},
        **{name: singles(m) for name in ("force", "gap", "mu")},
        ellipse=singles(m, 2, 3),
        state=rng.integers(0, 3, size=m, dtype=np.uint8),
        impacts=impacts,
        scrapes=scrapes,
    )
    return dataclasses.replace(frame(number), contacts=contacts)


def arrays_of(contacts):
    """Type, shape and bytes of each array, by its name; those of impacts and scrapes by names of their own."""
    parts = {"": contacts, "impacts.": contacts.impacts, "scrapes.": contacts.scrapes}
    named = {prefix + name: value for prefix, part in parts.items() for name, value in vars(part).items()}
    arrays = {name: value for name, value in named.items() if isinstance(value, np.ndarray)}
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def write_contacts(path, *numbers):
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        for number in numbers:
            writer.append(with_contacts(number), checkpoint(number))
    return path.read_bytes()
