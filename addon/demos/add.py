# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the operators in Add > Rigid Body Demo."""
# pyright: reportMissingImports=false

from __future__ import annotations

from bpy.types import Context, Object, Operator

from ...solver_core.scene.spec import FrictionCombine, SceneSpec
from ...solver_core.scenes.destruction import BondedScene
from .appearance import ROOM, make_see_through
from .demo_scene import bond, build_scene, hidden_by

__all__ = ["AddDemo"]

# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}


class AddDemo:
    """Base of the operators in the menu."""

    bl_label: str

    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        """Return True in Object Mode, in which objects can be added."""
        return context.mode == "OBJECT"

    def add(
        self: Operator,
        context: Context,
        spec: SceneSpec,
        *,
        substeps: int | None = None,
        see_through: tuple[str, ...] = (),
        room: float = ROOM,
    ) -> set[str]:
        """Add a scene.

        substeps: required time steps per frame, if the file's number is not enough. see_through: prefixes of the names of
            bodies with others inside. room: width of the picture relative to the bodies at their start.
        """
        assert spec.friction_combine is FrictionCombine.PRODUCT, "Blender's own rigid bodies multiply friction"
        before = set(context.scene.objects)
        collection = build_scene(context, spec, self.bl_label, room)
        if substeps is not None:
            context.scene.rigidbody_world.substeps_per_frame = substeps
        for ob in collection.objects:
            if see_through and ob.name.startswith(see_through):
                make_see_through(ob)
        return self.tell(context, before)

    def add_bonded(self: Operator, context: Context, scene: BondedScene) -> set[str]:
        """Add a scene whose bonded bodies are in a collection of their own, with the strengths of the scene."""
        before = set(context.scene.objects)
        collection = build_scene(context, scene.spec, self.bl_label)
        bond(collection, scene)
        return self.tell(context, before)

    def tell(self: Operator, context: Context, before: set[Object]) -> set[str]:
        """Report problems of the location of a demo. before: the objects that existed before."""
        hiding = hidden_by(before, set(context.scene.objects) - before)
        if hiding:
            self.report({"WARNING"}, f"It stands inside {', '.join(sorted(hiding))}: delete or move that to see it")
        else:
            self.report({"INFO"}, "Gravity, frame rate and frame range are those of the demo")
        return {"FINISHED"}
