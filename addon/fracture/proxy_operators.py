# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators Use Proxies, Convex Parts, and Remove Proxies."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy.types import Context, Object, Operator
from mathutils import Matrix

from ...solver_core.fracture.convex_parts import ConvexParts, PartsOrder
from ...solver_core.fracture.fracture_process import convex_parts_in_process
from ...solver_core.fracture.solid import FractureError
from ..bake.worker import WorkerError, find_python
from ..blender.placement import PlacementError
from ..blender.poll import is_idle
from ..demos.demo_scene import world_members
from .proxy_bodies import is_away, proxies_of, remove_proxies, use_proxies, why_not
from .proxy_names import PatternError, patterns_of, proxies_among
from .surface import Surface, surface_of

__all__ = ["SHAPES", "register", "unregister"]

# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}
SHAPES = (
    ("CONVEX_HULL", "Convex Hull", "The hull of each proxy, the fastest"),
    ("MESH", "Mesh", "Each proxy as it is, with its hollows"),
    ("BOX", "Box", "The box around each proxy"),
    ("SPHERE", "Sphere", "The sphere around each proxy"),
    ("CAPSULE", "Capsule", "The capsule around each proxy"),
    ("CYLINDER", "Cylinder", "The cylinder around each proxy"),
    ("CONE", "Cone", "The cone around each proxy"),
)


class STICTION_OT_use_proxies(Operator):
    """Let the selected objects collide by simpler meshes, which are found by name or parent and are not rendered"""

    bl_idname = "stiction.use_proxies"
    bl_label = "Use Proxies"
    bl_options = UNDOABLE

    match: EnumProperty(
        name="Match",
        description="How to find the proxies of an object",
        items=(
            ("NAME", "By Name", "Meshes whose names follow a pattern"),
            ("PARENT", "By Parent", "Meshes that are children of the object"),
        ),
    )
    patterns: StringProperty(
        name="Names",
        description="Name patterns of proxies, with a * for the name of the object, separated by commas",
        default="*_proxy, *_low, *_collision, UCX_*",
    )
    shape: EnumProperty(name="Shape", description="Collision shape of the proxies", items=SHAPES)
    move: BoolProperty(name="Move to Object", description="Move the origin of each proxy to the origin of its object")

    @classmethod
    def poll(cls, context: Context) -> bool:
        return may_change(cls, context, bool(meshes_of(context)), "Select a mesh")

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "match", expand=True)
        names = layout.column()
        names.active = self.match == "NAME"
        names.prop(self, "patterns")
        layout.prop(self, "shape")
        layout.prop(self, "move")

    def execute(self, context: Context) -> set[str]:
        try:
            found = self.found(context)
        except PatternError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        # Find all of them before the first is changed.
        trouble = [why for ob, proxies in found.items() if (why := why_not(ob, proxies))] + shared(found)
        if trouble:
            self.report({"ERROR"}, "; ".join(trouble))
            return {"CANCELLED"}
        without = [ob.name for ob, proxies in found.items() if not proxies]
        if len(without) == len(found):
            by = f"named by {self.patterns}" if self.match == "NAME" else "a child of them"
            self.report({"ERROR"}, f"There are no proxies: no mesh is {by}, of {', '.join(without)}")
            return {"CANCELLED"}
        away = []
        for ob, proxies in found.items():
            if not proxies:
                continue
            use_proxies(ob, proxies, self.shape, context)
            if self.move:
                for proxy in proxies:
                    proxy.matrix_world = ob.matrix_world
            context.view_layer.update()
            if is_away(ob, proxies):
                away.append(ob.name)
        count = sum(map(len, found.values()))
        summary = f"{count} {'proxy' if count == 1 else 'proxies'} of {len(found) - len(without)} objects"
        odd = [f"no proxy for {', '.join(without)}"] if without else []
        odd += [f"the proxies of {', '.join(away)} are away from it; enable Move to Object"] if away else []
        self.report({"WARNING"} if odd else {"INFO"}, "; ".join([summary, *odd]))
        return {"FINISHED"}

    def found(self, context: Context) -> dict[Object, list[Object]]:
        """Return the proxies of each selected object. Objects that are proxies themselves are left out."""
        selected = meshes_of(context)
        if self.match == "PARENT":
            found = {ob: [child for child in ob.children if child.type == "MESH"] for ob in selected}
        else:
            patterns = patterns_of(self.patterns)
            meshes = {ob.name: ob for ob in context.scene.objects if ob.type == "MESH"}
            found = {ob: [meshes[name] for name in proxies_among(meshes, ob.name, patterns)] for ob in selected}
        every = {proxy for proxies in found.values() for proxy in proxies}
        return {ob: proxies for ob, proxies in found.items() if proxies or ob not in every}


