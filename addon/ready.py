# SPDX-License-Identifier: GPL-3.0-or-later
"""When the operators that read the whole scene can be used."""

from __future__ import annotations

from bpy.types import Context, Operator

__all__ = ["may_read_scene"]


def may_read_scene(operator: type[Operator], context: Context) -> bool:
    """Whether the scene has rigid bodies and no bake is running; else the operator says so where it is greyed out."""
    if context.scene.rigidbody_world is None:
        operator.poll_message_set("The scene has no rigid bodies")
        return False
    if context.window_manager.stiction.is_baking:
        operator.poll_message_set("A bake is running")
        return False
    return True
