# SPDX-License-Identifier: GPL-3.0-or-later
"""The inputs of a bake as digests by object. Two sets of digests show what has changed.

The objects are bodies, rigid body constraints, force fields and absorbers; one object may be several of these.

Digests are computed from Blender's data without changing the frame. This is much faster than reading the scene, and possible
while a panel waits. A digest may therefore change although the bake would not, for example by a modifier without effect. Inputs
that a driver's expression or a node tree reads elsewhere are not tracked. The bake itself compares snapshots bit by bit.
Objects that a bake moves are seen in their state before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from bpy.types import Collection as BlenderCollection
from bpy.types import Object, Scene

from ...solver_core.scene.words import in_words
from ..blender import actions
from ..blender.bend_keys import mesh_data, path_of
from ..blender.restore import baked_objects
from ..blender.rigid_bodies import bodies_of, constraints_of, is_baked
from ..read.effectors import WEIGHTS, absorbers_of, effectors_of, has_field
from ..read.gravity import PATHS
from ..read.world_values import SPEED, SUBSTEPS
from ..settings import properties
from ..settings.activation import activated_collections
from ..settings.bonds import bonded_collections
from ..settings.object_properties import effective_material, pinned_vertices, stiffness_of
from .animation_sources import animated_paths, curves_of, digest_of_arrays, plain_values

__all__ = [
    "ONLY_THE_END",
    "SCENE",
    "Digests",
    "changes_since",
    "differences",
    "made_from",
    "of_object",
    "of_scene",
    "parts_of",
    "with_last_frame",
    "written",
]

# Digests by the name of a body or constraint, "" for the scene, and by the name of an input, such as "friction".
Digests = Mapping[str, Mapping[str, str]]

SCENE = ""
WEIGHT_PATHS = tuple(f"rigidbody_world.effector_weights.{name}" for name in ("all", *WEIGHTS.values()))
# Names of a field's values that Blender stores in one property.
SAME_VALUES = (
    frozenset(["strength", "linear_drag", "guide_minimum"]),
    frozenset(["harmonic_damping", "quadratic_drag"]),
    frozenset(["flow", "inflow"]),
    frozenset(["size", "rest_length"]),
)
# Used instead of differences if the record of a bake has no valid content.
UNREADABLE = "the inputs of the bake are unknown, because the file's record of them cannot be read"
# The only difference after which existing frames may be valid.
LAST_FRAME = "last frame"
ONLY_THE_END = f"{LAST_FRAME} of the scene"
MOST_NAMED = 2
# Former names of inputs, in bakes of earlier versions, the newest first.
FORMER = {"moving tolerance": ("tolerance in motion", "crowd tolerance")}


def made_from(scene: Scene) -> Digests:
    """Return the inputs of a bake of the scene in its present state."""
    meshes: dict[int, Any] = {}
    return {SCENE: of_scene(scene)} | {name: of_object(ob, meshes) for name, ob in parts_of(scene)}


def written(digests: Digests) -> str:
    """Return digests as the text that a bake stores in its file."""
    return json.dumps(digests, separators=(",", ":"))


def with_last_frame(text: str, scene: Scene) -> str:
    """Return stored digests of a scene, as if its bakes had ended at its present last frame."""
    digests = json.loads(text)
    return written(digests | {SCENE: digests[SCENE] | {LAST_FRAME: of_scene(scene)[LAST_FRAME]}})


def changes_since(text: str, now: Digests) -> list[str]:
    """Return the differences between stored digests and the present ones. The stored text may come from anyone."""
    try:
        before = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return [UNREADABLE]
    parts = list(before.values()) if isinstance(before, dict) else [None]
    if not all(isinstance(part, dict) and all(isinstance(one, str) for one in part.values()) for part in parts):
        return [UNREADABLE]
    return differences(before, now)


def of_scene(scene: Scene) -> dict[str, str]:
    """Return the digests of the scene itself, which must have a rigid body world."""
    world = scene.rigidbody_world
    start, end = properties.effective_frame_range(scene)
    settings, moving = properties.effective_settings(scene), animated_paths(scene)
    has_strips = scene.animation_data is not None and bool(scene.animation_data.nla_tracks)

    def kept(path: str, value: Any) -> Any:
        """A value that is compared, or its keyframes and drivers if it has any, since these change it from frame to frame."""
        return values_at(scene, (path,)) if has_strips or path in moving else value

    values = {
        "gravity": values_at(scene, PATHS),
        "force field weights": (values_at(scene, WEIGHT_PATHS), scene.rigidbody_world.effector_weights.collection is None),
        "first frame": start,
        LAST_FRAME: end,
        "frame rate": (scene.render.fps, scene.render.fps_base),
        "speed": kept(SPEED, world.time_scale),
        "friction rule": scene.stiction.friction_combine,
        "pairs": properties.effective_pairs(scene),
        "bonds": [(*values, sorted(ob.name for ob in members)) for values, members in bonded_collections(scene)],
        "activation": [of_activation(*one) for one in activated_collections(scene)],
        **{in_words(field.name): getattr(settings, field.name) for field in fields(settings)},
    }
    values["substeps"] = values["substeps"] if scene.stiction.use_substeps else kept(SUBSTEPS, values["substeps"])
    return {name: digest(value) for name, value in values.items()}


def of_activation(collection: BlenderCollection, members: list[Object]) -> tuple[Any, ...]:
    """Return the settings of a collection's activation, with the state of the objects that it names."""
    settings, meshes = collection.stiction_activation, dict[int, Any]()
    used = [
        ob
        for switch, ob in (
            (settings.use_volume, settings.volume_object),
            (settings.use_proximity, settings.near_object),
            (settings.use_value, settings.value_object),
        )
        if switch and ob is not None
    ]
    objects = [(place_of(ob, animated_paths(ob)), animation_of(ob, set()), mesh_as_seen(ob, meshes)) for ob in used]
    value = settings.value_object.get(settings.value_name) if settings.use_value and settings.value_object is not None else None
    pointers = ("volume_object", "near_object", "value_object")
    return (
        plain_values(settings, "", pointers),
        [ob.name for ob in members],
        objects,
        value if isinstance(value, (int, float)) else None,
    )


