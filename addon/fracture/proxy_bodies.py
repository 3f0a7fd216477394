# SPDX-License-Identifier: GPL-3.0-or-later
"""Collision meshes (proxies) for rendered objects.

The rendered object becomes a compound, with the shapes of its proxies. The proxies are its children, with rigid bodies, and are
not rendered. This is Blender's own representation, so Bullet, keyframes and other tools work with it.
"""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from bpy.props import BoolProperty, PointerProperty, StringProperty
from bpy.types import Context, Object, PropertyGroup
from mathutils import Vector

from ..blender.rigid_bodies import is_baked, is_linked
from ..demos.demo_scene import world_members

__all__ = ["is_away", "proxies_of", "register", "remove_proxies", "unregister", "use_proxies", "why_not"]


class ProxyState(PropertyGroup):
    """The stored state of a proxy: its object, and the former settings of both."""

    stands_for: PointerProperty(type=Object)
    is_made: BoolProperty(description="Created as a proxy; removed with it")
    was_child: BoolProperty()
    was_body: BoolProperty()
    in_render: BoolProperty()
    display: StringProperty()
    rendered_was_body: BoolProperty()
    rendered_shape: StringProperty()


def proxies_of(ob: Object) -> list[Object]:
    """Return the proxies of an object."""
    return [child for child in ob.children if child.stiction_proxy.stands_for == ob]


def why_not(ob: Object, proxies: Sequence[Object]) -> str:
    """Return why an object cannot have these proxies, or an empty string."""
    for one in (ob, *proxies):
        if is_linked(one):
            return f"{one.name} is linked from a library: make it local first"
        if is_baked(one):
            return f"{one.name} is moved by a bake: use Free Bake first"
    if ob.stiction.use_flexible:
        return f"{ob.name} is flexible, and a compound cannot bend: disable Flexible"
    above = ob.parent
    while above is not None:
        if above in proxies:
            return f"{above.name} is the parent of {ob.name}, which already follows it: give {above.name} the rigid body"
        above = above.parent
    other_proxy = next((one for one in proxies if one.stiction_proxy.stands_for not in (None, ob)), None)
    if other_proxy is not None:
        return f"{other_proxy.name} is the proxy of {other_proxy.stiction_proxy.stands_for.name} already"
    hollow = next((one for one in proxies if not one.data.polygons), None)
    return f"{hollow.name} has no faces" if hollow is not None else ""


def use_proxies(ob: Object, proxies: Sequence[Object], shape: str, context: Context, *, is_made: bool = False) -> None:
    """Let an object collide by its proxies.

    Parameters
    ----------
    ob : the rendered object; it becomes an active body if it has no rigid body
    proxies : meshes for which `why_not` returns an empty string
    shape : Blender's name of their collision shape
    is_made : True if the proxies were created for it and are removed with it
    """
    members = world_members(context).objects
    before = proxies_of(ob)
    was_body = ob.rigid_body is not None
    was_shape = ob.rigid_body.collision_shape if was_body else ""
    if before:
        was_body, was_shape = before[0].stiction_proxy.rendered_was_body, before[0].stiction_proxy.rendered_shape
    if ob.name not in members:
        members.link(ob)
    for proxy in proxies:
        kept = proxy.stiction_proxy
        if kept.stands_for is None:
            kept.was_child, kept.was_body = proxy.parent == ob, proxy.rigid_body is not None
            kept.in_render, kept.display, kept.is_made = proxy.hide_render, proxy.display_type, is_made
        kept.stands_for, kept.rendered_was_body, kept.rendered_shape = ob, was_body, was_shape
        if proxy.parent != ob:
            place = proxy.matrix_world.copy()
            proxy.parent, proxy.parent_type = ob, "OBJECT"
            proxy.matrix_parent_inverse = ob.matrix_world.inverted_safe()
            proxy.matrix_world = place
        if proxy.name not in members:
            members.link(proxy)
        proxy.rigid_body.type, proxy.rigid_body.collision_shape = ob.rigid_body.type, shape
        proxy.hide_render, proxy.display_type = True, "WIRE"
    ob.rigid_body.collision_shape = "COMPOUND"


def remove_proxies(ob: Object, context: Context) -> int:
    """Let an object collide by its own mesh again, and restore its proxies. Return their number."""
    proxies = proxies_of(ob)
    if not proxies:
        return 0
    first = proxies[0].stiction_proxy
    rendered_was_body, rendered_shape = first.rendered_was_body, first.rendered_shape
    for proxy in proxies:
        kept = proxy.stiction_proxy
        if kept.is_made:
            mesh = proxy.data
            bpy.data.objects.remove(proxy)
            if not mesh.users:
                bpy.data.meshes.remove(mesh)
            continue
        proxy.hide_render, proxy.display_type = kept.in_render, kept.display or "TEXTURED"
        if not kept.was_body:
            take_body_away(proxy, context)
        if not kept.was_child:
            place = proxy.matrix_world.copy()
            proxy.parent = None
            proxy.matrix_world = place
        kept.stands_for = None
    if rendered_was_body:
        ob.rigid_body.collision_shape = rendered_shape
    else:
        take_body_away(ob, context)
    return len(proxies)


def take_body_away(ob: Object, context: Context) -> None:
    """Remove the rigid body of an object."""
    if ob.rigid_body is not None:
        with context.temp_override(object=ob, active_object=ob, selected_objects=[ob], selected_editable_objects=[ob]):
            bpy.ops.rigidbody.object_remove()


def is_away(ob: Object, proxies: Sequence[Object]) -> bool:
    """Return True if the bounding boxes of an object and of all its proxies do not intersect."""

    def box(objects: Sequence[Object]) -> tuple[np.ndarray, np.ndarray]:
        corners = np.array([one.matrix_world @ Vector(corner) for one in objects for corner in one.bound_box])
        return corners.min(axis=0), corners.max(axis=0)

    (low, high), (proxy_low, proxy_high) = box([ob]), box(proxies)
    return bool(((low > proxy_high) | (high < proxy_low)).any())


def register() -> None:
    """Register the stored state of proxies."""
    bpy.utils.register_class(ProxyState)
    Object.stiction_proxy = PointerProperty(type=ProxyState)


def unregister() -> None:
    """Undo `register`."""
    del Object.stiction_proxy
    bpy.utils.unregister_class(ProxyState)
