# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: the scenes of the papers and of the solver's tests."""
# pyright: reportMissingImports=false

from __future__ import annotations

import bpy
from bpy.types import Context, Menu

from .flexible import FLEXIBLE
from .jointed import JOINTED
from .plain import PLAIN
from .published import PUBLISHED

__all__ = ["DEMOS", "register", "unregister"]

GROUPS = (PLAIN, PUBLISHED, JOINTED, FLEXIBLE)
DEMOS = tuple(operator for group in GROUPS for operator in group)


class STICTION_MT_add_demo(Menu):
    bl_label = "Rigid Body Demo"
    bl_idname = "STICTION_MT_add_demo"

    def draw(self, context: Context) -> None:
        self.layout.operator_context = "EXEC_REGION_WIN"
        for group in GROUPS:
            if group is not GROUPS[0]:
                self.layout.separator()
            for operator in group:
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
