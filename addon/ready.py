# SPDX-License-Identifier: GPL-3.0-or-later
"""When operators can be used; where they cannot, they say why."""

from __future__ import annotations

from bpy.types import Context, Operator

__all__ = ["has_bake", "may_read_scene"]


def has_bake(operator: type[Operator], context: Context) -> bool:
    """Whether the scene has a bake, cached or as keyframes."""
    if context.scene.stiction.bake.state == "NONE":
        operator.poll_message_set("There is no bake")
        return False
    return True


def may_read_scene(operator: type[Operator], context: Context) -> bool:
    """Whether the scene has rigid bodies and no bake is running."""
    if context.scene.rigidbody_world is None:
        operator.poll_message_set("The scene has no rigid bodies")
        return False
    if context.window_manager.stiction.is_baking:
        operator.poll_message_set("A bake is running")
        return False
    return True
