# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of an object that a bake changes, and restoring it.

The state is stored in `object.stiction.backup`, a property saved with the file. The action in it counts as a user, so the
former action survives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import bpy
import numpy as np
from bpy.types import Action, Collection, Object, Scene
from numpy.typing import NDArray

from . import actions
from .bend_keys import give_back_mesh, mute_keys, separate
from .placement import Read, ancestors, place
from .rigid_bodies import is_baked

__all__ = [
    "baked_objects",
    "collection_to_leave",
    "copies_of_baked",
    "give_back",
    "is_moved_otherwise",
    "let_go",
    "originals",
    "place_bodies",
    "rest_worlds",
    "show_start",
    "start_from_here",
    "take_over",
    "unset_all",
]


@dataclass(frozen=True)
class ObjectState:
    """Everything that a bake changes.

    constraints, drivers, tracks: names of those that the bake disables.
    solo_track: the track in solo mode, or "".
    member_of: the collection of the rigid body world, if a bake removes the object from it.
    """

    kinematic: bool
    member_of: Collection | None
    transforms: dict[str, tuple[float, ...]]
    had_animation_data: bool
    action: Action | None
    action_slot: str
    use_nla: bool
    tracks: tuple[str, ...]
    solo_track: str
    constraints: tuple[str, ...]
    drivers: tuple[tuple[str, int], ...]


def baked_objects(scene: Scene) -> list[Object]:
    """Return the objects that a bake moves, each once, those of the rigid body world first."""
    return list(originals_and_copies(scene, age)[0].values())


def copies_of_baked(scene: Scene, *, just_loaded: bool = False) -> list[Object]:
    """Return duplicates of objects that a bake moves. They have the stored states of their originals but are not in a bake.

    just_loaded: the file was just opened, so the ages of its objects are unknown.
    """
    return originals_and_copies(scene, differs_in_name if just_loaded else age)[1]


def age(ob: Object) -> tuple[int, ...]:
    """Return a sort key: an older object comes first.

    Blender numbers the objects of a session as they are created, and those of a file in the order of their names.
    """
    return (ob.session_uid,)


def differs_in_name(ob: Object) -> tuple[int, ...]:
    """Return a sort key: an object that has the name of its body comes first."""
    return (ob.name_full != ob.stiction.backup.body, ob.session_uid)


def originals_and_copies(scene: Scene, order: Callable[[Object], tuple[int, ...]]) -> tuple[dict[str, Object], list[Object]]:
    """Return the objects that a bake moves by their names in it, and the duplicates.

    order: sort key. Of several objects of one body, the first one is the original.
    """
    world = scene.rigidbody_world
    members = list(world.collection.all_objects) if world is not None and world.collection is not None else []
    # Members come first, and few objects are checked twice, because there may be thousands.
    unique: dict[int, Object] = {}
    for ob in (*members, *scene.objects):
        if ob.session_uid not in unique and is_baked(ob):
            unique[ob.session_uid] = ob
    original_of: dict[str, Object] = {}
    for ob in unique.values():
        earlier = original_of.get(ob.stiction.backup.body)
        if earlier is None or order(ob) < order(earlier):
            original_of[ob.stiction.backup.body] = ob
    return original_of, [ob for ob in unique.values() if original_of[ob.stiction.backup.body] != ob]


def rest_worlds(objects: Iterable[Object]) -> NDArray[np.float64]:
    """Return world matrices (objects, 4, 4) of baked objects at the first frame of their bake."""
    return np.array([ob.stiction.backup.rest_world[:] for ob in objects], dtype=np.float64).reshape(-1, 4, 4)


def take_over(ob: Object, scene: Scene, body: str, rest_world: NDArray[np.float64], rest: dict[str, tuple[float, ...]]) -> None:
    """Store the object's state and let the bake move it.

    body: its name in the cache. rest_world: its world matrix (4, 4) at the first frame. rest: its transform channels there.
    """
    state = replace(capture(ob), member_of=collection_to_leave(ob, scene))
    store(ob, state, body, rest_world)
    ob.rigid_body.kinematic = True
    set_muted(ob, state, True)
    set_member(ob, state, False)
    if ob.animation_data is not None:
        ob.animation_data.use_nla = False
        actions.without_motion(ob, f"{ob.name} Baked")
    for name, values in rest.items():
        setattr(ob, name, values)


def give_back(ob: Object) -> None:
    """Restore every value that the bake changed, and clear the stored state."""
    bake_action = ob.animation_data.action if ob.animation_data is not None else None
    state = remembered(ob)
    actions.remove_bake_tracks(ob)
    give_back_mesh(ob)
    apply(ob, state)
    if bake_action is not None:
        actions.remove_if_made_by_bake(bake_action)
    forget(ob)


