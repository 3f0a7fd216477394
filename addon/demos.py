# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: the scenes of the papers and of the solver's tests."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

import bpy
from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Menu, Operator

from ..solver_core import jointed_scenes, published_scenes, scenes
from ..solver_core.scene.spec import FrictionCombine, SceneSpec
from .demo_scene import build_scene, hidden_by

__all__ = ["register", "unregister"]

# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}


class AddDemo:
    """What the operators of the menu have in common."""

    bl_label: str

    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.mode == "OBJECT"

    def add(
        self: Operator, context: Context, spec: SceneSpec, *, substeps: int | None = None, see_through: tuple[str, ...] = ()
    ) -> set[str]:
        """substeps: the time steps a frame that the scene needs, where those of the file will not do. see_through: how the
        names of bodies begin that others move inside of."""
        assert spec.friction_combine is FrictionCombine.PRODUCT, "Blender's own rigid bodies multiply friction"
        before = set(context.scene.objects)
        made = build_scene(context, spec, self.bl_label)
        if substeps is not None:
            context.scene.rigidbody_world.substeps_per_frame = substeps
        for ob in made.objects:
            if see_through and ob.name.startswith(see_through):
                ob.display_type = "WIRE"
        hiding = hidden_by(before, set(context.scene.objects) - before)
        if hiding:
            self.report({"WARNING"}, f"It stands inside of {', '.join(sorted(hiding))}: delete or move that to see it")
        else:
            self.report({"INFO"}, "Gravity, frame rate and frame range are those of the demo")
        return {"FINISHED"}


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


class STICTION_OT_add_bombarded_card_house(AddDemo, Operator):
    """Add a house of cards that stands until small blocks fall on it, and part of which comes down"""

    bl_idname = "stiction.add_bombarded_card_house"
    bl_label = "Card House under Blocks"

    levels: IntProperty(name="Levels", description="Rows of leaning cards", default=6, min=2, soft_max=10)
    blocks: IntProperty(name="Blocks", description="How many fall, one after the other", default=2, min=0, soft_max=10)
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
    """Add an arch in the line of a hanging chain, on which a block falls, and at whose leg others are thrown"""

    bl_idname = "stiction.add_catenary_arch"
    bl_label = "Catenary Arch"

    blocks: IntProperty(name="Blocks", description="Number of blocks in the arch", default=27, min=5, soft_max=61)
    dropped: IntProperty(name="Dropped", description="How many blocks fall on the keystone", default=1, min=0, soft_max=5)
    thrown: IntProperty(name="Thrown", description="How many blocks are thrown at a leg", default=2, min=0, soft_max=5)
    speed: FloatProperty(name="Speed", description="At which blocks are thrown", default=10.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of block on block", default=0.6, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.catenary_arch(
            blocks=self.blocks, dropped=self.dropped, thrown=self.thrown, speed=self.speed, mu=self.friction
        )
        return self.add(context, spec)


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
    """Add a row of dominoes, the first of which is pushed"""

    bl_idname = "stiction.add_dominoes"
    bl_label = "Dominoes"

    tiles: IntProperty(name="Dominoes", description="How many stand in the row", default=30, min=1, soft_max=200)
    pitch: FloatProperty(
        name="Pitch", description="From one domino to the next", default=0.02, min=0.008, soft_max=0.1, unit="LENGTH"
    )
    bend: FloatProperty(
        name="Bend", description="Angle by which the row turns in all", default=0.8, subtype="ANGLE", unit="ROTATION"
    )
    push: FloatProperty(
        name="Push", description="Speed of the upper edge of the first domino", default=0.25, min=0.0, unit="VELOCITY"
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.dominoes(tiles=self.tiles, pitch=self.pitch, bend=self.bend, push=self.push))


