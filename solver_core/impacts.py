# SPDX-License-Identifier: GPL-3.0-or-later
"""Write a table of the impacts of a bake, for sound and effects: python -m solver_core.impacts SNAPSHOT CACHE FILE.csv

The table has one row per impact, in order of time: its time, position, strength and bodies. The bake must have recorded its
contacts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .dynamics.model.frame import FrameImpacts
from .io import tables
from .io.bake_command import bake_of, bake_parser, run_on_bake
from .io.cache import CacheError, FrameCacheReader
from .io.outputs import TABLE, refuse_output, write_output
from .linalg.in_order import length
from .process.console import prepare_streams
from .scene.spec import SceneSpec
from .scene.timing import Timing

__all__ = ["Impact", "impacts_of", "main", "merged_impacts", "write_impacts"]

# Impacts between two bodies that start within this number of steps are one impact. An impact that closes a gap takes two steps,
# the one in which the bodies come into contact and the next one.
STEPS_OF_AN_IMPACT = 2.5


@dataclass(frozen=True)
class Impact:
    """An impact between two bodies.

    Attributes
    ----------
    time : s, simulated time since the first frame
    point : (3,) m, world
    normal : (3,) unit, from a to b
    impulse : N s, along the normal
    speed : m/s, closing speed
    energy : J, dissipated
    body_a, body_b : indices of the bodies
    """

    time: float
    point: NDArray[np.float64]
    normal: NDArray[np.float64]
    impulse: float
    speed: float
    energy: float
    body_a: int
    body_b: int


def merged_impacts(frames: Iterable[FrameImpacts], steps: Iterable[float]) -> list[Impact]:
    """Return the impacts of all frames in order of time. The parts of an impact in consecutive time steps are merged.

    steps: s, the time step of each frame.
    """
    done: list[Impact] = []
    running: dict[tuple[int, int], Impact] = {}
    rows = [(row, step) for frame, step in zip(frames, steps, strict=True) for row in rows_of(frame)]
    for row, step in sorted(rows, key=lambda one: one[0].time):
        pair = row.body_a, row.body_b
        before = running.get(pair)
        if before is not None and row.time - before.time <= STEPS_OF_AN_IMPACT * step:
            running[pair] = together(before, row)
            continue
        if before is not None:
            done.append(before)
        running[pair] = row
    return sorted([*done, *running.values()], key=lambda impact: (impact.time, impact.body_a, impact.body_b))


def rows_of(frame: FrameImpacts) -> Iterable[Impact]:
    for k in range(len(frame.time)):
        yield Impact(
            float(frame.time[k]),
            frame.point[k].astype(np.float64),
            frame.normal[k].astype(np.float64),
            float(frame.impulse[k]),
            float(frame.speed[k]),
            float(frame.energy[k]),
            int(frame.body_a[k]),
            int(frame.body_b[k]),
        )


def together(first: Impact, more: Impact) -> Impact:
    """Merge two parts of an impact: it starts with the first; its position and normal are means weighted by impulse."""
    whole = first.impulse + more.impulse
    normal = first.impulse * first.normal + more.impulse * more.normal
    size = length(normal)
    return Impact(
        first.time,
        (first.impulse * first.point + more.impulse * more.point) / whole if whole > 0.0 else first.point,
        normal / size if size > 0.0 else first.normal,
        whole,
        max(first.speed, more.speed),
        first.energy + more.energy,
        first.body_a,
        first.body_b,
    )


def impacts_of(reader: FrameCacheReader) -> list[Impact]:
    """Return the impacts of a whole cache. Raises CacheError, also if contacts were not recorded, and OSError."""
    if not reader.has_contacts:
        raise CacheError(f"{reader.path}: this bake has no contacts; bake again with Keep Contacts (--contacts)")
    info = reader.info
    contacts = ((reader.contacts(frame), info.seconds_to(frame) / info.substeps) for frame in reader.frames)
    kept = [(one.impacts, step) for one, step in contacts if one is not None]
    return merged_impacts([one for one, _ in kept], [step for _, step in kept])


def table(impacts: Sequence[Impact], spec: SceneSpec) -> bytes:
    """Return the impacts as comma-separated values. time: s of the shot since its first frame. frame: with a fraction."""
    place = [f"{name}_{axis}" for name in ("point", "normal") for axis in "xyz"]
    header, rows = ["time", "frame", "impulse", "speed", *place, "body_a", "body_b", "material_a", "material_b"], []
    frames = Timing(spec).frames_at(np.array([impact.time for impact in impacts]))
    for impact, frame in zip(impacts, frames.tolist(), strict=True):
        bodies = [spec.bodies[index] for index in (impact.body_a, impact.body_b)]
        numbers = (frame / spec.fps, spec.frame_start + frame, impact.impulse, impact.speed, *impact.point, *impact.normal)
        words = [body.name for body in bodies] + [body.material.name for body in bodies]
        rows.append([*(f"{value:.7g}" for value in numbers), *words])
    return tables.table(header, rows)


def write_impacts(snapshot: Path, cache: Path, file: Path) -> int:
    """Write the impacts of a bake to a file. Returns their number. Raises CacheError, ContainerError and OSError."""
    refuse_output(file, TABLE)
    spec, reader = bake_of(snapshot, cache)
    impacts = impacts_of(reader)
    write_output(file, TABLE, table(impacts, spec))
    return len(impacts)


def main(argv: Sequence[str]) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    parser = bake_parser("solver_core.impacts", "Writes the impacts of a bake.", ("FILE.csv", "the table to write"))
    return run_on_bake(parser, argv, lambda arguments: write_impacts(arguments.snapshot, arguments.cache, arguments.file))


if __name__ == "__main__":
    prepare_streams()
    sys.exit(main(sys.argv[1:]))