def let_go(copy: Object) -> None:
    """Make a duplicate of a baked object a body of its own, where it is now, with everything else as the original had it."""
    here = {name: tuple(getattr(copy, name)) for name in actions.TRANSFORMS}
    is_placed_by_bake = not is_moved_otherwise(copy)
    separate(copy)
    give_back(copy)
    if is_placed_by_bake:
        for name, values in here.items():
            setattr(copy, name, values)


def is_moved_otherwise(ob: Object) -> bool:
    """Return True if keys, strips, drivers or constraints determine the transform of a baked object."""
    state = remembered(ob)
    if state.constraints or any(actions.is_transform(path) for path, _ in state.drivers):
        return True
    if state.use_nla and state.tracks:
        return True
    return any(actions.is_transform(curve.data_path) for curve in actions.curves_in(state.action, state.action_slot))


def start_from_here(ob: Object) -> bool:
    """Let the next bake, and Free Bake, use the present user transform of a baked object at the first frame.

    Return True if it has changed.
    """
    backup = ob.stiction.backup
    moved = {name: value for name in actions.TRANSFORMS if (value := tuple(getattr(ob, name))) != tuple(getattr(backup, name))}
    if not moved or is_moved_otherwise(ob):
        return False
    for name, value in moved.items():
        setattr(backup, name, value)
    return True


def place_bodies(objects: Sequence[Object], basis: NDArray[np.float64], read: Read | None = None) -> None:
    """Set the basis matrices (objects, 4, 4) of objects, as `placement.place` does, and note that the user did not move them.

    All code of the add-on that moves the objects of a bake calls this function. A scene follows user moves only while
    `shows_start` is set. This function clears it in every scene with a bake of any of the objects.
    """
    scenes = [scene for scene in bpy.data.scenes if scene.stiction.bake.shows_start]
    if scenes and any(is_baked(ob) for ob in objects):
        placed = {ob.session_uid for ob in objects}
        for scene in scenes:
            if any(ob.session_uid in placed for ob in baked_objects(scene)):
                scene.stiction.bake.shows_start = False
    place(objects, basis, read)


def show_start(ob: Object) -> None:
    """Place a baked object at the start of its bake, exactly where the user placed it."""
    for name, values in remembered(ob).transforms.items():
        setattr(ob, name, values)


@contextmanager
def originals(scene: Scene) -> Iterator[None]:
    """Show the objects as they were before the bake, and after the block as they are baked."""
    objects = baked_objects(scene)
    baked = {ob.session_uid: capture(ob) for ob in objects}
    # With this state, playback does not move the object either.
    state, scene.stiction.bake.state = scene.stiction.bake.state, "NONE"
    copies = {ob.session_uid: mute_keys(ob, True) for ob in objects}
    try:
        for ob in objects:
            for track in actions.bake_tracks(ob):
                track.mute = True
            apply(ob, remembered(ob))
        yield
    finally:
        for ob in objects:
            for track in actions.bake_tracks(ob):
                track.mute = False
            set_muted(ob, remembered(ob), True)
            set_member(ob, remembered(ob), False)
            apply(ob, baked[ob.session_uid])
            copy = copies[ob.session_uid]
            if copy is not None:
                ob.data = copy
            mute_keys(ob, False)
        scene.stiction.bake.state = state


def capture(ob: Object) -> ObjectState:
    data = ob.animation_data
    drivers = data.drivers if data is not None else ()
    return ObjectState(
        kinematic=ob.rigid_body.kinematic if ob.rigid_body is not None else False,
        member_of=None,
        transforms={name: tuple(getattr(ob, name)) for name in actions.TRANSFORMS},
        had_animation_data=data is not None,
        action=data.action if data is not None else None,
        action_slot=actions.slot_identifier(ob),
        use_nla=data.use_nla if data is not None else False,
        tracks=tuple(track.name for track in actions.tracks_that_play(ob)),
        solo_track=next((track.name for track in (data.nla_tracks if data is not None else ()) if track.is_solo), ""),
        constraints=tuple(constraint.name for constraint in ob.constraints if not constraint.mute),
        drivers=tuple((d.data_path, d.array_index) for d in drivers if actions.is_put_aside(d.data_path) and not d.mute),
    )


