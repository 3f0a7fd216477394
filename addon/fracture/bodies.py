# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid bodies for pieces, with the settings of the original object."""

from __future__ import annotations

from bpy.types import Context, Object

from ...solver_core.fracture.order import Pieces
from ..demos.demo_scene import world_members
from ..settings.materials import copy_settings

__all__ = ["make_bodies"]

# Volume of the convex hull beyond a piece, relative to the piece, up to which it counts as convex.
HOLLOW = 1e-3
COPIED = (
    "type",
    "enabled",
    "kinematic",
    "friction",
    "restitution",
    "use_margin",
    "collision_margin",
    "linear_damping",
    "angular_damping",
    "collision_collections",
)


def make_bodies(source: Object, objects: list[Object], pieces: Pieces, context: Context) -> None:
    """Make rigid bodies of pieces. Each gets its share of the mass by volume. Nonconvex pieces get the shape Mesh."""
    members = world_members(context)
    original = source.rigid_body
    shares = pieces.volumes / pieces.volumes.sum()
    is_hollow = pieces.hull_volumes > (1.0 + HOLLOW) * pieces.volumes
    for ob, share, hollow in zip(objects, shares, is_hollow, strict=True):
        members.objects.link(ob)
        body = ob.rigid_body
        body.collision_shape = "MESH" if hollow else "CONVEX_HULL"
        if original is not None:
            for name in COPIED:
                setattr(body, name, getattr(original, name))
            copy_settings(source, ob)
            ob.stiction.use_flexible = False
        body.mass = float(share) * (1.0 if original is None else original.mass)
        if original is None:
            ob.stiction.mass_source = "DENSITY"
