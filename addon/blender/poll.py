# SPDX-License-Identifier: GPL-3.0-or-later
"""Poll functions of operators, with messages, and modules loaded before a scene is read."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from bpy.types import Context, Operator

from .cooperative import Steps, aside

__all__ = ["has_bake", "is_idle", "load_what_reads", "may_read_scene"]

# Modules that load scipy.
READS = "...solver_core.validation.scene"


def load_what_reads() -> Steps[None]:
    """Load what only reading a scene needs, scipy above all; Blender starts faster without."""
    yield from aside("Loading", partial(import_module, READS, __package__))


def has_bake(operator: type[Operator], context: Context) -> bool:
    """Return True if the scene has a bake, cached or as keyframes."""
    if context.scene.stiction.bake.state == "NONE":
        operator.poll_message_set("There is no bake")
        return False
    return True


def may_read_scene(operator: type[Operator], context: Context) -> bool:
    """Return True if the scene has rigid bodies and no bake is running."""
    if context.scene.rigidbody_world is None:
        operator.poll_message_set("The scene has no rigid bodies")
        return False
    return is_idle(operator, context)


def is_idle(operator: type[Operator], context: Context) -> bool:
    """Return True if no bake is running or about to start."""
    if context.window_manager.stiction.is_baking:
        operator.poll_message_set("A bake is running")
        return False
    if context.window_manager.stiction.is_reading:
        operator.poll_message_set("The scene is being read")
        return False
    return True
