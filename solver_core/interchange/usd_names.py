# SPDX-License-Identifier: GPL-3.0-or-later
"""Unique names of prims, and the attributes that Stiction adds to UsdPhysics."""

from __future__ import annotations

from pxr import Sdf, Tf, Usd, UsdGeom

__all__ = [
    "DAMPING_ATTRIBUTES",
    "FRICTION_RULE_ATTRIBUTE",
    "MARGIN_ATTRIBUTE",
    "NAMES_ATTRIBUTE",
    "RESTITUTION_RULE_ATTRIBUTE",
    "ROOT_PRIM",
    "Names",
]

ROOT_PRIM = "/World"
DAMPING_ATTRIBUTES = ("stiction:linearDamping", "stiction:angularDamping")
MARGIN_ATTRIBUTE = "stiction:margin"
FRICTION_RULE_ATTRIBUTE, RESTITUTION_RULE_ATTRIBUTE = "stiction:frictionCombine", "stiction:restitutionCombine"
# of the instances of a point instancer
NAMES_ATTRIBUTE = "stiction:names"


class Names:
    """Chooses unused paths below the root of a stage."""

    def __init__(self, stage: Usd.Stage):
        self._stage = stage
        self._last: dict[str, int] = {}

    def path(self, name: str, folder: str = "") -> Sdf.Path:
        """Return an unused path for a name. folder: a scope, which is created if it does not exist."""
        parent = f"{ROOT_PRIM}/{folder}" if folder else ROOT_PRIM
        if folder and not self._stage.GetPrimAtPath(parent):
            UsdGeom.Scope.Define(self._stage, parent)
        stem = f"{parent}/{Tf.MakeValidIdentifier(name)}"
        free, number = stem, self._last.get(stem, 0)
        while self._stage.GetPrimAtPath(free):
            number += 1
            free = f"{stem}_{number}"
        self._last[stem] = number
        return Sdf.Path(free)
