# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials and solver settings as data. Files of materials, stiffness and bonds name the source of every number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["BONDS", "MATERIALS", "PAIRS", "SOLVER", "STIFFNESS"]


def read_presets(name: str, key: str) -> dict[str, dict[str, Any]]:
    """The presets of a file by name, in the file's order."""
    file = Path(__file__).with_name(name)
    return {preset["name"]: preset for preset in json.loads(file.read_text(encoding="utf-8"))[key]}


def read_pairs(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The friction of the pairs of a file, by their materials."""
    file = Path(__file__).with_name(name)
    return {tuple(pair["materials"]): pair["friction"] for pair in json.loads(file.read_text(encoding="utf-8"))["pairs"]}


BONDS = read_presets("bonds.json", "materials")
MATERIALS = read_presets("materials.json", "materials")
PAIRS = read_pairs("materials.json")
SOLVER = read_presets("solver.json", "presets")
STIFFNESS = read_presets("stiffness.json", "materials")
