# SPDX-License-Identifier: GPL-3.0-or-later
"""Example geometry nodes for contacts: a small ball at each slide or impact, sized by its impulse."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.types import NodeTree, Object

from ...solver_core.dynamics.model.frame import ContactState

__all__ = ["add_example"]

NAME = "Stiction Marks"
# An impulse scales with the cube of a length, like a mass.
ROOT = 1.0 / 3.0
SIZE = 0.05  # m; size of the mark of 1 N s


def add_example(ob: Object) -> None:
    """Add a modifier that marks contacts to an object with contacts as points. The node tree is created once per file."""
    tree = bpy.data.node_groups.get(NAME) or make_tree()
    ob.modifiers.new(NAME, "NODES").node_group = tree


def make_tree() -> NodeTree:
    """Create the node tree. Sliding contacts and impacts get a ball sized by the cube root of their impulse."""
    tree = bpy.data.node_groups.new(NAME, "GeometryNodeTree")
    tree.is_modifier = True
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    size = tree.interface.new_socket("Size", in_out="INPUT", socket_type="NodeSocketFloat")
    size.default_value, size.min_value, size.subtype = SIZE, 0.0, "DISTANCE"
    size.description = "Size of the mark of an impulse of 1 N s"
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    inputs, result = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    state, impulse = named(tree, "state"), named(tree, "impulse")
    chosen = tree.nodes.new("FunctionNodeCompare")
    chosen.operation = "GREATER_EQUAL"
    chosen.inputs[1].default_value = float(ContactState.SLIDING)
    root, scaled = (tree.nodes.new("ShaderNodeMath") for _ in range(2))
    root.operation, scaled.operation = "POWER", "MULTIPLY"
    root.inputs[1].default_value = ROOT
    ball = tree.nodes.new("GeometryNodeMeshIcoSphere")
    placed = tree.nodes.new("GeometryNodeInstanceOnPoints")
    links = (
        (inputs.outputs["Geometry"], placed.inputs["Points"]),
        (state, chosen.inputs[0]),
        (chosen.outputs["Result"], placed.inputs["Selection"]),
        (ball.outputs["Mesh"], placed.inputs["Instance"]),
        (impulse, root.inputs[0]),
        (root.outputs[0], scaled.inputs[0]),
        (inputs.outputs["Size"], scaled.inputs[1]),
        (scaled.outputs[0], placed.inputs["Scale"]),
        (placed.outputs["Instances"], result.inputs["Geometry"]),
    )
    for source, target in links:
        tree.links.new(source, target)
    for column, nodes in enumerate([[inputs, state.node, impulse.node], [chosen, root, ball], [scaled], [placed], [result]]):
        for row, node in enumerate(nodes):
            node.location = 220.0 * column, -170.0 * row
    return tree


def named(tree: NodeTree, name: str) -> Any:
    """Return the values of an attribute."""
    node = tree.nodes.new("GeometryNodeInputNamedAttribute")
    node.inputs["Name"].default_value = name
    return next(socket for socket in node.outputs if socket.enabled and socket.name == "Attribute")