class STICTION_OT_add_jamming_tube(AddDemo, Operator):
    """Add a tube with a neck, and cubes that fall through it, or jam in it with more friction"""

    bl_idname = "stiction.add_jamming_tube"
    bl_label = "Jamming Tube"

    friction: FloatProperty(
        name="Friction",
        description="Coefficient of friction of cube on cube and on the tube",
        default=0.5,
        min=0.0,
        soft_max=1.5,
    )
    layers: IntProperty(name="Layers", description="Of four cubes each", default=6, min=1, soft_max=20)
    neck: FloatProperty(name="Neck", description="Width of the neck in edges of a cube", default=2.2, min=1.0, max=4.0)
    seed: IntProperty(name="Seed", description="Draws the turns of the cubes", default=1, min=0)

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.jamming_tube(mu=self.friction, layers=self.layers, neck=self.neck, seed=self.seed)
        return self.add(context, spec, see_through=("Neck", "Taper", "Tube"))


class STICTION_OT_add_log_house(AddDemo, Operator):
    """Add a house of notched logs that slides over a ramp and breaks up at a curb"""

    bl_idname = "stiction.add_log_house"
    bl_label = "Log House"

    courses: IntProperty(name="Courses", description="Logs above each other in every wall", default=15, min=1, soft_max=20)
    roof: IntProperty(name="Roof", description="Planks laid across the top", default=9, min=0, soft_max=20)
    speed: FloatProperty(name="Speed", description="At which the house slides", default=7.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of log on log", default=0.5, min=0.01, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.log_house(courses=self.courses, roof=self.roof, speed=self.speed, mu=self.friction)
        return self.add(context, spec)


class STICTION_OT_add_newtons_cradle(AddDemo, Operator):
    """Add Newton's cradle: as many balls as come swing on"""

    bl_idname = "stiction.add_newtons_cradle"
    bl_label = "Newton's Cradle"

    balls: IntProperty(name="Balls", description="How many hang in a row", default=5, min=2, soft_max=9)
    raised: IntProperty(name="Raised", description="How many are let go", default=1, min=1, soft_max=8)
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

    speed: FloatProperty(name="Speed", description="Radians a second at which the plane turns", default=1.0, soft_max=5.0)
    dark: FloatProperty(name="Dark", description="Coefficient of friction of the dark ball", default=0.7, min=0.0, soft_max=1.5)
    light: FloatProperty(name="Light", description="Coefficient of friction of the others", default=0.2, min=0.0, soft_max=1.5)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.four_ball_solid(speed=self.speed, dark=self.dark, light=self.light))


class STICTION_OT_add_rods_of_1991(AddDemo, Operator):
    """Add the two rods of Baraff's paper of 1991: one is free of the ground at once, only an impulse stops the other"""

    bl_idname = "stiction.add_rods_of_1991"
    bl_label = "Rods of 1991"

    speed: FloatProperty(name="Speed", description="Of the tips over the ground", default=2.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(name="Friction", description="Of rod on ground", default=0.75, min=0.0, soft_max=1.5)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, published_scenes.rods_of_1991(speed=self.speed, mu=self.friction))


class STICTION_OT_add_jamming_rod(AddDemo, Operator):
    """Add a rod that is pushed over the ground ahead of its middle and jams, as chalk on a board"""

    bl_idname = "stiction.add_jamming_rod"
    bl_label = "Jamming Rod"

    speed: FloatProperty(name="Speed", description="At which it is pushed", default=3.0, min=0.0, unit="VELOCITY")
    friction: FloatProperty(
        name="Friction",
        description="Coefficient of friction of rod on ground; it jams above 4/3",
        default=2.0,
        min=0.0,
        soft_max=3.0,
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.jamming_rod(speed=self.speed, mu=self.friction))


class STICTION_OT_add_tower(AddDemo, Operator):
    """Add a tower of boxes whose top one is far heavier than the others"""

    bl_idname = "stiction.add_tower"
    bl_label = "Heavy Tower"

    boxes: IntProperty(name="Boxes", description="Number of boxes", default=10, min=2, soft_max=50)
    heaviest: FloatProperty(name="Heaviest", description="Mass of the top box against the others'", default=1000.0, min=1.0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.tower(boxes=self.boxes, heaviest=self.heaviest))