def values_at(scene: Scene, paths: Collection[str]) -> tuple[Any, ...]:
    """Return the scene's values at some paths, such as gravity, and their animation."""
    has_strips = scene.animation_data is not None and bool(scene.animation_data.nla_tracks)
    moving = paths if has_strips else animated_paths(scene)
    values = tuple("keyed" if path in moving else in_full(scene.path_resolve(path)) for path in paths)
    curves, drivers, strips = curves_of(scene) or ((), (), ())
    movers = tuple(one for one in (*curves, *drivers) if one[0] in paths)
    return (values, movers, strips)


def in_full(value: Any) -> Any:
    return tuple(value) if hasattr(value, "__len__") else value


def parts_of(scene: Scene) -> list[tuple[str, Object]]:
    """Yield all bodies, constraints and force fields of the scene, each once, with their names; objects moved by a bake have
    their names in the cache."""
    world = scene.rigidbody_world
    baked = {ob.session_uid: ob for ob in baked_objects(scene)}
    parts = [*bodies_of(world), *constraints_of(world), *fields_and_absorbers(scene)]
    others = {ob.session_uid: ob for ob in parts if ob.session_uid not in baked}
    return [(ob.stiction.backup.body, ob) for ob in baked.values()] + [(ob.name_full, ob) for ob in others.values()]


def of_object(ob: Object, meshes: dict[int, Any]) -> dict[str, str]:
    """Return the digests of an object's values, as a body or as a constraint.

    meshes: digests of meshes already read, by session_uid.
    """
    values: dict[str, Any] = {} if ob.rigid_body is None else of_body(ob, meshes)
    if ob.rigid_body_constraint is not None:
        values["constraint"] = of_constraint(ob)
    if has_field(ob):
        values["force field"] = of_field(ob, meshes)
    if ob.collision is not None and ob.collision.use:
        values["absorption"] = of_absorber(ob, meshes)
    values |= {"place": place_of(ob, animated_paths(ob)), "animation": animation_of(ob, set())}
    return {name: digest(value) for name, value in values.items()}


def of_constraint(ob: Object) -> tuple[Any, ...]:
    """Return a constraint's values, and the initial poses of its objects, whose names may change without other changes."""
    constraint, moving = ob.rigid_body_constraint, animated_paths(ob)
    ends = tuple(
        None if end is None else place_of(end, animated_paths(end)) for end in (constraint.object1, constraint.object2)
    )
    is_on = "keyed" if "rigid_body_constraint.enabled" in moving else constraint.enabled
    # In earlier versions, constraints always held bodies where set up.
    holds = ("where enabled",) if ob.stiction.hold_bodies == "ENABLED" else ()
    return (is_on, ends, plain_values(constraint, "rigid_body_constraint.", moving), *holds)


