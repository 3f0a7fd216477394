# SPDX-License-Identifier: GPL-3.0-or-later
"""Activation of the bodies of a collection, `collection.stiction_activation`."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, FloatProperty, IntProperty, PointerProperty, StringProperty
from bpy.types import Collection, Object, PropertyGroup, Scene

__all__ = ["activated_collections", "register", "unregister"]


def has_mesh(self: CollectionActivation, ob: Object) -> bool:
    return ob.type in {"MESH", "CURVE", "SURFACE", "META", "FONT"}


class CollectionActivation(PropertyGroup):
    """The conditions that wake the rigid bodies of a collection and release their bonds."""

    use_activation: BoolProperty(
        name="Activation", description="Let the rigid bodies of the collection wait until something wakes them"
    )
    use_hold: BoolProperty(
        name="Hold",
        description="Hold the bodies in place or on their animation until they wake. Otherwise they move normally, and only "
        "their bonds wait to be released",
        default=True,
    )
    use_release: BoolProperty(name="Release Bonds", description="Release the bonds of a body when it wakes", default=True)
    use_frame: BoolProperty(name="Frame", description="Wake all bodies at a frame")
    wake_frame: IntProperty(name="Frame", description="Frame at which all bodies wake", default=24)
    use_volume: BoolProperty(
        name="Volume", description="Wake the bodies that are inside an object, or that its moving surface reaches"
    )
    volume_object: PointerProperty(
        name="Volume", description="Object with a closed mesh that wakes the bodies that it reaches", type=Object, poll=has_mesh
    )
    use_proximity: BoolProperty(name="Proximity", description="Wake the bodies that are near an object")
    near_object: PointerProperty(
        name="Object",
        description="Object that wakes the bodies near its surface, or near its origin if it has none",
        type=Object,
    )
    distance: FloatProperty(
        name="Distance",
        description="Distance from the surface of the object within which bodies wake",
        default=0.5,
        min=0.0,
        soft_max=10.0,
        subtype="DISTANCE",
        unit="LENGTH",
    )
    use_impulse: BoolProperty(name="Impact", description="Wake a body that is hit hard enough")
    least_impulse: FloatProperty(
        name="Impulse", description="Impulse in N s above which an impact wakes a body", default=10.0, min=1e-6, soft_max=1000.0
    )
    use_value: BoolProperty(name="Value", description="Wake all bodies when a custom property of an object is above 0")
    value_object: PointerProperty(name="Object", description="Object with the custom property", type=Object)
    value_name: StringProperty(
        name="Property", description="Name of the custom property, which may be keyed or driven", default="wake"
    )


def activated_collections(scene: Scene) -> list[tuple[Collection, list[Object]]]:
    """Return the collections of a scene with waiting bodies, by name, and their objects with active rigid bodies."""
    every = [scene.collection, *scene.collection.children_recursive]
    return [
        (each, sorted((ob for ob in each.all_objects if may_wake(ob)), key=lambda ob: ob.name_full))
        for each in sorted(dict.fromkeys(every), key=lambda one: one.name_full)
        if each.stiction_activation.use_activation
    ]


def may_wake(ob: Object) -> bool:
    """Return True if the solver can move an object after it wakes."""
    return ob.rigid_body is not None and ob.rigid_body.type == "ACTIVE" and ob.rigid_body.enabled


def register() -> None:
    """Register the properties of collections."""
    bpy.utils.register_class(CollectionActivation)
    Collection.stiction_activation = PointerProperty(type=CollectionActivation)


def unregister() -> None:
    """Undo `register`."""
    del Collection.stiction_activation
    bpy.utils.unregister_class(CollectionActivation)
