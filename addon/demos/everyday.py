# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: everyday scenes, to settle or to bake."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

import math

from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Operator

from ...solver_core.scenes import everyday as scenes
from .add import AddDemo

__all__ = ["EVERYDAY"]


class STICTION_OT_add_table_for_twelve(AddDemo, Operator):
    """Add a table, with plates, cups and cutlery for twelve above it: choose Settle, or bake"""

    bl_idname = "stiction.add_table_for_twelve"
    bl_label = "Table for Twelve"

    seed: IntProperty(name="Seed", description="Seed of the random rotations", default=1, min=0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.table_for_twelve(seed=self.seed))


class STICTION_OT_add_bin_of_mugs(AddDemo, Operator):
    """Add mugs with handles above a bin: choose Settle, or bake"""

    bl_idname = "stiction.add_bin_of_mugs"
    bl_label = "Bin of Mugs"

    mugs: IntProperty(name="Mugs", description="Number of mugs", default=24, min=1, soft_max=60)
    seed: IntProperty(name="Seed", description="Seed of the random rotations", default=1, min=0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.bin_of_mugs(mugs=self.mugs, seed=self.seed))


class STICTION_OT_add_library_shelf(AddDemo, Operator):
    """Add a bookcase with gaps in its rows of books: choose Settle, or bake, and they lean against each other"""

    bl_idname = "stiction.add_library_shelf"
    bl_label = "Library Shelf"

    shelves: IntProperty(name="Shelves", description="Number of rows of books", default=3, min=1, soft_max=6)
    seed: IntProperty(name="Seed", description="Seed of the random books", default=2, min=0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.library_shelf(shelves=self.shelves, seed=self.seed))


class STICTION_OT_add_conveyor(AddDemo, Operator):
    """Add two conveyor belts at a right angle, with parcels that ride on them"""

    bl_idname = "stiction.add_conveyor"
    bl_label = "Conveyor Belts"

    parcels: IntProperty(name="Parcels", description="Number of parcels", default=8, min=1, max=8)
    speed: FloatProperty(name="Speed", description="Speed of both belts", default=0.8, soft_max=3.0, unit="VELOCITY")
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of parcel on belt", default=0.6, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.conveyor(parcels=self.parcels, speed=self.speed, mu=self.friction))


class STICTION_OT_add_roly_polies(AddDemo, Operator):
    """Add toys with a heavy foot, which lie down at first and rise: their Center of Mass is an empty near the foot"""

    bl_idname = "stiction.add_roly_polies"
    bl_label = "Roly-Polies"

    count: IntProperty(name="Toys", description="Number of toys", default=5, min=1, soft_max=12)
    depth: FloatProperty(
        name="Depth",
        description="Distance of the center of mass below the center of the round foot, as a fraction of its radius",
        default=0.5,
        min=0.01,
        max=0.95,
    )
    tilt: FloatProperty(
        name="Tilt",
        description="Angle from the upright at the first frame",
        default=1.2,
        min=0.0,
        max=0.5 * math.pi,
        subtype="ANGLE",
        unit="ROTATION",
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.roly_polies(count=self.count, depth=self.depth, tilt=self.tilt))


EVERYDAY = (
    STICTION_OT_add_table_for_twelve,
    STICTION_OT_add_bin_of_mugs,
    STICTION_OT_add_library_shelf,
    STICTION_OT_add_conveyor,
    STICTION_OT_add_roly_polies,
)