def apply(ob: Object, state: ObjectState) -> None:
    if ob.rigid_body is not None:
        ob.rigid_body.kinematic = state.kinematic
    set_muted(ob, state, False)
    set_member(ob, state, True)
    if state.had_animation_data:
        actions.assign(ob, state.action, state.action_slot)
        ob.animation_data.use_nla = state.use_nla
    elif actions.bake_tracks(ob):
        # temporarily muted, to be restored
        actions.assign(ob, None, "")
    elif ob.animation_data is not None:
        ob.animation_data_clear()
    for name, values in state.transforms.items():
        setattr(ob, name, values)


def collection_to_leave(ob: Object, scene: Scene) -> Collection | None:
    """Return the rigid body world's collection if the object must and can leave it, otherwise None. This applies to objects
    with another body among their parents, library overrides, and flexible bodies.

    Blender's simulation depends on all of its members, and children of a member depend on the simulation. This is a cycle, in
    which Blender shows some object at its previous frame. In an override Blender stores no rigid body settings: *Animated*
    would be off when the file is opened again, and the bodies would have Blender's motion. When its simulation starts, Blender
    measures the meshes of all members without waiting, and crashes if another thread is bending one.
    """
    world = scene.rigidbody_world
    collection = world.collection if world is not None else None
    is_below_body = any(ancestor.rigid_body is not None for ancestor in ancestors(ob))
    has_to = is_below_body or ob.override_library is not None or ob.stiction.use_flexible
    if collection is None or not has_to:
        return None
    # Without its only collection, the object would not be in the scene.
    is_direct = any(member == ob for member in collection.objects)
    return collection if is_direct and len(ob.users_collection) > 1 else None


def set_member(ob: Object, state: ObjectState, present: bool) -> None:
    if state.member_of is None:
        return
    is_there = any(member == ob for member in state.member_of.objects)
    if present and not is_there:
        state.member_of.objects.link(ob)
    elif is_there and not present:
        state.member_of.objects.unlink(ob)


def set_muted(ob: Object, state: ObjectState, mute: bool) -> None:
    for constraint in ob.constraints:
        if constraint.name in state.constraints:
            constraint.mute = mute
    data = ob.animation_data
    for track in data.nla_tracks if data is not None else ():
        if track.name in state.tracks:
            track.mute = mute
        if track.name == state.solo_track and track.is_solo == mute:
            track.is_solo = not mute
    for driver in data.drivers if data is not None else ():
        if (driver.data_path, driver.array_index) in state.drivers:
            driver.mute = mute


def store(ob: Object, state: ObjectState, body: str, rest_world: NDArray[np.float64]) -> None:
    """Store a state. Default values stay unset, because Blender copies all set values whenever a frame moves the object."""
    backup = ob.stiction.backup
    unset_all(backup)
    values = {
        "baked": True,
        "body": body,
        "rest_world": tuple(rest_world.ravel().tolist()),
        "kinematic": state.kinematic,
        "member_of": state.member_of,
        **state.transforms,
        "had_animation_data": state.had_animation_data,
        "action": state.action,
        "action_slot": state.action_slot,
        "use_nla": state.use_nla,
        "solo_track": state.solo_track,
    }
    for name, value in values.items():
        unset = getattr(backup, name)
        if (tuple(unset) if isinstance(value, tuple) else unset) != value:
            setattr(backup, name, value)
    fill(backup.tracks, ((name, {}) for name in state.tracks))
    fill(backup.constraints, ((name, {}) for name in state.constraints))
    fill(backup.drivers, ((path, {"index": index}) for path, index in state.drivers))


def fill(collection: bpy.types.bpy_prop_collection, items: Iterable[tuple[str, dict[str, int]]]) -> None:
    for name, values in items:
        item = collection.add()
        item.name = name
        for key, value in values.items():
            setattr(item, key, value)


def remembered(ob: Object) -> ObjectState:
    backup = ob.stiction.backup
    return ObjectState(
        kinematic=backup.kinematic,
        member_of=backup.member_of,
        transforms={name: tuple(getattr(backup, name)) for name in actions.TRANSFORMS},
        had_animation_data=backup.had_animation_data,
        action=backup.action,
        action_slot=backup.action_slot,
        use_nla=backup.use_nla,
        tracks=tuple(item.name for item in backup.tracks),
        solo_track=backup.solo_track,
        constraints=tuple(item.name for item in backup.constraints),
        drivers=tuple((item.name, item.index) for item in backup.drivers),
    )


def forget(ob: Object) -> None:
    unset_all(ob.stiction.backup)


def unset_all(group: bpy.types.PropertyGroup) -> None:
    """Unset every value of the group, including pointers, so that it is no longer a user of their targets."""
    for prop in group.bl_rna.properties:
        if prop.identifier not in ("rna_type", "name"):
            group.property_unset(prop.identifier)
