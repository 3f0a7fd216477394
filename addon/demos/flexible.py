# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: scenes with bodies that bend."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from bpy.props import FloatProperty, IntProperty
from bpy.types import Context, Operator

from ...solver_core.scenes import flexible as flexible_scenes
from ...solver_core.scenes import published as published_scenes
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


FLEXIBLE = (STICTION_OT_add_chairs, STICTION_OT_add_bookshelf, STICTION_OT_add_diving_board)
