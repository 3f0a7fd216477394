# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: scenes with bodies that bend."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from bpy.props import BoolProperty, FloatProperty, IntProperty
from bpy.types import Context, Operator

from ...solver_core.scene.deformable import Elasticity
from ...solver_core.scenes import flexible as flexible_scenes
from ...solver_core.scenes import published as published_scenes
from ...solver_core.scenes import published_bending as bending_scenes
from ..settings.object_properties import PA
from .add import AddDemo

__all__ = ["FLEXIBLE"]


class STICTION_OT_add_chairs(AddDemo, Operator):
    """Add chairs on a slope: their legs bend, stick and slip, and they chatter down where rigid ones slide"""

    bl_idname = "stiction.add_chairs"
    bl_label = "Chattering Chairs"

    count: IntProperty(name="Chairs", description="Number of chairs in the row", default=4, min=1, soft_max=40)
    slope: FloatProperty(name="Slope", description="Rise of the ground per length", default=0.55, min=0.0, soft_max=1.5)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of chair on ground", default=0.5, min=0.0, soft_max=1.5
    )
    stiffness: FloatProperty(name="Stiffness", description="Young's modulus of the chairs in MPa", default=1500.0, min=1.0)

    def execute(self, context: Context) -> set[str]:
        spec = published_scenes.chairs(count=self.count, slope=self.slope, mu=self.friction, young=PA * self.stiffness)
        return self.add(context, spec)


class STICTION_OT_add_bookshelf(AddDemo, Operator):
    """Add a board that sags under books, and rattles when one more falls on it"""

    bl_idname = "stiction.add_bookshelf"
    bl_label = "Bookshelf"

    books: IntProperty(name="Books", description="Number of books that stand on the board", default=12, min=0, max=30)
    thickness: FloatProperty(name="Thickness", description="Thickness of the board", default=0.015, min=0.005, unit="LENGTH")
    stiffness: FloatProperty(name="Stiffness", description="Young's modulus of the board in MPa", default=3000.0, min=1.0)

    def execute(self, context: Context) -> set[str]:
        spec = flexible_scenes.bookshelf(books=self.books, thickness=self.thickness, young=PA * self.stiffness)
        return self.add(context, spec)


class STICTION_OT_add_diving_board(AddDemo, Operator):
    """Add a diving board with a box falling on its end, which it throws up"""

    bl_idname = "stiction.add_diving_board"
    bl_label = "Diving Board"

    mass: FloatProperty(name="Mass", description="Mass of the falling box", default=60.0, min=0.1, unit="MASS")
    height: FloatProperty(name="Height", description="Height that the box falls by", default=0.6, min=0.0, unit="LENGTH")
    stiffness: FloatProperty(name="Stiffness", description="Young's modulus of the board in MPa", default=4000.0, min=1.0)

    def execute(self, context: Context) -> set[str]:
        spec = flexible_scenes.diving_board(mass=self.mass, height=self.height, young=PA * self.stiffness)
        return self.add(context, spec)


class STICTION_OT_add_soft_heap(AddDemo, Operator):
    """Add a rubber ball and a cube of foam under crates that fall on them"""

    bl_idname = "stiction.add_soft_heap"
    bl_label = "Rubber and Foam"

    crates: IntProperty(name="Crates", description="Number of crates that fall", default=12, min=0, soft_max=40)
    seed: IntProperty(name="Seed", description="Seed of the random rotations of the crates", default=1, min=0)
    rubber: FloatProperty(name="Rubber", description="Young's modulus of the ball in MPa", default=1.0, min=0.01)
    foam: FloatProperty(name="Foam", description="Young's modulus of the cube in MPa", default=0.1, min=0.01)

    def execute(self, context: Context) -> set[str]:
        spec = flexible_scenes.soft_heap(crates=self.crates, seed=self.seed, rubber=PA * self.rubber, foam=PA * self.foam)
        return self.add(context, spec)


class STICTION_OT_add_card_bridge(AddDemo, Operator):
    """Add playing cards across two blocks, which sag under coins that fall on them"""

    bl_idname = "stiction.add_card_bridge"
    bl_label = "Card Bridge"

    cards: IntProperty(name="Cards", description="Number of cards on each other", default=2, min=1, soft_max=5)
    coins: IntProperty(name="Coins", description="Number of coins that fall", default=5, min=0, soft_max=12)
    stiffness: FloatProperty(name="Stiffness", description="Young's modulus of the cards in MPa", default=3000.0, min=1.0)

    def execute(self, context: Context) -> set[str]:
        spec = flexible_scenes.card_bridge(cards=self.cards, coins=self.coins, young=PA * self.stiffness)
        return self.add(context, spec)


