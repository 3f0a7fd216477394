# SPDX-License-Identifier: GPL-3.0-or-later
"""Geometry nodes that show instances of the objects in a collection at points, with their rotations."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.types import Collection, NodeTree, Object

from ..blender.modifier_inputs import set_input

__all__ = ["NAME", "PIECE", "ROTATION", "SCALE", "add_instances"]

NAME = "Stiction Pieces"
# attributes of the points
ROTATION, SCALE, PIECE = "rotation", "scale", "piece"


def add_instances(ob: Object, pieces: Collection) -> None:
    """Add a modifier that shows the instances to an object with points. The node tree is created once per file."""
    tree = bpy.data.node_groups.get(NAME) or make_tree()
    modifier = ob.modifiers.new(NAME, "NODES")
    modifier.node_group = tree
    set_input(modifier, "Pieces", pieces)


def make_tree() -> NodeTree:
    """Create the node tree. Points have the index, the rotation and the scale of their instance."""
    tree = bpy.data.node_groups.new(NAME, "GeometryNodeTree")
    tree.is_modifier = True
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Pieces", in_out="INPUT", socket_type="NodeSocketCollection")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    inputs, result = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    pieces, placed = tree.nodes.new("GeometryNodeCollectionInfo"), tree.nodes.new("GeometryNodeInstanceOnPoints")
    pieces.inputs["Separate Children"].default_value = True
    pieces.inputs["Reset Children"].default_value = True
    placed.inputs["Pick Instance"].default_value = True
    turn, scale, number = (named(tree, *one) for one in ((ROTATION, "QUATERNION"), (SCALE, "FLOAT_VECTOR"), (PIECE, "INT")))
    links = (
        (inputs.outputs["Geometry"], placed.inputs["Points"]),
        (inputs.outputs["Pieces"], pieces.inputs["Collection"]),
        (pieces.outputs["Instances"], placed.inputs["Instance"]),
        (number, placed.inputs["Instance Index"]),
        (turn, placed.inputs["Rotation"]),
        (scale, placed.inputs["Scale"]),
        (placed.outputs["Instances"], result.inputs["Geometry"]),
    )
    for source, target in links:
        tree.links.new(source, target)
    for column, nodes in enumerate([[inputs], [pieces, number.node, turn.node, scale.node], [placed], [result]]):
        for row, node in enumerate(nodes):
            node.location = 220.0 * column, -170.0 * row
    return tree


def named(tree: NodeTree, name: str, kind: str) -> Any:
    """Return the values of an attribute of that type."""
    node = tree.nodes.new("GeometryNodeInputNamedAttribute")
    node.data_type = kind
    node.inputs["Name"].default_value = name
    return next(socket for socket in node.outputs if socket.enabled and socket.name == "Attribute")
