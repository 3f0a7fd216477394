# SPDX-License-Identifier: GPL-3.0-or-later
"""The animation sources of an ID as plain comparable values: curves, drivers and strips.

For objects moved by a bake, these are the sources before the bake.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
from bpy.types import ID, AnimData, NlaTrack, Object

from ..blender import actions
from ..blender.rigid_bodies import is_baked

__all__ = ["animated_paths", "curves_of", "digest_of_arrays", "plain_values"]

PLAIN = frozenset(["BOOLEAN", "INT", "FLOAT", "STRING", "ENUM"])
# Properties of a constraint or a modifier that change only its display; and whether it is enabled, which a bake changes and
# which is compared separately.
DISPLAY = frozenset(["show_expanded", "show_on_cageedit", "show_in_editmode", "is_active", "active", "mute", "enabled"])


def animated_paths(owner: ID) -> frozenset[str]:
    """Return the data paths of the owner with values from animation or drivers."""
    data = owner.animation_data
    if data is None:
        return frozenset()
    paths = {curve.data_path for curve in own_curves(owner, data)} | {driver.data_path for driver in data.drivers}
    return frozenset(paths | set(actions.TRANSFORMS)) if own_tracks(owner) else frozenset(paths)


def own_tracks(owner: ID) -> list[NlaTrack]:
    """Return the owner's tracks that play, or that played before a bake."""
    if not (isinstance(owner, Object) and is_baked(owner)):
        return actions.tracks_that_play(owner)
    return [track for track in owner.animation_data.nla_tracks if track.name in owner.stiction.backup.tracks]


def own_curves(owner: ID, data: AnimData) -> Iterator[Any]:
    """Return the curves of the owner's action, or of its action before a bake."""
    if isinstance(owner, Object) and is_baked(owner):
        yield from actions.curves_in(owner.stiction.backup.action, owner.stiction.backup.action_slot)
    else:
        yield from actions.curves_in(data.action, actions.slot_identifier(owner))


def curves_of(owner: ID, left_out: Collection[str] = ()) -> Any:
    """Return the owner's curves, drivers and strips, except for those at some data paths."""
    data = owner.animation_data
    if data is None:
        return ()
    not_of_bakes = (curve for curve in own_curves(owner, data) if curve.data_path not in actions.COME_OF_BAKES)
    curves = tuple(curve_of(curve) for curve in not_of_bakes if curve.data_path not in left_out)
    drivers = tuple(
        (one.data_path, one.array_index, one.driver.type, one.driver.expression, curve_of(one)) for one in data.drivers
    )
    strips = tuple(plain_values(strip, "", ()) for track in own_tracks(owner) for strip in track.strips)
    # Blender also creates empty animation data.
    return (curves, drivers, strips) if curves or drivers or strips else ()


def curve_of(curve: Any) -> tuple[Any, ...]:
    points = curve.keyframe_points
    places, shapes = np.empty((3, 2 * len(points)), dtype=np.float32), np.empty(len(points), dtype=np.int32)
    for row, name in zip(places, ("co", "handle_left", "handle_right"), strict=True):
        points.foreach_get(name, row)
    points.foreach_get("interpolation", shapes)
    modifiers = tuple(plain_values(modifier, "", ()) for modifier in curve.modifiers)
    return (curve.data_path, curve.array_index, curve.extrapolation, digest_of_arrays(places, shapes), modifiers)


def plain_values(item: Any, prefix: str, moving: Collection[str]) -> tuple[Any, ...]:
    """Return the user's values of an item, except for animated data paths. prefix: prefix of the item's paths."""
    return tuple(
        (prop.identifier, tuple(value) if getattr(prop, "is_array", False) else value)
        for prop in item.bl_rna.properties
        if prop.type in PLAIN and not prop.is_readonly and prop.identifier not in DISPLAY
        if not prop.identifier.startswith("open_")
        if prefix + prop.identifier not in moving
        for value in [getattr(item, prop.identifier)]
    )


def digest_of_arrays(*arrays: np.ndarray) -> str:
    """Return a short text that identifies the bytes of all arrays."""
    whole = hashlib.blake2b(digest_size=8)
    for array in arrays:
        whole.update(array.tobytes())
    return whole.hexdigest()