class STICTION_OT_add_slope(AddDemo, Operator):
    """Add a box on a slope that it holds or slides down, by its friction"""

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
    """Add a cube that is dropped flat on the ground"""

    bl_idname = "stiction.add_dropped_cube"
    bl_label = "Dropped Cube"

    height: FloatProperty(
        name="Height", description="From the ground to the cube's lower face", default=4.0, min=0.0, unit="LENGTH"
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.dropped_cube(height=self.height))


class STICTION_OT_add_hanging_chain(AddDemo, Operator):
    """Add a chain between two posts, and a box that falls into it"""

    bl_idname = "stiction.add_hanging_chain"
    bl_label = "Hanging Chain"

    links: IntProperty(name="Links", description="Number of links", default=24, min=4, soft_max=100)
    load: FloatProperty(name="Load", description="Mass of the box", default=1.0, min=0.01, unit="MASS")

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.hanging_chain(links=self.links, load=self.load))


class STICTION_OT_add_drawbridge(AddDemo, Operator):
    """Add a bridge that a motor lifts until the crates on it slide off"""

    bl_idname = "stiction.add_drawbridge"
    bl_label = "Drawbridge"

    speed: FloatProperty(
        name="Speed", description="Radians a second at which it is lifted", default=0.35, min=0.0, soft_max=2.0
    )
    torque: FloatProperty(name="Torque", description="Largest torque of the motor, in N m", default=4000.0, min=0.0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.drawbridge(speed=self.speed, torque=self.torque))


class STICTION_OT_add_breakable_wall(AddDemo, Operator):
    """Add a wall of bricks with joints that break, and a ball that is shot at it"""

    bl_idname = "stiction.add_breakable_wall"
    bl_label = "Breakable Wall"

    columns: IntProperty(name="Columns", description="Bricks in a row", default=10, min=2, soft_max=30)
    rows: IntProperty(name="Rows", description="Rows of bricks", default=6, min=1, soft_max=20)
    strength: FloatProperty(name="Strength", description="What a joint bears in a time step, in N s", default=3.0, min=0.0)
    shot: FloatProperty(name="Shot", description="Speed of the ball", default=12.0, min=0.0, unit="VELOCITY")

    def execute(self, context: Context) -> set[str]:
        spec = jointed_scenes.breakable_wall(columns=self.columns, rows=self.rows, strength=self.strength, shot=self.shot)
        return self.add(context, spec)


DEMOS = (
    STICTION_OT_add_card_house,
    STICTION_OT_add_bombarded_card_house,
    STICTION_OT_add_arch,
    STICTION_OT_add_catenary_arch,
    STICTION_OT_add_tower,
    STICTION_OT_add_wall,
    STICTION_OT_add_dominoes,
    STICTION_OT_add_slope,
    STICTION_OT_add_dropped_cube,
    STICTION_OT_add_rods_of_1991,
    STICTION_OT_add_jamming_rod,
    STICTION_OT_add_jamming_tube,
    STICTION_OT_add_log_house,
    STICTION_OT_add_newtons_cradle,
    STICTION_OT_add_four_ball_solid,
    STICTION_OT_add_hanging_chain,
    STICTION_OT_add_drawbridge,
    STICTION_OT_add_breakable_wall,
)


class STICTION_MT_add_demo(Menu):
    bl_label = "Rigid Body Demo"
    bl_idname = "STICTION_MT_add_demo"

    def draw(self, context: Context) -> None:
        self.layout.operator_context = "EXEC_REGION_WIN"
        for operator in DEMOS:
            self.layout.operator(operator.bl_idname)


def draw_in_add_menu(self: Menu, context: Context) -> None:
    self.layout.separator()
    self.layout.menu(STICTION_MT_add_demo.bl_idname, icon="PHYSICS")


register_classes, unregister_classes = bpy.utils.register_classes_factory((*DEMOS, STICTION_MT_add_demo))


def register() -> None:
    """Add the demos and their menu."""
    register_classes()
    bpy.types.VIEW3D_MT_add.append(draw_in_add_menu)


def unregister() -> None:
    """Take away what `register` added."""
    bpy.types.VIEW3D_MT_add.remove(draw_in_add_menu)
    unregister_classes()