def fields_and_absorbers(scene: Scene) -> list[Object]:
    """Return the objects with force fields that reach the rigid bodies, and the objects that absorb them."""
    layer = scene.view_layers[0]
    fields = effectors_of(scene, layer)
    return fields + (absorbers_of(layer) if any(has_field(ob) and ob.field.use_absorption for ob in fields) else [])


def of_field(ob: Object, meshes: dict[int, Any]) -> tuple[Any, ...]:
    """Return a field's values; some of them have several names."""
    paths = {path.removeprefix("field.") for path in animated_paths(ob) if path.startswith("field.")}
    moving = paths.union(*(names for names in SAME_VALUES if not paths.isdisjoint(names)))
    has_mesh = ob.field.shape in ("SURFACE", "POINTS")
    return (plain_values(ob.field, "", moving), mesh_as_seen(ob, meshes) if has_mesh else None)


def of_absorber(ob: Object, meshes: dict[int, Any]) -> tuple[Any, ...]:
    """Return the values of an absorbing object that concern force fields."""
    settings = ob.collision
    absorption = "keyed" if "collision.absorption" in animated_paths(ob) else settings.absorption
    return (absorption, settings.thickness_outer, mesh_as_seen(ob, meshes))


def mesh_as_seen(ob: Object, meshes: dict[int, Any]) -> tuple[Any, ...]:
    """Return a mesh and its modifiers."""
    return (known_mesh(ob, meshes), tuple(settings_of(one, "modifiers", ob, set()) for one in ob.modifiers))


def known_mesh(ob: Object, meshes: dict[int, Any]) -> Any:
    """Return the digest of an object's mesh, computed once for all objects that share it."""
    data = mesh_data(ob)
    if data is not None and data.session_uid not in meshes:
        meshes[data.session_uid] = mesh_of(ob)
    return None if data is None else meshes[data.session_uid]


def of_body(ob: Object, meshes: dict[int, Any]) -> dict[str, Any]:
    body, settings, backup = ob.rigid_body, ob.stiction, ob.stiction.backup
    moving = animated_paths(ob)

    def kept(path: str, value: Any) -> Any:
        """What is keyed differs from frame to frame; its keys are named instead."""
        return "keyed" if path in moving else value

    kinematic = backup.kinematic if is_baked(ob) else body.kinematic
    return {
        "type": (body.type, kept("rigid_body.enabled", body.enabled), kept("rigid_body.kinematic", kinematic)),
        "friction": (
            kept("stiction.mu_static" if settings.use_mu_static else "rigid_body.friction", friction_of(ob)[0]),
            kept("stiction.mu_dynamic", friction_of(ob)[1]) if settings.use_mu_dynamic else None,
        ),
        "material": settings.material,
        "bounciness": kept("stiction.restitution", settings.restitution)
        if settings.use_restitution
        else kept("rigid_body.restitution", body.restitution),
        "mass properties": mass_properties_of(ob, kept),
        "surface motion": surface_motion_of(ob, kept),
        "rolling friction": rolling_of(ob, kept),
        "grain": grain_of(ob, kept),
        "mass": kept("stiction.density", settings.density)
        if settings.mass_source == "DENSITY"
        else kept("rigid_body.mass", body.mass),
        "shape": shape_of(ob, meshes),
        "flexible": flexible_of(ob, kept),
        "collision collections": tuple(body.collision_collections),
        "initial motion": initial_motion_of(ob),
        "blend to keyframes": kept("stiction.blend_frames", settings.blend_frames),
        "damping or locks": (
            kept("rigid_body.linear_damping", body.linear_damping),
            kept("rigid_body.angular_damping", body.angular_damping),
            tuple(ob.lock_location),
            tuple(ob.lock_rotation),
        ),
    }


def flexible_of(ob: Object, kept: Callable[[str, Any], Any]) -> tuple[Any, ...] | None:
    """Return the flexible settings of a body, None for a rigid one. kept: returns a value at a path, or its animation."""
    if not ob.stiction.use_flexible:
        return None
    names = ("young", "poisson", "modes", "resolution", "damping_ratio")
    numbers = tuple(kept(f"stiction.{name}", value) for name, value in zip(names, stiffness_of(ob), strict=True))
    # Bakes of earlier versions have linear modes only.
    large = ("large bends",) if kept("stiction.use_large_bends", ob.stiction.use_large_bends) else ()
    return (*numbers, pinned_vertices(ob) if ob.type == "MESH" else (), *large)


