# SPDX-License-Identifier: GPL-3.0-or-later
"""Add > Rigid Body Demo: the scenes of the solver's tests as Blender objects with Blender's own rigid body settings."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

import math

import bmesh
import bpy
import numpy as np
from bpy.props import FloatProperty, IntProperty
from bpy.types import Collection, Context, Menu, Mesh, Object, Operator, Scene
from mathutils import Quaternion, Vector

from ..solver_core import jointed_scenes, scenes
from ..solver_core.scene.spec import BodyKind, BodySpec, FrictionCombine, SceneSpec, ShapeKind, ShapeSpec
from .constraints import add_constraint

__all__ = ["build_scene", "register", "unregister"]

# A half-space becomes a slab that many times as wide as what stands on it.
GROUND_WIDTH = 6.0
GROUND_THICKNESS = 0.1
COPLANAR = math.radians(0.05)
# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}


def build_scene(context: Context, spec: SceneSpec, name: str) -> Collection:
    """Make the bodies of `spec` around the 3D cursor, in a collection of their own, and select them."""
    scene = context.scene
    members = world_members(context)
    collection = bpy.data.collections.new(name)
    scene.collection.children.link(collection)
    meshes: dict[bytes, Mesh] = {}
    objects: dict[str, Object] = {}
    for ob in context.selected_objects:
        ob.select_set(False)
    for body in spec.bodies:
        objects[body.name] = ob = build_body(body, spec, meshes)
        ob.location += scene.cursor.location
        collection.objects.link(ob)
        # A mesh that joins the collection of the rigid body world becomes a rigid body.
        members.objects.link(ob)
        set_rigid_body(ob, body)
        if body.kind is BodyKind.ACTIVE:
            ob.select_set(True)
            context.view_layer.objects.active = ob
    for joint in spec.joints:
        ob = add_constraint(joint, spec, objects, scene.rigidbody_world)
        ob.location += scene.cursor.location
        collection.objects.link(ob)
    set_scene(scene, spec)
    return collection


def world_members(context: Context) -> Collection:
    scene = context.scene
    if scene.rigidbody_world is None:
        bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    assert world is not None
    if world.collection is None:
        world.collection = bpy.data.collections.new("RigidBodyWorld")
    return world.collection


def set_scene(scene: Scene, spec: SceneSpec) -> None:
    scene.gravity = spec.gravity
    scene.use_gravity = True
    cache = scene.rigidbody_world.point_cache
    cache.frame_start, cache.frame_end = spec.frame_start, spec.frame_end
    scene.frame_start, scene.frame_end = spec.frame_start, spec.frame_end
    scene.render.fps, scene.render.fps_base = round(spec.fps), 1.0
    scene.rigidbody_world.time_scale = spec.time_scale
    scene.stiction.friction_combine = spec.friction_combine.name


def build_body(body: BodySpec, spec: SceneSpec, meshes: dict[bytes, Mesh]) -> Object:
    position, orientation = Vector(body.position), Quaternion(body.orientation)
    if body.shape.kind is ShapeKind.PLANE:
        # Bullet centres a box on its object's origin, so that is where the middle of the slab has to be.
        ob = bpy.data.objects.new(body.name, slab_mesh(body.name, spec))
        position -= orientation @ Vector((0.0, 0.0, 0.5 * GROUND_THICKNESS * ground_width(spec)))
    else:
        # Bodies of one shape share one mesh, as copies made by hand would.
        key = body.shape.vertices.tobytes()
        if key not in meshes:
            meshes[key] = hull_mesh(body.name, body.shape)
        ob = bpy.data.objects.new(body.name, meshes[key])
    ob.rotation_mode = "QUATERNION"
    ob.location = position
    ob.rotation_quaternion = orientation
    return ob


def set_rigid_body(ob: Object, body: BodySpec) -> None:
    rigid, own, material = ob.rigid_body, ob.stiction, body.material
    rigid.type = "ACTIVE" if body.kind is BodyKind.ACTIVE else "PASSIVE"
    rigid.collision_shape = "BOX" if body.shape.kind is ShapeKind.PLANE or is_box(body.shape) else "CONVEX_HULL"
    rigid.friction = material.mu_static
    rigid.restitution = material.restitution
    rigid.linear_damping, rigid.angular_damping = body.linear_damping, body.angular_damping
    if material.mu_dynamic != material.mu_static:
        own.use_mu_dynamic = True
        own.mu_dynamic = material.mu_dynamic
    if body.velocity.any() or body.angular_velocity.any():
        own.initial_motion, own.velocity, own.angular_velocity = "VALUES", body.velocity, body.angular_velocity
    if body.density is not None:
        own.mass_source, own.density = "DENSITY", body.density
        rigid.mass = body.density * mesh_volume(ob.data)
    elif body.mass is not None:
        rigid.mass = body.mass


def hull_mesh(name: str, shape: ShapeSpec) -> Mesh:
    """The hull of the vertices, its coplanar triangles joined to polygons."""
    if shape.margin > 0.0:
        raise ValueError(f"{name}: a shape with a margin cannot be drawn as a mesh")
    sheet = bmesh.new()
    for vertex in shape.vertices:
        sheet.verts.new(vertex)
    bmesh.ops.convex_hull(sheet, input=sheet.verts)
    bmesh.ops.dissolve_limit(sheet, angle_limit=COPLANAR, verts=sheet.verts, edges=sheet.edges)
    return finish_mesh(sheet, name)


def slab_mesh(name: str, spec: SceneSpec) -> Mesh:
    """A flat box about its own centre, under everything in the scene."""
    width = ground_width(spec)
    sheet = bmesh.new()
    bmesh.ops.create_cube(sheet, size=width)
    for vertex in sheet.verts:
        vertex.co.z *= GROUND_THICKNESS
    return finish_mesh(sheet, name)


def ground_width(spec: SceneSpec) -> float:
    return GROUND_WIDTH * max((float(np.abs(body.position).max() + radius(body.shape)) for body in spec.bodies), default=1.0)


def finish_mesh(sheet: bmesh.types.BMesh, name: str) -> Mesh:
    mesh = bpy.data.meshes.new(name)
    sheet.to_mesh(mesh)
    sheet.free()
    return mesh


def mesh_volume(mesh: Mesh) -> float:
    sheet = bmesh.new()
    sheet.from_mesh(mesh)
    volume = sheet.calc_volume()
    sheet.free()
    return volume


def radius(shape: ShapeSpec) -> float:
    return float(np.linalg.norm(shape.vertices, axis=1).max(initial=0.0)) + shape.margin


def is_box(shape: ShapeSpec) -> bool:
    """Whether the vertices are exactly the corners of their bounding box."""
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    at_corner = np.isclose(shape.vertices, low, atol=1e-9) | np.isclose(shape.vertices, high, atol=1e-9)
    return len(shape.vertices) == 8 and bool(at_corner.all())


def hidden_by(others: set[Object], added: set[Object]) -> list[str]:
    """Names of meshes that were there, in whose bounds the middle of an added active body lies."""
    bpy.context.view_layer.update()
    middles = [ob.matrix_world.translation for ob in added if ob.rigid_body is not None and ob.rigid_body.type == "ACTIVE"]
    found = []
    for ob in others:
        if ob.type != "MESH" or not ob.visible_get() or 0.0 in ob.dimensions:
            continue
        low, high = Vector(ob.bound_box[0]), Vector(ob.bound_box[6])
        to_local = ob.matrix_world.inverted()
        if any(all(a < x < b for a, x, b in zip(low, to_local @ middle, high, strict=True)) for middle in middles):
            found.append(ob.name)
    return found


class AddDemo:
    """What the operators of the menu have in common."""

    bl_label: str

    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.mode == "OBJECT"

    def add(self: Operator, context: Context, spec: SceneSpec) -> set[str]:
        assert spec.friction_combine is FrictionCombine.PRODUCT, "Blender's own rigid bodies multiply friction"
        before = set(context.scene.objects)
        build_scene(context, spec, self.bl_label)
        hiding = hidden_by(before, set(context.scene.objects) - before)
        if hiding:
            self.report({"WARNING"}, f"It stands inside of {', '.join(sorted(hiding))}: delete or move that to see it")
        else:
            self.report({"INFO"}, "Gravity, frame rate and frame range are those of the demo")
        return {"FINISHED"}


class STICTION_OT_add_card_house(AddDemo, Operator):
    """Add a house of playing cards that stands by friction alone"""

    bl_idname = "stiction.add_card_house"
    bl_label = "Card House"

    levels: IntProperty(name="Levels", description="Rows of leaning cards", default=5, min=1, soft_max=10)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of card on card", default=0.8, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.card_house(levels=self.levels, mu=self.friction))


class STICTION_OT_add_arch(AddDemo, Operator):
    """Add a masonry arch of wedge blocks without mortar"""

    bl_idname = "stiction.add_arch"
    bl_label = "Masonry Arch"

    blocks: IntProperty(name="Blocks", description="Number of wedge blocks", default=11, min=3, soft_max=41)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of block on block", default=0.6, min=0.0, soft_max=1.5
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.arch(blocks=self.blocks, mu=self.friction))


class STICTION_OT_add_tower(AddDemo, Operator):
    """Add a tower of boxes whose top one is far heavier than the others"""

    bl_idname = "stiction.add_tower"
    bl_label = "Heavy Tower"

    boxes: IntProperty(name="Boxes", description="Number of boxes", default=10, min=2, soft_max=50)
    heaviest: FloatProperty(name="Heaviest", description="Mass of the top box against the others'", default=1000.0, min=1.0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.tower(boxes=self.boxes, heaviest=self.heaviest))


class STICTION_OT_add_slope(AddDemo, Operator):
    """Add a box on a slope that it holds or slides down, by its friction"""

    bl_idname = "stiction.add_slope"
    bl_label = "Box on a Slope"

    tangent: FloatProperty(name="Slope", description="Tangent of the slope's angle", default=0.5, min=0.0, soft_max=2.0)
    friction: FloatProperty(
        name="Friction", description="Coefficient of friction of box on slope", default=0.51, min=0.0, soft_max=1.5
    )
    yaw: FloatProperty(name="Yaw", description="Turn of the box on the slope", subtype="ANGLE", unit="ROTATION")

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.slope(tangent=self.tangent, mu=self.friction, yaw=self.yaw))


class STICTION_OT_add_dropped_cube(AddDemo, Operator):
    """Add a cube that is dropped flat on the ground"""

    bl_idname = "stiction.add_dropped_cube"
    bl_label = "Dropped Cube"

    height: FloatProperty(
        name="Height", description="From the ground to the cube's lower face", default=4.0, min=0.0, unit="LENGTH"
    )

    def execute(self, context: Context) -> set[str]:
        return self.add(context, scenes.dropped_cube(height=self.height))


class STICTION_OT_add_hanging_chain(AddDemo, Operator):
    """Add a chain between two posts, and a box that falls into it"""

    bl_idname = "stiction.add_hanging_chain"
    bl_label = "Hanging Chain"

    links: IntProperty(name="Links", description="Number of links", default=24, min=4, soft_max=100)
    load: FloatProperty(name="Load", description="Mass of the box", default=1.0, min=0.01, unit="MASS")

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.hanging_chain(links=self.links, load=self.load))


class STICTION_OT_add_drawbridge(AddDemo, Operator):
    """Add a bridge that a motor lifts until the crates on it slide off"""

    bl_idname = "stiction.add_drawbridge"
    bl_label = "Drawbridge"

    speed: FloatProperty(
        name="Speed", description="Radians a second at which it is lifted", default=0.35, min=0.0, soft_max=2.0
    )
    torque: FloatProperty(name="Torque", description="Largest torque of the motor, in N m", default=4000.0, min=0.0)

    def execute(self, context: Context) -> set[str]:
        return self.add(context, jointed_scenes.drawbridge(speed=self.speed, torque=self.torque))


class STICTION_OT_add_breakable_wall(AddDemo, Operator):
    """Add a wall of bricks with joints that break, and a ball that is shot at it"""

    bl_idname = "stiction.add_breakable_wall"
    bl_label = "Breakable Wall"

    columns: IntProperty(name="Columns", description="Bricks in a row", default=10, min=2, soft_max=30)
    rows: IntProperty(name="Rows", description="Rows of bricks", default=6, min=1, soft_max=20)
    strength: FloatProperty(name="Strength", description="What a joint bears in a time step, in N s", default=3.0, min=0.0)
    shot: FloatProperty(name="Shot", description="Speed of the ball", default=12.0, min=0.0, unit="VELOCITY")

    def execute(self, context: Context) -> set[str]:
        spec = jointed_scenes.breakable_wall(columns=self.columns, rows=self.rows, strength=self.strength, shot=self.shot)
        return self.add(context, spec)


DEMOS = (
    STICTION_OT_add_card_house,
    STICTION_OT_add_arch,
    STICTION_OT_add_tower,
    STICTION_OT_add_slope,
    STICTION_OT_add_dropped_cube,
    STICTION_OT_add_hanging_chain,
    STICTION_OT_add_drawbridge,
    STICTION_OT_add_breakable_wall,
)


class STICTION_MT_add_demo(Menu):
    bl_label = "Rigid Body Demo"
    bl_idname = "STICTION_MT_add_demo"

    def draw(self, context: Context) -> None:
        self.layout.operator_context = "EXEC_REGION_WIN"
        for operator in DEMOS:
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
