# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry nodes that show the pieces of a collection at points, each where its point is and as that is turned."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.types import Collection, NodeTree, Object

from ..blender.modifier_inputs import set_input

__all__ = ["NAME", "PIECE", "ROTATION", "SCALE", "add_instances"]

NAME = "Stiction Pieces"
# Attributes of the points.
ROTATION, SCALE, PIECE = "rotation", "scale", "piece"


def add_instances(ob: Object, pieces: Collection) -> None:
    """Give an object with points a modifier that shows the pieces there; the node tree is made once in a file."""
    tree = bpy.data.node_groups.get(NAME) or make_tree()
    modifier = ob.modifiers.new(NAME, "NODES")
    modifier.node_group = tree
    set_input(modifier, "Pieces", pieces)


def make_tree() -> NodeTree:
    """Points have the number of their piece, its rotation and its scale."""
    tree = bpy.data.node_groups.new(NAME, "GeometryNodeTree")
    tree.is_modifier = True
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Pieces", in_out="INPUT", socket_type="NodeSocketCollection")
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    given, result = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    pieces, placed = tree.nodes.new("GeometryNodeCollectionInfo"), tree.nodes.new("GeometryNodeInstanceOnPoints")
    pieces.inputs["Separate Children"].default_value = True
    pieces.inputs["Reset Children"].default_value = True
    placed.inputs["Pick Instance"].default_value = True
    turn, scale, number = (named(tree, *one) for one in ((ROTATION, "QUATERNION"), (SCALE, "FLOAT_VECTOR"), (PIECE, "INT")))
    links = (
        (given.outputs["Geometry"], placed.inputs["Points"]),
        (given.outputs["Pieces"], pieces.inputs["Collection"]),
        (pieces.outputs["Instances"], placed.inputs["Instance"]),
        (number, placed.inputs["Instance Index"]),
        (turn, placed.inputs["Rotation"]),
        (scale, placed.inputs["Scale"]),
        (placed.outputs["Instances"], result.inputs["Geometry"]),
    )
    for source, target in links:
        tree.links.new(source, target)
    for column, nodes in enumerate([[given], [pieces, number.node, turn.node, scale.node], [placed], [result]]):
        for row, node in enumerate(nodes):
            node.location = 220.0 * column, -170.0 * row
    return tree


def named(tree: NodeTree, name: str, kind: str) -> Any:
    """The values of an attribute of that type."""
    node = tree.nodes.new("GeometryNodeInputNamedAttribute")
    node.data_type = kind
    node.inputs["Name"].default_value = name
    return next(socket for socket in node.outputs if socket.enabled and socket.name == "Attribute")
