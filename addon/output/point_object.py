# SPDX-License-Identifier: GPL-3.0-or-later
"""An object whose points have attributes for geometry nodes, and the names of the bodies and materials that these number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import bpy
import numpy as np
from bpy.types import Context, Mesh, Object, Scene
from numpy.typing import NDArray

from .cached_contacts import objects_of_bodies

__all__ = [
    "FLOAT",
    "VECTOR",
    "WHOLE",
    "Attribute",
    "Materials",
    "add_object",
    "materials_of",
    "select_alone",
    "write_names",
    "write_points",
]

NO_MATERIAL = -1


class Attribute(NamedTuple):
    """Blender's name for the type of an attribute, and of where its values are."""

    type: str
    key: str


FLOAT, WHOLE, VECTOR = Attribute("FLOAT", "value"), Attribute("INT", "value"), Attribute("FLOAT_VECTOR", "vector")


class Materials(NamedTuple):
    """The materials of bodies.

    names: of all materials, sorted. of_bodies: (bodies + 1,) the index of each body's material, `NO_MATERIAL` for none, and of
    the world, which is last.
    """

    names: list[str]
    of_bodies: NDArray[np.int32]


def materials_of(scene: Scene, bodies: tuple[str, ...]) -> Materials:
    """Return the materials of the bodies with these names."""
    objects = objects_of_bodies(scene)
    material_of_body = [objects[name].stiction.material if name in objects else "" for name in bodies]
    names = sorted(set(material_of_body) - {""})
    number = {name: index for index, name in enumerate(names)}
    of_bodies = [number.get(name, NO_MATERIAL) for name in material_of_body]
    return Materials(names, np.array([*of_bodies, NO_MATERIAL], dtype=np.int32))


def add_object(context: Context, name: str) -> Object:
    """Return a new object with an empty mesh in the active collection."""
    ob = bpy.data.objects.new(name, bpy.data.meshes.new(name))
    context.collection.objects.link(ob)
    return ob


def select_alone(context: Context, ob: Object) -> None:
    """Select and activate an object, and deselect all others."""
    for other in context.selected_objects:
        other.select_set(False)
    ob.select_set(True)
    context.view_layer.objects.active = ob


def write_names(ob: Object, bodies: tuple[str, ...], materials: Materials) -> None:
    """Write the names of numbered bodies and materials to the custom properties of an object."""
    # Only after a change, because each write is a change of the object.
    for key, words in (("bodies", bodies), ("materials", materials.names)):
        if ob.get(key) != ", ".join(words):
            ob[key] = ", ".join(words)


def write_points(mesh: Mesh, attributes: Mapping[str, Attribute], values: Mapping[str, NDArray[Any]]) -> None:
    """Replace the geometry of a mesh by points.

    Parameters
    ----------
    mesh : the mesh
    attributes : the type of each attribute by its name
    values : (m, 3) "position" and the values of each attribute, (m,) or (m, 3); empty for no points
    """
    mesh.clear_geometry()
    count = len(values.get("position", ()))
    mesh.vertices.add(count)
    if count:
        mesh.vertices.foreach_set("co", values["position"].astype(np.float32).ravel())
    for name, (kind, key) in attributes.items():
        attribute = mesh.attributes.new(name, kind, "POINT")
        if count:
            attribute.data.foreach_set(key, values[name].astype(np.int32 if kind == "INT" else np.float32).ravel())
    mesh.update()
