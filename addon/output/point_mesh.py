# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh of points with attributes for geometry nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from bpy.types import Mesh
from numpy.typing import NDArray

__all__ = ["FLOAT", "VECTOR", "WHOLE", "Attribute", "write_points"]


class Attribute(NamedTuple):
    """Blender's name for the type of an attribute, and of where its values are."""

    type: str
    key: str


FLOAT, WHOLE, VECTOR = Attribute("FLOAT", "value"), Attribute("INT", "value"), Attribute("FLOAT_VECTOR", "vector")


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
