# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators Fracture and Join Back."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty
from bpy.types import Context, Material, Object, Operator
from numpy.typing import NDArray

from ...solver_core.fracture.fracture_process import fracture_in_process
from ...solver_core.fracture.order import FractureOrder, Pattern, Pieces, Spread
from ...solver_core.fracture.solid import FractureError
from ..bake.worker import WorkerError, find_python
from ..blender.placement import PlacementError
from ..blender.poll import is_idle
from ..blender.rigid_bodies import is_baked, is_linked
from ..demos.demo_scene import world_members
from ..settings.bonds import bond_items, set_bonds
from .bodies import make_bodies
from .piece_meshes import build_pieces
from .source import collections_of, hide_source, join_back
from .surface import Surface, surface_of

__all__ = ["register", "unregister"]

Array = NDArray[np.float64]

# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}
INSIDE = "Inside"
# Default radius around the cursor or a curve, relative to the object's size.
RADIUS = 0.25


class STICTION_OT_fracture(Operator):
    """Cut the selected closed meshes into pieces that fit together exactly, and hide the meshes; Join Back restores them"""

    bl_idname = "stiction.fracture"
    bl_label = "Fracture"
    bl_options = UNDOABLE

    pattern: EnumProperty(
        name="Pattern",
        description="Shape of the pieces",
        items=(
            ("VORONOI", "Chunks", "Pieces about as long as they are wide"),
            ("SLABS", "Slabs", "Pieces that are thin along the axis"),
            ("SPLINTERS", "Splinters", "Pieces that are long along the axis"),
            ("BRICKS", "Bricks", "Bricks in running bond"),
        ),
    )
    axis: EnumProperty(
        name="Axis",
        description="Axis of the object along which slabs are thin or splinters are long",
        items=(("X", "X", "The object's X axis"), ("Y", "Y", "The object's Y axis"), ("Z", "Z", "The object's Z axis")),
        default="Z",
    )
    count: IntProperty(
        name="Pieces",
        description="Number of points around which pieces are cut; concave meshes get a few more pieces",
        default=50,
        min=1,
        soft_max=1000,
        max=20_000,
    )
    brick: FloatVectorProperty(
        name="Brick",
        description="Size of a brick along the axes of the object; depth and height are adjusted so that whole bricks fit",
        size=3,
        default=(0.25, 0.12, 0.08),
        min=1e-4,
        subtype="XYZ_LENGTH",
        unit="LENGTH",
    )
    where: EnumProperty(
        name="Points",
        description="Distribution of the points; pieces are small where points are dense",
        items=(
            ("EVENLY", "Evenly", "Everywhere with the same density"),
            ("CURSOR", "Around Cursor", "Dense around the 3D cursor"),
            ("CURVE", "Along Curve", "Dense along the selected curve"),
            ("WEIGHTS", "Vertex Weights", "With the density painted as the active vertex group"),
        ),
    )
    radius: FloatProperty(
        name="Radius",
        description="Distance at which the density has fallen to a third; 0 for a quarter of the object's size",
        default=0.0,
        min=0.0,
        subtype="DISTANCE",
        unit="LENGTH",
    )
    seed: IntProperty(name="Seed", description="Another seed gives other pieces", default=0, min=0)
    use_bodies: BoolProperty(
        name="Rigid Bodies", description="Make the pieces rigid bodies with the settings of the object", default=True
    )
    bond: EnumProperty(
        name="Bonds",
        description="Bond the pieces where their faces touch; the properties of their collection have the strengths",
        items=(("NONE", "None", "The pieces are loose"), *bond_items()),
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.mode != "OBJECT":
            cls.poll_message_set("Fracture works in Object Mode")
            return False
        if not any(ob.type == "MESH" for ob in context.selected_objects):
            cls.poll_message_set("Select a closed mesh")
            return False
        return is_idle(cls, context)

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "pattern")
        if self.pattern in ("SLABS", "SPLINTERS"):
            layout.prop(self, "axis", expand=True)
        if self.pattern == "BRICKS":
            layout.prop(self, "brick")
        else:
            layout.prop(self, "count")
            layout.prop(self, "where")
            if self.where in ("CURSOR", "CURVE"):
                layout.prop(self, "radius")
            layout.prop(self, "seed")
        layout.prop(self, "use_bodies")
        if self.use_bodies:
            layout.prop(self, "bond")

    def execute(self, context: Context) -> set[str]:
        objects = [ob for ob in context.selected_objects if ob.type == "MESH"]
        try:
            with waiting(context):
                # Cut all objects before the first is changed.
                cut = [(ob, *self.cut(ob, context)) for ob in objects]
        except (FractureError, PlacementError, WorkerError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        if self.use_bodies:
            # Blender 4.3 crashes if a world is added after new meshes in the same step.
            world_members(context)
        for ob, surface, pieces in cut:
            self.build(ob, surface, pieces, context)
        number = sum(len(pieces.volumes) for _, _, pieces in cut)
        summary = f"{number} pieces of {len(cut)} {'object' if len(cut) == 1 else 'objects'}"
        lost = "; ".join(f"{' and '.join(features)} of {ob.name}" for ob in objects if (features := not_taken_over(ob)))
        if lost:
            self.report({"WARNING"}, f"{summary}, without {lost}. Join Back restores the original")
        else:
            self.report({"INFO"}, summary)
        return {"FINISHED"}

    def cut(self, ob: Object, context: Context) -> tuple[Surface, Pieces]:
        """Return the surface of an object and its pieces. Raises FractureError, PlacementError, WorkerError and OSError."""
        if is_linked(ob):
            raise FractureError(f"{ob.name} is linked from a library: make it local first")
        if is_baked(ob):
            raise FractureError(f"{ob.name} is moved by a bake: use Free Bake first")
        try:
            surface = surface_of(ob, context)
            order = FractureOrder(
                vertices=surface.vertices,
                triangles=surface.triangles.astype(np.int64),
                polygon=surface.polygon.astype(np.int64),
                pattern=Pattern(self.pattern),
                axis="XYZ".index(self.axis),
                count=self.count,
                seed=self.seed,
                spread=self.spread(surface, context),
                brick=np.array(self.brick, dtype=np.float64),
            )
            return surface, fracture_in_process(order, (find_python(), "-s", "-P"))
        except FractureError as error:
            raise FractureError(f"{ob.name} {error}") from None
        except PlacementError as error:
            raise FractureError(f"{ob.name} cannot be cut: {error}") from None

    def spread(self, surface: Surface, context: Context) -> Spread:
        """Return the distribution of the points. Raises FractureError if the curve or the weights are missing."""
        near, weights = np.zeros((0, 3)), np.zeros(0)
        if self.where == "WEIGHTS":
            if not len(surface.group):
                raise FractureError("has no active vertex group: paint weights, or choose another distribution of points")
            weights = surface.group
        elif self.where != "EVENLY":
            world = np.array([context.scene.cursor.location]) if self.where == "CURSOR" else selected_curve(context)
            near = (world - surface.place) @ surface.rotation
        size = float(np.ptp(surface.vertices, axis=0).max()) if len(surface.vertices) else 1.0
        return Spread(near, self.radius or RADIUS * size or 1.0, weights)

    def build(self, ob: Object, surface: Surface, pieces: Pieces, context: Context) -> None:
        """Replace the object by its pieces."""
        scene = context.scene
        collection = bpy.data.collections.new(f"{ob.name} Pieces")
        inside = set(scene.collection.children_recursive)
        parent = next((each for each in ob.users_collection if each in inside), scene.collection)
        parent.children.link(collection)
        objects = build_pieces(ob, surface, pieces, inside_material(), collection)
        if self.use_bodies:
            make_bodies(ob, objects, pieces, context)
            if self.bond != "NONE":
                set_bonds(collection, self.bond)
        ob.select_set(False)
        for piece in objects:
            piece.select_set(True)
        context.view_layer.objects.active = objects[0]
        hide_source(ob, collection, scene)


class STICTION_OT_join_back(Operator):
    """Remove the pieces of the selected objects' collections, and show the original objects"""

    bl_idname = "stiction.join_back"
    bl_label = "Join Back"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.mode != "OBJECT" or not collections_of(context):
            cls.poll_message_set("Select a piece that Fracture has made")
            return False
        return is_idle(cls, context)

    def execute(self, context: Context) -> set[str]:
        collections = collections_of(context)
        names = []
        for pieces in collections:
            try:
                ob = join_back(pieces, context.scene)
            except ValueError as error:
                self.report({"ERROR"}, str(error))
                return {"FINISHED"} if names else {"CANCELLED"}
            names.append(ob.name)
            if ob.name in context.view_layer.objects:
                ob.select_set(True)
                context.view_layer.objects.active = ob
        self.report({"INFO"}, f"Joined back: {', '.join(names)}")
        return {"FINISHED"}


def not_taken_over(ob: Object) -> list[str]:
    """Return the data of a mesh that its pieces do not have, in words."""
    mesh = ob.data
    found = {
        "shape keys": mesh.shape_keys is not None,
        "vertex groups": len(ob.vertex_groups) > 0,
        "color attributes": len(mesh.color_attributes) > 0,
    }
    return [name for name, has in found.items() if has]


@contextmanager
def waiting(context: Context) -> Iterator[None]:
    """Show the cursor of work in progress."""
    window = context.window
    if window is not None:
        window.cursor_set("WAIT")
    try:
        yield
    finally:
        if window is not None:
            window.cursor_set("DEFAULT")


def selected_curve(context: Context) -> Array:
    """Return the points (k, 3) of the selected curve in the world [m]. Raises FractureError if none is selected."""
    curve = next((ob for ob in context.selected_objects if ob.type == "CURVE"), None)
    if curve is None:
        raise FractureError("cannot be cut along a curve: also select a curve")
    evaluated = curve.evaluated_get(context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    try:
        points = [tuple(curve.matrix_world @ vertex.co) for vertex in mesh.vertices] if mesh is not None else []
    finally:
        evaluated.to_mesh_clear()
    if not points:
        raise FractureError(f"cannot be cut along {curve.name}, which has no points")
    return np.array(points, dtype=np.float64)


def inside_material() -> Material:
    """Return the material of inner faces, created if missing."""
    return bpy.data.materials.get(INSIDE) or bpy.data.materials.new(INSIDE)


register_classes, unregister_classes = bpy.utils.register_classes_factory((STICTION_OT_fracture, STICTION_OT_join_back))


def register() -> None:
    """Add the operators."""
    register_classes()


def unregister() -> None:
    """Undo `register`."""
    unregister_classes()
