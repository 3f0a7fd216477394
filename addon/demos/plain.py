# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: set pieces and textbook experiments, without joints."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Operator

from ...solver_core.scenes import plain as scenes
from .add import AddDemo

__all__ = ["PLAIN"]


class STICTION_OT_add_card_house(AddDemo, Operator):
    """Add a house of playing cards that stands by friction alone"""

    bl_idname = "stiction.add_card_house"
    bl_label = "Card House"

    levels: IntProperty(name="Levels", description="Rows of leaning cards", default=5, min=1, soft_max=10)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of card on card", default=0.8, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.card_house(levels=self.levels, mu=self.friction))


class STICTION_OT_add_arch(AddDemo, Operator):
    """Add a masonry arch of wedge blocks without mortar"""

    bl_idname = "stiction.add_arch"
    bl_label = "Masonry Arch"

    blocks: IntProperty(name="Blocks", description="Number of wedge blocks", default=11, min=3, soft_max=41)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of block on block", default=0.6, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.arch(blocks=self.blocks, mu=self.friction))


class STICTION_OT_add_tower(AddDemo, Operator):
    """Add a tower of boxes with a far heavier one on top"""

    bl_idname = "stiction.add_tower"
    bl_label = "Heavy Tower"

    boxes: IntProperty(name="Boxes", description="Number of boxes", default=10, min=2, soft_max=50)
    heaviest: FloatProperty(name="Heaviest", description="Mass of the top box relative to the others", default=1000.0, min=1.0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.tower(boxes=self.boxes, heaviest=self.heaviest))


class STICTION_OT_add_wall(AddDemo, Operator):
    """Add a dry wall of bricks"""

    bl_idname = "stiction.add_wall"
    bl_label = "Dry Wall"

    courses: IntProperty(name="Courses", description="Rows of bricks", default=4, min=1, soft_max=20)
    bricks: IntProperty(name="Bricks", description="Bricks in a row", default=5, min=1, soft_max=20)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of brick on brick", default=0.6, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.wall(courses=self.courses, bricks=self.bricks, mu=self.friction))


class STICTION_OT_add_dominoes(AddDemo, Operator):
    """Add a row of dominoes and push the first"""

    bl_idname = "stiction.add_dominoes"
    bl_label = "Dominoes"

    tiles: IntProperty(name="Dominoes", description="Number of dominoes", default=30, min=1, soft_max=200)
    pitch: FloatProperty(
        name="Pitch", description="Distance from one domino to the next", default=0.02, min=0.008, soft_max=0.1, unit="LENGTH"
    )
    bend: FloatProperty(name="Bend", description="Total turn of the row", default=0.8, subtype="ANGLE", unit="ROTATION")
    push: FloatProperty(
        name="Push", description="Speed of the upper edge of the first domino", default=0.25, min=0.0, unit="VELOCITY"
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.dominoes(tiles=self.tiles, pitch=self.pitch, bend=self.bend, push=self.push))


class STICTION_OT_add_slope(AddDemo, Operator):
    """Add a box that holds or slides on a slope, depending on friction"""

    bl_idname = "stiction.add_slope"
    bl_label = "Box on a Slope"

    tangent: FloatProperty(name="Slope", description="Tangent of the slope's angle", default=0.5, min=0.0, soft_max=2.0)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of box on slope", default=0.51, min=0.0, soft_max=1.5
    )
    yaw: FloatProperty(name="Yaw", description="Turn of the box on the slope", subtype="ANGLE", unit="ROTATION")

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.slope(tangent=self.tangent, mu=self.friction, yaw=self.yaw))


class STICTION_OT_add_dropped_cube(AddDemo, Operator):
    """Add a cube that drops flat on the ground"""

    bl_idname = "stiction.add_dropped_cube"
    bl_label = "Dropped Cube"

    height: FloatProperty(name="Height", description="Height of the cube's lower face", default=4.0, min=0.0, unit="LENGTH")

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.dropped_cube(height=self.height))


class STICTION_OT_add_jamming_rod(AddDemo, Operator):
    """Add a rod that is pushed over the ground and jams, like chalk on a board"""

    bl_idname = "stiction.add_jamming_rod"
    bl_label = "Jamming Rod"

    speed: FloatProperty(name="Speed", description="Speed of the push", default=3.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(
        name="Friction",
        description="Coefficient of friction of rod on ground; it jams above 4/3",
        default=2.0,
        min=0.0,
        soft_max=3.0,
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.jamming_rod(speed=self.speed, mu=self.friction))


PLAIN = (
    STICTION_OT_add_card_house,
    STICTION_OT_add_arch,
    STICTION_OT_add_tower,
    STICTION_OT_add_wall,
    STICTION_OT_add_dominoes,
    STICTION_OT_add_slope,
    STICTION_OT_add_dropped_cube,
    STICTION_OT_add_jamming_rod,
)
