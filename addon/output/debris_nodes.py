# SPDX-License-Identifier: GPL-3.0-or-later
"""Geometry nodes that turn points of debris into chips, dust and sparks.

A chip flies on a parabola from its point until it reaches the height of the ground. Dust slows down by drag and grows. A spark
is a streak along its velocity. Points of breaks and hits become chips and dust. Points of scrapes become sparks if the bodies
slide fast, otherwise dust.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import bpy
from bpy.types import Material, Node, NodeTree, Object, Scene

from ...solver_core.debris import DebrisKind
from ..blender.modifier_inputs import set_input

__all__ = ["NAME", "add_effects"]

NAME = "Stiction Debris"
DRAG = 3.0  # 1/s; drag of dust
DUST_SHARE = 0.3  # initial velocity of dust, relative to that of the bodies
SPREAD = 0.2  # speed that chips get in addition to their own, relative to that of the hit
SPARK_SPREAD = 0.3  # scatter of sparks, relative to the sliding speed
SPARK_SECONDS = 0.6
EXPOSURE = 0.02  # s; time in which a spark flies its own length
SPIN = 12.0  # rad/s; largest angular velocity of a chip about each axis
# Colors are linear, emission is its strength.
MATERIALS = {
    "Stiction Chips": ((0.45, 0.43, 0.40), 0.0),
    "Stiction Dust": ((0.55, 0.52, 0.48), 0.0),
    "Stiction Sparks": ((1.0, 0.45, 0.1), 20.0),
}


class Input(NamedTuple):
    """An input of the node group: name, type of its socket, default, description, and subtype."""

    name: str
    type: str
    default: float | bool
    description: str
    subtype: str = "NONE"


INPUTS = (
    Input("Gravity", "Float", 9.81, "Acceleration of chips and sparks downward, in m/s²"),
    Input("Ground", "Float", 0.0, "Height at which chips and sparks come to rest", "DISTANCE"),
    Input("Chips", "Bool", True, "Chips where bonds break and bodies hit"),
    Input("Chip Share", "Float", 0.5, "Share of the points of breaks and hits that are chips; the others are dust", "FACTOR"),
    Input("Chip Size", "Float", 0.03, "Largest radius of a chip", "DISTANCE"),
    Input("Chip Speed", "Float", 1.0, "Largest speed of a chip against the bodies along each axis, in m/s"),
    Input("Dust", "Bool", True, "Dust at all other points"),
    Input("Dust Size", "Float", 0.03, "Radius of a dust point after one second", "DISTANCE"),
    Input("Dust Speed", "Float", 0.3, "Largest speed of dust against the bodies along each axis, in m/s"),
    Input("Sparks", "Bool", True, "Sparks where bodies slide fast"),
    Input("Spark Speed", "Float", 3.0, "Least sliding speed that makes sparks, in m/s"),
    Input("Spark Size", "Float", 0.002, "Radius of a spark", "DISTANCE"),
)


def add_effects(ob: Object, scene: Scene) -> None:
    """Add a modifier that shows chips, dust and sparks to an object with points of debris.

    The node tree and the materials are created once per file. Gravity is that of the scene.
    """
    tree = bpy.data.node_groups.get(NAME) or make_tree()
    modifier = ob.modifiers.new(NAME, "NODES")
    modifier.node_group = tree
    set_input(modifier, "Gravity", -float(scene.gravity[2]) if scene.use_gravity else 0.0)


class Graph:
    """Creates nodes of a tree from expressions. A value is a socket or a constant."""

    def __init__(self, tree: NodeTree) -> None:
        self.tree = tree
        self._column: dict[str, int] = {}

    def node(self, kind: str, **settings: Any) -> Node:
        """Return a new node of a type with settings."""
        node = self.tree.nodes.new(kind)
        for name, value in settings.items():
            setattr(node, name, value)
        self._column[node.name] = 0
        return node

    def feed(self, node: Node, values: Mapping[str, Any] | Mapping[int, Any]) -> Node:
        """Link or set enabled inputs of a node, by names or indices."""
        sockets = [socket for socket in node.inputs if socket.enabled]
        for name, value in values.items():
            socket = sockets[name] if isinstance(name, int) else next(one for one in sockets if one.name == name)
            if isinstance(value, bpy.types.NodeSocket):
                self.tree.links.new(value, socket)
                self._column[node.name] = max(self._column[node.name], self._column[value.node.name] + 1)
            else:
                socket.default_value = value
        return node

    def result(self, node: Node) -> Any:
        """Return the first enabled output of a node."""
        return next(socket for socket in node.outputs if socket.enabled)

    def math(self, operation: str, *values: Any) -> Any:
        """Return a number computed from numbers."""
        return self.result(self.feed(self.node("ShaderNodeMath", operation=operation), dict(enumerate(values))))

    def vector(self, operation: str, *values: Any) -> Any:
        """Return a vector or a length computed from vectors; the last operand of SCALE is a number."""
        return self.result(self.feed(self.node("ShaderNodeVectorMath", operation=operation), dict(enumerate(values))))

    def both(self, first: Any, second: Any) -> Any:
        """Return whether both flags are true."""
        return self.result(self.feed(self.node("FunctionNodeBooleanMath", operation="AND"), {0: first, 1: second}))

    def neither(self, first: Any, second: Any) -> Any:
        """Return whether no flag is true."""
        return self.result(self.feed(self.node("FunctionNodeBooleanMath", operation="NOR"), {0: first, 1: second}))

    def compare(self, operation: str, first: Any, second: Any) -> Any:
        """Return a flag computed from two numbers."""
        node = self.node("FunctionNodeCompare", data_type="FLOAT", operation=operation)
        return self.result(self.feed(node, {"A": first, "B": second}))

    def random(self, low: float, high: float, seed: int) -> Any:
        """Return a random vector that is constant over frames for each point."""
        node = self.node("FunctionNodeRandomValue", data_type="FLOAT_VECTOR")
        return self.result(self.feed(node, {"Min": (low,) * 3, "Max": (high,) * 3, "Seed": seed}))

    def named(self, name: str, kind: str = "FLOAT") -> Any:
        """Return the values of an attribute."""
        node = self.node("GeometryNodeInputNamedAttribute", data_type=kind)
        return self.result(self.feed(node, {"Name": name}))

    def upward(self, height: Any) -> Any:
        """Return a vector along Z."""
        return self.result(self.feed(self.node("ShaderNodeCombineXYZ"), {"Z": height}))

    def height(self, vector: Any) -> Any:
        """Return the Z component of a vector."""
        return self.feed(self.node("ShaderNodeSeparateXYZ"), {0: vector}).outputs["Z"]

    def stored(self, geometry: Any, name: str, value: Any) -> Any:
        """Return geometry with a number stored at its points."""
        node = self.node("GeometryNodeStoreNamedAttribute", data_type="FLOAT", domain="POINT")
        return self.result(self.feed(node, {"Geometry": geometry, "Name": name, "Value": value}))

    def instances(self, **values: Any) -> Any:
        """Return instances on points."""
        return self.result(self.feed(self.node("GeometryNodeInstanceOnPoints"), values))

    def with_material(self, geometry: Any, name: str) -> Any:
        """Return geometry with one of the materials."""
        node = self.node("GeometryNodeSetMaterial")
        return self.result(self.feed(node, {"Geometry": geometry, "Material": material(name)}))

    def arrange(self) -> None:
        """Place the nodes in columns, each to the right of its inputs."""
        rows: dict[int, int] = {}
        for name, column in self._column.items():
            row = rows[column] = rows.get(column, -1) + 1
            self.tree.nodes[name].location = 200.0 * column, -180.0 * row


def make_tree() -> NodeTree:
    """Create the node group."""
    tree = bpy.data.node_groups.new(NAME, "GeometryNodeTree")
    tree.is_modifier = True
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    for one in INPUTS:
        socket = tree.interface.new_socket(one.name, in_out="INPUT", socket_type=f"NodeSocket{one.type}")
        socket.description, socket.default_value = one.description, one.default
        if one.type == "Float":
            socket.subtype = one.subtype
            socket.min_value = -math.inf if one.name in ("Ground", "Gravity") else 0.0
            socket.max_value = 1.0 if one.subtype == "FACTOR" else math.inf
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    graph = Graph(tree)
    inputs = graph.node("NodeGroupInput").outputs
    is_scrape = graph.compare("GREATER_THAN", graph.named("kind"), DebrisKind.HIT + 0.5)
    is_fast = graph.compare("GREATER_EQUAL", graph.named("speed"), inputs["Spark Speed"])
    is_spark = graph.both(graph.both(is_scrape, is_fast), inputs["Sparks"])
    is_solid = graph.both(graph.compare("LESS_THAN", graph.named("kind"), DebrisKind.HIT + 0.5), inputs["Chips"])
    is_chip = graph.both(is_solid, graph.compare("LESS_THAN", graph.named("random"), inputs["Chip Share"]))
    is_dust = graph.both(graph.neither(is_chip, is_spark), inputs["Dust"])
    joined = graph.node("GeometryNodeJoinGeometry")
    # Linked in reverse order, in which Blender joins them.
    for part in (sparks(graph, inputs, is_spark), dust(graph, inputs, is_dust), chips(graph, inputs, is_chip)):
        graph.feed(joined, {"Geometry": part})
    graph.feed(graph.node("NodeGroupOutput"), {"Geometry": graph.result(joined)})
    graph.arrange()
    return tree


def chips(graph: Graph, inputs: Any, is_chip: Any) -> Any:
    """Return chunks of random shape that fly, spin, and come to rest on the ground."""
    speed = graph.math("ADD", inputs["Chip Speed"], graph.math("MULTIPLY", graph.named("speed"), SPREAD))
    scatter = graph.vector("SCALE", graph.random(-1.0, 1.0, 1), speed)
    velocity = graph.vector("ADD", graph.named("body_velocity", "FLOAT_VECTOR"), scatter)
    moved = in_flight(graph, inputs, velocity)
    flight = graph.named("flight_time")
    turn = graph.vector("SCALE", graph.random(-SPIN, SPIN, 2), flight)
    euler = graph.vector("ADD", graph.random(0.0, 2.0 * math.pi, 3), turn)
    rotation = graph.result(graph.feed(graph.node("FunctionNodeEulerToRotation"), {0: euler}))
    scale = graph.vector(
        "SCALE", graph.vector("MULTIPLY", graph.random(0.3, 1.0, 4), graph.random(0.4, 1.0, 5)), inputs["Chip Size"]
    )
    lump = graph.feed(graph.node("GeometryNodeMeshIcoSphere"), {"Radius": 1.0, "Subdivisions": 1}).outputs["Mesh"]
    placed = graph.instances(Points=moved, Selection=is_chip, Instance=lump, Rotation=rotation, Scale=scale)
    return graph.with_material(placed, "Stiction Chips")


def dust(graph: Graph, inputs: Any, is_dust: Any) -> Any:
    """Return points that slow down, grow, and vanish at the end of their life."""
    begin = graph.vector("SCALE", graph.named("body_velocity", "FLOAT_VECTOR"), DUST_SHARE)
    scatter = graph.vector("SCALE", graph.random(-1.0, 1.0, 6), inputs["Dust Speed"])
    age = graph.named("age")
    remaining_speed = graph.math("EXPONENT", graph.math("MULTIPLY", age, -DRAG))
    seconds = graph.math("DIVIDE", graph.math("SUBTRACT", 1.0, remaining_speed), DRAG)
    offset = graph.vector("SCALE", graph.vector("ADD", begin, scatter), seconds)
    place = graph.vector("ADD", graph.result(graph.node("GeometryNodeInputPosition")), offset)
    fade = graph.math("SQRT", graph.math("MAXIMUM", graph.math("SUBTRACT", 1.0, graph.named("life")), 0.0))
    grown = graph.math("SQRT", graph.math("ADD", age, 0.05))
    radius = graph.math("MULTIPLY", graph.math("MULTIPLY", inputs["Dust Size"], grown), fade)
    points = graph.node("GeometryNodeMeshToPoints")
    values = {"Mesh": inputs["Geometry"], "Selection": is_dust, "Position": place, "Radius": radius}
    return graph.with_material(graph.result(graph.feed(points, values)), "Stiction Dust")


def sparks(graph: Graph, inputs: Any, is_spark: Any) -> Any:
    """Return short-lived streaks along their velocities."""
    slide = graph.vector("SCALE", graph.named("slip", "FLOAT_VECTOR"), 0.5)
    spread = graph.math("MULTIPLY", graph.named("speed"), SPARK_SPREAD)
    scatter = graph.vector("SCALE", graph.random(-1.0, 1.0, 7), spread)
    begin = graph.vector("ADD", graph.named("body_velocity", "FLOAT_VECTOR"), graph.vector("ADD", slide, scatter))
    moved = in_flight(graph, inputs, begin)
    age, flight = graph.named("age"), graph.named("flight_time")
    ends = graph.math("MULTIPLY", graph.named("random"), SPARK_SECONDS)
    glows = graph.both(is_spark, graph.compare("LESS_EQUAL", age, ends))
    gained = graph.upward(graph.math("MULTIPLY", graph.math("MULTIPLY", inputs["Gravity"], flight), -1.0))
    velocity = graph.vector("ADD", begin, gained)
    rotation = graph.result(graph.feed(graph.node("FunctionNodeAlignRotationToVector", axis="Z"), {"Vector": velocity}))
    length = graph.math("MULTIPLY", graph.vector("LENGTH", velocity), EXPOSURE)
    size = inputs["Spark Size"]
    scale = graph.result(graph.feed(graph.node("ShaderNodeCombineXYZ"), {"X": size, "Y": size, "Z": length}))
    rod = graph.feed(graph.node("GeometryNodeMeshCylinder"), {"Vertices": 6, "Radius": 1.0, "Depth": 1.0}).outputs["Mesh"]
    placed = graph.instances(Points=moved, Selection=glows, Instance=rod, Rotation=rotation, Scale=scale)
    return graph.with_material(placed, "Stiction Sparks")


def in_flight(graph: Graph, inputs: Any, velocity: Any) -> Any:
    """Return the points moved on parabolas, with the time of flight in s as `flight_time`.

    A point stops on the ground. A point that starts below the ground does not fall.
    """
    gravity, age = inputs["Gravity"], graph.named("age")
    above = graph.math("MAXIMUM", graph.math("SUBTRACT", graph.height(position(graph)), inputs["Ground"]), 0.0)
    rises = graph.height(velocity)
    fallen = graph.math("MULTIPLY", graph.math("MULTIPLY", gravity, 2.0), above)
    root = graph.math("SQRT", graph.math("MAXIMUM", graph.math("ADD", graph.math("MULTIPLY", rises, rises), fallen), 0.0))
    # Without gravity it never reaches the ground.
    lands = graph.math("DIVIDE", graph.math("ADD", rises, root), graph.math("MAXIMUM", gravity, 1e-9))
    flight = graph.math("MINIMUM", age, lands)
    stored = graph.stored(inputs["Geometry"], "flight_time", flight)
    flown = graph.named("flight_time")
    drop = graph.math("MULTIPLY", graph.math("MULTIPLY", gravity, graph.math("MULTIPLY", flown, flown)), -0.5)
    offset = graph.vector("ADD", graph.vector("SCALE", velocity, flown), graph.upward(drop))
    return graph.result(graph.feed(graph.node("GeometryNodeSetPosition"), {"Geometry": stored, "Offset": offset}))


def position(graph: Graph) -> Any:
    """Return the positions of the points."""
    return graph.result(graph.node("GeometryNodeInputPosition"))


def material(name: str) -> Material:
    """Return one of the materials, created once per file."""
    found = next((one for one in bpy.data.materials if one.name == name and one.library is None), None)
    if found is not None:
        return found
    color, emission = MATERIALS[name]
    new = bpy.data.materials.new(name)
    if new.node_tree is None:
        new.use_nodes = True
    new.diffuse_color = (*color, 1.0)
    tree = new.node_tree
    assert tree is not None
    surface = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED").inputs
    surface["Base Color"].default_value, surface["Roughness"].default_value = (*color, 1.0), 0.9
    if emission:
        surface["Emission Color"].default_value, surface["Emission Strength"].default_value = (*color, 1.0), emission
    return new
