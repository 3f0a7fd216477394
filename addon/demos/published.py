# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: the scenes of the papers."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Operator

from ...solver_core.scenes import machines as machine_scenes
from ...solver_core.scenes import published as published_scenes
from ...solver_core.scenes import published_bending as bending_scenes
from .add import AddDemo

__all__ = ["PUBLISHED"]

# Widths of the picture relative to bodies that move out of their place, and to a bar that stands up.
WIDE, WIDER = 1.9, 3.0


class STICTION_OT_add_bombarded_card_house(AddDemo, Operator):
    """Add a card house that stands until small blocks fall on it and bring most of it down"""

    bl_idname = "stiction.add_bombarded_card_house"
    bl_label = "Card House under Blocks"

    levels: IntProperty(name="Levels", description="Rows of leaning cards", default=6, min=2, soft_max=10)
    blocks: IntProperty(name="Blocks", description="Number of blocks that fall in turn", default=2, min=0, soft_max=10)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of card on card", default=0.8, min=0.0, soft_max=1.5
    )
    restitution: FloatProperty(
        name="Bounciness", description="Restitution of card on card and of block on card", default=0.1, min=0.0, max=1.0
    )

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.bombarded_card_house(
            levels=self.levels, blocks=self.blocks, mu=self.friction, restitution=self.restitution
        )
        return self.add(context, spec)


class STICTION_OT_add_catenary_arch(AddDemo, Operator):
    """Add an arch in the shape of a hanging chain, with a block falling on it and others thrown at a leg"""

    bl_idname = "stiction.add_catenary_arch"
    bl_label = "Catenary Arch"

    blocks: IntProperty(name="Blocks", description="Number of blocks in the arch", default=27, min=5, soft_max=61)
    dropped: IntProperty(name="Dropped", description="Number of blocks that fall on the keystone", default=1, min=0, soft_max=5)
    thrown: IntProperty(name="Thrown", description="Number of blocks thrown at a leg", default=2, min=0, soft_max=5)
    speed: FloatProperty(name="Speed", description="Speed of the thrown blocks", default=10.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of block on block", default=0.6, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.catenary_arch(
            blocks=self.blocks, dropped=self.dropped, thrown=self.thrown, speed=self.speed, mu=self.friction
        )
        return self.add(context, spec)


class STICTION_OT_add_bar_on_four_feet(AddDemo, Operator):
    """Add the bar of Faure's 1996 paper: on four feet, with one end so heavy that it pivots about the last foot"""

    bl_idname = "stiction.add_bar_on_four_feet"
    bl_label = "Bar on Four Feet"

    head: FloatProperty(
        name="Head", description="Edge of the cube at one end; below 0.45 m the bar stands", default=0.5, min=0.1, unit="LENGTH"
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, published_scenes.bar_on_four_feet(head=self.head), room=WIDER)


class STICTION_OT_add_rods_of_1991(AddDemo, Operator):
    """Add the two rods of Baraff's 1991 paper: one leaves the ground at once, only an impulse stops the other"""

    bl_idname = "stiction.add_rods_of_1991"
    bl_label = "Rods of 1991"

    speed: FloatProperty(name="Speed", description="Speed of the tips over the ground", default=2.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(name="Friction", description="Friction of rod on ground", default=0.75, min=0.0, soft_max=1.5)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, published_scenes.rods_of_1991(speed=self.speed, mu=self.friction), room=WIDE)


class STICTION_OT_add_jamming_tube(AddDemo, Operator):
    """Add a tube with a neck, and cubes that fall through or jam, depending on friction"""

    bl_idname = "stiction.add_jamming_tube"
    bl_label = "Jamming Tube"

    friction: FloatProperty(
        name="Friction",
        description="Coefficient of friction of cube on cube and on the tube",
        default=0.5,
        min=0.0,
        soft_max=1.5,
    )
    layers: IntProperty(name="Layers", description="Layers of four cubes each", default=6, min=1, soft_max=20)
    neck: FloatProperty(name="Neck", description="Width of the neck in edges of a cube", default=2.2, min=1.0, max=4.0)
    seed: IntProperty(name="Seed", description="Seed of the random rotations of the cubes", default=1, min=0)

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.jamming_tube(mu=self.friction, layers=self.layers, neck=self.neck, seed=self.seed)
        return self.add(context, spec, see_through=("Neck", "Taper", "Tube"))


