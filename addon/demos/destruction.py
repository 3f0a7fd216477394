# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: scenes in which bonded pieces break."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Operator

from ...solver_core.scenes import destruction as scenes
from .add import AddDemo

__all__ = ["DESTRUCTION"]


class STICTION_OT_add_brick_wall(AddDemo, Operator):
    """Add a wall of bricks and mortar, and a ball that flies at it"""

    bl_idname = "stiction.add_brick_wall"
    bl_label = "Brick Wall"

    columns: IntProperty(name="Columns", description="Bricks in a course", default=10, min=2, soft_max=30)
    rows: IntProperty(name="Rows", description="Courses of bricks", default=8, min=1, soft_max=20)
    shot: FloatProperty(name="Shot", description="Speed of the ball", default=12.0, min=0.0, unit="VELOCITY")
    tension: FloatProperty(name="Strength", description="Tensile strength of the mortar in MPa", default=1.0, min=0.001)

    def execute(self, context: Context) -> set[str]:
        scene = scenes.brick_wall(columns=self.columns, rows=self.rows, shot=self.shot, tension=self.tension)
        return self.add_bonded(context, scene)


class STICTION_OT_add_window(AddDemo, Operator):
    """Add a window, and a ball that flies at it"""

    bl_idname = "stiction.add_window"
    bl_label = "Window"

    pieces: IntProperty(name="Pieces", description="Number of pieces of the pane", default=60, min=4, soft_max=200)
    shot: FloatProperty(name="Shot", description="Speed of the ball", default=18.0, min=0.0, unit="VELOCITY")
    tension: FloatProperty(name="Strength", description="Strength of the glass in MPa", default=45.0, min=0.001)
    seed: IntProperty(name="Seed", description="Another seed gives other pieces", default=1, min=0)

    def execute(self, context: Context) -> set[str]:
        scene = scenes.window(pieces=self.pieces, shot=self.shot, tension=self.tension, seed=self.seed)
        return self.add_bonded(context, scene)


class STICTION_OT_add_lost_column(AddDemo, Operator):
    """Add a concrete slab on three columns, of which the middle one is pulled out"""

    bl_idname = "stiction.add_lost_column"
    bl_label = "Lost Column"

    pieces: IntProperty(name="Pieces", description="Number of pieces of the slab", default=60, min=4, soft_max=200)
    speed: FloatProperty(name="Pull", description="Speed at which the column leaves", default=8.0, min=0.1, unit="VELOCITY")
    tension: FloatProperty(name="Strength", description="Strength of the concrete in MPa", default=2.9, min=0.001)
    seed: IntProperty(name="Seed", description="Another seed gives other pieces", default=2, min=0)

    def execute(self, context: Context) -> set[str]:
        scene = scenes.lost_column(pieces=self.pieces, speed=self.speed, tension=self.tension, seed=self.seed)
        return self.add_bonded(context, scene)


class STICTION_OT_add_falling_chimney(AddDemo, Operator):
    """Add a chimney that topples and breaks in the air"""

    bl_idname = "stiction.add_falling_chimney"
    bl_label = "Falling Chimney"

    courses: IntProperty(name="Courses", description="Number of blocks, of 0.8 m each", default=24, min=4, soft_max=60)
    tilt: FloatProperty(
        name="Tilt",
        description="Angle from the upright at the first frame",
        default=0.12,
        min=0.0,
        max=0.7,
        subtype="ANGLE",
        unit="ROTATION",
    )
    tension: FloatProperty(name="Strength", description="Tensile strength of the joints in MPa", default=1.0, min=0.001)

    def execute(self, context: Context) -> set[str]:
        return self.add_bonded(context, scenes.falling_chimney(courses=self.courses, tilt=self.tilt, tension=self.tension))


class STICTION_OT_add_bonded_bridge(AddDemo, Operator):
    """Add a bridge of bonded stones that is loaded until it fails"""

    bl_idname = "stiction.add_bonded_bridge"
    bl_label = "Bonded Bridge"

    stones: IntProperty(name="Stones", description="Number of stones in the row", default=12, min=2, soft_max=60)
    loads: IntProperty(name="Loads", description="Number of blocks of 256 kg", default=10, min=1, soft_max=30)
    tension: FloatProperty(name="Strength", description="Strength of the joints in MPa", default=1.0, min=0.001)

    def execute(self, context: Context) -> set[str]:
        return self.add_bonded(context, scenes.bonded_bridge(stones=self.stones, loads=self.loads, tension=self.tension))


class STICTION_OT_add_ice_on_a_lake(AddDemo, Operator):
    """Add a sheet of ice between shores, and a boulder that falls on it"""

    bl_idname = "stiction.add_ice_on_a_lake"
    bl_label = "Ice on a Lake"

    pieces: IntProperty(name="Pieces", description="Number of pieces of the sheet", default=70, min=4, soft_max=200)
    mass: FloatProperty(name="Boulder", description="Mass of the boulder", default=90.0, min=0.01, unit="MASS")
    tension: FloatProperty(name="Strength", description="Strength of the ice in MPa", default=1.4, min=0.001)
    seed: IntProperty(name="Seed", description="Another seed gives other pieces", default=3, min=0)

    def execute(self, context: Context) -> set[str]:
        scene = scenes.ice_on_a_lake(pieces=self.pieces, mass=self.mass, tension=self.tension, seed=self.seed)
        return self.add_bonded(context, scene)


DESTRUCTION = (
    STICTION_OT_add_brick_wall,
    STICTION_OT_add_window,
    STICTION_OT_add_lost_column,
    STICTION_OT_add_falling_chimney,
    STICTION_OT_add_bonded_bridge,
    STICTION_OT_add_ice_on_a_lake,
)
