# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: scenes with joints."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Operator

from ...solver_core.scenes import jointed as jointed_scenes
from .add import AddDemo

__all__ = ["JOINTED"]


class STICTION_OT_add_newtons_cradle(AddDemo, Operator):
    """Add Newton's cradle: as many balls swing out as strike"""

    bl_idname = "stiction.add_newtons_cradle"
    bl_label = "Newton's Cradle"

    balls: IntProperty(name="Balls", description="Number of balls in the row", default=5, min=2, soft_max=9)
    raised: IntProperty(name="Raised", description="Number of balls let go", default=1, min=1, soft_max=8)
    restitution: FloatProperty(name="Bounciness", description="Restitution of ball on ball", default=1.0, min=0.0, max=1.0)

    def execute(self, context: Context) -> set[str]:
        if self.raised > self.balls:
            self.report({"ERROR"}, f"{self.balls} balls cannot have {self.raised} of them raised")
            return {"CANCELLED"}
        spec = jointed_scenes.newtons_cradle(balls=self.balls, raised=self.raised, restitution=self.restitution)
        return self.add(context, spec, substeps=jointed_scenes.CRADLE_SUBSTEPS)


class STICTION_OT_add_four_ball_solid(AddDemo, Operator):
    """Add a solid on four balls, one rougher than the others, on a plane that a motor turns"""

    bl_idname = "stiction.add_four_ball_solid"
    bl_label = "Four Balls on a Turning Plane"

    speed: FloatProperty(name="Speed", description="Angular speed of the plane, in rad/s", default=1.0, soft_max=5.0)
    dark: FloatProperty(name="Dark", description="Coefficient of friction of the dark ball", default=0.7, min=0.0, soft_max=1.5)
    light: FloatProperty(name="Light", description="Coefficient of friction of the others", default=0.2, min=0.0, soft_max=1.5)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.four_ball_solid(speed=self.speed, dark=self.dark, light=self.light))


class STICTION_OT_add_hanging_chain(AddDemo, Operator):
    """Add a chain between two posts, and a box that falls on it"""

    bl_idname = "stiction.add_hanging_chain"
    bl_label = "Hanging Chain"

    links: IntProperty(name="Links", description="Number of links", default=24, min=4, soft_max=100)
    load: FloatProperty(name="Load", description="Mass of the box", default=1.0, min=0.01, unit="MASS")

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.hanging_chain(links=self.links, load=self.load))


class STICTION_OT_add_chain_of_rings(AddDemo, Operator):
    """Add a chain of linked rings between two posts"""

    bl_idname = "stiction.add_chain_of_rings"
    bl_label = "Chain of Rings"

    links: IntProperty(name="Rings", description="Number of rings", default=13, min=2, soft_max=50)
    slack: FloatProperty(
        name="Slack",
        description="Ratio of chain length to post distance",
        default=1.15,
        min=1.001,
        soft_max=1.5,
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.chain_of_rings(links=self.links, slack=self.slack))


class STICTION_OT_add_rope_bridge(AddDemo, Operator):
    """Add a rope bridge at rest under a thousand times the mass of a plank"""

    bl_idname = "stiction.add_rope_bridge"
    bl_label = "Rope Bridge"

    planks: IntProperty(name="Planks", description="Number of planks, of 1 kg each", default=50, min=3, soft_max=100)
    load: FloatProperty(name="Load", description="Mass of the load in the middle", default=1000.0, min=0.01, unit="MASS")
    rise: FloatProperty(
        name="Rise", description="Tangent of the slope of the planks beside the loaded one", default=0.5, min=0.05, soft_max=2.0
    )

    def execute(self, context: Context) -> set[str]:
        spec = jointed_scenes.rope_bridge(planks=self.planks, load=self.load, rise=self.rise)
        return self.add(context, spec, substeps=jointed_scenes.BRIDGE_SUBSTEPS)


class STICTION_OT_add_drawbridge(AddDemo, Operator):
    """Add a bridge that a motor lifts until the crates on it slide off"""

    bl_idname = "stiction.add_drawbridge"
    bl_label = "Drawbridge"

    speed: FloatProperty(name="Speed", description="Angular speed of the bridge, in rad/s", default=0.35, min=0.0, soft_max=2.0)
    torque: FloatProperty(name="Torque", description="Largest torque of the motor, in N m", default=4000.0, min=0.0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.drawbridge(speed=self.speed, torque=self.torque))


class STICTION_OT_add_breakable_wall(AddDemo, Operator):
    """Add a wall of bricks with breakable joints, and a ball shot at it"""

    bl_idname = "stiction.add_breakable_wall"
    bl_label = "Breakable Wall"

    columns: IntProperty(name="Columns", description="Bricks in a row", default=10, min=2, soft_max=30)
    rows: IntProperty(name="Rows", description="Rows of bricks", default=6, min=1, soft_max=20)
    strength: FloatProperty(name="Strength", description="Breaking threshold of a joint, in N s", default=3.0, min=0.0)
    shot: FloatProperty(name="Shot", description="Speed of the ball", default=12.0, min=0.0, unit="VELOCITY")

    def execute(self, context: Context) -> set[str]:
        spec = jointed_scenes.breakable_wall(columns=self.columns, rows=self.rows, strength=self.strength, shot=self.shot)
        return self.add(context, spec)


JOINTED = (
    STICTION_OT_add_newtons_cradle,
    STICTION_OT_add_four_ball_solid,
    STICTION_OT_add_hanging_chain,
    STICTION_OT_add_chain_of_rings,
    STICTION_OT_add_rope_bridge,
    STICTION_OT_add_drawbridge,
    STICTION_OT_add_breakable_wall,
)