def mass_properties_of(ob: Object, kept: Callable[[str, Any], Any]) -> tuple[Any, ...] | None:
    """Return the settings of the center of mass, the inertia and the collider, None for the defaults, which earlier versions
    used.

    kept: returns a value at a path, or its animation.
    """
    settings = ob.stiction
    center = settings.center_object if settings.center_of_mass == "OBJECT" else None
    place = None if center is None else (place_of(center, animated_paths(center)), animation_of(center, set()))
    moments = kept("stiction.moments", tuple(settings.moments)) if settings.own_inertia else None
    if settings.center_of_mass == "VOLUME" and moments is None and settings.use_collider:
        return None
    return (settings.center_of_mass, place, moments, settings.use_collider)


def surface_motion_of(ob: Object, kept: Callable[[str, Any], Any]) -> tuple[Any, ...] | None:
    """Return the velocity and the spin of a surface, None for a fixed surface."""
    settings = ob.stiction
    values = (
        kept("stiction.surface_velocity", tuple(settings.surface_velocity)),
        kept("stiction.surface_spin", tuple(settings.surface_spin)),
    )
    return None if values == ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) else values


def rolling_of(ob: Object, kept: Callable[[str, Any], Any]) -> tuple[Any, ...] | None:
    """Return the lengths of rolling and torsional friction, or None."""
    values = kept("stiction.rolling", ob.stiction.rolling), kept("stiction.torsion", ob.stiction.torsion)
    return None if values == (0.0, 0.0) else values


def grain_of(ob: Object, kept: Callable[[str, Any], Any]) -> tuple[Any, ...] | None:
    """Return the direction of a grain and the friction across it, or None."""
    settings = ob.stiction
    if not kept("stiction.use_grain", settings.use_grain):
        return None
    direction, across = tuple(settings.grain_direction), kept("stiction.mu_across", settings.mu_across)
    dynamic = kept("stiction.mu_across_dynamic", settings.mu_across_dynamic) if settings.use_mu_across_dynamic else None
    return (kept("stiction.grain_direction", direction), across, dynamic)


def initial_motion_of(ob: Object) -> tuple[Any, ...]:
    settings, body = ob.stiction, ob.rigid_body
    values = (tuple(settings.velocity), tuple(settings.angular_velocity)) if settings.initial_motion == "VALUES" else None
    return (settings.initial_motion, values, body.use_deactivation and body.use_start_deactivated)


def differences(before: Digests, now: Digests) -> list[str]:
    """Return the changes, one per line: changed inputs of bodies, added and removed bodies, and changed inputs of the scene.

    A renamed but otherwise equal body is not a change.
    """
    added = [name for name in now if name not in before]
    removed = [name for name in before if name not in now]
    for name in list(removed):
        renamed = next((other for other in added if now[other] == before[name]), None)
        if renamed is not None:
            removed.remove(name)
            added.remove(renamed)
    lines = [f"{value_name} of the scene" for value_name in changed_in(before.get(SCENE, {}), now.get(SCENE, {}))]
    by_what: dict[str, list[str]] = {}
    for name, values in now.items():
        for value_name in changed_in(before[name], values) if name and name in before else ():
            by_what.setdefault(value_name, []).append(name)
    for value_name, names in by_what.items():
        lines.append(f"{some(names)} moved" if value_name == "place" else f"{value_name} of {some(names)}")
    lines += [f"{some(names)} {value_name}" for names, value_name in ((added, "added"), (removed, "removed")) if names]
    return lines


