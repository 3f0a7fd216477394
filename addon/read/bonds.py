# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds of collections as joints with a strength."""

from __future__ import annotations

from collections.abc import Sequence

from bpy.types import Scene

from ...solver_core.fracture.bonds import Stresses, bonds_of_bodies, released_at
from ...solver_core.scene.joints import JointSpec
from ...solver_core.scene.spec import BodySpec, SceneWarning
from ..settings.bonds import bonded_collections

__all__ = ["read_bonds"]


def read_bonds(scene: Scene, bodies: Sequence[BodySpec], start: int) -> tuple[list[JointSpec], list[SceneWarning]]:
    """Return the bonds between the bodies that could be read. A bond in two collections is that of the first by name.

    start: the first frame of the simulation.
    """
    found: dict[str, JointSpec] = {}
    warnings = []
    for values, members in bonded_collections(scene):
        names = {ob.name_full for ob in members}
        bound = [body for body in bodies if body.name in names]
        joints = bonds_of_bodies(bound, Stresses(values.tension, values.shear), values.gap)
        if values.release is not None:
            joints = [released_at(joint, values.release - start) for joint in joints]
        found |= {joint.name: joint for joint in joints if joint.name not in found}
        if bound and not joints:
            message = (
                f"the bodies of the collection {values.name} have no bonds, because no flat faces of them are within "
                f"{values.gap:g} m of each other; enlarge Gap of the collection's bonds"
            )
            warnings.append(SceneWarning(tuple(body.name for body in bound), "bonds", message))
    return list(found.values()), warnings
