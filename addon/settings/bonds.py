# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds between the bodies of a collection, `collection.stiction_bonds`."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from typing import NamedTuple

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty
from bpy.types import Collection, Object, PropertyGroup, Scene

from ...presets import BONDS
from .object_properties import PA

__all__ = ["BondValues", "bond_items", "bonded_collections", "register", "set_bonds", "unregister"]

OWN = "CUSTOM"
ITEMS = (
    (OWN, "Custom", "The strengths set here"),
    *((name.upper().replace(" ", "_"), name, f"{one['tension']:g} MPa in tension") for name, one in BONDS.items()),
)
STRENGTHS = {identifier: BONDS[name] for identifier, name, _ in ITEMS if name in BONDS}


class BondValues(NamedTuple):
    """The bonds of a collection.

    They have its name; the tensile and shear strength [Pa]; the largest gap between touching faces [m]; the frame of the scene
    at which the bonds are released, or None.
    """

    name: str
    tension: float
    shear: float
    gap: float
    release: int | None


def take_material(self: CollectionBonds, context: bpy.types.Context) -> None:
    if self.material in STRENGTHS:
        self.tension, self.shear = STRENGTHS[self.material]["tension"], STRENGTHS[self.material]["shear"]


class CollectionBonds(PropertyGroup):
    """Bonds between the rigid bodies of a collection where their faces touch."""

    use_bonds: BoolProperty(
        name="Bonds", description="Bond the rigid bodies of the collection where their flat faces touch at the first frame"
    )
    material: EnumProperty(
        name="Material",
        description="Material that sets the strength of the bonds",
        items=ITEMS,
        default="CONCRETE",
        update=take_material,
    )
    tension: FloatProperty(
        name="Tension",
        description="Tensile stress in MPa at which a bond breaks",
        default=BONDS["Concrete"]["tension"],
        min=1e-6,
        soft_max=100.0,
        precision=3,
    )
    shear: FloatProperty(
        name="Shear",
        description="Shear stress in MPa at which a bond breaks",
        default=BONDS["Concrete"]["shear"],
        min=1e-6,
        soft_max=100.0,
        precision=3,
    )
    gap: FloatProperty(
        name="Gap",
        description="Largest distance between faces that touch",
        default=0.001,
        min=1e-6,
        soft_max=0.1,
        precision=4,
        subtype="DISTANCE",
        unit="LENGTH",
    )
    use_release: BoolProperty(
        name="Release", description="Release the bonds at a frame; from then on the bodies are loose and keep their velocity"
    )
    release_frame: IntProperty(name="Frame", description="Last frame at which the bonds hold", default=24)


def bond_items() -> tuple[tuple[str, str, str], ...]:
    """Return the materials as enum items."""
    return ITEMS[1:]


def set_bonds(collection: Collection, material: str) -> None:
    """Bond the bodies of a collection with the strengths of a material, by its identifier."""
    collection.stiction_bonds.use_bonds, collection.stiction_bonds.material = True, material


def bonded_collections(scene: Scene) -> list[tuple[BondValues, list[Object]]]:
    """Return the collections of a scene with bonds, by name, and their objects with rigid bodies."""
    every = [scene.collection, *scene.collection.children_recursive]
    return [
        (
            BondValues(
                each.name_full,
                PA * settings.tension,
                PA * settings.shear,
                settings.gap,
                settings.release_frame if settings.use_release else None,
            ),
            [ob for ob in each.all_objects if ob.rigid_body],
        )
        for each in sorted(dict.fromkeys(every), key=lambda one: one.name_full)
        if (settings := each.stiction_bonds).use_bonds
    ]


def register() -> None:
    """Register the properties of collections."""
    bpy.utils.register_class(CollectionBonds)
    Collection.stiction_bonds = PointerProperty(type=CollectionBonds)


def unregister() -> None:
    """Undo `register`."""
    del Collection.stiction_bonds
    bpy.utils.unregister_class(CollectionBonds)
