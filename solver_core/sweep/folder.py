# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a sweep: the snapshot of its scene, a snapshot and a cache for each variation, and the sheet.

The files of a variation are named after its values and its content. A bake of another scene, or with another perturbation, has
another name and is never mistaken for this one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ..process.plain_files import PathRefused

__all__ = ["BAKES", "POSES_TABLE", "SCENE_FILE", "SHEET_PAGE", "SHEET_TABLE", "VariationFiles", "files_of", "make_folders"]

SCENE_FILE = "sweep.snapshot"
BAKES = "bakes"
SHEET_PAGE, SHEET_TABLE, POSES_TABLE = "sheet.html", "sheet.csv", "poses.csv"
# Characters of a file name that all systems accept; the length leaves room for the digits and an extension.
UNFIT = re.compile(r"[^A-Za-z0-9=.,+-]+")
LONGEST_NAME = 80
DIGITS_IN_NAMES = 16


@dataclass(frozen=True)
class VariationFiles:
    """The snapshot and the cache of one variation. digest: digest of that snapshot."""

    digest: str
    snapshot: Path
    cache: Path


def files_of(folder: Path, name: str, digest: str) -> VariationFiles:
    """Return the files of the variation with this name and this digest of scene and settings."""
    stem = f"{UNFIT.sub('_', name)[:LONGEST_NAME]}-{digest[:DIGITS_IN_NAMES]}"
    place = folder / BAKES / stem
    return VariationFiles(digest, place.with_name(f"{stem}.snapshot"), place.with_name(f"{stem}.cache"))


def make_folders(folder: Path) -> None:
    """Make the folder of a sweep where it is not. Raises PathRefused where something else has its name, or where
    `bakes` in it is a link, and OSError."""
    # The names of its files are predictable, so a link could redirect them to another folder.
    if (folder / BAKES).is_symlink():
        raise PathRefused(folder / BAKES, "is a link, which is not followed; remove it, or choose another folder")
    for one in (folder, folder / BAKES):
        if one.exists() and not one.is_dir():
            raise PathRefused(one, "is a file; the folder of a sweep has to be a folder")
        one.mkdir(parents=True, exist_ok=True)