def changed_in(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of the inputs that differ between a bake and the present scene."""

    def recorded(what: str) -> str | None:
        return next((before[name] for name in (what, *FORMER.get(what, ())) if name in before), LATER.get(what))

    return [what for what in now if recorded(what) != now[what]]


def some(names: list[str]) -> str:
    if len(names) <= MOST_NAMED + 1:
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def digest(value: Any) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=5).hexdigest()


# Inputs that earlier versions did not record, with the values that they always had.
LATER: dict[str, str] = {"blend to keyframes": digest(0)}
LATER["activation"] = digest([])
LATER |= dict.fromkeys(("flexible", "mass properties", "surface motion", "rolling friction", "grain"), digest(None))


def friction_of(ob: Object) -> tuple[float, float]:
    material = effective_material(ob)
    return material.mu_static, material.mu_dynamic


def place_of(ob: Object, moving: Collection[str]) -> tuple[Any, ...]:
    """Return the sources of an object's transform except animation: its channels, and its parents with theirs."""
    source = ob.stiction.backup if is_baked(ob) else ob
    channels = tuple("keyed" if path in moving else tuple(getattr(source, path)) for path in actions.TRANSFORMS)
    if ob.parent is None:
        return (channels, ob.rotation_mode)
    inverse = tuple(value for row in ob.matrix_parent_inverse for value in row)
    above = place_of(ob.parent, animated_paths(ob.parent))
    return (channels, ob.rotation_mode, ob.parent_type, ob.parent_bone, inverse, above)


def shape_of(ob: Object, meshes: dict[int, Any]) -> tuple[Any, ...]:
    body = ob.rigid_body
    margin = body.collision_margin if body.use_margin else None
    chosen = (body.collision_shape, body.mesh_source, body.use_deform, margin)
    if body.collision_shape == "COMPOUND":
        return chosen
    changed = () if body.mesh_source == "BASE" else tuple(settings_of(one, "modifiers", ob, set()) for one in ob.modifiers)
    return (chosen, known_mesh(ob, meshes), changed)


def mesh_of(ob: Object) -> Any:
    """Return the digest of an object's own mesh, before modifiers; for other types, of its plain values."""
    data = mesh_data(ob)
    if ob.type != "MESH":
        return plain_values(data, "", ()) if data is not None else None
    points = np.empty(3 * len(data.vertices), dtype=np.float32)
    corners, lengths = np.empty(len(data.loops), dtype=np.int32), np.empty(len(data.polygons), dtype=np.int32)
    data.vertices.foreach_get("co", points)
    data.loops.foreach_get("vertex_index", corners)
    data.polygons.foreach_get("loop_total", lengths)
    keys, of_bake = data.shape_keys, {item.name for item in ob.stiction.backup.keys}
    # Shape keys of a bake are results and not inputs, and so is the basis if there was none.
    if keys is None or (of_bake and data == ob.data and not ob.stiction.backup.had_keys):
        return digest_of_arrays(points, corners, lengths)
    moving = animated_paths(keys)
    of_user = [block for block in keys.key_blocks if block.name not in of_bake]
    values = [plain_values(block, f'key_blocks["{block.name}"].', moving) for block in of_user]
    return (digest_of_arrays(points, corners, lengths), values, curves_of(keys, frozenset(map(path_of, of_bake))))


def animation_of(ob: Object, seen: set[int]) -> Any:
    """Return the animation of an object: its curves, drivers and constraints, and those of the objects that it follows."""
    if ob.session_uid in seen:
        return ()
    seen.add(ob.session_uid)
    backup = ob.stiction.backup
    constraints = tuple(
        settings_of(one, "constraints", ob, seen)
        for one in ob.constraints
        if not one.mute or (is_baked(ob) and one.name in backup.constraints)
    )
    return (curves_of(ob), constraints, () if ob.parent is None else animation_of(ob.parent, seen))


def settings_of(item: Any, kind: str, ob: Object, seen: set[int]) -> tuple[Any, ...]:
    """Return the values of a constraint or a modifier, and the transforms of the objects that it names."""
    inputs = inputs_of(item) if getattr(item, "type", "") == "NODES" else []
    named = [getattr(item, prop.identifier) for prop in item.bl_rna.properties if prop.type == "POINTER"]
    targets = []
    for target in [*named, *(value for _, value in inputs)]:
        if isinstance(target, Object) and target != ob and target.session_uid not in seen:
            data = mesh_of(target) if kind == "modifiers" and target.type == "MESH" else None
            targets.append((place_of(target, animated_paths(target)), data, animation_of(target, seen)))
    nodes = tuple((name, repr(value)) for name, value in inputs)
    return (plain_values(item, f'{kind}["{item.name}"].', animated_paths(ob)), tuple(targets), nodes)


def inputs_of(modifier: Any) -> list[tuple[str, Any]]:
    """Return the inputs of a modifier's node group by identifier."""
    if not hasattr(modifier, "properties"):
        return [(name, modifier[name]) for name in modifier.keys()]  # noqa: SIM118 (no dictionary)
    # From Blender 5.2 on they are ordinary properties.
    inputs = modifier.properties.inputs
    names = [prop.identifier for prop in inputs.bl_rna.properties if prop.type == "POINTER" and prop.identifier != "rna_type"]
    return [
        (f"{name}.{field}", getattr(getattr(inputs, name), field))
        for name in names
        for field in ("type", "value", "attribute_name")
        if hasattr(getattr(inputs, name), field)
    ]
