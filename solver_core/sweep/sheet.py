# SPDX-License-Identifier: GPL-3.0-or-later
"""The sheet of a sweep: a page, a table with one row per variation, and a table with the last pose of every body."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..io import tables
from ..io.outputs import PAGE, TABLE, write_output
from .folder import POSES_TABLE, SHEET_PAGE, SHEET_TABLE
from .results import Results
from .sheet_page import page

__all__ = ["write_sheet"]

POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


def write_sheet(folder: Path, results: Results) -> None:
    """Write its three files. Raises PathRefused where one would take the place of something else, and OSError."""
    write_output(folder / SHEET_TABLE, TABLE, tables.table(sheet_header(results), sheet_rows(results)))
    write_output(folder / POSES_TABLE, TABLE, tables.table(poses_header(results), poses_rows(results)))
    write_output(folder / SHEET_PAGE, PAGE, page(results))


def sheet_header(results: Results) -> list[str]:
    figures = ("standing", "fallen", "deepest_overlap", "deepest_a", "deepest_b", "deepest_frame", "missed_steps", "seconds")
    return ["variation", *(axis.name for axis in results.axes), "state", *figures, "cache", "error"]


def sheet_rows(results: Results) -> Iterable[list[object]]:
    for number, (variation, outcome, motion) in enumerate(
        zip(results.variations, results.outcomes, results.motions, strict=True)
    ):
        row: list[object] = [number + 1, *variation.values, outcome.state.value]
        end = outcome.figures
        if end is None or motion is None:
            yield [*row, *[None] * 8, outcome.cache, outcome.said]
            continue
        overlap = end.overlap if np.isfinite(end.overlap) else None
        pair = (*end.pair, "", "")[:2]
        standing = int(motion.stands.sum())
        counts = (standing, len(motion.stands) - standing, overlap, *pair, end.frame, end.missed_steps, round(end.seconds, 3))
        yield [*row, *counts, outcome.cache, ""]


def poses_header(results: Results) -> list[str]:
    return ["variation", *(axis.name for axis in results.axes), "body", *POSE, "moved", "turned", "stands"]


def poses_rows(results: Results) -> Iterable[list[object]]:
    for number, (variation, outcome, motion) in enumerate(
        zip(results.variations, results.outcomes, results.motions, strict=True)
    ):
        if outcome.figures is None or motion is None:
            continue
        for place, body in enumerate(motion.body):
            ends = (float(motion.moved[place]), float(np.degrees(motion.turned[place])), int(motion.stands[place]))
            pose = (float(value) for value in outcome.figures.last[body])
            yield [number + 1, *variation.values, results.spec.bodies[body].name, *pose, *ends]