class STICTION_OT_add_composites(AddDemo, Operator):
    """Add woven squares on pegs, rougher to the left and stiffer above: with too little of both they come apart"""

    bl_idname = "stiction.add_composites"
    bl_label = "Composites"

    stiffness: FloatProperty(name="Upper Row", description="Young's modulus of the upper row in MPa", default=60.0, min=0.1)
    softer: FloatProperty(name="Lower Row", description="Young's modulus of the lower row in MPa", default=32.0, min=0.1)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, bending_scenes.composites(young=(PA * self.stiffness, PA * self.softer)))


class STICTION_OT_add_dinosaurs(AddDemo, Operator):
    """Add rubber dinosaurs that are thrown together and end in a pile"""

    bl_idname = "stiction.add_dinosaurs"
    bl_label = "Rubber Dinosaurs"

    count: IntProperty(name="Dinosaurs", description="Number of dinosaurs", default=9, min=1, soft_max=30)
    speed: FloatProperty(name="Speed", description="Speed at which they are thrown", default=1.5, min=0.0, unit="VELOCITY")
    friction: FloatProperty(name="Friction", description="Coefficient of friction", default=0.5, min=0.0, soft_max=1.5)
    stiffness: FloatProperty(name="Stiffness", description="Young's modulus in MPa", default=2.0, min=0.1)
    large: BoolProperty(name="Large Bends", description="Necks and tails keep their length as they bend; takes twice as long")

    def execute(self, context: Context) -> set[str]:
        kind = Elasticity.STVK if self.large else Elasticity.LINEAR
        spec = bending_scenes.dinosaurs(self.count, self.speed, mu=self.friction, young=PA * self.stiffness, kind=kind)
        return self.add(context, spec)


class STICTION_OT_add_bunnies_on_arches(AddDemo, Operator):
    """Add rough red and slippery blue rubber bunnies that slide down a ramp into arches of stone"""

    bl_idname = "stiction.add_bunnies_on_arches"
    bl_label = "Bunnies on Arches"

    each: IntProperty(name="Bunnies", description="Number of bunnies of each color", default=4, min=1, soft_max=10)
    stiffness: FloatProperty(name="Stiffness", description="Young's modulus of the bunnies in MPa", default=2.0, min=0.1)
    large: BoolProperty(name="Large Bends", description="Ears keep their length as they bend; takes twice as long")

    def execute(self, context: Context) -> set[str]:
        kind = Elasticity.STVK if self.large else Elasticity.LINEAR
        return self.add(context, bending_scenes.bunnies_on_arches(self.each, young=PA * self.stiffness, kind=kind))


class STICTION_OT_add_rubber_jam(AddDemo, Operator):
    """Add a tube with a neck, and cubes of rubber that fall through or jam, depending on friction"""

    bl_idname = "stiction.add_rubber_jam"
    bl_label = "Jamming Rubber"

    friction: FloatProperty(name="Friction", description="Coefficient of friction", default=0.5, min=0.0, soft_max=1.5)
    layers: IntProperty(name="Layers", description="Layers of four cubes each", default=4, min=1, soft_max=12)
    stiffness: FloatProperty(name="Stiffness", description="Young's modulus of the cubes in MPa", default=0.2, min=0.01)

    def execute(self, context: Context) -> set[str]:
        spec = bending_scenes.rubber_jam(young=PA * self.stiffness, mu=self.friction, layers=self.layers)
        return self.add(context, spec, see_through=("Neck", "Taper", "Tube"))


FLEXIBLE = (
    STICTION_OT_add_chairs,
    STICTION_OT_add_bookshelf,
    STICTION_OT_add_diving_board,
    STICTION_OT_add_soft_heap,
    STICTION_OT_add_card_bridge,
    STICTION_OT_add_composites,
    STICTION_OT_add_dinosaurs,
    STICTION_OT_add_bunnies_on_arches,
    STICTION_OT_add_rubber_jam,
)
