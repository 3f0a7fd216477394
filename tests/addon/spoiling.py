# SPDX-License-Identifier: GPL-3.0-or-later
"""Wild values where Blender keeps them, past its interface: of any type, out of their limits, or not there."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import bpy

from ..core.spoiling import Random
from .objects import kept

FLOATS = (math.nan, math.inf, -math.inf, 0.0, -1.0, 1e-40, 1e-9, 1e9, 3e38)
WHOLE = (0, -1, 1, 2, 3, 99, 2**31 - 1, -(2**31))
TEXTS = (
    *("", "x", "é" * 40, "../../../etc/passwd", "/dev/zero", "//", "//x/../..", "//cache", "C:\\x", "a" * 5000, "\n"),
    *(b"\xff\xfe", "[" * 3000, "{}", "NaN", '{"": 3}', "__import__('os')", "bpy.data", "High", "Low"),
)
# by the type of a property, values of that type that its limits or its choices do not have; and values of any type
WILD: dict[str, tuple[Any, ...]] = {"FLOAT": FLOATS, "INT": WHOLE, "BOOLEAN": (True, False), "ENUM": WHOLE, "STRING": TEXTS}
LISTS = ([1], [1.0] * 3, [math.nan] * 16, [2] * 100, ["a"], [{}], [{"name": 3}] * 3, [{"name": "x"}] * 2, {}, {"a": {"b": 1}})
ANY = (*FLOATS, *WHOLE, *TEXTS, *LISTS)
PATHS = ("", "x", "//", "//../../x", "//cache", "../x", "/dev/null", "/dev/zero", "/proc/self/mem", ".", "é", "a" * 1000, "\n")


def chosen(random: Random, values: Any) -> Any:
    return values[int(random.integers(0, len(values)))]


def put_own_wild(random: Random, owner: Any) -> None:
    """A wild value in one of our properties of a scene or of an object, or in one within."""
    name = "stiction" if not isinstance(owner, bpy.types.Scene) or random.integers(0, 4) else "stiction_display"
    known, group = getattr(owner, name), kept(owner)
    # what Blender refuses to write, no file has
    with contextlib.suppress(TypeError, ValueError, OverflowError, KeyError):
        if name not in group.keys():  # noqa: SIM118 (no dictionary)
            group[name] = {}
        group = group[name]
        while True:
            name = chosen(random, [prop.identifier for prop in known.bl_rna.properties if prop.identifier != "rna_type"])
            within = getattr(known, name)
            if not isinstance(within, bpy.types.PropertyGroup) or random.integers(0, 8) == 0:
                break
            if name not in group.keys():  # noqa: SIM118 (no dictionary)
                group[name] = {}
            known, group = within, group[name]
        if random.integers(0, 10) == 0:
            del group[name]
        elif random.integers(0, 10) == 0:
            group[name] = chosen(random, [*bpy.data.objects, *bpy.data.collections, *bpy.data.meshes, owner])
        else:
            prop = known.bl_rna.properties[name]
            values = chosen(random, [WILD.get(prop.type, LISTS)] * 3 + [ANY])
            is_many = getattr(prop, "is_array", False)
            group[name] = [chosen(random, values) for _ in range(prop.array_length)] if is_many else chosen(random, values)


def put_value_wild(random: Random, owner: Any) -> None:
    """A wild number in a property of Blender's own."""
    numbers = [prop for prop in owner.bl_rna.properties if prop.type in ("FLOAT", "INT", "BOOLEAN") and not prop.is_readonly]
    prop = chosen(random, numbers)
    value = chosen(random, FLOATS)
    with contextlib.suppress(TypeError, ValueError, OverflowError, AttributeError):
        if prop.is_array:
            setattr(owner, prop.identifier, [value if random.integers(0, 2) else 0.5 for _ in range(prop.array_length)])
        else:
            setattr(owner, prop.identifier, value if prop.type == "FLOAT" else int(random.integers(-2, 300)))


def in_world(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    if scene.rigidbody_world is not None:
        put_value_wild(random, scene.rigidbody_world)


def in_body(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    if (own := ob.rigid_body or ob.rigid_body_constraint) is not None:
        put_value_wild(random, own)


def in_mesh(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    if ob.type == "MESH" and len(ob.data.vertices) and random.integers(0, 2):
        ob.data.vertices[0].co.x = chosen(random, FLOATS)
    elif ob.type == "MESH":
        ob.data.clear_geometry()


def in_place(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    setattr(ob, chosen(random, ("location", "scale", "rotation_euler", "delta_location")), [chosen(random, FLOATS)] * 3)


def in_membership(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    world = scene.rigidbody_world
    if random.integers(0, 3) == 0:
        bpy.data.objects.remove(ob)
    elif world is not None and random.integers(0, 2):
        setattr(world, chosen(random, ("collection", "constraints")), None)
    elif world is not None:
        bpy.ops.rigidbody.world_remove()


def in_parents(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    # itself and a circle are what Blender refuses
    with contextlib.suppress(RuntimeError, TypeError):
        ob.parent = chosen(random, list(scene.objects))


def in_names(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    chosen(random, (ob, scene)).name = chosen(random, ("x:y=z", "é" * 30, "../x", " ", "a" * 200, "a\nb"))


def in_paths(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    if random.integers(0, 2):
        scene.stiction.bake.cache = chosen(random, PATHS)
    else:
        scene.stiction.cache_directory = chosen(random, PATHS)


def in_copies(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    if random.integers(0, 2):
        scene.copy()
    else:
        scene.collection.objects.link(ob.copy())


def in_ours(random: Random, scene: bpy.types.Scene, ob: bpy.types.Object) -> None:
    put_own_wild(random, scene if random.integers(0, 2) else ob)


CHANGES = (in_world, in_body, in_mesh, in_place, in_membership, in_parents, in_names, in_paths, in_copies, *[in_ours] * 9)