class STICTION_OT_add_log_house(AddDemo, Operator):
    """Add a house of notched logs that slides over a ramp and breaks up at a curb"""

    bl_idname = "stiction.add_log_house"
    bl_label = "Log House"

    courses: IntProperty(name="Courses", description="Logs above each other in every wall", default=15, min=1, soft_max=20)
    roof: IntProperty(name="Roof", description="Planks laid across the top", default=9, min=0, soft_max=20)
    speed: FloatProperty(name="Speed", description="Speed of the sliding house", default=7.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of log on log", default=0.5, min=0.01, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.log_house(courses=self.courses, roof=self.roof, speed=self.speed, mu=self.friction)
        return self.add(context, spec)


class STICTION_OT_add_block_feeder(AddDemo, Operator):
    """Add the block feeder of Baraff's 1994 paper: a crank drives a pusher that takes the lowest block out of a stack"""

    bl_idname = "stiction.add_block_feeder"
    bl_label = "Block Feeder"

    blocks: IntProperty(name="Blocks", description="Number of blocks in the stack", default=8, min=1, soft_max=20)
    turns: FloatProperty(name="Turns", description="Turns of the crank per second", default=1.0, min=0.1, soft_max=4.0)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of block on block", default=0.3, min=0.01, soft_max=1.0
    )

    def execute(self, context: Context) -> set[str]:
        spec = machine_scenes.block_feeder(blocks=self.blocks, turns=self.turns, mu=self.friction)
        return self.add(context, spec, see_through=("Left", "Right"))


class STICTION_OT_add_double_action_jack(AddDemo, Operator):
    """Add the jack of Baraff's 1994 paper: a lever with two struts lifts a rack by a tooth with every stroke, up and down"""

    bl_idname = "stiction.add_double_action_jack"
    bl_label = "Double-Action Jack"

    load: FloatProperty(name="Load", description="Mass of the load on the rack", default=40.0, min=0.1, unit="MASS")
    turns: FloatProperty(name="Turns", description="Turns of the crank per second", default=0.75, min=0.1, soft_max=2.0)
    friction: FloatProperty(name="Friction", description="Coefficient of friction", default=0.3, min=0.01, soft_max=1.0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, machine_scenes.double_action_jack(self.load, self.turns, self.friction), room=WIDE)


class STICTION_OT_add_bunny_drop(AddDemo, Operator):
    """Add many rigid bunnies that fall into a box"""

    bl_idname = "stiction.add_bunny_drop"
    bl_label = "Bunny Drop"

    count: IntProperty(name="Bunnies", description="Number of bunnies; the paper's are 2046", default=64, min=1, soft_max=2046)
    friction: FloatProperty(name="Friction", description="Coefficient of friction", default=0.5, min=0.0, soft_max=1.5)
    seed: IntProperty(name="Seed", description="Seed of the random rotations of the bunnies", default=1, min=0)

    def execute(self, context: Context) -> set[str]:
        spec = bending_scenes.bunny_drop(self.count, self.friction, seed=self.seed)
        return self.add(context, spec, see_through=("Wall",))


PUBLISHED = (
    STICTION_OT_add_bombarded_card_house,
    STICTION_OT_add_catenary_arch,
    STICTION_OT_add_rods_of_1991,
    STICTION_OT_add_block_feeder,
    STICTION_OT_add_double_action_jack,
    STICTION_OT_add_bar_on_four_feet,
    STICTION_OT_add_jamming_tube,
    STICTION_OT_add_log_house,
    STICTION_OT_add_bunny_drop,
)
