# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: the scenes of the papers and of the solver's tests."""
# pyright: reportMissingImports=false

from __future__ import annotations

import bpy
from bpy.types import Context, Menu

from .destruction import DESTRUCTION
from .everyday import EVERYDAY
from .flexible import FLEXIBLE
from .jointed import JOINTED
from .plain import PLAIN
from .published import PUBLISHED

__all__ = ["DEMOS", "TOPICS", "register", "unregister"]

DEMOS = (*PLAIN, *EVERYDAY, *PUBLISHED, *JOINTED, *DESTRUCTION, *FLEXIBLE)
# Demos in the submenus, by the ends of their operator names. The others are for tests and scripts.
TOPICS = {
    "Standing": ("card_house", "arch", "tower", "dominoes"),
    "Moving": ("conveyor", "roly_polies"),
    "With Joints": ("newtons_cradle", "breakable_wall"),
    "Destruction": (
        "brick_wall",
        "window",
        "lost_column",
        "falling_chimney",
        "bonded_bridge",
        "ice_on_a_lake",
    ),
    "Flexible": ("bookshelf", "diving_board"),
    "To Settle": ("table_for_twelve", "bin_of_mugs"),
    "From the Papers": (
        "bombarded_card_house",
        "catenary_arch",
        "jamming_tube",
        "log_house",
        "block_feeder",
        "double_action_jack",
        "rods_of_1991",
        "jamming_rod",
        "slope",
        "bar_on_four_feet",
        "bunny_drop",
        "chairs",
        "composites",
        "dinosaurs",
        "bunnies_on_arches",
        "rubber_jam",
    ),
}


class STICTION_MT_add_demo(Menu):
    bl_label = "Rigid Body Demo"
    bl_idname = "STICTION_MT_add_demo"

    def draw(self, context: Context) -> None:
        for menu in SUBMENUS:
            if menu.bl_label == "From the Papers":
                self.layout.separator()
            self.layout.menu(menu.bl_idname)


def submenu(topic: str, names: tuple[str, ...]) -> type[Menu]:
    """Return the menu of the demos of a topic."""

    def draw(self: Menu, context: Context) -> None:
        self.layout.operator_context = "EXEC_REGION_WIN"
        for name in names:
            self.layout.operator(f"stiction.add_{name}")

    idname = f"STICTION_MT_add_demo_{topic.lower().replace(' ', '_')}"
    return type(idname, (Menu,), {"bl_label": topic, "bl_idname": idname, "draw": draw})


SUBMENUS = tuple(submenu(topic, names) for topic, names in TOPICS.items())


def draw_in_add_menu(self: Menu, context: Context) -> None:
    self.layout.separator()
    self.layout.menu(STICTION_MT_add_demo.bl_idname, icon="PHYSICS")


register_classes, unregister_classes = bpy.utils.register_classes_factory((*DEMOS, *SUBMENUS, STICTION_MT_add_demo))


def register() -> None:
    """Add the demos and their menu."""
    register_classes()
    bpy.types.VIEW3D_MT_add.append(draw_in_add_menu)


def unregister() -> None:
    """Undo `register`."""
    bpy.types.VIEW3D_MT_add.remove(draw_in_add_menu)
    unregister_classes()
