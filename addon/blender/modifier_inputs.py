# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs of a geometry nodes modifier by socket name."""

from __future__ import annotations

from typing import Any

from bpy.types import NodesModifier

__all__ = ["set_input"]


def set_input(modifier: NodesModifier, name: str, value: Any) -> None:
    """Set an input of a modifier that has a node group; raises StopIteration where the group has no input of that name."""
    items = modifier.node_group.interface.items_tree
    identifier = next(item.identifier for item in items if item.name == name and item.in_out == "INPUT")
    if hasattr(modifier, "properties"):
        # From Blender 5.2 on they are ordinary properties.
        getattr(modifier.properties.inputs, identifier).value = value
    else:
        modifier[identifier] = value
