# SPDX-License-Identifier: GPL-3.0-or-later
"""The surface of an object after its modifiers: triangles to cut, and attributes for the pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from bpy.types import Context, Material, Mesh, Object, bpy_prop_collection
from numpy.typing import NDArray

from ..blender.placement import placed

__all__ = ["Surface", "surface_of"]

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


@dataclass(frozen=True)
class Surface:
    """A mesh in the axes of its object's body, without scale and shear.

    world: (4, 4) world matrix of the object.
    place, rotation: (3,) [m] and (3, 3) pose of the body in the world.
    vertices: (n, 3) [m].
    triangles: (t, 3) vertices. loops: (t, 3) corners of the mesh. polygon: (t,).
    material, is_smooth: (p,) of polygons.
    normals: (l, 3) at corners. uvs: (l, 2) of each map, by name. active_uv: name of the active map.
    sharp: (s, 2) polygons at each sharp edge, the smaller index first.
    slots: its materials.
    group: (n,) weights of the active vertex group, or empty.
    """

    world: Array
    place: Array
    rotation: Array
    vertices: Array
    triangles: Indices
    loops: Indices
    polygon: Indices
    material: Indices
    is_smooth: NDArray[np.bool_]
    normals: Array
    uvs: dict[str, Array]
    active_uv: str
    sharp: Indices
    slots: list[Material | None]
    group: Array


def surface_of(ob: Object, context: Context) -> Surface:
    """Read an object at the frame that is shown. Raises PlacementError if it has no volume anywhere."""
    depsgraph = context.evaluated_depsgraph_get()
    world, rotation = placed(ob, depsgraph)
    evaluated = ob.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        mesh.calc_loop_triangles()
        linear = rotation.T @ world[:3, :3]
        normals = values(mesh.corner_normals, "vector", (len(mesh.loops), 3)) @ np.linalg.inv(linear)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), np.finfo(float).tiny)
        polygons, active = len(mesh.polygons), mesh.uv_layers.active
        return Surface(
            world=world,
            place=world[:3, 3],
            rotation=rotation,
            vertices=values(mesh.vertices, "co", (len(mesh.vertices), 3)) @ linear.T,
            triangles=integers(mesh.loop_triangles, "vertices", (len(mesh.loop_triangles), 3)),
            loops=integers(mesh.loop_triangles, "loops", (len(mesh.loop_triangles), 3)),
            polygon=integers(mesh.loop_triangles, "polygon_index", (len(mesh.loop_triangles),)),
            material=integers(mesh.polygons, "material_index", (polygons,)),
            is_smooth=integers(mesh.polygons, "use_smooth", (polygons,)).astype(bool),
            normals=normals * np.sign(np.linalg.det(linear)),
            uvs={layer.name: values(layer.data, "uv", (len(mesh.loops), 2)) for layer in mesh.uv_layers},
            active_uv="" if active is None else active.name,
            sharp=sharp_pairs(mesh),
            slots=[slot.material for slot in evaluated.material_slots],
            group=group_weights(ob, mesh),
        )
    finally:
        evaluated.to_mesh_clear()


def values(owner: bpy_prop_collection, name: str, shape: tuple[int, ...]) -> Array:
    """Return an attribute of all members of a Blender collection."""
    out = np.empty(int(np.prod(shape)), dtype=np.float32)
    owner.foreach_get(name, out)
    return out.reshape(shape).astype(np.float64)


def integers(owner: bpy_prop_collection, name: str, shape: tuple[int, ...]) -> Indices:
    """Return an integer attribute of all members of a Blender collection."""
    out = np.empty(int(np.prod(shape)), dtype=np.int32)
    owner.foreach_get(name, out)
    return out.reshape(shape)


def sharp_pairs(mesh: Mesh) -> Indices:
    """Return the two polygons (s, 2) at each edge that is marked sharp, the smaller index first."""
    is_sharp = integers(mesh.edges, "use_edge_sharp", (len(mesh.edges),)).astype(bool)
    if not is_sharp.any():
        return np.zeros((0, 2), dtype=np.int32)
    edge = integers(mesh.loops, "edge_index", (len(mesh.loops),))
    polygon = np.repeat(
        np.arange(len(mesh.polygons), dtype=np.int32), integers(mesh.polygons, "loop_total", (len(mesh.polygons),))
    )
    chosen = is_sharp[edge]
    edge, polygon = edge[chosen], polygon[chosen]
    order = np.lexsort((polygon, edge))
    edge, polygon = edge[order], polygon[order]
    pair = np.flatnonzero(edge[1:] == edge[:-1])
    return np.column_stack([polygon[pair], polygon[pair + 1]])


def group_weights(ob: Object, mesh: Mesh) -> Array:
    """Return the weights of the vertices in the object's active vertex group, or an empty array."""
    active = ob.vertex_groups.active
    if active is None:
        return np.zeros(0)
    return np.array(
        [next((one.weight for one in vertex.groups if one.group == active.index), 0.0) for vertex in mesh.vertices], float
    )
