# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of the objects that settle and of those that do not move."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bpy.types import Context, NlaStrip, Object, Scene

from ...solver_core.scene.spec import BodyKind
from ...solver_core.validation.findings import SceneError, SceneProblem
from ..blender import actions
from ..blender.placement import ancestors
from ..blender.restore import baked_objects, is_moved_otherwise
from ..blender.rigid_bodies import bodies_of, body_kind, is_baked, is_linked
from ..read.shapes import is_compound_part

__all__ = ["Chosen", "LandOn", "choose"]


class LandOn(Enum):
    """Objects on which the settling ones may come to rest, besides each other."""

    BODIES = "bodies"
    MESHES = "meshes"


@dataclass(frozen=True)
class Chosen:
    """The moving and the static objects.

    bodies: active rigid bodies.
    plain: objects without a rigid body, with the meshes that move with each.
    standing: the other rigid bodies.
    meshes: other mesh objects to land on.
    whole_world: True if all active bodies settle.
    """

    bodies: tuple[Object, ...]
    plain: tuple[tuple[Object, tuple[Object, ...]], ...]
    standing: tuple[Object, ...]
    meshes: tuple[Object, ...]
    whole_world: bool

    @property
    def moving(self) -> tuple[Object, ...]:
        """All objects that settle."""
        return (*self.bodies, *(ob for ob, _ in self.plain))


def choose(context: Context, selected: Iterable[Object], land_on: LandOn) -> Chosen:
    """Choose the objects that settle: the suitable selected ones or, if there are none, all active rigid bodies.

    Parameters
    ----------
    selected : objects that the user chose. Active rigid bodies settle. A part of a compound represents the compound. Mesh
        objects without a rigid body settle, as does an empty with the meshes below it. Passive and animated bodies, lights
        and cameras do not.
    land_on : static objects besides rigid bodies

    Raises
    ------
    SceneError : nothing can settle, or an object cannot keep a location
    """
    scene = context.scene
    members = {ob.session_uid: ob for ob in (*bodies_of(scene.rigidbody_world), *baked_objects(scene))}
    named = list({ob.session_uid: ob for ob in map(whole_compound, selected)}.values())
    bodies = [ob for ob in named if ob.session_uid in members and is_active(ob)]
    plain = plain_objects([ob for ob in named if ob.session_uid not in members], bodies, members)
    whole_world = not (bodies or plain)
    if whole_world:
        bodies = [ob for ob in members.values() if is_active(ob) and not is_compound_part(ob)]
    if not bodies:
        require_plain(scene, plain)
    moving = [*bodies, *(ob for ob, _ in plain)]
    problems = tuple(problem for ob in moving for problem in why_not(ob))
    if problems:
        raise SceneError(problems)
    moved = {ob.session_uid for ob in moving} | {mesh.session_uid for _, meshes in plain for mesh in meshes}
    standing = [ob for ob in members.values() if ob.session_uid not in moved and not is_compound_part(ob)]
    meshes = other_meshes(context, moved | members.keys(), moving) if land_on is LandOn.MESHES else []
    by_name = [tuple(sorted(each, key=lambda ob: ob.name_full)) for each in (bodies, standing, meshes)]
    ordered = tuple(sorted(plain, key=lambda each: each[0].name_full))
    return Chosen(by_name[0], ordered, by_name[1], by_name[2], whole_world)


def require_plain(scene: Scene, plain: Collection[object]) -> None:
    """Raise SceneError where neither rigid bodies nor other objects can settle."""
    if not plain:
        message = "nothing can settle; select mesh objects, or make rigid bodies Active"
        raise SceneError((SceneProblem(scene.name, "objects", message),))


def whole_compound(ob: Object) -> Object:
    """Return the outermost compound of which the object is a part, otherwise the object."""
    while is_compound_part(ob) and ob.parent is not None:
        ob = ob.parent
    return ob


def is_active(ob: Object) -> bool:
    """Return True if the solver moves a rigid body, apart from changes by a bake."""
    if is_baked(ob):
        return ob.rigid_body.type == "ACTIVE" and ob.rigid_body.enabled and not ob.stiction.backup.kinematic
    return body_kind(ob) is BodyKind.ACTIVE


def plain_objects(
    named: list[Object], bodies: list[Object], members: Collection[int]
) -> list[tuple[Object, tuple[Object, ...]]]:
    """Return the objects without rigid bodies that settle separately, with the meshes that move with each."""
    solid = [ob for ob in named if ob.type in ("MESH", "EMPTY")]
    carriers = {ob.session_uid for ob in (*solid, *bodies)}
    roots = [ob for ob in solid if not any(above.session_uid in carriers for above in ancestors(ob))]
    found = [(ob, tuple(carried_meshes(ob, members))) for ob in roots]
    return [(ob, meshes) for ob, meshes in found if meshes]


def carried_meshes(ob: Object, members: Collection[int]) -> Iterator[Object]:
    """Return the mesh objects that move with an object: itself and its visible children, except rigid bodies and their
    children."""
    if ob.type == "MESH":
        yield ob
    for child in sorted(ob.children, key=lambda child: child.name_full):
        if child.session_uid not in members and child.visible_get():
            yield from carried_meshes(child, members)


def other_meshes(context: Context, known: Collection[int], moving: Iterable[Object]) -> list[Object]:
    """Return the visible mesh objects that are neither bodies nor carried by moving objects."""
    carriers = {ob.session_uid for ob in moving}
    return [
        ob
        for ob in context.view_layer.objects
        if ob.type == "MESH"
        and ob.session_uid not in known
        and ob.visible_get()
        and not any(above.session_uid in carriers for above in ancestors(ob))
    ]


def why_not(ob: Object) -> Iterator[SceneProblem]:
    """Return why an object cannot keep a location, or an empty string."""
    if is_linked(ob):
        message = "it is linked from a library, so it cannot be moved here; make an editable library override"
        yield SceneProblem(ob.name_full, "library", message)
    elif is_placed_by_others(ob):
        message = "keyframes, a driver or a constraint move it, so it would not stay where it settles; remove or mute them"
        yield SceneProblem(ob.name_full, "animation", message)


def is_placed_by_others(ob: Object) -> bool:
    """Return True if keyframes, strips, drivers or constraints determine the transform of an object."""
    if is_baked(ob) and not any(actions.is_transform(curve.data_path) for curve in actions.curves(ob) or ()):
        return is_moved_otherwise(ob) or bool(actions.bake_tracks(ob))
    data = ob.animation_data
    if any(not constraint.mute and constraint.influence > 0.0 for constraint in ob.constraints):
        return True
    if data is None:
        return False
    driven = any(actions.is_transform(driver.data_path) and not driver.mute for driver in data.drivers)
    keyed = any(actions.is_transform(curve.data_path) and not curve.mute for curve in actions.curves(ob) or ())
    strips = data.use_nla and any(
        actions.is_transform(curve.data_path)
        for track in actions.tracks_that_play(ob)
        for strip in track.strips
        for curve in strip_curves(strip)
    )
    return driven or keyed or strips


def strip_curves(strip: NlaStrip) -> Iterator[Any]:
    """Return the curves of an NLA strip."""
    slot = getattr(getattr(strip, "action_slot", None), "identifier", "")
    yield from actions.curves_in(getattr(strip, "action", None), slot)
