# SPDX-License-Identifier: GPL-3.0-or-later
"""What bodies sound like: the materials of flexible bodies, with their loss factors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..process.command_line import UsageError
from ..scene.spec import BodyKind, BodySpec

__all__ = ["SoundMaterial", "material_of", "read_materials"]

PRESETS = Path(__file__).resolve().parents[2] / "presets" / "stiffness.json"
# A material is not guessed for a body whose density differs from it by more than this factor.
FARTHEST_DENSITY = 3.0
# The material of an active body whose density is that of none.
COMMON_MATERIAL = "Oak"
# Of a material whose source gives no Poisson's ratio.
COMMON_POISSON = 0.3


@dataclass(frozen=True)
class SoundMaterial:
    """An elastic material.

    Attributes
    ----------
    name : as in the presets, or that of the body for a flexible one
    young : Pa
    poisson : ratio, at most 0.45
    density : kg/m^3
    loss : loss factor, the tangent of the angle by which strain lags behind stress
    """

    name: str
    young: float
    poisson: float
    density: float
    loss: float


def read_materials(file: Path = PRESETS) -> dict[str, SoundMaterial]:
    """Return the materials of a file of presets by name, in its order. Raises OSError."""
    found = {}
    for entry in json.loads(file.read_text(encoding="utf-8"))["materials"]:
        poisson = entry.get("poisson", {"value": COMMON_POISSON})["value"]
        young, density, loss = (float(entry[key]["value"]) for key in ("young", "density", "loss"))
        found[entry["name"]] = SoundMaterial(entry["name"], 1e6 * young, float(poisson), density, loss)
    return found


def material_of(body: BodySpec, volume: float, chosen: str, materials: Mapping[str, SoundMaterial]) -> SoundMaterial | None:
    """Return the material that a body sounds like, or None for a body that makes no sound.

    A passive or animated body sounds only with a chosen material. An active one without a choice has its own constants if it is
    flexible, else the material of its surface's name, else the one of the nearest density, else the common one.

    Parameters
    ----------
    body : a body of a scene
    volume : m^3, of its shape
    chosen : the name of a material; empty for no choice
    materials : by name

    Raises UsageError for an unknown name.
    """
    if chosen:
        if chosen not in materials:
            raise UsageError(f"{body.name}: there is no sound material {chosen}; there are {', '.join(materials)}")
        return materials[chosen]
    if body.kind is not BodyKind.ACTIVE:
        return None
    density = (body.mass or 0.0) / volume if body.density is None and volume > 0.0 else body.density or 0.0
    deformable = body.deformable
    if deformable is not None and density > 0.0:
        return SoundMaterial(body.name, deformable.young, deformable.poisson, density, 2.0 * deformable.damping_ratio)
    if body.material.name in materials:
        return materials[body.material.name]
    if density > 0.0:
        nearest = min(materials.values(), key=lambda one: abs(math.log(density / one.density)))
        if abs(math.log(density / nearest.density)) <= math.log(FARTHEST_DENSITY):
            return nearest
    return materials[COMMON_MATERIAL]