class STICTION_OT_convex_parts(Operator):
    """Let the selected meshes collide by generated convex parts; Remove Proxies deletes the parts"""

    bl_idname = "stiction.convex_parts"
    bl_label = "Convex Parts"
    bl_options = UNDOABLE

    concavity: FloatProperty(
        name="Concavity",
        description="Largest distance between the mesh and its parts, relative to its size; smaller values give more parts",
        default=0.05,
        min=0.01,
        max=1.0,
    )
    most: IntProperty(
        name="Maximum Parts", description="Largest number of parts, 0 for no limit", default=0, min=0, soft_max=100
    )
    seed: IntProperty(name="Seed", description="Another seed gives other parts", default=0, min=0)

    @classmethod
    def poll(cls, context: Context) -> bool:
        return may_change(cls, context, bool(meshes_of(context)), "Select a mesh")

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        for name in ("concavity", "most", "seed"):
            layout.prop(self, name)

    def execute(self, context: Context) -> set[str]:
        objects = meshes_of(context)
        trouble = [why for ob in objects if (why := why_not(ob, ()))]
        trouble += [f"{ob.name} has proxies already: use Remove Proxies first" for ob in objects if proxies_of(ob)]
        trouble += [f"{ob.name} is a proxy itself" for ob in objects if ob.stiction_proxy.stands_for is not None]
        if trouble:
            self.report({"ERROR"}, "; ".join(trouble))
            return {"CANCELLED"}
        try:
            # Find all of them before the first is changed.
            found = [(ob, *self.parts(ob, context)) for ob in objects]
        except (FractureError, PlacementError, WorkerError, OSError) as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        # Blender 4.3 crashes if a world is added after new meshes in the same step.
        world_members(context)
        for ob, surface, parts in found:
            use_proxies(ob, make_parts(ob, surface, parts), "CONVEX_HULL", context, is_made=True)
        count = sum(len(parts) for _, _, parts in found)
        self.report({"INFO"}, f"{count} convex parts of {len(found)} objects")
        return {"FINISHED"}

    def parts(self, ob: Object, context: Context) -> tuple[Surface, ConvexParts]:
        """Return the surface of an object and its parts. Raises FractureError, PlacementError, WorkerError and OSError."""
        try:
            surface = surface_of(ob, context)
            triangles = surface.triangles.astype(np.int64)
            order = PartsOrder(surface.vertices, triangles, self.concavity, self.most, self.seed)
            return surface, convex_parts_in_process(order, (find_python(), "-s", "-P"))
        except FractureError as error:
            raise FractureError(f"{ob.name} {error}") from None
        except PlacementError as error:
            raise FractureError(f"{ob.name} cannot be decomposed: {error}") from None


class STICTION_OT_remove_proxies(Operator):
    """Let the selected objects collide by their own meshes again, and restore their proxies"""

    bl_idname = "stiction.remove_proxies"
    bl_label = "Remove Proxies"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        return may_change(cls, context, bool(with_proxies(context)), "Select an object with proxies, or a proxy")

    def execute(self, context: Context) -> set[str]:
        objects = with_proxies(context)
        baked = [why for ob in objects if (why := why_not(ob, ()))]
        if baked:
            self.report({"ERROR"}, "; ".join(baked))
            return {"CANCELLED"}
        count = sum(remove_proxies(ob, context) for ob in objects)
        self.report({"INFO"}, f"Removed {count} proxies of {len(objects)} objects")
        return {"FINISHED"}


def make_parts(ob: Object, surface: Surface, parts: ConvexParts) -> list[Object]:
    """Create an object for each part, with the transform and the collections of the original object."""
    place = Matrix.Translation(surface.place) @ Matrix(surface.rotation).to_4x4()
    objects = []
    for number in range(len(parts)):
        vertices, triangles = parts.part(number)
        name = f"{ob.name} Part {number:03d}"
        mesh = bpy.data.meshes.new(name)
        mesh.from_pydata(vertices.tolist(), [], triangles.tolist())
        part = bpy.data.objects.new(name, mesh)
        part.matrix_world = place
        for collection in ob.users_collection:
            collection.objects.link(part)
        objects.append(part)
    return objects


def meshes_of(context: Context) -> list[Object]:
    """Return the selected meshes."""
    return [ob for ob in context.selected_objects if ob.type == "MESH"]


def with_proxies(context: Context) -> list[Object]:
    """Return the objects with proxies that are selected, or whose proxies are."""
    selected = context.selected_objects
    found = [ob for ob in selected if proxies_of(ob)]
    found += [ob.stiction_proxy.stands_for for ob in selected if ob.stiction_proxy.stands_for is not None]
    # Proxies of a deleted object, or proxies that are no longer its children, belong to no object.
    return [ob for ob in dict.fromkeys(found) if proxies_of(ob)]


def shared(found: dict[Object, list[Object]]) -> list[str]:
    """Return the meshes that are proxies of several objects, in words."""
    owners: dict[Object, list[str]] = {}
    for ob, proxies in found.items():
        for proxy in proxies:
            owners.setdefault(proxy, []).append(ob.name)
    return [f"{proxy.name} is a proxy of {' and of '.join(names)}" for proxy, names in owners.items() if len(names) > 1]


def may_change(cls: type[Operator], context: Context, is_selected: bool, message: str) -> bool:
    """Return True if an operator may change rigid bodies. For `poll`, with a message."""
    if context.mode != "OBJECT":
        cls.poll_message_set("Proxies are set up in Object Mode")
        return False
    if not is_selected:
        cls.poll_message_set(message)
        return False
    return is_idle(cls, context)


CLASSES = (STICTION_OT_use_proxies, STICTION_OT_convex_parts, STICTION_OT_remove_proxies)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add the operators."""
    register_classes()


def unregister() -> None:
    """Undo `register`."""
    unregister_classes()
